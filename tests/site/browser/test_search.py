"""The search page's results, compared with substrings of folded texts, in both browsers."""

from __future__ import annotations

import json
import random
import unicodedata
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from exporter.model.kinds import Kind
from exporter.search.folding import fold
from exporter.search.index import Hit, Index
from exporter.search.query import parse_query
from exporter.search.variants import GROUPS
from exporter.service.registry import DEFAULT_SERVICE
from exporter.site import search_data
from tests.archive.builder import record
from tests.site.browser.tabs import Tab, until
from tests.site.building import build, of_records
from tests.site.test_view import entry, many_entries

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser

QUERIES = (
    "題", "題15", "本文", "の本文29", "題1 本文7", '"題3の本文3"', "ﾎﾝ", "１５", "無い言葉", "7 8 9", "題2の", "abc12", "bc1",
    "c", "ABC", "𠮷", "c𠮷の", "ｶﾞｯｺｳ", "ガッコウ", "ガッ", "がっこう", "ｓｔｒａｓｓｅ", "straße", "İ", "と ａｂ",
)  # fmt: skip


WORDS = (
    "サーバー", "データ", "らーめん", "すごい", "ビール", "ビル", "ガラス", "ぱん", "ねこ", "ヴァイオリン", "いすゞ", "はーとふる",
    "海", "山の日", "鯖", "Tシャツ", "straße", "ABC", "İstanbul", "ＡＢＣ１２", "㍿", "ﬁn", "𠮷野家", "👨\u200d👩\u200d👧", "♨", "\ud83d",
    "10〜20", "~/.rc", "C++", "a.b", "[の]", "(笑)", "①", "髙國", "高国", "１／２", "ー", "か\u3099", "ﾊ\uff9e", "각", "\u3000", "の", "と", "、",
)  # fmt: skip


def written(word: str, chance: random.Random) -> str:
    """Write a word with another spelling: in the other kana, width, marks and cases."""
    ways: list[Callable[[], str]] = [
        lambda: "".join(chr(ord(each) + 0x60) if "ぁ" <= each <= "ゖ" else each for each in word),
        lambda: "".join(chr(ord(each) - 0x60) if "ァ" <= each <= "ヶ" else each for each in word),
        lambda: word.replace("ー", chance.choice(("〜", "～", "~", "ーー", ""))),
        lambda: word + chance.choice("ー〜～"),
        lambda: "".join(each + "〜" * (chance.random() < 0.3) for each in word),
        lambda: unicodedata.normalize("NFD", word),
        lambda: "".join(chr(ord(each) + 0xFEE0) if "!" <= each <= "~" else each for each in word),
        word.swapcase,
        lambda: word.translate({0x30AC: "ｶﾞ", 0x30D0: "ﾊﾞ", 0x30B5: "ｻ", 0x30FC: "ｰ", 0x30C7: "ﾃﾞ", 0x30BF: "ﾀ"}),
    ]
    return word if chance.random() < 0.4 else chance.choice(ways)()


def written_texts(chance: random.Random, most: int) -> str:
    return "".join(
        written(chance.choice(WORDS), chance) + chance.choice(("", "", " ", "\u3000"))
        for _ in range(chance.randint(1, most))
    )


def typed(chance: random.Random, texts: list[str]) -> str:
    """Return a query: one or two words, or part of a text, perhaps in quotation marks."""
    kind = chance.random()
    if kind < 0.6:
        return " ".join(written(chance.choice(WORDS), chance) for _ in range(chance.choice((1, 1, 2))))
    text = chance.choice(texts)
    at = chance.randrange(len(text))
    part = text[at : at + chance.randint(1, 8)].replace('"', "")
    return part if kind < 0.8 else f'"{part}"'


def shown_entries(tab: Tab, list_id: str, more_id: str) -> set[str]:
    """Return the ids of all entries in one of the lists of results."""
    links = tab.evaluate(
        f"""(() => {{ const more = document.getElementById({more_id!r}); while (!more.hidden) more.click();
        return [...document.querySelectorAll("#{list_id} li > a")].map((each) => each.pathname); }})()"""
    )
    return {Path(link).stem for link in links}


def searched(tab: Tab, query: str) -> int:
    """Search, and return the number of results."""
    tab.evaluate(
        f"""(() => {{ document.getElementById("results").dataset.state = ""; const form = document.getElementById("search");
        form.elements.q.value = {json.dumps(query)}; form.requestSubmit(); }})()"""
    )
    until(tab, "document.querySelector('#results[data-state=done]')")
    return int(tab.evaluate("document.getElementById('results').dataset.count"))


@pytest.mark.parametrize("sharded", [False, True])
def test_it_finds_all_matches_and_nothing_else(
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


def test_the_page_folds_like_the_index(tab: Tab, site: Path) -> None:
    enclosed = "".join(f"{chr(code)}\ufe0f" for code in (*range(0x2150, 0x2190), *range(0x2460, 0x24F0)))
    squares = "".join(map(chr, (*range(0x3200, 0x3400), *range(0x1F100, 0x1F252))))
    texts = ["".join(GROUPS), "\U000e0100".join("".join(GROUPS)), enclosed, squares]
    tab.goto((site / "search.html").as_uri())
    until(tab, "document.documentElement.dataset.search === 'ready'")
    assert tab.evaluate(f"{json.dumps(texts)}.map(blogFolding.fold)") == list(map(fold, texts))


@pytest.mark.parametrize("sharded", [False, True])
def test_it_finds_the_same_as_the_command_line(
    tab: Tab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sharded: bool
) -> None:
    """The same entries, and also the same in similar spellings, over texts in all spellings."""
    monkeypatch.setattr(search_data, "SMALL_BLOG", 10 if sharded else 10_000)
    chance = random.Random(sharded)
    texts = [written_texts(chance, 9) for _ in range(250)]
    entries = {
        str(at): record(
            entry_id=str(at), title=written_texts(chance, 2), entry_text=escape(text), open_flg="1", is_private="f",
            year="2016", mon="7", day="16", hour="8", min="0", sec="0", ps_title="", ps_text="",
        )
        for at, text in enumerate(texts, 1)
    }  # fmt: skip
    built = of_records(tmp_path / "a", {Kind.ENTRIES: entries})
    build(built)
    tab.goto((built.layout.latest / "site" / "search.html").as_uri())
    until(tab, "document.documentElement.dataset.search === 'ready'")
    queries = [query for _ in range(120) if fold(query := typed(chance, texts)).strip(' "')]
    similar = 0

    def ids(hits: list[Hit]) -> set[str]:
        return {hit.record_id for hit in hits}

    with Index(built.reader, DEFAULT_SERVICE) as index:
        for query in queries:
            wanted = index.search(parse_query([query]))
            assert searched(tab, query) == wanted.total, query
            assert shown_entries(tab, "results", "more") == ids(wanted.hits), query
            assert shown_entries(tab, "similar-results", "similar-more") == ids(wanted.similar), query
            similar += wanted.similar_total
    assert similar > 100


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


class TestAddress:
    def test_the_choice_is_in_the_address_and_restored_by_the_back_button(self, tab: Tab, tmp_path: Path) -> None:
        built = many_entries(tmp_path / "a", 900)
        build(built)
        tab.goto((built.layout.latest / "site" / "search.html").as_uri())
        until(tab, "document.documentElement.dataset.search === 'ready'")
        searched(tab, "本文")
        for name, value in (("year", "2009"), ("category", "=分類3"), ("sort", "best")):
            tab.evaluate(
                f"""(() => {{ const select = document.querySelector("select[name={name}]"); select.value = {value!r};
                select.dispatchEvent(new Event("change", {{ bubbles: true }})); }})()"""
            )
        tab.click("#more")
        tab.evaluate("scrollTo(0, 1500)")
        until(tab, "history.state.at === 1500")
        asked = "Object.fromEntries(new URLSearchParams(location.search))"
        shown = "[...document.querySelectorAll('#results li > a')].map((each) => each.textContent)"
        titles, status = tab.evaluate(shown), tab.evaluate("document.getElementById('status').textContent")
        assert tab.evaluate(asked) == {"q": "本文", "year": "2009", "category": "分類3", "sort": "best"}
        assert len(titles) == 40
        tab.evaluate("document.querySelector('#results li:nth-child(22) > a').click()")
        until(tab, "document.querySelector('article.entry')")
        tab.evaluate("void setTimeout(() => history.back())")
        until(tab, "document.querySelector('#results[data-state=done]') && scrollY === 1500")
        assert tab.evaluate(shown) == titles
        assert tab.evaluate("document.getElementById('status').textContent") == status
        assert tab.evaluate("document.querySelector('#search input').value") == "本文"

    def test_the_best_come_first(self, tab: Tab, tmp_path: Path) -> None:
        texts = {"1": ("海", "山"), "2": ("川", "海海"), "3": ("川", "海"), "4": ("海", "海"), "5": ("川", "谷")}
        entries = {
            key: record(entry_id=key, title=title, entry_text=text, open_flg="1", is_private="f", year="2016", mon="7",
                        day=key, hour="8", min="0", sec="0", ps_title="", ps_text="")
            for key, (title, text) in texts.items()
        }  # fmt: skip
        built = of_records(tmp_path / "a", {Kind.ENTRIES: entries})
        build(built)
        for sort, found in (("", ["4", "3", "2", "1"]), ("best", ["4", "1", "2", "3"])):
            tab.goto((built.layout.latest / "site" / "search.html").as_uri() + f"?q=海&sort={sort}")
            until(tab, "document.querySelector('#results[data-state=done]')")
            links = tab.evaluate("[...document.querySelectorAll('#results li > a')].map((each) => each.pathname)")
            assert [Path(link).stem for link in links] == found
        with Index(built.reader, DEFAULT_SERVICE) as index:
            assert [hit.record_id for hit in index.search(parse_query(["海"])).hits] == found

    def test_escape_clears_the_search(self, tab: Tab, site: Path) -> None:
        tab.goto((site / "search.html").as_uri() + "?q=海&year=2016&v=3")
        until(tab, "document.querySelector('#results[data-state=done]')")
        tab.press("Escape")
        until(tab, "!document.querySelector('#results li')")
        assert tab.evaluate("[document.querySelector('#search input').value, location.search]") == ["", "?v=3"]
        assert tab.evaluate("document.activeElement.name") == "q"


class TestOpenedPage:
    PLACES = "[...CSS.highlights.get('found') ?? []].map((range) => range.toString())"

    def test_the_words_are_shown_and_the_first_is_in_sight(self, tab: Tab, tmp_path: Path) -> None:
        lines = "<p>行</p>" * 80
        text = f"{lines}<p>ｻｰ<b>ﾊﾞｰ</b>の話と<br>さーば</p>{lines}<p>&lt;b&gt;サーバーの話</p>"
        body = record(entry_id="1", title="題", entry_text=text, open_flg="1", is_private="f", year="2016", mon="7", day="1",
                      hour="8", min="0", sec="0", ps_title="", ps_text="")  # fmt: skip
        built = of_records(tmp_path / "a", {Kind.ENTRIES: {"1": body}})
        build(built)
        tab.goto((built.layout.latest / "site" / "search.html").as_uri() + "?q=サーバー の話")
        until(tab, "document.querySelector('#results li')")
        tab.press("j", "Enter")
        until(tab, "document.querySelector('.found')")
        assert tab.evaluate(self.PLACES) == ["ｻｰﾊﾞｰ", "の話", "サーバー", "の話"]
        in_sight = "(({ top, bottom }) => top >= 0 && bottom <= innerHeight)([...CSS.highlights.get('found-here')][0].getBoundingClientRect())"
        assert tab.evaluate("scrollY") > 0
        assert tab.evaluate(in_sight)
        tab.click(".found button:first-child")
        assert tab.evaluate("document.querySelector('.found span').textContent") == "4 / 4"
        assert tab.evaluate(in_sight)
        assert tab.evaluate("document.querySelector('.top input').value") == "サーバー の話"
        tab.press("Escape")
        assert tab.evaluate(self.PLACES) == []
        assert tab.evaluate("[document.querySelector('.top input').value, location.search]") == ["", ""]
        assert not tab.evaluate("document.querySelector('.found')")

    def test_similar_spellings_are_shown_if_there_are_no_exact_ones(self, tab: Tab, site: Path) -> None:
        tab.goto((site / "search.html").as_uri() + "?q=ぱん")
        until(tab, "document.querySelector('#similar-results li')")
        assert tab.evaluate("document.getElementById('results').dataset.count") == "0"
        tab.press("j", "Enter")
        until(tab, "document.querySelector('.found')")
        assert set(tab.evaluate(self.PLACES)) == {"パン"}

    def test_a_comment_is_scrolled_to(self, tab: Tab, site: Path) -> None:
        tab.goto((site / "search.html").as_uri() + "?q=わかめもお楽しみに")
        until(tab, "document.querySelector('#results a.who')")
        tab.click("#results a.who")
        until(tab, "document.querySelector('.found')")
        assert tab.evaluate(self.PLACES) == ["わかめもお楽しみに"]
        assert tab.evaluate(
            "[...CSS.highlights.get('found')][0].startContainer.parentElement.closest(':target') !== null"
        )

    def test_an_invalid_fragment_is_ignored(self, tab: Tab, site: Path) -> None:
        tab.goto((site / "entry" / "9.html").as_uri() + "?q=の#%E0%A4%A")
        until(tab, "document.querySelector('.found span')?.textContent.startsWith('1 / ')")

    def test_thousands_of_matches_are_found(self, tab: Tab, tmp_path: Path) -> None:
        text = "<p>の<b>の</b></p>" * 10_000
        body = record(entry_id="1", title="題", entry_text=text, open_flg="1", is_private="f", year="2016", mon="7", day="1",
                      hour="8", min="0", sec="0", ps_title="", ps_text="")  # fmt: skip
        built = of_records(tmp_path / "a", {Kind.ENTRIES: {"1": body}})
        build(built)
        tab.goto((built.layout.latest / "site" / "entry" / "1.html").as_uri() + "?q=の")
        until(tab, "document.querySelector('.found span')?.textContent === '1 / 20,000'")

    def test_a_page_without_the_words_is_unchanged(self, tab: Tab, site: Path) -> None:
        tab.goto((site / "entry" / "9.html").as_uri() + "?q=ないことば")
        until(tab, "document.querySelector('.top input').value")
        assert not tab.evaluate("document.querySelector('.found')")


def test_a_very_long_query_is_cut(tab: Tab, site: Path) -> None:
    tab.goto((site / "search.html").as_uri() + "?q=" + "あかさたな" * 5_000)
    until(tab, "document.getElementById('results').dataset.state === 'done'")
    assert tab.evaluate("document.getElementById('status').textContent") == "見つかりませんでした。"


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
