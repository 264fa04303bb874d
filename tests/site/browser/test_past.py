"""The blog in older versions, as a reader sees it: lists, entries, comments, pictures, and the way back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.archive.builder import Built
from tests.site.browser.tabs import Tab, told, until
from tests.site.browser.test_audit import WIDTHS, audit
from tests.site.browser.trap import Trap
from tests.site.building import build
from tests.site.past_blog import past_blog, replaced_picture

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser

SHOWN = "document.documentElement.dataset.past === 'shown'"
LINES = "[...document.querySelectorAll('.line a')].map((link) => link.textContent)"
SAID = "[...document.querySelectorAll('li.comment .body')].map((each) => each.textContent.trim())"
PLACE = "location.href.split('/site/')[1]"


@pytest.fixture(scope="session")
def past(tmp_path_factory: pytest.TempPathFactory) -> Built:
    built = past_blog(tmp_path_factory.mktemp("past") / "blog")
    build(built, title="潮だまり日記")
    return built


def at(tab: Tab, built: Built, place: str) -> None:
    """Open a page in a version and wait until it is shown."""
    path, mark, query = place.partition("?")
    tab.goto((built.layout.latest / "site" / path).as_uri() + mark + query)
    until(tab, SHOWN)


def test_lists_are_those_of_the_version(tab: Tab, trap: Trap, past: Built) -> None:
    at(tab, past, "index.html?v=1")
    assert tab.evaluate(LINES) == ["題6", "題5", "題4", "題3", "題2", "題1"]
    at(tab, past, "year/2016.html?v=3")
    assert tab.evaluate(LINES) == ["あとの題7", "題6", "題5", "題4", "題3", "題1"]
    at(tab, past, "years.html?v=2")
    assert tab.evaluate("[...document.querySelectorAll('.sum')].map((each) => each.textContent)") == ["1", "5"]
    at(tab, past, "categories.html?v=1")
    assert tab.evaluate("[...document.querySelectorAll('.tiles strong')].map((each) => each.textContent)") == ["海辺"]
    at(tab, past, "gallery.html?v=2")
    assert tab.evaluate("[...document.querySelectorAll('.gallery figcaption a')].map((e) => e.textContent)") == [
        "新しい題2"
    ]
    assert told(tab, past.root, trap) == []


def test_an_entry_has_the_state_and_comments_of_the_version(tab: Tab, trap: Trap, past: Built) -> None:
    at(tab, past, "entry/2.html?v=2")
    until(tab, f"{PLACE} === 'history/entry-2-v2.html?v=2' && {SHOWN}")
    assert sorted(tab.evaluate(SAID)) == ["あとで消えた感想。", "新しい感想。", "直した感想。"]
    at(tab, past, "entry/2.html?v=1")
    until(tab, f"{PLACE} === 'history/entry-2-v1.html?v=1' && {SHOWN}")
    assert tab.evaluate("document.querySelector('h1').textContent") == "題2"
    assert tab.evaluate(SAID) == ["はじめの感想。", "あとで消えた感想。"]
    at(tab, past, "entry/7.html?v=2")
    assert (
        tab.evaluate("document.getElementById('main').innerText.trim()") == "この日、この記事はまだありませんでした。"
    )
    at(tab, past, "entry/6.html?v=4")
    assert tab.evaluate("document.querySelectorAll('[data-gone], .badge.gone').length") == 0
    assert told(tab, past.root, trap) == []


def test_comments_are_those_of_the_version(tab: Tab, past: Built) -> None:
    at(tab, past, "comments/2018.html?v=1")
    assert sorted(tab.evaluate(SAID)) == ["あとで消えた感想。", "ずっとある感想。", "はじめの感想。"]
    assert "題2" in tab.evaluate("document.querySelector('#comment-12 .about').textContent")
    at(tab, past, "comments/2019.html?v=1")
    assert tab.evaluate(SAID) == []


def test_pictures_are_those_of_the_version(tab: Tab, trap: Trap, tmp_path: Path) -> None:
    built, (first, second) = replaced_picture(tmp_path / "blog")
    build(built)
    shown = "[...document.querySelectorAll('main img, main a[data-zoom]')].map((each) => each.src ?? each.href)"
    for place in ("entry/1.html?v=1", "entry/2.html?v=2", "gallery.html?v=2"):
        at(tab, built, place)
        until(tab, SHOWN)
        found = tab.evaluate(shown)
        assert found, place
        assert all(first in each for each in found), place
    at(tab, built, "entry/2.html?v=3")
    until(tab, f"{PLACE} === 'history/entry-2-v2.html?v=3' && {SHOWN}")
    assert all(second in each for each in tab.evaluate(shown))
    at(tab, built, "gallery.html?v=2")
    tab.click("main a[data-zoom]")
    until(tab, "document.querySelector('.lightbox[open] img').naturalWidth > 0")
    assert first in tab.evaluate("document.querySelector('.lightbox[open] img').src")
    assert told(tab, built.root, trap) == []


def test_the_version_is_kept_across_pages_until_the_user_leaves_it(tab: Tab, past: Built) -> None:
    tab.goto((past.layout.latest / "site" / "history" / "version-3.html").as_uri())
    until(tab, "!document.querySelector('[data-past]').hidden")
    tab.click("[data-past] a")
    until(tab, f"{PLACE} === 'index.html?v=3' && {SHOWN}")
    tab.click(".menu a[href$='years.html']")
    until(tab, f"{PLACE} === 'years.html?v=3' && {SHOWN}")
    tab.click(".calendar a")
    until(tab, f"{PLACE}.startsWith('year/2017.html?v=3') && {SHOWN}")
    tab.click(".line a")
    until(tab, f"{PLACE} === 'history/entry-2-v2.html?v=3' && {SHOWN}")
    tab.click(".earlier .chips a")
    until(tab, f"{PLACE} === 'history/entry-2-v1.html?v=1' && {SHOWN}")
    at(tab, past, "entry/2.html?v=3")
    until(tab, f"{PLACE} === 'history/entry-2-v2.html?v=3' && {SHOWN}")
    tab.click(".turn [rel=prev]")
    until(tab, f"{PLACE} === 'entry/7.html?v=3' && {SHOWN}")
    tab.press("h")
    until(tab, f"{PLACE} === 'index.html?v=3' && {SHOWN}")
    tab.click(".past .step")
    until(tab, f"{PLACE} === 'index.html?v=2' && {SHOWN}")
    tab.evaluate(
        "(() => { const range = document.querySelector('[type=range]'); range.value = 0; range.dispatchEvent(new Event('change')); })()"
    )
    until(tab, f"{PLACE} === 'index.html?v=1' && {SHOWN}")
    tab.evaluate(
        "(() => { const day = document.querySelector('[type=date]'); day.value = '2024-03-30'; day.dispatchEvent(new Event('change')); })()"
    )
    until(tab, f"{PLACE} === 'index.html?v=2' && {SHOWN}")
    tab.click(".past p a")
    until(tab, f"{PLACE} === 'index.html' && !document.querySelector('.past')")


def test_an_unknown_version_shows_the_newest_one(tab: Tab, past: Built) -> None:
    tab.goto((past.layout.latest / "site" / "index.html").as_uri() + "?v=99")
    until(tab, "document.documentElement.dataset.past === undefined && document.querySelector('.cards')")
    assert tab.evaluate("getComputedStyle(document.getElementById('main')).visibility") == "visible"


PAGES = (
    "index.html?v=3", "years.html?v=2", "year/2016.html?v=3", "categories.html?v=3", "gallery.html?v=3", "comments.html?v=2",
    "entry/2.html?v=2", "entry/7.html?v=1", "history.html", "history/version-4.html", "history/entry-2.html", "history/entry-2-v1.html",
)  # fmt: skip


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_the_past(chromium: Browser, past: Built, scheme: Any, width: str) -> None:
    context = chromium.new_context(color_scheme=scheme, viewport={"width": WIDTHS[width], "height": 800})
    page = context.new_page()
    found = {}
    for place in PAGES:
        path, mark, query = place.partition("?")
        page.goto((past.layout.latest / "site" / path).as_uri() + mark + query)
        until(page, SHOWN if mark else "document.querySelectorAll('[data-past][hidden]').length === 0")
        found[place] = audit(page)
    context.close()
    assert {place: wrong for place, wrong in found.items() if wrong} == {}
