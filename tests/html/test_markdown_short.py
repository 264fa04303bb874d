"""The short way to Markdown says what the general way does, byte for byte: over pieces for trees, and in paragraphs."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporter.html.links import AddressPattern
from exporter.html.local_links import ArchiveLinks, AssetMap, EntryAddresses
from exporter.html.markdown import to_markdown
from exporter.html.markdown_inline import HARD_BREAK, enter_inline, render_inline
from exporter.html.markdown_runs import Marks, Runs, paragraphs
from exporter.html.markdown_short import Step, short_paragraphs
from exporter.html.simple import simple_pieces
from exporter.html.tags import BLOCKS
from exporter.html.tree import Element, parse
from exporter.text import visible
from tests.html.bodies import WORDS

_COMMENT = "<!-- -->"
"""A parser passes over it; nothing with it is simple."""
_BASE = "https://blog.example/"
_URLS = (
    "https://blog.example/a.png", "/Entry/1/", "https://other.example/x_y(z)?a=1&amp;b=2", "https://blog.example/lost.png", "javascript:alert(1)", "",
)  # fmt: skip
_TEXTS = (
    *(["海", "山へ行った。", "（川）", "「森」", "a b", "c"] * 3), " ", " ", "\n", "\r\n", "  ", "\t", "　", "\xa0", "&nbsp;", "\f", " \n ", "\x85",
    "*", "_", "~", "`", "[", "]", "!", "\\", "&amp;", "&lt;", "-", "#", "1.", "=", "+", "|", ":", ">", "&amp;amp;", "&lt;b", "- 海", "# 山", "x_y", "😀",
    *(escape(word, quote=False) for word in WORDS),
)  # fmt: skip
_VOID = (
    *["<br>"] * 6, "<br>\r\n", "<br /><br />", "<BR>", "<br clear='all'>", "<hr>",
    *(f'<img src="{url}" alt="{alt}">' for url in _URLS for alt in ("絵", "", "[a]* b ")),
)  # fmt: skip
_OPENED = (
    *["b", "b", "p", "p", "div", "i", "font", "span"] * 3, "strong", "em", "u", "s", "big", "sub", "strike", "tt", "code", "center", "blockquote", "h3",
    'span style="font-weight: bold"', 'b class="x"', 'div align="center"', "P", *(f'a href="{url}" title="*"' for url in _URLS),
)  # fmt: skip
_AROUND = {
    "<li>": ("<ul>", "</ul>"),
    "<li >": ("<ol start=3>", "</ol>"),
    "<td>": ("<table><tbody><tr>", "</tr></tbody></table>"),
}
_CLOSE = "</>"
_steps = st.one_of(
    st.sampled_from(_TEXTS),
    st.sampled_from([*(f"<{opened}>" for opened in _OPENED), *_VOID, *_AROUND]),
    st.just(_CLOSE),
    st.text(max_size=2).map(escape),
)


def _body_of(steps: list[str]) -> str:
    """Return these steps as a body whose tags are closed in their places."""
    closing: list[str] = []
    parts: list[str] = []
    for step in [*steps, *[_CLOSE] * len(steps)]:
        if step != _CLOSE:
            before, after = _AROUND.get(step, ("", ""))
            parts += [before, step]
            if step.startswith("<") and step not in _VOID:
                closing.append(f"</{step[1:-1].split()[0]}>{after}")
        elif closing:
            parts.append(closing.pop())
    return "".join(parts)


_LINKS = ArchiveLinks(
    AssetMap(
        [
            {"url": "https://blog.example/a.png", "status": 200, "content_type": "image/png", "bytes": 1, "sha256": "a" * 64, "refs": []},
            {"url": "https://blog.example/lost.png", "status": 404, "refs": []},
        ],
        _BASE,
    ),
    EntryAddresses([AddressPattern("https://{blog_id}/Entry/{entry_id}/", "")], [("1", {"blog_id": "blog.example", "entry_id": "1"})], _BASE),
    {"1": "latest/markdown/1.md"},
)  # fmt: skip


def _localise(body: Element) -> None:
    _LINKS.localise(body, "latest/markdown/2/2.md")


def _general(steps: list[Step], *, keep_lines: bool) -> list[str | int]:
    runs = Runs(keep_lines=keep_lines)
    marks: list[Marks] = [()]
    for step in steps:
        if step is None:
            marks.pop()
        elif isinstance(step, str):
            runs.text(step, marks[-1])
        elif (below := enter_inline(step, marks[-1], runs)) is not None:
            marks.append(below)
    return [part if isinstance(part, int) else render_inline(part) for part in paragraphs(runs.take())]


def _steps_of(element: Element) -> Iterator[Step]:
    """Yield the inline content of an element: blocks in it are passed over, but what is in them is not."""
    for child in element.children:
        is_inline = isinstance(child, str) or child.tag not in BLOCKS
        if is_inline:
            yield child
        if isinstance(child, Element) and child.tag not in {"br", "img"}:
            yield from _steps_of(child)
            if is_inline:
                yield None


def _check(body: str) -> None:
    steps = list(_steps_of(parse(body)))
    for keep_lines in (False, True):
        short = short_paragraphs(steps, HARD_BREAK, keep_lines=keep_lines)
        assert short is None or short == _general(steps, keep_lines=keep_lines)
    assert simple_pieces(visible(body + _COMMENT)[0]) is None
    assert to_markdown(body) == to_markdown(body + _COMMENT)
    assert to_markdown(body, _localise) == to_markdown(body + _COMMENT, _localise)


@pytest.mark.no_cover
@settings(max_examples=2000, deadline=None)
@given(st.lists(_steps, max_size=20).map(_body_of))
def test_the_short_way_says_what_the_general_way_does(body: str) -> None:
    _check(body)


@pytest.mark.parametrize(
    "body",
    [
        "海<br>- <b>山</b>", "海<br>-<br><br><br><br>1. 山<br>", "<b>海</b>。<b>「山」</b>川<i>、</i>", "1) 海\n# 山\n<b>川</b>", "# 海\n- 山\n\n川",
        "<b>海<br>山</b><br><br><a href='/Entry/1/'><img src='https://blog.example/a.png'></a> 川", "<a href='/x'>海[a]山</a>", "<b><i>海</i>山</b>",
        "<b>海</b><i>山</i>", "<b>山<i>海</i></b>", "海 *<b>山</b>", "<b>山</b>* 海", "<b>海<br><br>山</b>", "海 <font>\n山</font><br>", "海<br><br><br>山",
        "<p><b>海</b>山\n- 川</p>", "<p><b>海</b>\n- 川</p>", "海<br>　", "<b>海<b>山</b>川</b>", "<b>海<br></b>山", "<br><br>海<br><br>", "<p>海</p>\n \n<p>- 山</p>",
        "<p><b>海</b>\n<i>山</i></p>", "<img src='/a.png'>- 海", "<p><b>海\n- 山</b></p>", "<a name='x'>海</a>[a](b)", "<a>海 </a> 山", "<code>海<b>山</b></code>", "<code> 海 </code>", "<table><tbody><tr><td><code>a</code><img src='https://blog.example/lost.png'></td></tr></tbody></table>",
        "<ul><li>海<ul><li>山</li></ul></li>\n<li><b>川</b><br></li></ul>", "海<b> 山</b>川", "海<b>山 </b>川", "<b>（海）</b>と<b>山。</b>", "",
    ],
)  # fmt: skip
def test_so_it_does_of_what_is_hard_to_come_by(body: str) -> None:
    _check(body)


@pytest.mark.parametrize(
    "html",
    [
        "海\n\n山！",
        "海へ行った。<b>三枚だけ</b>撮った。",
        "a <i>b</i> c<br>\n# 山",
        '<a href="https://other.example/"><img src="https://blog.example/a.png" alt="絵"></a><br>海',
        '<font color="red">海</font>と<span style="font-weight: bold">山</span>',
    ],
)
def test_what_people_write_takes_the_short_way(html: str) -> None:
    assert short_paragraphs(list(_steps_of(parse(html))), HARD_BREAK, keep_lines=False) is not None


@pytest.mark.parametrize(
    "html",
    ["<b><i>海</i></b>", "<b> 海</b>", "海*<b>山</b>", "<b>海<br></b>", "<b>海<br><br>山</b>", "<code>海</code>", "<img src='javascript:x'>"],
)  # fmt: skip
def test_what_is_in_doubt_takes_the_general_way(html: str) -> None:
    assert short_paragraphs(list(_steps_of(parse(html))), HARD_BREAK, keep_lines=False) is None
