"""The HTTP engine: connection pools, throttles, memory and statistics, shared by services and pictures.

One engine serves one blog or many. It owns the connection pools, the throttle of each host and the memory budget. A
:class:`Client` or :class:`Downloader` adds the rules of one service or one run.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, Protocol, Self, TypeVar
from urllib.parse import quote

import aiohttp
from aiohttp.abc import AbstractResolver
from yarl import URL

from exporter.clock import Clock, SystemClock
from exporter.errors import RedirectRefused, ServiceError, UsageError
from exporter.frozen import frozen
from exporter.http.address_guard import AddressGuard, check_base_url, origin_of
from exporter.http.body import FileBody, MemoryBody, MemoryBudget, RecordedBody, Sink
from exporter.http.credentials import Credentials, TokenSource
from exporter.http.deadline import Timeouts
from exporter.http.file_source import FileSource
from exporter.http.recording import ExchangeRecorder
from exporter.http.retry import HostWatch, RetryEvent, Retrying, RetryPolicy, ServiceWatch
from exporter.http.throttle import Throttled, Throttles
from exporter.http.transport import (
    AiohttpTransport,
    Allowance,
    Authorised,
    HttpRequest,
    HttpResponse,
    Redirecting,
    Sender,
    SingleTry,
    Statistics,
)
from exporter.http.user_agent import USER_AGENT
from exporter.http.wire import Record, RecordingConnector
from exporter.message import message
from exporter.model.exchange import Held, Request, Response
from exporter.text import printable

T = TypeVar("T")

_MIB = 1024 * 1024
_REFUSED: Final = 400
_OBJECT_BYTES_PER_BYTE = 3
_OK = 200
_ANONYMOUS: Final = Credentials()
_ANYWHERE: Final = AddressGuard(allow_private=True)
_SERVICE_TIMEOUTS: Final = Timeouts()
_SERVICE_POLICY: Final = RetryPolicy()

DOWNLOAD_TIMEOUTS: Final = Timeouts(total=600.0)
DOWNLOAD_POLICY: Final = RetryPolicy(
    retries=3, base=0.5, ceiling=10.0, give_up_after=float("inf"), max_retry_after=120.0
)
"""Fewer retries than for an entry, because every later run tries a picture again."""


class Engine:
    """Makes clients and downloaders, and closes their connections at the end of its context; for one event loop.

    A service may have any address, because a person named its base URL. Pictures use a separate pool when an address
    guard restricts them, so that no connection is used that the guard would have refused.

    Args:
        clock: measures times, and waits.
        concurrency: most requests at a time to a host for which no client set another limit.
        shared_memory: bytes of answers under way in addition to the largest one, or waiting to be used.
        resolver: replaces the system's name lookup.
        chance: returns the jitter for waits between attempts, in 0 … 1.
        most_requests: the most requests that are sent in total; ``None`` for no limit.
        after_kill: whether a killed process may have sent requests to the same hosts until now. The first request to a
            host with a rate then waits until those no longer count.

    Attributes:
        budget: the memory of all answers together.
        statistics: counts the traffic of all clients and downloaders.
    """

    def __init__(
        self,
        *,
        clock: Clock | None = None,
        concurrency: int = 6,
        shared_memory: int = 16 * _MIB,
        resolver: AbstractResolver | None = None,
        chance: Callable[[], float] = random.random,
        most_requests: int | None = None,
        after_kill: bool = False,
    ) -> None:
        self._allowance = None if most_requests is None else Allowance(most_requests)
        self._clock = clock or SystemClock()
        self._chance = chance
        self._throttles = Throttles(self._clock, concurrency, after_kill=after_kill)
        self.budget = MemoryBudget(shared_memory)
        self._resolver = resolver
        self._is_closed = False
        self._sessions: dict[tuple[AddressGuard, bool], aiohttp.ClientSession] = {}
        self._longest_pauses: dict[str, float] = {}
        self.statistics = Statistics()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._is_closed = True
        for session in self._sessions.values():
            await session.close()

    def client(
        self,
        base_url: str,
        credentials: TokenSource = _ANONYMOUS,
        *,
        timeouts: Timeouts = _SERVICE_TIMEOUTS,
        max_body: int = 32 * _MIB,
        policy: RetryPolicy = _SERVICE_POLICY,
        concurrency: int = 8,
        rate: float | None = None,
        on_retry: Callable[[RetryEvent], None] = lambda _: None,
        recorder: ExchangeRecorder | None = None,
        masks_secrets: bool = False,
    ) -> Client:
        """Return a client that sends the requests of one blog to its service.

        Args:
            base_url: its path, if any, is prefixed to that of every request.
            credentials: sent to this origin only, and kept out of every message; or a source of such credentials.
            timeouts: of each request.
            max_body: the most decompressed bytes of one answer; the parsed answer may take three times as many.
            policy: when to repeat a request, and when to give up.
            concurrency: the most requests at a time to this origin.
            rate: the most requests to it per second; ``None`` for no limit.
            on_retry: is called before each wait.
            recorder: records the exchanges; without one nothing is copied.
            masks_secrets: whether the credentials are masked in answers, which are stored.

        Raises:
            UsageError: the base URL or a limit is invalid.
        """
        base = check_base_url(base_url)
        origin = origin_of(base)
        self._throttles.restrict(origin, concurrency, rate)
        place = printable(base.authority)

        def inside(target: URL) -> URL:
            if target.origin() != base.origin() or target.user is not None or target.password is not None:
                raise RedirectRefused(
                    "{place} redirects to another origin, {origin}, which is not followed: "
                    "if that is the service's new home, make it the base URL",
                    place=place,
                    origin=printable(f"{target.scheme}://{target.host}", 100),
                )
            return target

        sender = Sender(timeouts, Statistics(), place, message(": check the address and the network"), self.statistics)
        session = self._session(_ANYWHERE, record=recorder is not None)
        transport = AiohttpTransport(session, _ANYWHERE, self._allowance)
        watch = ServiceWatch(transport, policy, self._clock)
        self._longest_pauses[origin] = max(policy.longest_pause, self._longest_pauses.get(origin, 0.0))
        retrying = Retrying(
            Redirecting(Authorised(Throttled(watch, self._throttles), credentials), inside),
            policy,
            watch,
            self._throttles,
            self._clock,
            redactor=credentials.redactor,
            on_retry=on_retry,
            chance=self._chance,
        )
        body = MemoryBody(self.budget, max_body)
        echoes = set[str]() if masks_secrets else None
        return Client(self, retrying, watch, base, origin, body, sender, credentials, recorder, echoes)

    def restrict(self, origin: str, rate: float) -> None:
        """Send one request at a time to a host, and at most ``rate`` in a second, from now on."""
        self._throttles.restrict(origin, 1, rate)

    def downloader(
        self,
        guard: AddressGuard,
        *,
        timeouts: Timeouts = DOWNLOAD_TIMEOUTS,
        max_bytes: int = 100_000_000,
        policy: RetryPolicy = DOWNLOAD_POLICY,
    ) -> Downloader:
        """Return a downloader that reads files from all addresses that the guard permits.

        A pause requested by the service's own host is obeyed as long as for its entries, any other as the policy says.

        Args:
            guard: checks every address and every connection.
            timeouts: of each request.
            max_bytes: the largest file, decoded.
            policy: when to repeat a request.
        """
        transport = AiohttpTransport(self._session(guard), guard, self._allowance)
        watch = HostWatch(transport, policy, self._longest_pauses)
        redirecting = Redirecting(Throttled(watch, self._throttles), lambda target: guard.check(str(target)))
        retrying = Retrying(redirecting, policy, watch, self._throttles, self._clock, chance=self._chance)
        return Downloader(retrying, guard, Sender(timeouts, Statistics(), total=self.statistics), max_bytes)

    def capturer(
        self,
        guard: AddressGuard,
        *,
        timeouts: Timeouts = DOWNLOAD_TIMEOUTS,
        max_bytes: int = 100_000_000,
        policy: RetryPolicy = DOWNLOAD_POLICY,
        user_agent: str | None = None,
        on_retry: Callable[[RetryEvent], None] = lambda _: None,
    ) -> Capturer:
        """Return a capturer that records exchanges with all addresses that the guard permits.

        Args:
            guard: checks every address and every connection.
            timeouts: of each request.
            max_bytes: of an answer's body as sent; a longer one is cut.
            policy: when to repeat a request.
            user_agent: replaces this program's name in requests.
            on_retry: is called before each wait.
        """
        transport = AiohttpTransport(self._session(guard, record=True), guard, self._allowance)
        watch = HostWatch(transport, policy, self._longest_pauses)
        throttled = Throttled(watch, self._throttles)
        retrying = Retrying(
            throttled, policy, watch, self._throttles, self._clock, on_retry=on_retry, chance=self._chance
        )
        sender = Sender(timeouts, Statistics(), total=self.statistics)
        return Capturer(retrying, guard, sender, max_bytes, user_agent)

    def limit(self, origin: str, concurrency: int, rate: float | None, longest_pause: float = 0.0) -> None:
        """Lower the number of requests at a time to a host, and the requests per second; ``None`` for no limit.

        Pauses that the host requests are obeyed for at least ``longest_pause`` seconds.
        """
        self._throttles.restrict(origin, concurrency, rate)
        self._longest_pauses[origin] = max(longest_pause, self._longest_pauses.get(origin, 0.0))

    def share(self, origin: str, budget: str) -> None:
        """Count requests to a host as requests to another one, from now on: both share limits and pauses.

        Args:
            origin: the host, such as that of a blog's pages.
            budget: the origin of the service that serves both, or any name that its hosts share.
        """
        self._throttles.share(origin, budget)

    async def page(
        self, address: str, *, timeouts: Timeouts = _SERVICE_TIMEOUTS, max_body: int = 8 * _MIB
    ) -> PublicPage:
        """Read a page that a person named, and follow its redirects to the public web.

        Args:
            address: its host and port are permitted even if they are private, because the person named them.
            timeouts: of each request.
            max_body: the largest page, decoded.

        Raises:
            AddressRefused: the address, or the target of a redirect, is not permitted.
            TransportError: no complete answer came.
        """
        guard = AddressGuard(service=address)
        url = guard.check(address)
        places = [url]

        def admit(target: URL) -> URL:
            places.append(guard.check(str(target)))
            return places[-1]

        transport = AiohttpTransport(self._session(guard), guard, self._allowance)
        watch = HostWatch(transport, DOWNLOAD_POLICY, self._longest_pauses)
        sending = Redirecting(Throttled(watch, self._throttles), admit)
        retrying = Retrying(sending, DOWNLOAD_POLICY, watch, self._throttles, self._clock, chance=self._chance)
        sender = Sender(timeouts, Statistics(), printable(url.authority), total=self.statistics)
        headers = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
        body = MemoryBody(self.budget, max_body)
        request = HttpRequest(url, origin_of(url), headers, body, sender)
        return await retrying.fetch(
            request, lambda answer: PublicPage(str(places[-1]), answer.status, answer.headers, answer.body)
        )

    def _session(self, guard: AddressGuard, *, record: bool = False) -> aiohttp.ClientSession:
        if self._is_closed:
            raise UsageError("The engine is closed because its {block} has ended. Make a new one.", block="async with")
        key = guard, record
        if key not in self._sessions:
            make = partial(RecordingConnector, self._clock.now) if record else aiohttp.TCPConnector
            connector = make(
                limit=0,  # the throttles limit the connections
                ttl_dns_cache=300,
                use_dns_cache=self._resolver is None,
                resolver=self._resolver,
                socket_factory=guard.socket,
            )
            self._sessions[key] = aiohttp.ClientSession(
                connector=connector,
                cookie_jar=aiohttp.DummyCookieJar(),
                headers={
                    "User-Agent": USER_AGENT,
                    "Accept": "application/json",  # downloads replace this and the encoding
                    "Accept-Encoding": "gzip, deflate",
                },
                auto_decompress=False,
                response_class=SingleTry,
            )
        return self._sessions[key]


@frozen
class PublicPage:
    """A page as its address answered; ``url`` is the address after redirects, ``body`` the decoded bytes."""

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes


class ServiceClient(Protocol):
    """Sends the requests of one blog, or answers them from a file; see :class:`Client`."""

    @property
    def engine(self) -> Engine:
        """The engine, which also downloads the blog's pictures."""

    @property
    def statistics(self) -> Statistics:
        """Counts the requests of this client so far."""

    @property
    def budget(self) -> MemoryBudget:
        """The memory of all answers together."""

    @property
    def source(self) -> FileSource | None:
        """The file that is read instead of a service."""

    @property
    def recorder(self) -> ExchangeRecorder | None:
        """Records the exchanges, if they are to be kept."""

    @property
    def echoes(self) -> Collection[str] | None:
        """The operations of which an answer held the credentials, which were masked."""

    def is_kept(self, request: Request) -> bool:
        """Return whether a conditional request loses nothing: no recorder lacks the answer."""

    def slow_down(self, pause: float) -> None:
        """Wait at least ``pause`` seconds between two requests to the service from now on."""

    def forget_probe(self) -> None:
        """Forget the request kept to probe the service, and so what its ``parse`` refers to."""

    async def fetch(
        self,
        request: Request,
        parse: Callable[[Response], T],
        *,
        probe: bool = False,
        once: bool = False,
        recover: Callable[[], Awaitable[T | None]] | None = None,
        holds: Callable[[T], Held] | None = None,
    ) -> T:
        """Send a request until ``parse`` accepts the answer."""


@dataclass(frozen=True, slots=True, repr=False)
class Client:
    """Sends one blog's requests to its service with its credentials; made by :meth:`Engine.client`.

    Attributes:
        engine: shared with other clients; it also downloads the blog's pictures.
        retrying: the outermost transport layer.
        watch: decides when the service is given up.
        base: the base URL.
        origin: the host whose throttle applies.
        body: the destination of answers.
        sender: counts the requests and names the service in messages.
        credentials: provides the credentials.
        recorder: records the exchanges; ``None`` if nothing is copied.
        echoes: the operations of which an answer held the credentials, which were masked; ``None`` to mask nothing.
    """

    engine: Engine
    retrying: Retrying
    watch: ServiceWatch
    base: URL
    origin: str
    body: MemoryBody
    sender: Sender
    credentials: TokenSource
    recorder: ExchangeRecorder | None = None
    echoes: set[str] | None = None

    @property
    def source(self) -> None:
        """Nothing: this client reads a service."""

    @property
    def statistics(self) -> Statistics:
        """Counts the requests of this client so far."""
        return self.sender.statistics

    @property
    def budget(self) -> MemoryBudget:
        """The memory of all answers together, including pages that wait to be used."""
        return self.engine.budget

    def slow_down(self, pause: float) -> None:
        """Wait at least ``pause`` seconds between two requests to the service from now on; it must be above 0."""
        self.engine.restrict(self.origin, 1.0 / pause)

    def forget_probe(self) -> None:
        """Forget the request kept to probe the service, and so what its ``parse`` refers to."""
        self.watch.probe_with(None)

    async def fetch(
        self,
        request: Request,
        parse: Callable[[Response], T],
        *,
        probe: bool = False,
        once: bool = False,
        recover: Callable[[], Awaitable[T | None]] | None = None,
        holds: Callable[[T], Held] | None = None,
    ) -> T:
        """Send ``request`` until ``parse`` accepts the answer.

        Args:
            request: without the credentials; its path starts with a slash.
            parse: receives every answer whose status is not retried. It raises a TransportError for a failure that
                another attempt may mend, and another ServiceError for one that it cannot.
            probe: whether this request, once answered, may be repeated to learn whether the service is still alive.
            once: whether the request is never repeated.
            recover: for a request that must not be carried out twice: called before it is repeated, because it may have
                arrived although no answer came. It returns the effect that the request had, or ``None``.
            holds: returns the records in an accepted answer; only called if exchanges are recorded.

        Raises:
            NotAuthorised, ApiError: raised by ``parse``, at once.
            TransportError: the last failure, when retries are used up and the service answers others, or never did.
            ServiceError: no request was answered for ``give_up_after`` seconds, or the service requests a longer pause.
        """
        sent = HttpRequest(
            self._url(request),
            self.origin,
            request.headers,
            self.body,
            self.sender,
            request.operation,
            method=request.method,
            content=request.content,
            final=request.final,
        )
        advice, token_header = self.credentials.advice, self.credentials.token_header
        objects = self.body.max_bytes * _OBJECT_BYTES_PER_BYTE

        def parsed(response: HttpResponse) -> T:
            body = response.body
            # A refusal is shown cut to its first characters, so a secret must go before.
            if self.echoes is not None or response.status >= _REFUSED:
                body = self.credentials.redactor.masked(body)
                if body is not response.body and self.echoes is not None:
                    self.echoes.add(request.operation)
            return parse(Response(response.status, response.headers, body, objects, advice, token_header))

        if self.recorder is not None and self.recorder.keeper is not None:
            return await self._recorded(self.recorder, sent, parsed, recover, holds, probe=probe, once=once)
        if once:
            return await self.retrying.attempt(sent, parsed)
        answer = await self.retrying.fetch(sent, parsed, recover)
        if probe:
            self.watch.probe_with(lambda: self.retrying.attempt(sent, parsed))
        return answer

    def is_kept(self, request: Request) -> bool:
        """Return whether a conditional request loses nothing: no recorder lacks the answer."""
        keeper = None if self.recorder is None else self.recorder.keeper
        return keeper is None or keeper.knows(str(self._url(request)))

    async def _recorded(
        self,
        recorder: ExchangeRecorder,
        sent: HttpRequest,
        parsed: Callable[[HttpResponse], T],
        recover: Callable[[], Awaitable[T | None]] | None,
        holds: Callable[[T], Held] | None,
        *,
        probe: bool,
        once: bool,
    ) -> T:
        """Send a request as :meth:`fetch` does, and record its attempts."""
        keeper = recorder.keeper
        if keeper is None:  # recording has ended since a probe was stored
            return await self.retrying.attempt(sent, parsed)
        kept = keeper.begin(self.credentials)
        attempts = replace(sent, record=kept.attempt, store=recorder.memory.answer)
        try:
            if once:
                answer = await self.retrying.attempt(attempts, parsed)
            else:
                answer = await self.retrying.fetch(attempts, parsed, recover)
        except ServiceError:
            kept.failed()
            raise
        kept.answered(None if holds is None else holds(answer))
        if probe:
            self.watch.probe_with(lambda: self._recorded(recorder, sent, parsed, None, holds, probe=False, once=True))
        return answer

    def _url(self, request: Request) -> URL:
        pairs = (f"{name}={quote(value, '', errors='surrogatepass')}" for name, value in request.params.items())
        query = request.query or "&".join(pairs)
        return URL.build(
            scheme=self.base.scheme,
            authority=self.base.raw_authority,
            path=self.base.raw_path.rstrip("/") + request.path,
            query_string=query,
            encoded=True,
        )


@frozen
class Download:
    """The answer of an address: with ``status`` 200 the sink holds the whole file.

    Attributes:
        framed: whether the answer stated the end of its body, so that a truncated one would have been noticed.
        etag: as sent, like ``last_modified``.
    """

    status: int
    framed: bool = True
    etag: str | None = None
    last_modified: str | None = None


@frozen
class Downloader:
    """Reads files from any permitted address into sinks and follows redirects; made by :meth:`Engine.downloader`."""

    retrying: Retrying
    guard: AddressGuard
    sender: Sender
    max_bytes: int

    @property
    def statistics(self) -> Statistics:
        """Counts the requests of this client so far."""
        return self.sender.statistics

    async def read(self, address: str, sink: Sink, *, known: Download | None = None) -> Download:
        """Read a file into the sink, continue its content if that is still valid, and repeat failed attempts.

        A failure counts against the host that failed, which may be the target of a redirect. The next attempt starts
        at the original address again, because the redirects may have changed.

        Args:
            address: absolute, sent exactly as written.
            sink: the destination of the file.
            known: the answer of an earlier run; an unchanged file answers 304.

        Returns:
            The last answer: status 200, 304 if ``known`` was given, or a status that a retry would not change.

        Raises:
            AddressRefused: the guard refuses the address or a redirect.
            TransportError: no complete answer came; the newest reason.
        """
        body = FileBody(sink, self.max_bytes, _conditions(known))
        url = self.guard.check(address)
        request = HttpRequest(url, origin_of(url), {"Accept": "*/*"}, body, self.sender)

        def found(response: HttpResponse) -> Download:
            headers = response.headers
            framed = "content-length" in headers or "chunked" in headers.get("transfer-encoding", "").lower()
            status = _OK if body.whole else response.status
            return Download(status, framed, headers.get("etag"), headers.get("last-modified"))

        return await self.retrying.fetch(request, found)


@frozen
class Capturer:
    """Records exchanges with permitted addresses, without credentials and cookies; made by :meth:`Engine.capturer`."""

    retrying: Retrying
    guard: AddressGuard
    sender: Sender
    max_bytes: int
    user_agent: str | None = None

    @property
    def statistics(self) -> Statistics:
        """Counts the requests of this client so far."""
        return self.sender.statistics

    async def fetch(self, address: str, record: Record, headers: Mapping[str, str] | None = None) -> HttpResponse:
        """Request an address until its answer is one that a retry would not change. Redirects are not followed.

        Args:
            address: absolute, sent exactly as written.
            record: receives the exchange of each attempt, the last one before this returns.
            headers: in addition to the usual ones, such as the conditions of an earlier answer.

        Returns:
            The last answer's status and headers; its body is only in the exchange.

        Raises:
            AddressRefused: the guard refuses the address.
            TransportError: no complete answer came; the newest reason.
        """
        url = self.guard.check(address)
        own = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
        if self.user_agent is not None:
            own["User-Agent"] = self.user_agent
        body = RecordedBody(self.max_bytes)
        request = HttpRequest(url, origin_of(url), {**own, **(headers or {})}, body, self.sender, record=record)
        return await self.retrying.fetch(request, lambda response: response)


def _conditions(known: Download | None) -> Mapping[str, str]:
    if known is None:
        return {}
    pairs = (("If-None-Match", known.etag), ("If-Modified-Since", known.last_modified))
    return {name: value for name, value in pairs if value is not None}
