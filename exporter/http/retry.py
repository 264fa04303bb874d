"""Repeating requests that may succeed later: how often, after which wait, and when to give up a service or a host."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

from tenacity import AsyncRetrying, RetryCallState

from exporter.clock import Clock
from exporter.errors import (
    ApiError,
    BodyTooLarge,
    HostGivenUp,
    LongPause,
    NotAuthorised,
    RequestTimeout,
    RetryableStatus,
    ServiceError,
    ServiceSilent,
    TransportError,
    Unreachable,
)
from exporter.frozen import frozen
from exporter.http.credentials import Redactor
from exporter.http.throttle import Throttles, Watch
from exporter.http.transport import HttpRequest, HttpResponse, Transport
from exporter.message import message, said
from exporter.text import printable

_SECONDS = re.compile(r"([+-]?)([0-9]+)(?:\.[0-9]+)?")
_MAX_DIGITS = 12
_TOO_MANY_REQUESTS = 429
_INSTANT_SECONDS = 0.001  # too short to send anything, and sums of seconds are no more exact than this
REFUSED_RETRIES = 3
"""The usual ``refused_retries``, which take one to two seconds."""
_MAX_SILENT_ADDRESSES = 3  # addresses without an answer after which a host is given up

T = TypeVar("T")


def seconds_to_wait(value: str | None, now: datetime, sent_at: str | None = None) -> float | None:
    """Return the delay in seconds requested by a ``Retry-After`` (RFC 9110, 10.2.3), ``None`` if absent or invalid.

    A date counts from the answer's own ``Date`` (``sent_at``) if it has one, because the clocks may differ, otherwise
    from ``now``. A number with more digits than any delay has is infinite. The result is never negative.
    """
    if value is None:
        return None
    value = value.strip()
    number = _SECONDS.fullmatch(value)
    if number is not None:
        if number[1] == "-":
            return 0.0
        return float(number[0]) if len(number[2]) <= _MAX_DIGITS else float("inf")
    moment = _date(value)
    if moment is None:
        return None
    reference = (_date(sent_at) if sent_at else None) or now
    return max(0.0, (moment - reference).total_seconds())


def _date(text: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, OverflowError, IndexError, TypeError):
        return None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


@frozen
class RetryPolicy:
    """How long to repeat requests; seconds throughout.

    The wait after the n-th failure is between half and all of ``base * 2**(n-1)``, but at most ``ceiling``. Eight waits
    take 31 to 62 seconds, which is enough for a network that connects late at night. If a service that had answered
    falls silent for all requests, a request is repeated beyond its ``retries``.

    ``give_up_after`` bounds everything: the run ends after this many seconds without an answer to any request. No wait
    and no request lasts beyond that time, and a ``Retry-After`` beyond it ends the run at once, so that the service is
    never asked too early. A single request is not started again after this time even if others are answered.
    ``max_retry_after`` is a lower limit for ``Retry-After`` alone.

    ``refused_retries`` is a lower limit for connections that are refused before the service has given any answer, which
    mostly means a wrong address. ``None`` is for a service that is known to exist, and may be restarting.
    """

    retries: int = 8
    base: float = 0.25
    ceiling: float = 30.0
    give_up_after: float = 1800.0
    max_retry_after: float = float("inf")
    refused_retries: int | None = None

    @property
    def longest_pause(self) -> float:
        """The longest ``Retry-After`` that is obeyed."""
        return min(self.give_up_after, self.max_retry_after)

    def retries_after(self, failure: TransportError, *, answered: bool) -> int:
        """Return how often to repeat a request after this failure; ``answered`` if the service ever answered."""
        refused = isinstance(failure, Unreachable) and failure.refused
        if answered or self.refused_retries is None or not refused:
            return self.retries
        return min(self.retries, self.refused_retries)

    def backoff(self, failures: int, chance: float) -> float:
        """Return the wait after this many failures, in seconds; ``chance`` in 0 … 1 places it between half and all."""
        full = min(self.ceiling, self.base * 2.0 ** min(failures - 1, 60))
        return full * (0.5 + 0.5 * chance)


@frozen
class RetryEvent:
    """A retry was scheduled: after ``attempt`` failures, the last for ``reason``, in ``wait`` seconds."""

    operation: str
    attempt: int
    reason: str
    wait: float


@frozen
class Retrying:
    """Sends requests through a transport, and repeats those that may succeed later.

    Attributes:
        throttles: pause hosts for ``Retry-After``.
        redactor: removes secrets from every error.
        on_retry: is called before each wait.
        chance: returns the jitter for waits, in 0 … 1.
    """

    transport: Transport
    policy: RetryPolicy
    watch: Watch
    throttles: Throttles
    clock: Clock
    redactor: Redactor = field(default_factory=Redactor)
    on_retry: Callable[[RetryEvent], None] = lambda _: None
    chance: Callable[[], float] = random.random

    async def fetch(
        self,
        request: HttpRequest,
        parse: Callable[[HttpResponse], T],
        recover: Callable[[], Awaitable[T | None]] | None = None,
    ) -> T:
        """Send ``request`` until ``parse`` accepts the answer.

        Args:
            request: the request.
            parse: returns an answer's result, or raises a ServiceError.
            recover: called before each repetition; returns the effect that the request already had, or ``None``.

        Raises:
            ServiceError: raised by ``parse`` or the watch, or the last TransportError when retries are used up.
        """
        # Most requests succeed at once, and tenacity costs several times as much as the rest of this method.
        try:
            return await self.attempt(request, parse)
        except TransportError as error:
            if not error.retryable:
                raise
            failures = [error]
        return await self._repeat(request, parse, recover, failures)

    async def _repeat(
        self,
        request: HttpRequest,
        parse: Callable[[HttpResponse], T],
        recover: Callable[[], Awaitable[T | None]] | None,
        failures: list[TransportError],
    ) -> T:
        """Send a request again. ``failures`` holds the failure of its first attempt; this method takes it out."""
        good_before = 0
        give_up_at: float | None = None  # set by the first failure

        async def attempt() -> T:
            if failures:
                raise failures.pop()
            found = await recover() if recover is not None else None
            return found if found is not None else await self.attempt(request, parse)

        async def may_help(state: RetryCallState) -> bool:
            nonlocal good_before, give_up_at
            failure = _failure_of(state)
            if not isinstance(failure, TransportError) or not failure.retryable:
                return False
            now = self.clock.monotonic()
            if give_up_at is None:
                good_before, give_up_at = self.watch.good_answers, now + self.policy.give_up_after
            self.watch.patience()
            retries = self.policy.retries_after(failure, answered=self.watch.good_answers > 0)
            if state.attempt_number <= retries and now < give_up_at:
                return True
            return await self.watch.outlasts(failure, good_before)

        def announce(state: RetryCallState) -> None:
            nonlocal good_before
            # Only answers after the newest failure prove that the service is alive.
            good_before = self.watch.good_answers
            failure = _failure_of(state)
            reason = "" if failure is None else said(failure)
            request.sender.statistics.retries += 1
            request.sender.total.retries += 1
            operation = request.name or printable(str(request.url), 200)
            self.on_retry(RetryEvent(operation, state.attempt_number, reason, state.upcoming_sleep))

        retrying = AsyncRetrying(
            retry=may_help, wait=self._wait_after, sleep=self._sleep, before_sleep=announce, reraise=True
        )
        answer: T = await retrying(attempt)
        return answer

    async def attempt(self, request: HttpRequest, parse: Callable[[HttpResponse], T]) -> T:
        """Send ``request`` once.

        Raises:
            ServiceError: the request failed.
        """
        answer = await self._outcome(request, parse)
        if isinstance(answer, ServiceError):
            self.watch.note(answer)
            raise answer
        self.watch.note(None)
        return answer

    async def _outcome(self, request: HttpRequest, parse: Callable[[HttpResponse], T]) -> T | ServiceError:
        """Send ``request`` once and return the parsed answer or the error.

        An error refers to the frames that it passed through, and these to the body. Since it outlives the request, it
        is returned without its traceback and raised again by the caller.
        """
        try:
            response = await self.transport.send(request)
            if response.status in RetryableStatus.STATUSES and response.status not in request.final:
                raise self._retryable(request, response)
            return parse(response)
        except MemoryError:
            failed: ServiceError = BodyTooLarge(
                "{name} sent more than fits into the memory that this process may use",
                name=request.name or message("it"),
            )
        except ServiceError as error:
            failed = error
        failed.__traceback__ = failed.__cause__ = failed.__context__ = None
        return self.redactor.clean(failed)

    def _retryable(self, request: HttpRequest, response: HttpResponse) -> RetryableStatus:
        headers = response.headers
        wished = seconds_to_wait(headers.get("retry-after"), self.clock.now(), headers.get("date"))
        if request.name:
            text = message(
                "{name} answered {status}: the service is busy or broken, try later",
                name=request.name,
                status=response.status,
            )
        else:
            text = message("it answered {status}", status=response.status)
        if wished:
            # The pause applies to all requests to that host, even if this one is not repeated.
            self.throttles.of(response.origin).pause_until(self.clock.monotonic() + wished)
        error = RetryableStatus(text, response.status, wished)
        error.origin = response.origin
        return error

    def _wait_after(self, state: RetryCallState) -> float:
        """Return the seconds to wait, and pause all requests to a host that answered 429."""
        wait = self.policy.backoff(state.attempt_number, self.chance())
        failure = _failure_of(state)
        if isinstance(failure, RetryableStatus) and failure.origin is not None:
            wished = failure.retry_after or 0.0
            if wished > self.watch.longest_pause(failure.origin):
                raise self.watch.refuse_pause(failure)
            wait = max(wait, wished)
            if failure.status == _TOO_MANY_REQUESTS:
                self.throttles.of(failure.origin).pause_until(self.clock.monotonic() + wait)
        return min(wait, self.watch.patience())

    async def _sleep(self, seconds: float) -> None:
        await self.clock.sleep(seconds)
        self.watch.patience()


def _failure_of(state: RetryCallState) -> BaseException | None:
    outcome: Any = state.outcome
    return None if outcome is None else outcome.exception()


@dataclass
class ServiceWatch(Watch):
    """A transport to one service that measures how long the service is silent, and sends a probe if in doubt.

    The silence begins with the last complete answer. If nothing was sent for a while after it, it begins with the next
    request: a run that is busy with something else does not wait for the service.
    """

    transport: Transport
    policy: RetryPolicy
    clock: Clock
    _open: int = 0
    _doubtful: bool = False
    _failure: str = ""
    _probe: Callable[[], Awaitable[object]] | None = None

    def __post_init__(self) -> None:
        self._since = self.clock.monotonic()

    async def send(self, request: HttpRequest) -> HttpResponse:
        """Send a request, and wait for it no longer than for the service as a whole.

        Raises:
            ServiceError: the service has been silent for too long.
        """
        if not self._open and not self._doubtful:
            self._since = self.clock.monotonic()
        self._open += 1
        try:
            request.patience = self.patience()
            return await self.transport.send(request)
        finally:
            self._open -= 1
            self._doubtful = True

    def note(self, failure: ServiceError | None, /) -> None:
        """Record the result of an attempt; a service that refuses is not silent."""
        if isinstance(failure, TransportError):
            self._failure = said(failure)
        if failure is None:
            self.good_answers += 1
        if failure is None or isinstance(failure, ApiError):
            self._doubtful = False
            self._since = self.clock.monotonic()

    def probe_with(self, probe: Callable[[], Awaitable[object]] | None) -> None:
        """Store a request that just succeeded, to repeat it when the service may be silent; ``None`` for no request."""
        self._probe = probe

    def patience(self) -> float:
        """Return the seconds until the silence has lasted ``give_up_after`` seconds.

        Raises:
            ServiceError: it has.
        """
        silence = self.clock.monotonic() - self._since if self._open or self._doubtful else 0.0
        patience = self.policy.give_up_after - silence
        if patience <= _INSTANT_SECONDS:
            text = message(
                "has given no good answer for {silence:.0f} s, the longest this run waits (give_up_after)",
                silence=silence,
            )
            raise ServiceSilent(self._over(text))
        return patience

    def longest_pause(self, _origin: str, /) -> float:
        """Return the longest pause that is obeyed, in seconds."""
        return self.policy.longest_pause

    def refuse_pause(self, error: RetryableStatus) -> ServiceError:
        """Return the error that ends the run when the service requests a longer pause than is obeyed."""
        return self.left_alone("", error.retry_after or 0.0)

    def left_alone(self, _origin: str, seconds: float, /) -> ServiceError:
        """Return the error that ends the run when this many seconds remain of such a pause."""
        text = message(
            "asks to wait {wish:.0f} s, longer than the {limit:g} s this run would (give_up_after)",
            wish=seconds,
            limit=self.policy.longest_pause,
        )
        return LongPause(self._over(text), seconds)

    async def outlasts(self, _failure: TransportError, good_before: int, /) -> bool:
        """Return whether to repeat a request without retries left: only if the service is silent for all requests.

        It is not silent if it gave a good answer after the ``good_before``-th, or answers a probe now.

        Raises:
            NotAuthorised: the service refuses all requests.
            ServiceError: the service has been silent for too long, or retries are disabled.
        """
        if self.good_answers == good_before and self._probe is not None:
            try:
                await self._probe()
            except NotAuthorised:
                raise
            except ServiceError:
                pass  # it is silent for the probe too
        if not self.good_answers or self.good_answers > good_before:
            return False
        self.patience()
        if not self.policy.retries:
            raise ServiceSilent(self._over(message("has stopped answering, and retries is 0")))
        return True

    def _over(self, what: str) -> str:
        advice = (
            message(": what was read so far is kept.") if self.good_answers else message(", or check the base URL.")
        )
        if self._failure:
            what = message("{what}; the last failure: {failure}", what=what, failure=self._failure)
        return message("the service {what}. Run again later{advice}", what=what, advice=advice)


@dataclass
class HostWatch(Watch):
    """A transport to any host that gives up a host after three addresses without an answer, or a long pause.

    Attributes:
        transport: sends the requests.
        policy: bounds the pauses that are obeyed.
        longest_pauses: hosts for which longer pauses are obeyed, in seconds.
    """

    transport: Transport
    policy: RetryPolicy
    longest_pauses: Mapping[str, float] = field(default_factory=dict)
    _silent: Counter[str] = field(default_factory=Counter)
    _given_up: dict[str, str] = field(default_factory=dict)

    async def send(self, request: HttpRequest) -> HttpResponse:
        """Send a request.

        Raises:
            HostGivenUp: its host was given up.
        """
        origin = request.origin
        if origin in self._given_up:
            raise self._not_asked(origin)
        response = await self.transport.send(request)
        if response.status not in RetryableStatus.STATUSES:
            self._silent.pop(origin, None)
        return response

    def longest_pause(self, origin: str, /) -> float:
        """Return the longest obeyed pause in seconds for a host."""
        return max(self.policy.longest_pause, self.longest_pauses.get(origin, 0.0))

    def refuse_pause(self, error: RetryableStatus) -> ServiceError:
        """Give up a host that requests a longer pause than is obeyed."""
        if error.origin is not None:
            self._given_up[error.origin] = message("asks for a long pause")
        return error

    def left_alone(self, origin: str, _seconds: float, /) -> ServiceError:
        """Give up a host that requested such a pause in another answer."""
        self._given_up.setdefault(origin, message("asks for a long pause"))
        return self._not_asked(origin)

    async def outlasts(self, failure: TransportError, _good_before: int, /) -> bool:
        """Count an address without retries left against the host that failed; it is not repeated."""
        if failure.origin is not None and isinstance(failure, Unreachable | RequestTimeout):
            self._silent[failure.origin] += 1
            if self._silent[failure.origin] >= _MAX_SILENT_ADDRESSES:
                self._given_up[failure.origin] = message("did not answer")
        return False

    def _not_asked(self, origin: str) -> HostGivenUp:
        name = printable(origin.partition("://")[2], 80)
        return HostGivenUp("not asked in this run: {name} {reason}", name=name, reason=self._given_up[origin])
