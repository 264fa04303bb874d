"""The built pages in a real browser: they send no request to another host, and the search finds Japanese words."""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from contextlib import suppress
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import TimeoutError as NotYet

from tests.site.browser.launching import chromium

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
        """Log nothing."""


@pytest.fixture(scope="module")
def served(built: Path) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(built))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.long
def test_pages_ask_no_other_host_and_fit(served: str, built: Path) -> None:
    with chromium(None) as browser:
        page = browser.new_page()
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        wide: list[tuple[str, int]] = []
        for number, path in enumerate(sorted(built.rglob("*.html"))):
            page.goto(f"{served}/{path.relative_to(built).as_posix()}")
            # All pages have the same scripts, which may ask for something when the page has long been there.
            page.wait_for_load_state("load" if number % 5 else "networkidle")
            for width in (375, 1280):
                page.set_viewport_size({"width": width, "height": 800})
                if page.evaluate("document.documentElement.scrollWidth") > width:
                    wide.append((path.name, width))
    assert [url for url in asked if not url.startswith((served, "data:", "blob:"))] == []
    assert len(asked) > 100
    assert wide == []


def open_search(page: Page) -> None:
    """Press the search key until its field has the focus: the key does nothing before the page's scripts run."""
    for _ in range(40):
        page.keyboard.press("Control+k")
        with suppress(NotYet):
            page.locator("input:focus").wait_for(timeout=500)
            return
    pytest.fail("the search does not open")


@pytest.mark.parametrize(
    ("start", "word", "found"),
    [("ja/index.html", "引っ越し", "closing.html"), ("index.html", "lone surrogate", "format.html")],
)
def test_the_search_finds_words(served: str, start: str, word: str, found: str) -> None:
    with chromium(None) as browser:
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.goto(f"{served}/{start}")
        open_search(page)
        page.keyboard.type(word)
        page.locator(f"a[href*='{found}'] mark").first.wait_for(timeout=20_000)
