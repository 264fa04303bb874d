"""When to give up: a service that has been silent for too long, and hosts that answer no address at all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType

from exporter.clock import Clock
from exporter.errors import (
    ApiError,
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
from exporter.http.retry import RetryPolicy, Watch
from exporter.http.transport import HttpRequest, HttpResponse, Transport
from exporter.message import message, said
from exporter.text import printable

_INSTANT = 0.001  # seconds too short to send anything in; sums of seconds are not more exact
_SILENT_ADDRESSES = 3


class ServiceWatch(Watch):
    """A transport to one service that measures how long no answer came and, in doubt, asks for one.

    Silence begins with the last whole answer or, where nothing was asked for a while after it, with the next question:
    a run that is busy with something else does not wait for the service.
    """

    def __init__(self, transport: Transport, policy: RetryPolicy, clock: Clock) -> None:
        self._transport = transport
        self._policy = policy
        self._clock = clock
        self._since = clock.monotonic()
        self._open = 0
        self._doubtful = False
        self._failure = ""
        self._probe: Callable[[], Awaitable[object]] | None = None

    async def send(self, request: HttpRequest) -> HttpResponse:
        """Send a request, for which nobody waits longer than for the service as a whole.

        Raises:
            ServiceError: nobody has heard from the service for too long.
        """
        if not self._open and not self._doubtful:
            self._since = self._clock.monotonic()
        self._open += 1
        try:
            request.patience = self.patience()
            return await self._transport.send(request)
        finally:
            self._open -= 1
            self._doubtful = True

    def note(self, failure: ServiceError | None, /) -> None:
        """Note how an attempt ended; nobody who answers is silent, be it with a refusal."""
        if isinstance(failure, TransportError):
            self._failure = said(failure)
        if failure is None:
            self.good_answers += 1
        if failure is None or isinstance(failure, ApiError):
            self._doubtful = False
            self._since = self._clock.monotonic()

    def probe_with(self, probe: Callable[[], Awaitable[object]]) -> None:
        """Remember a request that was just answered well, to be sent again in doubt."""
        self._probe = probe

    def patience(self) -> float:
        """Return the seconds until the silence has lasted ``give_up_after`` seconds.

        Raises:
            ServiceError: it has.
        """
        silence = self._clock.monotonic() - self._since if self._open or self._doubtful else 0.0
        patience = self._policy.give_up_after - silence
        if patience <= _INSTANT:
            text = message(
                "has given no good answer for {silence:.0f} s, the longest this run waits (give_up_after)",
                silence=silence,
            )
            raise ServiceSilent(self._over(text))
        return patience

    def longest_pause(self, _origin: str, /) -> float:
        """Return the seconds of the longest pause that is waited for."""
        return self._policy.longest_pause

    def refuse_pause(self, error: RetryableStatus) -> ServiceError:
        """Return what ends the run where the service wishes a pause longer than is waited for."""
        text = message(
            "asks to wait {wish:.0f} s, longer than the {limit:g} s this run would (give_up_after)",
            wish=error.retry_after,
            limit=self._policy.longest_pause,
        )
        return LongPause(self._over(text), error.retry_after or 0.0)

    def left_alone(self, _origin: str, seconds: float, /) -> ServiceError:
        """Return what ends the run where the service wished such a pause in answer to another request."""
        text = message(
            "in answer to another request, the service asks to wait {wish:.0f} s more, longer than the {limit:g} s "
            "this run would (give_up_after). Run again later: what was read so far is kept.",
            wish=seconds,
            limit=self._policy.longest_pause,
        )
        return LongPause(text, seconds)

    async def outlasts(self, _failure: TransportError, good_before: int, /) -> bool:
        """Tell whether to insist on a request without retries left: where the service is silent as a whole.

        It is not where it gave a good answer after the ``good_before``-th, or gives one now.

        Raises:
            NotAuthorised: it does not allow the caller anything any more.
            ServiceError: nobody has heard from it for too long, or nothing is tried again.
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
        if not self._policy.retries:
            raise ServiceSilent(self._over(message("has stopped answering, and retries is 0")))
        return True

    def _over(self, what: str) -> str:
        advice = (
            message(": what was read so far is kept.") if self.good_answers else message(", or check the base URL.")
        )
        return message(
            "the service {what}; the last failure: {failure}. Run again later{advice}",
            what=what,
            failure=self._failure,
            advice=advice,
        )


class HostWatch(Watch):
    """A transport to any host that asks no more where three addresses got no answer, or a long pause is wished.

    Args:
        transport: sends the requests.
        policy: how long a pause is waited for.
        longest_pauses: the same for hosts that are waited for longer, in seconds.
    """

    def __init__(
        self, transport: Transport, policy: RetryPolicy, longest_pauses: Mapping[str, float] = MappingProxyType({})
    ) -> None:
        self._transport = transport
        self._policy = policy
        self._longest_pauses = longest_pauses
        self._silent: Counter[str] = Counter()
        self._given_up: dict[str, str] = {}

    async def send(self, request: HttpRequest) -> HttpResponse:
        """Send a request.

        Raises:
            HostGivenUp: its host is not asked any more.
        """
        origin = request.origin
        if origin in self._given_up:
            raise self._not_asked(origin)
        response = await self._transport.send(request)
        if response.status not in RetryableStatus.STATUSES:
            self._silent.pop(origin, None)
        return response

    def longest_pause(self, origin: str, /) -> float:
        """Return the seconds of the longest pause of a host that is waited for."""
        return max(self._policy.longest_pause, self._longest_pauses.get(origin, 0.0))

    def refuse_pause(self, error: RetryableStatus) -> ServiceError:
        """Give up a host that wishes a pause longer than is waited for."""
        if error.origin is not None:
            self._given_up[error.origin] = message("asks for a long pause")
        return error

    def left_alone(self, origin: str, _seconds: float, /) -> ServiceError:
        """Give up a host that wished such a pause in answer to another request."""
        self._given_up.setdefault(origin, message("asks for a long pause"))
        return self._not_asked(origin)

    async def outlasts(self, failure: TransportError, _good_before: int, /) -> bool:
        """Count an address without retries left against the host that failed; it is not insisted on."""
        if failure.origin is not None and isinstance(failure, Unreachable | RequestTimeout):
            self._silent[failure.origin] += 1
            if self._silent[failure.origin] >= _SILENT_ADDRESSES:
                self._given_up[failure.origin] = message("did not answer")
        return False

    def _not_asked(self, origin: str) -> HostGivenUp:
        name = printable(origin.partition("://")[2], 80)
        return HostGivenUp(message("not asked in this run: {name} {reason}", name=name, reason=self._given_up[origin]))
