"""Captures in an archive, made by the program's own engine and writer from a server on loopback."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from html import unescape
from pathlib import Path
from typing import Protocol

from exporter import lossless_json
from exporter.archive.captures import INDEX, PAGES, Capture, CaptureInfo, append_capture_run, captures, seal_capture
from exporter.archive.layout import Layout
from exporter.errors import TransportError
from exporter.http.address_guard import AddressGuard
from exporter.http.engine import Engine
from exporter.http.retry import RetryPolicy
from exporter.http.wire import WireExchange
from exporter.warc.cdxj import IndexLine
from exporter.warc.records import EarlierRecord, facts_of, warc_date
from exporter.warc.segments import SegmentWriter

_TITLE = re.compile(rb"<title[^>]*>([^<]*)</title>", re.IGNORECASE)


class HasOrigin(Protocol):
    """A server with an ``origin``, such as :class:`tests.support.styled_blog.StyledBlog`."""

    @property
    def origin(self) -> str:
        """``http://127.0.0.1:PORT``."""


def captured(
    root: Path, server: HasOrigin | str, urls: Iterable[str], *, moment: datetime | None = None, blog_id: str = ""
) -> Capture:
    """Add a capture of these addresses to an archive.

    Args:
        root: the archive's folder; for captures alone it may hold nothing else.
        server: the running server, or its origin.
        urls: the addresses, each asked once; one that begins with ``/`` is of the server.
        moment: the time that the records state; by default the true one.
        blog_id: as in ``archive.json``.
    """
    origin = server if isinstance(server, str) else server.origin
    addresses = [origin + url if url.startswith("/") else url for url in dict.fromkeys(urls)]
    layout = Layout(root)
    number = max((each.number for each in captures(layout)), default=0) + 1
    folder = root / ".work" / "capture" / f"{number}"
    folder.mkdir(parents=True)
    started = moment or datetime.now(UTC)
    # In a thread of its own, because a browser's driver keeps an event loop running in the caller's.
    with ThreadPoolExecutor(1) as thread:
        lines, pages = thread.submit(lambda: asyncio.run(_recorded(folder, addresses, moment))).result()
    (folder / INDEX).write_bytes(b"".join(sorted(line.encode() for line in lines)))
    (folder / PAGES).write_bytes(b"".join(lossless_json.dumps(page) + b"\n" for page in pages))
    info = CaptureInfo(
        number, "pages", blog_id, started.isoformat(timespec="seconds").replace("+00:00", "Z"),
        started.isoformat(timespec="seconds").replace("+00:00", "Z"), "test", "test/1", scope=[f"{origin}/"],
        counts={"requests": len(addresses), "pages": len(pages), "written": len(lines)},
    )  # fmt: skip
    made = seal_capture(layout, folder, info)
    append_capture_run(layout, {"capture": number, "finished_at": info.finished_at, "complete": True})
    return made


async def _recorded(
    folder: Path, addresses: list[str], moment: datetime | None
) -> tuple[list[IndexLine], list[dict[str, object]]]:
    lines: list[IndexLine] = []
    pages: list[dict[str, object]] = []
    known: dict[str, EarlierRecord] = {}
    with SegmentWriter(folder, "BLOG-20261126000000", {"software": "test"}) as segments:

        async def record(exchange: WireExchange) -> None:
            stated = exchange if moment is None else replace(exchange, started=moment)
            facts = facts_of(stated)
            if facts is not None:
                line = segments.write(stated, facts, known.get(facts.digest))
                lines.append(line)
                if line.mime != "warc/revisit":
                    known[facts.digest] = EarlierRecord(stated.url, warc_date(stated.started))
                if facts.head.media_type == "text/html" and facts.head.status == 200:
                    exchange.answer.seek(0)
                    title = _TITLE.search(exchange.answer.read(100_000))
                    name = unescape(title[1].decode("utf-8", "replace")) if title else ""
                    pages.append({"url": line.url, "ts": line.timestamp, "title": name, "status": 200})
            exchange.close()

        async with Engine() as engine:
            capturer = engine.capturer(AddressGuard(allow_private=True), policy=RetryPolicy(retries=0))
            for address in addresses:
                try:
                    await capturer.fetch(address, record)
                except TransportError:
                    assert lines, address  # a cut answer is recorded nevertheless
    return lines, pages
