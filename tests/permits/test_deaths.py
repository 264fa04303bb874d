"""Killed, stopped and woken at random: the service itself never sees more than the budget, and soon as much again.

Each runs with ten blows beside the other attacks, and with fifty by itself: how much of the rate is reached says nothing
beside tests that want the processors.

Recovery: from a death until what died is there again, for which there are two seconds, and until all that it held is free
again, which is half a second for an owner to know that there is another, the lease, the longest request time, the time
for which a place counts, and a second of margin. Outside of it the crawlers together reach 95 % of the rate.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import random
import signal
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from exporter.permits.meeting_place import MeetingPlace
from exporter.permits.owner import start_owner
from tests.permits.conftest import crawler, end, owner_of, terms
from tests.support.measured_service import Measured, MeasuredService

pytestmark = pytest.mark.no_cover

SLOTS, RATE = 12, 80.0
LEASE, LONGEST = 0.6, 1.5
RECOVERY = 2.0 + 0.5 + LEASE + LONGEST + 1.0 + 1.0
CRAWLERS = 4


@dataclass
class Fleet:
    """Crawlers under a knife; ``deaths`` lists when, by the clock that the service has too."""

    folder: Path
    service: MeasuredService
    chance: random.Random = field(default_factory=lambda: random.Random(17))
    crawlers: list[asyncio.subprocess.Process] = field(default_factory=list)
    deaths: list[float] = field(default_factory=list)
    waking: list[asyncio.Task[None]] = field(default_factory=list)
    seconds: float = 0.01

    async def start(self) -> None:
        self.crawlers = [await crawler(self.folder, self.service, self.seconds) for _ in range(CRAWLERS)]
        await asyncio.sleep(3.0)

    async def kill_crawler(self) -> None:
        number = self.chance.randrange(CRAWLERS)
        with contextlib.suppress(ProcessLookupError):
            self.crawlers[number].kill()
        await self.crawlers[number].wait()
        self.crawlers[number] = await crawler(self.folder, self.service, self.seconds)

    async def kill_owner(self) -> None:
        """Kill whoever has the lock, once somebody has."""
        while True:
            with contextlib.suppress(ValueError, ProcessLookupError):
                os.kill(json.loads((self.folder / "lock").read_bytes())["pid"], signal.SIGKILL)
                return
            await asyncio.sleep(0.01)

    async def stop_crawler(self) -> None:
        process, pause = self.crawlers[self.chance.randrange(CRAWLERS)], self.chance.random() * 6
        process.send_signal(signal.SIGSTOP)

        async def wake() -> None:
            await asyncio.sleep(pause)
            self.deaths.append(time.monotonic())
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGCONT)

        self.waking.append(asyncio.create_task(wake()))

    async def endure(self, times: int, *blows: Callable[[Fleet], Awaitable[None]]) -> None:
        """Strike at random moments, in bursts with rests in which all may recover."""
        for number in range(times):
            self.deaths.append(time.monotonic())
            await blows[number % len(blows)](self)
            await asyncio.sleep(self.chance.random())
            if number % 10 == 9:
                await asyncio.gather(*self.waking)
                await asyncio.sleep(RECOVERY + 3.0)
        self.deaths.append(time.monotonic())
        await end(self.crawlers)


def quiet_share(found: Measured, deaths: list[float]) -> list[float]:
    """Return what share of the rate was reached in each stretch outside of recovery."""
    moments = sorted(deaths)
    stretches = [
        (before + RECOVERY, after) for before, after in itertools.pairwise(moments) if after - before > RECOVERY + 2
    ]
    return [found.between(begin, after) / (after - begin) / RATE for begin, after in stretches]


WAYS = {
    "crawlers die": (Fleet.kill_crawler,),
    "owners die": (Fleet.kill_owner,),
    "crawlers stand still": (Fleet.stop_crawler,),
    "all of it": (Fleet.kill_crawler, Fleet.kill_owner, Fleet.stop_crawler),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "blows", [pytest.param(10, marks=pytest.mark.hostile), pytest.param(50, marks=pytest.mark.slow)]
)
async def test_the_rate_and_the_slots_hold_at_every_instant(
    tmp_path: Path, service: MeasuredService, way: str, blows: int
) -> None:
    fleet = Fleet(tmp_path / "permits", service)
    async with start_owner(fleet.folder, terms(service, SLOTS, RATE, LEASE, LONGEST)):
        await fleet.start()
        await fleet.endure(blows, *WAYS[way])
    found = await asyncio.to_thread(service.measured)
    shares = quiet_share(found, fleet.deaths)
    print(way, len(found.arrivals), found.most_in_a_second, found.most_at_once, [round(each, 3) for each in shares])  # noqa: T201
    assert found.most_in_a_second <= RATE
    assert found.most_at_once <= SLOTS
    assert len(shares) == blows // 10
    assert blows < 50 or min(shares) >= 0.95


@pytest.mark.hostile
async def test_where_only_the_slots_are_few_they_are_all_used_and_never_more(
    tmp_path: Path, service: MeasuredService
) -> None:
    fleet = Fleet(tmp_path / "permits", service, seconds=0.05)
    async with start_owner(fleet.folder, terms(service, 4, None, LEASE, LONGEST)):
        await fleet.start()
        await fleet.endure(30, *WAYS["all of it"])
    found = await asyncio.to_thread(service.measured)
    assert found.most_at_once == 4


@pytest.mark.hostile
async def test_a_crawler_that_stood_still_for_longer_than_its_lease_sends_nothing_of_it(
    folder: Path, service: MeasuredService
) -> None:
    async with owner_of(MeetingPlace(folder).make(terms(service, 4, 40.0, lease=0.4, longest=0.3))):
        crawlers = [await crawler(folder, service, 0.1) for _ in range(2)]
        await asyncio.sleep(1.5)
        crawlers[0].send_signal(signal.SIGSTOP)
        stopped_at = time.monotonic()
        await asyncio.sleep(4.0)
        crawlers[0].send_signal(signal.SIGCONT)
        await asyncio.sleep(1.2)
        await end(crawlers)
    measured = service.measured()
    assert measured.most_at_once == 4
    assert measured.most_in_a_second <= 40
    # What the other one held is its own once all of what was withheld is free.
    assert measured.between(stopped_at + 3.0, stopped_at + 4.0) >= 30
