"""The picture writers, read back by decoders written for the purpose or taken from the standard library."""

from __future__ import annotations

import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.demo import images
from exporter.demo.canvas import Canvas, mix

RED, BLUE, WHITE = (255, 0, 0), (0, 0, 255), (255, 255, 255)


def read_png(body: bytes) -> tuple[int, int, list[tuple[int, int, int]], bytes]:
    """Return width, height, palette and pixels; every checksum is checked."""
    assert body.startswith(b"\x89PNG\r\n\x1a\n")
    chunks: dict[bytes, bytes] = {}
    at = 8
    while at < len(body):
        length, kind = struct.unpack(">I4s", body[at : at + 8])
        data = body[at + 8 : at + 8 + length]
        assert struct.unpack(">I", body[at + 8 + length : at + 12 + length])[0] == zlib.crc32(kind + data)
        chunks[kind] = data
        at += 12 + length
    assert list(chunks) == [b"IHDR", b"PLTE", b"IDAT", b"IEND"]
    width, height, depth, kind, *rest = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    assert (depth, kind, rest) == (8, 3, [0, 0, 0])
    rows = zlib.decompress(chunks[b"IDAT"])
    assert len(rows) == height * (width + 1)
    assert not any(rows[:: width + 1])
    pixels = b"".join(rows[y * (width + 1) + 1 : (y + 1) * (width + 1)] for y in range(height))
    plte = chunks[b"PLTE"]
    palette = [(plte[at], plte[at + 1], plte[at + 2]) for at in range(0, len(plte), 3)]
    return width, height, palette, pixels


def read_gif(body: bytes) -> tuple[int, int, list[bytes]]:
    """Return width, height and the frames' pixels."""
    signature, width, height, flags = struct.unpack("<6sHHB", body[:11])
    assert signature == b"GIF89a"
    at = 13 + (3 << ((flags & 7) + 1))
    frames = []
    while body[at] != 0x3B:
        is_frame = body[at] == 0x2C
        if is_frame:
            assert struct.unpack("<BHHHHB", body[at : at + 10]) == (0x2C, 0, 0, width, height, 0)
        depth = body[at + 10] if is_frame else 0
        at += 11 if is_frame else 2
        blocks = b""
        while body[at]:
            blocks += body[at + 1 : at + 1 + body[at]]
            at += 1 + body[at]
        at += 1
        if is_frame:
            frames.append(unpack_lzw(blocks, depth))
    assert at == len(body) - 1
    return width, height, frames


def unpack_lzw(data: bytes, depth: int) -> bytes:
    clear, end = 1 << depth, (1 << depth) + 1
    bits = int.from_bytes(data, "little")
    table: list[bytes] = []
    out: list[bytes] = []
    size, previous = depth + 1, b""
    while True:
        code = bits & ((1 << size) - 1)
        bits >>= size
        if code == end:
            return b"".join(out)
        if code == clear:
            table = [bytes([value]) for value in range(clear)] + [b"", b""]
            size, previous = depth + 1, b""
            continue
        word = table[code] if code < len(table) else previous + previous[:1]
        if previous and len(table) < 4096:
            table.append(previous + word[:1])
        if len(table) == 1 << size and size < 12:
            size += 1
        out.append(word)
        previous = word


@given(st.binary(max_size=600), st.integers(1, 9))
def test_any_bytes_are_deflated_so_that_zlib_reads_them(data: bytes, copies: int) -> None:
    body = data * copies
    assert zlib.decompress(images._deflate(body), wbits=-15) == body


@pytest.mark.parametrize("gap", [1, 300, 32767, 32768, 32769, 70000])
def test_matches_reach_no_further_than_the_window(gap: int) -> None:
    body = b"umibe" + bytes(gap - 5) + b"umibe no machi" + bytes(1000) if gap > 5 else b"a" * 1000
    packed = images._deflate(body)
    assert zlib.decompress(packed, wbits=-15) == body
    assert len(packed) < len(body) / 10 + 60


@given(st.integers(1, 40), st.integers(1, 30), st.data())
def test_a_png_reads_back(width: int, height: int, data: st.DataObject) -> None:
    pixels = data.draw(
        st.binary(min_size=width * height, max_size=width * height).map(lambda raw: bytes(b % 3 for b in raw))
    )
    body = images.png(width, height, [RED, BLUE, WHITE], pixels)
    assert read_png(body) == (width, height, [RED, BLUE, WHITE], pixels)
    assert images.content_type(body) == "image/png"


@pytest.mark.parametrize("colours", [2, 3, 4, 5, 16, 17, 256])
def test_a_gif_reads_back_at_every_depth(colours: int) -> None:
    palette = [(value, 0, 255 - value) for value in range(colours)]
    pixels = bytes((x * x + x // 7) % colours for x in range(120 * 90))
    body = images.gif(120, 90, palette, [pixels])
    assert read_gif(body) == (120, 90, [pixels])
    assert images.content_type(body) == "image/gif"


def test_a_gif_of_several_frames_plays_for_ever() -> None:
    frames = [bytes([step] * 64) for step in (1, 2, 1)]
    body = images.gif(8, 8, [WHITE, RED, BLUE], frames)
    assert read_gif(body) == (8, 8, frames)
    assert b"NETSCAPE2.0" in body
    assert b"NETSCAPE2.0" not in images.gif(8, 8, [WHITE, RED], frames[:1])


def test_an_empty_gif_frame_ends_properly() -> None:
    assert unpack_lzw(images._lzw(b"", 2), 2) == b""


def test_unknown_bytes_have_no_media_type_of_their_own() -> None:
    assert images.content_type(b"hello") == "application/octet-stream"


def pixel(canvas: Canvas, x: int, y: int) -> tuple[int, int, int]:
    width, _, palette, pixels = read_png(canvas.png())
    return palette[pixels[y * width + x]]


def test_shapes_cover_what_they_should() -> None:
    canvas = Canvas(40, 30, WHITE)
    canvas.rect(2, 3, 5, 4, RED)
    assert [pixel(canvas, x, y) for x, y in ((2, 3), (6, 6), (7, 3), (2, 7))] == [RED, RED, WHITE, WHITE]
    canvas.disc(20, 15, 6, BLUE)
    assert [pixel(canvas, x, y) for x, y in ((20, 15), (16, 15), (13, 15), (15, 10))] == [BLUE, BLUE, WHITE, WHITE]
    canvas.polygon([(30, 0), (39, 9), (30, 9)], RED)
    assert [pixel(canvas, x, y) for x, y in ((31, 8), (38, 1))] == [RED, WHITE]
    canvas.line((0, 25), (39, 25), 3, BLUE)
    assert [pixel(canvas, 10, y) for y in (22, 25, 28)] == [WHITE, BLUE, WHITE]
    canvas.line((5, 20), (5, 20), 3, RED)
    canvas.ridge(lambda x: 28 + x % 2, RED)
    assert [pixel(canvas, x, 28) for x in (0, 1)] == [RED, WHITE]
    canvas.ridge(lambda _: -5, BLUE, bottom=2)
    assert [pixel(canvas, 0, y) for y in (0, 1, 2)] == [BLUE, BLUE, WHITE]
    canvas.dot(39, 15, RED)
    assert pixel(canvas, 39, 15) == RED
    assert canvas.size == (40, 30)


def test_what_is_outside_is_cut_off() -> None:
    canvas = Canvas(10, 10, WHITE)
    canvas.disc(0, 0, 100, RED)
    canvas.rect(-50, -50, 20, 20, BLUE)
    canvas.rect(20, 2, 5, 5, BLUE)
    assert read_png(canvas.png())[3] == bytes([1]) * 100


def test_a_gradient_goes_from_one_colour_to_the_other() -> None:
    canvas = Canvas(3, 20, WHITE)
    canvas.gradient(0, 20, RED, BLUE, steps=20)
    column = [pixel(canvas, 1, y) for y in range(20)]
    assert (column[0], column[-1]) == (RED, BLUE)
    assert column == sorted(column, reverse=True)
    assert mix(RED, BLUE, 0.5) == (128, 0, 128)


def test_the_257th_colour_becomes_the_nearest() -> None:
    canvas = Canvas(300, 1, (0, 0, 0))
    for x in range(300):
        canvas.dot(x, 0, (x % 256, x // 256 * 3, 0))
    assert len(read_png(canvas.png())[2]) == 256
    assert pixel(canvas, 299, 0) == (43, 0, 0)


def test_a_canvas_of_frames_shares_the_longer_palette() -> None:
    first, second = Canvas(4, 4, WHITE), Canvas(4, 4, WHITE)
    second.dot(1, 1, RED)
    assert read_gif(first.gif(second)) == (4, 4, [bytes(16), bytes(5) + b"\x01" + bytes(10)])
