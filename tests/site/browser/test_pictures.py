"""Pictures by finger, keyboard and mouse, and pages on a phone, in a real Chromium."""

from __future__ import annotations

import io
import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from PIL import Image
from playwright.sync_api import expect

from exporter.translation import translator
from tests.site.browser.tabs import until
from tests.site.picture_blog import picture_blog

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

SHOWN = "document.querySelector('dialog.lightbox img').getAttribute('src')"
OPEN = "document.querySelector('dialog.lightbox').open"
LONG_NAME = "海辺の小さな町で暮らす家族の十五年の日記帳です。全部"
PAGES = (
    "index", "entry/9", "entry/34", "years", "year/2016", "categories", "comments", "gallery", "gallery/2016", "statistics",
    "history", "about", "search",
)  # fmt: skip


@pytest.fixture(scope="session")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return picture_blog(tmp_path_factory.mktemp("photos") / "blog").layout.latest / "site"


@pytest.fixture
def phone(chromium: Browser) -> Iterator[Page]:
    context = chromium.new_context(
        viewport={"width": 375, "height": 700}, is_mobile=True, has_touch=True, locale="ja-JP"
    )
    yield context.new_page()
    context.close()


def swipe(page: Page, by: tuple[int, int]) -> None:
    """Move a finger over the middle of the window, with touch events like the system's."""
    session = page.context.new_cdp_session(page)
    steps = [(190 + by[0] * step // 4, 350 + by[1] * step // 4) for step in range(5)]
    for at, (x, y) in enumerate(steps):
        kind = "touchStart" if at == 0 else "touchMove"
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y}]})
    session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    session.detach()


def opened(page: Page, site: Path, path: str = "gallery.html") -> str:
    page.goto((site / path).as_uri())
    page.locator("a.zooms").first.click()
    assert page.evaluate(OPEN)
    return str(page.evaluate(SHOWN))


def test_a_finger_switches_and_closes_pictures(phone: Page, site: Path) -> None:
    first = opened(phone, site)
    swipe(phone, (-150, 10))
    assert phone.evaluate(SHOWN) != first
    swipe(phone, (150, -10))
    assert phone.evaluate(SHOWN) == first
    swipe(phone, (-20, 0))
    assert phone.evaluate(SHOWN) == first
    assert phone.evaluate("document.querySelector('dialog.lightbox img').style.transform") == ""
    swipe(phone, (10, 200))
    assert not phone.evaluate(OPEN)


def test_the_back_button_closes_it_and_keeps_the_place_on_the_page(phone: Page, site: Path) -> None:
    phone.goto((site / "index.html").as_uri())
    opened(phone, site)
    for _ in range(12):
        phone.keyboard.press("ArrowRight")
    last = phone.evaluate(SHOWN)
    phone.evaluate("history.back()")
    until(phone, f"!{OPEN}")
    assert phone.url.endswith("/gallery.html")
    focused = phone.locator(":focus")
    assert phone.evaluate("document.activeElement.href") == last
    expect(focused).to_be_in_viewport()
    # Any way to close it leaves no step in the history.
    focused.click()
    assert phone.evaluate(OPEN)
    phone.locator("dialog.lightbox .close").click()
    until(phone, "history.scrollRestoration === 'auto'")
    expect(focused).to_be_in_viewport()
    phone.go_back()
    assert phone.url.endswith("/index.html")


def test_two_fingers_zoom_a_picture_and_one_then_moves_it(phone: Page, site: Path) -> None:
    first = opened(phone, site)
    session = phone.context.new_cdp_session(phone)
    session.send("Input.synthesizePinchGesture", {"x": 180, "y": 350, "scaleFactor": 2.5, "relativeSpeed": 2000})
    until(phone, "visualViewport.scale > 1.5 && document.querySelector('.lightbox .near')")
    place = phone.evaluate("visualViewport.pageLeft")
    swipe(phone, (-150, 0))
    until(phone, f"visualViewport.pageLeft > {place}")
    assert phone.evaluate(SHOWN) == first
    assert phone.evaluate(OPEN)


def test_buttons_switch_and_close_and_the_focus_stays_inside(page: Page, site: Path) -> None:
    first = opened(page, site)
    t = translator("ja")
    page.wait_for_selector("dialog.lightbox[aria-label]")
    page.get_by_role("button", name=t("Next picture")).click()
    second = page.evaluate(SHOWN)
    assert second != first
    page.get_by_role("button", name=t("Previous picture")).click()
    assert page.evaluate(SHOWN) == first
    for _ in range(7):
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.closest('dialog.lightbox') !== null")
    page.keyboard.press("ArrowRight")
    page.get_by_role("button", name=t("Close")).click()
    assert not page.evaluate(OPEN)
    assert page.evaluate("document.activeElement.href") == second


def test_captions_name_the_entry_and_its_date(page: Page, photos: Path) -> None:
    opened(page, photos)
    caption = page.locator("dialog.lightbox figcaption")
    assert caption.inner_text().split("\n") == ["組み写真 · 2021年1月25日", "1 / 48"]
    assert str(caption.locator("a").get_attribute("href")) == "entry/90.html"
    assert page.locator("dialog.lightbox").get_attribute("aria-label") == translator("ja")("Picture", "site")
    below = page.locator(".gallery figcaption")
    assert below.count() == 48
    for each in below.all_inner_texts():
        assert re.fullmatch(r"\S.*\s+20[12][0-9]年[0-9]{1,2}月[0-9]{1,2}日\s*", each)
    assert ".JPG" not in page.locator("body").inner_text()
    page.keyboard.press("Shift+Tab")
    assert page.evaluate("document.activeElement.className") == "after"
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_url("**/entry/90.html")


def test_captions_on_an_entry_have_the_words_of_the_picture(page: Page, photos: Path) -> None:
    page.goto((photos / "entry/90.html").as_uri())
    said = []
    for number in (0, 2, 3):
        page.locator("a.zooms").nth(number).click()
        said.append(page.locator("dialog.lightbox figcaption").inner_text().split("\n"))
        page.keyboard.press("Escape")
    entry = "組み写真 · 2021年1月25日（月） 21:05"
    assert said == [[entry, "1 / 14"], ["朝の港", entry, "3 / 14"], ["桜", entry, "4 / 14"]]


@pytest.mark.parametrize("width", [375, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_buttons_are_seen_on_white_and_black_pictures(chromium: Browser, photos: Path, width: int, scheme: Any) -> None:
    context = chromium.new_context(viewport={"width": width, "height": 700}, color_scheme=scheme)
    page = context.new_page()
    page.goto((photos / "entry/91.html").as_uri())
    for number in (0, 1):
        page.locator("a.zooms").nth(number).click()
        page.locator("dialog.lightbox img").evaluate("(image) => image.decode()")
        # The picture lies under the buttons, as when it is zoomed.
        page.locator("dialog.lightbox img").evaluate(
            "(image) => image.style.cssText = 'position:fixed;inset:0;width:100%;height:100%;max-width:none;max-height:none;object-fit:fill'"
        )
        for name in ("before", "after", "close"):
            box = page.locator(f"dialog.lightbox .{name}").bounding_box()
            assert box is not None
            assert min(box["width"], box["height"]) >= 44
            around = {"x": box["x"] - 6, "y": box["y"] - 6, "width": box["width"] + 12, "height": box["height"] + 12}
            shot = Image.open(io.BytesIO(page.screenshot(clip=around))).convert("L")  # type: ignore[arg-type]
            middle = shot.crop((18, 18, shot.width - 18, shot.height - 18))
            edge = shot.crop((0, shot.height // 2 - 1, 12, shot.height // 2 + 1))
            assert contrast(middle) >= 3, (name, "sign")
            assert contrast(edge) >= 3, (name, "edge")
        page.keyboard.press("Escape")
    context.close()


def contrast(shot: Image.Image) -> float:
    """Return the contrast between the darkest and the lightest pixel (WCAG 2.2), for shades of grey."""
    shades = shot.tobytes()
    dark, light = (((value / 255 + 0.055) / 1.055) ** 2.4 for value in (min(shades), max(shades)))
    return float((light + 0.05) / (dark + 0.05))


def test_a_click_outside_of_the_picture_closes_it(page: Page, site: Path) -> None:
    opened(page, site)
    page.mouse.click(20, 20)
    assert not page.evaluate(OPEN)


def test_a_picture_in_a_text_opens_alone(page: Page, site: Path) -> None:
    opened(page, site, "entry/9.html")
    assert page.locator("dialog.lightbox img").evaluate("(image) => image.decode().then(() => image.naturalWidth)") > 0


def test_without_scripts_a_picture_opens_by_its_link(chromium: Browser, site: Path) -> None:
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    for path, link in (("gallery.html", "a[data-zoom]"), ("entry/9.html", ".body a > img")):
        page.goto((site / path).as_uri())
        page.locator(link).first.click()
        page.wait_for_url("**/assets/**")
    context.close()


ROWS = """(selector) => {
  const rows = new Map();
  for (const each of document.querySelectorAll(selector)) {
    const box = each.getBoundingClientRect();
    const row = [...rows.keys()].find((bottom) => Math.abs(bottom - box.bottom) < 4) ?? box.bottom;
    rows.set(row, [...(rows.get(row) ?? []), [box.left, box.right, box.height, box.width]]);
  }
  return [...rows.values()];
}"""


@pytest.mark.parametrize("width", [320, 375, 576, 600, 768, 1280])
@pytest.mark.parametrize("path", ["gallery.html", "gallery/2020.html"])
def test_rows_of_the_gallery_fill_the_width_of_the_page(chromium: Browser, photos: Path, width: int, path: str) -> None:
    context = chromium.new_context(viewport={"width": width, "height": 800})
    page = context.new_page()
    page.goto((photos / path).as_uri())
    bar = page.locator(".bar").bounding_box()
    assert bar is not None
    rows = page.evaluate(ROWS, ".gallery img")
    assert len(rows) > 4
    for row in rows:
        assert abs(row[0][0] - bar["x"]) <= 1
        assert max(height for *_, height, _ in row) - min(height for *_, height, _ in row) <= 2
        assert all(later[0] - earlier[1] >= 6 for earlier, later in itertools.pairwise(row))
    for row in rows[:-1]:
        assert abs(row[-1][1] - bar["x"] - bar["width"]) <= 2
    assert rows[-1][-1][1] <= bar["x"] + bar["width"] + 2
    assert max(len(row) for row in rows) <= (3 if width <= 576 else 6)
    shares = page.evaluate(
        "[...document.querySelectorAll('.gallery img')].map((each) => each.width / each.height - each.getAttribute('width') / each.getAttribute('height'))"
    )
    assert sum(abs(share) > 0.06 for share in shares) <= 1, "only the very tall picture is cut"
    months = page.locator(".gallery h2").all_inner_texts()
    assert len(months) == len(set(months)) > 5
    context.close()


def test_the_gallery_of_an_older_version_has_the_same_rows(page: Page, photos: Path) -> None:
    placed = (
        "[...document.querySelectorAll('.gallery > li')].map((each) => [each.getAttribute('style'),"
        " each.querySelector('h2')?.id ?? '', each.querySelector('h2')?.textContent ?? '', each.querySelector('img').alt, each.querySelector('figcaption').textContent.trim()])"
    )
    page.goto((photos / "gallery/2019.html").as_uri())
    today = page.evaluate(placed)
    page.goto((photos / "gallery/2019.html").as_uri() + "?v=1")
    until(page, "document.documentElement.dataset.past === 'shown'")
    assert sorted(page.evaluate(placed)) == sorted(today)
    assert len(today) > 10


def test_months_are_reached_by_links_and_headings(page: Page, photos: Path) -> None:
    page.goto((photos / "gallery/2020.html").as_uri())
    page.set_viewport_size({"width": 1280, "height": 400})
    month = page.get_by_role("heading", name="5月", exact=True)
    expect(month).not_to_be_in_viewport()
    page.locator(".chips a", has_text="5月").click()
    expect(month).to_be_in_viewport()
    assert page.url.endswith("#m2020-05")


@pytest.mark.parametrize("width", [375, 1280])
def test_groups_of_pictures_are_rows_with_gaps(chromium: Browser, photos: Path, width: int) -> None:
    context = chromium.new_context(viewport={"width": width, "height": 800})
    page = context.new_page()
    page.goto((photos / "entry/90.html").as_uri())
    body = page.locator("article .body").bounding_box()
    assert body is not None
    rows = page.evaluate(ROWS, ".pictures .row img")
    assert [len(row) for row in rows] == [2] * 6
    for row in rows:
        assert abs(row[0][0] - body["x"]) <= 1
        assert abs(row[-1][1] - body["x"] - body["width"]) <= 2
        assert row[1][0] - row[0][1] >= 6
        assert abs(row[0][2] - row[1][2]) <= 2
        assert min(row[0][3], row[1][3]) >= 60
    page.evaluate("document.documentElement.dataset.way = 'vertical'")
    for row in page.evaluate(ROWS, ".pictures:first-of-type .row img")[:1]:
        assert row[1][0] - row[0][1] >= 6
        assert abs(row[0][2] - row[1][2]) <= 2
    context.close()


def test_no_picture_is_higher_than_the_window(page: Page, photos: Path) -> None:
    page.set_viewport_size({"width": 1280, "height": 500})
    for path in ("entry/90.html", "entry/91.html"):
        page.goto((photos / path).as_uri())
        heights = page.evaluate("[...document.querySelectorAll('.body img')].map((each) => each.height)")
        assert all(40 < each <= 500 for each in heights), path
    moved = page.evaluate(
        "new Promise((done) => new PerformanceObserver((list) => done(list.getEntries().length)).observe({ type: 'layout-shift', buffered: true })"
        " || requestAnimationFrame(() => requestAnimationFrame(() => done(0))))"
    )
    assert moved == 0


def test_a_long_name_and_every_target_fit_a_phone(phone: Page, site: Path) -> None:
    """WCAG 2.2, 2.5.8: a target is 24 pixels high and wide, or is part of a line of text."""
    for path in PAGES:
        phone.goto((site / f"{path}.html").as_uri())
        phone.evaluate(f"document.querySelector('.site-name a').textContent = '{LONG_NAME}'")
        assert phone.evaluate("document.documentElement.scrollWidth") == 375, path
        small = phone.evaluate(
            "[...document.querySelectorAll('header.top a, header.top button, .calendar a, .chips a, .shots a, .gallery a')]"
            ".filter((each) => each.checkVisibility() && !each.matches('.skip, .unseen'))"
            ".map((each) => [each.getBoundingClientRect(), each.textContent.slice(0, 20)])"
            ".filter(([box]) => box.height < 24 || box.width < 24).map(([box, text]) => [text, box.width, box.height])"
        )
        assert small == [], path
        current = phone.locator("nav.menu a[aria-current]")
        assert current.count() == (path != "search")
        top = phone.locator("header.top").bounding_box()
        assert top is not None
        assert top["height"] < 80
        phone.locator("header.top .opens").tap()
        menu = phone.locator("nav.menu").bounding_box()
        assert menu is not None
        assert menu["x"] >= 0
        assert menu["x"] + menu["width"] <= 375
        assert menu["y"] + menu["height"] <= 700
        heights = phone.locator("nav.menu a").evaluate_all("(links) => links.map((each) => each.offsetHeight)")
        assert len(heights) > 5
        assert min(heights) >= 24
