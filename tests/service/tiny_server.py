"""A real server on loopback for the second blog service."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web


@dataclass
class TinyBlog:
    """The content of a server; ``asked`` has the paths of the requests."""

    notes: list[dict[str, Any]] = field(default_factory=list)
    replies: list[dict[str, Any]] = field(default_factory=list)
    media: list[dict[str, Any]] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    page_size: int = 2
    url: str = ""


@asynccontextmanager
async def served(blog: TinyBlog) -> AsyncIterator[TinyBlog]:
    """Serve a blog, and write its server's address into ``url``."""

    def page(request: web.Request, member: str, items: list[dict[str, Any]]) -> web.Response:
        blog.asked.append(request.path)
        token = request.query.get("after", "t:0")
        begin = int(token.removeprefix("t:"))
        more = f"t:{begin + blog.page_size}" if begin + blog.page_size < len(items) else None
        return web.Response(body=json.dumps({member: items[begin : begin + blog.page_size], "more": more}))

    async def notes(request: web.Request) -> web.Response:
        return page(request, "notes", blog.notes)

    async def replies(request: web.Request) -> web.Response:
        return page(request, "replies", [each for each in blog.replies if each["note"] == request.match_info["nid"]])

    async def media(request: web.Request) -> web.Response:
        return page(request, "media", blog.media)

    async def content(request: web.Request) -> web.Response:
        return web.Response(body=blog.files[request.match_info["mid"]])

    app = web.Application()
    app.router.add_get("/notes", notes)
    app.router.add_get("/notes/{nid}/replies", replies)
    app.router.add_get("/media", media)
    app.router.add_get("/media/{mid}", content)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.05)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    blog.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield blog
    finally:
        await runner.cleanup()


def tiny_blog() -> TinyBlog:
    """Return a blog of five notes, four replies and one picture."""
    return TinyBlog(
        notes=[
            {"nid": f"n-{number}", "headline": f"Note {number}", "html": f"<p>Text {number}</p>",
             "written": f"2024-01-0{number}T10:00:00", "shown": "yes" if number < 5 else "no"}
            for number in range(1, 6)
        ],
        replies=[
            {"rid": f"r{number}", "note": "n-2" if number < 4 else "n-3", "by": "Mika", "says": f"Reply {number}",
             "written": "2024-02-01T08:00:00"}
            for number in range(1, 5)
        ],
    )  # fmt: skip
