"""Faults of real networks and services, added to the sample service.

``service.before = faults.quarter_faulty(seed)`` or any composition of the single faults below. Every fault that occurs
is counted and logged with its time.
"""

from __future__ import annotations

import asyncio
import random
import socket
import struct
import time
import zlib
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime
from email.utils import format_datetime

from aiohttp import web

Fault = Callable[[web.Request], Awaitable[web.StreamResponse | None]]
Clock = Callable[[], float]

_JSON = "application/json"
_BODY = b'{"json":{"result":"ok","message":"","data":{"entry_id":"1","title":"' + b"a" * 400 + b'"}}}'


@dataclass(frozen=True, slots=True)
class Struck:
    """One fault that occurred."""

    kind: str
    path: str
    time: float


@dataclass
class Log:
    """The faults so far; ``times`` come from the given clock."""

    clock: Clock = time.monotonic
    struck: list[Struck] = field(default_factory=list)

    @property
    def counts(self) -> Counter[str]:
        """The number of faults of each kind."""
        return Counter(each.kind for each in self.struck)

    def logged(self, kind: str, fault: Fault) -> Fault:
        """Return the fault in a form that logs each use."""

        async def answer(request: web.Request) -> web.StreamResponse | None:
            self.struck.append(Struck(kind, request.path_qs, self.clock()))
            return await fault(request)

        return answer


def status(code: int, retry_after: float | datetime | None = None) -> Fault:
    """Answer with a status; ``retry_after`` is seconds, or an aware time in UTC for a header with a date."""
    headers = {}
    if isinstance(retry_after, datetime):
        headers["Retry-After"] = format_datetime(retry_after, usegmt=True)
    elif retry_after is not None:
        headers["Retry-After"] = f"{retry_after:g}"

    async def answer(_request: web.Request) -> web.StreamResponse:
        return web.Response(status=code, text="temporarily out of order", headers=headers)

    return answer


async def reset(request: web.Request) -> web.StreamResponse:
    """Reset the connection before the first byte."""
    if request.transport is not None:
        # Without lingering the kernel sends RST instead of FIN.
        request.transport.get_extra_info("socket").setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
        )
        request.transport.abort()
    return web.Response()


async def truncated(request: web.Request) -> web.StreamResponse:
    """Promise a length and cut the connection half way."""
    return _half(request, f"Content-Length: {len(_BODY)}\r\n", _BODY[: len(_BODY) // 2])


async def truncated_chunks(request: web.Request) -> web.StreamResponse:
    """Cut the connection in the middle of a chunk."""
    return _half(request, "Transfer-Encoding: chunked\r\n", b"fff\r\n" + _BODY)


async def truncated_silently(request: web.Request) -> web.StreamResponse:
    """End a response without a declared length half way: on the wire nothing is wrong."""
    return _half(request, "", _BODY[: len(_BODY) // 2])


def _half(request: web.Request, header: str, part: bytes) -> web.StreamResponse:
    """Write a response past aiohttp, which would not let one end too early, and close the connection."""
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {_JSON}\r\nConnection: close\r\n{header}\r\n"
    if request.transport is not None:
        request.transport.write(head.encode() + part)
        request.transport.close()
    return web.Response()


async def empty(_request: web.Request) -> web.StreamResponse:
    """Answer 200 with an empty body."""
    return web.Response(content_type=_JSON)


async def html(_request: web.Request) -> web.StreamResponse:
    """Answer 200 with an HTML page."""
    return web.Response(
        text="<!DOCTYPE html><title>メンテナンス中</title><p>しばらくお待ちください", content_type="text/html"
    )


async def bad_gzip(_request: web.Request) -> web.StreamResponse:
    """Claim gzip and send other data."""
    return web.Response(body=_BODY, content_type=_JSON, headers={"Content-Encoding": "gzip"})


async def cut_gzip(_request: web.Request) -> web.StreamResponse:
    """Send half of a gzip stream with a matching length: on the wire nothing is wrong."""
    packed = zlib.compress(_BODY, wbits=31)
    return web.Response(body=packed[: len(packed) // 2], content_type=_JSON, headers={"Content-Encoding": "gzip"})


def drip(pause: float) -> Fault:
    """Send a space every ``pause`` seconds without an end; stop when the client disconnects."""

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": _JSON})
        await response.prepare(request)
        while request.transport is not None and not request.transport.is_closing():
            await response.write(b" ")
            await asyncio.sleep(pause)
        return response

    return answer


def slow(seconds: float) -> Fault:
    """Delay the real response."""

    async def answer(_request: web.Request) -> None:
        await asyncio.sleep(seconds)

    return answer


async def hang(_request: web.Request) -> web.StreamResponse:
    """Never answer; the service's end or the client's disconnect cancels it."""
    never: asyncio.Future[web.StreamResponse] = asyncio.get_running_loop().create_future()
    return await never


def first_of(*faults: Fault) -> Fault:
    """Try one fault after another until one answers."""

    async def answer(request: web.Request) -> web.StreamResponse | None:
        for fault in faults:
            response = await fault(request)
            if response is not None:
                return response
        return None

    return answer


def after(good: int, fault: Fault) -> Fault:
    """Let this many requests pass, and let the fault answer all later ones."""
    seen = 0

    async def answer(request: web.Request) -> web.StreamResponse | None:
        nonlocal seen
        seen += 1
        return await fault(request) if seen > good else None

    return answer


def only(path: str, fault: Fault) -> Fault:
    """Apply a fault only if the path with its query contains ``path``, such as ``entry/get`` or ``entry_id=3``."""

    async def answer(request: web.Request) -> web.StreamResponse | None:
        return await fault(request) if path in request.path_qs else None

    return answer


def times(count: int, fault: Fault) -> Fault:
    """Apply a fault to the first ``count`` requests for each address, then stop."""
    asked: Counter[str] = Counter()

    async def answer(request: web.Request) -> web.StreamResponse | None:
        asked[request.path_qs] += 1
        return await fault(request) if asked[request.path_qs] <= count else None

    return answer


KINDS: dict[str, Fault] = {
    "500": status(500),
    "429": status(429, retry_after=0),
    "reset": reset,
    "truncated": truncated,
    "truncated_silently": truncated_silently,
    "empty": empty,
    "html": html,
    "bad_gzip": bad_gzip,
}
"""The eight kinds of :func:`quarter_faulty`; all occur at once, and none needs a timeout to be noticed."""


def quarter_faulty(seed: int, share: float = 0.25, *, log: Log | None = None, in_a_row: int = 3) -> Fault:
    """Apply one of :data:`KINDS` to a ``share`` of all requests, at most ``in_a_row`` times for the same address.

    The choice depends on the seed, the address and the number of requests for it, never on the order of requests. So a
    test that reads concurrently gets the same faults every time.
    """
    noted = {kind: (log or Log()).logged(kind, fault) for kind, fault in KINDS.items()}
    asked: Counter[str] = Counter()
    struck: Counter[str] = Counter()

    async def answer(request: web.Request) -> web.StreamResponse | None:
        address = request.path_qs
        asked[address] += 1
        chance = random.Random(f"{seed} {address} {asked[address]}")
        if struck[address] >= in_a_row or chance.random() >= share:
            struck[address] = 0
            return None
        struck[address] += 1
        return await noted[chance.choice(list(noted))](request)

    return answer
