from __future__ import annotations

import pytest

from exporter.html.anchors import Numbering, wanted_places
from exporter.html.markdown import to_markdown

_NUMBERING = Numbering()
HATENA = (
    '<p>海<span class="footnote"><a href="#f-1" id="fn-1" name="fn-1" title="注">*1</a></span>へ。</p><div class="footnote">'
    '<p class="footnote"><a href="#fn-1" id="f-1" name="f-1" class="footnote-number">*1</a>'
    '<span class="footnote-delimiter">:</span><span class="footnote-text">日本海。</span></p></div>'
)
WORDPRESS = (
    '<p>a<sup data-fn="u" class="fn"><a href="#u" id="u-link">1</a></sup>(b) c<sup><a href="#v" id="v-link">2</a></sup></p>'
    '<ol class="wp-block-footnotes"><li id="u">one <em>x</em> <a href="#u-link">↩︎</a></li>'
    '<li id="v"><p>two</p><p>more <a href="#v-link">↩︎</a></p></li></ol>'
)
TWICE = (
    '<p>a<a href="#n" id="r1">[1]</a> b<a href="#n" id="r2">[1]</a></p>'
    '<ol><li id="n">note <a href="#r1">a</a> <a href="#r2">b</a></li></ol>'
)


def noted(html: str, numbering: Numbering | None = _NUMBERING) -> str:
    return to_markdown(html, places=wanted_places(html), footnotes=numbering).text


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        (HATENA, "海[^1]へ。\n\n[^1]: 日本海。"),
        (WORDPRESS, "a[^1]\\(b) c[^2]\n\n[^1]: one *x*\n\n[^2]: two\n\n    more"),
        (TWICE, "a[^1] b[^1]\n\n[^1]: note"),
    ],
)
def test_footnotes_become_markdown_footnotes(html: str, expected: str) -> None:
    assert noted(html) == expected


def test_numbering_continues() -> None:
    assert noted(HATENA, Numbering(7)).startswith("海[^7]へ")
    assert noted(HATENA, Numbering(7, "e2-")) == "海[^e2-7]へ。\n\n[^e2-7]: 日本海。"


def test_a_note_with_another_link_to_it_stays() -> None:
    text = noted(WORDPRESS, Numbering(asked_for={"u-link"}))
    assert '<a id="u-link"></a>' in text
    assert text.endswith('c[^1]\n\n1. <a id="u"></a>one *x* [↩︎](#u-link)\n\n[^1]: two\n\n    more')


@pytest.mark.parametrize(
    "html",
    [
        HATENA + '<p>また<a href="#f-1">あの長い注を見る</a></p>',  # a link that is not a reference would be lost
        HATENA + '<p><a href="#fn-1">*1へもどる道</a></p>',
        HATENA.replace('href="#fn-1"', 'href="#other"'),  # no link leads back
        '<p><a href="#s" id="t">第1章</a></p><div id="s"><h2>海</h2><a href="#t">戻る</a></div>',  # contents
        '<table><tr><td colspan=2>a<a href="#n" id="r">1</a></td></tr></table><p id="n">x <a href="#r">↩</a></p>',
        "<pre>a<a href='#n' id=r>1</a></pre><p id=n>x <a href='#r'>↩</a></p>",
        "<p>[^1] a<a href='#n' id=r>1</a></p><p id=n>x <a href='#r'>↩</a></p>",
        "<p id=n>x<a href='#n' id=r>1</a> <a href='#r'>↩</a></p>",
    ],
)
def test_a_link_that_would_be_lost_stays_a_link(html: str) -> None:
    assert noted(html) == noted(html, None)
    assert "[^1]:" not in noted(html)


@pytest.mark.no_cover
def test_thousands_of_links_into_one_paragraph_are_counted_once() -> None:
    places = range(20_000)
    into = "".join(f'<a id="r{at}" href="#n{at}">{at % 9}</a>' for at in places)
    back = "".join(f'<a id="n{at}" href="#r{at}"></a>' for at in places)
    assert noted(f"<p>{into}</p><p>{back}x</p>").count("[^1]") == len(places) + 1
