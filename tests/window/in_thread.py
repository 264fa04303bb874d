"""A window in a thread, with real jobs in real child processes, and a client that sends its forms."""

from __future__ import annotations

import asyncio
import re
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path
from typing import Final
from urllib.parse import urlencode, urljoin

from exporter.archive.settings_file import note_archive
from exporter.serve.listening import Place
from exporter.window.archives import key_of
from exporter.window.jobs import Job
from exporter.window.routes import ROUTES
from exporter.window.server import WindowServer
from exporter.window.window import Window
from tests.support import printed

_HOME: Final = Path.home()
"""The home folder of the person who runs the tests; commands that pages print run only in a test's own."""
_TOKEN: Final = "a-token-of-the-tests"
_PATIENCE_SECONDS: Final = 240.0

Form = Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Got:
    """A page: its address after redirects, its status and its text."""

    url: str
    status: int
    text: str

    @property
    def words(self) -> str:
        """Its text without tags."""
        return re.sub(r"<[^>]+>", " ", self.text)


@dataclass
class Running:
    """A window, and a browser without JavaScript.

    Attributes:
        window: its state.
        url: the address of its first page.
        warnings: the server's warnings.
    """

    window: Window
    url: str
    warnings: list[str] = field(default_factory=list)

    def page_of(self, archive: Path, path: str = "") -> str:
        """Return the address of a page of an archive."""
        return f"{self.url}blog/{key_of(archive)}{path}"

    def get(self, url: str) -> Got:
        """Open a page."""
        return self._open(urllib.request.Request(url))

    def post(self, url: str, form: Form = (), body: bytes | None = None) -> Got:
        """Send a form as a browser does, and follow to the next page."""
        origin = re.match(r"http://[^/]+", url)
        assert origin is not None
        data = urlencode(list(form)).encode() if body is None else body
        return self._open(urllib.request.Request(url, data, {"Origin": origin[0]}))

    def ended(self, got: Got) -> Got:
        """Open a page again until none of its jobs runs."""
        until = time.monotonic() + _PATIENCE_SECONDS
        while "data-running" in got.text:
            assert time.monotonic() < until, got.words
            time.sleep(0.2)
            got = self.get(got.url)
        return got

    def newest(self, archive: Path, about: str = "") -> Job:
        """Return the newest job about an archive."""
        job = self.window.jobs.newest(str(archive), about)
        assert job is not None
        return job

    def _open(self, request: urllib.request.Request) -> Got:
        try:
            with urllib.request.urlopen(request, timeout=_PATIENCE_SECONDS) as answer:
                got = Got(urljoin(request.full_url, answer.url), answer.status, answer.read().decode())
        except urllib.error.HTTPError as error:
            got = Got(request.full_url, error.code, error.read().decode())
        if Path.home() != _HOME:
            printed.try_here(unescape(got.text.replace("<wbr>", "")), Path.home().parent)
        return got


@contextmanager
def running_window(folder: Path, archive: Path | None = None, language: str = "en") -> Iterator[Running]:
    """Serve a window that knows an archive, or none."""
    if archive is not None:
        note_archive(archive)
    window = Window(folder, language, f"/{_TOKEN}/", ROUTES)
    warnings: list[str] = []
    server = WindowServer(window, Place("127.0.0.1", 0, _TOKEN), warnings.append)
    loop = asyncio.new_event_loop()
    started: list[str] = []
    ready, ending = threading.Event(), asyncio.Event()

    async def serve() -> None:
        async with server.listening() as url:
            started.append(url)
            ready.set()
            await ending.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    try:
        assert ready.wait(_PATIENCE_SECONDS)
        yield Running(window, started[0], warnings)
    finally:
        loop.call_soon_threadsafe(ending.set)
        thread.join()
        loop.close()
        for job in window.jobs.running():
            job.stop()
        for child in window.jobs._children.values():
            child.wait(_PATIENCE_SECONDS)
        for way in window.jobs._asking.values():
            way.close()
