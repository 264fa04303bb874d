"""A server that sends answers byte by byte as a test wrote them, and keeps every byte that it received and sent."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import random
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Final

import brotli
from backports import zstd

KINDS: Final = (
    "length", "chunked", "gzip", "gzip-chunked", "br", "zstd", "redirect", "not-modified", "missing", "truncated",
    "truncated-chunk", "until-close", "informational", "strange-head", "empty", "trailers",
)  # fmt: skip
CUT: Final = frozenset({"truncated", "truncated-chunk"})


@dataclass
class Heard:
    """One exchange as the server saw it; ``answer`` is without informational answers."""

    target: str
    request: bytes
    answer: bytes


@dataclass
class RawServer:
    """Answers ``/KIND/NUMBER``; ``heard`` has each exchange in order of its end."""

    heard: list[Heard] = field(default_factory=list)
    url: str = ""

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[RawServer]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        host, port = server.sockets[0].getsockname()[:2]
        self.url = f"http://{host}:{port}"
        async with server:
            yield self

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                request = await reader.readuntil(b"\r\n\r\n")
                target = request.split()[1].decode()
                kind, number = target.strip("/").split("/")
                before, answer, close = answer_of(kind, int(number))
                generator = random.Random(target)
                sent = before + answer
                at = 0
                while at < len(sent):
                    size = generator.choice((1, 7, 100, 1400, 65536))
                    writer.write(sent[at : at + size])
                    at += size
                    if generator.random() < 0.2:
                        await writer.drain()
                        await asyncio.sleep(0)
                self.heard.append(Heard(target, request, answer))
                await writer.drain()
                if close:
                    break
        writer.close()


def content(number: int) -> bytes:
    """Return the content of an answer: text and bytes of any value."""
    generator = random.Random(number)
    text = "".join(generator.choices("あいうえお日記 <p>\r\n0", k=generator.randrange(1, 4000)))
    return text.encode() + generator.randbytes(generator.randrange(0, 200))


def in_chunks(data: bytes, number: int, trailer: bytes = b"") -> bytes:
    """Return data with chunk framing in irregular chunks."""
    generator = random.Random(number)
    framed = b""
    while data:
        size = generator.randrange(1, 1500)
        piece, data = data[:size], data[size:]
        extension = generator.choice((b"", b";name=value", b" "))
        framed += b"%x" % len(piece) + extension + b"\r\n" + piece + b"\r\n"
    return framed + b"0\r\n" + trailer + b"\r\n"


def answer_of(kind: str, number: int) -> tuple[bytes, bytes, bool]:
    """Return the bytes before the final answer, the answer, and whether the connection is closed after it."""
    body = content(number)
    html = b"Content-Type: text/html; charset=utf-8\r\n"
    length = b"Content-Length: %d\r\n"
    match kind:
        case "chunked":
            return b"", _head(b"200 OK", html + b"Transfer-Encoding: chunked\r\n") + in_chunks(body, number), False
        case "gzip" | "br" | "zstd":
            packed = {"gzip": gzip.compress, "br": brotli.compress, "zstd": zstd.compress}[kind](body)
            head = html + b"Content-Encoding: " + kind.encode() + b"\r\n" + length % len(packed)
            return b"", _head(b"200 OK", head) + packed, False
        case "gzip-chunked":
            head = html + b"Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n"
            return b"", _head(b"200 OK", head) + in_chunks(gzip.compress(body), number), False
        case "trailers":
            head = html + b"Transfer-Encoding: chunked\r\nTrailer: Digest\r\n"
            return b"", _head(b"200 OK", head) + in_chunks(body, number, b"Digest: x\r\n"), False
        case "redirect":
            return b"", _head(b"301 Moved", b"Location: /length/1\r\n" + length % len(body)) + body, False
        case "not-modified":
            return b"", _head(b"304 Not Modified", b'ETag: "a"\r\n'), False
        case "missing":
            return b"", _head(b"404 Not Found", html + length % len(body)) + body, False
        case "truncated":
            return b"", _head(b"200 OK", html + length % (len(body) + 10)) + body, True
        case "truncated-chunk":
            whole = _head(b"200 OK", html + b"Transfer-Encoding: chunked\r\n") + in_chunks(body, number)
            return b"", whole[:-7], True
        case "until-close":
            return b"", _head(b"200 OK", html) + body, True
        case "informational":
            early = b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n"
            return early, _head(b"200 OK", html + length % len(body)) + body, False
        case "strange-head":
            head = b"content-TYPE:text/html\r\nX-Odd:   spaces  \r\nX-Latin: caf\xe9\r\nX-Odd: twice\r\nContent-Length:%d\r\n"
            return b"", b"HTTP/1.1 200 \r\n" + head % len(body) + b"\r\n" + body, False
        case "empty":
            return b"", _head(b"204 No Content", b""), False
        case _:
            return b"", _head(b"200 OK", html + length % len(body)) + body, False


def _head(status: bytes, headers: bytes) -> bytes:
    return b"HTTP/1.1 " + status + b"\r\nDate: Thu, 26 Nov 2026 00:00:00 GMT\r\n" + headers + b"\r\n"
