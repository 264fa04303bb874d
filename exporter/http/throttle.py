"""How many requests to a host may be under way, how fast they may start, and when all of them must wait."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from exporter.clock import Clock
from exporter.errors import RequestTimeout, TransportError, UsageError
from exporter.http.pace import Pace
from exporter.http.rate import RateWindow
from exporter.http.transport import HttpRequest, HttpResponse, Transport
from exporter.message import message

_CONGESTION = frozenset({429, 503})  # statuses that mean the host has too much to do
_SMOOTHING = 0.125  # the weight of the newest latency in the moving average
_LATENCY_FACTOR = 4.0
_LATENCY_SLACK = 0.5  # seconds; below this a multiple of the baseline is noise
_FIRST = 4.0  # requests at a time
_REST = 2  # answers before one more is tried, after the first that was refused
_LONGEST_REST = 512
_LATE = 0.05  # seconds that a start may be late without making the next ones late
_CUT_OFF = 1.0  # seconds within which a service notices that a connection was closed


class Turn(NamedTuple):
    """A request that may be sent: which of the host's it is, when its turn came, and how many were under way then."""

    number: int
    started: float
    under_way: int


class Throttle:
    """Lets requests to one host start.

    The limit on requests at a time lies between 1 and ``max_concurrency``. It begins at four and grows by one with each
    answer until something goes wrong, later by one in as many answers as may be under way. Of requests that were under
    way together, each that the host refuses (429, 503) takes one off (two off the first time, when the limit had
    doubled), but no more than half where anything was answered since the last refusal. When the moving average of
    latency exceeds four times the best seen and is more than half a second over it, the limit is halved.

    Where only one more than before was refused, the next is tried after twice as many answers; where another was, it is
    tried at once: so a limit costs few refusals, and refusals without one cost little time. Where the host counts
    requests in some time instead, a :class:`Pace` is found, and the limit is left alone.

    ``rate`` is in requests per second, retries included; ``None`` for no such limit. In no second of the service's
    clock more than that arrive: see :class:`~exporter.http.rate.RateWindow`.

    A request that is cut off, by a time-out or a cancellation, counts as under way for one more second, in which the
    service notices that its connection is closed.

    Raises:
        UsageError: a limit that lets nothing through.
    """

    def __init__(self, max_concurrency: int, rate: float | None, clock: Clock) -> None:
        self._max, self._limit = float("inf"), _FIRST
        self._clock = clock
        self._window: RateWindow | None = None
        self.restrict(max_concurrency, rate)
        self._next = asyncio.Lock()
        self._lingering: set[asyncio.Future[None]] = set()
        self._active = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._resume_at = float("-inf")
        self._next_start = float("-inf")
        self._started = 0
        self._last_cut = 0
        # Of the last refusals: the limit before them less what they took off, the least it may be, and what it became.
        self._left = self._lowest = 1.0
        self._borne = 0
        self._starting, self._took = True, 1
        self._rest = self._answers = 0
        self._baseline = float("inf")
        self._latency: float | None = None
        self._pace = Pace()

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
        self._max = min(self._max, float(max_concurrency))
        self._limit = min(self._limit, self._max)
        if rate is not None and (self._window is None or rate < self._window.rate):
            self._window = RateWindow(rate, self._clock)

    @property
    def limit(self) -> int:
        """How many requests may be under way now."""
        return int(self._limit)

    def pause_until(self, moment: float) -> None:
        """Let no request start before ``moment`` on the clock's monotonic scale."""
        self._resume_at = max(self._resume_at, moment)

    async def enter(self) -> Turn:
        """Wait for the turn of a request; :meth:`leave` must follow."""
        if self._waiting or self._active >= int(self._limit):
            await self._queue()
        else:
            self._active += 1
        now = self._clock.monotonic()
        if self._window is not None or self._pace.interval or now < self._resume_at:
            try:
                now = await self._start(now)
            except BaseException:
                self._release()
                raise
        self._started += 1
        return Turn(self._started, now, self._active)

    def on_answer(self, turn: Turn) -> Callable[[], None] | None:
        """Return what is to be called when a request's answer begins; ``None`` where nobody needs to know."""
        return None if self._window is None else partial(self._window.heard, turn.number)

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
        if status in _CONGESTION:
            self._refused(turn)
        elif status is not None:
            # A body takes as long as it is large, which says nothing about how busy the host is.
            now = self._clock.monotonic()
            if self._last_cut:  # nothing to learn of a pace before anything was refused
                self._pace.answered(turn.started, now)
            self._learn(turn.number, now, now - turn.started - body_seconds)
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

    async def _start(self, now: float) -> float:
        """Wait until a request may start, and return when that is."""
        window = self._window
        if window is None:
            return await self._spaced(now, 0.0)
        async with self._next:
            now = await self._spaced(self._clock.monotonic(), window.interval)
            await window.take(self._started + 1)
            while (now := self._clock.monotonic()) < self._resume_at:
                await self._clock.sleep(self._resume_at - now)
            self._next_start = max(self._next_start, now - _LATE + window.interval)
        return now

    async def _spaced(self, now: float, least: float) -> float:
        while True:
            if now < self._resume_at:
                await self._clock.sleep(self._resume_at - now)
            elif interval := max(least, self._pace.interval):
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
        while self._waiting and self._active < int(self._limit):
            turn = self._waiting.popleft()
            if not turn.done():
                self._active += 1
                turn.set_result(None)

    def _learn(self, number: int, now: float, latency: float) -> None:
        self._baseline = min(self._baseline, latency)
        before = self._latency
        average = latency if before is None else before + _SMOOTHING * (latency - before)
        self._latency = average
        if average > _LATENCY_FACTOR * self._baseline and average > self._baseline + _LATENCY_SLACK:
            if self._limit < 2.0:
                # With one request at a time the wait is the service's own pace, not our doing.
                self._baseline = average
            else:
                self._cut(number)
        else:
            self._answers += number > self._last_cut
            if self._answers > self._rest and self._limit < self._max and now >= self._next_start:
                self._limit = min(self._max, self._limit + (1.0 if self._starting else 1.0 / self._limit))

    def _refused(self, turn: Turn) -> None:
        first = turn.number > self._last_cut
        paced = self._pace.interval
        self._pace.refused(turn.started, self._clock.monotonic(), first=first)
        if first:
            self._last_cut = self._started
            self._latency = None
        if paced:
            return
        if first:
            one_more = turn.under_way > self._borne and not self._starting
            self._rest = min(max(_REST, 2 * self._rest), _LONGEST_REST) if one_more else 0
            self._lowest = max(1.0, self._limit / 2) if self._answers and not self._starting else 1.0
            self._left, self._took = self._limit, 2 if self._starting else 1
            self._starting, self._answers = False, 0
        self._left -= self._took
        self._limit = max(self._lowest, min(self._limit, self._left, turn.under_way - 1.0))
        if self._pace.interval:
            self._limit = 1.0
        self._borne = int(self._limit)

    def _cut(self, number: int) -> None:
        if number > self._last_cut:
            self._last_cut = self._started
            self._limit = max(1.0, self._limit / 2)
            self._latency = None
            self._starting = False


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
        status, body_seconds, cut_off = None, 0.0, False
        request.on_answer = throttle.on_answer(turn)
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
        finally:
            throttle.leave(turn, status, body_seconds, cut_off=cut_off)
        return response
