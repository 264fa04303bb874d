"""Run captures of servers on loopback, and read what they wrote with warcio."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from warcio.archiveiterator import ArchiveIterator

from exporter.archive.layout import Layout
from exporter.capture.events import CaptureEvent
from exporter.capture.outcome import CaptureOutcome, CaptureSettings, EntryAddress
from exporter.capture.run import CaptureRun
from exporter.clock import SystemClock
from exporter.http.engine import Engine
from exporter.http.retry import RetryPolicy
from exporter.warc.lookup import CaptureLookup
from tests.support.wire_server import Asked, Reply, Way, WireServer

QUICK = RetryPolicy(retries=2, base=0.01, ceiling=0.02, give_up_after=float("inf"), max_retry_after=5.0)
HTML = (("Content-Type", "text/html; charset=utf-8"),)
CSS = (("Content-Type", "text/css"),)
PNG = (("Content-Type", "image/png"),)


def html(body: str, *, head: str = "", status: int = 200) -> Reply:
    """Return a page."""
    return Reply(status, f"<!DOCTYPE html><title>t</title>{head}{body}".encode(), HTML)


def moved(to: str, status: int = 302) -> Reply:
    """Return a redirect."""
    return Reply(status, b"", (("Location", to),))


@dataclass
class Site:
    """A site of few pages; what ``pages`` lacks is answered with 404.

    Attributes:
        pages: the answers, or what makes them, by path with query.
        ways: how single answers are sent.
        server: sends them.
    """

    pages: dict[str, Reply | Callable[[Asked], Reply]]
    ways: dict[str, Way] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.server = WireServer(self._respond, lambda asked, _: self.ways.get(asked.path, Way()))

    @property
    def asked(self) -> dict[str, int]:
        return dict(self.server.asked)

    def _respond(self, asked: Asked) -> Reply:
        found = self.pages.get(asked.path, Reply(404, b"none", HTML))
        return found if isinstance(found, Reply) else found(asked)

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[str]:
        async with self.server.serving() as origin:
            yield origin


async def capture(
    root: Path,
    origin: str,
    permalinks: Callable[[], list[str]] = list,
    doubtful: Callable[[], list[str]] = list,
    *,
    see: Callable[[CaptureEvent, CaptureRun], None] = lambda _, __: None,
    **settings: Any,
) -> CaptureOutcome:
    """Capture a site."""
    options = {"concurrency": 4, "policy": QUICK, **settings}
    async with Engine() as engine:
        how = CaptureSettings("blog.example", f"{origin}/", **options)

        def entries() -> list[EntryAddress]:
            return [*map(EntryAddress, permalinks()), *(EntryAddress(url, is_public=False) for url in doubtful())]

        run = CaptureRun(root, engine, how, SystemClock(), entries)
        async for event in run.events():
            see(event, run)
        return run.outcome


def captured(site: Site, root: Path, **settings: Any) -> CaptureOutcome:
    """Serve and capture a site once."""

    async def run() -> CaptureOutcome:
        async with site.serving() as origin:
            return await capture(root, origin, **settings)

    return asyncio.run(run())


@dataclass(frozen=True)
class Record:
    """A record of a WARC file as warcio reads it."""

    kind: str
    url: str
    status: str
    content: bytes


def records(folder: Path) -> Iterator[Record]:
    """Yield all records below a folder, in order, each compared with its digests."""
    for path in sorted(folder.rglob("*.warc.gz")):
        with path.open("rb") as file:
            for record in ArchiveIterator(file, check_digests="raise"):
                status = record.http_headers.get_statuscode() if record.http_headers else ""
                content = record.content_stream().read()
                kind, url = record.rec_type, record.rec_headers.get_header("WARC-Target-URI") or ""
                yield Record(kind, url, status or "", content)


def answers(folder: Path) -> dict[str, list[Record]]:
    """Return the answers in the records below a folder, by address."""
    found: dict[str, list[Record]] = {}
    for record in records(folder):
        if record.kind in {"response", "revisit"}:
            found.setdefault(record.url, []).append(record)
    return found


def warc_bytes(root: Path, number: int) -> int:
    """Return the bytes of a capture's WARC files; 0 if there is no such capture."""
    return sum(path.stat().st_size for path in (root / "captures" / f"{number:06d}").glob("*.warc.gz"))


def lookup(root: Path) -> CaptureLookup:
    """Return what finds the records of an archive."""
    return CaptureLookup(Layout(root))
