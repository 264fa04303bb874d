"""A monitor over real HTTP that records its requests."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest


@dataclass(frozen=True)
class Ping:
    """One request: the path below the check's address, the query, the body, and the headers by lower-case name."""

    path: str
    query: dict[str, list[str]]
    body: str
    headers: dict[str, str]


@dataclass
class FakeMonitor:
    """Records requests; it answers with each of ``statuses`` in turn and then with 200.

    Attributes:
        asked: set by its first request.
        may_answer: it answers nothing before this event.
        answered: how many requests it has answered.
    """

    url: str = ""
    pings: list[Ping] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    asked: threading.Event = field(default_factory=threading.Event)
    may_answer: threading.Event = field(default_factory=threading.Event)
    answered: int = 0
    location: str | None = None

    @property
    def paths(self) -> list[str]:
        return [ping.path for ping in self.pings]


@contextmanager
def watching() -> Iterator[FakeMonitor]:
    """Serve a monitor from a thread."""
    fake = FakeMonitor()
    fake.may_answer.set()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            parts = urlsplit(self.path)
            body = self.rfile.read(int(self.headers.get("content-length", 0))).decode()
            headers = {name.lower(): value for name, value in self.headers.items()}
            fake.pings.append(Ping(parts.path.removeprefix("/check"), parse_qs(parts.query), body, headers))
            fake.asked.set()
            fake.may_answer.wait(600)
            fake.answered += 1
            self.send_response(fake.statuses.pop(0) if fake.statuses else 200)
            if fake.location is not None:
                self.send_header("Location", fake.location)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"OK")

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_: object) -> None:
            """Ignore clients that disconnect early."""

    with Server(("127.0.0.1", 0), Handler) as server:
        fake.url = f"http://127.0.0.1:{server.server_port}/check"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield fake
        finally:
            fake.may_answer.set()
            server.shutdown()
            thread.join()


@pytest.fixture
def monitor() -> Iterator[FakeMonitor]:
    with watching() as fake:
        yield fake
