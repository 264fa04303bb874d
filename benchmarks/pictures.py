"""A server of pictures in a process of its own: ``python -m benchmarks.pictures --bytes 100000`` prints its base URL.

``/42.png`` is a PNG of exactly so many bytes that no other number has. It serves until its standard input ends.
"""

from __future__ import annotations

import asyncio
import struct
import sys
from argparse import ArgumentParser
from zlib import crc32

_HEAD_ENDS = b"\r\n\r\n"
_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: %d\r\n\r\n"
_NUMBER = b"%012d"


class Pictures:
    """Makes the answers: one frame for all, in which only the number differs."""

    def __init__(self, size: int) -> None:
        start = b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", struct.pack(">IIBBBBB", 640, 480, 8, 0, 0, 0, 0))
        end = _chunk(b"IEND", b"")
        filling = size - len(start) - len(end) - 12 - len(_NUMBER % 0)
        self._before = _HEAD % size + start + struct.pack(">I", filling + len(_NUMBER % 0)) + b"tEXt"
        self._after = b"\xaa" * filling + bytes(4) + end

    def answer(self, number: int) -> bytes:
        """Return the whole answer for a picture, its head included."""
        return b"".join((self._before, _NUMBER % number, self._after))


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", crc32(kind + data))


class _Connection(asyncio.Protocol):
    def __init__(self, pictures: Pictures) -> None:
        self._pictures = pictures
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        while (end := self._received.find(_HEAD_ENDS)) >= 0:
            target = self._received.split(b" ", 2)[1]
            self._received = self._received[end + len(_HEAD_ENDS) :]
            self._transport.write(self._pictures.answer(int(target[1:-4])))


async def _serve(size: int) -> None:
    pictures = Pictures(size)
    server = await asyncio.get_running_loop().create_server(lambda: _Connection(pictures), "127.0.0.1", 0)
    async with server:
        print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--bytes", type=int, default=100_000)
    asyncio.run(_serve(parser.parse_args().bytes))
