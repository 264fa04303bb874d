"""The home page on the day that it is opened: entries of this day in other years; without scripts, the newest ones."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.site.browser.tabs import until
from tests.site.browser.test_audit import audit

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_shows_the_entries_of_this_day_with_picture_and_beginning(
    chromium: Browser, site: Path, scheme: str
) -> None:
    context = chromium.new_context(color_scheme=scheme, viewport={"width": 375, "height": 800})  # type: ignore[arg-type]
    page = context.new_page()
    page.clock.set_fixed_time("2030-04-03T09:00:00")
    page.goto((site / "index.html").as_uri())
    summary = page.locator("#today summary")
    summary.wait_for()
    assert summary.inner_text() == "この日の記事 1"
    card = page.locator("#today li")
    assert card.is_hidden()
    summary.click()
    assert card.locator("strong").inner_text() == "かもめ書房で働きはじめました"
    assert card.locator("time").inner_text() == "2017年4月3日（月）"
    assert "駅前の小さな本屋さん" in card.locator(".excerpt").inner_text()
    card.locator("img").evaluate("image => image.decode()")
    assert audit(page) == []
    card.locator("a").click()
    assert page.locator("h1").inner_text() == "かもめ書房で働きはじめました"
    context.close()


def test_without_entries_of_this_day_there_is_no_such_part(page: Page, site: Path) -> None:
    page.clock.set_fixed_time("2030-04-04T09:00:00")
    page.goto((site / "index.html").as_uri())
    until(page, "!document.querySelector('[data-do=random]').hidden")
    assert page.locator("#today").is_hidden()
    page.locator("[data-do=random]").click()
    page.wait_for_selector("article.entry")


def test_without_scripts_the_newest_entries_are_shown(chromium: Browser, site: Path) -> None:
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((site / "index.html").as_uri())
    assert page.locator("#today").is_hidden()
    assert page.locator(".cards > li:visible").count() == 12
    assert page.locator(".strips a").count() > 5
    context.close()
