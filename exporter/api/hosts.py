"""Downloads at the pace of each host: how many at a time, what is tried again, and when a host is left alone."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

from exporter.api.download import Download, Downloader, Sink
from exporter.api.guard import AddressRefused
from exporter.api.retry import RetryPolicy
from exporter.api.retry_after import seconds_to_wait
from exporter.api.throttle import Throttle
from exporter.api.transport import Unreachable
from exporter.clock import Clock
from exporter.errors import (
    BodyTooLarge,
    ConnectFailed,
    RedirectRefused,
    RequestTimeout,
    RetryableStatus,
    TransportError,
)
from exporter.printable import printable

_MAX_HOPS = 5
_RETRYABLE = frozenset({408, 425, 429, *range(500, 600)})
_SILENT_ADDRESSES = 3
_PORTS = {"http": 80, "https": 443}

PICTURE_POLICY = RetryPolicy(retries=3, base=0.5, ceiling=10.0, max_retry_after=120.0, give_up_after=0.0)
"""A picture is asked for again on every later run, so a run insists less on it than on an entry."""


class HostGivenUp(ConnectFailed):
    """A host that did not answer several addresses, or wishes a long pause, is left alone for the rest of the run."""


@dataclass(slots=True)
class DownloadStatistics:
    """What was sent and received so far."""

    requests: int = 0
    retries: int = 0
    bytes: int = 0


class Hosts:
    """Reads files through a :class:`~exporter.api.download.Downloader`, following redirects hop by hop.

    Args:
        downloader: what asks one address once.
        clock: measures the pace, and waits.
        per_host: most requests at a time to one host.
        rate: most requests per second to one host; ``None`` for no such limit.
        policy: how often and after how long a failure is tried again; of its limits on patience only
            ``max_retry_after`` matters here.
        chance: the jitter of the waits, in 0 … 1.
    """

    def __init__(
        self,
        downloader: Downloader,
        clock: Clock,
        *,
        per_host: int = 4,
        rate: float | None = None,
        policy: RetryPolicy = PICTURE_POLICY,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._downloader = downloader
        self._clock = clock
        self._per_host = per_host
        self._rate = rate
        self._policy = policy
        self._chance = chance
        self._hosts: dict[tuple[str, str], _Host] = {}
        self.statistics = DownloadStatistics()

    async def read(self, address: str, sink: Sink, *, known: Download | None = None) -> Download:
        """Read a file into the sink, trying again where that may help.

        Returns:
            The last answer: a status of 200, 304 where ``known`` was given, or one that trying again does not change.

        A failure is charged to the host that failed, which redirects may have led to; the next try starts at the
        beginning again, as they may lead elsewhere by then.

        Raises:
            TransportError: no whole answer came; the newest reason.
        """
        failures, hops, place = 0, 0, address
        while True:
            host = self._host(place)
            try:
                answer = await self._ask(host, place, sink, known)
            except (BodyTooLarge, RedirectRefused, AddressRefused, HostGivenUp):
                raise
            except TransportError as error:
                failures += 1
                if failures > self._policy.retries:
                    host.failed(error)
                    raise
                await self._wait(failures, error, host)
                hops, place = 0, address
                continue
            if answer.location is None:
                return answer
            hops, place = hops + 1, answer.location
            if hops > _MAX_HOPS:
                raise RedirectRefused(f"it redirects more than {_MAX_HOPS} times in a row")

    async def _ask(self, host: _Host, address: str, sink: Sink, known: Download | None) -> Download:
        number, started = await host.throttle.enter()
        status = None
        try:
            answer = await self._get(host, address, sink, known)
            # A body takes as long as it is large, which says nothing about how busy the host is.
            status, started = answer.status, started + answer.body_seconds
        finally:
            host.throttle.leave(number, started, status)
        if answer.status in _RETRYABLE:
            wished = seconds_to_wait(answer.retry_after, self._clock.now(), answer.date)
            raise RetryableStatus(f"it answered {answer.status}", answer.status, wished)
        host.answered()
        return answer

    async def _get(self, host: _Host, address: str, sink: Sink, known: Download | None) -> Download:
        host.check()
        self.statistics.requests += 1
        before = sink.size
        try:
            return await self._downloader.get(address, sink, known=known)
        finally:
            self.statistics.bytes += max(0, sink.size - before)

    async def _wait(self, failures: int, error: TransportError, host: _Host) -> None:
        wait = self._policy.backoff(failures, self._chance())
        if isinstance(error, RetryableStatus) and error.retry_after is not None:
            if error.retry_after > self._policy.max_retry_after:
                host.leave_alone("asks for a long pause")
                raise error
            wait = max(wait, error.retry_after)
            host.throttle.pause_until(self._clock.monotonic() + wait)
        self.statistics.retries += 1
        await self._clock.sleep(wait)

    def _host(self, address: str) -> _Host:
        origin = _origin(address)
        if origin not in self._hosts:
            self._hosts[origin] = _Host(origin[1], Throttle(self._per_host, self._rate, self._clock))
        return self._hosts[origin]


def _origin(address: str) -> tuple[str, str]:
    """Return an address's scheme and its host with the port, which is left out where it goes without saying."""
    try:
        parts = urlsplit(address)
        host, port = (parts.hostname or "").rstrip("."), parts.port
    except ValueError:
        return "", ""  # the guard refuses it
    if ":" in host:
        host = f"[{host}]"
    return parts.scheme, host if port in {None, _PORTS.get(parts.scheme)} else f"{host}:{port}"


class _Host:
    """What is known of one host."""

    def __init__(self, name: str, throttle: Throttle) -> None:
        self.throttle = throttle
        self._name = printable(name, 80)
        self._silent = 0
        self._left_alone: str | None = None

    def check(self) -> None:
        """Refuse to ask a host that is left alone.

        Raises:
            HostGivenUp: it is.
        """
        if self._left_alone is not None:
            raise HostGivenUp(f"not asked in this run: {self._name} {self._left_alone}")

    def answered(self) -> None:
        """Note a good answer."""
        self._silent = 0

    def failed(self, error: TransportError) -> None:
        """Note that all tries for an address failed."""
        if isinstance(error, Unreachable | RequestTimeout):
            self._silent += 1
            if self._silent >= _SILENT_ADDRESSES:
                self.leave_alone("did not answer")

    def leave_alone(self, why: str) -> None:
        """Ask this host no more."""
        self._left_alone = why
