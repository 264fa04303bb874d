"""Bodies made to break a converter: they are converted in bounded time, with their text."""

from __future__ import annotations

import re
import time
from html import escape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporter.html.markdown import to_markdown
from exporter.html.tree import Element, TooComplex, parse
from tests.html.reading import read_markdown

# Other tests run the same lines; measuring them here would more than double the time.
pytestmark = pytest.mark.no_cover

LIMIT = 60.0
"""Seconds; far above the normal time, far below the time of a quadratic walk."""


@pytest.mark.parametrize("tag", ["<div>", "<b>"])
def test_nested_tags_keep_the_text(tag: str) -> None:
    assert "終わり" in to_markdown(tag * 5_000 + "終わり").text


@pytest.mark.thorough
@pytest.mark.parametrize(
    "tag",
    ["<div>", "<b>", "<b><i>", "<blockquote>", "<table><tr><td>", "<span>", "<font size=1>", "<center>", "<h1>", "<details>", "<ruby><rt>", "<x-y>",
     "<a href=x>", "<pre>", "<code>", "<svg>", "<li>", "<select>", "<dl><dd>"],
)  # fmt: skip
def test_20000_nested_tags(tag: str) -> None:
    started = time.monotonic()
    found = to_markdown(tag * (20_000 // tag.count("<")) + "終わり")
    assert "終わり" in found.text
    assert time.monotonic() - started < LIMIT


@pytest.mark.thorough
def test_10000_nested_lists() -> None:
    assert to_markdown("<ul><li>" * 10_000 + "終わり").text.endswith("終わり")


@pytest.mark.thorough
def test_20000_different_nested_tags() -> None:
    text = to_markdown("".join(f"<a{number}>" for number in range(20_000)) + "終").text
    assert read_markdown(text).text == "終"


@pytest.mark.parametrize(
    "html",
    [
        *(
            pytest.param(each, marks=pytest.mark.thorough)
            for each in (
                "".join(f"<font size={n}>" for n in range(5000)) + "</p>" + "<p>x</p>" * 5000,
                "".join(f"<font size={n}><table><tr><td></font></table>" for n in range(3000)) + "<p>x</p>" * 5000,
                "".join(f"<table><font size={n}></table>" for n in range(3000)) + "<p>x</p>" * 5000,
            )
        ),
        "<div>" * 100_000,
        "<div><object></div></object>" * 36_000,
        "<a " + " ".join(f"a{n}=1" for n in range(20_000)) + ">x",
    ],
)
def test_bodies_that_would_overload_the_parser_are_shown_as_source(html: str) -> None:
    with pytest.raises(TooComplex):
        parse(html)
    assert to_markdown(html).text == f"```html\n{html}\n```"


def test_a_large_but_sane_body_is_parsed() -> None:
    body = (
        "<div><b>太字</b><table><tr><td><font color=red>赤</font><td>白</table><ul><li>一<li>二</ul></div></object>"
        * 3000
    )
    assert sum(isinstance(child, Element) for child in parse(body).children) == 3000


@pytest.mark.thorough
def test_a_body_of_megabytes() -> None:
    started = time.monotonic()
    line = "今日は<b>「重要」</b>です。" * 4
    found = to_markdown(f"<p>{line}</p>\n" * 10_000)
    assert found.text.count("「重要」") == 40_000
    assert time.monotonic() - started < LIMIT


def test_a_line_of_200000_characters() -> None:
    assert to_markdown("あ*" * 100_000).text == "あ\\*" * 100_000


@pytest.mark.thorough
@pytest.mark.parametrize(
    "text", ["_", "`", "*", "~", "[", "]", "&#", "-", "\\", "!", "<", "#", " ", "a\n", "<br>", "<!--", "&amp;"]
)
def test_long_repetitions_are_linear(text: str) -> None:
    started = time.monotonic()
    to_markdown("x" + text * 100_000 + "x")
    assert time.monotonic() - started < LIMIT


PIECES = st.sampled_from(
    [
        "<b>", "</b>", "<i>", "</i>", "<p>", "</p>", "<ul>", "<li>", "</ul>", "<ol start=2>", "<table>", "<tr>", "<td>", "<th>", "</table>", "<br>",
        "<a href='http://x/)'>", "</a>", "<img src=x alt='[*'>", "<code>", "</code>", "<pre>", "</pre>", "<script>", "</script>", "<h2>", "</h2>",
        "<blockquote>", "</blockquote>", "<ruby>", "<rt>", "<details>", "<svg>", "<iframe src=//x>", "<center>", "</center>", "<del>", "</del>", "<style>",
        "<!--", "-->", "<textarea>", "</textarea>", "<u>", "</u>", "&lt;script&gt;", "<scr", "ipt>", "*", "_", "`", "~", "|", "#", "\n", " ", "　", "「",
        "」", "あ", "1. ", "- ", "\\", "[", "](", ")", "!", "&", "<", ">", "\x00", "\ud800", "\x85", "\u2028", "=", "<hr>", "<select>", "<option>",
    ]
)  # fmt: skip


@settings(max_examples=100, deadline=None)
@given(st.lists(PIECES | st.text(max_size=4), max_size=40).map("".join))
def test_any_tag_soup_gives_safe_text(html: str) -> None:
    found = to_markdown(html)
    assert "\x00" not in found.text
    found.text.encode()
    if "```" not in found.text and "`" not in html:
        # Text between backticks is shown literally: <code>&lt;script&gt;</code> is text.
        assert "<script" not in re.sub(r"(`+).+?\1", "", found.text, flags=re.DOTALL).lower()
    assert not {"script", "style", "base", "meta", "link", "form"} & set(read_markdown(found.text).tags)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from([*"*_`~[]()!<>&\\|#=+-.1: あ「」😀　a"]), min_size=1, max_size=30).map("".join))
def test_any_plain_text_reads_back(text: str) -> None:
    escaped = escape(text)
    want = "".join(text.split())
    for source in (f"<p>{escaped}</p>", f"<p>あ<b>{escaped}</b>い</p>", f"<p>い<br>{escaped}</p>"):
        found = read_markdown(to_markdown(source).text)
        assert found.text.strip("い").removeprefix("あ" if "<b>" in source else "") == want.strip("い")
    assert read_markdown(to_markdown(f"<p>x<b>{escaped}</b>y</p>").text).bold == want
