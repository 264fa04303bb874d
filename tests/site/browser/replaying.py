"""ReplayWeb.page on loopback: a page that plays a web archive in a browser, from files that one server sends."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from pathlib import Path

from aiohttp import web
from aiohttp.test_utils import TestServer

from tests.site.browser.launching import tool

COLLECTION = "blog"
"""The id that the player gives the archive, so that addresses of replayed pages are known."""


@dataclass(frozen=True)
class Player:
    """The addresses of the player."""

    origin: str

    def opened(self, url: str = "") -> str:
        """Return the address of the player that shows a page of the archive, or its list of pages."""
        return f"{self.origin}/?url={url}"

    def framed(self, url: str) -> str:
        """Return the address of a page that has a replayed page in a frame; the player must have been opened before."""
        return f"{self.origin}/frame?url={url}"


@contextmanager
def player(archive: Path) -> Iterator[Player]:
    """Serve the player and a WACZ file, which it reads by ranges of bytes."""

    async def start(request: web.Request) -> web.Response:
        url = request.rel_url.raw_query_string.removeprefix("url=")
        shown = f' url="{escape(url)}"' if url else ""
        page = (
            '<!DOCTYPE html><html><body style="margin: 0"><replay-web-page style="height: 100vh" replayBase="/replay/" '
            f'source="/{archive.name}" coll="{COLLECTION}"{shown}>'
            '</replay-web-page><script src="/ui.js"></script></body></html>'
        )
        return web.Response(text=page, content_type="text/html")

    async def frame(request: web.Request) -> web.Response:
        url = escape(request.rel_url.raw_query_string.removeprefix("url="))
        style = "border: 0; width: 100vw; height: 100vh"
        page = f'<!DOCTYPE html><body style="margin: 0"><iframe src="/replay/w/{COLLECTION}/mp_/{url}" style="{style}">'
        return web.Response(text=page, content_type="text/html")

    files = {
        "/ui.js": tool("replaywebpage/ui.js"),
        "/replay/sw.js": tool("replaywebpage/sw.js"),
        f"/{archive.name}": archive,
    }

    async def file(request: web.Request) -> web.StreamResponse:
        return web.FileResponse(files[request.path]) if request.path in files else web.Response(status=404)

    app = web.Application()
    app.router.add_get("/", start)
    app.router.add_get("/frame", frame)
    app.router.add_get("/{path:.*}", file)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    server = TestServer(app, host="127.0.0.1")
    try:
        asyncio.run_coroutine_threadsafe(server.start_server(loop=loop), loop).result()
        yield Player(str(server.make_url("/")).rstrip("/"))
    finally:
        asyncio.run_coroutine_threadsafe(server.close(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
