"""Link targets are marked once, in a place where the mark breaks nothing; nothing else is marked."""

from __future__ import annotations

import pytest

from exporter.export.post_html import safe_body
from exporter.html.anchors import mark_places, place_of, wanted_places
from exporter.html.markdown import to_markdown
from exporter.html.tree import parse


@pytest.mark.parametrize(
    ("html", "wanted"),
    [
        ("<a href=\"#a\">x</a><a href='# b'>x</a><A HREF=#c>x</A>", {"a", "b", "c"}),
        ('<a href="#%E6%B3%A8">x</a><a href="#&amp;">x</a><a href="#">x</a>', {"注"}),
        ('<a href="https://x.example/#a">x</a><font color="#fff">x</font>', set()),
        ('<a href="#a&quot;b">x</a><a href="#{{x}}">x</a><a href="#a b">x</a>', set()),
    ],
)
def test_links_name_their_targets(html: str, wanted: set[str]) -> None:
    assert wanted_places(html) == wanted
    assert place_of("x" * 201) is None


MARK = '<a id="a"></a>'


@pytest.mark.parametrize(
    ("html", "markdown", "page"),
    [
        ('<h2 id="a">題</h2>', f"## {MARK}題", f"<h2>{MARK}題</h2>"),
        ('<p>前<a name="a"></a>後</p>', f"前{MARK}後", f"<p>前{MARK}<a></a>後</p>"),
        ('<ol><li id="a">注</li></ol>', f"1. {MARK}注", f"<ol><li>{MARK}注</li>\n</ol>"),
        ('<ul id="a"><li>注</li></ul>', f"{MARK}\n\n- 注", f"{MARK}<ul><li>注</li>\n</ul>"),
        ('<p>前<a id="a" href="#b">1</a></p>', f"前{MARK}[1](#b)", f'<p>前{MARK}<a href="#b">1</a></p>'),
        ('<a href="#b"><i id="a">1</i></a>', f"{MARK}[*1*](#b)", f'{MARK}<a href="#b"><i>1</i></a>'),
        ('<pre id="a">x</pre>', f"{MARK}\n\n```\nx\n```", f"{MARK}<pre>x</pre>"),
        ('<pre><b id="a">x</b></pre>', f"{MARK}\n\n<div><pre><b>x</b></pre></div>", f"{MARK}<pre><b>x</b></pre>"),
        ('<p>x<code id="a">y</code></p>', f"x{MARK}`y`", f"<p>x{MARK}<code>y</code></p>"),
        (
            '<table id="a"><tr><td>x</td></tr></table>',
            f"{MARK}\n\n| x |\n| --- |",
            f"{MARK}<table><tbody><tr><td>x</td>\n</tr>\n</tbody>\n</table>",
        ),
        (
            '<table><tr id="a"><td>x</td></tr></table>',
            f"| {MARK}x |\n| --- |",
            f"<table><tbody><tr><td>{MARK}x</td>\n</tr>\n</tbody>\n</table>",
        ),
        ('<p id="a">x</p><p id="a">y</p>', f"{MARK}x\n\ny", f"<p>{MARK}x</p>\n<p>y</p>"),
        ('<p id="c">x</p><script id="a"></script>', "x", "<p>x</p>"),
        ('<ul><ul id="a"></ul></ul>', f"- {MARK}", f"<ul>{MARK}<ul></ul>\n</ul>"),
    ],
)
def test_a_target_is_marked_at_its_place(html: str, markdown: str, page: str) -> None:
    assert to_markdown(html, places={"a"}).text == markdown
    assert safe_body(html, {"a"}) == page


def test_what_is_there_is_said() -> None:
    body = parse('<p id="a">x</p><b id="c">y</b>')
    assert mark_places(body, {"a", "b"}) == {"a"}
