"""A blog service in a separate process that costs its clients as little as possible: HTTP/1.1, keep-alive, GET only.

``python -m benchmarks.service --entries 10000 --comments 20000 --files 2000`` prints its base URL and serves until its
standard input ends. It also serves pictures, each a different PNG. A line on standard input edits the first entry.
``--platform equal`` gives every ID a blog of that size. ``--platform varied`` gives them sizes that are distributed
exponentially with that size as their mean.
"""

from __future__ import annotations

import asyncio
import re
import socket
import struct
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from dataclasses import astuple
from functools import partial
from math import log
from zlib import crc32

from benchmarks.content import BLOG_ID, BlogSize, Content, add_options

_HEAD_ENDS = b"\r\n\r\n"
_HEAD = b"HTTP/1.1 %b\r\nContent-Type: %b\r\nContent-Length: %d\r\n\r\n"
_JSON = b"application/json; charset=utf-8"
_REFUSAL = b'{"json":{"result":"error","message":"not found","data":{}}}'
_PICTURE = re.compile(rb"/((?:emoji/)?)([0-9]{1,12})\.png")
_PICTURE_BYTES = 50_000
_SIZES = 16
_ASKED_FOR = re.compile(rb"([?&]id=)([^&]+)")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", crc32(kind + data))


_PNG = b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", struct.pack(">IIBBBBB", 640, 480, 8, 0, 0, 0, 0))
_FILLING = bytes(_PICTURE_BYTES)


class Connection(asyncio.Protocol):
    """A connection of a client.

    Args:
        respond: returns the whole answer to the head of a request.
        latency: seconds before each answer.
    """

    def __init__(self, respond: Callable[[bytes], bytes], latency: float) -> None:
        self._respond = respond
        self._latency = latency
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin a connection."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Answer each request whose head is complete."""
        self._received += data
        while (end := self._received.find(_HEAD_ENDS)) >= 0:
            head, self._received = self._received[:end], self._received[end + len(_HEAD_ENDS) :]
            answer = self._respond(head)
            if self._latency:
                asyncio.get_running_loop().call_later(self._latency, self._transport.write, answer)
            else:
                self._transport.write(answer)


def _response(content: Content | Platform, head: bytes) -> bytes:
    method, target, _ = head.split(b"\r\n", 1)[0].split(b" ")
    picture = _PICTURE.fullmatch(target)
    if picture is not None:
        number = _chunk(b"tEXt", b"%b%012d%b" % (picture[1], int(picture[2]), _FILLING))
        body = _PNG + number + _chunk(b"IEND", b"")
        return _HEAD % (b"200 OK", b"image/png", len(body)) + body
    try:
        found = content.answer(target) if method == b"GET" else None
    except ValueError:
        found = None
    if found is None:
        return _HEAD % (b"404 Not Found", _JSON, len(_REFUSAL)) + _REFUSAL
    return _HEAD % (b"200 OK", _JSON, len(found)) + found


class Platform:
    """A blog for every ID; several IDs share one content, in which each ID is filled in."""

    def __init__(self, sizes: Sequence[BlogSize]) -> None:
        self._contents = [Content(size) for size in sizes]
        self.edits = 0

    def answer(self, target: bytes) -> bytes | None:
        """Return the body for a path with its query, or ``None`` if nothing is served there."""
        asked = _ASKED_FOR.search(target)
        if asked is None:
            return self._contents[0].answer(target)
        own = BLOG_ID.encode()
        content = self._contents[crc32(asked[2]) % len(self._contents)]
        found = content.answer(_ASKED_FOR.sub(rb"\g<1>" + own, target, count=1))
        return None if found is None else found.replace(own, asked[2])


def sizes_of(mean: BlogSize, *, varied: bool) -> list[BlogSize]:
    """Return the sizes of a platform's blogs; all are equally frequent."""
    if not varied:
        return [mean]
    times = [-log(1 - (number + 0.5) / _SIZES) for number in range(_SIZES)]
    return [BlogSize(*(max(1, round(each * count)) for count in astuple(mean))) for each in times]


async def _serve(size: BlogSize, latency: float, platform: str | None, *, pictures: bool, real: bool) -> None:
    listening = socket.create_server(("127.0.0.1", 0))
    base_url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    content: Content | Platform
    if platform is not None:
        content = Platform(sizes_of(size, varied=platform == "varied"))
    else:
        content = Content(size, base_url, real=real) if pictures else Content(size, real=real)
    server = await asyncio.get_running_loop().create_server(
        lambda: Connection(partial(_response, content), latency), sock=listening
    )
    async with server:
        print(base_url, flush=True)
        while await asyncio.to_thread(sys.stdin.readline):
            content.edits += 1
            print(content.edits, flush=True)


def main() -> None:
    """Serve until standard input ends."""
    parser = ArgumentParser(description=__doc__)
    add_options(parser)
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before each answer")
    parser.add_argument("--pictures", action="store_true", help="let entries show the pictures that are served here")
    parser.add_argument("--real", action="store_true", help="make entries as long and as varied as real ones")
    parser.add_argument("--platform", choices=["equal", "varied"], help="have a blog for every ID")
    options = parser.parse_args()
    size = BlogSize.of(options)
    asyncio.run(_serve(size, options.latency, options.platform, pictures=options.pictures, real=options.real))


if __name__ == "__main__":
    main()
