"""A WACZ file (Web Archive Collection Zipped 1.1.1): WARC files, their index and lists of pages in one ZIP.

WARC files are stored and not deflated again, so that a reader takes one record with one request for a range of bytes.
Captures are checked against their hashes while they are copied. The same captures give the same bytes.
"""

from __future__ import annotations

import hashlib
import heapq
import re
import zipfile
import zlib
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, Any, BinaryIO, Final, Self

from exporter import __version__, lossless_json
from exporter.archive.captures import Capture, stated_sums
from exporter.errors import ArchiveDamaged
from exporter.warc.cdxj import CaptureIndex, IndexLine
from exporter.warc.signature import PackageSigner

if TYPE_CHECKING:
    from exporter.archive.safe_files import InnerPath

VERSION: Final = "1.1.1"
SOFTWARE: Final = f"blog-exporter {__version__}"
_ARCHIVE: Final = "archive"
_INDEX: Final = "index.cdx.gz"
_LINES_PER_BLOCK: Final = 1_024
_PIECE_BYTES: Final = 1 << 20
_LARGE_BYTES: Final = 1 << 31
_MAX_OPEN_SEGMENTS: Final = 32
MAX_MERGED: Final = 64
"""The most index files that are open at a time."""
_GZIP: Final = 31
_NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9._-]")
"""A reader on any system can unpack the other characters."""


@dataclass(frozen=True, slots=True)
class PageLine:
    """A line in a list of pages.

    Attributes:
        url: the address at which the page is in the index.
        timestamp: the 14 digits of its record.
        title: for people.
        more: further members.
    """

    url: str
    timestamp: str
    title: str
    more: Mapping[str, Any] = field(default_factory=dict)

    def encode(self) -> bytes:
        """Return the line with its end; its id is made of the address and the time."""
        digits = self.timestamp
        moment = f"{digits[:4]}-{digits[4:6]}-{digits[6:8]}T{digits[8:10]}:{digits[10:12]}:{digits[12:14]}Z"
        name = hashlib.sha256(f"{self.timestamp}/{self.url}".encode("utf-8", "surrogatepass")).hexdigest()[:20]
        return (
            lossless_json.dumps({"id": name, "url": self.url, "ts": moment, "title": self.title, **self.more}) + b"\n"
        )


@dataclass(frozen=True, slots=True)
class PackageFacts:
    """What ``datapackage.json`` says about the collection (Frictionless Data Package).

    Attributes:
        title: of the collection.
        description: in Markdown.
        created: the time of the newest content, as ``2026-11-26T13:45:00Z``; the clock is not read.
        main_page: the first page to show, if there is one.
        contributors: names of those who made the captures.
    """

    title: str
    description: str
    created: str
    main_page: PageLine | None = None
    contributors: Sequence[str] = ()


class Cuts:
    """Ranges of bytes that are left out of a segment.

    Args:
        ranges: the begin and end of each.
    """

    def __init__(self, ranges: Iterable[tuple[int, int]] = ()) -> None:
        self.ranges = sorted(ranges)
        self._ends = [end for _, end in self.ranges]
        self._removed = [0]
        for start, end in self.ranges:
            self._removed.append(self._removed[-1] + end - start)

    def moved(self, offset: int) -> int:
        """Return where a byte outside of the ranges is afterwards."""
        return offset - self._removed[bisect_right(self._ends, offset)]


NO_CUTS: Final = Cuts()


@dataclass(frozen=True, slots=True)
class PlacedRecord:
    """A record of a collection: its index line there, and its place in the archive."""

    line: IndexLine
    path: InnerPath
    offset: int


@dataclass(slots=True)
class CaptureCollection:
    """The captures of an archive as one collection.

    Attributes:
        captures: the oldest first.
        withheld: the index lines whose records are left out.
        names: the name of each segment in the collection, by the capture's number and its name there.
        cuts: what is left out of each segment, by the same keys.
    """

    captures: Sequence[Capture]
    withheld: frozenset[IndexLine] = frozenset()
    names: dict[tuple[int, str], str] = field(init=False, default_factory=dict)
    cuts: dict[tuple[int, str], Cuts] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        taken: set[str] = set()
        for capture in self.captures:
            for path in capture.segments():
                name = _NOT_IN_NAMES.sub("-", path.name)
                name = name if name not in taken else f"{capture.number:06d}-{name}"
                taken.add(name)
                self.names[capture.number, path.name] = name
        if self.withheld:
            self._cut()

    def records(self) -> Iterator[PlacedRecord]:
        """Yield the records of all captures in the order of their index lines, without the withheld ones.

        Raises:
            ArchiveDamaged: an index names no file of its capture.
        """
        for capture, line in self._in_order():
            if line not in self.withheld:
                key = (capture.number, line.filename)
                offset = self.cuts.get(key, NO_CUTS).moved(line.offset)
                placed = replace(line, filename=self._name(capture, line), offset=offset)
                yield PlacedRecord(placed, capture.segment(line.filename), line.offset)

    def _in_order(self) -> Iterator[tuple[Capture, IndexLine]]:
        """Yield the lines of all captures in order, with few files open at a time."""
        streams = [_lines_of(capture) for capture in self.captures]
        known = {capture.number: capture for capture in self.captures}
        while len(streams) > MAX_MERGED:
            groups = (streams[at : at + MAX_MERGED] for at in range(0, len(streams), MAX_MERGED))
            streams = [_spooled(heapq.merge(*group, key=_order), known) for group in groups]
        return heapq.merge(*streams, key=_order)

    def _name(self, capture: Capture, line: IndexLine) -> str:
        name = self.names.get((capture.number, line.filename))
        if name is None:
            raise ArchiveDamaged("{index} names a file that is missing. Verify the archive.", index=capture.index)
        return name

    def _cut(self) -> None:
        """Find the bytes of withheld records. A record's request follows it, up to the next answer."""
        files = {line.filename for line in self.withheld}
        for capture in self.captures:
            starts: dict[str, list[int]] = {}
            gone: dict[str, set[int]] = {}
            for line in CaptureIndex(capture.index):
                if line.filename in files:
                    starts.setdefault(line.filename, []).append(line.offset)
                    if line in self.withheld:
                        gone.setdefault(line.filename, set()).add(line.offset)
            for name, offsets in gone.items():
                size = capture.segment(name).stat().st_size
                begins = sorted(starts[name])
                ends = dict(zip(begins, [*begins[1:], size], strict=True))
                self.cuts[capture.number, name] = Cuts((offset, ends[offset]) for offset in offsets)


def _lines_of(capture: Capture) -> Iterator[tuple[Capture, IndexLine]]:
    return ((capture, line) for line in CaptureIndex(capture.index))


def _order(each: tuple[Capture, IndexLine]) -> tuple[str, str]:
    return each[1].key, each[1].timestamp


def _spooled(
    lines: Iterable[tuple[Capture, IndexLine]], known: Mapping[int, Capture]
) -> Iterator[tuple[Capture, IndexLine]]:
    """Write lines into a temporary file, and return an iterator that reads them from there."""
    file = TemporaryFile()  # noqa: SIM115 - the iterator closes it
    for capture, line in lines:
        file.write(b"%d " % capture.number + line.encode())
    file.seek(0)

    def read() -> Iterator[tuple[Capture, IndexLine]]:
        with file:
            for text in file:
                number, _, line = text.partition(b" ")
                yield known[int(number)], IndexLine.decode(line)

    return read()


@dataclass(frozen=True, slots=True)
class MadeSegment:
    """A WARC file that was made for the collection: its name, its content, and the index lines of its records."""

    name: str
    content: IO[bytes]
    lines: Sequence[IndexLine]


class WaczWriter:
    """Writes a WACZ file into ``file``; use it as a context, and call its methods in their order.

    Args:
        file: the destination.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._zip = zipfile.ZipFile(file, "w")
        self._resources: list[dict[str, Any]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    def segments(self, collection: CaptureCollection) -> None:
        """Write the WARC files of all captures.

        Raises:
            ArchiveDamaged: a file differs from the hash that its capture states.
        """
        for capture in collection.captures:
            sums = stated_sums(capture)
            for path in capture.segments():
                key = (capture.number, path.name)
                cuts = collection.cuts.get(key, NO_CUTS)
                size = path.stat().st_size
                hashed = hashlib.sha256()
                with path.open("rb") as source, self._member(f"{_ARCHIVE}/{collection.names[key]}", size) as member:
                    for piece in _kept(_hashing(source, hashed), cuts):
                        member.write(piece)
                if hashed.hexdigest() != sums.get(path.name):
                    raise ArchiveDamaged(
                        "{path} is damaged: its content differs from its SHA256SUMS. Restore it from a copy of the "
                        "archive.",
                        path=path,
                    )

    def made(self, segment: MadeSegment) -> None:
        """Write a WARC file that was made for the collection."""
        segment.content.seek(0)
        with self._member(f"{_ARCHIVE}/{segment.name}", 0) as member:
            while piece := segment.content.read(_PIECE_BYTES):
                member.write(piece)

    def index(self, collection: CaptureCollection, made: MadeSegment | None = None) -> None:
        """Write the index: blocks of lines, each a gzip member, and the list of the blocks.

        Each line has the hash of its record, so that a reader verifies a record that it loaded alone.

        Raises:
            ArchiveDamaged: a record is not where the index says.
        """
        blocks: list[bytes] = [
            b"!meta 0 " + lossless_json.dumps({"format": "cdxj-gzip-1.0", "filename": _INDEX}) + b"\n"
        ]
        offset = 0
        with _RecordHashes() as hashes, self._member(f"indexes/{_INDEX}", 0) as member:
            captured = (_encoded(each.line, hashes.of(each)) for each in collection.records())
            lines = captured if made is None else heapq.merge(captured, _made_lines(made), key=_prefix)
            for block in _blocks(lines):
                packed = zlib.compressobj(wbits=_GZIP)
                data = packed.compress(b"".join(block)) + packed.flush()
                member.write(data)
                place = {"offset": offset, "length": len(data), "digest": f"sha256:{hashlib.sha256(data).hexdigest()}"}
                blocks.append(_prefix(block[0]) + b" " + lossless_json.dumps(place) + b"\n")
                offset += len(data)
        with self._member("indexes/index.idx", 0, deflated=True) as member:
            member.write(b"".join(blocks))

    def pages(self, name: str, title: str, pages: Iterable[PageLine]) -> int:
        """Write a list of pages, and return their number.

        Args:
            name: ``pages`` for the main list, or ``extraPages``.
            title: of the list.
            pages: in their order.
        """
        count = 0
        with self._member(f"pages/{name}.jsonl", 0, deflated=True) as member:
            member.write(lossless_json.dumps({"format": "json-pages-1.0", "id": name, "title": title}) + b"\n")
            for page in pages:
                member.write(page.encode())
                count += 1
        return count

    def package(self, facts: PackageFacts, signer: PackageSigner | None = None) -> None:
        """Write ``datapackage.json`` over all files so far, and its hash, signed if there is a signer."""
        document: dict[str, Any] = {
            "profile": "data-package",
            "wacz_version": VERSION,
            "title": facts.title,
            "description": facts.description,
            "created": facts.created,
            "modified": facts.created,
            "software": SOFTWARE,
            # ReplayWeb.page shows the title and the description that are here.
            "metadata": {"title": facts.title, "desc": facts.description},
        }
        if facts.main_page is not None:
            main = lossless_json.loads(facts.main_page.encode())
            document |= {"mainPageUrl": main["url"], "mainPageDate": main["ts"]}
        if facts.contributors:
            document["contributors"] = [{"title": name} for name in facts.contributors]
        document["resources"] = self._resources
        content = lossless_json.dumps(document, pretty=True) + b"\n"
        digest: dict[str, Any] = {
            "path": "datapackage.json", "hash": f"sha256:{hashlib.sha256(content).hexdigest()}"
        }  # fmt: skip
        if signer is not None:
            digest["signedData"] = signer.signed(digest["hash"], facts.created, SOFTWARE)
        for name, data in (
            ("datapackage.json", content),
            ("datapackage-digest.json", lossless_json.dumps(digest, pretty=True) + b"\n"),
        ):
            with self._member(name, 0, deflated=True) as member:
                member.write(data)

    @contextmanager
    def _member(self, path: str, size: int, *, deflated: bool = False) -> Iterator[_Member]:
        """Yield a new file of the ZIP; its time is the earliest that a ZIP can hold."""
        info = zipfile.ZipInfo(path)
        info.compress_type = zipfile.ZIP_DEFLATED if deflated else zipfile.ZIP_STORED
        info.external_attr = 0o644 << 16
        with self._zip.open(info, "w", force_zip64=size >= _LARGE_BYTES) as file:
            member = _Member(file)
            yield member
        self._resources.append(
            {
                "name": path.rpartition("/")[2].lower(),
                "path": path,
                "hash": f"sha256:{member.hashed.hexdigest()}",
                "bytes": member.size,
            }
        )


class _Member:
    """A file of the ZIP that counts and hashes what is written."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.hashed = hashlib.sha256()
        self.size = 0

    def write(self, data: bytes) -> None:
        self._file.write(data)
        self.hashed.update(data)
        self.size += len(data)


def _hashing(source: IO[bytes], hashed: Any) -> Iterator[bytes]:
    while piece := source.read(_PIECE_BYTES):
        hashed.update(piece)
        yield piece


def _kept(pieces: Iterable[bytes], cuts: Cuts) -> Iterator[bytes]:
    """Yield pieces without the bytes of the cuts."""
    at = 0
    ranges = iter([*cuts.ranges, (1 << 63, 1 << 63)])
    start, end = next(ranges)
    for piece in pieces:
        first, last = at, at + len(piece)
        while at < last:
            if at >= end:
                start, end = next(ranges)
            elif at < start:
                until = min(start, last)
                yield piece[at - first : until - first]
                at = until
            else:
                at = min(end, last)


def _blocks(lines: Iterable[bytes]) -> Iterator[list[bytes]]:
    block: list[bytes] = []
    for line in lines:
        block.append(line)
        if len(block) == _LINES_PER_BLOCK:
            yield block
            block = []
    if block:
        yield block


def _prefix(line: bytes) -> bytes:
    return line.partition(b" {")[0]


def _encoded(line: IndexLine, digest: str) -> bytes:
    """Return an index line with the hash of its record."""
    return line.encode()[:-2] + b',"recordDigest":"' + digest.encode() + b'"}\n'


def _made_lines(made: MadeSegment) -> Iterator[bytes]:
    for line in sorted(made.lines):
        made.content.seek(line.offset)
        yield _encoded(line, f"sha256:{hashlib.sha256(made.content.read(line.length)).hexdigest()}")


class _RecordHashes:
    """Hashes records in the files of the archive, of which a few stay open."""

    def __init__(self) -> None:
        self._opened: dict[InnerPath, IO[bytes]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for file in self._opened.values():
            file.close()

    def of(self, record: PlacedRecord) -> str:
        if record.path not in self._opened:
            if len(self._opened) == _MAX_OPEN_SEGMENTS:
                self._opened.pop(next(iter(self._opened))).close()
            self._opened[record.path] = record.path.open("rb")
        file = self._opened[record.path]
        file.seek(record.offset)
        hashed, left = hashlib.sha256(), record.line.length
        while left and (piece := file.read(min(left, _PIECE_BYTES))):
            hashed.update(piece)
            left -= len(piece)
        if left:
            raise ArchiveDamaged(
                "{path} has no whole record at byte {offset:,}. Verify the archive.",
                path=record.path,
                offset=record.offset,
            )
        return f"sha256:{hashed.hexdigest()}"
