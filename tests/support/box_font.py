"""A small web font made here: every letter is a box, so that a page shows whether a browser applied the font."""

from __future__ import annotations

import struct
from functools import cache

_UNITS = 1_000
_FIRST, _LAST = 0x20, 0x7E


@cache
def box_font(family: str = "Shio Box") -> bytes:
    """Return a TrueType font (OpenType 1.9) in which all printable ASCII characters are the same box."""
    box = _box(100, 0, 900, 700)
    tables = {
        b"OS/2": _os2(),
        b"cmap": _cmap(),
        b"glyf": box,
        b"head": _head(),
        b"hhea": struct.pack(">IhhhHhhhhhh8xhH", 0x00010000, 800, -200, 0, _UNITS, 100, 100, 900, 1, 0, 0, 0, 1),
        b"hmtx": struct.pack(">Hhh", _UNITS, 100, 100),
        b"loca": struct.pack(">HHH", 0, 0, len(box) // 2),
        b"maxp": struct.pack(">IHHHHHHHHHHHHHH", 0x00010000, 2, 4, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0),
        b"name": _name(family),
        b"post": struct.pack(">IIhhIIIII", 0x00030000, 0, -100, 50, 1, 0, 0, 0, 0),
    }
    offset = 12 + 16 * len(tables)
    directory, content = [], []
    for tag, table in tables.items():
        padded = table + bytes(-len(table) % 4)
        directory.append(struct.pack(">4sIII", tag, _checksum(padded), offset, len(table)))
        content.append(padded)
        offset += len(padded)
    head = struct.pack(">IHHHH", 0x00010000, len(tables), 128, 3, 16 * len(tables) - 128)
    font = head + b"".join(directory) + b"".join(content)
    at = font.index(tables[b"head"]) + 8
    return font[:at] + struct.pack(">I", (0xB1B0AFBA - _checksum(font)) & 0xFFFFFFFF) + font[at + 4 :]


def _checksum(data: bytes) -> int:
    words: tuple[int, ...] = struct.unpack(f">{len(data) // 4}I", data)
    return sum(words) & 0xFFFFFFFF


def _box(left: int, low: int, right: int, high: int) -> bytes:
    flags = b"\x01" * 4  # points on the curve, coordinates of two bytes
    across = struct.pack(">hhhh", left, 0, right - left, 0)
    up = struct.pack(">hhhh", low, high - low, 0, low - high)
    glyph = struct.pack(">hhhhhHH", 1, left, low, right, high, 3, 0) + flags + across + up
    return glyph + bytes(-len(glyph) % 4)


def _cmap() -> bytes:
    ids = struct.pack(f">{_LAST - _FIRST + 1}H", 0, *[1] * (_LAST - _FIRST))
    segments = struct.pack(">5H2h2H", _LAST, 0xFFFF, 0, _FIRST, 0xFFFF, 0, 1, 4, 0)
    body = struct.pack(">HHHH", 4, 4, 1, 0) + segments + ids
    return struct.pack(">HHHHI", 0, 1, 3, 1, 12) + struct.pack(">HHH", 4, len(body) + 6, 0) + body


def _head() -> bytes:
    dates = struct.pack(">qq", 0, 0)
    numbers = struct.pack(">IIIIHH", 0x00010000, 0x00010000, 0, 0x5F0F3CF5, 0b1011, _UNITS)
    return numbers + dates + struct.pack(">hhhhHHhhh", 100, 0, 900, 700, 0, 8, 2, 0, 0)


def _os2() -> bytes:
    first = struct.pack(">HhHHH", 4, _UNITS, 400, 5, 0) + struct.pack(">11h", *[100] * 10, 0) + bytes(10)
    rest = struct.pack(">IIII4sHHH", 1, 0, 0, 0, b"NONE", 0x40, _FIRST, _LAST)
    metrics = struct.pack(">hhhHH", 800, -200, 0, 800, 200) + struct.pack(">IIhhHHH", 1, 0, 500, 700, 0, _FIRST, 1)
    return first + rest + metrics


def _name(family: str) -> bytes:
    texts = {1: family, 2: "Regular", 3: family, 4: family, 5: "Version 1", 6: family.replace(" ", "")}
    records, content = [], b""
    for number, text in texts.items():
        coded = text.encode("utf-16-be")
        records.append(struct.pack(">HHHHHH", 3, 1, 0x409, number, len(coded), len(content)))
        content += coded
    return struct.pack(">HHH", 0, len(records), 6 + 12 * len(records)) + b"".join(records) + content
