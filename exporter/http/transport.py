"""Sending one request and reading its answer: the interface that every layer keeps, and its innermost implementation.

The layers, from the outside in, each made from the next one::

    Retrying        sends again where that may help, and is asked by Client and Downloader
      Redirecting   follows redirects, where they may lead
        Authorised  adds a token that may change, and another one where it is refused
          Throttled waits for the turn of the request's host
            ServiceWatch or HostWatch   knows when a service or a host is given up
              AiohttpTransport          one session of aiohttp: the pool of connections
"""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
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
from exporter.http.address_guard import is_refusal, origin_of
from exporter.http.body import Body, BodyStream
from exporter.http.deadline import Deadline, Deadlines, Timeouts
from exporter.http.direct import Direct, DirectAnswer, broken
from exporter.message import message
from exporter.text import printable

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_MAX_REDIRECTS = 5
_NO_CONNECTION: Mapping[type[Exception], str] = {
    aiohttp.ClientConnectorDNSError: message("its name does not resolve"),
    aiohttp.ClientConnectorCertificateError: message("its certificate is not right"),
    aiohttp.ClientConnectorSSLError: message("its TLS is not right"),
    aiohttp.ClientConnectorError: message("nothing answers there"),
}
"""What each means; the more special ones first."""
_NOT_READABLE = (
    aiohttp.ClientPayloadError,
    aiohttp.ClientResponseError,
    http_exceptions.HttpProcessingError,
    ValueError,
)


@dataclass(slots=True)
class Statistics:
    """What was sent, retries and redirects included, and the decoded bytes that were kept of what was received."""

    requests: int = 0
    retries: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class Sender:
    """For whom requests are sent; the same for all of a client's.

    Attributes:
        timeouts: of each request.
        statistics: where each is counted.
        place: how messages name what is asked.
        hint: what they end with where the place may be wrong. Messages without one are archived, so they must not
            depend on the machine.
        total: where the requests of all senders are counted.
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
        url: sent as it is written.
        origin: whose throttle it obeys, as :func:`~exporter.http.address_guard.origin_of` has it.
        headers: beside those that the body wants; credentials may be among them, so that nothing may show them.
        body: where the answer's body goes.
        sender: for whom it is sent.
        name: names it in messages; empty for an address.
        patience: seconds after which nobody waits for the answer any more, whatever the time-outs allow.
        method: anything but ``GET`` changes what is there.
        content: what is sent with it.
        final: statuses that are answers to it, and no reason to send it again.
        on_answer: is called when an answer begins.
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


@dataclass(slots=True)
class HttpResponse:
    """A whole answer of an origin: ``headers`` by lower-case name, and ``body_seconds`` for what came after them."""

    origin: str
    status: int
    headers: Mapping[str, str]
    body: bytes = b""
    body_seconds: float = 0.0

    @property
    def location(self) -> str | None:
        """Where a redirect leads, as sent; ``None`` for any other answer."""
        return self.headers.get("location") if self.status in _REDIRECTS else None


class Transport(Protocol):
    """What sends a request and brings back the answer, whatever its status."""

    async def send(self, request: HttpRequest) -> HttpResponse:
        """Send a request.

        Raises:
            TransportError: no whole answer arrived.
        """


class SingleTry(aiohttp.ClientResponse):
    """Keeps aiohttp from sending a GET again by itself when a kept connection turns out to be closed.

    The second try is left to the layers that count requests and keep the pace.
    """

    async def start(self, connection: Connection) -> aiohttp.ClientResponse:
        """Read the head of the answer."""
        try:
            return await super().start(connection)
        except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
            raise broken(self.host, error) from None


class Allowance:
    """How many requests may still be sent in all, retries and redirects included."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._left = number

    def take(self) -> None:
        """Count a request that is about to be sent.

        Raises:
            HostGivenUp: all of them were sent.
        """
        if not self._left:
            raise HostGivenUp(message("not asked: no more than {number} requests are sent", number=self._number))
        self._left -= 1


@dataclass(frozen=True, slots=True)
class AiohttpTransport:
    """Sends each request once by a session of :class:`SingleTry` that decodes nothing.

    Attributes:
        session: holds the connections.
        deadlines: end what takes too long.
        direct: the short way over the same connections, for what it takes.
        allowance: bounds the requests; ``None`` where nothing does.
    """

    session: aiohttp.ClientSession
    deadlines: Deadlines
    direct: Direct | None = None
    allowance: Allowance | None = None

    async def send(self, request: HttpRequest) -> HttpResponse:
        """Send a request; the body of a redirect is not read.

        Raises:
            NotPublic: the session's address guard does not let the connection through.
            AddressRefused: aiohttp does not take the URL for one.
            Unreachable, ConnectFailed: there is no connection, or it broke.
            RequestTimeout: the read or total time, or the patience, is over.
            BadBody, BodyTooLarge: as the body has it.
            HostGivenUp: the allowance is used up.
        """
        if self.allowance is not None:
            self.allowance.take()
        request.sender.statistics.requests += 1
        request.sender.total.requests += 1
        deadline = self.deadlines.of(request.sender.timeouts, request.patience)
        try:
            with deadline:
                answer = await self._ask(request)
                if request.on_answer is not None:
                    request.on_answer()
                try:
                    return await _received(request, answer, deadline)
                finally:
                    answer.release()
        except (aiohttp.ClientError, http_exceptions.HttpProcessingError, OSError, UnicodeError) as error:
            raise _translated(error, request.sender, deadline) from None

    async def _ask(self, request: HttpRequest) -> aiohttp.ClientResponse | DirectAnswer:
        more = request.body.headers()
        headers = {**request.headers, **more} if more else request.headers
        if self.direct is not None and request.method == "GET":
            head = self.direct.head(request.origin, request.url, headers)
            if head is not None:
                return await self.direct.get(request.url, head)
        timeout = _to_connect(request.sender.timeouts.connect)
        content = None if request.content is None else io.BytesIO(request.content)
        return await self.session.request(
            request.method, request.url, data=content, headers=headers, allow_redirects=False, timeout=timeout
        )


async def _received(
    request: HttpRequest, answer: aiohttp.ClientResponse | DirectAnswer, deadline: Deadline
) -> HttpResponse:
    stream = BodyStream(answer, deadline)
    response = HttpResponse(request.origin, stream.status, stream.headers)
    if response.location is None:
        begun = time.monotonic()
        try:
            response.body = await request.body.receive(stream)
        finally:
            request.sender.statistics.bytes += stream.kept
            request.sender.total.bytes += stream.kept
        response.body_seconds = time.monotonic() - begun
    return response


@lru_cache(maxsize=16)
def _to_connect(seconds: float) -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(total=None, connect=seconds)


def _translated(error: Exception, sender: Sender, deadline: Deadline) -> TransportError:
    """Return what an exception of aiohttp or of the system means."""
    if is_refusal(error):
        return NotPublic(
            message("{place} has no public address, and is only asked with --allow-private-network", place=sender.place)
        )
    connecting = message("cannot connect to {place}", place=sender.place)
    if isinstance(error, aiohttp.ConnectionTimeoutError):
        return Unreachable(
            message(
                "{connecting}: no answer within {seconds:g} s{hint}",
                connecting=connecting,
                seconds=sender.timeouts.connect,
                hint=sender.hint,
            )
        )
    if isinstance(error, TimeoutError):
        return RequestTimeout(
            message("{place} took too long: {what_passed}", place=sender.place, what_passed=deadline.what_passed())
        )
    cause = error.__cause__ if isinstance(error, aiohttp.ClientConnectorError) else None
    detail = f" ({printable(str(cause or error) or type(error).__name__)})" if sender.hint else ""
    for kind, reason in _NO_CONNECTION.items():
        if isinstance(error, kind):
            network = message(" and the network") if sender.hint else ""
            return Unreachable(
                message(
                    "{connecting}: {reason}{detail}{hint}{network}",
                    connecting=connecting,
                    reason=reason,
                    detail=detail,
                    hint=sender.hint,
                    network=network,
                )
            )
    if isinstance(error, aiohttp.InvalidURL | aiohttp.NonHttpUrlClientError):
        return AddressRefused(
            message("{place} has an address that cannot be asked{detail}", place=sender.place, detail=detail)
        )
    if isinstance(error, _NOT_READABLE):
        return BadBody(
            message(
                "{place} sent an answer that was cut short, or is not HTTP{detail}", place=sender.place, detail=detail
            )
        )
    return ConnectFailed(message("the connection to {place} broke{detail}", place=sender.place, detail=detail))


@dataclass(frozen=True, slots=True)
class Redirecting:
    """Follows redirects to where ``admit`` lets it.

    ``admit`` returns the URL to ask for a target, or raises: a TransportError where it must not be asked, a ValueError
    where it is not a URL.
    """

    transport: Transport
    admit: Callable[[URL], URL]

    async def send(self, request: HttpRequest) -> HttpResponse:
        """Send a request, and on to where its answers lead.

        Raises:
            RedirectRefused: they lead to something that is not a URL, or too many times on; or the request is no GET.
            TransportError: as the transport or ``admit`` raised it.
        """
        sender = request.sender
        for _ in range(_MAX_REDIRECTS + 1):
            response = await self.transport.send(request)
            location = response.location
            if location is None:
                return response
            if request.method != "GET":
                raise RedirectRefused(
                    message("{place} redirects what is sent to it{hint}", place=sender.place, hint=sender.hint)
                )
            try:
                encoded = location.isascii() and location.isprintable() and " " not in location
                target = self.admit(request.url.join(URL(location, encoded=encoded)))
            except ValueError:
                text = message(
                    "{place} redirects to something that is not a URL{hint}", place=sender.place, hint=sender.hint
                )
                raise RedirectRefused(text) from None
            request = replace(request, url=target, origin=origin_of(target))
        raise RedirectRefused(
            message(
                "{place} redirects more than {max_redirects} times in a row{hint}",
                place=sender.place,
                max_redirects=_MAX_REDIRECTS,
                hint=sender.hint,
            )
        )
