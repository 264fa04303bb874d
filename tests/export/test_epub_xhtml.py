"""Any HTML as XHTML of a strict schema: known bodies, and random trees."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporter.export.epub_chapter import web_address
from exporter.export.epub_xhtml import Addresses, xhtml
from exporter.export.post_html import cleaned
from exporter.html.tree import parse

BASE = "https://umi.blog.example.jp/"


ADDRESSES = Addresses(
    lambda address: web_address(address, BASE), lambda address: "media/x.png" if address.endswith("png") else None
)
"""Links to the web only, and a picture wherever an address ends in ``png``."""


def made(html: str) -> str:
    return " ".join(xhtml(parse(html), ADDRESSES).split("\n")).replace("> <", "><").strip()


def test_known_bodies(subtests: pytest.Subtests) -> None:
    rows: list[tuple[str, str]] = [
    ("<p>一<p>二", "<p>一</p><p>二</p>"),
    ("<b>太<p>段</p></b>", '<div class="b">太<p>段</p></div>'),
    ("<p><b><i>x</b>y</i>", "<p><b><i>x</i></b><i>y</i></p>"),
    ("<font color=red>赤</font><span style='font-weight:bold'>太</span>", "赤<strong>太</strong>"),
    ("<center>中</center>", '<div class="center">中</div>'),
    ("<h1>題</h1><h6>小</h6>", "<h2>題</h2><h6>小</h6>"),
    ("<h2><div>題<h3>内</h3></div></h2>", '<div class="h2"><div>題<div class="h3">内</div></div></div>'),
    ("<ul>外<li>一<li>二<b>三</b></ul>", "<ul><li>外</li><li>一</li><li>二<b>三</b></li></ul>"),
    ("<ol start=3><li>三</ol><ol start=x></ol>", '<ol start="3"><li>三</li></ol>'),
    ("<ul><li>一</li> <p>二</p></ul>", "<ul><li>一</li><li><p>二</p></li></ul>"),
    ("<li>一", '<div class="li">一</div>'),
    ("<dl><dt>語<dd>義</dl>", "<dl><dt>語</dt><dd>義</dd></dl>"),
    ("<dl><dd>義<dt>語</dl>", '<div class="dl"><div class="dd">義</div><div class="dt">語</div></div>'),
    ("<dl><dt><h2>語</h2><dd><h2>義</h2></dl>", '<dl><dt><div class="h2">語</div></dt><dd><h2>義</h2></dd></dl>'),
    ("<table><caption>表<thead><tr><th>甲<tbody><tr><td colspan=2 rowspan=0>一</table>",
     '<div class="caption">表</div><table><thead><tr><th>甲</th></tr></thead><tbody><tr><td colspan="2">一</td></tr></tbody></table>'),
    ("<table><thead><tr><th>甲</table>", "<table><tbody><tr><th>甲</th></tr></tbody></table>"),
    ("<table><tr></table>", ""),
    ("<ruby>海<rp>(</rp><rt>うみ</rt><rp>)</rp>の日</ruby>", "<ruby>海<rt>うみ</rt>の日<rt></rt></ruby>"),
    ("<ruby><rb>海</rb><rt>うみ</rt></ruby>", "<ruby>海<rt>うみ</rt></ruby>"),
    ("<ruby>海</ruby>", '海'),
    ("<ruby><rt>うみ</rt></ruby><rt></rt>", '（うみ）'),
    ("<ruby><div>海</div><rt>うみ</rt></ruby>", '<div class="ruby"><div>海</div>（うみ）</div>'),
    ("<ruby>海<b><rt>x</rt></b><rt>うみ</rt></ruby>", '海<b>（x）</b>（うみ）'),
    ("<a href='http://a.example/?a=1&b=2#c'>行<a href='x'>先</a></a>",
     '<a href="http://a.example/?a=1&amp;b=2#c">行</a><a href="https://umi.blog.example.jp/x">先</a>'),
    ("<a href='javascript:x'>押す</a><a href='http://a.example/'> </a><a name=x>碇</a>", "押す 碇"),
    ("<a href='big.png'><img src=small.gif alt=小></a>", '<img src="media/x.png" alt="小" />'),
    ("<a href='big.png'>大</a>", '大 <img src="media/x.png" alt="大" />'),
    ("<img src=x.png width=40 onerror=x><img src=y alt=絵><img>", '<img src="media/x.png" alt="" width="40" /><span class="lost">[絵]</span>'),
    (
        "<iframe src='https://parts.example/embed?url=https%3A%2F%2Fa.example%2F1' title='海 &amp; 山'></iframe>",
        '<div class="player"><a href="https://a.example/1">海 &amp; 山</a></div>',
    ),
    ("<iframe src='//v.example/1'></iframe>", '<div class="player"><a href="https://v.example/1">https://v.example/1</a></div>'),
    ("<a href='http://a.example/'><object data='http://v.example/'>代</object></a>",
     '<a href="http://a.example/">代</a>'),
    ("<video><source src='javascript:x'>見られません</video>", "見られません"),
    ("<pre>一\n  二</pre><textarea>三</textarea>", "<pre>一   二</pre><pre>三</pre>"),
    ("<pre class='x language-c++'><code class=lang-c>一</code></pre>", '<pre class="language-c++"><code class="language-c">一</code></pre>'),
    ("<p dir=RTL>一<ul dir=ltr><li>二</ul><p dir=x>三", '<p dir="rtl">一</p><ul dir="ltr"><li>二</li></ul><p>三</p>'),
    ("<pre><div>一</div></pre>", '<div class="pre"><div>一</div></div>'),
    ("<script>x</script><style>y</style><select><option>z</select><template>w</template>", ""),
    ("<form><label>名<input></label><button>送る</button></form>", '<div class="form">名<div class="button">送る</div></div>'),
    ("<svg><script>x</script><text>字</text></svg>", '<div class="svg">字</div>'),
    ("<p> </p><hr><br>", "<hr /><br />"),
    ("<del>消<ins>足", "<del>消<ins>足</ins></del>"),
    ("<x-y>字</x-y>&lt;b&gt;&amp;", "字&lt;b&gt;&amp;"),
]  # fmt: skip
    for html, expected in rows:
        with subtests.test(html=html, expected=expected):
            assert made(html) == expected


def test_too_deep_elements_become_text() -> None:
    body = "<div>" * 400 + "深い<script>x</script>" + "</div>" * 400
    shown = made(body)
    assert shown.count("<div>") < 70
    assert "深い" in shown
    assert "x" not in shown


TAGS = [
    "a",
    "b",
    "blockquote",
    "br",
    "center",
    "dd",
    "del",
    "div",
    "dl",
    "dt",
    "em",
    "font",
    "h2",
    "i",
    "iframe",
    "img",
    "li",
    "ol",
    "p",
    "pre",
    "rb",
    "rp",
    "rt",
    "ruby",
    "span",
    "strong",
    "table",
    "tbody",
    "td",
    "th",
    "thead",
    "tr",
    "u",
    "ul",
    "video",
]
ATTRIBUTES = st.sampled_from(
    ["", " href='http://a.example/'", " src='x.png'", " id=x class=y", " colspan=2", " 1x='<>'"]
)
TREES = st.recursive(
    st.sampled_from(["字", " ", "<", "&", "12", "\x0b", "]]>"]),
    lambda inner: st.builds(
        lambda tag, attribute, parts, closed: f"<{tag}{attribute}>{''.join(parts)}{f'</{tag}>' if closed else ''}",
        st.sampled_from(TAGS), ATTRIBUTES, st.lists(inner, max_size=4), st.booleans(),
    ),
    max_leaves=25,
)  # fmt: skip
PHRASES = frozenset(
    ["a", "abbr", "b", "br", "code", "del", "em", "i", "img", "ins", "ruby", "rt", "s", "span", "strong", "u"]
)
INSIDE = {
    "ul": {"li"}, "ol": {"li"}, "dl": {"dt", "dd"}, "table": {"thead", "tbody"}, "thead": {"tr"}, "tbody": {"tr"},
    "tr": {"td", "th"}, **dict.fromkeys(("p", "h2", "pre", "b", "em", "i", "u", "strong", "ruby", "rt"), PHRASES),
}  # fmt: skip


@given(TREES)
@settings(max_examples=400, deadline=None)
def test_trees_made_at_random_hold_what_the_schema_lets_them(html: str) -> None:
    root = ET.fromstring(f"<div>{cleaned(xhtml(parse(html), ADDRESSES, upright=True)).text}</div>")
    for parent in root.iter():
        tags = {child.tag for child in parent}
        assert tags <= INSIDE.get(parent.tag, tags), (html, parent.tag)
        assert set(parent.attrib) <= {"class", "href", "src", "alt", "width", "colspan", "rowspan", "start"}
        if parent.tag == "a":
            assert parent.find(".//a") is None
        if parent.tag in {"ul", "ol", "dl", "table", "tr"}:
            assert len(parent)
            assert not "".join([parent.text or "", *(child.tail or "" for child in parent)]).strip()
        if parent.tag == "ruby":
            assert parent.find(".//ruby") is None
            assert parent[-1].tag == "rt"


def test_addresses_are_valid_for_strict_readers(subtests: pytest.Subtests) -> None:
    rows: list[tuple[str, str | None]] = [
    ("http://a.example", "http://a.example/"), (" /x ", f"{BASE}x"), ("http://日本.example/あ", "http://xn--wgv71a.example/%E3%81%82"),
    ("http://a.example/%zz?a[]=1", "http://a.example/%25zz?a%5B%5D=1"), ("http://a.example/#a b", "http://a.example/#a%20b"),
    ("mailto:a@b.example", "mailto:a@b.example"), ("mailto:?x", None), ("#x", None), ("", None), ("tel:1", None),
    ("http://a_b.example/", None), ("http://x..y/", None), ("http://-x-/", None), ("http://1.2.3/", None),
    ("http://192.0.2.1:80/", "http://192.0.2.1/"), ("http://u:p@a.example/", None), ("http://[x", None),
]  # fmt: skip
    for address, expected in rows:
        with subtests.test(address=address, expected=expected):
            assert web_address(address, BASE) == expected
