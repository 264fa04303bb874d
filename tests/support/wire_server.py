"""An HTTP/1.1 server on loopback that chooses each byte it sends, and can record them.

Servers of libraries choose the framing of an answer themselves, and their bytes are not visible. Here a test selects
chunks, codings, cut answers and odd headers, and compares a capture with what really went over the socket.
"""

from __future__ import annotations

import asyncio
import gzip
import importlib
import threading
import zlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus

_MAX_HEAD_BYTES = 65_536
_CHUNK_BYTES = 3_000


@dataclass(frozen=True)
class Asked:
    """A request: its method, the path with the query as sent, and the headers with names in lower case."""

    method: str
    path: str
    headers: dict[str, str]


@dataclass(frozen=True)
class Reply:
    """An answer before framing and coding; ``headers`` names neither of them."""

    status: int
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Way:
    """How an answer is sent.

    Attributes:
        framing: ``length``, ``chunked``, or ``close`` for a body that ends with the connection.
        coding: the content coding, used if the request accepts it and it is installed; empty for none.
        cut: whether only the first half of the body is sent before the connection closes.
        hints: whether an informational answer 103 comes first.
        trailers: whether a chunked body has chunk extensions and trailers.
        plain_names: whether the names of headers are in lower case.
        reason: the reason phrase; ``None`` for the usual one.
        pieces: the number of separate writes of the whole answer.
    """

    framing: str = "length"
    coding: str = ""
    cut: bool = False
    hints: bool = False
    trailers: bool = False
    plain_names: bool = False
    reason: str | None = None
    pieces: int = 1


PLAIN = Way()
MIXED = (
    PLAIN,
    Way("chunked"),
    Way("length", "gzip"),
    Way("chunked", "gzip"),
    Way("length", "br"),
    Way("chunked", "br", pieces=3),
    Way("length", "zstd"),
    Way("chunked", "zstd"),
    Way("length", "deflate", plain_names=True),
    Way("close"),
    Way("close", "gzip"),
    Way("chunked", trailers=True),
    Way("length", hints=True),
    Way("length", reason=""),
    Way("length", reason="Très bien", pieces=7),
)
"""Ways that together contain all framings and codings."""


@lru_cache(maxsize=4_096)
def coded(coding: str, body: bytes) -> bytes:
    """Return a body in a content coding.

    Raises:
        ImportError: the coding needs a library that is not installed.
    """
    if coding == "gzip":
        return gzip.compress(body, 6, mtime=0)
    if coding == "deflate":
        return zlib.compress(body)
    if coding == "br":
        return bytes(importlib.import_module("brotli").compress(body, quality=5))
    if coding == "zstd":
        try:
            library = importlib.import_module("compression.zstd")
        except ImportError:
            library = importlib.import_module("backports.zstd")
        return bytes(library.compress(body))
    raise ImportError(coding)


def installed(coding: str) -> bool:
    """Return whether answers can have this coding."""
    try:
        coded(coding, b"x")
    except ImportError:
        return False
    return True


@dataclass(frozen=True)
class WireExchange:
    """One request and its answer exactly as they went over the socket; a 103 before the answer is in ``hints``."""

    path: str
    request: bytes
    answer: bytes
    hints: bytes = b""


@dataclass
class WireServer:
    """Answers the requests that ``respond`` knows.

    Attributes:
        respond: makes an answer.
        way: chooses how it is sent; by default with its length.
        refused_every: every such request is answered with 429 or 503 in turn; 0 for none.
        retry_after: the ``Retry-After`` of these answers in seconds.
        delay: seconds before each answer.
        recording: whether ``exchanges`` is filled.
        asked: the number of requests by path with query.
        exchanges: all exchanges in the order of their answers.
        origin: ``http://127.0.0.1:PORT``; empty until started.
    """

    respond: Callable[[Asked], Reply]
    way: Callable[[Asked, Reply], Way] = lambda _asked, _reply: PLAIN
    refused_every: int = 0
    retry_after: str = "0"
    delay: float = 0.0
    recording: bool = False
    asked: Counter[str] = field(default_factory=Counter)
    exchanges: list[WireExchange] = field(default_factory=list)
    origin: str = ""
    _turns: int = 0
    _refused: int = 0
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    @asynccontextmanager
    async def serving(self, port: int = 0) -> AsyncIterator[str]:
        """Serve on loopback; yield the origin."""
        server = await asyncio.start_server(self._connected, "127.0.0.1", port, limit=_MAX_HEAD_BYTES, backlog=256)
        self.origin = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        try:
            yield self.origin
        finally:
            server.close()
            await asyncio.sleep(0)  # a connection that was just accepted has its task from here on
            for task in list(self._tasks):
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            await server.wait_closed()
            await asyncio.sleep(0)  # aborted connections close in the loop's next turn

    @contextmanager
    def serving_in_thread(self, port: int = 0) -> Iterator[str]:
        """Serve from an event loop in another thread, for blocking callers; yield the origin."""
        loop = asyncio.new_event_loop()
        thread = threading.Thread(target=loop.run_forever, name="wire-server", daemon=True)
        thread.start()
        context = self.serving(port)
        try:
            yield asyncio.run_coroutine_threadsafe(context.__aenter__(), loop).result()
        finally:
            asyncio.run_coroutine_threadsafe(context.__aexit__(None, None, None), loop).result()
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            with suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
                while await self._exchange(reader, writer):
                    pass
        except asyncio.CancelledError:
            writer.transport.abort()  # closing would wait for a browser that no longer reads
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Read a request and send its answer; return whether the connection stays open."""
        request = await reader.readuntil(b"\r\n\r\n")
        first, *lines = request[:-4].decode("latin-1").split("\r\n")
        method, path, version = first.split(" ")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        if headers.get("content-length", "").isdecimal():
            request += await reader.readexactly(int(headers["content-length"]))
        asked = Asked(method, path, headers)
        self.asked[path] += 1
        self._turns += 1
        if self.delay:
            await asyncio.sleep(self.delay)
        if self.refused_every and self._turns % self.refused_every == 0:
            self._refused += 1
            kind = (("Content-Type", "text/plain"), ("Retry-After", self.retry_after))
            reply, way = Reply((503, 429)[self._refused % 2], b"later", kind), PLAIN
        else:
            reply = self.respond(asked)
            way = self.way(asked, reply)
        stays = version == "HTTP/1.1" and headers.get("connection", "").lower() != "close"
        stays = stays and way.framing != "close" and not way.cut
        answer = framed(asked, reply, way, stays)
        hints = b"HTTP/1.1 103 Early Hints\r\nLink: </css/style.css>; rel=preload\r\n\r\n" if way.hints else b""
        if self.recording:
            self.exchanges.append(WireExchange(path, request, answer, hints))
        whole = hints + answer
        step = -(-len(whole) // way.pieces)
        for start in range(0, len(whole), step):
            writer.write(whole[start : start + step])
            await writer.drain()
            if way.pieces > 1:
                await asyncio.sleep(0.001)
        return stays


def framed(asked: Asked, reply: Reply, way: Way, stays: bool) -> bytes:
    """Return the bytes of an answer."""
    body, headers = reply.body, [("Server", "shio/1"), ("Date", formatdate(usegmt=True)), *reply.headers]
    accepted = {part.partition(";")[0].strip() for part in asked.headers.get("accept-encoding", "").split(",")}
    bodiless = asked.method == "HEAD" or reply.status in {204, 304}
    if way.coding in accepted and body and installed(way.coding):
        body = coded(way.coding, body)
        headers += [("Content-Encoding", way.coding), ("Vary", "Accept-Encoding")]
    if not stays:
        headers.append(("Connection", "close"))
    if way.framing == "chunked" and not bodiless:
        headers.append(("Transfer-Encoding", "chunked"))
        sent = _chunked(body, way)
    else:
        sent = body
        if way.framing == "length" and reply.status not in {204, 304}:
            headers.append(("Content-Length", str(len(body))))
    if bodiless:
        sent = b""
    elif way.cut:
        sent = sent[: len(sent) // 2]
    reason = way.reason if way.reason is not None else HTTPStatus(reply.status).phrase
    names = [(name.lower() if way.plain_names else name, value) for name, value in headers]
    head = "".join(f"{name}: {value}\r\n" for name, value in names)
    return f"HTTP/1.1 {reply.status} {reason}\r\n{head}\r\n".encode("latin-1") + sent


def _chunked(body: bytes, way: Way) -> bytes:
    extension = b";part=1" if way.trailers else b""
    parts = [body[at : at + _CHUNK_BYTES] for at in range(0, len(body), _CHUNK_BYTES)]
    chunks = b"".join(b"%x%s\r\n%s\r\n" % (len(part), extension, part) for part in parts)
    return chunks + (b"0\r\nX-Checked: yes\r\n\r\n" if way.trailers else b"0\r\n\r\n")
