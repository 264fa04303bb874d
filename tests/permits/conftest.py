from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from yarl import URL

from exporter.http.address_guard import origin_of
from exporter.permits.budget import HostLimits
from exporter.permits.meeting_place import MeetingPlace, Terms
from exporter.permits.owner import PermitOwner
from tests.support.measured_service import MeasuredService, measured_service


@pytest.fixture
def service() -> Iterator[MeasuredService]:
    with measured_service() as running:
        yield running


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "permits"


def terms(
    service: MeasuredService, concurrency: int, rate: float | None, lease: float = 1.0, longest: float = 1.5
) -> Terms:
    return Terms({origin_of(URL(service.url)): HostLimits(concurrency, rate)}, lease=lease, longest=longest)


@asynccontextmanager
async def owner_of(place: MeetingPlace) -> AsyncIterator[PermitOwner]:
    """An owner in the tests' own process."""
    owner = PermitOwner(place)
    epoch = 0 if (before := place.owner()) is None else before.epoch
    running = asyncio.create_task(owner.run())
    while ((now := place.owner()) is None or now.epoch == epoch) and not running.done():  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    try:
        yield owner
    finally:
        owner.stop()
        await running


async def crawler(folder: Path, service: MeasuredService, seconds: float) -> asyncio.subprocess.Process:
    command = (sys.executable, "-m", "tests.permits.crawler", str(folder), service.url, str(seconds))
    return await asyncio.create_subprocess_exec(*command, stdin=asyncio.subprocess.PIPE)


async def end(crawlers: list[asyncio.subprocess.Process]) -> None:
    for each in crawlers:
        assert each.stdin is not None
        each.stdin.close()
    assert [await each.wait() for each in crawlers] == [0] * len(crawlers)
