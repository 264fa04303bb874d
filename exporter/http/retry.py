"""Sending a request again where that may help: how often, after how long a wait, and what ``Retry-After`` says."""

from __future__ import annotations

import random
import re
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

from tenacity import AsyncRetrying, RetryCallState

from exporter.clock import Clock
from exporter.errors import BodyTooLarge, RetryableStatus, ServiceError, TransportError
from exporter.http.credentials import Redactor
from exporter.http.throttle import Throttles
from exporter.http.transport import HttpRequest, HttpResponse, Transport
from exporter.message import message, said

_SECONDS = re.compile(r"([+-]?)([0-9]+)(?:\.[0-9]+)?")
_SANE_DIGITS = 12
_TOO_MANY = 429

T = TypeVar("T")


def seconds_to_wait(value: str | None, now: datetime, sent_at: str | None = None) -> float | None:
    """Return the seconds that a ``Retry-After`` asks for (RFC 9110, 10.2.3), never negative; ``None`` for no such wish.

    A date counts from the answer's own ``Date`` (``sent_at``) when it has one, as the two clocks may differ, else from
    ``now``. A number with more digits than any wait has is infinite; what makes no sense counts as none.
    """
    if value is None:
        return None
    value = value.strip()
    number = _SECONDS.fullmatch(value)
    if number is not None:
        if number[1] == "-":
            return 0.0
        return float(number[0]) if len(number[2]) <= _SANE_DIGITS else float("inf")
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


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How long to insist; seconds throughout.

    The wait after the n-th failure lies between half and all of ``base * 2**(n-1)``, which stops growing at
    ``ceiling``: eight of them last from 31 to 62 seconds, which a network that comes up late at night needs. When a
    service that had answered falls silent as a whole, a request is continued after its ``retries``.

    ``give_up_after`` rules over all of it: so many seconds without an answer to anybody end the run, no wait and no
    request lasts longer than that moment, and a ``Retry-After`` beyond it ends the run at once, so that the service is
    never asked earlier than it wishes. Nor is one request begun again after so long while others are answered.
    ``max_retry_after`` is a lower limit for ``Retry-After`` alone.
    """

    retries: int = 8
    base: float = 0.25
    ceiling: float = 30.0
    give_up_after: float = 1800.0
    max_retry_after: float = float("inf")

    @property
    def longest_pause(self) -> float:
        """The longest ``Retry-After`` that is obeyed."""
        return min(self.give_up_after, self.max_retry_after)

    def backoff(self, failures: int, chance: float) -> float:
        """Return the seconds to wait after that many failures; ``chance`` in 0 … 1 places it between half and all."""
        full = min(self.ceiling, self.base * 2.0 ** min(failures - 1, 60))
        return full * (0.5 + 0.5 * chance)


@dataclass(frozen=True, slots=True)
class RetryEvent:
    """A request is about to wait and be sent again: after ``attempt`` failures, for ``reason``, in ``wait`` seconds."""

    operation: str
    attempt: int
    reason: str
    wait: float


class Watch(ABC):
    """What decides over all requests together when to give up, having counted so many good answers."""

    good_answers = 0

    def note(self, _failure: ServiceError | None, /) -> None:
        """Note how an attempt ended; ``None`` for well."""
        return

    def patience(self) -> float:
        """Return the seconds that may still be waited, or raise the ServiceError that ends the waiting."""
        return float("inf")

    @abstractmethod
    def longest_pause(self, origin: str, /) -> float:
        """Return the seconds of the longest ``Retry-After`` of a host that is waited for."""

    @abstractmethod
    def refuse_pause(self, error: RetryableStatus) -> ServiceError:
        """Return what to raise where a longer pause is wished than is waited for."""

    @abstractmethod
    async def outlasts(self, failure: TransportError, good_before: int, /) -> bool:
        """Tell whether to insist on a request without retries left, or raise the ServiceError that ends the run."""


def _unheard(_: RetryEvent) -> None:
    """Take notice of nothing."""


@dataclass(frozen=True, slots=True)
class Retrying:
    """Sends requests through a transport, and again where that may help.

    Attributes:
        throttles: those of the hosts, which pause for ``Retry-After``.
        redactor: cleans every error.
        on_retry: is called before each wait.
        chance: the jitter of the waits, in 0 … 1.
    """

    transport: Transport
    policy: RetryPolicy
    watch: Watch
    throttles: Throttles
    clock: Clock
    redactor: Redactor = field(default_factory=Redactor)
    on_retry: Callable[[RetryEvent], None] = _unheard
    chance: Callable[[], float] = random.random

    async def fetch(
        self,
        request: HttpRequest,
        parse: Callable[[HttpResponse], T],
        recover: Callable[[], Awaitable[T | None]] | None = None,
    ) -> T:
        """Send ``request`` until ``parse`` makes something of the answer.

        Args:
            request: what is asked for.
            parse: makes something of the answer.
            recover: looks, before the request is sent again, for what it may have done although no answer came.

        Raises:
            ServiceError: as ``parse`` raised it, the last TransportError when retries are used up, or what the watch
                raised.
        """
        try:
            return await self.attempt(request, parse)
        except TransportError as error:
            first = error
        return await self._insist(request, parse, first, recover)

    async def _insist(
        self,
        request: HttpRequest,
        parse: Callable[[HttpResponse], T],
        first: TransportError | None,
        recover: Callable[[], Awaitable[T | None]] | None,
    ) -> T:
        good_before = self.watch.good_answers
        begun = self.clock.monotonic()

        async def attempt() -> T:
            nonlocal first
            if first is not None:
                # The first attempt's failure enters here, so that every rule sees all failures alike.
                failure, first = first, None
                raise failure
            found = await recover() if recover is not None else None
            return found if found is not None else await self.attempt(request, parse)

        async def may_help(state: RetryCallState) -> bool:
            failure = _failure_of(state)
            if not isinstance(failure, TransportError) or not failure.retryable:
                return False
            self.watch.patience()
            in_time = self.clock.monotonic() - begun < self.policy.give_up_after
            if state.attempt_number <= self.policy.retries and in_time:
                return True
            return await self.watch.outlasts(failure, good_before)

        def announce(state: RetryCallState) -> None:
            nonlocal good_before
            # Only what is heard after the newest failure tells that the service outlived it.
            good_before = self.watch.good_answers
            failure = _failure_of(state)
            reason = "" if failure is None else said(failure)
            event = RetryEvent(request.name, state.attempt_number, reason, state.upcoming_sleep)
            request.sender.statistics.retries += 1
            request.sender.total.retries += 1
            self.on_retry(event)

        retrying = AsyncRetrying(
            retry=may_help, wait=self._wait_after, sleep=self._sleep, before_sleep=announce, reraise=True
        )
        answer: T = await retrying(attempt)
        return answer

    async def attempt(self, request: HttpRequest, parse: Callable[[HttpResponse], T]) -> T:
        """Send ``request`` once.

        Raises:
            ServiceError: any of its kinds.
        """
        answer = await self._outcome(request, parse)
        if isinstance(answer, ServiceError):
            self.watch.note(answer)
            raise answer
        self.watch.note(None)
        return answer

    async def _outcome(self, request: HttpRequest, parse: Callable[[HttpResponse], T]) -> T | ServiceError:
        """Send ``request`` once; return what was parsed, or what went wrong.

        An error carries the frames that it passed, and these the body. As it outlives the request, while that waits to
        be sent again or is a line of the summary, it is handed on without them, from a frame that ends with it.
        """
        try:
            response = await self.transport.send(request)
            if response.status in RetryableStatus.STATUSES and response.status not in request.final:
                raise self._retryable(request, response)
            return parse(response)
        except MemoryError:
            failed: ServiceError = BodyTooLarge(
                message(
                    "{name} sent more than fits into the memory that this process may use",
                    name=request.name or message("it"),
                )
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
            # Whether or not this request is sent again, nobody asks that host earlier than it wishes.
            self.throttles.of(response.origin).pause_until(self.clock.monotonic() + wished)
        error = RetryableStatus(text, response.status, wished)
        error.origin = response.origin
        return error

    def _wait_after(self, state: RetryCallState) -> float:
        """Return the seconds to wait, and make everybody who asks that host wait where it has too much to do."""
        wait = self.policy.backoff(state.attempt_number, self.chance())
        failure = _failure_of(state)
        if isinstance(failure, RetryableStatus) and failure.origin is not None:
            wished = failure.retry_after or 0.0
            if wished > self.watch.longest_pause(failure.origin):
                raise self.watch.refuse_pause(failure)
            wait = max(wait, wished)
            if failure.status == _TOO_MANY:
                self.throttles.of(failure.origin).pause_until(self.clock.monotonic() + wait)
        return min(wait, self.watch.patience())

    async def _sleep(self, seconds: float) -> None:
        await self.clock.sleep(seconds)
        self.watch.patience()


def _failure_of(state: RetryCallState) -> BaseException | None:
    outcome: Any = state.outcome
    return None if outcome is None else outcome.exception()
