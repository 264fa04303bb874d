"""Reading one record of a WARC file at a known place. The file may come from a stranger."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from tempfile import SpooledTemporaryFile
from typing import IO, Final

from exporter.archive.safe_files import InnerPath
from exporter.errors import ArchiveDamaged
from exporter.warc.http_message import Head, Payload, read_head

MAX_RECORD_BYTES: Final = 1 << 30
_MAX_HEAD_BYTES: Final = 64 * 1024
_IN_MEMORY_BYTES: Final = 4 * 1024 * 1024
_PIECE_BYTES: Final = 256 * 1024
_GZIP: Final = 31


@dataclass(frozen=True, slots=True)
class WarcRecord:
    """A record.

    Attributes:
        headers: by lower-case name.
        block: its block as a file at its start.
        end: where its gzip member ends in the file.
    """

    headers: dict[str, str]
    block: IO[bytes]
    end: int = 0

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
        file.seek(offset)
        try:
            member = _Member(file)
            headers = _read(iter(member), block, limit)
        except (ValueError, KeyError, StopIteration, zlib.error) as error:
            raise ArchiveDamaged(
                "{where} has no whole record at byte {offset:,}. Verify the archive.",
                where=name or path.name,
                offset=offset,
            ) from error
        block.seek(0)
        yield WarcRecord(headers, block, member.end)


def _read(pieces: Iterator[bytes], block: IO[bytes], limit: int) -> dict[str, str]:
    """Write a record's block into a file, and return its headers."""
    head = bytearray()
    while (end := head.find(b"\r\n\r\n")) < 0:
        if len(head) > _MAX_HEAD_BYTES:
            raise ValueError(len(head))
        head += next(pieces)
    headers = _headers(bytes(head[:end]))
    length = int(headers["content-length"])
    if not 0 <= length <= limit:
        raise ValueError(length)
    block.write(head[end + 4 :][:length])
    while block.tell() < length:
        block.write(next(pieces)[: length - block.tell()])
    # The rest is read because the checksum comes after it.
    for _ in pieces:
        pass
    return headers


class _Member:
    """The content of one gzip member in pieces of at most 256 KiB; ``end`` is where the member ends in the file."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.end = 0

    def __iter__(self) -> Iterator[bytes]:
        inflater = zlib.decompressobj(_GZIP)
        while not inflater.eof:
            data = inflater.unconsumed_tail or self._file.read(_PIECE_BYTES)
            if not data:
                raise ValueError(self._file.tell())
            piece = inflater.decompress(data, _PIECE_BYTES)
            if piece:
                yield piece
        self.end = self._file.tell() - len(inflater.unused_data)


def _headers(head: bytes) -> dict[str, str]:
    version, *lines = head.decode("utf-8", "replace").split("\r\n")
    if not version.startswith("WARC/1."):
        raise ValueError(version)
    found: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(":")
        found.setdefault(name.strip().lower(), value.strip())
    return found
