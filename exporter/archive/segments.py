"""The lines of one version's segment: their size as the manifest states it, and where the line of a record is.

A segment that is empty, or that was cut after a line, reads like one that never had more records. So every reader
compares the segment with the manifest.
"""

from __future__ import annotations

import mmap
import os
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from exporter import lossless_json
from exporter.archive.atomic import translate
from exporter.archive.layout import MANIFEST, SEGMENTS
from exporter.archive.lines import RecordLine, split
from exporter.archive.manifest import Manifest
from exporter.archive.safe_files import LARGEST_DOCUMENT, HeldFolder, NotPlain, inner
from exporter.errors import ArchiveDamaged
from exporter.message import message, suggested

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from exporter.archive.safe_files import InnerPath


class SegmentSize(NamedTuple):
    """The size of a segment in lines and in bytes."""

    lines: int
    bytes: int


_STATED: Final = re.compile(
    rb'\n    "([a-z_]+\.jsonl)": \{\n      "lines": ([0-9]{1,18}),\n      "bytes": ([0-9]{1,18}),'
)
"""A row of ``files`` as the program writes it. No text in a manifest matches: its line feeds and quotes are escaped."""
_ROWS: Final = {
    name: re.compile(
        rb'\n    "%s": \{\n      "lines": ([0-9]{1,18}),\n      "bytes": ([0-9]{1,18}),' % re.escape(name).encode()
    )
    for name in SEGMENTS
}
"""The row of each segment, as the program writes it."""
NOTHING: Final = SegmentSize(0, 0)


def stated_sizes(folder: HeldFolder) -> dict[str, SegmentSize]:
    """Return the sizes that the manifest in a version's folder states, by the segments' names.

    Raises:
        ArchiveDamaged: the manifest is missing or damaged.
    """
    try:
        data = folder.read_bytes(MANIFEST, LARGEST_DOCUMENT)
    except OSError as error:
        path = folder.path / MANIFEST
        raise ArchiveDamaged(
            message("{path} is missing or cannot be read. To restore it: {command}", path=path, command=_repair(path))
        ) from error
    # Ten years have thousands of manifests, and to decode one takes twenty times as long.
    rows = _STATED.findall(data)
    if len(rows) == len(SEGMENTS):
        return {name.decode(): SegmentSize(int(lines), int(size)) for name, lines, size in rows}
    manifest = Manifest.decode(data, str(folder.path / MANIFEST))
    return {name: SegmentSize(info.lines, info.bytes) for name, info in manifest.files.items()}


def stated_size(folder: HeldFolder, name: str) -> SegmentSize | None:
    """Return the size that the manifest in a version's folder states for one segment, ``None`` if it names none.

    A record is looked for in thousands of versions, each with its manifest. To look for one row takes a fraction of
    the time that all six take.

    Raises:
        ArchiveDamaged: the manifest is missing or damaged.
    """
    with suppress(OSError):
        found = _ROWS[name].findall(folder.read_bytes(MANIFEST, LARGEST_DOCUMENT))
        if len(found) == 1:
            return SegmentSize(int(found[0][0]), int(found[0][1]))
    return stated_sizes(folder).get(name)


def require_size(path: InnerPath, found: SegmentSize, stated: SegmentSize | None) -> None:
    """Refuse a segment that does not have the size that its manifest states.

    Raises:
        ArchiveDamaged: it has another size, or the manifest does not name it.
    """
    if found == stated:
        return
    if stated is None:
        raise damaged_segment(path, message("its manifest does not name it"))
    if found.bytes == stated.bytes:
        raise damaged_segment(
            path, message("it has {n:,} lines, and its manifest says {stated:,}", n=found.lines, stated=stated.lines)
        )
    raise damaged_segment(
        path, message("it has {n:,} bytes, and its manifest says {stated:,}", n=found.bytes, stated=stated.bytes)
    )


def damaged_segment(path: InnerPath, detail: str) -> ArchiveDamaged:
    """Return the error for a damaged segment, with the command that may restore it."""
    return ArchiveDamaged(
        message(
            "{path} is damaged: {detail}. To restore it: {command}", path=path, detail=detail, command=_repair(path)
        )
    )


def wrong_sizes(folder: HeldFolder) -> Iterator[tuple[str, ArchiveDamaged]]:
    """Yield a version's files that are missing or have the wrong size, without reading them."""
    try:
        stated = stated_sizes(folder)
    except ArchiveDamaged as error:
        yield MANIFEST, error
        return
    for name, size in stated.items():
        path = folder.path / name
        try:
            found = folder.lstat(name).st_size
        except OSError:
            yield name, damaged_segment(path, message("it is missing"))
            continue
        if found != size.bytes:
            try:
                require_size(path, size._replace(bytes=found), size)
            except ArchiveDamaged as error:
                yield name, error


def _repair(path: Path) -> str:
    """Return the command that restores a version's file, ``versions/000001/NAME``."""
    return suggested("verify", path.parent.parent.parent, "--repair")


_HEAD = re.compile(rb'\{"op":"(?:put|remove)","id":("(?:[^"\\]|\\.)*"),')
_REMOVE = b'{"op":"remove"'
_LINE_FEED = 0x0A
_SMALL = 1 << 20
_FEW = 8

Content = bytes | mmap.mmap
Fallback = Callable[[str, bytes], RecordLine | None]
OnDamage = Callable[[ArchiveDamaged], object]
"""Called with damage, which is then passed over."""


@dataclass(frozen=True, slots=True)
class LinePosition:
    """Where a line is: its file, offset and length in bytes, and whether it is a tombstone."""

    path: Path
    offset: int
    length: int
    removed: bool

    def read(self, fallback: Fallback = lambda _id, _identity: None) -> RecordLine:
        """Read the line, a damaged record from ``fallback``; see :func:`taken_apart`.

        Raises:
            ArchiveDamaged: it is not a line of an archive, or its record is damaged and nowhere else.
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
        ArchiveDamaged: it is not a line of an archive, or its record is damaged and nowhere else.
    """
    try:
        line = split(text)
    except ValueError as error:
        raise ArchiveDamaged(
            message("{path} holds a damaged line: {error}; run verify --repair.", path=path, error=error)
        ) from error
    fault = line.fault()
    if fault is None:
        return line
    found = fallback(line.record_id, line.identity)
    if found is None:
        raise ArchiveDamaged(
            message(
                "{path} holds {record_id} damaged: {fault}; run verify --repair.",
                path=path,
                record_id=line.record_id,
                fault=fault,
            )
        )
    return found


def find(
    folder: HeldFolder, name: str, record_id: str, fallback: Fallback = lambda _id, _identity: None
) -> RecordLine | None:
    """Return a record's line in a version's segment, a tombstone included, or ``None``.

    Args:
        folder: the version's.
        name: the segment's.
        record_id: the record.
        fallback: see :func:`taken_apart`.

    Raises:
        ArchiveDamaged: the segment is missing, or the line is damaged and ``fallback`` has no other one.
    """
    data = _content(folder, name)
    found = _locate(data, record_id) if data else None
    return None if found is None else taken_apart(folder.path / name, data[found.start : found.end], fallback)


def places(
    path: InnerPath, wanted: Collection[str] | None = None, damaged: OnDamage | None = None
) -> Iterator[tuple[str, LinePosition]]:
    """Yield the ids and places of a segment's lines, all of them or those of the ``wanted`` ids.

    Args:
        path: the segment.
        wanted: ids.
        damaged: called with what cannot be read, which is then passed over.

    Raises:
        ArchiveDamaged: the segment is missing, or a line does not begin as one, and there is no ``damaged``.
    """
    try:
        with HeldFolder(path.parent) as folder:
            data = _content(folder, path.name, damaged)
    except ArchiveDamaged as error:
        _pass_over(error, damaged)
        return
    if not data:
        return
    if wanted is not None and len(wanted) <= _FEW:
        for record_id in list(wanted):
            found = _locate(data, record_id)
            if found is not None:
                yield record_id, LinePosition(path, found.start, found.end - found.start, found.removed)
        return
    keys = None if wanted is None else {lossless_json.text(record_id): record_id for record_id in wanted}
    start = 0
    while start < len(data):
        end = _line_end(data, start)
        head = _HEAD.match(data, start, end)
        if head is None:
            _pass_over(
                ArchiveDamaged(
                    message("{path} holds a damaged line at byte {start}; run verify --repair.", path=path, start=start)
                ),
                damaged,
            )
            start = end
            continue
        known = str(lossless_json.loads(head[1])) if keys is None else keys.get(head[1])
        if known is not None:
            yield known, LinePosition(path, start, end - start, data[start : start + len(_REMOVE)] == _REMOVE)
        start = end


def _pass_over(error: ArchiveDamaged, on_damage: OnDamage | None) -> None:
    if on_damage is None:
        raise error
    on_damage(error)


class _Located(NamedTuple):
    """A line in a segment's content, and whether it is a tombstone."""

    start: int
    end: int
    removed: bool


def _locate(data: Content, record_id: str) -> _Located | None:
    """Search for the bytes a record's line begins with, where a line begins."""
    for head in _heads(record_id):
        at = data.find(head)
        while at > 0 and data[at - 1] != _LINE_FEED:
            at = data.find(head, at + 1)
        if at >= 0:
            return _Located(at, _line_end(data, at), head.startswith(_REMOVE))
    return None


@lru_cache(maxsize=64)
def _heads(record_id: str) -> tuple[bytes, bytes]:
    """Return what a line of a record begins with; one record is looked for in thousands of segments."""
    text = lossless_json.text(record_id)
    return b'{"op":"put","id":%b,' % text, b'{"op":"remove","id":%b,' % text


def _line_end(data: Content, start: int) -> int:
    """Return the offset after the line feed that ends the line."""
    return data.find(b"\n", start) + 1 or len(data)


def _content(folder: HeldFolder, name: str, damaged: OnDamage | None = None) -> Content:
    """Return a segment's content; a large one is mapped, so that it costs no memory.

    Raises:
        ArchiveDamaged: it cannot be read, or is not as large as its manifest says and there is no ``damaged``.
    """
    try:
        stated = stated_size(folder, name)
        if stated == NOTHING and folder.is_empty(name):
            return b""
        data = _read(*folder.opened(name))
    except NotPlain as error:
        raise translate(error, folder.path / name) from error
    except OSError as error:
        raise damaged_segment(folder.path / name, message("it is missing or cannot be read")) from error
    try:
        _require_whole(folder, name, data, stated)
    except ArchiveDamaged as error:
        _pass_over(error, damaged)
    return data


def _read(handle: int, size: int) -> Content:
    try:
        return os.read(handle, size) if size < _SMALL else mmap.mmap(handle, 0, access=mmap.ACCESS_READ)
    finally:
        os.close(handle)


def _require_whole(folder: HeldFolder, name: str, data: Content, stated: SegmentSize | None) -> None:
    """Refuse a segment that lost lines: what a power cut leaves behind is short, or holds zeros in place of text."""
    lines = data.count(b"\n") if isinstance(data, bytes) else -1 if stated is None else stated.lines
    if (found := SegmentSize(lines, len(data))) != stated:
        require_size(folder.path / name, found, stated)
    if data.find(b"\0") >= 0:
        raise damaged_segment(folder.path / name, message("it holds zeros in place of text"))
