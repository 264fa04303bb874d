"""The throttle against services with unannounced limits in another process, by a real clock."""

from __future__ import annotations

import asyncio
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.limited_service import MOST_AT_ONCE
from benchmarks.measure import Bench, python
from benchmarks.table import Goal, Row
from benchmarks.throttle import MOST_REFUSALS
from exporter.http.engine import Engine
from exporter.model.exchange import Request, Response

_REQUESTS = 3000
_CEILINGS = (8, 32)
_CROWDED_GOALS = {8: 1.15, 32: 1.2}
_AT_ONCE_GOAL = 1.15


class LimitedService:
    """The running service of :mod:`benchmarks.limited_service`."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.base_url = self._line()

    def refusals(self) -> int:
        """Return the number of refusals since the call before."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return int(self._line())

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()


@contextmanager
def limited(kind: str) -> Iterator[LimitedService]:
    """Run such a service in a separate process."""
    command = python("benchmarks.limited_service", kind)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield LimitedService(process)
        assert process.stdin is not None
        process.stdin.close()


async def ask(base_url: str, concurrency: int, requests: int) -> float:
    """Send this many requests through the program's own layers, and return the seconds that they took."""
    numbers = iter(range(requests))
    async with Engine() as engine:
        client = engine.client(base_url, concurrency=concurrency)

        async def worker() -> None:
            for number in numbers:
                await client.fetch(Request("entry/get", "/", {"id": str(number)}, {}), _status)

        begun = time.monotonic()
        await asyncio.gather(*[worker() for _ in range(concurrency)])
        return time.monotonic() - begun


def _status(response: Response) -> int:
    return response.status


def throttle_clock(bench: Bench) -> Iterator[Row]:
    """Measure two services, each against the best concurrency for it."""
    requests = bench.size(_REQUESTS, 100)
    for kind, name in (
        ("crowded", "latency (n/6)^2 above 6, 0.05 s, real clock"),
        ("at-once", "6 at once, refusals counted, jittered, real clock"),
    ):
        with limited(kind) as service:
            best = asyncio.run(ask(service.base_url, MOST_AT_ONCE, requests))
            service.refusals()
            for ceiling in _CEILINGS:
                seconds = asyncio.run(ask(service.base_url, ceiling, requests))
                refusals = service.refusals()
                goal = _CROWDED_GOALS[ceiling] if kind == "crowded" else _AT_ONCE_GOAL
                yield Row(
                    f"{name}, {ceiling} allowed",
                    f"{MOST_AT_ONCE} at once",
                    seconds / best,
                    wall_s=seconds,
                    goal=Goal() if bench.small else Goal(wall=goal),
                    note=f"{refusals} refused, at most {MOST_REFUSALS} wanted",
                )
