"""A sink in memory, and a downloader that is closed in the end."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp.abc import AbstractResolver

from exporter.http.address_guard import AddressGuard
from exporter.http.download import Downloader, DownloadLimits

LIMITS = DownloadLimits(connect_timeout=2.0, read_timeout=2.0, total_timeout=5.0)


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
    guard: AddressGuard | None = None, limits: DownloadLimits = LIMITS, resolver: AbstractResolver | None = None
) -> AsyncIterator[Downloader]:
    downloader = Downloader(limits, guard or AddressGuard(allow_private=True), resolver=resolver)
    try:
        yield downloader
    finally:
        await downloader.close()
