"""A small public server for captures in fleets: pages by path."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from exporter.archive.fleet_folder import archive_place
from exporter.archive.layout import Layout
from exporter.archive.manifest import ArchiveInfo
from exporter.archive.writer import create


class PageServer:
    """Serves the pages in ``pages``, which may change: text by path; a path that ends in ``.css`` is a style sheet.

    Attributes:
        asked: the path and the ``User-Agent`` of each request.
        delay: seconds before each answer.
        spans: when each request was answered, from and to.
    """

    def __init__(self, pages: Mapping[str, str]) -> None:
        self.pages = dict(pages)
        self.asked: list[tuple[str, str]] = []
        self.delay = 0.0
        self.spans: list[tuple[float, float]] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                begun = time.monotonic()
                server.asked.append((self.path, self.headers.get("User-Agent", "")))
                time.sleep(server.delay)
                server.spans.append((begun, time.monotonic()))
                text = server.pages.get(self.path)
                data = (text or "not found").replace("ORIGIN", server.origin).encode()
                self.send_response(200 if text is not None else 404)
                kind = "text/css" if self.path.endswith(".css") else "text/html; charset=utf-8"
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: object) -> None:
                """Stay silent."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.origin = f"http://127.0.0.1:{self._server.server_address[1]}"

    @contextmanager
    def running(self) -> Iterator[PageServer]:
        """Serve inside the block."""
        thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()


def bare_archive(root: Path, blog_id: str) -> Path:
    """Make an archive without a version at its place in a fleet."""
    place = archive_place(root, blog_id)
    place.mkdir(parents=True)
    create(Layout(place), ArchiveInfo(blog_id, "2026-11-26T00:00:00Z"))
    return place
