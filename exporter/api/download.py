"""Reading files from anywhere on the web, as a stranger: no credentials, no cookies, no Referer, no proxy.

A file goes piece by piece into a sink, so that its size costs no memory. One call asks one address once; redirects are
handed back, so that each hop passes the guard and the pace of its own host.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, replace
from typing import Protocol

import aiohttp
from aiohttp import http_exceptions
from aiohttp.abc import AbstractResolver
from yarl import URL

from exporter import __version__
from exporter.api.guard import AddressGuard, AddressRefused, NotPublic, is_refusal
from exporter.api.inflate import Identity, decoder
from exporter.api.once import SingleTry
from exporter.api.transport import Unreachable
from exporter.errors import BadBody, BlogExporterError, BodyTooLarge, ConnectFailed, RedirectRefused, RequestTimeout
from exporter.printable import printable

_PIECE = 256 * 1024
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
