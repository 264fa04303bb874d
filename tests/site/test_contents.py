"""The table of contents of long entries, and their reading time."""

from __future__ import annotations

from typing import Any

import pytest

from exporter.html.tree import Element, parse
from exporter.service.registry import DEFAULT_SERVICE
from exporter.site import SiteOptions
from exporter.site.pages.contents import with_contents
from exporter.site.pages.entry import entry_files
from exporter.site.pages.site import Site
from tests.export.memory import Memory


def page(body: str, **fields: Any) -> str:
    memory = Memory()
    memory.entry("1", entry_text=body, **fields)
    site = Site(memory, DEFAULT_SERVICE, None, SiteOptions("海", "ja"))
    return next(iter(entry_files(site))).render().decode()


def elements(html: str, tag: str) -> list[Element]:
    return [each for each in parse(html).walk() if isinstance(each, Element) and each.tag == tag]


def links(html: str) -> list[tuple[str, str]]:
    nav = next(each for each in elements(html, "nav") if each.attributes.get("class") == "contents")
    return [
        (each.attributes["href"], each.text()) for each in nav.walk() if isinstance(each, Element) and each.tag == "a"
    ]


BODY = (
    "<h3>A &amp; B</h3><p>x</p><h4><ruby>漁<rt>りょう</rt></ruby>火</h4><h4 id='own' title='a>b'>C</h4>"
    "<p><a href='#own'>up</a></p><h3><i>D</i>\nE</h3>"
)


def test_four_headings_have_contents() -> None:
    made = page(BODY)
    assert links(made) == [("#h-1", "A & B"), ("#h-2", "漁火"), ("#c-own", "C"), ("#h-4", "D E")]
    ids = [each.attributes.get("id") for tag in ("h2", "h3") for each in elements(made, tag)]
    assert [each for each in ids if each != "keys-title"] == ["h-1", "h-4", "h-2", "c-own"]
    lists = elements(made, "nav")[1].text().split()
    assert lists[0] == "目次"


def test_the_continuation_is_in_them() -> None:
    made = page("<h2>1</h2><h2>2</h2>", ps_title="続く", ps_text="<h2>4</h2><h3>5</h3>")
    assert links(made) == [("#h-1", "1"), ("#h-2", "2"), ("#h-3", "続く"), ("#h-4", "4"), ("#h-5", "5")]


@pytest.mark.parametrize(
    "body", ["<h2>1</h2><h2>2</h2><h2>3</h2>", "<hr>" * 9, "<h2><img src='x'></h2>" * 5, "&lt;h2>x&lt;/h2>" * 5]
)
def test_fewer_headings_have_no_contents(body: str) -> None:
    made = page(body)
    assert 'class="contents"' not in made
    assert 'id="h-' not in made


def test_lists_are_nested() -> None:
    text = "".join(f"<h{level}>{at}</h{level}>" for at, level in enumerate([2, 3, 4, 2, 3, 5, 2]))
    made = parse(with_contents(text, "目次"))
    depths: dict[str, int] = {}
    todo: list[tuple[Element, int]] = [(made, 0)]
    while todo:
        element, depth = todo.pop()
        for child in element.children:
            if isinstance(child, Element) and child.tag == "a":
                depths[child.text()] = depth
            elif isinstance(child, Element):
                todo.append((child, depth + (child.tag == "ol")))
    assert [depths[str(at)] for at in range(7)] == [1, 2, 3, 1, 2, 3, 1]


def test_a_hostile_number_of_headings_is_cut() -> None:
    assert with_contents("<h2>x</h2>" * 5_000, "目次").count("<li>") == 300


HATENA = "<ul class='table-of-contents'><li><a href='#あ'>あ</a><ul><li><a href='#い'>い</a></li></ul></li></ul>"
EASY = (
    "<div id='ez-toc-container' class='ez-toc-v2 counter-hierarchy'><p class='ez-toc-title'>目次</p><nav><ul class='ez-toc-list'>"
    "<li><a class='ez-toc-link' href='#あ'>あ</a></li><li><a href='#い'>い</a></li></ul></nav></div>"
)
PLUS = "<div id='toc_container'><p class='toc_title'>目次</p><ul class='toc_list'><li><a href='#あ'>1 あ</a></li></ul></div>"
PARTS = "<h3 id='あ'>あ</h3><p>x</p><h4 id='い'>い</h4><p>y</p><h3>う</h3><h3>え</h3>"


@pytest.mark.parametrize("own", [HATENA, EASY, PLUS, f"<h3 id='目次'>目次</h3>\n{HATENA}", HATENA + PLUS])
def test_they_replace_those_of_the_service(own: str) -> None:
    made = page(f"<p>はじめ</p>{own}{PARTS}")
    assert [words for _, words in links(made)] == ["あ", "い", "う", "え"]
    text = parse(made.partition('<div class="body"')[2].partition("</article>")[0]).text()
    assert "".join(text.split()).startswith('lang="ja">はじめあxいyうえ')


@pytest.mark.parametrize(
    "body",
    [
        HATENA + "<h3 id='あ'>あ</h3><h4 id='い'>い</h4>",
        HATENA + "<h3 id='あ'>あ</h3><p id='い'>い</p><h3>う</h3><h3>え</h3><h3>お</h3>",
        HATENA.replace("#い", "https://a.example/") + PARTS,
        HATENA.replace("<ul>", "<ul id='top'>") + PARTS + "<p><a href='#top'>目次へ</a></p>",
        HATENA.replace("table-of-contents", "my-contents") + PARTS,
        f"<h2>目次</h2>{HATENA}{PARTS}",
    ],
)
def test_those_of_the_service_stay_if_ours_says_less(body: str) -> None:
    text = page(body).partition('<div class="body"')[2]
    assert parse(text.partition("</article>")[0]).text().count("い") >= 2


def test_a_title_without_a_list_stays() -> None:
    assert page(f"<h3>目次</h3><p>本の目次の話</p>{PARTS}").count(">目次</h2>") == 1


@pytest.mark.parametrize(
    ("characters", "said"), [(600, None), (1_000, "約 2\u00a0分で読めます"), (4_600, "約 10\u00a0分で読めます")]
)
def test_the_reading_time(characters: int, said: str | None) -> None:
    made = page("海" * characters)
    assert (said in made) if said else ("分で読めます" not in made)
