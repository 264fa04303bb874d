from __future__ import annotations

import re
from html import escape

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from lxml.html import HtmlElement, fragment_fromstring
from markdown_it import MarkdownIt

from exporter.html.anchors import Numbering, wanted_places
from exporter.html.markdown import to_markdown
from exporter.html.markdown_escape import definition_end
from tests.html.noted_posts import noted_posts
from tests.html.reading import fold

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
        (HATENA, "海[^1]へ。\n\n[^1]: 日本海。 &#32;"),
        (WORDPRESS, "a[^1]\\(b) c[^2]\n\n[^1]: one *x*\n\n[^2]: two<br> <br>\n    more"),
        (TWICE, "a[^1] b[^1]\n\n[^1]: note &#32;"),
    ],
)
def test_footnotes_become_markdown_footnotes(html: str, expected: str) -> None:
    assert noted(html) == expected


def test_numbering_continues() -> None:
    assert noted(HATENA, Numbering(7)).startswith("海[^7]へ")
    assert noted(HATENA, Numbering(7, "e2-")) == "海[^e2-7]へ。\n\n[^e2-7]: 日本海。 &#32;"


def test_a_note_with_another_link_to_it_stays() -> None:
    text = noted(WORDPRESS, Numbering(asked_for={"u-link"}))
    assert '<a id="u-link"></a>' in text
    assert text.endswith('c[^1]\n\n1. <a id="u"></a>one *x* [↩︎](#u-link)\n\n[^1]: two<br> <br>\n    more')


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
@pytest.mark.parametrize("count", [1_500, pytest.param(20_000, marks=pytest.mark.thorough)])
def test_thousands_of_links_into_one_paragraph_are_counted_once(count: int) -> None:
    places = range(count)
    into = "".join(f'<a id="r{at}" href="#n{at}">{at % 9}</a>' for at in places)
    back = "".join(f'<a id="n{at}" href="#r{at}"></a>' for at in places)
    assert noted(f"<p>{into}</p><p>{back}x</p>").count("[^1]") == len(places) + 1


def _note(text: str) -> str:
    return HATENA.replace("日本海。", text)


def test_only_a_note_that_would_be_an_address_is_followed_by_invisible_text(subtests: pytest.Subtests) -> None:
    rows: list[tuple[str, str]] = [
        ("https://sea.example/", "https://sea.example/ &#32;"),
        ("(笑)", "(笑) &#32;"),
        ("(笑", "(笑"),
        ("海 と山", "海 と山"),
        ('海 "題"', '海 "題" &#32;'),
        ('海 "題" と', '海 "題" と'),
        ("海 (a\nb)\nと", "海 (a\n    b) &#32;\n    と"),
        ("海\n山", "海 &#32;\n    山"),
        ("海<br>山", "海<br> &#32;\n    山"),
        ("海<br><br>山", "海<br> <br>\n    山"),
        ("&lt;海", "<海"),
        (
            "<a href='https://sea.example/'>https://sea.example/</a>",
            "[https://sea.example/](https://sea.example/) &#32;",
        ),
        ("`", "\\` &#32;"),
        ("C:\\", "C:\\\\ &#32;"),
        ('<ul><li>"題"</li></ul>', '&#32; &#32;\n\n    - "題"'),
        ("<pre>海</pre>", "&#32; &#32;\n\n    ```\n    海\n    ```"),
        ("<ul><li>海</li></ul>", "- 海"),
    ]
    for text, written in rows:
        with subtests.test(text=text, written=written):
            body = '<p>文<a href="#n" id="r">1</a></p><div id="n"><a href="#r">1</a> ' + text + "</div>"
            assert noted(body) == f"文[^1]\n\n[^1]: {written}"


def _text(element: HtmlElement) -> str:
    """Return the text of a note without its links back and white space."""
    element = next(each for each in [element, *element.iterancestors()] if each.tag in {"p", "li", "div"})
    for link in element.xpath('.//a[starts-with(@href, "#")]'):
        link.drop_tree()
    return fold(element.text_content())


@pytest.mark.parametrize("count", [60, pytest.param(300, marks=pytest.mark.thorough)])
def test_notes_have_the_same_text_in_commonmark_in_gfm_and_on_the_site(count: int) -> None:
    notes = 0
    for post in noted_posts(count):
        site, commonmark, gfm = (fragment_fromstring(html, create_parent="div") for html in post.read())
        own = [_text(site.get_element_by_id(place)).removeprefix(":") for place in post.notes]
        shown = [fold(each.text_content()) for each in commonmark.xpath('.//p[starts-with(., "[^")]')]
        assert shown == [f"[^{number}]:{text}" for number, text in enumerate(own, 1)]
        assert [_text(note) for note in gfm.find_class("footnote-item")] == own
        assert commonmark.xpath('.//a[starts-with(@href, "#")]') == commonmark.xpath(".//pre") == []
        assert "".join(re.findall(r"文[^。]*", commonmark.text_content().split("[^1]:")[0])) == "".join(
            f"文[^{number}]" for number in range(1, len(own) + 1)
        )
        notes += len(own)
    assert notes > 2 * count


_COMMONMARK = MarkdownIt("commonmark")
_PIECES = st.lists(
    st.sampled_from(['"', "'", "(", ")", "\\", "<", ">", "[", "]", ":", " ", "\t", "\n", "海", "a", "\u3000", "*", "`", "&", "\\)", '" ', ' "']),
    min_size=1,
    max_size=14,
)  # fmt: skip


@given(_PIECES)
@example(["海", " ", '"', "a", "\n", "b", '"'])
@example(["(", "(", ")", ")"])
def test_a_definition_is_one_exactly_if_a_reader_of_commonmark_shows_nothing(pieces: list[str]) -> None:
    text = re.sub(r"\s*\n\s*", "\n", "".join(pieces)).strip(" \t\n")
    assume(text)
    # markdown-it does not read a backslash before white space, and does not go back before an empty title.
    # The writer escapes what would end the paragraph.
    assume(not re.search(r"""\\\s|""|''|\(\)|\n[>*`]""", text))
    environment: dict[str, object] = {}
    _COMMONMARK.parse(f"[^1]: {text}", environment)
    end = definition_end(text)
    assert (end is not None) == ("^1" in map(str.lower, environment.get("references", {})))  # type: ignore[call-overload]
    if end is not None:
        shown = _COMMONMARK.render(f"[^1]: {text[:end]} &#32;{text[end:]}")
        assert shown.startswith("<p>[^1]: ")
        assert text[end:].lstrip(" \t")[:1] in {"", "\n"}


@given(_PIECES)
def test_a_text_never_defines_an_address(pieces: list[str]) -> None:
    text = "".join(pieces)
    for start in ("[a]: ", "[^1]:", "[a]:\n", "[a\nb]: ", "[a] : "):
        made = to_markdown(f"<p>{escape(start + text, quote=False)}</p>").text
        environment: dict[str, object] = {}
        _COMMONMARK.parse(made, environment)
        assert not environment.get("references")


@given(_PIECES)
def test_no_note_is_lost_or_changes_when_written_again(pieces: list[str]) -> None:
    body = _note(escape("".join(pieces), quote=False) or "海")
    made = noted(body)
    assert made == noted(body)
    assume("[^1]:" in made)
    environment: dict[str, object] = {}
    _COMMONMARK.parse(made, environment)
    assert not environment.get("references")
