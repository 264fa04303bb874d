"""The short way of a GET over aiohttp's own connections, with its parser: what a backup sends by the ten thousand.

``ClientSession.get`` makes headers, cookies, timers, a request, a writer and an answer anew each time, which is more
than half of its cost. To one origin, with the same headers, all but the path stays the same. What is called here is
less than aiohttp promises to keep, so this way is taken with the versions of it that the tests know, and with no other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Final

import aiohttp
from aiohttp import http_exceptions
from multidict import CIMultiDict, CIMultiDictProxy

from exporter.errors import ConnectFailed
from exporter.http.address_guard import origin_of
from exporter.message import message
from exporter.text import printable

if TYPE_CHECKING:
    from aiohttp.client_reqrep import ConnectionKey
    from aiohttp.connector import Connection
    from yarl import URL

KNOWN_VERSIONS: Final = frozenset({"3.14.5"})
"""Of aiohttp. All of ``tests/http`` that uses real connections passes both ways with each of them."""
_AS_IT_CAME: Final = aiohttp.ClientSession._request


def may_be_taken() -> bool:
    """Tell whether aiohttp is a known one, and as it came: what mocks or traces its sessions is to see all requests."""
    return aiohttp.__version__ in KNOWN_VERSIONS and aiohttp.ClientSession._request is _AS_IT_CAME


def broken(host: str | None, error: Exception) -> ConnectFailed:
    """Return the error for a connection that breaks, or that was kept and turns out to be closed."""
    return ConnectFailed(message("the connection to {host} broke ({error})", host=host, error=printable(str(error))))


class DirectAnswer:
    """The head of an answer, and its body as it arrives."""

    __slots__ = ("content", "headers", "release", "status")

    def __init__(
        self, status: int, headers: CIMultiDictProxy[str], content: aiohttp.StreamReader, connection: Connection
    ) -> None:
        self.status = status
        self.headers = headers
        self.content = content
        self.release = connection.release


class _Common(aiohttp.ClientRequest):
    """What all requests to an origin have in common, as aiohttp makes it."""

    @cached_property
    def connection_key(self) -> ConnectionKey:
        """Of the connections that may be used."""
        return super().connection_key


class Direct:
    """Sends GETs to one origin.

    Args:
        session: whose connections and headers are used.
        origin: where to.
        headers: of each request, beside the session's.
        connect: seconds that connecting may take.
    """

    def __init__(self, session: aiohttp.ClientSession, origin: URL, headers: Mapping[str, str], connect: float) -> None:
        common = CIMultiDict(session.headers)
        common.update(headers)
        self._common = _Common("GET", origin, headers=common, loop=asyncio.get_running_loop())
        self._connector = session.connector
        self._origin = origin_of(origin)
        self._headers = headers
        self._tail = self._tail_with({})
        self._last: tuple[Mapping[str, str], bytes | None] = (headers, self._tail)
        self._timeout = aiohttp.ClientTimeout(total=None, connect=connect)

    def head(self, origin: str, url: URL, headers: Mapping[str, str]) -> bytes | None:
        """Return what :meth:`get` is to send; ``None`` for what goes elsewhere, or that aiohttp has to judge."""
        path = url.raw_path_qs
        if headers is not self._headers and headers is not self._last[0]:
            self._last = headers, self._tail_with(headers)
        tail = self._tail if headers is self._headers else self._last[1]
        if tail is None or origin != self._origin or not (path.isascii() and path.isprintable()):
            return None
        return b"GET " + path.encode() + tail

    def _tail_with(self, headers: Mapping[str, str]) -> bytes | None:
        all_headers = self._common.headers.copy()
        all_headers.update(headers)
        lines = [" HTTP/1.1", *(f"{name}: {value}" for name, value in all_headers.items())]
        if not all(line.isascii() and line.isprintable() for line in lines):
            return None
        return "\r\n".join([*lines, "", ""]).encode()

    async def get(self, url: URL, head: bytes) -> DirectAnswer:
        """Send a request and read the head of its answer, which must be released.

        Raises:
            ConnectFailed: the connection broke.
            aiohttp.ClientError, OSError: as ``ClientSession.get``.
        """
        if self._connector is None:
            raise RuntimeError("the session is closed")
        try:
            connection = await self._connector.connect(self._common, [], self._timeout)
        except TimeoutError:
            raise aiohttp.ConnectionTimeoutError from None
        try:
            return await self._exchange(connection, url, head)
        except BaseException:
            connection.close()
            raise

    async def _exchange(self, connection: Connection, url: URL, head: bytes) -> DirectAnswer:
        protocol, transport = connection.protocol, connection.transport
        if protocol is None or transport is None or transport.is_closing():
            raise broken(url.host, aiohttp.ClientConnectionResetError("Cannot write to closing transport"))
        protocol.set_response_params(read_until_eof=True, auto_decompress=False)
        transport.write(head)
        try:
            while True:
                message, content = await protocol.read()
                if not 100 <= message.code <= 199 or message.code == 101:
                    return DirectAnswer(message.code, message.headers, content, connection)
        except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
            raise broken(url.host, error) from None
        except http_exceptions.HttpProcessingError as error:
            info = aiohttp.RequestInfo(url, "GET", CIMultiDictProxy(self._common.headers), url)
            raise aiohttp.ClientResponseError(info, (), status=error.code, message=error.message) from None
