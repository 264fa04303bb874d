"""300 posts of a real WordPress, captured and replayed by ReplayWeb.page: the same texts at the same addresses."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import Error

from exporter.export.interface import ExportOptions
from exporter.library.wacz import WaczOptions, export_wacz
from exporter.model.records import Audience
from exporter.service.wordpress.source import WordPressService
from tests.importers.conftest import Tool
from tests.importers.test_wordpress import installed
from tests.importers.test_wordpress_source import Blog, back_up, filled, posts
from tests.site.browser.launching import chromium
from tests.site.browser.replaying import player
from tests.site.browser.test_replay import foreign, ready, replayed_frame
from tests.site.browser.test_serve import opened
from tests.site.browser.trap import Trap
from tests.support.captured_demo import capture_by_program

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Frame, Page

__all__ = ["installed"]

pytestmark = pytest.mark.slow
FILLED = 340
"""Of these posts more than 300 are public."""
_STATE = """async () => {
    for (const picture of document.images) picture.scrollIntoView();
    const loaded = () => [...document.images].every(each => each.complete);
    for (let turn = 0; turn < 100 && !loaded(); turn++) await new Promise(done => setTimeout(done, 20));
    return {
        text: document.body.innerText,
        title: document.title,
        pictures: [...document.images].map(each => each.naturalWidth),
        font: getComputedStyle(document.body).fontFamily,
        background: getComputedStyle(document.body).backgroundColor,
    };
}"""


@pytest.fixture
def blog(tool: Tool, installed: Path, tmp_path: Path) -> Iterator[Blog]:
    with filled(tool, installed, tmp_path, FILLED) as running:
        yield running


@pytest.fixture
def browser() -> Iterator[tuple[Browser, Trap]]:
    with Trap() as trap, chromium(f"http://127.0.0.1:{trap.port}") as running:
        yield running, trap


def state(frame: Page | Frame) -> dict[str, Any]:
    found: dict[str, Any] = frame.evaluate(_STATE)
    return found


def test_every_post_looks_as_it_did(
    blog: Blog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    root = tmp_path / "archive"
    asyncio.run(back_up(blog, root, monkeypatch))
    public = [each for each in posts(root).values() if each.audience is Audience.PUBLIC]
    captured = capture_by_program(root, blog.site.url)
    assert captured.pages >= len(public)
    target = tmp_path / "wordpress.wacz"
    exported = export_wacz(root, target, ExportOptions(service=WordPressService()), WaczOptions())
    assert exported.document["captures"]["posts"] == len(public)
    assert len(public) > 300
    running, trap = request.getfixturevalue("browser")
    context = opened(running, trap, viewport={"width": 1000, "height": 900})
    page = context.new_page()
    live = {}
    for post in public:
        page.goto(post.permalink)
        live[post.permalink] = state(page)
    trap.asked.clear()
    different = {}
    with player(target) as playing:
        ready(page, playing)
        for url, expected in live.items():
            try:
                shown = state(replayed_frame(page, playing, url, "main"))
            except Error as error:
                shown = dict.fromkeys(expected, str(error))
            different.update(
                {(url, name): (expected[name], shown[name]) for name in expected if shown[name] != expected[name]}
            )
    context.close()
    assert different == {}
    assert foreign(trap) == []
