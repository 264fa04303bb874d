"""What a transport is, and what it brings back. Pure."""

from __future__ import annotations

import asyncio
import io
import re
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from http import HTTPStatus
from typing import Protocol
from urllib.parse import quote

import aiohttp
from aiohttp import http_exceptions
from aiohttp.connector import Connection
from yarl import URL

from exporter import __version__
from exporter.errors import (
    BadBody,
    BlogExporterError,
    BodyTooLarge,
    ConnectFailed,
    RedirectRefused,
    RequestTimeout,
    UsageError,
)
from exporter.http.memory import Budget, Share
from exporter.model.exchange import Response
from exporter.text import printable


class Transport(Protocol):
    """What sends a GET and brings back the whole answer, whatever its status."""

    async def get(self, path: str, params: Mapping[str, str], headers: Mapping[str, str], patience: float) -> Response:
        """Read ``path`` under the base URL; after ``patience`` seconds nobody waits for the answer any more.

        Raises:
            TransportError: no whole answer arrived.
        """

    async def close(self) -> None:
        """Let go of the connections."""


class SingleTry(aiohttp.ClientResponse):
    """Keeps aiohttp from sending a GET again by itself when a kept connection turns out to be closed.

    The second try is left to whoever counts requests and knows the pace.
    """

    async def start(self, connection: Connection) -> aiohttp.ClientResponse:
        """Read the head of the answer."""
        try:
            return await super().start(connection)
        except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
            raise ConnectFailed(f"the connection to {self.host} broke ({printable(str(error))})") from None


_MIB = 1024 * 1024
_CHUNK = 256 * 1024
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_MAX_REDIRECTS = 5
_REFUSAL_KEPT = 64 * 1024
"""Bytes kept of an answer that is no success: it has only a message worth reading."""
_REFUSAL_READ = _MIB
"""Bytes read of one to keep its connection in use; of a longer one the rest is never read."""
_OBJECTS_FOR_BYTE = 3


@dataclass(frozen=True, slots=True)
class TransportOptions:
    """Limits of a transport: seconds, bytes, connections.

    ``read_timeout`` is the longest silence, ``total_timeout`` the longest request. ``max_body`` counts decompressed
    bytes of one answer, ``together`` those of all others that are under way beside the largest one, or wait for their
    turn; once parsed, an answer may take three times ``max_body``. ``pool_size`` 0 means as many connections as there
    are requests at a time, which the throttle bounds.
    """

    connect_timeout: float = 10.0
    read_timeout: float = 30.0
    total_timeout: float = 120.0
    max_body: int = 32 * _MIB
    together: int = 16 * _MIB
    user_agent: str = f"blog-exporter/{__version__} (+personal blog backup)"
    pool_size: int = 0


@lru_cache(maxsize=64)
def _quoted(value: str) -> str:
    return quote(value, "", errors="surrogatepass")


class Unreachable(ConnectFailed):
    """No connection came about: the name does not resolve, nothing listens there, or TLS failed."""


class HttpTransport:
    """One aiohttp session for one base URL; make it inside a running event loop.

    Attributes:
        budget: what all its answers take together.

    Raises:
        UsageError: the base URL cannot be right.
    """

    def __init__(self, base_url: str, options: TransportOptions | None = None) -> None:
        self._base = check_base_url(base_url)
        self._place = printable(self._base.authority)
        self._authority = self._base.raw_authority
        self._prefix = self._base.raw_path.rstrip("/")
        self._options = options or TransportOptions()
        self.budget = Budget(self._options.together)
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=self._options.pool_size, ttl_dns_cache=300),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={
                "User-Agent": self._options.user_agent,
                "Accept": "application/json",
                "Accept-Encoding": "gzip, deflate",
            },
            timeout=aiohttp.ClientTimeout(total=None, connect=self._options.connect_timeout),
            response_class=SingleTry,
        )

    async def get(
        self, path: str, params: Mapping[str, str], headers: Mapping[str, str], patience: float = float("inf")
    ) -> Response:
        """Read ``path`` (which starts with a slash) under the base URL, following redirects inside the origin only.

        Nobody waits longer than ``patience`` seconds, whatever the options allow.

        Raises:
            ConnectFailed: refused, reset, DNS, TLS.
            RequestTimeout: the connect, read or total time, or the patience, is over.
            BadBody: cut short, or not in the encoding it claims.
            BodyTooLarge: more than ``max_body`` bytes.
            RedirectRefused: a redirect to another origin, or more than five.
        """
        url = URL.build(
            scheme=self._base.scheme,
            authority=self._authority,
            path=self._prefix + path,
            query_string="&".join([f"{name}={_quoted(value)}" for name, value in params.items()]),
            encoded=True,
        )
        deadline = _Deadline(self._options, patience)
        try:
            async with deadline.timer:
                return await self._follow(url, headers, deadline)
        except (aiohttp.ClientError, http_exceptions.HttpProcessingError, OSError) as error:
            raise self._translate(error, deadline) from None

    async def close(self) -> None:
        """Close the connections."""
        await self._session.close()

    async def _follow(self, url: URL, headers: Mapping[str, str], deadline: _Deadline) -> Response:
        for _ in range(_MAX_REDIRECTS + 1):
            async with self._session.get(url, headers=headers, allow_redirects=False) as answer:
                if answer.status not in _REDIRECTS or "Location" not in answer.headers:
                    body = await self._read(answer, deadline)
                    fields = {name.lower(): value for name, value in answer.headers.items()}
                    return Response(answer.status, fields, body, self._options.max_body * _OBJECTS_FOR_BYTE)
                url = self._inside(url, answer.headers["Location"])
        raise RedirectRefused(f"{self._place} redirects more than {_MAX_REDIRECTS} times in a row: check the base URL")

    async def _read(self, answer: aiohttp.ClientResponse, deadline: _Deadline) -> bytes:
        """Read the body of an answer; of one that is no success no more than its beginning."""
        success = answer.status == HTTPStatus.OK
        kept = io.BytesIO()  # unlike a list of pieces it hands out what it holds without a second copy
        size = 0
        with self.budget.share() as share:
            while not answer.content.at_eof():
                if size:
                    deadline.postpone()
                chunk = await answer.content.read(_CHUNK)
                size += len(chunk)
                if success:
                    await self._room(share, size, len(chunk), deadline)
                else:
                    chunk = chunk[: max(0, _REFUSAL_KEPT - kept.tell())]
                    if size > _REFUSAL_READ:
                        break
                kept.write(chunk)
        return kept.getvalue()

    async def _room(self, share: Share, size: int, more: int, deadline: _Deadline) -> None:
        """Make sure that the next bytes of a body that has ``size`` with them may be kept."""
        if size > self._options.max_body:
            raise BodyTooLarge(
                f"{self._place} sent more than {self._options.max_body} bytes for one request, which is refused "
                "(the setting max_body)"
            )
        if not share.take(more):
            await deadline.without(share.wait(more))

    def _inside(self, url: URL, location: str) -> URL:
        try:
            ready = location.isascii() and location.isprintable() and " " not in location
            target = url.join(URL(location, encoded=ready))
            shown = printable(f"{target.scheme}://{target.host}", 100)
            inside = target.origin() == self._base.origin() and target.user is None and target.password is None
        except ValueError:
            raise RedirectRefused(
                f"{self._place} redirects to something that is no address: check the base URL"
            ) from None
        if not inside:
            raise RedirectRefused(
                f"{self._place} redirects to another origin, {shown}, which is not followed: "
                "if that is the service's new home, make it the base URL"
            )
        return target

    def _translate(self, error: Exception, deadline: _Deadline) -> BlogExporterError:
        cause = error.__cause__ if isinstance(error, aiohttp.ClientConnectorError) else None
        detail = printable(str(cause or error) or type(error).__name__)
        if isinstance(error, aiohttp.ConnectionTimeoutError):
            return RequestTimeout(
                f"no connection to {self._place} within {self._options.connect_timeout:g} s: check the base URL"
            )
        if isinstance(error, TimeoutError):
            return RequestTimeout(f"{self._place} took too long: {deadline.what_passed()}")
        if isinstance(error, aiohttp.ClientConnectorError):
            return Unreachable(f"cannot connect to {self._place} ({detail}): check the base URL and the network")
        if isinstance(error, aiohttp.InvalidURL | aiohttp.NonHttpUrlClientError):
            return UsageError(f"{self._place}: not an address that can be read ({detail}): check the base URL")
        if isinstance(
            error, aiohttp.ClientPayloadError | aiohttp.ClientResponseError | http_exceptions.HttpProcessingError
        ):
            return BadBody(f"{self._place} sent an answer that cannot be read ({detail})")
        return ConnectFailed(f"the connection to {self._place} broke ({detail})")


class _Deadline:
    """One timer for both limits of a request: the silence between two pieces, and the whole.

    aiohttp's own read timeout sets and clears several timers for every request, which costs a tenth of it.
    """

    __slots__ = ("_end", "_last", "_limit", "_loop", "_options", "timer")

    def __init__(self, options: TransportOptions, patience: float) -> None:
        self._options = options
        self._loop = asyncio.get_running_loop()
        now = self._loop.time()
        self._limit = min(options.total_timeout, patience)
        self._last = now + patience
        self._end = now + self._limit
        self.timer = asyncio.timeout_at(min(now + options.read_timeout, self._end))

    def postpone(self) -> None:
        """Start the silence anew: a piece arrived."""
        self.timer.reschedule(min(self._loop.time() + self._options.read_timeout, self._end))

    async def without(self, waiting: Awaitable[None]) -> None:
        """Wait for something that is no fault of the service: only the patience runs on meanwhile."""
        since = self._loop.time()
        self.timer.reschedule(self._last if self._last < float("inf") else None)
        await waiting
        self._end = min(self._end + self._loop.time() - since, self._last)
        self.postpone()

    def what_passed(self) -> str:
        """Say which of the limits it was."""
        if self._loop.time() >= self._end:
            return f"not done within {self._limit:.3g} s"
        return f"silent for {self._options.read_timeout:g} s"


def check_base_url(text: str) -> URL:
    """Return the base URL parsed; its path, if any, stands before every operation's path.

    Raises:
        UsageError: it is not http or https, has no host, holds a user name, a query or a fragment, or is no URL. A
            URL that may hold a password is not shown, and of any other nothing from its query on, where tokens stand.
    """
    if "@" in text:
        raise UsageError("the base URL must not hold a user name or password: give a token in BLOG_EXPORTER_TOKEN")
    shown = printable(re.split(r"[?#]", text, maxsplit=1)[0], 200)
    if not text.isprintable() or "\\" in text or " " in text:
        raise UsageError(f"the base URL holds characters that no address has: {shown}")
    try:
        url = URL(text)
        (url.raw_host or "").encode("idna")  # what the name lookup does, where its complaint would be no OSError
    except ValueError as error:
        raise UsageError(f"the base URL is no address: {shown} ({printable(str(error))})") from None
    if url.scheme not in {"http", "https"} or not url.host:
        raise UsageError(f"the base URL must look like https://HOST, not {shown}")
    if url.raw_query_string or url.raw_fragment or text.endswith(("?", "#")):
        raise UsageError(
            f"the base URL must end with its path, without ? or #: {shown}; give a token in BLOG_EXPORTER_TOKEN"
        )
    return url
