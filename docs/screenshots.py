"""Draw docs/screenshots/ for ``make screenshots``: the demo's site and the window in Chromium, wide and on a phone."""

from __future__ import annotations

import io
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from PIL import Image

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from exporter.demo.content import Blog, RawJson, demo_blog, wire  # noqa: E402
from exporter.demo.service import DemoService  # noqa: E402
from tests.archive.builder import Built  # noqa: E402
from tests.site.browser.launching import chromium  # noqa: E402
from tests.site.building import build, demo_archive  # noqa: E402
from tests.support.schedulers import cron_daemon  # noqa: E402
from tests.window.browser.visitor import Visitor  # noqa: E402
from tests.window.opened import opened  # noqa: E402

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

DESK = {"viewport": {"width": 1120, "height": 840}}
WIDE = {"viewport": {"width": 1280, "height": 840}}
PHONE = {"viewport": {"width": 390, "height": 844}, "device_scale_factor": 1.5, "is_mobile": True, "has_touch": True}
SHOTS = (
    ("home", "index.html", "light", DESK),
    ("home-dark", "index.html", "dark", DESK),
    ("home-phone", "index.html", "light", PHONE),
    ("entry", "entry/9.html", "light", DESK),
    ("entry-dark", "entry/9.html", "dark", DESK),
    ("entry-phone", "entry/9.html", "dark", PHONE),
    ("long", "entry/71.html", "light", WIDE),
    ("code", "entry/35.html", "dark", WIDE),
    ("years", "years.html", "light", DESK),
    ("search", "search.html?q=海", "light", DESK),
    ("search-phone", "search.html?q=海", "light", PHONE),
    ("gallery", "gallery.html", "light", DESK),
    ("gallery-phone", "gallery.html", "dark", PHONE),
    ("lightbox", "gallery.html", "dark", DESK),
    ("statistics", "statistics.html", "light", DESK),
    ("statistics-dark", "statistics.html", "dark", DESK),
    ("history", "history/version-2.html", "light", DESK),
    ("past", "entry/50.html?v=1", "light", DESK),
    ("past-phone", "index.html?v=1", "dark", PHONE),
    ("about", "about.html", "light", DESK),
)
"""Name, page, brightness, window."""

_NAME_THE_HOME = """home => {
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) texts.currentNode.data = texts.currentNode.data.replaceAll(home, "/home/shione");
}"""
"""Replaces the name of the temporary home folder, which changes each time."""


def main() -> None:
    """Build the demo's site in an empty folder and photograph it."""
    target = HERE / "screenshots"
    target.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "demo"
        demo_archive(root)
        built = Built.reopen(root)
        build(built, title="潮だまり日記", entry_addresses=("https://{blog_id}/Entry/{entry_id}/",))
        with chromium(None) as browser:
            for name, page, scheme, window in SHOTS:
                shot = _photograph(browser, (root / "latest" / "site").as_uri() + "/" + page, scheme, window, name)
                (target / f"{name}.png").write_bytes(shot)
        for name, window in (("", DESK), ("-phone", PHONE)):
            with chromium(None) as browser:
                for step, shot in _way_through_the_window(browser, Path(folder) / f"home{name}", window):
                    (target / f"window-{step}{name}.png").write_bytes(_small(shot))


def _way_through_the_window(browser: Browser, home: Path, window: dict[str, Any]) -> Iterator[tuple[str, bytes]]:
    """Save the demo's blog from its address, and export it for Hatena Blog; yield each step's name and picture."""
    blog = demo_blog()
    service = DemoService(blog)
    with service.run_in_thread(), cron_daemon():
        _serve_pictures(blog, service.base_url)
        settings = home / ".config" / "blog-exporter" / "blog-exporter.toml"
        settings.parent.mkdir(parents=True)
        settings.write_text(
            f'allow_private_network = "yes"\n[profiles.demo]\nblog_hosts = "{blog.blog_id}"\n'
            f'base_url = "{service.base_url}"\nfile_url = "{service.base_url}/v1/blog/user/{{user_id}}/{{mtime}}"\n'
        )
        with opened(home) as started:
            context = browser.new_context(locale="ja-JP", reduced_motion="reduce", **window)
            visitor = Visitor(context.new_page(), started)
            visitor.page.goto(started.address)
            yield "home", visitor.page.screenshot()
            visitor.looks_at(f"https://{blog.blog_id}/")
            yield "found", visitor.page.screenshot()
            visitor.begins()
            yield "saved", visitor.page.screenshot()
            visitor.exports_for_hatena()
            visitor.page.evaluate(_NAME_THE_HOME, str(home))
            yield "exported", visitor.page.screenshot()
            context.close()


def _serve_pictures(blog: Blog, base_url: str) -> None:
    """Give all pictures addresses at the service, because the blog's own picture hosts do not exist."""
    addresses = sorted(blog.pictures, key=len, reverse=True)
    ours = {address.encode(): (base_url + urlsplit(address).path).encode() for address in addresses}

    def moved(text: bytes) -> bytes:
        return re.sub(b"|".join(map(re.escape, ours)), lambda found: ours[found[0]], text)

    for number, record in list(blog.entries.items()):
        blog.entries[number] = RawJson(moved(wire(record)))
    blog.pictures = {moved(address.encode()).decode(): picture for address, picture in blog.pictures.items()}


def _photograph(browser: Browser, address: str, scheme: str, window: dict[str, Any], name: str) -> bytes:
    context = browser.new_context(color_scheme=scheme, locale="ja-JP", reduced_motion="reduce", **window)  # type: ignore[arg-type]
    page = context.new_page()
    page.clock.set_fixed_time("2026-04-12T12:00:00+09:00")
    page.goto(address)
    _prepare(page, address, name)
    shot = page.screenshot()
    context.close()
    return _small(shot)


def _prepare(page: Page, address: str, name: str) -> None:
    if "?q=" in address:
        page.wait_for_selector("#results[data-state=done]")
        page.evaluate("document.activeElement.blur()")
    if "?v=" in address:
        page.wait_for_selector("[data-past=shown] main")
    if name == "lightbox":
        page.locator("a[data-zoom]").nth(4).click()
    page.wait_for_load_state("networkidle")


def _small(png: bytes) -> bytes:
    """Return the picture in at most 256 colours, which text and flat drawings do not miss."""
    with Image.open(io.BytesIO(png)) as picture:
        few = picture.convert("RGB").quantize(256, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    kept = io.BytesIO()
    few.save(kept, "PNG", optimize=True)
    return kept.getvalue()


if __name__ == "__main__":
    main()
