"""A sink in memory, and a downloader with an engine of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp.abc import AbstractResolver

from exporter.clock import Clock
from exporter.http.address_guard import AddressGuard
from exporter.http.body import Timeouts
from exporter.http.engine import Downloader, Engine
from exporter.http.retry import RetryPolicy

TIMEOUTS = Timeouts(connect=2.0, read=2.0, total=5.0)
ONCE = RetryPolicy(retries=0)


class Memory:
    """Holds what was written; ``restarts`` lists the validator and length of each beginning."""

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
    per_host: int = 6,
    resolver: AbstractResolver | None = None,
    **given: Any,
) -> AsyncIterator[Downloader]:
    """Yield a downloader that tries once unless it is given another policy, and waits without chance."""
    async with Engine(clock=clock, per_host=per_host, resolver=resolver, chance=lambda: 1.0) as engine:
        yield engine.downloader(
            guard or AddressGuard(allow_private=True), **{"timeouts": TIMEOUTS, "policy": ONCE, **given}
        )
