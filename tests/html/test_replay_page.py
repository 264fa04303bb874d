"""Pages of a replay: changed addresses, an unchanged text, and linear time."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import example, given
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
        ("<svg>t</", "<svg>t&lt;/"),
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


OUT = "http://out.example/x"
_BREAKING = st.sampled_from(
    [*(f"<{name}>" for name in ("svg", "math", "select", "template", "frameset", "table", "style", "title", "textarea", "xmp",
       "plaintext", "noembed", "noframes", "noscript", "iframe", "script", "desc", "foreignObject", "mtext", "p", "a", "option",
       "col", "font color=x", "annotation-xml encoding=text/html")),
     *(f"</{name}>" for name in ("svg", "math", "select", "template", "style", "title", "textarea", "xmp", "noembed", "noframes",
       "noscript", "iframe", "script", "p", "table")),
     "<svg/>", "<title/>", "<style/>", "<!--", "-->", "--!>", "<![CDATA[", "]]>", "<!doctype ", "<?xml-stylesheet ", "<?", "</",
     "<", ">", '"', "'", "=", "/", " ", "\v", "\f", "a", "</a x=", "<p title=", " onclick=", "iframe src", f"={OUT}",
     f"<iframe src={OUT}>", f"<frame src={OUT}>", f"<img src={OUT}>", f"<link rel=preconnect href={OUT}>", "<base href=//q/>"]
)  # fmt: skip


def leaks(html: str) -> list[str]:
    """Return the attributes with an address outside of the replay, as a browser's parser sees them."""
    return [
        f"{node.tag} {name}={value}"
        for node in LexborHTMLParser(html).css("[src], [href], [data], [xlink\\:href]")
        for name, value in node.attributes.items()
        if name in {"src", "href", "data", "xlink:href"} and "out.example" in (value or "")
        and not (value or "").startswith("/T/20260101000000/")
    ]  # fmt: skip


@given(st.lists(_BREAKING, max_size=14).map("".join))
@example(f"<svg><style><p><iframe src={OUT}>")
@example(f"<math><style><p><iframe src={OUT}></iframe></style>")
@example(f"<svg><plaintext><p><iframe src={OUT}>")
@example(f"<select><title></select><iframe src={OUT}></title>")
@example(f"<template><col><xmp></template><iframe src={OUT}></xmp>")
@example(f"<frameset><xmp><frame src={OUT}></xmp>")
@example(f"<svg><![CDATA[><textarea>]]><p><iframe src={OUT}></textarea>")
@example(f"<svg><p><title><!--</title><iframe src={OUT}>--></title>")
@example(f"<svg><desc><title><a title='</title><iframe src={OUT}>'>")
@example(f"</a x=\"><p title='\"><iframe src={OUT}>'>")
@example(f"<p x=a\v'y='><iframe src={OUT}>'>")
@example(f"<iframe src onclick=1 ={OUT}>")
@example(f"<<?xml-stylesheet >iframe src={OUT}>")
@example(f"<svg><<!-- -->iframe src={OUT}>")
def test_a_browsers_parser_sees_no_address_outside(html: str) -> None:
    assert leaks(changed(html)) == []


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<svg><title>a</title><style>p{}</style></svg>b &lt; <textarea><a href=x></textarea>", "ap{}b < <a href=x>"),
        ("<select><option>a</select><xmp><b>&amp;</xmp>c", "a<b>&amp;c"),
        ("<svg><text><![CDATA[a<b&amp;]]></text></svg>c<!-- d -->", "a<b&amp;c"),
        ("<svg><title/><text>a</text></svg><plaintext><b>", "a<b>"),
        ("<select></select><noembed><b></noembed><noframes>x</noframes>a <3", "a <3"),
    ],
)
def test_the_text_of_a_page_with_a_picture_stays_the_same(html: str, text: str) -> None:
    body = LexborHTMLParser(changed(html)).body
    assert body is not None
    assert body.text() == text


def test_styles_in_pictures_are_styles() -> None:
    html = "<svg><style><!--\np{background:url(/a)}\n--></style><style><![CDATA[a>b{mask:url(/b)}]]></style></svg>"
    found = changed(html)
    assert "url(/T/20260101000000/http://blog.example/a)" in found
    assert "a>b{mask:url(/T/20260101000000/http://blog.example/b)}" in found
    assert changed("<select></select><style>a::before{content:'<b'}</style>").endswith("'\\3C b'}</style>")


@pytest.mark.thorough
@pytest.mark.parametrize(
    "piece",
    ["<a ", "<!--", "<a href=", "<noscript>", '<a b="', "<script>", "<script><!--", "<style>@import url(", "<base ", "<svg>",
     "<img srcset='a,", "<a/", "&", "<a b='&amp;", "<p style='url(", "<svg><style>", "<svg><![CDATA[", "<svg><style><!--", "<svg></a b='", "<select><title>"],
)  # fmt: skip
def test_hostile_pages_take_linear_time(piece: str) -> None:
    def seconds(count: int) -> float:
        started = time.process_time()
        changed(piece * count)
        return time.process_time() - started

    assert seconds(40_000) < max(1.0, 12 * seconds(10_000))
