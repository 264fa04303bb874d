"""A real HTTP service on loopback that sends valid or broken responses for a test."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
RawHandler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def envelope(data: Any, result: Any = "ok", message: Any = "") -> bytes:
    return json.dumps({"json": {"result": result, "message": message, "data": data}}, ensure_ascii=False).encode()


def ok(data: Any, **headers: str) -> web.Response:
    return web.Response(body=envelope(data), content_type="application/json", headers=headers)


class Service:
    """Every path is answered by ``handler``; ``seen`` lists the requests."""

    def __init__(self) -> None:
        self.seen: list[web.Request] = []
        self.handler: Handler = self._unset
        self.url = ""

    async def _unset(self, request: web.Request) -> web.StreamResponse:
        return ok({})

    def answers(self, *responses: Callable[[], web.Response]) -> None:
        """Answer the n-th request with the n-th response, and all later ones with the last."""

        async def answer(request: web.Request) -> web.StreamResponse:
            return responses[min(len(self.seen), len(responses)) - 1]()

        self.handler = answer

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        self.seen.append(request)
        return await self.handler(request)


@asynccontextmanager
async def running_service() -> AsyncIterator[Service]:
    service = Service()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", service._answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.05)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    service.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield service
    finally:
        await runner.cleanup()


@asynccontextmanager
async def raw_service(handler: RawHandler) -> AsyncIterator[str]:
    """Yield the URL of a server that hands each connection to ``handler``, bytes in and bytes out."""
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            await handler(reader, writer)
        except (ConnectionError, asyncio.CancelledError, asyncio.IncompleteReadError):
            pass
        finally:
            tasks.discard(task)
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def read_head(reader: asyncio.StreamReader) -> bytes:
    return await reader.readuntil(b"\r\n\r\n")


def says(*pieces: bytes, pause: float = 0.0, then: str = "close") -> RawHandler:
    """Return a handler that answers one request with these pieces and then closes, hangs or resets."""

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_head(reader)
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(pause)
        if then == "hang":
            await asyncio.sleep(60)
        if then == "reset":
            transport: Any = writer.transport
            transport.abort()

    return handler
