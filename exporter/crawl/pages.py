"""What is remembered of the pages of a list: a hash of each answer, and where the note is that tells what it held.

A page that answers with the very bytes of the last time is neither parsed nor proved again. From sweep to sweep the
notes are those in the checkpoint; from run to run they are kept in ``.work/pages.jsonl``.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from exporter import __version__, lossless_json
from exporter.archive import atomic
from exporter.archive.state import SegmentFiles
from exporter.crawl.checkpoint import note_of
from exporter.crawl.settings import NOTES
from exporter.model.kinds import Kind

if TYPE_CHECKING:
    from pathlib import Path

    from exporter.crawl.ledger import Place
    from exporter.service.interface import Cursor

_DIGEST: Final = 32
_NO_DIGEST: Final = bytes(_DIGEST)
_PIECE: Final = 1024 * 1024
_FACTS: Final = b',"facts":'
_RECORDS: Final = b',"records":'


def page_note(
    sweep: int, cursor: Cursor, facts: Mapping[str, Any], records: Mapping[str, Any], **others: Any
) -> dict[str, Any]:
    """Return the note about a page, in the order in which it can be told apart without reading all of it.

    Args:
        sweep: the sweep that saw the page.
        cursor: what it was asked for with.
        facts: the members of its :class:`~exporter.service.interface.PageFacts`.
        records: ``ids``, ``amounts``, ``owners`` and ``hidden`` of its records.
        others: what else there is to say, ``differing`` and ``to_read`` for this sweep alone.
    """
    here = {"differing": others.pop("differing"), "to_read": others.pop("to_read")}
    return {"sweep": sweep, "page": cursor, **here, "facts": facts, **others, "records": records}


def seen_again(line: bytes, sweep: int, cursor: Cursor) -> bytes:
    """Return the note of a line about a page, as it is written, for a later sweep that saw just the same.

    A quote in JSON text is escaped, so the first that looks like the name of a member is one.
    """
    head = b'{"sweep":%d,"page":%b,"differing":0,"to_read":[]' % (sweep, lossless_json.dumps(cursor))
    return head + line[line.index(_FACTS) : -len(b"}\n")]


def without_records(note: bytes) -> dict[str, Any]:
    """Read a note about a page as far as its records, which are most of it and matter to few pages seen again.

    They come last, whatever other members are called.
    """
    return dict(lossless_json.loads(note[: note.rindex(_RECORDS)] + b"}"))


class PageIndex:
    """For every page of a list the SHA-256 of its whole answer and where its note is, in 48 bytes.

    A blog of 100,000 entries has tens of thousands of pages.

    Args:
        read: reads a line with a note.

    Attributes:
        records: how many the list has, once all of it was seen.
    """

    def __init__(self, read: Callable[[int, int], bytes] = lambda _offset, _length: b"") -> None:
        self._read = read
        self._bodies = bytearray()
        self._places = array("Q")
        self.records = 0

    def __len__(self) -> int:
        return len(self._places) // 2

    def put(self, page: int, body: bytes, place: Place) -> None:
        """Remember a page, counted from 1; ``body`` is empty where the answer is not known any more."""
        missing = page - len(self)
        if missing > 0:
            self._bodies += _NO_DIGEST * missing
            self._places.extend([0, 0] * missing)
        self._bodies[(page - 1) * _DIGEST : page * _DIGEST] = body or _NO_DIGEST
        self._places[2 * page - 2], self._places[2 * page - 1] = place

    def body(self, page: int) -> bytes | None:
        """Return the SHA-256 of a page's answer, ``None`` when it is not known."""
        found = bytes(self._bodies[(page - 1) * _DIGEST : page * _DIGEST])
        return found if found and found != _NO_DIGEST else None

    def line(self, page: int) -> bytes:
        """Return the line with the note about a page."""
        return self._read(self._places[2 * page - 2], self._places[2 * page - 1])

    def note(self, page: int) -> dict[str, Any]:
        """Return the note about a page."""
        return note_of(self.line(page)) or {}

    def clear(self) -> None:
        """Forget all pages."""
        self._bodies.clear()
        del self._places[:]

    def document(self) -> dict[str, Any]:
        """Return it as JSON, for notes that follow one another."""
        return {"records": self.records, "bodies": self._bodies.hex(), "lengths": self._places[1::2].tolist()}

    def fill(self, document: Mapping[str, Any], offset: int) -> int:
        """Take over what :meth:`document` returned, for notes that begin at an offset; return where they end."""
        self.records = document["records"]
        self._bodies[:] = bytes.fromhex(document["bodies"])
        for length in document["lengths"]:
            self._places.extend((offset, length))
            offset += length
        return offset


def reading(manifest_sha256: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return what has to be the same for the same answer to hold the same records, which the archive has.

    Args:
        manifest_sha256: of the version that has them.
        options: the service's.
    """
    return {"manifest_sha256": manifest_sha256, "program": __version__, "notes": NOTES, "options": {**options}}


class KeptList(NamedTuple):
    """What is kept of a list that was seen whole: its pages, and what its sweep counted, under the same names."""

    pages: PageIndex
    expected: int
    short: dict[str, int]
    over: dict[str, int]
    unstated: list[str]

    def document(self) -> dict[str, Any]:
        """Return it as JSON, for notes that follow one another."""
        counts = {"short": self.short, "over": self.over, "unstated": self.unstated}
        return {**self.pages.document(), "expected": self.expected, **counts}


def load(path: Path, same: Mapping[str, Any], sizes: Mapping[Kind, int], files: SegmentFiles) -> dict[Kind, KeptList]:
    """Return the lists of the newest version that an earlier run kept, those with as many records as it has.

    They count only where the whole file is as it was written.

    Args:
        path: where they are.
        same: what :func:`reading` has to be.
        sizes: the records in the newest version, by kind.
        files: reads the notes, and has to be closed.
    """
    number = files.add(path)

    def line(offset: int, length: int) -> bytes:
        return files.read_near(number, offset, length)

    found = {}
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            first, second = file.readline(_PIECE), file.readline()
            if first != _line(same):
                return {}
            digest.update(first + second)
            end = len(first + second)
            for kind, document in lossless_json.loads(second).items():
                index = PageIndex(line)
                end = index.fill(document, end)
                if index.records == sizes[Kind(kind)]:
                    short, over = (
                        {str(entry_id): int(count) for entry_id, count in document[name].items()}
                        for name in ("short", "over")
                    )
                    unstated = [str(entry_id) for entry_id in document["unstated"]]
                    found[Kind(kind)] = KeptList(index, int(document["expected"]), short, over, unstated)
            while (left := end - file.tell()) > 0 and (piece := file.read(min(left, _PIECE))):
                digest.update(piece)
            return found if file.read(_PIECE) == _line(digest.hexdigest()) else {}
    except (OSError, TypeError, ValueError, KeyError, AttributeError, OverflowError):
        return {}


def save(path: Path, same: Mapping[str, Any], lists: Mapping[Kind, KeptList]) -> None:
    """Keep the pages of lists that were read whole, as part of the version that ``same`` names, which is durable."""
    with atomic.translated(path):
        atomic.write_lines(path, _lines(same, lists))


def _lines(same: Mapping[str, Any], lists: Mapping[Kind, KeptList]) -> Iterator[bytes]:
    digest = hashlib.sha256()
    heads = [_line(same), _line({str(kind): kept.document() for kind, kept in lists.items()})]
    notes = (kept.pages.line(page) for kept in lists.values() for page in range(1, len(kept.pages) + 1))
    for line in chain(heads, notes):
        digest.update(line)
        yield line
    yield _line(digest.hexdigest())


def _line(value: Any) -> bytes:
    return lossless_json.dumps(value) + b"\n"
