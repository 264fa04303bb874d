"""From an archive's page to a file that Hatena Blog imports, in Chromium and in Japanese, on a phone and on a desk."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from exporter.window.export_form import facts_of
from tests.site.browser import launching
from tests.site.browser.test_audit import audit
from tests.window.in_thread import Running, running_window

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

PRIVATE = ("配達の手引き（自分用）", "テスト", "祖母の日記のこと")
"""The titles of entries that the owner does not call public."""
MOST_CLICKS = 6
PAGES = ("", "/export", "/export/hatena", "/export/pdf", "/export/hugo", "/move", "/compare", "/copies", "/schedule", "/notifications", "/doctor")  # fmt: skip


@pytest.fixture
def japanese(home: Path, archive: Path) -> Iterator[Running]:
    with running_window(home / "window", archive, "ja") as window:
        yield window
        assert window.warnings == []


@pytest.fixture
def browser(japanese: Running) -> Iterator[Browser]:
    with launching.chromium(None) as chromium:
        yield chromium


class Finger:
    """Clicks, and counts."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.clicks = 0

    def click(self, place: str) -> None:
        self.page.click(place)
        self.clicks += 1


@pytest.mark.parametrize(("width", "scripts"), [(375, True), (1280, True), (375, False)])
def test_from_the_archive_to_a_file_for_hatena(
    japanese: Running, archive: Path, home: Path, browser: Browser, width: int, scripts: bool
) -> None:
    facts = facts_of(japanese.window, archive)
    open_entry = next(each.key for each in facts.entries if each.code == "1" and not each.periodic)
    open_comment = next(each.key for each in facts.comments if each.code == "f")
    context = browser.new_context(viewport={"width": width, "height": 800}, locale="ja-JP", java_script_enabled=scripts)
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(japanese.page_of(archive))
    finger = Finger(page)
    finger.click('a[href$="/export"]')
    finger.click('a[href$="/export/hatena"]')
    assert page.locator("input:checked").evaluate_all("all => all.map(each => each.value)") == ["stay"]
    finger.click(f'input[value="{open_entry}"]')
    finger.click(f'input[value="{open_comment}"]')
    finger.click("form.ask button.main")
    page.wait_for_selector("form.do button.main", timeout=120_000)
    shown = sums(page)
    assert overflow(page) == 0
    finger.click("form.do button.main")
    page.wait_for_selector("ol.steps", timeout=120_000)
    assert sums(page) == shown
    assert overflow(page) == 0
    assert finger.clicks <= MOST_CLICKS
    (report,) = (home / "blogs").glob("*-hatena.report.json")
    document = json.loads(report.read_text("utf-8"))
    assert shown[0][:2] == [document["in"]["entries"], document["out"]["entries"]]
    assert shown[1][:2] == [document["in"]["comments"], document["out"]["comments"]]
    (file,) = (home / "blogs").glob("*-hatena/*.txt")
    text = file.read_text("utf-8")
    assert text.count("\n--------\n") == shown[0][1] == 55
    assert not [title for title in PRIVATE if re.search(rf"^TITLE: {re.escape(title)}$", text, re.MULTILINE)]
    assert {url for url in asked if not url.startswith((japanese.url, "data:"))} == set()
    context.close()


def sums(page: Page) -> list[list[int]]:
    """Return the numbers in the page's table."""
    rows: list[list[str]] = page.locator(".sums tbody tr").evaluate_all(
        "rows => rows.map(row => [...row.querySelectorAll('td')].map(each => each.textContent))"
    )
    return [[int(number.replace(",", "")) for number in row] for row in rows]


def overflow(page: Page) -> Any:
    """Return by how many pixels the page is wider than the window."""
    return page.evaluate("document.documentElement.scrollWidth - innerWidth")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [375, 1280])
def test_axe_finds_nothing_and_no_page_is_too_wide(
    japanese: Running, archive: Path, home: Path, browser: Browser, width: int, scheme: Any
) -> None:
    japanese.ended(japanese.post(japanese.page_of(archive, "/copies"), [("other", str(home / "copy"))]))
    tried = japanese.ended(japanese.post(japanese.page_of(archive, "/export/hatena"), [("folder", str(home / "out"))]))
    wrong = japanese.page_of(archive, "/export/csv")
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme, locale="ja-JP")
    page = context.new_page()
    found = {}
    for place in [*(japanese.page_of(archive, path) for path in PAGES), tried.url]:
        page.goto(place)
        found[place] = [*audit(page), *(["too wide"] if overflow(page) else [])]
    page.goto(wrong)
    page.click("form.ask button.main")
    page.wait_for_selector('[role="alert"]')
    found["refused"] = audit(page)
    context.close()
    assert {place: each for place, each in found.items() if each} == {}


def test_the_form_is_filled_by_keyboard_alone(japanese: Running, archive: Path, browser: Browser) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.goto(japanese.page_of(archive, "/export/csv"))
    names: list[str] = []
    for _ in range(60):
        page.keyboard.press("Tab")
        name = page.evaluate("document.activeElement.name || document.activeElement.className || ''")
        names.append(name)
        if name == "public":
            page.keyboard.press("Space")
        if name == "main":
            break
    assert names.index("public") < names.index("folder") < names.index("main")
    assert page.locator('input[name="public"]:checked').count() == 3
    page.keyboard.press("Enter")
    page.wait_for_selector("form.do button.main", timeout=120_000)
    page.close()
