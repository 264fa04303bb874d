"""Content in the encodings of the web, large and cut short."""

from __future__ import annotations

import gzip
import random
import zlib
from collections.abc import Callable
from functools import cache

import brotli
import pytest
from backports import zstd

from exporter.errors import BadBody, BodyTooLarge
from exporter.warc.http_message import decoded

PACK: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": zstd.compress,
}
ZEROS = bytes(2_000_000)
MIXED = random.Random(1).randbytes(300_000) + bytes(500_000) + b"end"
LARGE_ZEROS = bytes(20_000_000)
LARGE_MIXED = random.Random(1).randbytes(700_000) + bytes(5_000_000) + b"end"


@cache
def packed(encoding: str, content: bytes) -> bytes:
    return PACK[encoding](content)


def pieces(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


@pytest.mark.parametrize("encoding", PACK)
@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"), pytest.param(b"x", id="short"), pytest.param(ZEROS, id="zeros"),
        pytest.param(MIXED, id="mixed"), pytest.param(LARGE_ZEROS, id="large zeros", marks=pytest.mark.thorough),
        pytest.param(LARGE_MIXED, id="large mixed", marks=pytest.mark.thorough),
    ],
)  # fmt: skip
@pytest.mark.parametrize("size", [1 << 18, 10_007])
def test_all_of_it_is_decoded(encoding: str, content: bytes, size: int) -> None:
    assert decoded(pieces(packed(encoding, content), size), encoding, 30_000_000) == content


@pytest.mark.parametrize("encoding", PACK)
def test_a_bomb_is_stopped(encoding: str) -> None:
    with pytest.raises(BodyTooLarge):
        decoded([packed(encoding, ZEROS)], encoding, 1_000_000)


@pytest.mark.parametrize("encoding", PACK)
@pytest.mark.parametrize("content", [b"x" * 1000, MIXED], ids=["short", "mixed"])
def test_a_cut_body_is_an_error(encoding: str, content: bytes) -> None:
    with pytest.raises(BadBody):
        decoded([packed(encoding, content)[:-3]], encoding, 30_000_000)


@pytest.mark.parametrize("encoding", [*PACK, "rot13"])
def test_other_bytes_are_an_error(encoding: str) -> None:
    with pytest.raises(BadBody):
        decoded([b"\xff" + b"no such coding" * 10], encoding, 1000)
