"""A proxy on loopback that keeps every byte between the program and a service, and may add lines to the answers."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit


@dataclass
class Heard:
    """The bytes of a request, and those of its answer as the program received them."""

    request: bytearray = field(default_factory=bytearray)
    answer: bytearray = field(default_factory=bytearray)

    @property
    def target(self) -> str:
        """The path and query."""
        return self.request.split(b" ", 2)[1].decode()


@dataclass
class Tap:
    """The proxy.

    Attributes:
        target: the address of the service.
        lines: returns further header lines for an answer, from the bytes of its request.
        heard: all exchanges.
    """

    target: str
    lines: Callable[[bytes], bytes] = lambda _: b""
    heard: list[Heard] = field(default_factory=list)
    url: str = ""
    _tasks: list[asyncio.Task[None]] = field(default_factory=list)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Tap]:
        """Accept connections inside the block."""

        def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self._tasks.append(asyncio.create_task(self._serve(reader, writer)))

        server = await asyncio.start_server(accepted, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        try:
            yield self
        finally:
            server.close()
            await asyncio.gather(*self._tasks)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        parts = urlsplit(self.target)
        below, above = await asyncio.open_connection(parts.hostname, parts.port)
        now = Heard()

        async def up() -> None:
            nonlocal now
            while data := await reader.read(65536):
                if now.answer:
                    now = Heard()
                if not now.request:
                    self.heard.append(now)
                now.request += data
                above.write(data)
            above.write_eof()

        async def down() -> None:
            while data := await below.read(65536):
                if not now.answer:
                    head, end, rest = data.partition(b"\r\n\r\n")
                    assert end, "the head is in one piece"
                    data = head + b"\r\n" + self.lines(bytes(now.request)) + b"\r\n" + rest
                now.answer += data
                writer.write(data)
            writer.close()

        try:
            with contextlib.suppress(OSError):
                await asyncio.gather(up(), down())
        finally:
            for each in (writer, above):
                each.close()
                with contextlib.suppress(OSError):
                    await each.wait_closed()
