"""Pages of a replay: changed addresses, an unchanged text, and linear time."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from exporter.html.page_references import ReferenceRole, page_references
from exporter.html.replay_page import ReplayWriter

ADDRESS = "http://blog.example/a/b.html?x=1"


def place(address: str) -> str:
    return f"/T/20260101000000/{address}"


def changed(html: str, **options: object) -> str:
    return ReplayWriter(ADDRESS, place, **options).page(html)  # type: ignore[arg-type]  # options of any type


def test_an_element(subtests: pytest.Subtests) -> None:
    rows: list[tuple[str, str]] = [
        ('<a href="x&amp;y#f">t</a>', '<a href="/T/20260101000000/http://blog.example/a/x&amp;y#f">t</a>'),
        ("<img src=//o.example/p.png>", '<img src="/T/20260101000000/http://o.example/p.png">'),
        ("<a href=' #q '>t</a>", "<a href=' #q '>t</a>"),
        ("<a href=mailto:a@b.example>t</a>", "<a href=mailto:a@b.example>t</a>"),
        ("<a href=' java\nscript:x'>t</a>", '<a href="#">t</a>'),
        ("<iframe src=javascript:x></iframe>", '<iframe src="about:blank"></iframe>'),
        ("<img src=http://u:p@o.example/>", '<img src="data:,">'),
        ("<script src=x>a<b</script>t", "<script></script>t"),
        ("<script><!--<script>x</script>--></script>t", "<script></script>t"),
        ("<svg><script href=x /><text>t</text></svg>", "<svg><script></script><text>t</text></svg>"),
        ("<textarea><a href=x></textarea>", "<textarea><a href=x></textarea>"),
        ("<!-- <a href=x> --><plaintext><a href=x>", "<!-- <a href=x> --><plaintext><a href=x>"),
        ("<p alt=\"a>b\" title='url(x)'>1 < 2", "<p alt=\"a>b\" title='url(x)'>1 < 2"),
        (
            "<meta http-equiv=refresh content=\"5; URL='/n'\">",
            '<meta http-equiv=refresh content="5;url=/T/20260101000000/http://blog.example/n">',
        ),
        (
            '<img class="lazy" src="/blank.gif" data-src="/p.png">',
            '<img src="/T/20260101000000/http://blog.example/p.png" class="lazy"  data-src="/p.png">',
        ),
        (
            '<img class="lazy" src="data:x" data-src="/p.png"><noscript><b>t</b></noscript>',
            '<img src="/T/20260101000000/http://blog.example/p.png" class="lazy"  data-src="/p.png"><noscript><b>t</b></noscript>',
        ),
    ]
    for html, wanted in rows:
        with subtests.test(html=html, wanted=wanted):
            assert changed(html) == wanted


def test_a_picture_that_is_also_there_without_scripts_stays_lazy() -> None:
    html = '<img class="lazy" src="data:x" data-src="/p.png"><noscript><img src="/p.png"></noscript>'
    assert changed(html).startswith('<img class="lazy" src="data:x" data-src="/p.png"><noscript>')


@pytest.mark.parametrize(
    "tag", ["<a href=\"<a href=<b>'", "<img src='a>b", '<a href="x>', '<p title="x', "<a href=/x", "<script", "<b"]
)
def test_a_tag_that_the_page_does_not_end_is_dropped_as_in_a_browser(tag: str) -> None:
    assert changed(f"text {tag}") == "text "


_PIECES = st.sampled_from(
    ["<a href=", "'", '"', ">", "<", "/", "x.html", "<b>", "</b>", "text ", "あ", "&amp;", "<!--", "-->", "<p title=", "=",
     "<img src=p.png>", "<svg>", "</svg>", "<noscript>", "</noscript>", "<base href=/q/>", "<div style='background:url(x)'>"]
)  # fmt: skip


@given(st.lists(_PIECES, max_size=30).map("".join))
def test_the_text_stays_the_same(html: str) -> None:
    def text(source: str) -> str:
        found = LexborHTMLParser(source).body
        return "" if found is None else found.text()

    assert text(changed(html)) == text(html)


@given(st.lists(_PIECES, max_size=30).map("".join))
def test_no_address_leads_outside(html: str) -> None:
    roles = tuple(ReferenceRole)
    for found in page_references(changed(html), "http://replay.example/T/20260101000000/x").of(*roles):
        assert re.match(r"http://replay\.example/T/20260101000000/", found), found


@pytest.mark.thorough
@pytest.mark.parametrize(
    "piece",
    ["<a ", "<!--", "<a href=", "<noscript>", '<a b="', "<script>", "<script><!--", "<style>@import url(", "<base ", "<svg>",
     "<img srcset='a,", "<a/", "&", "<a b='&amp;", "<p style='url("],
)  # fmt: skip
def test_hostile_pages_take_linear_time(piece: str) -> None:
    def seconds(count: int) -> float:
        started = time.process_time()
        changed(piece * count)
        return time.process_time() - started

    assert seconds(40_000) < max(1.0, 12 * seconds(10_000))
