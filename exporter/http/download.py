"""Taking bodies out of the encodings of RFC 9110, section 8.4.1, a bounded piece at a time. Pure."""

from __future__ import annotations

import asyncio
import random
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Protocol
from urllib.parse import urlsplit

import aiohttp
from aiohttp import http_exceptions
from aiohttp.abc import AbstractResolver
from yarl import URL

from exporter import __version__
from exporter.clock import Clock
from exporter.errors import (
    BadBody,
    BlogExporterError,
    BodyTooLarge,
    ConnectFailed,
    RedirectRefused,
    RequestTimeout,
    RetryableStatus,
    TransportError,
)
from exporter.http.address_guard import AddressGuard, AddressRefused, NotPublic, is_refusal
from exporter.http.retry import RetryPolicy, seconds_to_wait
from exporter.http.throttle import Throttle
from exporter.http.transport import SingleTry, Unreachable
from exporter.text import printable

_PIECE = 256 * 1024
_EITHER = 47  # zlib's code for a gzip or a zlib header, whichever is there
_BARE = -15


class Identity:
    """No encoding."""

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield what the bytes stand for."""
        yield data

    def end(self) -> None:
        """Say that nothing follows."""


class Inflate:
    """``gzip`` and ``deflate``, the latter also without the header it should have."""

    def __init__(self) -> None:
        self._inflater = zlib.decompressobj(_EITHER)
        self._begun = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield what the bytes stand for, never more than 256 KiB at once.

        Raises:
            BadBody: they are not in this encoding.
        """
        try:
            yield from self._pieces(data)
        except zlib.error:
            if self._begun:
                raise BadBody("the answer is not in the encoding it claims") from None
            self._inflater, self._begun = zlib.decompressobj(_BARE), True
            yield from self.feed(data)

    def end(self) -> None:
        """Say that nothing follows.

        Raises:
            BadBody: something should.
        """
        if not self._inflater.eof:
            raise BadBody("the answer's compressed body is cut short")

    def _pieces(self, data: bytes) -> Iterator[bytes]:
        while data and not self._inflater.eof:
            piece = self._inflater.decompress(data, _PIECE)
            self._begun = True
            data = self._inflater.unconsumed_tail
            if piece:
                yield piece


def decoder(encoding: str) -> Identity | Inflate:
    """Return what reads a ``Content-Encoding``.

    Raises:
        BadBody: it is one that was not asked for and cannot be read.
    """
    name = encoding.strip().lower()
    if name in {"", "identity"}:
        return Identity()
    if name in {"gzip", "x-gzip", "deflate"}:
        return Inflate()
    raise BadBody("the answer is in an encoding that cannot be read")


Resolver = AbstractResolver
"""What looks up the addresses of a name."""
_OK, _PARTIAL, _UNSATISFIABLE = 200, 206, 416
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_CONTENT_RANGE = re.compile(r"bytes ([0-9]{1,18})-([0-9]{1,18})/(?:([0-9]{1,18})|\*)")


@dataclass(frozen=True, slots=True)
class DownloadLimits:
    """Limits of a download, in seconds and decoded bytes; ``read_timeout`` is the longest silence."""

    connect_timeout: float = 10.0
    read_timeout: float = 30.0
    total_timeout: float = 600.0
    max_bytes: int = 100_000_000
    user_agent: str = f"blog-exporter/{__version__} (+personal blog backup)"


class Sink(Protocol):
    """Where a file goes; it may hold the beginning of the file already.

    Attributes:
        size: the bytes it holds.
        validator: the ``ETag`` or ``Last-Modified`` of the file they belong to, ``None`` where they cannot be used.
    """

    size: int
    validator: str | None

    def restart(self, validator: str | None, length: int | None) -> None:
        """Forget everything; what comes now has this validator and, where known, this many bytes."""

    def write(self, data: bytes) -> None:
        """Append bytes."""


@dataclass(frozen=True, slots=True)
class Download:
    """What an address answered.

    Attributes:
        status: the HTTP status; the sink holds the whole file when it is 200.
        location: where a redirect leads, absolute.
        content_type: the media type as claimed, lower case, without parameters.
        framed: whether the answer said where its body ends, so that one cut short would have been noticed.
        etag: as sent; ``None`` where it was not.
        last_modified: the same.
        retry_after: the ``Retry-After`` as sent.
        date: the ``Date`` as sent.
        body_seconds: how long the body took after the head was there.
    """

    status: int
    location: str | None = None
    content_type: str = ""
    framed: bool = True
    etag: str | None = None
    last_modified: str | None = None
    retry_after: str | None = None
    date: str | None = None
    body_seconds: float = 0.0


class Downloader:
    """One aiohttp session for the whole web; make it inside a running event loop.

    ``resolver`` stands in for the system's name lookup; it is asked for every connection, and the guard judges what it
    says.
    """

    def __init__(self, limits: DownloadLimits, guard: AddressGuard, *, resolver: Resolver | None = None) -> None:
        self._limits = limits
        self._guard = guard
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=0, socket_factory=guard.socket, resolver=resolver, use_dns_cache=resolver is None
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"User-Agent": limits.user_agent, "Accept": "*/*", "Accept-Encoding": "identity"},
            timeout=aiohttp.ClientTimeout(total=None, connect=limits.connect_timeout),
            auto_decompress=False,
            trust_env=False,
            response_class=SingleTry,
        )

    async def get(self, address: str, sink: Sink, *, known: Download | None = None) -> Download:
        """Ask an address once; a body of status 200 goes into the sink, after what the sink holds if that still fits.

        Args:
            address: absolute, sent as it is written.
            sink: where the file goes.
            known: the answer of an earlier run; a file that is still the same answers 304.

        Raises:
            AddressRefused, NotPublic: the guard does not let it through.
            RedirectRefused: it redirects to something that is no address.
            Unreachable: no connection came about.
            ConnectFailed: it broke.
            RequestTimeout: the connect, read or total time is over.
            BadBody: cut short, or not in the encoding it claims; the sink holds what can be gone on with.
            BodyTooLarge: more than ``max_bytes``.
        """
        url = self._guard.check(address)
        deadline = _Deadline(self._limits)
        try:
            async with deadline.timer:
                return await self._ask(url, sink, known, deadline)
        except (aiohttp.ClientError, http_exceptions.HttpProcessingError, OSError, UnicodeError) as error:
            raise self._translate(error) from None

    async def close(self) -> None:
        """Close the connections."""
        await self._session.close()

    async def _ask(self, url: URL, sink: Sink, known: Download | None, deadline: _Deadline) -> Download:
        headers = _conditions(sink, known)
        async with self._session.get(url, headers=headers, allow_redirects=False) as answer:
            said = answer.headers
            found = Download(
                answer.status,
                location=_target(url, said["Location"]) if answer.status in _REDIRECTS and "Location" in said else None,
                content_type=said.get("Content-Type", "").split(";")[0].strip().lower(),
                framed="Content-Length" in said or "chunked" in said.get("Transfer-Encoding", "").lower(),
                etag=said.get("ETag"),
                last_modified=said.get("Last-Modified"),
                retry_after=said.get("Retry-After"),
                date=said.get("Date"),
            )
            if answer.status == _UNSATISFIABLE and sink.size:
                sink.restart(None, None)
                raise BadBody("the server could not go on where the file was cut short")
            started = deadline.now()
            if answer.status == _PARTIAL and "Range" in headers:
                await self._resume(answer, sink, deadline)
                found = replace(found, status=_OK)
            elif answer.status == _OK:
                encoded = not isinstance(decoder(said.get("Content-Encoding", "")), Identity)
                sink.restart(None if encoded else _strong(found), self._length(answer))
                await self._read(answer, sink, deadline)
            return replace(found, body_seconds=deadline.now() - started)

    async def _resume(self, answer: aiohttp.ClientResponse, sink: Sink, deadline: _Deadline) -> None:
        part = _CONTENT_RANGE.fullmatch(answer.headers.get("Content-Range", "").strip())
        if part is None or int(part[1]) != sink.size or "Content-Encoding" in answer.headers:
            sink.restart(None, None)
            raise BadBody("the server went on at another place than the file was cut short at")
        await self._read(answer, sink, deadline)
        if part[3] and sink.size != int(part[3]):
            raise BadBody("the rest of the file was cut short")

    def _length(self, answer: aiohttp.ClientResponse) -> int | None:
        length = answer.content_length
        if length is not None and length > self._limits.max_bytes:
            raise self._too_large()
        return length

    async def _read(self, answer: aiohttp.ClientResponse, sink: Sink, deadline: _Deadline) -> None:
        decoding = decoder(answer.headers.get("Content-Encoding", ""))
        while not answer.content.at_eof():
            deadline.postpone()
            for piece in decoding.feed(await answer.content.read(_PIECE)):
                if sink.size + len(piece) > self._limits.max_bytes:
                    raise self._too_large()
                sink.write(piece)
        decoding.end()

    def _too_large(self) -> BodyTooLarge:
        return BodyTooLarge(f"it is larger than {self._limits.max_bytes} bytes (--max-asset-size)")

    def _translate(self, error: Exception) -> BlogExporterError:
        if is_refusal(error):
            return NotPublic("its host is no public address, and is not asked without --allow-private-network")
        if isinstance(error, aiohttp.InvalidURL | aiohttp.NonHttpUrlClientError):
            return AddressRefused("this is no address that can be asked")
        if isinstance(error, aiohttp.ConnectionTimeoutError):
            return Unreachable(f"no connection within {self._limits.connect_timeout:g} s")
        if isinstance(error, TimeoutError):
            return RequestTimeout(
                f"silent for {self._limits.read_timeout:g} s, or not done within {self._limits.total_timeout:g} s"
            )
        if isinstance(error, aiohttp.ClientConnectorDNSError):
            return Unreachable("the name of its host does not resolve")
        if isinstance(error, aiohttp.ClientConnectorCertificateError | aiohttp.ClientConnectorSSLError):
            return Unreachable("no secure connection came about: its certificate or its TLS is not right")
        if isinstance(error, aiohttp.ClientConnectorError):
            return Unreachable("its host cannot be connected to")
        if isinstance(
            error,
            aiohttp.ClientPayloadError | aiohttp.ClientResponseError | http_exceptions.HttpProcessingError | ValueError,
        ):
            return BadBody("the answer was cut short, or is not HTTP")
        return ConnectFailed(f"the connection broke ({printable(type(error).__name__)})")


class _Deadline:
    """One timer for the silence between two pieces and for the whole."""

    def __init__(self, limits: DownloadLimits) -> None:
        self._limits = limits
        self._loop = asyncio.get_running_loop()
        now = self._loop.time()
        self._end = now + limits.total_timeout
        self.timer = asyncio.timeout_at(min(now + limits.read_timeout + limits.connect_timeout, self._end))

    def now(self) -> float:
        """Return the event loop's seconds."""
        return self._loop.time()

    def postpone(self) -> None:
        """Start the silence anew."""
        self.timer.reschedule(min(self.now() + self._limits.read_timeout, self._end))


def _conditions(sink: Sink, known: Download | None) -> dict[str, str]:
    if sink.size and sink.validator is not None:
        return {"Range": f"bytes={sink.size}-", "If-Range": sink.validator}
    headers = {}
    if known is not None and known.etag is not None:
        headers["If-None-Match"] = known.etag
    if known is not None and known.last_modified is not None:
        headers["If-Modified-Since"] = known.last_modified
    return headers


def _strong(found: Download) -> str | None:
    """Return what a later request may resume by: a weak tag does not promise the same bytes (RFC 9110, 13.1.5)."""
    if found.etag is not None:
        return None if found.etag.startswith("W/") else found.etag
    return found.last_modified


def _target(url: URL, location: str) -> str:
    try:
        ready = location.isascii() and location.isprintable() and " " not in location
        return str(url.join(URL(location, encoded=ready)))
    except ValueError:
        raise RedirectRefused("it redirects to something that is no address") from None


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
    """Reads files through a :class:`~exporter.http.download.Downloader`, following redirects hop by hop.

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
