"""A blog service in a process of its own that costs its clients as little as possible: HTTP/1.1, keep-alive, GET only.

``python -m benchmarks.service --entries 10000`` prints its base URL and serves until its standard input ends.
"""

from __future__ import annotations

import asyncio
import sys
from argparse import ArgumentParser
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from benchmarks.blog_size import BlogSize, add_options
from benchmarks.content import Content

_HEAD_ENDS = b"\r\n\r\n"
_FOUND = b"HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: %d\r\n\r\n"
_REFUSED = b"HTTP/1.1 404 Not Found\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: %d\r\n\r\n"
_REFUSAL = b'{"json":{"result":"error","message":"not found","data":{}}}'


class _Connection(asyncio.Protocol):
    def __init__(self, content: Content) -> None:
        self._content = content
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        while (end := self._received.find(_HEAD_ENDS)) >= 0:
            head, self._received = self._received[:end], self._received[end + len(_HEAD_ENDS) :]
            self._transport.write(_response(self._content, head))


def _response(content: Content, head: bytes) -> bytes:
    method, target, _ = head.split(b"\r\n", 1)[0].split(b" ")
    try:
        body = content.answer(target) if method == b"GET" else None
    except ValueError:
        body = None
    return _REFUSED % len(_REFUSAL) + _REFUSAL if body is None else _FOUND % len(body) + body


@asynccontextmanager
async def serving(size: BlogSize) -> AsyncIterator[str]:
    """Serve a blog of that size on a free loopback port and yield the base URL."""
    content = Content(size)
    server = await asyncio.get_running_loop().create_server(lambda: _Connection(content), "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def _serve(size: BlogSize) -> None:
    async with serving(size) as base_url:
        print(base_url, flush=True)
        await asyncio.to_thread(sys.stdin.read)


def main() -> None:
    """Serve until standard input ends."""
    parser = ArgumentParser(description=__doc__)
    add_options(parser)
    asyncio.run(_serve(BlogSize.of(parser.parse_args())))


if __name__ == "__main__":
    main()
