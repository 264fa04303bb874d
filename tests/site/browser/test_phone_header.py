"""The header of a phone: one row, and a menu that opens without scripts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.site.browser.kinds import kinds
from tests.site.browser.test_audit import audit

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

MAX_HEIGHT_PIXELS = 64
FOCUSED = "document.activeElement.textContent.trim()"


@pytest.mark.parametrize("width", [320, 375])
def test_it_is_one_row_and_no_page_is_wider_than_the_window(chromium: Browser, site: Path, width: int) -> None:
    context = chromium.new_context(viewport={"width": width, "height": 812}, is_mobile=True, has_touch=True)
    page = context.new_page()
    found = {}
    for place in kinds(site):
        page.goto((site / place).as_uri())
        found[place] = page.evaluate(
            "[document.querySelector('.top').getBoundingClientRect().height, document.documentElement.scrollWidth]"
        )
    context.close()
    assert len(found) > 10
    assert {place: told for place, told in found.items() if told[0] > MAX_HEIGHT_PIXELS or told[1] != width} == {}


def test_the_menu_opens_and_closes_with_keys_and_without_scripts(chromium: Browser, site: Path) -> None:
    context = chromium.new_context(
        viewport={"width": 375, "height": 812}, java_script_enabled=False, is_mobile=True, has_touch=True
    )
    page = context.new_page()
    page.goto((site / "index.html").as_uri())
    links = page.locator("#site-menu a")
    assert not links.first.is_visible()
    page.locator(".opens").focus()
    page.keyboard.press("Enter")
    assert links.first.is_visible()
    page.keyboard.press("Tab")
    assert page.evaluate(FOCUSED) == links.first.inner_text()
    page.keyboard.press("Escape")
    assert not links.first.is_visible()
    page.locator(".opens").tap()
    links.nth(1).tap()
    page.wait_for_url("**/years.html")
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_open_menu_is_accessible_and_within_the_window(page: Page, site: Path, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    page.set_viewport_size({"width": 320, "height": 480})
    page.goto((site / "index.html").as_uri())
    page.locator(".opens").click()
    box = page.locator("#site-menu").bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 320
    assert box["y"] + box["height"] <= 480
    assert audit(page) == []


def test_on_a_wide_window_the_menu_and_the_field_are_in_the_header(page: Page, site: Path) -> None:
    for width in (768, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        page.goto((site / "index.html").as_uri())
        assert page.locator("#site-menu a").first.is_visible()
        assert page.locator(".top input").is_visible()
        assert page.locator(".opens, .seek").evaluate_all("all => all.every((each) => !each.checkVisibility())")
