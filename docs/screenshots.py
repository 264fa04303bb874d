"""Draw docs/screenshots/: the demo's site in Chromium, light, dark, and on a phone. Run with ``make screenshots``."""

from __future__ import annotations

import io
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PIL import Image

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from tests.archive.builder import Built  # noqa: E402
from tests.site.browser.launching import chromium  # noqa: E402
from tests.site.building import build, demo_archive  # noqa: E402

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
