"""Pictures by finger, keyboard and mouse, and pages on a phone, in a real Chromium."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from exporter.translation import translator
from tests.site.browser.tabs import until

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


def test_it_shows_the_name_of_a_picture(page: Page, site: Path) -> None:
    opened(page, site)
    caption = page.locator("dialog.lightbox figcaption")
    titled = page.locator("a[data-zoom]").first.get_attribute("title")
    assert caption.locator("span").inner_text() == titled
    assert titled
    assert caption.locator("small").inner_text().startswith("1 / ")
    assert page.locator("dialog.lightbox").get_attribute("aria-label") == translator("ja")("Picture", "site")


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


def test_pictures_of_a_row_are_equally_high_and_fill_it(page: Page, site: Path) -> None:
    page.goto((site / "gallery.html").as_uri())
    heights = page.evaluate(
        "[...document.querySelectorAll('.groups > li > .shots')].map((row) => [...row.children].map((each) => each.offsetHeight))"
    )
    assert any(len(row) > 1 for row in heights)
    assert all(max(row) - min(row) <= 2 for row in heights if len(row) < 4)


def test_a_long_name_and_every_target_fit_a_phone(phone: Page, site: Path) -> None:
    """WCAG 2.2, 2.5.8: a target is 24 pixels high and wide, or is part of a line of text."""
    for path in PAGES:
        phone.goto((site / f"{path}.html").as_uri())
        phone.evaluate(f"document.querySelector('.site-name a').textContent = '{LONG_NAME}'")
        assert phone.evaluate("document.documentElement.scrollWidth") == 375, path
        small = phone.evaluate(
            "[...document.querySelectorAll('header.top a, header.top button, .calendar a, .chips a, .shots a, .groups h3 a')]"
            ".filter((each) => each.checkVisibility() && !each.matches('.skip, .unseen'))"
            ".map((each) => [each.getBoundingClientRect(), each.textContent.slice(0, 20)])"
            ".filter(([box]) => box.height < 24 || box.width < 24).map(([box, text]) => [text, box.width, box.height])"
        )
        assert small == [], path
        current = phone.locator("nav.menu a[aria-current]")
        assert current.count() == (path != "search")
        menu = phone.locator("nav.menu").bounding_box()
        assert menu is not None
        assert menu["height"] < 80
