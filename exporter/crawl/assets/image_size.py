"""The size of a picture as its header states it, and whether its end is missing. Pure but for the file it is handed.

The layouts are those of the formats' own specifications.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import BinaryIO, Final, NamedTuple

_TAIL = 64 * 1024
_MOST_SEGMENTS = 10_000
_FRAMES = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})
_BARE_MARKERS = frozenset({0x01, *range(0xD0, 0xD9)})
_LARGEST_SIDE = 1_000_000


class Size(NamedTuple):
    """Width and height in pixels, both above 0."""

    width: int
    height: int


def dimensions(file: BinaryIO, content_type: str) -> Size | None:
    """Return a picture's size as its header states it; ``None`` for other formats and for headers that make no sense.

    Args:
        file: open for reading and seeking; its position is changed.
        content_type: as sniffed.
    """
    read = _READERS.get(content_type)
    if read is None:
        return None
    file.seek(0)
    try:
        size = read(file)
    except struct.error:
        return None
    return size if size is not None and min(size) > 0 and max(size) <= _LARGEST_SIDE else None


def is_cut_short(file: BinaryIO, content_type: str) -> bool:
    """Return whether a picture lacks the mark its format ends with. Bytes after the mark are common and fine."""
    mark = _END_MARKS.get(content_type)
    if mark is None:
        return False
    start = _scan_start(file) if content_type == "image/jpeg" else 0
    tail_at = max(start, file.seek(0, 2) - _TAIL)
    file.seek(tail_at)
    tail = file.read(_TAIL)
    # Many old GIFs lack only the trailer; a zero byte ends the data of their last picture.
    if mark in tail or (content_type == "image/gif" and tail.endswith(b"\0")):
        return False
    file.seek(start)
    before = b""
    while block := file.read(_TAIL):
        if mark in before + block:
            return False
        before = block[-len(mark) :]
    return True


def _scan_start(file: BinaryIO) -> int:
    """Return where the pixels of a JPEG begin, after any thumbnail in its header; 0 if the header makes no sense."""
    file.seek(2)
    for _ in range(_MOST_SEGMENTS):
        marker = _next_marker(file)
        if marker == 0xDA:
            return file.tell()
        if marker is None:
            break
        if marker not in _BARE_MARKERS:
            file.seek(max(0, int.from_bytes(file.read(2), "big") - 2), 1)
    return 0


def _png(file: BinaryIO) -> Size | None:
    head = file.read(24)
    return Size(*struct.unpack(">II", head[16:])) if head[12:16] == b"IHDR" else None


def _gif(file: BinaryIO) -> Size:
    return Size(*struct.unpack("<HH", file.read(10)[6:]))


def _bmp(file: BinaryIO) -> Size:
    head = file.read(26)
    if head[14:18] == b"\x0c\0\0\0":
        return Size(*struct.unpack("<HH", head[18:22]))
    width, height = struct.unpack("<ii", head[18:])
    return Size(width, abs(height))


def _jpeg(file: BinaryIO) -> Size | None:
    file.seek(2)
    for _ in range(_MOST_SEGMENTS):
        marker = _next_marker(file)
        if marker is None or marker == 0xDA:
            return None
        if marker in _BARE_MARKERS:
            continue
        (length,) = struct.unpack(">H", file.read(2))
        if marker in _FRAMES:
            height, width = struct.unpack(">xHH", file.read(5))
            return Size(width, height)
        file.seek(max(0, length - 2), 1)
    return None


def _next_marker(file: BinaryIO) -> int | None:
    """Return the code of the marker that follows; fill bytes may precede it."""
    if file.read(1) != b"\xff":
        return None
    code = file.read(1)
    while code == b"\xff":
        code = file.read(1)
    return code[0] if code else None


def _webp(file: BinaryIO) -> Size | None:
    head = file.read(30)
    kind = head[12:16]
    if kind == b"VP8X":
        width, height = (int.from_bytes(head[at : at + 3], "little") + 1 for at in (24, 27))
        return Size(width, height) if len(head) == 30 else None
    if kind == b"VP8L" and head[20:21] == b"\x2f":
        (bits,) = struct.unpack("<I", head[21:25])
        return Size((bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)
    if kind == b"VP8 " and head[23:26] == b"\x9d\x01\x2a":
        width, height = struct.unpack("<HH", head[26:30])
        return Size(width & 0x3FFF, height & 0x3FFF)
    return None


_READERS: Final[dict[str, Callable[[BinaryIO], Size | None]]] = {
    "image/bmp": _bmp,
    "image/gif": _gif,
    "image/jpeg": _jpeg,
    "image/png": _png,
    "image/webp": _webp,
}
_END_MARKS: Final = {"image/gif": b"\x3b", "image/jpeg": b"\xff\xd9", "image/png": b"IEND\xaeB`\x82"}
