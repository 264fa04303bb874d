"""Find the recorded answers that hold given texts, such as a comment on every page that shows it.

A text is compared without markup, escapes and white space, so that it is found however a page writes it.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from exporter.archive.captures import captures, stated_addresses
from exporter.errors import ArchiveDamaged
from exporter.frozen import frozen
from exporter.service.public_site.text import decode_page
from exporter.text import printable
from exporter.warc.page_text import BREAKS, MOST_BYTES, answer_text, is_binary, plain, unescaped
from exporter.warc.reading import BrokenRecord, WarcRecord, all_records

if TYPE_CHECKING:
    from exporter.archive.forgetting import Exchanges
    from exporter.archive.layout import Layout
    from exporter.archive.safe_files import InnerPath
    from exporter.warc.shown import ShownRecords

_LEAST_CHARACTERS: Final = 8
"""A page with a shorter text counts only if it also has the writer's name."""
_LEAST_BYTES_ALONE: Final = 4
"""In UTF-8. A name of one kanji or of three Latin letters is part of so many words that it would take every page."""
_PIECE_CHARACTERS: Final = 24
"""Only a text's beginning is looked for, because a page may shorten the text."""
_SPACE: Final = re.compile(r"\s+")


def pieces_of(text: str) -> set[str]:
    """Return the beginnings of a text's lines by which a page with the text is known."""
    lines = map(plain, BREAKS.split(text))
    return {line[:_PIECE_CHARACTERS] for line in lines if len(line) >= _LEAST_CHARACTERS}


@frozen
class Sought:
    """Texts to look for.

    Attributes:
        pieces: beginnings of texts; a page with one of them counts.
        pairs: short texts with their writers' names; a page must have both.
    """

    pieces: frozenset[str]
    pairs: frozenset[tuple[str, str]]

    @classmethod
    def of(
        cls, texts: Iterable[tuple[str, str]], alone: Iterable[str] = (), common: AbstractSet[str] = frozenset()
    ) -> Sought:
        """Prepare texts for the search.

        Args:
            texts: texts with their writers' names.
            alone: texts that count without a name, unless they are so short that any page may have them by chance.
            common: the :func:`pieces_of` lines that tell nothing, because other records have the same ones.
        """
        pieces = {plain(each) for each in alone if len(each.encode("utf-8", "replace")) >= _LEAST_BYTES_ALONE}
        pairs = set()
        for text, name in texts:
            parts = pieces_of(text) - common
            pieces |= parts
            if not parts and (whole := plain(text)) and name.strip():
                pairs.add((whole, plain(name)))
        return cls(frozenset(filter(None, pieces)), frozenset(pairs))

    def is_in(self, text: str) -> bool:
        """Return whether a page, a JSON text or an address holds one of them."""
        spelled = [text]
        if "\\u" in text:
            spelled.append(unescaped(text))
        if "%" in text:
            spelled.append(unquote(text))
        # Links' addresses are inside tags, so the second form keeps the tags.
        forms = [form for each in spelled for form in (plain(each), _SPACE.sub("", html.unescape(each)))]
        if any(piece in form for form in forms for piece in self.pieces):
            return True
        return any(short in form and name in form for form in forms for short, name in self.pairs)


def find_exchanges(layout: Layout, sought: Sought, shown: ShownRecords) -> Exchanges:
    """Find the recorded exchanges whose answers or addresses hold one of the texts, or show a forgotten record.

    A record that only refers to such an answer counts as one.

    Raises:
        ArchiveDamaged: a WARC file is damaged.
    """
    found: dict[int, dict[str, list[int]]] = {}
    search = _Search(sought, shown)
    for capture in captures(layout):
        for path in capture.segments():
            offsets = search.offsets(path)
            if offsets:
                found.setdefault(capture.number, {})[path.name] = offsets
    return found


def find_addresses(layout: Layout, sought: Sought, shown: ShownRecords) -> frozenset[str]:
    """Return the addresses that captures state something about, and that hold one of the texts or are forgotten.

    Raises:
        ArchiveDamaged: a document of a capture is damaged.
    """
    return frozenset(each for each in stated_addresses(layout) if sought.is_in(each) or shown.is_address(each))


class _Search:
    """Searches the files of all captures, which must be given oldest first."""

    def __init__(self, sought: Sought, shown: ShownRecords) -> None:
        self._sought = sought
        self._shown = shown
        self._gone: set[tuple[str, str]] = set()
        self._digests: set[str] = set()

    def offsets(self, path: InnerPath) -> list[int]:
        offsets: list[int] = []
        ids: set[str] = set()
        try:
            for record in all_records(path):
                headers = record.headers
                if record.kind == "request":
                    is_gone = headers.get("warc-concurrent-to", "") in ids or self._is_named(unquote(record.url))
                else:
                    is_gone = self._is_gone(record)
                if is_gone:
                    offsets.append(record.offset)
                    ids.add(headers.get("warc-record-id", ""))
        except (BrokenRecord, OSError) as error:
            raise ArchiveDamaged(
                "{path} is damaged: {reason}. Nothing was forgotten. Run verify.",
                path=path,
                reason=printable(str(error), 200),
            ) from error
        return offsets

    def _is_gone(self, record: WarcRecord) -> bool:
        headers = record.headers
        if record.kind not in {"response", "resource", "revisit"}:
            return False
        digest = headers.get("warc-payload-digest", "")
        if record.kind == "revisit":
            named = headers.get("warc-refers-to-target-uri", "").strip("<>"), headers.get("warc-refers-to-date", "")
            return named in self._gone or digest in self._digests or self._is_named(record.url)
        if not (self._is_named(record.url) or self._is_held(record)):
            return False
        self._gone.add((record.url, headers.get("warc-date", "")))
        if digest:
            self._digests.add(digest)
        return True

    def _is_named(self, url: str) -> bool:
        return self._sought.is_in(url) or self._shown.is_address(url)

    def _is_held(self, record: WarcRecord) -> bool:
        """Return whether an answer holds one of the records, or cannot be decompressed, so that it may hold any."""
        answer = record.answer() if record.kind == "response" else None
        if answer is None:
            content_type = record.headers.get("content-type", "")
            return self._shows(record, decode_page(record.block.read(MOST_BYTES), content_type).text)
        head, payload = answer
        if is_binary(head):
            return self._shown.is_content(payload)
        text = answer_text(head, payload)
        if text is None:
            return True
        record.block.seek(0)
        start = record.block.read(head.end).decode("latin-1")
        return self._shows(record, f"{start}\n{text}")

    def _shows(self, record: WarcRecord, text: str) -> bool:
        return self._sought.is_in(text) or self._shown.is_on_page(text, record.url)
