"""The exact bytes of one request and its answer, taken from the connection below aiohttp.

aiohttp removes chunk framing, and its objects do not show a head as it was sent. A web archive holds true exchanges, so
a :class:`RecordingConnector` copies what a connection sends and receives while a request with ``record`` uses it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import partial
from tempfile import SpooledTemporaryFile
from typing import IO, Any, Final

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.client_reqrep import ClientRequest
from aiohttp.connector import Connection

_IN_MEMORY_BYTES: Final = 1024 * 1024

AnswerStore = Callable[[], IO[bytes]]
"""Makes the file that receives the bytes of an answer."""


def spooled() -> IO[bytes]:
    """Return a file that is in memory up to a megabyte, and then on disk."""
    return SpooledTemporaryFile(_IN_MEMORY_BYTES)


_recording: ContextVar[AnswerStore | None] = ContextVar("_recording", default=None)


class Cut(StrEnum):
    """Why an answer is incomplete, in the words of ``WARC-Truncated`` (WARC 1.1, section 5.13)."""

    LENGTH = "length"
    TIME = "time"
    DISCONNECT = "disconnect"


@dataclass(slots=True)
class WireExchange:
    """One request and its answer as they were on the wire, TLS removed.

    Attributes:
        url: as requested.
        started: when the request was sent, in UTC.
        address: the numeric address of the server; empty if the connection was lost before it was known.
        request: the request's bytes.
        answer: the answer's bytes from its start, also of informational answers before it.
        cut: why the answer is incomplete; ``None`` for a complete one.
    """

    url: str
    started: datetime
    address: str = ""
    request: bytearray = field(default_factory=bytearray)
    answer: IO[bytes] = field(default_factory=spooled)
    cut: Cut | None = None

    def close(self) -> None:
        """Release the answer's bytes."""
        self.answer.close()


Record = Callable[[WireExchange], Awaitable[None]]
"""Receives each exchange after it ended, and owns it."""


@contextmanager
def recorded(store: AnswerStore = spooled) -> Iterator[None]:
    """Record the request that is sent inside the block; ``store`` makes the file for its answer."""
    token = _recording.set(store)
    try:
        yield
    finally:
        _recording.reset(token)


class _Copying:
    """A transport that copies what is written."""

    def __init__(self, transport: asyncio.Transport, protocol: RecordingProtocol) -> None:
        self._transport = transport
        self._protocol = protocol

    def write(self, data: bytes | bytearray | memoryview) -> None:
        exchange = self._protocol.exchange
        if exchange is not None:
            exchange.request += data
        self._transport.write(data)

    def writelines(self, parts: Iterable[bytes | bytearray | memoryview]) -> None:
        self.write(b"".join(parts))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class RecordingProtocol(ResponseHandler):
    """A connection of aiohttp that copies its bytes into ``exchange`` while there is one."""

    exchange: WireExchange | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin a connection."""
        super().connection_made(_Copying(transport, self))  # type: ignore[arg-type]  # it passes everything on

    def data_received(self, data: bytes) -> None:
        """Receive bytes; aiohttp calls this without any to go on with what it has."""
        if self.exchange is not None and data:
            self.exchange.answer.write(data)
        super().data_received(data)


class RecordingConnector(aiohttp.TCPConnector):
    """A pool of connections that record the requests inside :func:`recorded`.

    Args:
        now: returns the time in UTC.
        options: those of the base class.
    """

    def __init__(self, now: Callable[[], datetime], **options: Any) -> None:
        super().__init__(**options)
        self._now = now
        # aiohttp has no parameter for the protocol of its connections.
        self._factory: Any = partial(RecordingProtocol, loop=self._loop)

    async def connect(self, req: ClientRequest, traces: list[Any], timeout: Any) -> Connection:  # noqa: ASYNC109
        """Return a connection for a request, with a new exchange if the request is recorded."""
        connection = await super().connect(req, traces, timeout)
        protocol = connection.protocol
        if isinstance(protocol, RecordingProtocol):
            protocol.exchange = None
            store = _recording.get()
            if store is not None:
                peer = protocol.transport.get_extra_info("peername") if protocol.transport is not None else None
                address = str(peer[0]) if peer else ""
                protocol.exchange = WireExchange(str(req.url), self._now(), address, answer=store())
        return connection


def exchange_of(connection: Connection) -> WireExchange | None:
    """Return the exchange that a connection records for its newest request."""
    protocol = connection.protocol
    return protocol.exchange if isinstance(protocol, RecordingProtocol) else None
