"""Reading ``Retry-After`` (RFC 9110, section 10.2.3). Pure."""

from __future__ import annotations

import random
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, retry_if_not_exception_type
from tenacity.asyncio.retry import async_retry_base, retry_all

from exporter.clock import Clock
from exporter.errors import (
    ApiError,
    BodyTooLarge,
    NotAuthorised,
    RedirectRefused,
    RetryableStatus,
    ServiceError,
    TransportError,
)
from exporter.http.auth import Redactor
from exporter.http.throttle import Throttle
from exporter.http.transport import Transport
from exporter.model.exchange import Request, Response

_SECONDS = re.compile(r"([+-]?)([0-9]+)(?:\.[0-9]+)?")
_SANE_DIGITS = 12


def seconds_to_wait(value: str | None, now: datetime, sent_at: str | None = None) -> float | None:
    """Return the seconds asked for, never negative; ``None`` when there is no such wish or it makes no sense.

    A date counts from the answer's own ``Date`` (``sent_at``) when it has one, as the two clocks may differ, else from
    ``now``. A number with more digits than any wait has is infinite.
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


Probe = Callable[[], Awaitable[object]]


class Liveness:
    """Counts good answers, measures how long none came and, in doubt, asks for one.

    Silence begins with the last whole answer or, where nothing was asked for a while after it, with the next question:
    a run that is busy with something else does not wait for the service.
    """

    def __init__(self, clock: Clock, give_up_after: float) -> None:
        self._clock = clock
        self._give_up_after = give_up_after
        self._since = clock.monotonic()
        self._open = 0
        self._doubtful = False
        self._probe: Probe | None = None
        self.good_answers = 0

    def ask(self) -> float:
        """Note that a question is about to be sent, and return the patience with it; :meth:`closed` must follow."""
        now = self._clock.monotonic()
        if not self._open and not self._doubtful:
            self._since = now
        self._open += 1
        return max(0.0, self._give_up_after - (now - self._since))

    def closed(self) -> None:
        """Note that a question came to its end, whichever; until :meth:`heard` is told, there is doubt."""
        self._open -= 1
        self._doubtful = True

    def heard(self) -> None:
        """Note a whole answer, be it a refusal: nobody who answers is silent."""
        self._doubtful = False
        self._since = self._clock.monotonic()

    def good(self) -> None:
        """Note a good answer."""
        self.good_answers += 1
        self.heard()

    def probe_with(self, probe: Probe) -> None:
        """Remember a request that was just answered well, to be sent again in doubt."""
        self._probe = probe

    def silent_for(self) -> float:
        """Return the seconds for which answers were wanted and none came whole."""
        if not self._open and not self._doubtful:
            return 0.0
        return self._clock.monotonic() - self._since

    def patience(self) -> float:
        """Return the seconds until the silence has lasted ``give_up_after`` seconds."""
        return max(0.0, self._give_up_after - self.silent_for())

    async def lives(self, since: int) -> bool:
        """Tell whether there was a good answer after the ``since``-th, or a probe gets one now.

        Raises:
            NotAuthorised: the probe is not allowed any more.
        """
        if self.good_answers > since:
            return True
        if self._probe is None:
            return False
        try:
            await self._probe()
        except NotAuthorised:
            raise
        except ServiceError:
            return self.good_answers > since
        return True


Answer = TypeVar("Answer")

_TOO_MANY = 429
_INSTANT = 0.001
"""Seconds too short to send anything in; sums of seconds are no more exact than that."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How long to insist; seconds throughout.

    The wait after the n-th failure lies between half and all of ``base * 2**(n-1)``, which stops growing at
    ``ceiling``: eight of them last from 31 to 62 seconds, which a network that comes up late at night needs. When a
    service that had answered falls silent as a whole, a request goes on after its ``retries``.

    ``give_up_after`` rules over all of it: so many seconds without an answer to anybody end the run, no wait and no
    request lasts longer than that moment, and a ``Retry-After`` beyond it ends the run at once, so that the service is
    never asked earlier than it wishes. Nor is one request begun again after so long while others are answered.
    ``max_retry_after`` is the longest pause that downloads obey.
    """

    retries: int = 8
    base: float = 0.25
    ceiling: float = 30.0
    give_up_after: float = 1800.0
    max_retry_after: float = 3600.0

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


@dataclass(slots=True)
class Statistics:
    """What was sent and received so far.

    Attributes:
        requests: all that were sent, retries included, redirects followed not.
        retries: those of them that repeat a failed one.
        bytes: the decompressed bodies' length.
        waited: the sum of all waits between attempts, in seconds.
    """

    requests: int = 0
    retries: int = 0
    bytes: int = 0
    waited: float = 0.0


class Retrying:
    """Sends requests through a throttle and a transport, and again where that may help."""

    def __init__(
        self,
        transport: Transport,
        throttle: Throttle,
        policy: RetryPolicy,
        clock: Clock,
        *,
        redactor: Redactor | None = None,
        on_retry: Callable[[RetryEvent], None] | None = None,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._transport = transport
        self._throttle = throttle
        self._policy = policy
        self.clock = clock
        self._redactor = redactor or Redactor([])
        self._on_retry = on_retry
        self._chance = chance
        self._failure = ""
        self.liveness = Liveness(clock, policy.give_up_after)
        self.statistics = Statistics()

    async def call(self, request: Request, read: Callable[[Response], Answer]) -> Answer:
        """Send ``request`` until ``read`` makes something of the answer.

        Raises:
            NotAuthorised, ApiError: as ``read`` raised them, at once.
            TransportError: the last failure, when retries are used up and the service answers others, or never did.
            ServiceError: nobody got an answer for ``give_up_after`` seconds, or the service wishes a longer pause.
        """
        try:
            return await self.attempt(request, read)
        except TransportError as error:
            first = error
        return await _Insistence(self, request, first).until_answered(read)

    async def attempt(self, request: Request, read: Callable[[Response], Answer]) -> Answer:
        """Send ``request`` once.

        Raises:
            ServiceError: any of its kinds.
        """
        answer = await self._answer(request, read)
        if isinstance(answer, ServiceError):
            raise answer
        self.liveness.good()
        return answer

    async def _answer(self, request: Request, read: Callable[[Response], Answer]) -> Answer | ServiceError:
        """Send ``request`` once; return what was read, or what went wrong.

        An error carries the frames that it passed, and these the body. As it outlives the request, while that waits to
        be sent again or is a line of the summary, it is handed on without them, from a frame that ends with it.
        """
        try:
            async with self._throttle.permit() as permit:
                patience = self.liveness.ask()
                try:
                    if patience <= _INSTANT:
                        self.check_patience()
                    self.statistics.requests += 1
                    response = await self._transport.get(request.path, request.params, request.headers, patience)
                finally:
                    self.liveness.closed()
                permit.status = response.status
            self.statistics.bytes += len(response.body)
            try:
                return read(response)
            except RetryableStatus as error:
                error.retry_after = seconds_to_wait(
                    response.headers.get("retry-after"), self.clock.now(), response.headers.get("date")
                )
                raise
        except MemoryError:
            failed: ServiceError = BodyTooLarge(
                f"{request.operation} sent more than fits into the memory that this process may use"
            )
        except ServiceError as error:
            failed = error
        if isinstance(failed, ApiError):
            self.liveness.heard()
        if isinstance(failed, TransportError):
            self._failure = self._redactor(str(failed))
        failed.__traceback__ = failed.__cause__ = failed.__context__ = None
        return self._redactor.clean(failed)

    def may_insist(self, failures: int, since: float) -> bool:
        """Tell whether a request that first failed at the moment ``since`` has retries left, and time."""
        return failures <= self._policy.retries and self.clock.monotonic() - since < self._policy.give_up_after

    def wait_after(self, failures: int, error: BaseException | None) -> float:
        """Return the seconds to wait after ``error``, and make everybody wait where the service wishes it.

        Raises:
            ServiceError: the service wishes a longer wait than is obeyed.
        """
        wait = self._policy.backoff(failures, self._chance())
        if isinstance(error, RetryableStatus):
            wished = error.retry_after
            if wished is not None and wished > self._policy.give_up_after:
                limit = f"{self._policy.give_up_after:g} s this run would (give_up_after)"
                raise self._over(f"asks to wait {wished:.0f} s, longer than the {limit}")
            wait = max(wait, wished or 0.0)
            if wished or error.status == _TOO_MANY:
                self._throttle.pause_until(self.clock.monotonic() + wait)
        return min(wait, self.liveness.patience())

    def check_patience(self) -> None:
        """Go on only while there is patience left.

        Raises:
            ServiceError: nobody has heard from the service for too long.
        """
        if self.liveness.patience() <= _INSTANT:
            silence = self.liveness.silent_for()
            raise self._over(
                f"has given no good answer for {silence:.0f} s, the longest this run waits (give_up_after)"
            )

    def outlast(self) -> None:
        """Wait for a service that has fallen silent as a whole, if that is wanted.

        Raises:
            ServiceError: it is not, or not any longer.
        """
        self.check_patience()
        if not self._policy.retries:
            raise self._over("has stopped answering, and retries is 0")

    def _over(self, what: str) -> ServiceError:
        return ServiceError(f"the service {what}; the last failure: {self._failure}. Run again later{self._kept()}")

    def _kept(self) -> str:
        return ": what was read so far is kept." if self.liveness.good_answers else ", or check the base URL."

    async def sleep(self, seconds: float) -> None:
        """Wait between two attempts.

        Raises:
            ServiceError: nobody has heard from the service for too long by then.
        """
        await self.clock.sleep(seconds)
        self.check_patience()

    def note(self, event: RetryEvent) -> None:
        """Count a retry and tell whoever listens."""
        self.statistics.retries += 1
        self.statistics.waited += event.wait
        if self._on_retry is not None:
            self._on_retry(event)


class _Insistence(async_retry_base):
    """What one request does after its first failure; as a predicate: whether another attempt is worth it."""

    def __init__(self, retrying: Retrying, request: Request, first: TransportError) -> None:
        self._retrying = retrying
        self._request = request
        self._first: TransportError | None = first
        self._good_before = retrying.liveness.good_answers
        self._since = retrying.clock.monotonic()

    async def until_answered(self, read: Callable[[Response], Answer]) -> Answer:
        async def attempt() -> Answer:
            if self._first is not None:
                # The bare attempt's failure enters as the first one, so that every rule sees all failures alike.
                first, self._first = self._first, None
                raise first
            return await self._retrying.attempt(self._request, read)

        insistent = AsyncRetrying(
            retry=retry_all(
                retry_if_exception_type(TransportError),
                retry_if_not_exception_type((BodyTooLarge, RedirectRefused)),
                self,
            ),
            wait=self._wait,
            sleep=self._retrying.sleep,
            before_sleep=self._announce,
            reraise=True,
        )
        answer: Answer = await insistent(attempt)
        return answer

    async def __call__(self, retry_state: RetryCallState) -> bool:  # type: ignore[override]  # the base of its asynchronous base is not
        self._retrying.check_patience()
        if self._retrying.may_insist(retry_state.attempt_number, self._since):
            return True
        liveness = self._retrying.liveness
        if not liveness.good_answers or await liveness.lives(self._good_before):
            return False
        self._retrying.outlast()
        return True

    def _wait(self, state: RetryCallState) -> float:
        return self._retrying.wait_after(state.attempt_number, _error_of(state))

    def _announce(self, state: RetryCallState) -> None:
        # Only what is heard after the newest failure tells that the service outlived it.
        self._good_before = self._retrying.liveness.good_answers
        self._retrying.note(
            RetryEvent(self._request.operation, state.attempt_number, str(_error_of(state)), state.upcoming_sleep)
        )


def _error_of(state: RetryCallState) -> BaseException | None:
    outcome: Any = state.outcome
    return None if outcome is None else outcome.exception()
