"""How many requests to a host may be under way, how fast they may start, and when all of them must wait."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from exporter.clock import Clock
from exporter.errors import LongPause, RequestTimeout, ServiceError, TransportError, UsageError
from exporter.http.ceiling import Ceiling, Turn
from exporter.http.rate import RateWindow
from exporter.http.transport import HttpRequest, HttpResponse, Transport
from exporter.message import message

_CONGESTION = frozenset({429, 503})  # statuses that mean the host has too much to do
_LATE = 0.05  # seconds that a start may be late without making the next ones late
_CUT_OFF = 1.0  # seconds within which a service notices that a connection was closed


class Throttle:
    """Lets requests to one host start.

    The limit on requests at a time lies between 1 and ``max_concurrency``: see :class:`~exporter.http.ceiling.Ceiling`.

    ``rate`` is in requests per second, retries included; ``None`` for no such limit. In no second of the service's
    clock more than that arrive: see :class:`~exporter.http.rate.RateWindow`.

    A request that is cut off, by a time-out or a cancellation, counts as under way for one more second, in which the
    service notices that its connection is closed.

    Raises:
        UsageError: a limit that lets nothing through.
    """

    def __init__(self, max_concurrency: int, rate: float | None, clock: Clock) -> None:
        self._clock = clock
        self._ceiling = Ceiling()
        self._window: RateWindow | None = None
        self.restrict(max_concurrency, rate)
        self._next = asyncio.Lock()
        self._lingering: set[asyncio.Future[None]] = set()
        self._active = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._resume_at = float("-inf")
        self._next_start = float("-inf")
        self._started = 0

    def restrict(self, max_concurrency: int, rate: float | None) -> None:
        """Let no more through than this either.

        Raises:
            UsageError: a limit that lets nothing through.
        """
        if max_concurrency < 1:
            raise UsageError(
                message("the concurrency must be at least 1, not {max_concurrency}", max_concurrency=max_concurrency)
            )
        if rate is not None and not 0 < rate < float("inf"):
            raise UsageError(
                message("the rate must be a number of requests per second above 0, not {rate:g}", rate=rate)
            )
        self._ceiling.restrict(float(max_concurrency))
        if rate is not None and (self._window is None or rate < self._window.rate):
            self._window = RateWindow(rate, self._clock)

    @property
    def limit(self) -> int:
        """How many requests may be under way now."""
        return int(self._ceiling.limit)

    def pause_until(self, moment: float) -> None:
        """Let no request start before ``moment`` on the clock's monotonic scale."""
        self._resume_at = max(self._resume_at, moment)

    async def enter(self, longest_pause: float = float("inf")) -> Turn:
        """Wait for the turn of a request; :meth:`leave` must follow.

        Args:
            longest_pause: seconds for which a pause that the host wished is waited for.

        Raises:
            LongPause: the rest of the pause is longer.
        """
        if self._waiting or self._active >= int(self._ceiling.limit):
            self._pause(self._clock.monotonic(), longest_pause)
            await self._queue()
        else:
            self._active += 1
        now = self._clock.monotonic()
        if self._window is not None or self._ceiling.interval or now < self._resume_at:
            try:
                now = await self._start(now, longest_pause)
            except BaseException:
                self._release()
                raise
        self._started += 1
        return Turn(self._started, now, self._active, self._ceiling.cuts)

    def prepare(self, request: HttpRequest, turn: Turn) -> None:
        """Have a request report when its answer begins, for the rate."""
        if self._window is not None:
            request.on_answer = partial(self._window.heard, turn.number)

    def leave(self, turn: Turn, status: int | None, body_seconds: float = 0.0, *, cut_off: bool = False) -> None:
        """Let the next request start, and learn from how this one ended.

        Args:
            turn: as :meth:`enter` gave it.
            status: the answer's; ``None`` when there was no answer.
            body_seconds: how long the answer's body took.
            cut_off: whether we closed the connection before there was an answer.
        """
        if self._window is not None:
            self._window.heard(turn.number)
        if cut_off:
            lingering = asyncio.ensure_future(self._linger())
            self._lingering.add(lingering)
            lingering.add_done_callback(self._lingering.discard)
            return
        now = self._clock.monotonic()
        if status in _CONGESTION:
            self._ceiling.refused(turn, now)
        elif status is not None:
            # A body takes as long as it is large, which says nothing about how busy the host is.
            latency = now - turn.started - body_seconds
            self._ceiling.answered(turn, now, latency, held_back=now < self._next_start)
        self._release()

    async def _queue(self) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():
                self._release()
            elif turn in self._waiting:
                self._waiting.remove(turn)
            raise

    def _pause(self, now: float, longest: float) -> float:
        """Return the seconds that are left of the pause that the host wished; raise a LongPause where that is long."""
        pause = max(0.0, self._resume_at - now)
        if pause > longest:
            raise LongPause(message("the host asks to wait {wish:.0f} s", wish=pause), pause)
        return pause

    async def _start(self, now: float, longest_pause: float) -> float:
        """Wait until a request may start, and return when that is."""
        window = self._window
        if window is None:
            return await self._spaced(now, 0.0, longest_pause)
        async with self._next:
            now = await self._spaced(self._clock.monotonic(), window.interval, longest_pause)
            await window.take(self._started + 1)
            try:
                while pause := self._pause(now := self._clock.monotonic(), longest_pause):
                    await self._clock.sleep(pause)
            except BaseException:
                window.heard(self._started + 1)
                raise
            self._next_start = max(self._next_start, now - _LATE + window.interval)
        return now

    async def _spaced(self, now: float, least: float, longest_pause: float) -> float:
        while True:
            if pause := self._pause(now, longest_pause):
                await self._clock.sleep(pause)
            elif interval := max(least, self._ceiling.interval):
                start = max(now, self._next_start)
                self._next_start = start + interval
                if start > now:
                    await self._clock.sleep(start - now)
                now = self._clock.monotonic()
                if now >= self._resume_at:
                    return now
            else:
                return now
            now = self._clock.monotonic()

    async def _linger(self) -> None:
        await self._clock.sleep(_CUT_OFF)
        self._release()

    def _release(self) -> None:
        self._active -= 1
        self._admit()

    def _admit(self) -> None:
        while self._waiting and self._active < int(self._ceiling.limit):
            turn = self._waiting.popleft()
            if not turn.done():
                self._active += 1
                turn.set_result(None)


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


class PatientTransport(Transport, Protocol):
    """A transport that knows how long its hosts are waited for."""

    def longest_pause(self, origin: str, /) -> float:
        """Return the seconds of the longest pause that is waited for where a host wishes one, of whatever request."""

    def left_alone(self, origin: str, seconds: float, /) -> ServiceError:
        """Return what to raise for a request that was not sent, as so many seconds are left of a longer pause."""


@dataclass(frozen=True, slots=True)
class Throttled:
    """A transport that sends each request when its host's turn has come, and names the host that failed."""

    transport: PatientTransport
    throttles: Throttles

    async def send(self, request: HttpRequest) -> HttpResponse:
        """Send a request."""
        throttle, longest_pause = self.throttles.of(request.origin), self.transport.longest_pause(request.origin)
        try:
            turn = await throttle.enter(longest_pause)
        except LongPause as pause:
            raise self.transport.left_alone(request.origin, pause.seconds) from None
        status, body_seconds, cut_off = None, 0.0, False
        throttle.prepare(request, turn)
        try:
            response = await self.transport.send(request)
            status, body_seconds = response.status, response.body_seconds
        except TransportError as error:
            error.origin = request.origin
            cut_off = isinstance(error, RequestTimeout)
            raise
        except asyncio.CancelledError:
            cut_off = True
            raise
        else:
            return response
        finally:
            throttle.leave(turn, status, body_seconds, cut_off=cut_off)
