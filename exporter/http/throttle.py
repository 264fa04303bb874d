"""Lets requests to a host start when it is their turn: so many at a time, so far apart, and none during a pause."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from exporter.clock import Clock
from exporter.errors import TransportError, UsageError
from exporter.http.allowance import Allowance
from exporter.http.transport import HttpRequest, HttpResponse, Transport

_CONGESTION = frozenset({429, 503})  # statuses that mean the host has too much to do
_TIMER_SLACK = 0.02  # seconds that a timer may be late without making the pace slower

Turn = tuple[int, int, float]
"""A request that may be sent: which of the host's it is, how many are under way with it, and when its turn came."""


class Throttle:
    """Lets requests to one host start.

    No more than ``max_concurrency`` are under way, and no more than its ``allowance``, which learns from their answers.
    ``rate`` is in requests per second, evenly spaced, retries included; ``None`` for no such limit.

    Those who have to wait stand in line. The first of them goes to the door when there is room for one more, and waits
    there for the end of a pause, or until enough time has passed since the one before.

    Raises:
        UsageError: a limit that lets nothing through.
    """

    def __init__(self, max_concurrency: int, rate: float | None, clock: Clock) -> None:
        _check(max_concurrency, rate)
        self.allowance = Allowance(max_concurrency)
        self._interval = 1.0 / rate if rate else 0.0
        self._clock = clock
        self._started = 0
        self._under_way = 0
        self._due = float("-inf")
        self._line: deque[asyncio.Future[None]] = deque()
        self._at_door = False

    def restrict(self, max_concurrency: int, rate: float | None) -> None:
        """Let no more through than this either.

        Raises:
            UsageError: a limit that lets nothing through.
        """
        _check(max_concurrency, rate)
        self.allowance.restrict(max_concurrency)
        self._interval = max(self._interval, 1.0 / rate if rate else 0.0)

    @property
    def limit(self) -> int:
        """How many requests may be under way now."""
        return self.allowance.at_once

    def pause_until(self, moment: float) -> None:
        """Let no request start before ``moment`` on the clock's monotonic scale."""
        if moment > self._due:
            self.allowance.paused(moment - max(self._due, self._clock.monotonic()), moment)
            self._due = moment

    async def enter(self) -> Turn:
        """Wait for the turn of a request; :meth:`leave` must follow."""
        now = self._clock.monotonic()
        if self._at_door or now < self._due or self._under_way >= self.allowance.at_once:
            now = await self._wait()
        interval = max(self._interval, self.allowance.interval)
        if interval:
            self._due = (self._due if now - self._due < _TIMER_SLACK else now) + interval
        self._started += 1
        self._under_way += 1
        if self._line:
            self._call_next()
        return self._started, self._under_way, now

    def leave(self, turn: Turn, status: int | None, body_seconds: float = 0.0) -> None:
        """Let the next request start, and learn from the answer's status; ``None`` when there was no answer."""
        number, beside, started = turn
        allowance = self.allowance
        if status in _CONGESTION:
            now = self._clock.monotonic()
            pause = allowance.refused(number, beside, now, self._started, self._under_way - 1)
            if pause:
                self.pause_until(now + pause)
        elif status is not None:
            now = self._clock.monotonic()
            # A body takes as long as it is large, which says nothing about how busy the host is.
            latency = now - started - body_seconds
            waiting = self._at_door or bool(self._line) or self._under_way >= allowance.limit
            paced = self._at_door and allowance.interval > self._interval
            allowance.succeeded(number, beside, started, now, latency, self._started, waiting, paced)
        self._under_way -= 1
        if self._line and not self._at_door:
            self._call_next()

    async def _wait(self) -> float:
        """Return when it is a request's turn."""
        if self._at_door or self._under_way >= self.allowance.at_once:
            await self._stand_in_line(self._line.append)
        self._at_door = True
        while (now := self._clock.monotonic()) < self._due or self._under_way >= self.allowance.at_once:
            if now < self._due:
                try:
                    await self._clock.sleep(self._due - now)
                except BaseException:
                    self._call_next()
                    raise
            else:
                # Less is allowed than when it went to the door.
                self._at_door = False
                await self._stand_in_line(self._line.appendleft)
        self._at_door = False
        return now

    async def _stand_in_line(self, take: Callable[[asyncio.Future[None]], None]) -> None:
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        take(place)
        try:
            await place
        except asyncio.CancelledError:
            if not place.cancelled():
                self._call_next()
            elif place in self._line:
                self._line.remove(place)
            raise

    def _call_next(self) -> None:
        """Call the first in line to the door, if there is room."""
        self._at_door = False
        while self._line and self._under_way < self.allowance.at_once:
            place = self._line.popleft()
            if not place.done():
                self._at_door = True
                place.set_result(None)
                return


def _check(max_concurrency: int, rate: float | None) -> None:
    if max_concurrency < 1:
        raise UsageError(f"the concurrency must be at least 1, not {max_concurrency}")
    if rate is not None and not 0 < rate < float("inf"):
        raise UsageError(f"the rate must be a number of requests per second above 0, not {rate:g}")


class Throttles:
    """One throttle for each host, whatever is asked there; ``per_host`` is the concurrency where none was set."""

    def __init__(self, clock: Clock, per_host: int) -> None:
        self._clock = clock
        self._per_host = per_host
        self._throttles: dict[str, Throttle] = {}

    def of(self, origin: str) -> Throttle:
        """Return the throttle of a host."""
        throttle = self._throttles.get(origin)
        return throttle or self._throttles.setdefault(origin, Throttle(self._per_host, None, self._clock))

    def restrict(self, origin: str, max_concurrency: int, rate: float | None) -> None:
        """Set the limits of a host; of those that several set, the strictest hold.

        Raises:
            UsageError: a limit that lets nothing through.
        """
        throttle = self._throttles.setdefault(origin, Throttle(max_concurrency, rate, self._clock))
        throttle.restrict(max_concurrency, rate)


@dataclass(frozen=True, slots=True)
class Throttled:
    """A transport that sends each request when its host's turn has come, and names the host that failed."""

    transport: Transport
    throttles: Throttles

    async def send(self, request: HttpRequest) -> HttpResponse:
        """Send a request."""
        throttle = self.throttles.of(request.origin)
        turn = await throttle.enter()
        status, body_seconds = None, 0.0
        try:
            response = await self.transport.send(request)
            status, body_seconds = response.status, response.body_seconds
        except TransportError as error:
            error.origin = request.origin
            raise
        finally:
            throttle.leave(turn, status, body_seconds)
        return response
