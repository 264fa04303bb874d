"""Checking the records of a capture: each is whole and has its digest, and the index names exactly the answers.

Each record is read once, in the order of the file. Memory holds two numbers for each line of the index.
"""

from __future__ import annotations

import base64
import hashlib
import re
from array import array
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import IO, TYPE_CHECKING, Final

from exporter.archive.captures import INDEX, Capture
from exporter.archive.checks import Finding, FindingCode
from exporter.archive.layout import version_name
from exporter.errors import ArchiveDamaged
from exporter.message import Message, message
from exporter.text import printable
from exporter.warc.cdxj import REVISIT, IndexLine, read_line
from exporter.warc.http_message import Payload
from exporter.warc.lookup import CaptureLookup
from exporter.warc.reading import BrokenRecord, WarcRecord, all_records

if TYPE_CHECKING:
    from exporter.archive.layout import Layout
    from exporter.archive.safe_files import InnerPath

_MOST_FINDINGS: Final = 1_000
_PIECE_BYTES: Final = 256 * 1024
_ANSWERS: Final = frozenset({"response", "revisit", "resource"})
_DIGEST: Final = re.compile(r"(sha1):([A-Z2-7]{32})|(sha256):([0-9a-f]{64})")


def record_checks(layout: Layout) -> Callable[[Capture], Iterator[Finding]]:
    """Return the check of the records of a capture, for :func:`exporter.archive.verify.verify`."""
    return lambda capture: check_records(layout, capture)


def check_records(layout: Layout, capture: Capture) -> Iterator[Finding]:
    """Yield what is wrong with the records of a capture, at most a thousand findings.

    Args:
        layout: the archive, in whose captures the originals of revisits are.
        capture: the capture, whose files have the right hashes.
    """
    findings = _Check(layout, capture).findings()
    yield from islice(findings, _MOST_FINDINGS)
    if next(findings, None) is not None:
        place = f"captures/{version_name(capture.number)}"
        yield Finding(FindingCode.INDEX_WRONG, place, message("there is more damage in it than is listed here"))


class _Check:
    def __init__(self, layout: Layout, capture: Capture) -> None:
        self._lookup = CaptureLookup(layout)
        self._capture = capture
        self._place = f"captures/{version_name(capture.number)}"
        self._lines: dict[str, _Places] = {}
        """By the name of the WARC file."""

    def findings(self) -> Iterator[Finding]:
        """Yield the findings."""
        try:
            segments = self._capture.segments()
            self._lines = {path.name: _Places() for path in segments}
            with self._capture.index.open("rb") as index:
                yield from self._read_index(index)
                for path in segments:
                    yield from self._segment(path, index)
        except OSError:
            yield self._finding(FindingCode.INDEX_WRONG, INDEX, message("it cannot be read"))

    def _finding(self, code: FindingCode, name: str, detail: Message | str) -> Finding:
        return Finding(code, f"{self._place}/{name}", detail)

    def _read_index(self, file: IO[bytes]) -> Iterator[Finding]:
        """Note the place of each line by its WARC file and offset; check the order."""
        before = b""
        number = position = 0
        while data := read_line(file):
            number += 1
            try:
                line = IndexLine.decode(data)
            except ValueError:
                detail = message("line {number} is not an index line", number=number)
                yield self._finding(FindingCode.INDEX_WRONG, INDEX, detail)
            else:
                if data < before:
                    detail = message("line {number} is not in its order", number=number)
                    yield self._finding(FindingCode.INDEX_WRONG, INDEX, detail)
                places = self._lines.get(line.filename)
                if places is None:
                    name = printable(line.filename, 80)
                    detail = message("line {number} names {name}, which is no WARC file", number=number, name=name)
                    yield self._finding(FindingCode.INDEX_WRONG, INDEX, detail)
                else:
                    places.add(line.offset, position)
            before, position = data, file.tell()

    def _segment(self, path: InnerPath, index: IO[bytes]) -> Iterator[Finding]:
        """Check the records of a WARC file in their order, each with its lines of the index."""
        places = self._lines[path.name].sorted()
        place = next(places, None)
        try:
            for record in all_records(path):
                while place is not None and place[0] < record.offset:
                    yield self._no_record(path.name, place[0])
                    place = next(places, None)
                lines = []
                while place is not None and place[0] == record.offset:
                    index.seek(place[1])
                    lines.append(IndexLine.decode(read_line(index)))
                    place = next(places, None)
                for detail in self._record(record, lines):
                    where = message("record at byte {offset:,}: {detail}", offset=record.offset, detail=detail)
                    yield self._finding(FindingCode.RECORD_DAMAGED, path.name, where)
        except (BrokenRecord, OSError) as error:
            detail = message("it cannot be read to its end: {reason}", reason=_reason(error))
            yield self._finding(FindingCode.RECORD_DAMAGED, path.name, detail)
            return
        while place is not None:
            yield self._no_record(path.name, place[0])
            place = next(places, None)

    def _no_record(self, name: str, offset: int) -> Finding:
        detail = message("no record of {name} begins at byte {offset:,}", name=name, offset=offset)
        return self._finding(FindingCode.INDEX_WRONG, INDEX, detail)

    def _record(self, record: WarcRecord, lines: list[IndexLine]) -> Iterator[Message]:
        """Yield what is wrong with a record and its lines."""
        stated = record.headers.get("warc-block-digest", "")
        record.block.seek(0)
        if not _has_digest(stated, iter(lambda: record.block.read(_PIECE_BYTES), b"")):
            yield message("its content has another digest than WARC-Block-Digest says")
            return
        if record.kind not in _ANSWERS:
            if lines:
                yield message("the index names it, and it is no answer")
            return
        if len(lines) != 1:
            yield message("the index names it {times} times, not once", times=len(lines))
        payload = self._payload(record)
        claimed = record.headers.get("warc-payload-digest", payload or "")
        if payload is not None and claimed != payload:
            yield message("its payload has another digest than WARC-Payload-Digest says")
        for line in lines:
            yield from self._line(record, line, claimed)

    def _line(self, record: WarcRecord, line: IndexLine, digest: str) -> Iterator[Message]:
        """Yield what is wrong with the line of an answer."""
        revisit = record.kind == "revisit"
        if (line.url, line.length) != (record.url, record.length):
            yield message("the index has another address or length for it")
        elif line.digest != digest:
            yield message("the index has another digest for it")
        elif (line.mime == REVISIT) != revisit:
            yield message("the index has another type for it")
        elif revisit and not self._has_original(record, line):
            yield message("the record with its payload is in no capture")

    def _has_original(self, record: WarcRecord, line: IndexLine) -> bool:
        try:
            return self._lookup.original(record, line) is not None
        except (ArchiveDamaged, OSError):
            return False

    def _payload(self, record: WarcRecord) -> str | None:
        """Return the digest of the payload of an answer; ``None`` for a record without one."""
        if record.kind == "resource":
            record.block.seek(0)
            return _digest(iter(lambda: record.block.read(_PIECE_BYTES), b""))
        answer = record.answer()
        return None if answer is None or record.kind == "revisit" else _digest(_pieces(answer[1]))


def _pieces(payload: Payload) -> Iterator[bytes]:
    return iter(payload)


def _has_digest(stated: str, pieces: Iterable[bytes]) -> bool:
    """Return whether bytes have a stated digest; a record without one, or with one of another kind, is right."""
    found = _DIGEST.fullmatch(stated)
    if found is None:
        return True
    return stated == _digest(pieces, found[1] or found[3])


def _digest(pieces: Iterable[bytes], algorithm: str = "sha1") -> str:
    hashed = hashlib.new(algorithm, usedforsecurity=False)
    for piece in pieces:
        hashed.update(piece)
    text = base64.b32encode(hashed.digest()).decode() if algorithm == "sha1" else hashed.hexdigest()
    return f"{algorithm}:{text}"


def _reason(error: BrokenRecord | OSError) -> str:
    return str(error) if isinstance(error, BrokenRecord) else str(error.strerror)


class _Places:
    """The offsets of records in a WARC file, and the places of their lines in the index."""

    def __init__(self) -> None:
        self._offsets = array("q")
        self._positions = array("q")

    def add(self, offset: int, position: int) -> None:
        """Add a line."""
        self._offsets.append(offset)
        self._positions.append(position)

    def sorted(self) -> Iterator[tuple[int, int]]:
        """Yield offsets and places in the order of the offsets."""
        order = sorted(range(len(self._offsets)), key=self._offsets.__getitem__)
        return ((self._offsets[each], self._positions[each]) for each in order)
