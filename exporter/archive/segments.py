"""Segments, the files with a version's lines: their stated sizes, and the places of the lines in them.

An empty segment, or one cut after a line, reads like one that never had more records. So every reader compares the
segment with the manifest.

A line begins with ``{"op":…,"id":…,`` in exactly these bytes (FORMAT.md). So a byte search at the starts of lines finds
a record, and only its own line is parsed.
"""

from __future__ import annotations

import mmap
import os
import re
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from exporter import lossless_json
from exporter.archive.atomic import translate
from exporter.archive.layout import MANIFEST
from exporter.archive.lines import RecordLine, split_checked
from exporter.archive.manifest import SegmentInfo, segments_in
from exporter.archive.safe_files import MAX_DOCUMENT_BYTES, HeldFolder, NotPlain, inner
from exporter.errors import ArchiveDamaged
from exporter.frozen import frozen
from exporter.message import message, suggested

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from exporter.archive.safe_files import InnerPath


def stated_segments(folder: HeldFolder) -> dict[str, SegmentInfo]:
    """Return the sizes and hashes that the manifest in a version's folder states, by the names of the segments.

    Raises:
        ArchiveDamaged: the manifest is missing or damaged.
    """
    path = folder.path / MANIFEST
    try:
        return segments_in(folder.read_bytes(MANIFEST, MAX_DOCUMENT_BYTES), str(path))
    except OSError as error:
        raise missing_manifest(path) from error


def require_size(path: InnerPath, lines: int, size: int, stated: SegmentInfo | None) -> None:
    """Refuse a segment that does not have the number of lines and bytes that its manifest states.

    Raises:
        ArchiveDamaged: it differs, or the manifest does not name it.
    """
    if stated is None:
        raise damaged_file(path, message("its manifest does not name it"))
    if size != stated.bytes:
        detail = message("it has {n:,} bytes, and its manifest says {stated:,}", n=size, stated=stated.bytes)
        raise damaged_file(path, detail)
    if lines != stated.lines:
        detail = message("it has {n:,} lines, and its manifest says {stated:,}", n=lines, stated=stated.lines)
        raise damaged_file(path, detail)


def damaged_file(path: Path, detail: str) -> ArchiveDamaged:
    """Return the error for a damaged file of a version with the command that may restore it."""
    return ArchiveDamaged(
        "{path} is damaged: {detail}. To restore it: {command}", path=path, detail=detail, command=_repair(path)
    )


def missing_manifest(path: Path) -> ArchiveDamaged:
    """Return the error for a manifest that is missing or cannot be read."""
    return ArchiveDamaged(
        "{path} is missing or cannot be read. To restore it: {command}", path=path, command=_repair(path)
    )


def wrong_sizes(folder: HeldFolder) -> Iterator[tuple[str, ArchiveDamaged]]:
    """Yield the names of a version's files that are missing or have the wrong size; they are not read."""
    try:
        stated = stated_segments(folder)
    except ArchiveDamaged as error:
        yield MANIFEST, error
        return
    for name, info in stated.items():
        path = folder.path / name
        try:
            require_size(path, info.lines, folder.lstat(name).st_size, info)
        except OSError:
            yield name, damaged_file(path, message("it is missing"))
        except ArchiveDamaged as error:
            yield name, error


def _repair(path: Path) -> str:
    """Return the command that restores a file of ``versions/000001/`` or of ``latest/``."""
    return suggested("verify", path.parents[2 if path.parent.parent.name == "versions" else 1], "--repair")


_HEAD = re.compile(rb'\{"op":"(?:put|remove)","id":("(?:[^"\\]|\\.)*"),')
_REMOVE = b'{"op":"remove"'
_LINE_FEED = 0x0A
_MAPPED_BYTES: Final = 1 << 20
_WINDOW_BYTES: Final = 8 << 20
"""Bytes of a mapped file that stay in memory after they were searched."""
_MAX_SEARCHES: Final = 8

Content = bytes | mmap.mmap
Fallback = Callable[[str, bytes], RecordLine | None]
OnDamage = Callable[[ArchiveDamaged], object]
"""Receives damage that is then skipped."""


@frozen
class LinePosition:
    """A line's place: its file, offset and length in bytes, and whether it is a tombstone."""

    path: Path
    offset: int
    length: int
    removed: bool

    def read(self, fallback: Fallback = lambda _id, _identity: None) -> RecordLine:
        """Read the line, taking a damaged record from ``fallback``; see :func:`checked_line`.

        Raises:
            ArchiveDamaged: it is not a line of an archive, or its record is damaged and the archive has no other copy.
        """
        return checked_line(self.path, self.text(), fallback)

    def text(self) -> bytes:
        """Read the bytes of the line with its line feed."""
        with inner(self.path).open("rb") as file:
            file.seek(self.offset)
            data: bytes = file.read(self.length)
            return data


def checked_line(path: Path, text: bytes, fallback: Fallback = lambda _id, _identity: None) -> RecordLine:
    """Parse a line of ``path`` and compare its record with its hash.

    Args:
        path: the file.
        text: the line.
        fallback: looks for the same state of a record elsewhere in the archive by id and identity.

    Raises:
        ArchiveDamaged: it is not a line of an archive, or its record is damaged and the archive has no other copy.
    """
    line, fault = split_checked(text)
    if line is not None and fault is not None:
        fault = message("the record {record_id}: {fault}", record_id=line.record_id, fault=fault)
        line = fallback(line.record_id, line.identity)
    if line is None:
        raise damaged_file(path, fault or "")
    return line


def find_line(
    folder: HeldFolder, name: str, record_id: str, fallback: Fallback = lambda _id, _identity: None
) -> RecordLine | None:
    """Return a record's line in a version's segment, which may be a tombstone; ``None`` if the segment has no line.

    Args:
        folder: the folder of the version.
        name: the name of the segment.
        record_id: the record.
        fallback: see :func:`checked_line`.

    Raises:
        ArchiveDamaged: the segment is damaged, or the line is and ``fallback`` has no other one.
    """
    data = _content(folder, name)
    found = _locate(data, record_id) if data else None
    return None if found is None else checked_line(folder.path / name, data[found.start : found.end], fallback)


def line_positions(
    path: InnerPath, wanted: Collection[str] | None = None, damaged: OnDamage | None = None
) -> Iterator[tuple[str, LinePosition]]:
    """Yield the ids of a segment's lines and their places.

    Args:
        path: the segment.
        wanted: only the lines with these ids.
        damaged: receives the damage, which is then skipped.

    Raises:
        ArchiveDamaged: the segment is damaged, or a line does not begin as one, and ``damaged`` is not given.
    """
    try:
        with HeldFolder(path.parent) as folder:
            data = _content(folder, path.name, damaged)
    except ArchiveDamaged as error:
        skip_damage(error, damaged)
        return
    if not data:
        return
    if wanted is not None and len(wanted) <= _MAX_SEARCHES:
        for record_id in list(wanted):
            found = _locate(data, record_id)
            if found is not None:
                yield record_id, LinePosition(path, found.start, found.end - found.start, found.removed)
        return
    keys = None if wanted is None else {lossless_json.text(record_id): record_id for record_id in wanted}
    start = window = 0
    while start < len(data):
        if start - window >= _WINDOW_BYTES:
            _release(data)
            window = start
        end = _line_end(data, start)
        head = _HEAD.match(data, start, end)
        if head is None:
            skip_damage(damaged_file(path, message("the line at byte {start}", start=start)), damaged)
            start = end
            continue
        known = str(lossless_json.loads(head[1])) if keys is None else keys.get(head[1])
        if known is not None:
            yield known, LinePosition(path, start, end - start, data[start : start + len(_REMOVE)] == _REMOVE)
        start = end


def skip_damage(error: ArchiveDamaged, on_damage: OnDamage | None) -> None:
    """Report damage, or raise it if there is no function that receives it."""
    if on_damage is None:
        raise error
    on_damage(error)


class _Located(NamedTuple):
    """A line in a segment's content, and whether it is a tombstone."""

    start: int
    end: int
    removed: bool


def _locate(data: Content, record_id: str) -> _Located | None:
    """Search the starts of lines for the bytes that a record's line begins with."""
    for head in _heads(record_id):
        at = _find(data, head)
        while at > 0 and data[at - 1] != _LINE_FEED:
            at = _find(data, head, at + 1)
        if at >= 0:
            return _Located(at, _line_end(data, at), head.startswith(_REMOVE))
    return None


@lru_cache(maxsize=64)
def _heads(record_id: str) -> tuple[bytes, bytes]:
    """Return the beginnings of a record's lines. One record is searched for in thousands of segments."""
    text = lossless_json.text(record_id)
    return b'{"op":"put","id":%b,' % text, b'{"op":"remove","id":%b,' % text


def _find(data: Content, sought: bytes, start: int = 0) -> int:
    """Return the offset of the first occurrence from ``start`` on, or -1."""
    if isinstance(data, bytes):
        return data.find(sought, start)
    while start < len(data):
        found = data.find(sought, start, start + _WINDOW_BYTES)
        if found >= 0:
            return found
        start += _WINDOW_BYTES - len(sought) + 1
        _release(data)
    return -1


def _release(data: Content) -> None:
    """Give back the memory of a mapped file's pages, which the system counts like any other until it runs short."""
    if isinstance(data, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        data.madvise(mmap.MADV_DONTNEED)


def _line_end(data: Content, start: int) -> int:
    """Return the offset after the line feed of the line."""
    return data.find(b"\n", start) + 1 or len(data)


def _content(folder: HeldFolder, name: str, damaged: OnDamage | None = None) -> Content:
    """Return the content of a segment; a large one is mapped, so that it needs no memory.

    Raises:
        ArchiveDamaged: it cannot be read, or differs from its manifest and ``damaged`` is not given.
    """
    try:
        stated = stated_segments(folder).get(name)
        if stated is not None and not stated.bytes and folder.is_empty(name):
            return b""
        handle, state = folder.opened(name)
        data = _read(handle, state.st_size)
    except NotPlain as error:
        raise translate(error, folder.path / name) from error
    except OSError as error:
        raise damaged_file(folder.path / name, message("it is missing or cannot be read")) from error
    try:
        lines = data.count(b"\n") if isinstance(data, bytes) else -1 if stated is None else stated.lines
        if stated is None or (lines, len(data)) != (stated.lines, stated.bytes):
            require_size(folder.path / name, lines, len(data), stated)
        if _find(data, b"\0") >= 0:  # a power cut may leave zeros behind
            raise damaged_file(folder.path / name, message("it holds zeros in place of text"))
    except ArchiveDamaged as error:
        skip_damage(error, damaged)
    return data


def _read(handle: int, size: int) -> Content:
    try:
        return os.read(handle, size) if size < _MAPPED_BYTES else mmap.mmap(handle, 0, access=mmap.ACCESS_READ)
    finally:
        os.close(handle)
