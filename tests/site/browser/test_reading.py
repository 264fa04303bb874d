"""Reading by keyboard, without scripts, on paper, and in the dark, in each browser."""

from __future__ import annotations

import subprocess
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.archive.builder import Built
from tests.site.browser.launching import program
from tests.site.browser.tabs import Tab, told, until
from tests.site.browser.trap import Trap

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

FOCUSED = "document.activeElement"


class TestKeys:
    def test_search_from_the_first_page(self, tab: Tab, trap: Trap, demo: Built) -> None:
        site = demo.layout.latest / "site"
        tab.goto((site / "index.html").as_uri())
        tab.press("/")
        tab.press(*"丘の一本桜")
        tab.press("Enter")
        until(tab, "document.querySelector('#results[data-state=done]')")
        assert tab.evaluate("location.href").endswith("search.html?q=%E4%B8%98%E3%81%AE%E4%B8%80%E6%9C%AC%E6%A1%9C")
        assert tab.evaluate("document.querySelector('#results mark').textContent") == "丘の一本桜"
        tab.press("j", "Enter")
        until(tab, "document.querySelector('article.entry')")
        assert told(tab, demo.root, trap) == []

    def test_down_and_up_a_list(self, tab: Tab, site: Path) -> None:
        tab.goto((site / "index.html").as_uri())
        places = []
        for key in "jjjkk":
            tab.press(key)
            places.append(tab.evaluate(f"[...document.querySelectorAll('.cards a')].indexOf({FOCUSED})"))
        # There may be one more item before the entries; the test counts only steps.
        assert [after - before for before, after in pairwise(places)] == [1, 1, -1, -1]

    def test_from_entry_to_entry(self, tab: Tab, site: Path) -> None:
        tab.goto((site / "entry" / "9.html").as_uri())
        tab.press("n")
        until(tab, "location.href.endsWith('/entry/12.html') && document.readyState === 'complete'")
        tab.press("p")
        until(tab, "location.href.endsWith('/entry/9.html')")

    def test_the_help_sheet(self, tab: Tab, site: Path) -> None:
        tab.goto((site / "entry" / "9.html").as_uri())
        tab.press("?")
        assert tab.evaluate("document.getElementById('keys').matches(':modal')")
        assert tab.evaluate("[...document.querySelectorAll('#keys kbd')].map((each) => each.textContent)") == [
            "/", "j", "k", "n", "p", "h", "t", "?", "Esc",
        ]  # fmt: skip
        tab.press("Escape")
        assert not tab.evaluate("document.getElementById('keys').open")

    def test_the_brightness_stays(self, tab: Tab, site: Path) -> None:
        paper = "getComputedStyle(document.documentElement).backgroundColor"
        tab.goto((site / "entry" / "9.html").as_uri())
        light = tab.evaluate(paper)
        tab.press("t")
        assert tab.evaluate(paper) != light
        tab.goto((site / "entry" / "12.html").as_uri())
        assert tab.evaluate("document.documentElement.dataset.theme") == "dark"
        tab.click("[data-do=theme]")
        assert tab.evaluate(paper) == light

    def test_the_lightbox(self, tab: Tab, site: Path) -> None:
        shown = "document.querySelector('dialog.lightbox img').getAttribute('src')"
        tab.goto((site / "gallery.html").as_uri())
        tab.click("a[data-zoom]")
        assert tab.evaluate("document.querySelector('dialog.lightbox').matches(':modal')")
        first = tab.evaluate(shown)
        tab.press("ArrowRight")
        assert tab.evaluate(shown) != first
        tab.press("ArrowLeft")
        assert tab.evaluate(shown) == first
        tab.press("k")
        assert tab.evaluate(shown) != first
        tab.press("Escape")
        assert not tab.evaluate("document.querySelector('dialog.lightbox').open")

    def test_the_skip_link(self, tab: Tab, site: Path) -> None:
        tab.goto((site / "entry" / "9.html").as_uri())
        tab.press("Tab")
        assert tab.evaluate(f"{FOCUSED}.className") == "skip"
        assert tab.evaluate(f"{FOCUSED}.getBoundingClientRect().top") >= 0
        tab.press("Enter")
        until(tab, f"{FOCUSED}.id === 'main'")

    def test_the_focus_is_seen(self, tab: Tab, site: Path) -> None:
        tab.goto((site / "index.html").as_uri())
        for _ in range(12):
            tab.press("Tab")
            style = tab.evaluate(
                f"(({{ outlineStyle, outlineWidth }}) => [outlineStyle, outlineWidth])(getComputedStyle({FOCUSED}))"
            )
            assert style == ["solid", "3px"]


class TestPages:
    def test_reading_of_an_entry_can_be_resumed(self, page: Page, site: Path) -> None:
        page.set_viewport_size({"width": 600, "height": 300})
        page.goto((site / "entry" / "9.html").as_uri())
        page.evaluate("scrollTo(0, 500)")
        page.goto((site / "index.html").as_uri())
        page.locator("#continue summary").click()
        assert page.locator("#continue a").inner_text() == "丘の一本桜"

    def test_versions_can_be_picked(self, tab: Tab, site: Path) -> None:
        tab.goto((site / "history" / "entry-66.html").as_uri())
        shown = "[...document.querySelectorAll('[data-step]')].filter((each) => each.checkVisibility()).length"
        assert tab.evaluate(shown) == 2
        tab.evaluate(
            "(() => { const pick = document.querySelector('[data-do=pick]'); pick.value = 'v2'; pick.dispatchEvent(new Event('change')); })()"
        )
        assert tab.evaluate(shown) == 1

    def test_pictures_are_drawn(self, tab: Tab, site: Path) -> None:
        tab.goto((site / "entry" / "9.html").as_uri())
        # A picture may be decoded after the page counts as loaded.
        assert tab.evaluate("document.querySelector('.body img').decode().then(() => true)")
        assert tab.evaluate("document.querySelector('.body img').naturalWidth") == 320

    def test_a_line_holds_forty_characters(self, tab: Tab, site: Path) -> None:
        tab.goto((site / "entry" / "9.html").as_uri())
        body = "getComputedStyle(document.querySelector('.body'))"
        size = float(tab.evaluate(f"{body}.fontSize")[:-2])
        assert float(tab.evaluate(f"{body}.width")[:-2]) / size == pytest.approx(40, abs=0.5)
        assert float(tab.evaluate(f"{body}.lineHeight")[:-2]) / size == pytest.approx(1.8, abs=0.01)

    @pytest.mark.parametrize("width", [320, 360, 1000])
    def test_nothing_is_wider_than_the_window(self, page: Page, site: Path, hostile: Built, width: int) -> None:
        page.set_viewport_size({"width": width, "height": 800})
        paths = [
            site / f"{name}.html"
            for name in ("index", "entry/9", "entry/34", "years", "gallery", "statistics", "about")
        ]
        paths += sorted((hostile.layout.latest / "site" / "entry").glob("*.html"))[::6]
        for path in paths:
            page.goto(path.as_uri())
            assert page.evaluate("document.documentElement.scrollWidth") <= width, path

    def test_texts_of_the_blog_have_their_language(self, tab: Tab, site: Path) -> None:
        tab.goto((site / "entry" / "9.html").as_uri())
        assert tab.evaluate("document.documentElement.lang") == "ja"
        assert tab.evaluate("[...document.querySelectorAll('.body, h1')].every((each) => each.lang === 'ja')")

    def test_it_reads_without_scripts(self, chromium: Browser, site: Path) -> None:
        context = chromium.new_context(java_script_enabled=False)
        page = context.new_page()
        page.goto((site / "search.html").as_uri())
        assert page.locator("noscript").inner_text()
        page.goto((site / "years.html").as_uri())
        page.locator(".calendar td a").first.click()
        page.locator(".line a").first.click()
        assert page.locator("article .body").inner_text()
        assert page.locator("button[data-do]:visible").count() == 0
        context.close()

    def test_printed_pages_show_link_addresses(self, page: Page, site: Path, tmp_path: Path) -> None:
        entry = next(
            path
            for path in sorted((site / "entry").glob("*.html"))
            if '<a href="https://' in path.read_text("utf-8").partition('class="body"')[2].partition('class="turn"')[0]
        )
        page.goto(entry.as_uri())
        targets = page.evaluate(
            "[...document.querySelectorAll('.body a[href^=http]')].map((each) => each.getAttribute('href'))"
        )
        paper = tmp_path / "entry.pdf"
        page.pdf(path=paper, format="A4")
        text = subprocess.run(
            [program("pdftotext"), "-raw", paper, "-"], stdout=subprocess.PIPE, text=True, check=True
        ).stdout
        flat = "".join(text.split())
        assert targets
        assert all(target in flat for target in targets)
        assert page.evaluate("document.querySelector('h1').textContent") in flat.replace("\u2f00", "")
        assert "ことばをさがす" not in flat
