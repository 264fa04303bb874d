"""Sending one request and reading its answer: the interface of all layers, and the innermost implementations.

The layers from the outside in, each built on the next one::

    Retrying        repeats requests that may succeed later; called by Client and Downloader
      Redirecting   follows permitted redirects
        Authorised  adds a token that may change, and repeats a refused request with a new one
          Throttled waits until the request's host may be asked
            ServiceWatch or HostWatch   decides when to give up a service or a host
              AiohttpTransport          sends the request with one aiohttp session and its connection pool
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import io
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

import aiohttp
from aiohttp import http_exceptions
from aiohttp.connector import Connection
from yarl import URL

from exporter.errors import (
    AddressRefused,
    BadBody,
    ConnectFailed,
    HostGivenUp,
    NotPublic,
    RedirectRefused,
    RequestTimeout,
    TransportError,
    Unreachable,
)
from exporter.frozen import frozen
from exporter.http.address_guard import AddressGuard, is_refusal, origin_of
from exporter.http.body import Body, BodyStream
from exporter.http.credentials import Credentials, TokenSource
from exporter.http.deadline import Deadline, Timeouts
from exporter.http.wire import AnswerStore, Cut, Record, WireExchange, exchange_of, recorded, spooled
from exporter.message import message
from exporter.text import printable

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_MAX_REDIRECTS = 5
_UNAUTHORISED = 401
_REFUSED = frozenset({errno.ECONNREFUSED, getattr(errno, "WSAECONNREFUSED", errno.ECONNREFUSED)})
_NO_CONNECTION: Mapping[type[Exception], str] = {
    aiohttp.ClientConnectorDNSError: message("its name does not resolve"),
    aiohttp.ClientConnectorCertificateError: message("its certificate is not right"),
    aiohttp.ClientConnectorSSLError: message("its TLS is not right"),
    aiohttp.ClientConnectorError: message("nothing answers there"),
}
"""The meaning of each exception, subclasses before their base classes."""
_NOT_READABLE = (
    aiohttp.ClientPayloadError,
    aiohttp.ClientResponseError,
    http_exceptions.HttpProcessingError,
    ValueError,
)


@dataclass(slots=True)
class Statistics:
    """Counts of requests sent, retries and redirects included, and of decoded bytes kept."""

    requests: int = 0
    retries: int = 0
    bytes: int = 0


@frozen
class Sender:
    """The client that requests are sent for; the same object for all its requests.

    Attributes:
        timeouts: of each request.
        statistics: counts its requests.
        place: the name of the host or service in messages.
        hint: the end of messages about an address that may be wrong. Messages without a hint are archived, so they
            must not depend on the machine.
        total: counts the requests of all senders.
    """

    timeouts: Timeouts
    statistics: Statistics
    place: str = message("its host")
    hint: str = ""
    total: Statistics = field(default_factory=Statistics)


@dataclass(slots=True, repr=False)
class HttpRequest:
    """A request, nearly always a GET.

    Attributes:
        url: sent exactly as written.
        origin: the host whose throttle applies, as returned by :func:`~exporter.http.address_guard.origin_of`.
        headers: sent in addition to those of the body; they may hold credentials and must never be shown.
        body: the destination of the answer's body.
        sender: the client that it is sent for.
        name: its name in messages; empty for an address.
        patience: seconds after which the answer is no longer needed, even if the timeouts allow more.
        method: any method other than ``GET`` changes data on the server.
        content: the request's body.
        final: error statuses that are answers and no reason to send the request again.
        on_answer: is called when an answer begins.
        sign: returns further headers for this method and URL, each time that the request is sent.
        record: receives the exact bytes of each attempt whose answer has a head; the session must record.
        store: makes the file for the bytes of each recorded answer.
    """

    url: URL
    origin: str
    headers: Mapping[str, str]
    body: Body
    sender: Sender
    name: str = ""
    patience: float = float("inf")
    method: str = "GET"
    content: bytes | None = None
    final: frozenset[int] = frozenset()
    on_answer: Callable[[], None] | None = None
    sign: Callable[[str, str], dict[str, str]] | None = None
    record: Record | None = None
    store: AnswerStore = spooled


@dataclass(slots=True)
class HttpResponse:
    """A complete answer: ``headers`` by lower-case name, and in ``body_seconds`` the time that its body took."""

    origin: str
    status: int
    headers: Mapping[str, str]
    body: bytes = b""
    body_seconds: float = 0.0

    @property
    def location(self) -> str | None:
        """A redirect's target as sent; ``None`` for any other answer."""
        return self.headers.get("location") if self.status in _REDIRECTS else None


class Transport(Protocol):
    """Sends requests and returns their answers, with any status."""

    async def send(self, request: HttpRequest) -> HttpResponse:
        """Send a request.

        Raises:
            TransportError: no complete answer arrived.
        """


class SingleTry(aiohttp.ClientResponse):
    """Prevents aiohttp from repeating a GET automatically when a reused connection turns out to be closed.

    Only the layers that count and throttle requests may send a request again.
    """

    exchange: WireExchange | None = None

    async def start(self, connection: Connection) -> aiohttp.ClientResponse:
        """Read the head of the answer."""
        self.exchange = exchange_of(connection)
        try:
            return await super().start(connection)
        except BaseException as error:
            if self.exchange is not None:
                self.exchange.close()
            if not isinstance(error, aiohttp.ClientOSError | aiohttp.ServerDisconnectedError):
                raise
            raise ConnectFailed(
                "the connection to {host} broke ({error})", host=self.host, error=printable(str(error))
            ) from None


class Allowance:
    """The number of requests that may still be sent in total, retries and redirects included."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._left = number

    def take(self) -> None:
        """Count a request that is about to be sent.

        Raises:
            HostGivenUp: the number is used up.
        """
        if not self._left:
            raise HostGivenUp("not asked: no more than {number} requests are sent", number=self._number)
        self._left -= 1


@frozen
class AiohttpTransport:
    """Sends each request once with a session of :class:`SingleTry` that decodes nothing.

    Attributes:
        session: holds the connections, which ``guard`` restricts.
        allowance: limits the total number of requests; ``None`` for no limit.
    """

    session: aiohttp.ClientSession
    guard: AddressGuard
    allowance: Allowance | None = None

    async def send(self, request: HttpRequest) -> HttpResponse:
        """Send a request; the body of a redirect is only read to record it.

        Raises:
            NotPublic: the session's address guard refuses the connection.
            AddressRefused: aiohttp does not accept the URL.
            Unreachable, ConnectFailed: there is no connection, or it broke.
            RequestTimeout: the read or total timeout, or the patience, has passed.
            BadBody, BodyTooLarge: raised by the body.
            HostGivenUp: the allowance is used up.
        """
        if self.allowance is not None:
            self.allowance.take()
        request.sender.statistics.requests += 1
        request.sender.total.requests += 1
        deadline = Deadline(request.sender.timeouts, request.patience)
        exchange: WireExchange | None = None
        try:
            async with deadline.timeout:
                answer = await self._ask(request)
                exchange = answer.exchange if request.record is not None and isinstance(answer, SingleTry) else None
                if request.on_answer is not None:
                    request.on_answer()
                try:
                    return await _received(request, answer, deadline)
                finally:
                    if exchange is not None and not answer.content.is_eof():
                        exchange.cut = Cut.LENGTH if answer.content.exception() is None else Cut.DISCONNECT
                    answer.release()
        except (aiohttp.ClientError, http_exceptions.HttpProcessingError, OSError, UnicodeError) as error:
            if exchange is not None and exchange.cut is not None and isinstance(error, TimeoutError):
                exchange.cut = Cut.TIME
            raise _translated(error, request.sender, deadline) from None
        except asyncio.CancelledError:
            if exchange is not None:
                exchange.close()
            exchange = None
            raise
        finally:
            if exchange is not None and request.record is not None:
                await request.record(exchange)

    async def _ask(self, request: HttpRequest) -> aiohttp.ClientResponse:
        signed = request.sign(request.method, str(request.url)) if request.sign is not None else {}
        headers = {**request.headers, **signed, **request.body.headers()}
        timeout = aiohttp.ClientTimeout(total=None, connect=request.sender.timeouts.connect)
        content = None if request.content is None else io.BytesIO(request.content)
        recording = contextlib.nullcontext() if request.record is None else recorded(request.store)
        with self.guard.asking(request.url), recording:
            return await self.session.request(
                request.method, request.url, data=content, headers=headers, allow_redirects=False, timeout=timeout
            )


async def _received(request: HttpRequest, answer: aiohttp.ClientResponse, deadline: Deadline) -> HttpResponse:
    stream = BodyStream(answer, deadline)
    response = HttpResponse(request.origin, stream.status, stream.headers)
    if response.location is None or request.record is not None:
        begun = time.monotonic()
        try:
            response.body = await request.body.receive(stream)
        except BadBody:
            if response.location is None:  # the body of a redirect says nothing
                raise
        finally:
            request.sender.statistics.bytes += stream.kept
            request.sender.total.bytes += stream.kept
        response.body_seconds = time.monotonic() - begun
    return response


def _translated(error: Exception, sender: Sender, deadline: Deadline) -> TransportError:
    """Return the error for an exception of aiohttp or of the system."""
    if is_refusal(error):
        return NotPublic(
            "{place} has no public address, and is only asked with --allow-private-network", place=sender.place
        )
    cause = error.__cause__ if isinstance(error, aiohttp.ClientConnectorError) else None
    detail = f" ({printable(str(cause or error) or type(error).__name__)})" if sender.hint else ""
    reason = next((reason for kind, reason in _NO_CONNECTION.items() if isinstance(error, kind)), None)
    if isinstance(error, aiohttp.ConnectionTimeoutError):
        reason, detail = message("no answer within {seconds:g} s", seconds=sender.timeouts.connect), ""
    elif isinstance(error, TimeoutError):
        return RequestTimeout(
            "{place} took too long: {what_passed}", place=sender.place, what_passed=deadline.exceeded()
        )
    if reason is not None:
        failed = Unreachable(
            "cannot connect to {place}: {reason}{detail}{hint}",
            place=sender.place,
            reason=reason,
            detail=detail,
            hint=sender.hint,
        )
        failed.refused = isinstance(error, OSError) and error.errno in _REFUSED
        return failed
    if isinstance(error, aiohttp.InvalidURL | aiohttp.NonHttpUrlClientError):
        return AddressRefused("{place} has an address that cannot be asked{detail}", place=sender.place, detail=detail)
    if isinstance(error, _NOT_READABLE):
        return BadBody(
            "{place} sent an answer that was cut short, or is not HTTP{detail}", place=sender.place, detail=detail
        )
    return ConnectFailed("the connection to {place} broke{detail}", place=sender.place, detail=detail)


@frozen
class Authorised:
    """Adds the credentials of its source to each request; all requests must go to the service's own origin."""

    transport: Transport
    source: TokenSource

    async def send(self, request: HttpRequest) -> HttpResponse:
        """Send a request; if its credentials are refused, send it once more with new ones (RFC 6750, section 3).

        Raises:
            ServiceError: there are no credentials any more.
            TransportError: raised by the transport.
        """
        credentials = await self.source.credentials()
        response = await self.transport.send(_with_credentials(request, credentials))
        if response.status != _UNAUTHORISED:
            return response
        renewed = await self.source.renewed(credentials)
        return response if renewed is None else await self.transport.send(_with_credentials(request, renewed))


def _with_credentials(request: HttpRequest, credentials: Credentials) -> HttpRequest:
    if credentials.signer is not None:
        # Signed when it is sent: a signature is valid for minutes, and a throttled request may wait longer.
        return replace(request, sign=credentials.signer.headers)
    headers = {**request.headers, **credentials.headers}
    parameter = credentials.parameter
    if not parameter:
        return replace(request, headers=headers)
    joint = "&" if request.url.raw_query_string else "?"
    address, _, fragment = str(request.url).partition("#")
    asked = f"{address}{joint}{parameter}" + (f"#{fragment}" if fragment else "")
    return replace(request, headers=headers, url=URL(asked, encoded=True))


@frozen
class Redirecting:
    """Follows redirects to the targets that ``admit`` permits.

    ``admit`` returns the URL to request for a target. It raises a TransportError if the target is not permitted, and a
    ValueError if it is not a URL.
    """

    transport: Transport
    admit: Callable[[URL], URL]

    async def send(self, request: HttpRequest) -> HttpResponse:
        """Send a request and follow its redirects.

        Raises:
            RedirectRefused: a target is not a URL, there are too many redirects, or the request is not a GET.
            TransportError: raised by the transport or ``admit``.
        """
        sender = request.sender
        for _ in range(_MAX_REDIRECTS + 1):
            response = await self.transport.send(request)
            location = response.location
            if location is None:
                return response
            if request.method != "GET":
                raise _redirect_refused(sender, message("redirects what is sent to it"))
            try:
                encoded = location.isascii() and location.isprintable() and " " not in location
                target = self.admit(request.url.join(URL(location, encoded=encoded)))
            except RedirectRefused as error:
                error.status = response.status
                raise
            except ValueError:
                raise _redirect_refused(sender, message("redirects to something that is not a URL")) from None
            request = replace(request, url=target, origin=origin_of(target))
        too_often = message("redirects more than {max_redirects} times in a row", max_redirects=_MAX_REDIRECTS)
        raise _redirect_refused(sender, too_often)


def _redirect_refused(sender: Sender, what: str) -> RedirectRefused:
    return RedirectRefused("{place} {what}{hint}", place=sender.place, what=what, hint=sender.hint)
