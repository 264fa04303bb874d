"""Finding a record's line in a version without reading the other lines.

A line begins with ``{"op":…,"id":…,`` in exactly these bytes (FORMAT.md), so a search for them, at the start of a line,
is enough; nothing is parsed before it is found.
"""

from __future__ import annotations

import mmap
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from exporter import lossless_json
from exporter.archive.atomic import translate
from exporter.archive.lines import RecordLine, split
from exporter.archive.safe_files import NotPlain, inner
from exporter.errors import ArchiveDamaged

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

_HEAD = re.compile(rb'\{"op":"(?:put|remove)","id":("(?:[^"\\]|\\.)*"),')
_REMOVE = b'{"op":"remove"'
_LINE_FEED = 0x0A
_SMALL = 1 << 20
_FEW = 8

Content = bytes | mmap.mmap
Fallback = Callable[[str, bytes], RecordLine | None]
OnDamage = Callable[[ArchiveDamaged], object]
"""Is told of damage that is passed over."""


@dataclass(frozen=True, slots=True)
class LinePosition:
    """Where a line stands: its file, offset and length in bytes, and whether it is a tombstone."""

    path: Path
    offset: int
    length: int
    removed: bool

    def read(self, fallback: Fallback = lambda _id, _identity: None) -> RecordLine:
        """Read the line, a damaged record from ``fallback``; see :func:`taken_apart`.

        Raises:
            ArchiveDamaged: it is no line of an archive, or its record is damaged and nowhere else.
        """
        return taken_apart(self.path, self.text(), fallback)

    def text(self) -> bytes:
        """Read the line's bytes, with its line feed."""
        with inner(self.path).open("rb") as file:
            file.seek(self.offset)
            data: bytes = file.read(self.length)
            return data


def taken_apart(path: Path, text: bytes, fallback: Fallback = lambda _id, _identity: None) -> RecordLine:
    """Take a line of ``path`` apart, and compare its record with its hash.

    Args:
        path: the file.
        text: the line.
        fallback: looks for the same state of a record elsewhere in the archive, by its id and identity.

    Raises:
        ArchiveDamaged: it is no line of an archive, or its record is damaged and nowhere else.
    """
    try:
        line = split(text)
    except ValueError as error:
        raise ArchiveDamaged(f"{path} holds a damaged line: {error}; run verify --repair.") from error
    fault = line.fault()
    if fault is None:
        return line
    found = fallback(line.record_id, line.identity)
    if found is None:
        raise ArchiveDamaged(f"{path} holds {line.record_id} damaged: {fault}; run verify --repair.")
    return found


def find(path: Path, record_id: str, fallback: Fallback = lambda _id, _identity: None) -> RecordLine | None:
    """Return a record's line in a version's segment, a tombstone included, or ``None``.

    Raises:
        ArchiveDamaged: the segment is missing, or the line is damaged and ``fallback`` has no other one.
    """
    data = _content(path)
    found = _locate(path, data, record_id) if data else None
    return None if found is None else taken_apart(path, data[found.offset : found.offset + found.length], fallback)


def places(
    path: Path, wanted: Collection[str] | None = None, damaged: OnDamage | None = None
) -> Iterator[tuple[str, LinePosition]]:
    """Yield the ids and places of a segment's lines, all of them or those of the ``wanted`` ids.

    Args:
        path: the segment.
        wanted: ids.
        damaged: is told of what cannot be read, which is then passed over.

    Raises:
        ArchiveDamaged: the segment is missing, or a line does not begin as one, and nobody is to be told.
    """
    try:
        data = _content(path)
    except ArchiveDamaged as error:
        _pass_over(error, damaged)
        return
    if not data:
        return
    if wanted is not None and len(wanted) <= _FEW:
        for record_id in list(wanted):
            found = _locate(path, data, record_id)
            if found is not None:
                yield record_id, found
        return
    keys = None if wanted is None else {lossless_json.text(record_id): record_id for record_id in wanted}
    start = 0
    while start < len(data):
        end = _line_end(data, start)
        head = _HEAD.match(data, start, end)
        if head is None:
            _pass_over(ArchiveDamaged(f"{path} holds a damaged line at byte {start}; run verify --repair."), damaged)
            start = end
            continue
        known = str(lossless_json.loads(head[1])) if keys is None else keys.get(head[1])
        if known is not None:
            yield known, LinePosition(path, start, end - start, data[start : start + len(_REMOVE)] == _REMOVE)
        start = end


def _pass_over(error: ArchiveDamaged, told: OnDamage | None) -> None:
    if told is None:
        raise error
    told(error)


def _locate(path: Path, data: Content, record_id: str) -> LinePosition | None:
    """Search for the bytes a record's line begins with, where a line begins."""
    for op in (b"put", b"remove"):
        head = b'{"op":"%b","id":%b,' % (op, lossless_json.text(record_id))
        at = data.find(head)
        while at > 0 and data[at - 1] != _LINE_FEED:
            at = data.find(head, at + 1)
        if at >= 0:
            return LinePosition(path, at, _line_end(data, at) - at, op == b"remove")
    return None


def _line_end(data: Content, start: int) -> int:
    """Return the offset after the line feed that ends the line."""
    return data.find(b"\n", start) + 1 or len(data)


def _content(path: Path) -> Content:
    """Return a file's content; a large one is mapped, so that it costs no memory."""
    try:
        handle = inner(path).descriptor(os.O_RDONLY)
        try:
            size = os.fstat(handle).st_size
            return os.read(handle, size) if size < _SMALL else mmap.mmap(handle, 0, access=mmap.ACCESS_READ)
        finally:
            os.close(handle)
    except NotPlain as error:
        raise translate(error, path) from error
    except OSError as error:
        raise ArchiveDamaged(f"{path} is missing or cannot be read; run verify --repair.") from error
