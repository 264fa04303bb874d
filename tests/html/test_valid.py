"""Old and broken HTML as pages show it: valid, with an unchanged appearance."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.html.tree import parse
from exporter.html.valid import MAX_DEPTH, looks, valid_html
from tests.html.payloads import PAYLOADS
from tests.html.test_page_body import writer


def shown(html: str) -> str:
    return str(writer().html(html, "../"))


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ('<font color="red" size="5">a</font>', '<span style="color:red;font-size:x-large;--c:red">a</span>'),
        ('<font color=ff0000 size="+1">a</font>', '<span style="color:#ff0000;font-size:large;--c:#ff0000">a</span>'),
        ("<font size=-9 face=x>a</font>", '<span style="font-size:x-small">a</span>'),
        ('<p align="center">a</p>', '<p style="text-align:center">a</p>'),
        ("<center>a</center>", '<div style="text-align:center">a</div>'),
        ("<big>a</big><tt>b</tt>", '<span style="font-size:larger">a</span><code>b</code>'),
        ("<strike>a</strike><acronym>b</acronym>", "<s>a</s><abbr>b</abbr>"),
        ("<b><p>a</p></b>", '<div style="font-weight:bold"><p>a</p></div>'),
        ("<ul type=square><li>a</ul>", '<ul style="list-style-type:square"><li>a</li></ul>'),
        ("<hr width=50% size=3>", '<hr style="width:50%">'),
        ("<menu><li>a</menu>", "<ul><li>a</li></ul>"),
    ],
)
def test_html_attributes_become_css(html: str, expected: str) -> None:
    assert shown(html) == expected


def test_cells_and_pictures_look_as_they_did() -> None:
    table = shown("<table width=300 align=center><tr><td nowrap valign=top bgcolor=#ffeeee height=20>a</table>")
    assert '<table style="margin:0 auto;width:300px">' in table
    assert '<td style="vertical-align:top;background-color:#ffeeee;height:20px;white-space:nowrap">a</td>' in table
    assert looks("table", {"align": "left"}, shown_as="table") == "float:left"
    assert looks("img", {"align": "right", "hspace": "8", "vspace": "x", "border": "2"}, shown_as="img") == (
        "float:right;margin-left:8px;margin-right:8px;border:2px solid"
    )
    assert looks("img", {"align": "middle", "border": "0", "style": "width:9px"}, shown_as="img") == (
        "vertical-align:middle;width:9px"
    )
    assert looks("img", {"align": "absmiddle"}, shown_as="img") == ""


def test_misplaced_elements_are_replaced(subtests: pytest.Subtests) -> None:
    rows: list[tuple[str, str]] = [
        ("<ul>x<li>a</ul>", "<ul><li>x</li><li>a</li></ul>"),
        ("<li>a</li>", "<div>a</div>"),
        ("<h3>a<div>b</div></h3>", '<h2>a<span style="display:block">b</span></h2>'),
        ("<h3>a<hr>b</h3>", "<h2>a<br>b</h2>"),
        ("<details>a</details>", "<details><summary>…</summary>a</details>"),
        ("<details><summary>a</summary><summary>b</summary></details>", "<details><summary>a</summary><div>b</div></details>"),
        ("<dl><dd>a</dl>", "<div><div>a</div></div>"),
        ("<dl><dt>a<dd>b</dl>", "<dl><dt>a</dt><dd>b</dd></dl>"),
        ("<ruby>a<rtc><rt>b</rtc></ruby><rt>c", "<ruby>a<rt>b</rt></ruby><span>c</span>"),
        ("<a href=https://x.example/></a>", ""),
        ("<a href=javascript:x>a</a><a>b</a>", "<span>a</span><span>b</span>"),
        ("<time>a</time><time datetime=2016-01-02>b</time>", '<span>a</span><time datetime="2016-01-02">b</time>'),
        ("<main><nav>a</nav></main>", "<div><div>a</div></div>"),
        ("<h1> </h1><h4>a</h4><h6>b</h6><h5>c</h5><h1>d</h1>", "<div> </div><h2>a</h2><h3>b</h3><h3>c</h3><h2>d</h2>"),
        ("<ol start=x type=q><li value=3>a</ol>", '<ol><li value="3">a</li></ol>'),
        ("<p lang=ja>a<p lang='x y'>b", '<p lang="ja">a</p><p>b</p>'),
        ("<p id=a>a<p id=a>b<a href=#a>c</a>", '<p id="c-a">a</p><p>b<a href="#c-a" rel="noopener noreferrer">c</a></p>'),
        ("<table><tr><th>a<td>b</table>", '<div class="wide"><table><tbody><tr><th scope="row">a</th><td>b</td></tr></tbody></table></div>'),
    ]  # fmt: skip
    for html, expected in rows:
        with subtests.test(html=html, expected=expected):
            assert shown(html) == expected


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<figure><b>x</b><figcaption>a</figcaption></figure>", "<figure><b>x</b><figcaption>a</figcaption></figure>"),
        ("<figure> <figcaption>a</figcaption> x</figure>", "<figure> <figcaption>a</figcaption> x</figure>"),
        ("<figure>x<figcaption>a</figcaption>y</figure>", "<figure>x<div>a</div>y</figure>"),
        (
            "<figure><figcaption>a</figcaption>x<figcaption>b</figcaption></figure>",
            "<figure><figcaption>a</figcaption>x<div>b</div></figure>",
        ),
    ],
)
def test_a_figure_has_one_caption_at_an_end(html: str, expected: str) -> None:
    assert shown(html) == expected


def test_nesting_stays_within_the_limits_of_browsers() -> None:
    html = shown("<div>" * 3000 + "<b>x</b>" + "</div>" * 3000)
    assert html.count("<div>") == MAX_DEPTH
    assert "x" in html


@given(
    st.lists(
        st.sampled_from(
            [*PAYLOADS, *["ul", "li", "p", "b", "h2", "table", "td", "dl", "dt", "a", "ruby", "rt", "details"]]
        ),
        max_size=8,
    )
)
def test_no_text_is_lost(parts: list[str]) -> None:
    html = "".join(f"<{part}>文{at}" if part.isalnum() else part for at, part in enumerate(parts))
    tree = parse(html)
    shown_tree = valid_html(tree, kept=frozenset(), dropped=frozenset())
    assert "".join(shown_tree.text().replace("…", "").split()) == "".join(tree.text().replace("…", "").split())
