"""The pages of a list whose answers are known: the same bytes hold the same records, so they are not parsed again.

A page's note is a journal line in the checkpoint, which begins with the hash of the page's answer. The notes of a run's
last sweep are kept in ``.work/pages-KIND.jsonl`` for the next run, with a hash of the whole file. A note only repeats
what its page held: the ledger proves that the archive, or this run, has these records in the same state.
"""

from __future__ import annotations

import hashlib
from array import array
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final

from exporter import lossless_json
from exporter.archive import atomic
from exporter.archive.state import IdRows, SegmentFiles
from exporter.crawl.checkpoint import note_of
from exporter.model.kinds import Kind
from exporter.service.interface import PageFacts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from exporter.archive.layout import Layout
    from exporter.archive.safe_files import InnerPath
    from exporter.crawl.checkpoint import Purpose, Spool
    from exporter.crawl.ledger import Place
    from exporter.service.interface import Cursor

_HEAD: Final = b'{"journal":{"answer":"'
_KEY_DIGITS: Final = 16
_MAX_LINE_BYTES: Final = 1 << 24
_FEWEST_PAGES: Final = 20
"""A shorter list is parsed in a few milliseconds, faster than each of a thousand archives writes three more files."""
_NUMBERS: Final = {each.name for each in fields(PageFacts)} - {"digest"}


class SeenPages:
    """The known pages of all lists.

    Args:
        layout: of the archive, which keeps the notes of a run for the next one.
        purpose: of this run.
        spools: receive the notes of this run.
    """

    def __init__(self, layout: Layout, purpose: Purpose, spools: Mapping[Kind, Spool]) -> None:
        self._layout = layout
        self._reading = lossless_json.dumps(purpose.reading()) + b"\n"
        self._spools = spools
        self._lists: dict[Kind, ListPages] = {}

    def begin(self, kind: Kind) -> ListPages:
        """Return the known pages of a list at the beginning of a sweep."""
        if kind not in self._lists:
            named = "owners" if kind is Kind.COMMENTS else "amounts"
            self._lists[kind] = ListPages(self._layout.pages(kind), self._reading, self._spools[kind], named)
        self._lists[kind].begin_sweep()
        return self._lists[kind]

    def save(self) -> None:
        """Keep the last sweep's pages, once the archive has the records on them."""
        for pages in self._lists.values():
            pages.save()

    def close(self) -> None:
        """Close the files."""
        for pages in self._lists.values():
            pages.close()


class ListPages:
    """Notes about a list's pages, by the hashes of their answers.

    Memory grows by 25 bytes for each page of each sweep.

    Args:
        path: the file with the notes of the run before.
        reading: the first line of that file: what must be equal in both runs.
        spool: receives the notes of this run.
        named: the member of a note that has a value for each record.
    """

    def __init__(self, path: InnerPath, reading: bytes, spool: Spool, named: str) -> None:
        self._named = named
        self._path = path
        self._reading = reading
        self._files = SegmentFiles()
        self._kept, self._spooled = self._files.add(path), self._files.add(spool.path)
        self._kept_sha256 = ""
        self._first = 0
        self._clear()
        try:
            self._load()
        except (OSError, ValueError):
            self._clear()

    def _clear(self) -> None:
        self._rows = IdRows()
        self._numbers = bytearray()
        self._offsets, self._lengths = array("Q"), array("I")

    def _load(self) -> None:
        """Read the positions of the kept notes.

        Raises:
            OSError: the file does not exist or cannot be read.
            ValueError: the answers were read in another way, or the file was changed.
        """
        with self._path.open("rb") as file:
            line = file.readline(len(self._reading))
            digest = hashlib.sha256(line)
            offset = len(line)
            while line == self._reading and (note := file.readline(_MAX_LINE_BYTES)).startswith(_HEAD):
                digest.update(note)
                self._put(note[len(_HEAD) :][:_KEY_DIGITS], self._kept, (offset, len(note)))
                offset += len(note)
            if line != self._reading or note != _last(digest) or file.read(1):
                raise ValueError(self._path)
        self._kept_sha256 = digest.hexdigest()

    def _put(self, begin: str | bytes, number: int, place: Place) -> None:
        key = int(begin, 16)
        self._rows.remove(key)
        self._rows.add(key, len(self._numbers))
        self._numbers.append(number)
        self._offsets.append(place[0])
        self._lengths.append(place[1])

    def begin_sweep(self) -> None:
        """Begin a sweep; only the pages of the last one are kept."""
        self._first = len(self._numbers)

    def add(self, answer: str | None, place: Place) -> None:
        """Add a page.

        Args:
            answer: SHA-256 of its answer; ``None`` if an equal answer must be parsed.
            place: of its note in the spool.
        """
        if answer is not None:
            self._put(answer[:_KEY_DIGITS], self._spooled, place)

    def find(self, answer: str, cursor: Cursor) -> dict[str, Any] | None:
        """Return the note about a page that had this answer, by its SHA-256; ``None`` if there is no valid one."""
        row = self._rows.find(int(answer[:_KEY_DIGITS], 16))
        if row is None:
            return None
        try:
            note = note_of(self._files.read(self._numbers[row], self._offsets[row], self._lengths[row]))
            return note if note is not None and _is_of(note, answer, cursor, self._named) else None
        except (OSError, KeyError, TypeError, ValueError, AttributeError):
            return None

    def save(self) -> None:
        """Keep the last sweep's pages for the next run, if they differ from the kept ones."""
        if len(self._numbers) - self._first < _FEWEST_PAGES:
            return
        digest = hashlib.sha256(self._reading)
        for note in self._newest():
            digest.update(note)
        if digest.hexdigest() != self._kept_sha256:
            with atomic.translated(self._path):
                atomic.write_lines(self._path, self._lines(_last(digest)))

    def _newest(self) -> Iterator[bytes]:
        for row in range(self._first, len(self._numbers)):
            yield self._files.read(self._numbers[row], self._offsets[row], self._lengths[row])

    def _lines(self, last: bytes) -> Iterator[bytes]:
        yield self._reading
        yield from self._newest()
        yield last

    def close(self) -> None:
        """Close the files."""
        self._files.close()


def _last(digest: hashlib._Hash) -> bytes:
    """Return the last line of a file whose other lines have this hash."""
    return digest.hexdigest().encode("ascii") + b"\n"


def _is_of(note: dict[str, Any], answer: str, cursor: Cursor, named: str) -> bool:
    """Return whether a note is about this answer, and has the types that a sweep needs."""
    facts, records = dict(note["facts"]), note["records"]
    ids, amounts, owners, hidden = (records[name] for name in ("ids", "amounts", "owners", "hidden"))
    texts = [facts.pop("digest"), *ids, *owners]
    return (
        (note["answer"], note["page"], facts["cursor"]) == (answer, cursor, cursor)
        and all(type(each) is str for each in texts)
        and all(each is None or type(each) is int for each in (*facts.values(), *amounts))
        and all(type(at) is int and 0 <= at < len(ids) for at in hidden)
        and len(records[named]) == facts["count"] == len(ids)
        and facts.keys() == _NUMBERS
        and (note["problems"], note["unnamed"], note["forgotten"]) == ([], 0, [0, 0, []])
    )
