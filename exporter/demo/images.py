"""PNG and GIF files written byte by byte, the same on every machine.

The compression is done here because the bytes of :mod:`zlib` differ from one build to the next, and the sample archive
names its pictures by their hash. PNG: ISO/IEC 15948, deflate: RFC 1951, GIF: the GIF89a specification.
"""

from __future__ import annotations

import struct
import zlib
from bisect import bisect_right
from collections.abc import Sequence

_SIGNATURES = {b"\x89PNG\r\n\x1a\n": "image/png", b"GIF89a": "image/gif", b"\xff\xd8\xff": "image/jpeg"}
_LENGTH_EXTRA = (0,) * 8 + (1,) * 4 + (2,) * 4 + (3,) * 4 + (4,) * 4 + (5,) * 4
_DISTANCE_EXTRA = (0, 0, *(extra for extra in range(14) for _ in range(2)))
_WINDOW = 32768
_LONGEST = 258


def content_type(body: bytes) -> str:
    """Return the media type a picture's first bytes tell."""
    return next((kind for start, kind in _SIGNATURES.items() if body.startswith(start)), "application/octet-stream")


def png(width: int, height: int, palette: Sequence[tuple[int, int, int]], pixels: bytes) -> bytes:
    """Write an indexed-colour PNG; ``pixels`` holds one palette index a pixel, row by row."""
    rows = b"".join(b"\0" + pixels[at : at + width] for at in range(0, width * height, width))
    stream = b"\x78\x01" + _deflate(rows) + struct.pack(">I", zlib.adler32(rows))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        (
            _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
            _chunk(b"PLTE", b"".join(bytes(colour) for colour in palette)),
            _chunk(b"IDAT", stream),
            _chunk(b"IEND", b""),
        )
    )


def gif(
    width: int, height: int, palette: Sequence[tuple[int, int, int]], frames: Sequence[bytes], *, delay: int = 50
) -> bytes:
    """Write a GIF whose colour 0 is transparent; more than one frame plays for ever, ``delay`` in 1/100 s."""
    depth = max(2, (len(palette) - 1).bit_length())
    colours = b"".join(bytes(colour) for colour in palette).ljust(3 << depth, b"\0")
    parts = [b"GIF89a", struct.pack("<HHBBB", width, height, 0x80 | depth - 1, 0, 0), colours]
    if len(frames) > 1:
        parts.append(b"\x21\xff\x0bNETSCAPE2.0\x03\x01\0\0\0")
    for pixels in frames:
        parts.append(struct.pack("<4BHBB", 0x21, 0xF9, 4, 0x09, delay, 0, 0))
        parts.append(struct.pack("<BHHHHB", 0x2C, 0, 0, width, height, 0) + bytes([depth]))
        packed = _lzw(pixels, depth)
        parts += [bytes([len(packed[at : at + 255])]) + packed[at : at + 255] for at in range(0, len(packed), 255)]
        parts.append(b"\0")
    return b"".join(parts) + b"\x3b"


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


class _Bits:
    """Bits packed from the lowest up."""

    def __init__(self) -> None:
        self._out = bytearray()
        self._held = 0
        self._count = 0

    def add(self, value: int, count: int) -> None:
        self._held |= value << self._count
        self._count += count
        while self._count >= 8:
            self._out.append(self._held & 0xFF)
            self._held >>= 8
            self._count -= 8

    def done(self) -> bytes:
        return bytes(self._out) + (bytes([self._held]) if self._count else b"")


def _reversed_bits(value: int, count: int) -> int:
    return int(f"{value:0{count}b}"[::-1], 2)


def _literal_code(symbol: int) -> tuple[int, int]:
    """Return the fixed Huffman code of a literal or length symbol and its bits (RFC 1951, 3.2.6)."""
    if symbol < 144:
        return _reversed_bits(0x30 + symbol, 8), 8
    if symbol < 256:
        return _reversed_bits(0x190 + symbol - 144, 9), 9
    if symbol < 280:
        return _reversed_bits(symbol - 256, 7), 7
    return _reversed_bits(0xC0 + symbol - 280, 8), 8


def _bases(extras: Sequence[int], first: int) -> list[int]:
    bases = [first]
    for extra in extras[:-1]:
        bases.append(bases[-1] + (1 << extra))
    return bases


_CODES = [_literal_code(symbol) for symbol in range(286)]
_LENGTHS = _bases(_LENGTH_EXTRA, 3)
_DISTANCES = _bases(_DISTANCE_EXTRA, 1)


def _deflate(data: bytes) -> bytes:
    bits = _Bits()
    bits.add(0b011, 3)
    seen: dict[bytes, int] = {}
    at = 0
    while at < len(data):
        key = data[at : at + 3]
        before = seen.get(key, -_WINDOW - 1)
        seen[key] = at
        if len(key) < 3 or at - before > _WINDOW:
            bits.add(*_CODES[data[at]])
            at += 1
            continue
        length = _common(data, before, at)
        _add_match(bits, length, at - before)
        at += length
    bits.add(*_CODES[256])
    return bits.done()


def _common(data: bytes, before: int, at: int) -> int:
    if data[before : before + _LONGEST] == data[at : at + _LONGEST]:
        return _LONGEST
    length = 3
    end = min(_LONGEST, len(data) - at)
    while length < end and data[before + length] == data[at + length]:
        length += 1
    return length


def _add_match(bits: _Bits, length: int, distance: int) -> None:
    if length == _LONGEST:
        bits.add(*_CODES[285])
    else:
        index = bisect_right(_LENGTHS, length) - 1
        bits.add(*_CODES[257 + index])
        bits.add(length - _LENGTHS[index], _LENGTH_EXTRA[index])
    index = bisect_right(_DISTANCES, distance) - 1
    bits.add(_reversed_bits(index, 5), 5)
    bits.add(distance - _DISTANCES[index], _DISTANCE_EXTRA[index])


def _lzw(pixels: bytes, depth: int) -> bytes:
    bits = _Bits()
    clear = 1 << depth
    table = {bytes([value]): value for value in range(clear)}
    fresh, size = clear + 2, depth + 1
    bits.add(clear, size)
    word = b""
    for value in pixels:
        longer = word + bytes([value])
        if longer in table:
            word = longer
            continue
        bits.add(table[word], size)
        if fresh == 4096:
            bits.add(clear, size)
            table = {bytes([value]): value for value in range(clear)}
            fresh, size = clear + 2, depth + 1
        else:
            if fresh == 1 << size:
                size += 1
            table[longer] = fresh
            fresh += 1
        word = bytes([value])
    if word:
        bits.add(table[word], size)
    bits.add(clear + 1, size)
    return bits.done()
