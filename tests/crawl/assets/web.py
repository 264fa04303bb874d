"""A real web server on loopback that serves pictures, and the records of a blog that shows them."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from aiohttp import web
from aiohttp.abc import AbstractResolver

from exporter import lossless_json
from exporter.archive.assets import AssetStore
from exporter.archive.layout import Layout
from exporter.crawl.assets.download import AssetDownload, AssetResult
from exporter.crawl.assets.plan import AssetSettings
from exporter.crawl.events import AssetEvent
from exporter.http.engine import Engine
from exporter.model.kinds import Kind, sort_key
from exporter.service.registry import DEFAULT_SERVICE
from tests.http.clocks import JumpClock

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Web:
    """Serves ``pictures`` by path with its query; ``answers`` come first; ``asked`` counts requests by path."""

    def __init__(self) -> None:
        self.pictures: dict[str, bytes] = {}
        self.answers: dict[str, Answer] = {}
        self.asked: Counter[str] = Counter()
        self.requests: list[web.Request] = []
        self.url = ""

    async def handle(self, request: web.Request) -> web.StreamResponse:
        path = request.rel_url.raw_path_qs
        self.asked[path] += 1
        self.requests.append(request)
        if path in self.answers:
            return await self.answers[path](request)
        body = self.pictures.get(path)
        if body is None:
            return web.Response(status=404, text="<h1>Not Found</h1>", content_type="text/html")
        return web.Response(body=body, content_type="text/plain")


@asynccontextmanager
async def running_web() -> AsyncIterator[Web]:
    served = Web()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", served.handle)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.05)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    served.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield served
    finally:
        await runner.cleanup()


class Blog:
    """A blog's records, and the objects that a backup of its pictures needs."""

    def __init__(self, root: Path) -> None:
        self.layout = Layout(root)
        self.kinds: dict[Kind, dict[str, dict[str, Any]]] = {kind: {} for kind in Kind}
        self.clock = JumpClock()
        self.events: list[AssetEvent] = []
        self.loaded: list[str] = []
        self.public: set[str] = set()

    def scan(self, kind: Kind) -> Iterator[tuple[str, dict[str, Any]]]:
        for record_id in sorted(self.kinds[kind], key=sort_key):
            yield record_id, self.kinds[kind][record_id]

    def ids(self, kind: Kind) -> list[str]:
        return sorted(self.kinds[kind], key=sort_key)

    def identity(self, kind: Kind, record_id: str) -> bytes | None:
        return lossless_json.freeze(self.kinds[kind][record_id]).identity

    def load(self, kind: Kind, record_id: str) -> dict[str, Any] | None:
        self.loaded.append(record_id)
        return self.kinds[kind].get(record_id)

    def entry(self, number: int, body: str, **more: str) -> None:
        self.kinds[Kind.ENTRIES][str(number)] = {"entry_id": str(number), "entry_text": body, **more}

    def file(self, number: int, **more: Any) -> None:
        self.kinds[Kind.FILES][str(number)] = {"file_id": str(number), **more}

    async def backup(self, settings: AssetSettings, resolver: AbstractResolver | None = None) -> AssetResult:
        """Run, and commit the records as the newest version."""
        store, journal = AssetStore(self.layout), self.layout.work / "assets.jsonl"
        async with Engine(clock=self.clock, resolver=resolver) as engine:
            result = await AssetDownload(
                DEFAULT_SERVICE, self, store, journal, settings, engine, self.clock, self.events.append,
                is_public=self.public.__contains__,
            ).run()  # fmt: skip
        self.kinds[Kind.ASSETS] = dict(result.records)
        return result

    def stored(self) -> list[Path]:
        return sorted(path for path in self.layout.assets.rglob("*") if path.is_file())
