"""Reading the records of a WARC file: one at a known place, or all in order. The file may come from a stranger."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import SpooledTemporaryFile
from typing import IO, Final

from exporter.archive.safe_files import InnerPath
from exporter.errors import ArchiveDamaged
from exporter.frozen import frozen
from exporter.message import message
from exporter.text import printable
from exporter.warc.http_message import Head, Payload, read_head

MAX_RECORD_BYTES: Final = 1 << 30
MAX_OFFSET: Final = (1 << 63) - 1
_MAX_HEAD_BYTES: Final = 64 * 1024
_MAX_DIGITS: Final = 18
_MOST_INFLATED: Final = 100
"""A file may be so many times larger inflated. Pages and styles shrink to a tenth."""
_INFLATED_FREE_BYTES: Final = 1 << 30
_IN_MEMORY_BYTES: Final = 4 * 1024 * 1024
_FIRST_READ_BYTES: Final = 4 * 1024
_PIECE_BYTES: Final = 256 * 1024
_GZIP: Final = 31
_END: Final = b"\r\n\r\n"


class BrokenRecord(ValueError):
    """There is no whole record at a place; the text says why."""


@frozen
class WarcRecord:
    """A record: its headers by lower-case name, and its block as a file at its start.

    Attributes:
        headers: the values by name.
        block: the content.
        offset: where the record's gzip member begins.
        length: the bytes of the gzip member.
    """

    headers: dict[str, str]
    block: IO[bytes]
    offset: int
    length: int

    @property
    def end(self) -> int:
        """Where the record's gzip member ends."""
        return self.offset + self.length

    @property
    def kind(self) -> str:
        """The ``WARC-Type``, such as ``response``."""
        return self.headers.get("warc-type", "")

    @property
    def url(self) -> str:
        """The ``WARC-Target-URI``."""
        return self.headers.get("warc-target-uri", "").strip("<>")

    def answer(self) -> tuple[Head, Payload] | None:
        """Return the recorded answer, or ``None`` if the block is none."""
        head = read_head(self.block)
        return None if head is None else (head, Payload(self.block, head))


@contextmanager
def read_record(path: InnerPath, offset: int, *, name: str = "", limit: int = MAX_RECORD_BYTES) -> Iterator[WarcRecord]:
    """Yield the record that begins at a byte of a file.

    Args:
        path: the file.
        offset: where the record's gzip member begins.
        name: the file's name in messages; by default its path.
        limit: the most bytes of the block.

    Raises:
        ArchiveDamaged: there is no whole record at this place, or it is larger than the limit.
        OSError: the file cannot be read.
    """
    with path.open("rb") as file, SpooledTemporaryFile(_IN_MEMORY_BYTES) as block:
        try:
            record = _record(file, offset, block, limit)
        except BrokenRecord as error:
            raise ArchiveDamaged(
                "{where} has no whole record at byte {offset:,}: {reason}. Verify the archive.",
                where=name or path.name,
                offset=offset,
                reason=error,
            ) from error
        yield record


def all_records(path: InnerPath, *, limit: int = MAX_RECORD_BYTES) -> Iterator[WarcRecord]:
    """Yield the records of a file in their order. A record's block is closed when the next one is asked for.

    Raises:
        BrokenRecord: there is no whole record where one should begin, so later ones cannot be found; or the content is
            so much larger than the file that it was made to keep a reader busy.
        OSError: the file cannot be read.
    """
    with path.open("rb", _PIECE_BYTES) as file:
        size = file.seek(0, 2)
        offset = inflated = 0
        while offset < size:
            with SpooledTemporaryFile(_IN_MEMORY_BYTES) as block:
                record = _record(file, offset, block, limit)
                inflated += block.seek(0, 2)
                block.seek(0)
                if inflated > _INFLATED_FREE_BYTES + _MOST_INFLATED * size:
                    raise BrokenRecord(message("its content is more than {times} times its size", times=_MOST_INFLATED))
                yield record
            offset += record.length


def _record(file: IO[bytes], offset: int, block: IO[bytes], limit: int) -> WarcRecord:
    """Write the block of the record at a byte of a file into another file, and return the record.

    Raises:
        BrokenRecord: there is no whole record.
    """
    if not 0 <= offset <= MAX_OFFSET:
        raise BrokenRecord(message("no file is so long"))
    file.seek(offset)
    member = _Member(file)
    try:
        headers = _read(member, block, limit)
    except zlib.error as error:
        raise BrokenRecord(message("its compressed data is damaged")) from error
    block.seek(0)
    return WarcRecord(headers, block, offset, file.tell() - member.unused - offset)


class _Member:
    """One gzip member, inflated in pieces of at most 256 KiB.

    Attributes:
        unused: after the last piece, how many bytes were read beyond the member.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._inflater = zlib.decompressobj(_GZIP)
        self._next_bytes = _FIRST_READ_BYTES
        self.unused = 0

    def take(self) -> bytes:
        """Return the next piece; empty after the last one, when the checksum was right.

        Raises:
            BrokenRecord: the file ends inside the member.
            zlib.error: the data is damaged.
        """
        inflater = self._inflater
        while not inflater.eof:
            data = inflater.unconsumed_tail
            if not data:
                # Most records are short: with one size for all reads, each would read far into the next records.
                data = self._file.read(self._next_bytes)
                self._next_bytes = min(2 * self._next_bytes, _PIECE_BYTES)
            if not data:
                raise BrokenRecord(message("the file ends inside it"))
            piece = inflater.decompress(data, _PIECE_BYTES)
            if piece:
                return piece
        self.unused = len(inflater.unused_data)
        return b""


def _read(member: _Member, block: IO[bytes], limit: int) -> dict[str, str]:
    """Write a record's block into a file, and return its headers."""
    head = bytearray()
    while (end := head.find(_END)) < 0:
        piece = member.take()
        if not piece or len(head) > _MAX_HEAD_BYTES:
            raise BrokenRecord(message("its head has no end"))
        head += piece
    headers = _headers(bytes(head[:end]))
    digits = headers.get("content-length", "")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= _MAX_DIGITS):
        raise BrokenRecord(message("its Content-Length is no number"))
    length = int(digits)
    if length > limit:
        raise BrokenRecord(message("it has {length:,} bytes, more than {limit:,}", length=length, limit=limit))
    rest = bytes(head[end + len(_END) :])
    while True:
        taken = min(len(rest), length - block.tell())
        block.write(rest[:taken])
        if block.tell() == length:
            break
        rest = member.take()
        if not rest:
            raise BrokenRecord(message("it is shorter than its Content-Length"))
    # The member is read to its end because its checksum stands there. Nothing but two line ends may follow the block.
    tail = rest[taken:]
    while len(tail) <= len(_END) and (piece := member.take()):
        tail += piece
    if tail != _END:
        raise BrokenRecord(message("it does not end where its Content-Length says"))
    return headers


def _headers(head: bytes) -> dict[str, str]:
    version, *lines = head.decode("utf-8", "replace").split("\r\n")
    if version not in {"WARC/1.0", "WARC/1.1"}:
        raise BrokenRecord(message("it begins with {start}, not with WARC/1.1", start=printable(version, 20)))
    found: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(":")
        found.setdefault(name.strip().lower(), value.strip())
    return found
