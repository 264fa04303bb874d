"""A clock that never waits: its time jumps to the next sleeper once every task is idle."""

from __future__ import annotations

import asyncio
import heapq
from datetime import UTC, datetime, timedelta

_ROUNDS_TO_REST = 30


class JumpClock:
    """The tests' time; ``sleeps`` lists every requested wait, in seconds."""

    def __init__(self, start: datetime = datetime(2026, 1, 31, 12, 0, 0, tzinfo=UTC)) -> None:
        self._start = start
        self._passed = 0.0
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._rest = 0
        self._ticking = False
        self.sleeps: list[float] = []

    def now(self) -> datetime:
        return self._start + timedelta(seconds=self._passed)

    def monotonic(self) -> float:
        return self._passed

    def advance(self, seconds: float) -> None:
        self._passed += seconds

    async def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        loop = asyncio.get_running_loop()
        wake: asyncio.Future[None] = loop.create_future()
        heapq.heappush(self._sleepers, (self._passed + seconds, len(self.sleeps), wake))
        self._rest = 0
        if not self._ticking:
            self._ticking = True
            loop.call_soon(self._tick)
        await wake

    def _tick(self) -> None:
        self._rest += 1
        if self._rest >= _ROUNDS_TO_REST:
            self._rest = 0
            self._passed = max(self._passed, self._sleepers[0][0])
            while self._sleepers and self._sleepers[0][0] <= self._passed:
                wake = heapq.heappop(self._sleepers)[2]
                if not wake.done():
                    wake.set_result(None)
        if self._sleepers:
            asyncio.get_running_loop().call_soon(self._tick)
        else:
            self._ticking = False
