"""Nothing on a page moves after it was first drawn, not even if its scripts come late; and nothing is wider than it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.archive.builder import Built
from tests.site.browser.kinds import kinds, whole_blog
from tests.site.browser.tabs import until
from tests.site.browser.test_kinds import MORE, address

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

pytestmark = pytest.mark.browser

BEFORE_DRAWING = ("theme.js", "past.js", "frame.js")
"""The scripts that a browser runs before it draws the page; all others are held back until it has been drawn."""
WATCH = """(() => {
  window.shifts = [];
  new PerformanceObserver((list) => {
    for (const each of list.getEntries()) {
      const moved = each.sources.map(({ node, previousRect, currentRect }) =>
        `${node?.nodeName} ${node?.className} ${previousRect.y} -> ${currentRect.y}, ${previousRect.height} -> ${currentRect.height}`);
      window.shifts.push(`${each.value.toFixed(4)}: ${moved}`);
    }
  }).observe({ type: "layout-shift", buffered: true });
  new PerformanceObserver(() => { window.drawn = true; }).observe({ type: "paint", buffered: true });
  try {
    const site = location.pathname.slice(0, location.pathname.indexOf("/site/") + 6);
    localStorage.setItem(`blog-exporter ${site} reading`, '[{"page": "entry/2.html", "title": "最後の題2", "at": 40}]');
  } catch {}
})()"""
"""Notes each movement of something visible, and remembers an entry that was read in part."""
TO_THE_END = """async () => {
  const drawn = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  for (let at = 0; at < document.documentElement.scrollHeight; at += innerHeight) {
    scrollTo(0, at);
    await drawn();
    const pictures = [...document.images].filter((each) => each.getBoundingClientRect().top < innerHeight);
    await Promise.all(pictures.map((each) => each.decode().catch(() => {})));
  }
  scrollTo(0, 0);
  await drawn();
  return window.shifts;
}"""
ATTEMPTS = 3
"""A busy browser may draw a line before it has read all of the file. A page that itself moves does so every time."""
DRAWN = "window.drawn"
LATE = "document.querySelector('.tool[data-do=theme]:not([hidden])')"
"""True once the script of all pages has run."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built: Built = whole_blog(tmp_path_factory.mktemp("moved") / "blog")
    return built.layout.latest / "site"


# The archive is built first, because Playwright's event loop prevents another one in this thread.
@pytest.mark.parametrize("width", [375, 1280])
def test_nothing_moves_though_the_scripts_come_after_the_page(folder: Path, chromium: Browser, width: int) -> None:
    found = {}
    for place in [*kinds(folder), *MORE, "history/entry-2-v1.html?v=2"]:
        for _ in range(ATTEMPTS):
            context = chromium.new_context(viewport={"width": width, "height": 812}, locale="ja-JP")
            found[place] = _movements(context.new_page(), folder, place)
            context.close()
            if not found[place]:
                break
    assert {place: moved for place, moved in found.items() if moved} == {}


def _movements(page: Page, folder: Path, place: str) -> list[str]:
    """Open a page whose scripts wait until it is drawn; return what moved from then until it was read to its end."""
    held: list[Route] | None = []

    def hold(route: Route) -> None:
        if held is None or route.request.url.endswith(BEFORE_DRAWING):
            route.continue_()
        else:
            held.append(route)

    page.clock.set_fixed_time("2030-01-04T09:00:00")
    page.add_init_script(WATCH)
    page.route("**/*.js", hold)
    where, ready = address(folder, place)
    page.goto(where, wait_until="commit")
    until(page, DRAWN)
    waiting, held = held, None
    assert waiting, place
    for route in waiting:
        route.continue_()
    until(page, LATE)
    until(page, ready)
    moved: list[str] = page.evaluate(TO_THE_END)
    return moved
