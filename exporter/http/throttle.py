"""How fast a host is asked: the number of requests under way, the rate, and the pauses that the host requests."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import deque
from dataclasses import dataclass
from functools import partial
from math import ceil
from typing import Final

from exporter.clock import Clock
from exporter.errors import (
    LongPause,
    RequestTimeout,
    RetryableStatus,
    ServiceError,
    TransportError,
    UsageError,
)
from exporter.http.limit import AdaptiveLimit
from exporter.http.throughput import Turn
from exporter.http.transport import HttpRequest, HttpResponse
from exporter.message import message

_TOO_MANY_REQUESTS = 429
_CONGESTION = frozenset({_TOO_MANY_REQUESTS, 503})  # statuses by which a host says that it is overloaded

_DRIFT_SECONDS: Final = 0.01  # how much later the first of a second's requests may arrive, such as on a new connection
_SPACING_FACTOR: Final = 0.9  # fraction of an even spacing, so that one late request does not delay all others
_LATE_SECONDS = 0.05  # how late a start may be without delaying the next ones
_CUT_OFF_SECONDS = 1.0  # time in which a service notices that a connection was closed


class RateWindow:
    """Limits the requests that arrive at a service in any second, measured by the service's own clock.

    A request arrives at an unknown time between its start and the first bytes of its answer. It is therefore counted
    from its start until one second after its answer began, and only ``places`` requests are counted at a time. If two
    requests use the same place, the second one arrives more than a second after the first, however long the network or
    a machine delays either of them. Counting for a second after the start would not be enough, because a delayed
    request can arrive together with later ones.

    The time before an answer begins is lost: 1 % of the rate at 10 ms, 5 % at 50 ms.

    A fractional rate is a whole number of requests in a longer time: 2.5 a second means 3 in 1.2 s, and 0.5 means one
    in 2 s. So at most the next whole number arrive in any second.

    Args:
        rate: requests per second, above 0.
        clock: measures, and waits.

    Attributes:
        rate: as given.
        places: requests that may be counted at a time; the next whole number.
        seconds: how long a request is counted after its answer began.
        interval: the least number of seconds between two starts, nine tenths of the even distance.
    """

    def __init__(self, rate: float, clock: Clock) -> None:
        self.rate = rate
        self.places = ceil(rate)
        self.seconds = self.places / rate + _DRIFT_SECONDS
        self.interval = _SPACING_FACTOR / rate
        self._clock = clock
        self._unanswered: set[int] = set()
        self._counted_until: deque[float] = deque()
        self._change: asyncio.Future[None] | None = None

    @property
    def counted(self) -> int:
        """The number of requests that are counted now."""
        now = self._clock.monotonic()
        while self._counted_until and self._counted_until[0] <= now:
            self._counted_until.popleft()
        return len(self._unanswered) + len(self._counted_until)

    async def take(self, number: int) -> None:
        """Wait until a request may start; only one caller may wait at a time.

        Args:
            number: identifies the request in :meth:`heard`.
        """
        while self.counted >= self.places:
            if self._counted_until:
                await self._clock.sleep(self._counted_until[0] - self._clock.monotonic())
            else:
                self._change = asyncio.get_running_loop().create_future()
                await self._change
        self._unanswered.add(number)

    def heard(self, number: int) -> None:
        """Record that a request's answer begins or will never come; repeated calls have no effect."""
        if number in self._unanswered:
            self._unanswered.remove(number)
            self._counted_until.append(self._clock.monotonic() + self.seconds)
            if self._change is not None and not self._change.done():
                self._change.set_result(None)


class Throttle:
    """Decides when each request to one host may start.

    An :class:`AdaptiveLimit` between 1 and ``concurrency`` bounds the requests under way. With a ``rate``, in requests
    per second including retries, a :class:`RateWindow` bounds the requests in any second. A request that is cut off by
    a timeout or a cancellation counts as under way for one more second, in which the service notices that its
    connection is closed.

    Args:
        concurrency: the most requests under way.
        rate: the most requests per second; ``None`` for no limit.
        clock: measures, and waits.
        ceiling: the limit, by default one that learns.
        after_kill: whether a killed process may have sent requests until now. With a rate, the first request waits
            until those of the killed process no longer count.

    Raises:
        UsageError: a limit lets no request through.
    """

    def __init__(
        self,
        concurrency: int,
        rate: float | None,
        clock: Clock,
        ceiling: AdaptiveLimit | None = None,
        *,
        after_kill: bool = False,
    ) -> None:
        self._clock = clock
        self._begun_at = clock.monotonic() if after_kill else float("-inf")
        self._ceiling = AdaptiveLimit() if ceiling is None else ceiling
        self._window: RateWindow | None = None
        self._next_start = float("-inf")
        self.restrict(concurrency, rate)
        self._next = asyncio.Lock()
        self._lingering: set[asyncio.Future[None]] = set()
        self._active = self._granted = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._resume_at = float("-inf")
        self._started = 0

    def restrict(self, concurrency: int, rate: float | None) -> None:
        """Lower the limits to these if they are above.

        Raises:
            UsageError: a limit lets no request through.
        """
        if concurrency < 1:
            raise UsageError("the concurrency must be at least 1, not {max_concurrency}", max_concurrency=concurrency)
        if rate is not None and not 0 < rate < float("inf"):
            raise UsageError("the rate must be a number of requests per second above 0, not {rate:g}", rate=rate)
        self._ceiling.restrict(float(concurrency))
        if rate is not None and (self._window is None or rate < self._window.rate):
            self._window = RateWindow(rate, self._clock)
            self._next_start = max(self._next_start, self._begun_at + self._window.seconds)

    @property
    def limit(self) -> int:
        """The number of requests that may be under way now."""
        return int(self._ceiling.limit)

    def pause_until(self, moment: float) -> None:
        """Start no request before ``moment`` on the clock's monotonic scale."""
        self._resume_at = max(self._resume_at, moment)

    async def enter(self, longest_pause: float = float("inf")) -> Turn:
        """Wait for the turn of a request; the caller must call :meth:`leave` later.

        Args:
            longest_pause: the longest pause requested by the host that the caller waits for, in seconds.

        Raises:
            LongPause: the remaining pause is longer.
        """
        if self._waiting or self._active >= self._ceiling.allowed:
            self._pause(self._clock.monotonic(), longest_pause)
            await self._queue()
        else:
            self._active += 1
        now = self._clock.monotonic()
        if self._window is not None or now < self._resume_at:
            try:
                now = await self._start(now, longest_pause)
            except BaseException:
                self._release()
                raise
        self._started += 1
        place = self._active - self._granted
        full = self._active >= self._ceiling.allowed
        turn = Turn(self._started, now, self._active, self._ceiling.cuts, place, full)
        self._ceiling.started(turn)
        return turn

    def prepare(self, request: HttpRequest, turn: Turn) -> None:
        """Make a request report when its answer begins, for the rate."""
        if self._window is not None:
            request.on_answer = partial(self._window.heard, turn.number)

    def leave(self, turn: Turn, status: int | None, body_seconds: float = 0.0, *, cut_off: bool = False) -> None:
        """Let the next request start, and learn from the result of this one.

        Args:
            turn: as returned by :meth:`enter`.
            status: the answer's; ``None`` if there was no answer.
            body_seconds: how long the answer's body took.
            cut_off: whether we closed the connection before there was an answer.
        """
        if self._window is not None:
            self._window.heard(turn.number)
        now, latency = self._clock.monotonic(), 0.0
        if cut_off:
            self._ceiling.finished(turn, latency, now)
            lingering = asyncio.ensure_future(self._linger())
            self._lingering.add(lingering)
            lingering.add_done_callback(self._lingering.discard)
            return
        if status in _CONGESTION:
            self._ceiling.refused(turn, counted=status == _TOO_MANY_REQUESTS)
        elif status is not None:
            # The time of a body depends on its size and says nothing about the host's load.
            latency = now - turn.started - body_seconds
            self._ceiling.answered(turn, latency, held_back=now < self._next_start)
        self._ceiling.finished(turn, latency, now)
        self._release()

    async def _queue(self) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
            self._granted -= 1
        except asyncio.CancelledError:
            if not turn.cancelled():
                self._granted -= 1
                self._release()
            elif turn in self._waiting:
                self._waiting.remove(turn)
            raise

    def _pause(self, now: float, longest: float) -> float:
        """Return the seconds left in the requested pause, or raise LongPause if it is too long."""
        pause = max(0.0, self._resume_at - now)
        if pause > longest:
            raise LongPause(message("the host asks to wait {wish:.0f} s", wish=pause), pause)
        return pause

    async def _start(self, now: float, longest_pause: float) -> float:
        """Wait until a request may start, and return the time."""
        window = self._window
        if window is None:
            return await self._after_pause(now, longest_pause)
        async with self._next:
            start = now = await self._after_pause(self._clock.monotonic(), longest_pause)
            while now < self._next_start:
                start = self._next_start
                await self._clock.sleep(start - now)
                now = await self._after_pause(self._clock.monotonic(), longest_pause)
            await window.take(self._started + 1)
            try:
                now = await self._after_pause(self._clock.monotonic(), longest_pause)
            except BaseException:
                window.heard(self._started + 1)
                raise
            self._next_start = max(start, now - _LATE_SECONDS) + window.interval
        return now

    async def _after_pause(self, now: float, longest_pause: float) -> float:
        while pause := self._pause(now, longest_pause):
            await self._clock.sleep(pause)
            now = self._clock.monotonic()
        return now

    async def _linger(self) -> None:
        await self._clock.sleep(_CUT_OFF_SECONDS)
        self._release()

    def _release(self) -> None:
        self._active -= 1
        while self._waiting and self._active < self._ceiling.allowed:
            turn = self._waiting.popleft()
            if not turn.done():
                self._active += 1
                self._granted += 1
                turn.set_result(None)


class Throttles:
    """One throttle for each host, shared by all that ask it.

    Args:
        clock: measures, and waits.
        concurrency: the default limit of a host.
        after_kill: see :class:`Throttle`.
    """

    def __init__(self, clock: Clock, concurrency: int, *, after_kill: bool = False) -> None:
        self._clock = clock
        self._concurrency = concurrency
        self._after_kill = after_kill
        self._throttles: dict[str, Throttle] = {}
        self._shared: dict[str, str] = {}

    def share(self, origin: str, budget: str) -> None:
        """Let a host use the throttle of another one, or one with a made-up name, from now on."""
        self._shared[origin] = budget

    def of(self, origin: str) -> Throttle:
        """Return the throttle of a host."""
        origin = self._shared.get(origin, origin)
        return self._throttles.get(origin) or self._new(origin, self._concurrency, None)

    def restrict(self, origin: str, concurrency: int, rate: float | None) -> None:
        """Set the limits of a host; if several callers set some, the strictest apply.

        Raises:
            UsageError: a limit lets no request through.
        """
        origin = self._shared.get(origin, origin)
        throttle = self._throttles.get(origin) or self._new(origin, concurrency, rate)
        throttle.restrict(concurrency, rate)

    def _new(self, origin: str, concurrency: int, rate: float | None) -> Throttle:
        throttle = Throttle(concurrency, rate, self._clock, after_kill=self._after_kill)
        return self._throttles.setdefault(origin, throttle)


class Watch(ABC):
    """A transport that decides for all requests together when to give up; ``good_answers`` counts the successes."""

    good_answers = 0

    @abstractmethod
    async def send(self, request: HttpRequest) -> HttpResponse:
        """Send a request."""

    def note(self, _failure: ServiceError | None, /) -> None:
        """Record the result of an attempt; ``None`` for a success."""
        return

    def patience(self) -> float:
        """Return how many more seconds to wait, or raise the ServiceError that ends the run."""
        return float("inf")

    @abstractmethod
    def longest_pause(self, origin: str, /) -> float:
        """Return the longest obeyed ``Retry-After`` in seconds for a host."""

    @abstractmethod
    def refuse_pause(self, error: RetryableStatus) -> ServiceError:
        """Return the error to raise when a host requests a longer pause than that."""

    @abstractmethod
    def left_alone(self, origin: str, seconds: float, /) -> ServiceError:
        """Return the error for a request that is not sent because this many seconds remain of a longer pause."""

    @abstractmethod
    async def outlasts(self, failure: TransportError, good_before: int, /) -> bool:
        """Return whether to repeat a request without retries left, or raise the ServiceError that ends the run."""


@dataclass(frozen=True, slots=True)
class Throttled:
    """A transport that sends each request when its host's throttle allows it, and adds the host to failures."""

    transport: Watch
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
