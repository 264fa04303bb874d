"""Simple bodies: what is made of them without a parser is what is made of them with one, byte for byte."""

from __future__ import annotations

from html import escape

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from exporter.html.embedded import embedded, embedded_in, rewrite_addresses, with_addresses
from exporter.html.markdown import pieces_to_markdown, to_markdown
from exporter.html.page_body import BodyWriter
from exporter.html.simple import plain, simple_pieces
from exporter.html.text import plain_text
from exporter.html.tree import Element, parse
from exporter.text import visible

pytestmark = pytest.mark.no_cover

_STORED = {"https://blog.example/a.png": f"assets/aa/{'a' * 64}.png"}
_COMMENT = "<!-- -->"
"""A parser passes over it; nothing with it is simple."""
_URLS = (
    "https://other.example/?a=1&amp;b=2", "//host/x", "../x.html", "javascript:alert(1)", " JaVaScRiPt:alert(1)", "#top", " #top",
    "mailto:a@b.example", "data:text/html,x", "a.png", "https://blog.example/Entry/1/", "", "\\\\host\\share", "?a&b", "海",
    "data:image/png;base64,iVBORw0KGgo=",
)  # fmt: skip
_WORDS = (
    "海", "a b", " ", "\n", "\r\n", "\r", "\t", "\f", "\xa0", "　", "&amp;", "&lt;b&gt;", "&quot;", "&nbsp;", "&#39;", "&", "&copy", "&copy;", "&ampx;",
    "&#0;", "&#128;", "&#xd800;", "&notit;", ">", "<", "< b", "<3", "</", "\0", "\x01", "\x0b", "\x7f", "\x85", "\ud83d", "\u2028", "\ufeff", "😀",
    "<!-- x -->", "<!doctype html>", "<?x?>", "<![CDATA[x]]>", "<br>", "<br/>", "<BR />", "<br clear='all'>", "<hr>", "<hr width=\"50%\">",
    "<b>", "</b>", "<p>", "</p>", "<P>", "</P>", "<div>", "</div >", "<a>", "</a>", "<font color='#ff0000' size=\"+2\">", "</font>", "<i/>", "<b / >",
    "<script>x</script>", "<style>", "<table><tr><td>x", "<li>x</li>", "<svg>", "<image>", "<textarea>", "<title>", "<plaintext>", "<nobr>",
)  # fmt: skip
_BLOCKS = ("p", "div", "P", "center", "blockquote", "Div")
_HEADINGS = ("h1", "h2", "h3", "H4", "h5", "h6")
_LINES = ("b", "strong", "i", "em", "u", "s", "span", "font", "B", "big", "small", "strike", "tt", "sub", "sup", "code")
_VALUES = ("left", "CENTER", "red", "ff0000", "+1", "100", "50%", "color:red;font-size:12px", "x'y", "a &amp; b", "font-weight:bold", "", "1e9", "c-x", "ltr")  # fmt: skip
_NAMES = ("align", "style", "color", "size", "title", "id", "name", "class", "onclick", "width", "target", "rel", "ALT", "dir", "lang", "data-src", "border")  # fmt: skip

_quoted = st.tuples(st.sampled_from(_NAMES), st.sampled_from(_VALUES), st.sampled_from(['"', "'", '"', ""])).map(
    lambda each: f" {each[0]}={each[2]}{each[1]}{each[2]}"
)
_attribute = st.one_of(_quoted, _quoted, st.sampled_from([" noshade", " nowrap", " reversed", " hidden"]))
_attributes = st.one_of(st.just(""), st.lists(_attribute, max_size=3).map("".join))
_plain = st.sampled_from(_WORDS[:15])
_text = st.one_of(_plain, _plain, _plain, st.sampled_from(_WORDS), st.text(max_size=4).map(escape))
_url = st.sampled_from(_URLS)
_picture = st.tuples(st.sampled_from(("<img", "<IMG ")), _url, _attributes, st.sampled_from((">", "/>", " />"))).map(
    lambda each: f'{each[0]} src="{each[1]}"{each[2]}{each[3]}'
)


def _around(inside: st.SearchStrategy[str], names: tuple[str, ...]) -> st.SearchStrategy[str]:
    return st.tuples(st.sampled_from(names), _attributes, st.lists(inside, max_size=3).map("".join)).map(
        lambda each: f"<{each[0]}{each[1]}>{each[2]}</{each[0]}>"
    )


def _link(inside: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.tuples(_url, _attributes, st.lists(inside, max_size=2).map("".join)).map(
        lambda each: f'<a href="{each[0]}"{each[1]}>{each[2]}</a>'
    )


def _rows(inside: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    cell = st.tuples(_attributes, inside).map(lambda each: f"<td{each[0]}>{each[1]}</td>")
    row = st.lists(cell, max_size=3).map(lambda cells: f"<tr>{' '.join(cells)}</tr>")
    return st.tuples(_attributes, st.lists(row, max_size=2)).map(
        lambda each: f"<table{each[0]}><tbody>{''.join(each[1])}</tbody></table>"
    )


def _items(inside: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    items = st.lists(st.tuples(_attributes, inside).map(lambda each: f"<li{each[0]}>{each[1]}</li>"), max_size=3)
    return st.tuples(st.sampled_from(("ul", "ol", "UL")), items, st.sampled_from(("", "\n", "海"))).map(
        lambda each: f"<{each[0]}>{each[2].join(each[1])}</{each[0]}>"
    )


_line = st.recursive(st.one_of(_text, _text, _picture), lambda inside: st.one_of(_around(inside, _LINES), _link(inside)), max_leaves=6)  # fmt: skip
_block = st.one_of(_line, _around(_line, _BLOCKS), _around(_line, _HEADINGS), _items(_line), _rows(_line))
_body = st.lists(st.one_of(_block, _around(_block, _BLOCKS), _items(_block), _rows(_block)), max_size=4).map("".join)  # fmt: skip


def _tree(source: str) -> Element:
    """Build the tree that the pieces of a simple body stand for."""
    body = Element("body", {}, [])
    inside = [body]
    for at, piece in enumerate(simple_pieces(source) or []):
        if isinstance(piece, str) and at % 2 == 0:
            inside[-1].children += [plain(piece)] if piece else []
        elif isinstance(piece, str) and piece[0] == "/":
            inside.pop()
        else:
            node = Element(piece, {}, []) if isinstance(piece, str) else piece
            inside[-1].children.append(node)
            if node.tag not in {"br", "hr", "img"}:
                inside.append(node)
    return body


def _said(element: Element) -> list[object]:
    return [
        child if isinstance(child, str) else (child.tag, child.attributes, _said(child)) for child in element.children
    ]


@settings(max_examples=600)
@given(_body)
@example("<p>海<br>\r\n<b>山</b> &amp; <a href=\"https://other.example/\" target='_blank'>川</a></p>")
@example("海\r山\r\n<b>川</b>")
@example("<b><b><b><b><i>海</i></b></b></b></b>山")
@example('<a href="https://other.example/"><img src="a.png"></a>')
@example('<a name="top">海</a><a href="?"> &nbsp;</a>')
@example("<h3>海</h3><h5>山</h5><h4> &nbsp;</h4><h6>川</h6><H1>空</H1>")
@example("<ul><li>海</li> <li><ol><li value=7>山</li></ol></li></ul>")
@example("<table><tbody>\n<tr> <td align=center valign=top>海</td><td><ul></ul>山</td></tr></tbody></table>")
@example('<center>海<font size="7">山</font></center><big>川</big>')
@example('<div><a href="https://other.example/">海<img src="b.png" alt="\xa0>">山<img src="c.png"><b>&quot;川</b></a>&#39;</div>')  # fmt: skip
@example('<b><a href="https://other.example/"><img src="b.png"></a>海</b><p>\xa0></p>')
@example('<span><a href="https://other.example/"><img src="b.png"></a>海</span>')
@example('<p><a href="https://other.example/"><b><img src="b.png"></b>海</a>山</p>')
@example("<p>海\ufeff</p><p>\ufeff山</p>")
@example("\ufeff<b>海</b>")
def test_a_simple_body_is_shown_and_read_as_its_tree_is(body: str) -> None:
    source = visible(body)[0]
    if simple_pieces(source) is None or not ("<" in body or "&" in body):
        return
    assert _said(_tree(source)) == _said(parse(source, bare=frozenset()))
    writer = BodyWriter(_STORED.get, "https://blog.example/", page_of={"https://blog.example/Entry/1/": "entry/1.html"}.get)  # fmt: skip
    assert simple_pieces(source + _COMMENT) is None
    assert writer.html(body, "../") == writer.html(body + _COMMENT, "../")
    assert writer.text(body) == plain_text(body) == plain_text(body + _COMMENT)


_NEW = {
    "https://blog.example/Entry/1/": "https://new.example/?a=1&b=2", "a.png": "../media/a b's (1).png", "../x.html": "x.html",
    "//host/x": "javascript:alert(1)", "?a&b": "", "left": "<b>",
}  # fmt: skip


@settings(max_examples=600, deadline=None)
@given(_body)
@example('<a href="a.png"><img src="https://blog.example/Entry/1/" data-src=left alt="a.png"></a>')
@example(
    '<table background=left><tbody><tr><td background="a.png">海<img srcset="a.png 1x, ../x.html 2x"></td></tr></tbody></table>'
)
@example(
    '<p style="background: url(a.png)" href=a.png>海</p><img src hidden src = "a.png"><a title="href=a.png" href=\'../x.html\'>山</a>'
)
def test_the_addresses_of_a_simple_body_are_found_and_rewritten_as_those_of_its_source(body: str) -> None:
    pieces = simple_pieces(body)
    if pieces is None or visible(body)[0] != body:
        return
    elements = [piece for piece in pieces if isinstance(piece, Element)]
    assert [found for element in elements for found in embedded_in(element)] == list(embedded(body))
    new = [piece if isinstance(piece, str) else with_addresses(piece, _NEW.get) for piece in pieces]
    assert pieces_to_markdown(new) == to_markdown(rewrite_addresses(body, _NEW.get)).text


@given(
    st.text(st.sampled_from("\r\n\t\f \0\v\x85\xa0\ufeff\u2028海>'\"a;/!-\ud800\ufffe") | st.characters(), max_size=8)
)
def test_a_text_alone_is_its_own_tree(text: str) -> None:
    if not set("<&") & set(text):
        assert _said(parse(text)) == _said(parse(text + _COMMENT))


@pytest.mark.parametrize(
    "body",
    [
        "海",
        "<p>海</p><p>山<br>川<br/><br /><BR></p>",
        "<P>海<FONT COLOR='red'>山</FONT></P>",
        '<div align="center"><a href="https://other.example/?a=1&amp;b=2" target="_blank"><img src="a.png" /></a></div>',
        "<blockquote><p>海 > 山</p></blockquote><hr size=1 noshade>",
        "<ul>\r\n<li>海<ol><li><div>山</div></li></ol></li>\n</ul>",
        '<TABLE border=1 width="90%"><tbody><tr><td bgcolor=#ffeeee nowrap>海</td><td><p>山</p></td></tr></tbody></TABLE>',
        "<h4>■ 海</h4><h2>山</h2><h6> </h6>",
    ],
)
def test_what_people_write_is_simple(body: str) -> None:
    assert simple_pieces(body) is not None


@pytest.mark.parametrize(
    "body",
    [
        "A & B", "&copy;", "a < b", "a < b > c", "<p>海", "海</p>", "<b>海<i>山</b>川</i>", "<p><p>海</p></p>", "<p><div>海</div></p>", "<b><p>海</p></b>",
        '<a href="/1">海<a href="/2">山</a></a>', '<a href="#top">海</a>', '<a href="/1"> </a>', '<a href="/1">&nbsp;</a>', "<b/>海", '<a href="/1">海<b><a href="/2">山</a></b></a>',
            "<p title=>海</p>", "<p title =海>海</p>", "<p title=a'b>海</p>", "<p title=a&b>海</p>", '<p title="1"lang="ja">海</p>', '<p title="1" title="2">海</p>', "<table><tr><td>海</td></tr></table>", "<table>海<tbody></tbody></table>",
            "<table><tbody><tr>&nbsp;<td></td></tr></tbody></table>", "<table><tbody><tr><th>海</th></tr></tbody></table>", "<ul>海<li></li></ul>",
            "<ul><b></b></ul>", "<li>海</li>", "<p><ul></ul></p>", "<h2><p>海</p></h2>", "<h2>海</h3>", "<h7>海</h7>", "<tr></tr>", "<script>x</script>", "海<!-- 山 -->",
        "<b>" * 51 + "</b>" * 51, "<br>" * 901, "海" * 100_001, f'<p title="{"x" * 5000}">海</p>',
    ],
)  # fmt: skip
def test_what_is_in_doubt_is_not(body: str) -> None:
    assert simple_pieces(body) is None
