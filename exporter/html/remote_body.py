"""Bodies that another process turns into HTML. It receives the archive's files and pages at their addresses. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import unescape
from typing import Final, NamedTuple

from exporter.html.anchors import places_between
from exporter.html.page_body import BodyWriter, DrawnPicture

_ADDRESS: Final = re.compile(r"""(?:src|href|original)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""", re.IGNORECASE)
"""Where most addresses are. The other process names those that it finds elsewhere."""
_INLINE: Final = "data:"
"""How a picture inside a body begins; no look-up finds it."""

_Answer = tuple[str | None, tuple[str, tuple[int, int] | None] | None, str | None]
Answers = dict[str, _Answer]
"""For each address the path of its stored file, how a page shows it, and the page that the address leads to."""
MadeBodies = list[tuple[str, str]]
"""The HTML and the text of each body."""
_NOTHING: Final[_Answer] = (None, None, None)


class Shared(NamedTuple):
    """Common to all bodies: the site's language, and the path to the folder with ``assets/``."""

    language: str
    prefix: str


def answers_for(writer: BodyWriter, sources: Iterable[str]) -> Answers:
    """Return what ``writer`` knows about the addresses in bodies."""
    found: Answers = {}
    for source in sources:
        for quoted, single, bare in _ADDRESS.findall(source):
            written = unescape(quoted or single or bare)
            for address in (written, written.strip()):
                if address not in found and not address.startswith(_INLINE):
                    path = writer.local_path(address)
                    drawn = None if path is None or writer.picture is None else writer.picture(path)
                    shown = None if drawn is None else (drawn.source, drawn.size)
                    found[address] = path, shown, writer.page_of(address)
    return found


class _Asked:
    """Answers a writer in the other process, and notes addresses that were not sent."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self._pictures = {path: shown for path, shown, _ in answers.values() if path is not None and shown is not None}
        self.unknown: dict[str, None] = {}

    def local_path(self, address: str) -> str | None:
        return self._of(address)[0]

    def page_of(self, address: str) -> str | None:
        return self._of(address)[2]

    def picture(self, path: str) -> DrawnPicture:
        return DrawnPicture(*self._pictures[path])

    def _of(self, address: str) -> _Answer:
        if address not in self._answers:
            self.unknown[address] = None
        return self._answers.get(address, _NOTHING)


def html_and_texts(
    shared: Shared, base: str, root: str, sources: list[str], answers: Answers
) -> tuple[MadeBodies, list[str]]:
    """Return the HTML and the text of each body, as :meth:`~exporter.html.page_body.BodyWriter.html_and_text` does.

    Args:
        shared: common to all bodies.
        base: the blog's address.
        root: the path from the page to the site's folder.
        sources: the bodies.
        answers: from :func:`answers_for`.

    Returns:
        The bodies, and the addresses without an answer, for which the archive is assumed to have nothing.
    """
    asked = _Asked(answers)
    writer = BodyWriter(
        asked.local_path,
        base,
        shared.language,
        prefix=shared.prefix,
        page_of=asked.page_of,
        picture=asked.picture,
    )
    places = places_between(sources)
    made = [writer.html_and_text(source, root, places, colours=True) for source in sources]
    return [(str(html), text) for html, text in made], list(asked.unknown)


def has_nothing_at(writer: BodyWriter, addresses: Iterable[str]) -> bool:
    """Return whether ``writer`` knows no file and no page at any of these addresses."""
    return all(writer.local_path(each) is None and writer.page_of(each) is None for each in addresses)
