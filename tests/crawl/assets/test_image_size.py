"""Width, height and completeness of pictures."""

from __future__ import annotations

import struct
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from exporter.crawl.assets.file_check import Size, dimensions, is_cut_short
from tests.support.pictures import png


def drawn(kind: str, width: int, height: int) -> bytes:
    body = BytesIO()
    Image.new("P", (width, height)).save(body, kind)
    return body.getvalue()


def jpeg(*segments: bytes, start: bytes = b"\xff\xd8") -> bytes:
    return start + b"".join(segments) + b"\xff\xda\0\2data\xff\xd9"


def segment(marker: int, body: bytes) -> bytes:
    return bytes([0xFF, marker]) + struct.pack(">H", len(body) + 2) + body


FRAME = segment(0xC2, struct.pack(">BHHB", 8, 480, 640, 3))
BIG_EXIF = segment(0xE1, b"Exif\0\0" + b"\xff\xc0" + bytes(65_000))
BMP = b"BM" + bytes(12)


@pytest.mark.parametrize(
    ("body", "kind", "size"),
    [
        (png(1, 7, 9), "image/png", (7, 9)),
        (drawn("PNG", 3, 2), "image/png", (3, 2)),
        (drawn("GIF", 4, 5), "image/gif", (4, 5)),
        (jpeg(FRAME), "image/jpeg", (640, 480)),
        (jpeg(BIG_EXIF, BIG_EXIF, segment(0xDB, bytes(65)), FRAME), "image/jpeg", (640, 480)),
        (jpeg(segment(0xC4, b"huffman"), b"\xff\x01", b"\xff\xd0", b"\xff\xff" + FRAME), "image/jpeg", (640, 480)),
        (BMP + struct.pack("<Iii", 40, 3, 4), "image/bmp", (3, 4)),
        (BMP + struct.pack("<Iii", 40, 3, -4), "image/bmp", (3, 4)),
        (BMP + struct.pack("<IHHI", 12, 3, 4, 0), "image/bmp", (3, 4)),
        (b"RIFF\0\0\0\0WEBPVP8X" + bytes(8) + b"\x7f\2\0\xdf\1\0", "image/webp", (640, 480)),
        (b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f" + struct.pack("<I", 639 | 479 << 14) + b"12345", "image/webp", (640, 480)),
        (b"RIFF\0\0\0\0WEBPVP8 \0\0\0\0" + b"\0\0\0\x9d\x01\x2a" + struct.pack("<HH", 640, 480), "image/webp", (640, 480)),
    ],
)  # fmt: skip
def test_the_size_of_each_format(body: bytes, kind: str, size: tuple[int, int]) -> None:
    assert dimensions(BytesIO(body), kind) == Size(*size)


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"\x89PNG\r\n\x1a\n", "image/png"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIDAT" + bytes(20), "image/png"),
        (png(1, 1, 1)[:16] + bytes(8), "image/png"),
        (png(1, 1, 1)[:16] + b"\xff" * 8, "image/png"),
        (b"GIF89a\0\0\0\0", "image/gif"),
        (b"GIF89a", "image/gif"),
        (jpeg(), "image/jpeg"),
        (jpeg(b"junk"), "image/jpeg"),
        (b"\xff\xd8\xff", "image/jpeg"),
        (b"\xff\xd8" + segment(0xE0, b"")[:3], "image/jpeg"),
        (b"\xff\xd8" + segment(0xE0, b"") * 10_001 + FRAME, "image/jpeg"),
        (BMP, "image/bmp"),
        (b"RIFF\0\0\0\0WEBPVP8X", "image/webp"),
        (b"RIFF\0\0\0\0WEBPVP8 " + bytes(20), "image/webp"),
        (b"RIFF\0\0\0\0WEBPNEW?" + bytes(20), "image/webp"),
        (b"<svg width='3' height='4'/>", "image/svg+xml"),
    ],
)
def test_a_header_without_a_size_has_no_result(body: bytes, kind: str) -> None:
    assert dimensions(BytesIO(body), kind) is None


@given(
    st.sampled_from(["image/png", "image/gif", "image/jpeg", "image/bmp", "image/webp"]),
    st.sampled_from([b"", b"\xff\xd8\xff", b"RIFF\0\0\0\0WEBPVP8X", b"BM", png(1)[:20]]),
    st.binary(max_size=200),
)
def test_no_header_raises(kind: str, start: bytes, rest: bytes) -> None:
    size = dimensions(BytesIO(start + rest), kind)
    assert size is None or min(size) > 0


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (png(1), "image/png"),
        (jpeg(FRAME), "image/jpeg"),
        (drawn("GIF", 1, 1), "image/gif"),
    ],
)
def test_a_picture_with_its_end_is_complete(body: bytes, kind: str) -> None:
    assert not is_cut_short(BytesIO(body), kind)
    assert not is_cut_short(BytesIO(body + b"\r\n<!-- added by a server -->"), kind)
    assert is_cut_short(BytesIO(body.rstrip(b"\x3b\xd9\x82")[:-1]), kind)
    assert not is_cut_short(BytesIO(body[:9]), "image/webp")
