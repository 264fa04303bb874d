"""A sink in memory, and downloaders with a separate engine."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web
from aiohttp.abc import AbstractResolver

from exporter.clock import Clock
from exporter.http.address_guard import AddressGuard
from exporter.http.deadline import Timeouts
from exporter.http.engine import Downloader, Engine
from exporter.http.retry import RetryPolicy
from tests.http.clocks import JumpClock

TIMEOUTS = Timeouts(connect=60.0, read=60.0, total=120.0)
ONCE = RetryPolicy(retries=0)
POLICY = RetryPolicy(retries=2, base=1.0, max_retry_after=60.0)


class Memory:
    """Holds the written bytes; ``restarts`` lists the validator and length of each start."""

    def __init__(self, data: bytes = b"", validator: str | None = None) -> None:
        self.data = bytearray(data)
        self.validator = validator
        self.size = len(data)
        self.restarts: list[tuple[str | None, int | None]] = []

    def restart(self, validator: str | None, length: int | None) -> None:
        self.restarts.append((validator, length))
        self.data.clear()
        self.size = 0
        self.validator = validator

    def write(self, data: bytes) -> None:
        self.data += data
        self.size += len(data)


@asynccontextmanager
async def downloading(
    guard: AddressGuard | None = None,
    *,
    clock: Clock | None = None,
    concurrency: int = 6,
    resolver: AbstractResolver | None = None,
    **given: Any,
) -> AsyncIterator[Downloader]:
    """Yield a downloader that tries once by default, and waits without randomness."""
    async with Engine(clock=clock, concurrency=concurrency, resolver=resolver, chance=lambda: 1.0) as engine:
        yield engine.downloader(
            guard or AddressGuard(allow_private=True), **{"timeouts": TIMEOUTS, "policy": ONCE, **given}
        )


async def using(work: Callable[[Downloader], Awaitable[Any]], clock: JumpClock, **given: Any) -> Downloader:
    async with downloading(clock=clock, **{"policy": POLICY, "timeouts": TIMEOUTS, **given}) as downloader:
        await work(downloader)
        return downloader


def leading_to(target: str) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    """Redirect every address to the same path under ``target``."""

    async def answer(request: web.Request) -> web.StreamResponse:
        return web.Response(status=302, headers={"Location": target + request.path})

    return answer
