"""Sending one GET and reading its answer: the interface that every layer keeps, and its innermost implementation.

The layers, from the outside in, each made from the next one::

    Retrying        sends again where that may help, and is asked by Client and Downloader
      Redirecting   follows redirects, where they may lead
        Throttled   waits for the turn of the request's host
          ServiceWatch or HostWatch   knows when a service or a host is given up
            AiohttpTransport          one session of aiohttp: the pool of connections
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
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
    NotPublic,
    RedirectRefused,
    RequestTimeout,
    TransportError,
    Unreachable,
)
from exporter.http.address_guard import is_refusal
from exporter.http.body import Body, BodyStream, Deadline, Timeouts
from exporter.text import printable

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_MAX_REDIRECTS = 5


@dataclass(slots=True)
class Statistics:
    """What was sent and received so far.

    Attributes:
        requests: all that were sent, those of retries and redirects too.
        retries: attempts that repeat a failed one.
        bytes: the length of what was kept of bodies, decoded.
        waited: the sum of all waits between attempts, in seconds.
    """

    requests: int = 0
    retries: int = 0
    bytes: int = 0
    waited: float = 0.0

    def __add__(self, other: Statistics) -> Statistics:
        """Return the sum."""
        return Statistics(
            self.requests + other.requests,
            self.retries + other.retries,
            self.bytes + other.bytes,
            self.waited + other.waited,
        )


@dataclass(frozen=True, slots=True)
class Sender:
    """For whom requests are sent; the same for all of a client's.

    Attributes:
        timeouts: of each request.
        statistics: where each is counted.
        place: how messages name the service; ``None`` where they stand beside the address that they are about, and
            are kept, so that they must not depend on the machine.
    """

    timeouts: Timeouts
    statistics: Statistics
    place: str | None = None

    @property
    def it(self) -> str:
        """The service or the address, for the beginning of a message."""
        return self.place or "it"

    @property
    def host(self) -> str:
        """The service or the address's host, for the middle of a message."""
        return self.place or "its host"

    def advice(self, text: str) -> str:
        """Return what only somebody who configured a service can do."""
        return f": {text}" if self.place else ""


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A GET.

    Attributes:
        url: sent as it is written.
        headers: beside those that the body wants.
        body: where the answer's body goes.
        sender: for whom it is sent.
        name: names it in messages; empty for an address.
        patience: seconds after which nobody waits for the answer any more, whatever the time-outs allow.
    """

    url: URL
    headers: Mapping[str, str]
    body: Body
    sender: Sender
    name: str = ""
    patience: float = float("inf")


@dataclass(slots=True)
class HttpResponse:
    """A whole answer.

    Attributes:
        url: what answered.
        status: the HTTP status.
        headers: by lower-case name; of a repeated header the last.
        body: what the request's body handed back.
        body_seconds: how long that took after the head was there.
    """

    url: URL
    status: int
    headers: Mapping[str, str]
    body: bytes = b""
    body_seconds: float = 0.0

    @property
    def location(self) -> str | None:
        """Where a redirect leads, as sent; ``None`` for any other answer."""
        return self.headers.get("location") if self.status in _REDIRECTS else None


class Transport(Protocol):
    """What sends a GET and brings back the answer, whatever its status."""

    async def send(self, request: HttpRequest) -> HttpResponse:
        """Send a request.

        Raises:
            TransportError: no whole answer arrived.
        """


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


class AiohttpTransport:
    """Sends each request once through a session, which must make its answers of :class:`SingleTry` and not decode.

    Raises:
        NotPublic: the session's address guard does not let the connection through.
        AddressRefused: aiohttp does not take the URL for one.
        Unreachable: there is no connection.
        ConnectFailed: it broke.
        RequestTimeout: the read or total time, or the patience, is over.
        BadBody: cut short, or not in the encoding it claims.
        BodyTooLarge: more than the body takes.
    """

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session

    async def send(self, request: HttpRequest) -> HttpResponse:
        """Send a request; the body of a redirect is not read."""
        request.sender.statistics.requests += 1
        deadline = Deadline(request.sender.timeouts, request.patience)
        try:
            async with deadline.timer:
                return await self._exchange(request, deadline)
        except (aiohttp.ClientError, http_exceptions.HttpProcessingError, OSError, UnicodeError) as error:
            raise _translated(error, request.sender, deadline) from None

    async def _exchange(self, request: HttpRequest, deadline: Deadline) -> HttpResponse:
        headers = {**request.headers, **request.body.headers()}
        timeout = _to_connect(request.sender.timeouts.connect)
        async with self._session.get(request.url, headers=headers, allow_redirects=False, timeout=timeout) as answer:
            stream = BodyStream(answer, deadline)
            response = HttpResponse(request.url, stream.status, stream.headers)
            if response.location is None:
                try:
                    response.body = await request.body.receive(stream)
                finally:
                    request.sender.statistics.bytes += stream.kept
                response.body_seconds = stream.seconds
            return response


@lru_cache(maxsize=16)
def _to_connect(seconds: float) -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(total=None, connect=seconds)


def _translated(error: Exception, sender: Sender, deadline: Deadline) -> TransportError:
    """Return what an exception of aiohttp or of the system means."""
    if is_refusal(error):
        return NotPublic(f"{sender.host} is no public address, and is not asked without --allow-private-network")
    connecting = f"cannot connect to {sender.host}"
    if isinstance(error, aiohttp.ConnectionTimeoutError):
        reason = f"no answer within {sender.timeouts.connect:g} s"
        return Unreachable(f"{connecting}: {reason}{sender.advice('check the base URL')}")
    if isinstance(error, TimeoutError):
        return RequestTimeout(f"{sender.it} took too long: {deadline.what_passed()}")
    cause = error.__cause__ if isinstance(error, aiohttp.ClientConnectorError) else None
    detail = f" ({printable(str(cause or error) or type(error).__name__)})" if sender.place else ""
    if isinstance(error, aiohttp.ClientConnectorError):
        if isinstance(error, aiohttp.ClientConnectorDNSError):
            reason = "its name does not resolve"
        elif isinstance(error, aiohttp.ClientConnectorCertificateError | aiohttp.ClientConnectorSSLError):
            reason = "its certificate or its TLS is not right"
        else:
            reason = "nothing answers there"
        return Unreachable(f"{connecting}: {reason}{detail}{sender.advice('check the base URL and the network')}")
    if isinstance(error, aiohttp.InvalidURL | aiohttp.NonHttpUrlClientError):
        return AddressRefused(f"{sender.it} is no address that can be asked{detail}")
    if isinstance(
        error,
        aiohttp.ClientPayloadError | aiohttp.ClientResponseError | http_exceptions.HttpProcessingError | ValueError,
    ):
        return BadBody(f"{sender.it} sent an answer that was cut short, or is not HTTP{detail}")
    return ConnectFailed(f"the connection to {sender.host} broke{detail}")


class Redirecting:
    """Follows redirects.

    Args:
        transport: sends each hop.
        admit: returns the URL to ask for a target; raises a TransportError where it must not be asked, a ValueError
            where it is none.
    """

    def __init__(self, transport: Transport, admit: Callable[[URL], URL]) -> None:
        self._transport = transport
        self._admit = admit

    async def send(self, request: HttpRequest) -> HttpResponse:
        """Send a request, and on to where its answers lead.

        Raises:
            RedirectRefused: they lead to something that is no address, or on and on.
            TransportError: as the transport or ``admit`` raised it.
        """
        sender = request.sender
        for _ in range(_MAX_REDIRECTS + 1):
            response = await self._transport.send(request)
            location = response.location
            if location is None:
                return response
            try:
                encoded = location.isascii() and location.isprintable() and " " not in location
                target = self._admit(request.url.join(URL(location, encoded=encoded)))
            except ValueError:
                advice = sender.advice("check the base URL")
                raise RedirectRefused(f"{sender.it} redirects to something that is no address{advice}") from None
            request = replace(request, url=target)
        advice = sender.advice("check the base URL")
        raise RedirectRefused(f"{sender.it} redirects more than {_MAX_REDIRECTS} times in a row{advice}")
