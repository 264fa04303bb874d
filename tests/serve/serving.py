"""Serve an archive for tests, and send raw requests with any path and any header."""

from __future__ import annotations

import asyncio
import http.client
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

from exporter import lossless_json
from exporter.serve.app import Server, site_folder
from exporter.serve.listening import Place
from exporter.settings import Settings


class Answer(NamedTuple):
    """An answer: its status, its headers and its body."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def json(self) -> Any:
        return lossless_json.loads(self.body)

    @property
    def text(self) -> str:
        return self.body.decode()


class Served(NamedTuple):
    """The address of a served archive."""

    address: str

    def get(self, path: str = "", method: str = "GET", **headers: str) -> Answer:
        """Request a path below the address or, if it begins with a slash, below the server."""
        found = urlsplit(self.address)
        connection = http.client.HTTPConnection("127.0.0.1", found.port or 0, timeout=30)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            connection.putrequest(
                method, path if path.startswith("/") else found.path + path, skip_host="Host" in named
            )
            for name, value in named.items():
                connection.putheader(name, value)
            connection.endheaders()
            answer = connection.getresponse()
            return Answer(answer.status, answer.headers, answer.read())
        finally:
            connection.close()

    def search(self, query: str, more: str = "") -> Any:
        """Query the search API."""
        return self.get(f"api/search?q={quote(query)}{more}").json


@contextmanager
def served(
    archive: Path,
    place: Place = Place(token="secret"),  # noqa: B008
    at: int | None = None,
    warn: Callable[[str], None] = lambda _: None,
    settings: Settings | None = None,
) -> Iterator[Served]:
    """Serve an archive from an event loop in another thread."""
    settings = settings or Settings()
    with site_folder(archive, settings, at, lambda _: None) as site:
        listening = Server(archive, site, settings, place, at, warn).listening()
        loop = asyncio.new_event_loop()
        thread = threading.Thread(target=loop.run_forever, name="serve", daemon=True)
        thread.start()
        try:
            address = asyncio.run_coroutine_threadsafe(listening.__aenter__(), loop).result()
            try:
                yield Served(address)
            finally:
                asyncio.run_coroutine_threadsafe(listening.__aexit__(None, None, None), loop).result()
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()
