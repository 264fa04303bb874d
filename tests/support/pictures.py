"""Small complete pictures."""

from __future__ import annotations

import struct
import zlib


def png(number: int, width: int = 2, height: int = 3, grey: int = 0) -> bytes:
    """Return a small complete PNG of one grey with a different content for each number."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    rows = zlib.compress((b"\0" + bytes([grey]) * width) * height)
    text = chunk(b"tEXt", b"Comment\0%d" % number)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + text + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
