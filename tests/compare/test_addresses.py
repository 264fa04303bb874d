"""Old addresses are followed in the new home, on its own host only."""

from __future__ import annotations

from aiohttp import web

from exporter.compare.addresses import follow
from exporter.http.credentials import Credentials
from exporter.http.engine import Engine
from exporter.http.retry import RetryPolicy
from tests.http.service import running_service

OLD = "https://old.example"
MOVED = {"/2020/sea.html": "/sea/", "/away": "https://other.example/", "/loop": "/loop", "/plain.html": "/plain/"}


async def answer(request: web.Request) -> web.StreamResponse:
    target = "/sea/" if request.query.get("p") == "7" else MOVED.get(request.path)
    if target is not None:
        return web.Response(status=301, headers={"Location": target})
    if request.path == "/broken":
        return web.Response(status=500)
    page = '<link rel="icon" href="/x"><link href="/sea/?a&amp;b" rel=canonical>' if request.path == "/sea/" else ""
    return web.Response(
        status=200 if request.path in {"/sea/", "/plain/"} else 404, text=page, content_type="text/html"
    )


async def test_addresses_lead_to_pages_nowhere_or_away() -> None:
    async with running_service() as service, Engine() as engine:
        service.handler = answer
        client = engine.client(service.url, Credentials(), policy=RetryPolicy(retries=0))
        below = engine.client(f"{service.url}/blog", Credentials(), policy=RetryPolicy(retries=0))
        assert await follow(below, [f"{OLD}/gone", f"{OLD}/blog/gone"]) == {f"{OLD}/blog/gone": ""}
        paths = (*MOVED, "/broken", "/?p=7", "/sea/#top", "/gone")
        found = await follow(client, [*(OLD + path for path in paths), "https://[broken/"])
        assert {address.removeprefix(OLD): target.removeprefix(service.url) for address, target in found.items()} == {
            "/2020/sea.html": "/sea/?a&b", "/?p=7": "/sea/?a&b", "/sea/#top": "/sea/?a&b", "/gone": "",
        }  # fmt: skip
