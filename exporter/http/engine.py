"""What sends all requests: pools of connections, throttles, memory and statistics, shared by services and pictures.

One engine serves one blog or many. The pools, the throttle of each host and the budget of memory are the engine's; a
:class:`Client` or :class:`Downloader` adds the rules of one service or one run.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Self, TypeVar
from urllib.parse import quote

import aiohttp
from aiohttp.abc import AbstractResolver
from yarl import URL

from exporter import __version__
from exporter.clock import Clock, SystemClock
from exporter.errors import RedirectRefused
from exporter.http.address_guard import AddressGuard, check_base_url, origin_of
from exporter.http.authorised import Authorised
from exporter.http.body import FileBody, MemoryBody, Sink
from exporter.http.credentials import Credentials, FixedSource, TokenSource
from exporter.http.deadline import Deadlines, Timeouts
from exporter.http.direct import Direct, may_be_taken
from exporter.http.give_up import HostWatch, ServiceWatch
from exporter.http.memory_budget import MemoryBudget
from exporter.http.retry import RetryEvent, Retrying, RetryPolicy
from exporter.http.throttle import Throttled, Throttles
from exporter.http.transport import (
    AiohttpTransport,
    Allowance,
    HttpRequest,
    HttpResponse,
    Redirecting,
    Sender,
    SingleTry,
    Statistics,
    Transport,
)
from exporter.message import message
from exporter.model.exchange import Request, Response
from exporter.text import printable

T = TypeVar("T")

_MIB = 1024 * 1024
_OBJECTS_FOR_BYTE = 3
_OK = 200
_ANONYMOUS: Final = Credentials()
_ANYWHERE: Final = AddressGuard(allow_private=True)
_SERVICE_TIMEOUTS: Final = Timeouts()
_SERVICE_POLICY: Final = RetryPolicy()

DOWNLOAD_TIMEOUTS: Final = Timeouts(total=600.0)
DOWNLOAD_POLICY: Final = RetryPolicy(
    retries=3, base=0.5, ceiling=10.0, give_up_after=float("inf"), max_retry_after=120.0
)
"""A picture is asked for again on every later run, so a run insists less on it than on an entry."""


class Engine:
    """Makes clients and downloaders, and closes their connections when it is left; for one event loop.

    A service may be anywhere, as a person named its base URL. Pictures have a pool of their own where an address guard
    restricts them, so that none is asked for over a connection that the guard would not have made.

    Args:
        clock: measures the pace, and waits.
        per_host: most requests at a time to a host for which no client set another limit.
        shared_memory: bytes of answers under way beside the largest one, or waiting for their turn.
        resolver: replaces the system's name lookup.
        chance: the jitter of the waits between attempts, in 0 … 1.
        most_requests: the most requests that are sent in all; ``None`` for no such limit.

    Attributes:
        budget: what all answers take together.
        statistics: what all clients and downloaders sent and received so far.
    """

    def __init__(
        self,
        *,
        clock: Clock | None = None,
        per_host: int = 6,
        shared_memory: int = 16 * _MIB,
        resolver: AbstractResolver | None = None,
        chance: Callable[[], float] = random.random,
        most_requests: int | None = None,
    ) -> None:
        self._allowance = None if most_requests is None else Allowance(most_requests)
        self._clock = clock or SystemClock()
        self._chance = chance
        self._throttles = Throttles(self._clock, per_host)
        self.budget = MemoryBudget(shared_memory)
        self._deadlines = Deadlines()
        self._resolver = resolver
        self._sessions: dict[AddressGuard, aiohttp.ClientSession] = {}
        self._longest_pauses: dict[str, float] = {}
        self.statistics = Statistics()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._deadlines.close()
        for session in self._sessions.values():
            await session.close()

    def client(
        self,
        base_url: str,
        credentials: Credentials | TokenSource = _ANONYMOUS,
        *,
        timeouts: Timeouts = _SERVICE_TIMEOUTS,
        max_body: int = 32 * _MIB,
        policy: RetryPolicy = _SERVICE_POLICY,
        concurrency: int = 8,
        rate: float | None = None,
        on_retry: Callable[[RetryEvent], None] = lambda _: None,
    ) -> Client:
        """Return what sends the requests of one blog to its service.

        Args:
            base_url: its path, if any, comes before that of every request.
            credentials: sent to this origin only, and kept out of every message; or where they come from.
            timeouts: of each request.
            max_body: the most decompressed bytes of one answer; once parsed it may take three times as many.
            policy: when to try again, and when to give up.
            concurrency: the most requests at a time to this origin.
            rate: the most requests to it per second; ``None`` for no such limit.
            on_retry: is called before each wait.

        Raises:
            UsageError: the base URL or a limit cannot be right.
        """
        base = check_base_url(base_url)
        origin = origin_of(base)
        self._throttles.restrict(origin, concurrency, rate)
        place = printable(base.authority)

        def inside(target: URL) -> URL:
            if target.origin() != base.origin() or target.user is not None or target.password is not None:
                raise RedirectRefused(
                    message(
                        "{place} redirects to another origin, {origin}, which is not followed: "
                        "if that is the service's new home, make it the base URL",
                        place=place,
                        origin=printable(f"{target.scheme}://{target.host}", 100),
                    )
                )
            return target

        source: TokenSource | None = None
        headers: Mapping[str, str] = {}
        if isinstance(credentials, TokenSource):
            source = credentials
        elif credentials.query:
            source = FixedSource(credentials)
        else:
            headers = credentials.headers
        session, direct = self._session(_ANYWHERE), None
        if may_be_taken():
            direct = Direct(session, base.origin(), headers, timeouts.connect)
        sender = Sender(timeouts, Statistics(), place, message(": check the address"), self.statistics)
        watch = ServiceWatch(AiohttpTransport(session, self._deadlines, direct, self._allowance), policy, self._clock)
        self._longest_pauses[origin] = max(policy.longest_pause, self._longest_pauses.get(origin, 0.0))
        throttled: Transport = Throttled(watch, self._throttles)
        retrying = Retrying(
            Redirecting(throttled if source is None else Authorised(throttled, source), inside),
            policy,
            watch,
            self._throttles,
            self._clock,
            redactor=credentials.redactor,
            on_retry=on_retry,
            chance=self._chance,
        )
        return Client(
            self,
            retrying,
            watch,
            base.scheme,
            base.raw_authority,
            base.raw_path.rstrip("/"),
            origin,
            headers,
            MemoryBody(self.budget, max_body),
            sender,
            credentials.advice,
            credentials.token_header,
        )

    def downloader(
        self,
        guard: AddressGuard,
        *,
        timeouts: Timeouts = DOWNLOAD_TIMEOUTS,
        max_bytes: int = 100_000_000,
        policy: RetryPolicy = DOWNLOAD_POLICY,
    ) -> Downloader:
        """Return what reads files from anywhere that the guard lets it.

        A pause that a service wishes is waited for at its own address as for its entries, else as the policy has it.

        Args:
            guard: judges every address, and every connection.
            timeouts: of each request.
            max_bytes: the largest file, decoded.
            policy: when to try again.
        """
        transport = AiohttpTransport(self._session(guard), self._deadlines, allowance=self._allowance)
        watch = HostWatch(_Guarded(transport, guard), policy, self._longest_pauses)
        redirecting = Redirecting(Throttled(watch, self._throttles), lambda target: guard.check(str(target)))
        retrying = Retrying(redirecting, policy, watch, self._throttles, self._clock, chance=self._chance)
        return Downloader(retrying, guard, Sender(timeouts, Statistics(), total=self.statistics), max_bytes)

    def _session(self, guard: AddressGuard) -> aiohttp.ClientSession:
        if guard not in self._sessions:
            connector = aiohttp.TCPConnector(
                limit=0,  # the throttles bound it
                ttl_dns_cache=300,
                use_dns_cache=self._resolver is None,
                resolver=self._resolver,
                socket_factory=guard.socket,
            )
            self._sessions[guard] = aiohttp.ClientSession(
                connector=connector,
                cookie_jar=aiohttp.DummyCookieJar(),
                headers={
                    "User-Agent": f"blog-exporter/{__version__} (+personal blog backup)",
                    "Accept": "application/json",  # downloads say otherwise, and how they are to be encoded
                    "Accept-Encoding": "gzip, deflate",
                },
                auto_decompress=False,
                response_class=SingleTry,
            )
        return self._sessions[guard]


@dataclass(frozen=True, slots=True, repr=False)
class Client:
    """Sends the requests of one blog to its service, with its credentials; made by :meth:`Engine.client`.

    Attributes:
        engine: what it shares with others, and what reads the blog's pictures.
        headers: of every request, the credentials among them, so that nothing may show them.
        advice: what whoever is not authorised can do.
        token_header: the header that carries the token; empty if there is none.
    """

    engine: Engine
    retrying: Retrying
    watch: ServiceWatch
    scheme: str
    authority: str
    prefix: str
    origin: str
    headers: Mapping[str, str]
    body: MemoryBody
    sender: Sender
    advice: str = ""
    token_header: str = ""

    @property
    def statistics(self) -> Statistics:
        """What was sent and received so far."""
        return self.sender.statistics

    @property
    def budget(self) -> MemoryBudget:
        """What all answers take together, also pages that wait for their turn."""
        return self.engine.budget

    async def fetch(
        self,
        request: Request,
        parse: Callable[[Response], T],
        *,
        probe: bool = False,
        once: bool = False,
        recover: Callable[[], Awaitable[T | None]] | None = None,
    ) -> T:
        """Send ``request`` until ``parse`` makes something of the answer.

        Args:
            request: without the credentials; its path starts with a slash.
            parse: is given no answer of a status that another time may not come. It raises a TransportError for what
                another attempt may mend, and any other ServiceError for what it cannot.
            probe: whether this request, once answered, may be sent again to learn whether the service is still alive.
            once: whether it is not sent again, whatever comes.
            recover: for a request that must not be carried out twice: asked before it is sent again, as it may have
                been received although no answer came; returns what it did, ``None`` where it did nothing.

        Raises:
            NotAuthorised, ApiError: as ``parse`` raised them, at once.
            TransportError: the last failure, when retries are used up and the service answers others, or never did.
            ServiceError: nobody got an answer for ``give_up_after`` seconds, or the service wishes a longer pause.
        """
        url = URL.build(
            scheme=self.scheme,
            authority=self.authority,
            path=self.prefix + request.path,
            query_string="&".join(
                [
                    f"{name}={value if value.isascii() and value.isdigit() else _quoted(value)}"
                    for name, value in request.params.items()
                ]
            ),
            encoded=True,
        )
        headers = {**self.headers, **request.headers} if request.headers else self.headers
        sent = HttpRequest(
            url,
            self.origin,
            headers,
            self.body,
            self.sender,
            request.operation,
            method=request.method,
            content=request.content,
            final=request.final,
        )
        objects = self.body.max_bytes * _OBJECTS_FOR_BYTE

        def parsed(response: HttpResponse) -> T:
            return parse(
                Response(response.status, response.headers, response.body, objects, self.advice, self.token_header)
            )

        if once:
            return await self.retrying.attempt(sent, parsed)
        answer = await self.retrying.fetch(sent, parsed, recover)
        if probe:
            self.watch.probe_with(lambda: self.retrying.attempt(sent, parsed))
        return answer


@lru_cache(maxsize=64)
def _quoted(value: str) -> str:
    return quote(value, "", errors="surrogatepass")


@dataclass(frozen=True, slots=True)
class _Guarded:
    """A transport that lets the address guard know which host each request is for."""

    inner: Transport
    guard: AddressGuard

    async def send(self, request: HttpRequest) -> HttpResponse:
        """Send a request; errors are those of the inner transport."""
        with self.guard.asking(request.url):
            return await self.inner.send(request)


@dataclass(frozen=True, slots=True)
class Download:
    """What an address answered: with ``status`` 200 the sink holds the whole file.

    Attributes:
        framed: whether the answer said where its body ends, so that one cut short would have been noticed.
        etag: as sent, like ``last_modified``.
    """

    status: int
    framed: bool = True
    etag: str | None = None
    last_modified: str | None = None


@dataclass(frozen=True, slots=True)
class Downloader:
    """Reads files from anywhere into sinks, following redirects; made by :meth:`Engine.downloader`."""

    retrying: Retrying
    guard: AddressGuard
    sender: Sender
    max_bytes: int

    @property
    def statistics(self) -> Statistics:
        """What was sent and received so far."""
        return self.sender.statistics

    async def read(self, address: str, sink: Sink, *, known: Download | None = None) -> Download:
        """Read a file into the sink, after what the sink holds if that still fits, trying again where that may help.

        A failure is charged to the host that failed, which redirects may have led to; the next attempt starts at the
        beginning again, as they may lead elsewhere by then.

        Args:
            address: absolute, sent as it is written.
            sink: where the file goes.
            known: the answer of an earlier run; a file that is still the same answers 304.

        Returns:
            The last answer: a status of 200, 304 where ``known`` was given, or one that trying again does not change.

        Raises:
            AddressRefused: the guard does not let it through, or what it redirects to.
            TransportError: no whole answer came; the newest reason.
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


def _conditions(known: Download | None) -> Mapping[str, str]:
    if known is None:
        return {}
    pairs = (("If-None-Match", known.etag), ("If-Modified-Since", known.last_modified))
    return {name: value for name, value in pairs if value is not None}
