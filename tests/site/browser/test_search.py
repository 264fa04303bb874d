"""What the search page finds, against plain substrings of folded texts, in both browsers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from exporter.model.kinds import Kind
from exporter.search.folding import fold
from exporter.site import search_data
from tests.archive.builder import record
from tests.site.browser.tabs import Tab, until
from tests.site.building import build
from tests.site.test_view import entry, many_entries

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser

QUERIES = (
    "題", "題15", "本文", "の本文29", "題1 本文7", '"題3の本文3"', "ﾎﾝ", "１５", "無い言葉", "7 8 9", "題2の", "abc12", "bc1",
    "c", "ABC", "𠮷", "c𠮷の", "ｶﾞｯｺｳ", "ガッコウ", "ガッ", "がっこう", "ｓｔｒａｓｓｅ", "straße", "İ", "と ａｂ",
)  # fmt: skip


def searched(tab: Tab, query: str) -> int:
    """Search, and return how many were found."""
    tab.evaluate(
        f"""(() => {{ document.getElementById("results").dataset.state = ""; const form = document.getElementById("search");
        form.elements.q.value = {query!r}; form.requestSubmit(); }})()"""
    )
    until(tab, "document.querySelector('#results[data-state=done]')")
    return int(tab.evaluate("document.getElementById('results').dataset.count"))


@pytest.mark.parametrize("sharded", [False, True])
def test_it_finds_all_and_nothing_else(
    tab: Tab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sharded: bool
) -> None:
    monkeypatch.setattr(search_data, "SMALL_BLOG", 10 if sharded else 10_000)
    built = many_entries(tmp_path / "a", 400)
    odd = {"401": "Abc12 と ＡＢＣ𠮷", "402": "ガッコウ STRASSE İstanbul", "403": "か\u3099っこう straße"}
    built.commit(
        {
            Kind.ENTRIES: {key: entry(int(key), title) for key, title in odd.items()},
            Kind.COMMENTS: {"1": record(cm_id="1", entry_id="3", name="はな", cm_text="題15は無い言葉")},
        }
    )
    build(built)
    texts = {str(at): f"題{at}の本文{at}\n題{at}" for at in range(1, 401)}
    texts |= {key: f"{title}の本文{key}\n{title}" for key, title in odd.items()}
    texts["3"] += "\n題15は無い言葉\nはな"
    folded = [fold(text) for text in texts.values()]
    tab.goto((built.layout.latest / "site" / "search.html").as_uri())
    until(tab, "document.documentElement.dataset.search === 'ready'")
    for query in QUERIES:
        words = [fold(query).strip('"')] if query.startswith('"') else fold(query).split()
        assert searched(tab, query) == sum(all(word in text for word in words) for text in folded), query


def test_twenty_at_a_time(tab: Tab, tmp_path: Path) -> None:
    built = many_entries(tmp_path / "a", 50)
    build(built)
    tab.goto((built.layout.latest / "site" / "search.html").as_uri() + "?q=%E6%9C%AC%E6%96%87")
    until(tab, "document.querySelector('#results[data-state=done]')")
    shown = "document.querySelectorAll('#results li').length"
    counts = [tab.evaluate(shown)]
    for _ in range(2):
        tab.click("#more")
        counts.append(tab.evaluate(shown))
    assert counts == [20, 40, 50]
    assert tab.evaluate("document.getElementById('more').checkVisibility()") is False


def test_facets_narrow(page: Page, site: Path) -> None:
    page.goto((site / "search.html").as_uri() + "?q=海")
    page.wait_for_selector("#results[data-state=done]")
    whole = page.locator("#status").inner_text()
    offered = page.locator("select[name=year] option").all_inner_texts()
    page.select_option("select[name=year]", "2016")
    dates = page.locator("#results time").all_inner_texts()
    assert dates
    assert all(date.startswith("2016") for date in dates)
    assert f"2016 ({len(dates)})" in offered
    assert page.locator("#status").inner_text() != whole
    category = page.locator("select[name=category] option").nth(1)
    label, value = category.inner_text(), category.get_attribute("value")
    page.select_option("select[name=category]", value)
    assert label.endswith(f"({page.locator('#results li').count()})")


def test_nothing_is_searched_while_a_word_is_composed(tab: Tab, site: Path) -> None:
    tab.goto((site / "search.html").as_uri())
    until(tab, "document.documentElement.dataset.search === 'ready'")
    tab.evaluate(
        """(() => { const q = document.querySelector("#search input"); q.value = "う";
        q.dispatchEvent(new InputEvent("input", { isComposing: true, bubbles: true })); })()"""
    )
    tab.evaluate("new Promise((resolve) => setTimeout(resolve, 400))")
    assert tab.evaluate("document.querySelectorAll('#results li').length") == 0
    tab.evaluate(
        """void document.querySelector("#search input").dispatchEvent(new CompositionEvent("compositionend"))"""
    )
    until(tab, "document.querySelector('#results[data-state=done]')")
