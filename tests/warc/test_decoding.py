"""Content in the encodings of the web, large and cut short."""

from __future__ import annotations

import gzip
import random
import zlib

import brotli
import pytest
from backports import zstd

from exporter.errors import BadBody, BodyTooLarge
from exporter.warc.http_message import decoded

PACK = {"gzip": gzip.compress, "deflate": zlib.compress, "br": brotli.compress, "zstd": zstd.compress}
ZEROS = bytes(20_000_000)
MIXED = random.Random(1).randbytes(700_000) + bytes(5_000_000) + b"end"


def pieces(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


@pytest.mark.parametrize("encoding", PACK)
@pytest.mark.parametrize("content", [b"", b"x", ZEROS, MIXED], ids=["empty", "short", "zeros", "mixed"])
@pytest.mark.parametrize("size", [1 << 18, 10_007])
def test_all_of_it_is_decoded(encoding: str, content: bytes, size: int) -> None:
    assert decoded(pieces(PACK[encoding](content), size), encoding, 30_000_000) == content


@pytest.mark.parametrize("encoding", PACK)
def test_a_bomb_is_stopped(encoding: str) -> None:
    with pytest.raises(BodyTooLarge):
        decoded([PACK[encoding](ZEROS)], encoding, 1_000_000)


@pytest.mark.parametrize("encoding", PACK)
@pytest.mark.parametrize("content", [b"x" * 1000, MIXED], ids=["short", "mixed"])
def test_a_cut_body_is_an_error(encoding: str, content: bytes) -> None:
    with pytest.raises(BadBody):
        decoded([PACK[encoding](content)[:-3]], encoding, 30_000_000)


@pytest.mark.parametrize("encoding", [*PACK, "rot13"])
def test_other_bytes_are_an_error(encoding: str) -> None:
    with pytest.raises(BadBody):
        decoded([b"\xff" + b"no such coding" * 10], encoding, 1000)
