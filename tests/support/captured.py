"""Captures of the styled blog in an archive, made of chosen addresses without the crawler."""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from exporter import lossless_json
from exporter.archive.captures import INDEX, PAGES, Capture, CaptureInfo, captures, seal_capture
from exporter.archive.layout import Layout
from exporter.errors import TransportError
from exporter.http.address_guard import AddressGuard
from exporter.http.engine import Engine
from exporter.http.retry import RetryPolicy
from exporter.http.wire import WireExchange
from exporter.warc.cdxj import REVISIT, IndexLine
from exporter.warc.http_message import Payload, decoded
from exporter.warc.records import EarlierRecord, facts_of, warc_date
from exporter.warc.segments import SegmentWriter

_LINK = re.compile(r"""(?:href|src|data-src)="(/[^"/][^"]*|/)"|url\(["']?([^"')]+)["']?\)|@import ["']([^"']+)""")
_TRAPS = re.compile(r"/(?:Calendar|admin|share)")


async def capture_blog(
    root: Path,
    origin: str,
    more: Iterable[str] = (),
    *,
    leave: Collection[str] = (),
    most_bytes: int = 1_000_000_000,
    now: datetime | None = None,
) -> Capture:
    """Capture all pages of a blog that can be reached, without its traps; a payload is stored once.

    Args:
        root: the archive.
        origin: of the blog.
        more: further paths to begin with.
        leave: paths that are not asked for.
        most_bytes: of a segment.
        now: the time of all records; by default the true one.
    """
    layout = Layout(root)
    number = len(captures(layout)) + 1
    folder = root / ".work" / "capture-test"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    lines: list[IndexLine] = []
    pages: list[bytes] = []
    stored: dict[str, EarlierRecord] = {}
    bodies: dict[str, bytes] = {}
    started = now or datetime.now(UTC)
    fields = {"software": "tests", "format": "WARC File Format 1.1", "operator": "A library"}
    prefix = f"TEST-{started:%Y%m%d%H%M%S}{number:03d}"
    with SegmentWriter(folder, prefix, fields, most_bytes=most_bytes) as segments:

        async def record(exchange: WireExchange) -> None:
            facts = facts_of(exchange)
            assert facts is not None
            if now is not None:
                exchange.started = now
            line = segments.write(exchange, facts, stored.get(facts.digest) if facts.size else None)
            lines.append(line)
            if line.mime != REVISIT:
                stored.setdefault(facts.digest, EarlierRecord(line.url, warc_date(line.moment)))
            if facts.head.status < 300 and facts.head.media_type in {"text/html", "text/css"}:
                body = decoded(Payload(exchange.answer, facts.head), facts.head.get("content-encoding"), 10_000_000)
                bodies[line.url] = body
                if facts.head.media_type == "text/html":
                    title = re.search(r"<title>(.*?)</title>", body.decode())
                    page = {"url": line.url, "ts": warc_date(line.moment), "title": title and title[1], "status": 200}
                    pages.append(lossless_json.dumps(page) + b"\n")
            exchange.close()

        async with Engine() as engine:
            capturer = engine.capturer(AddressGuard(allow_private=True), policy=RetryPolicy(retries=0))
            seen: set[str] = set()
            wanted = {"/", "/RSS/", "/sitemap.xml", "/robots.txt", "/favicon.ico", *more} - set(leave)
            while wanted:
                seen |= wanted
                for path in sorted(wanted):
                    try:
                        await capturer.fetch(origin + path, record)
                    except TransportError:
                        continue
                wanted = _linked(bodies, origin) - seen - set(leave)
                bodies.clear()
        names = segments.names()
    assert names
    (folder / INDEX).write_bytes(b"".join(sorted(line.encode() for line in lines)))
    (folder / PAGES).write_bytes(b"".join(pages))
    info = CaptureInfo(
        number, "pages", "shiodamari.blog.example.jp", warc_date(started), warc_date(now or datetime.now(UTC)),
        "tests", "tests", operator="A library", scope=[f"{origin}/"],
    )  # fmt: skip
    return seal_capture(layout, folder, info)


def _linked(bodies: dict[str, bytes], origin: str) -> set[str]:
    found = set()
    for url, body in bodies.items():
        for each in _LINK.finditer(body.decode()):
            path = (each[1] or each[2] or each[3]).partition("#")[0].replace("&amp;", "&")
            if path.startswith("../"):
                path = path[2:]
            elif not path.startswith("/"):
                path = f"{url.removeprefix(origin).rpartition('/')[0]}/{path}"
            if not _TRAPS.match(path) and "reply=" not in path and not path.startswith("data:"):
                found.add(path)
    return found


def captured(root: Path, origin: str, more: Iterable[str] = (), **options: Any) -> Capture:
    """Do what :func:`capture_blog` does, for blocking callers."""
    with ThreadPoolExecutor(1) as thread:  # this one may have an event loop, as Playwright's has
        return thread.submit(lambda: asyncio.run(capture_blog(root, origin, more, **options))).result()
