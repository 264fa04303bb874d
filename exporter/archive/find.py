"""Finding a record's line in a version without reading the other lines.

A line begins with ``{"op":…,"id":…,`` in exactly these bytes (FORMAT.md), so a search for them, at the start of a line,
is enough; nothing is parsed before it is found.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

from exporter import codec
from exporter.archive.lines import Line, split
from exporter.errors import ArchiveDamaged

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

_HEAD = re.compile(rb'\{"op":"(?:put|remove)","id":("(?:[^"\\]|\\.)*"),')
_REMOVE = b'{"op":"remove"'
_LINE_FEED = 0x0A


@dataclass(frozen=True, slots=True)
class Place:
    """Where a line stands: its file, offset and length in bytes, and whether it is a tombstone."""

    path: Path
    offset: int
    length: int
    removed: bool

    def read(self) -> Line:
        """Read the line.

        Raises:
            ArchiveDamaged: it is no line of an archive.
        """
        return taken_apart(self.path, self.text())

    def text(self) -> bytes:
        """Read the line's bytes, with its line feed."""
        with self.path.open("rb") as file:
            file.seek(self.offset)
            return file.read(self.length)


def taken_apart(path: Path, text: bytes) -> Line:
    """Take a line of ``path`` apart.

    Raises:
        ArchiveDamaged: it is no line of an archive.
    """
    try:
        return split(text)
    except ValueError as error:
        raise ArchiveDamaged(f"{path} holds a damaged line: {error}; run verify.") from error


def find(path: Path, record_id: str) -> Line | None:
    """Return a record's line in a version's segment, a tombstone included, or ``None``.

    Raises:
        ArchiveDamaged: the segment is missing, or the line is no line of an archive.
    """
    with _content(path) as data:
        for op in (b"put", b"remove"):
            head = b'{"op":"%b","id":%b,' % (op, codec.text(record_id))
            at = data.find(head)
            while at > 0 and data[at - 1] != _LINE_FEED:
                at = data.find(head, at + 1)
            if at >= 0:
                end = data.find(b"\n", at)
                return taken_apart(path, data[at : len(data) if end < 0 else end])
    return None


def places(path: Path, wanted: Collection[str] | None = None) -> Iterator[tuple[str, Place]]:
    """Yield the ids and places of a segment's lines, all of them or those of the ``wanted`` ids.

    Raises:
        ArchiveDamaged: the segment is missing, or a line does not begin as one.
    """
    keys = None if wanted is None else {codec.text(record_id): record_id for record_id in wanted}
    offset = 0
    with _opened(path) as file:
        for text in file:
            head = _HEAD.match(text)
            if head is None:
                raise ArchiveDamaged(f"{path} holds a damaged line at byte {offset}; run verify.")
            record_id = str(codec.loads(head[1])) if keys is None else keys.get(head[1])
            if record_id is not None:
                yield record_id, Place(path, offset, len(text), text.startswith(_REMOVE))
            offset += len(text)


@contextlib.contextmanager
def _content(path: Path) -> Iterator[bytes | mmap.mmap]:
    """Give a file's content, mapped, so that a large one costs no memory."""
    with _opened(path) as file:
        if os.fstat(file.fileno()).st_size == 0:
            yield b""
            return
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            yield data


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    try:
        file = path.open("rb")
    except OSError as error:
        raise ArchiveDamaged(f"{path} is missing or cannot be read; run verify.") from error
    with file:
        yield file
