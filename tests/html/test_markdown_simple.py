"""Simple bodies: the Markdown made of their pieces is the Markdown made of their trees, byte for byte."""

from __future__ import annotations

from html import escape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporter.html.links import AddressPattern
from exporter.html.local_links import ArchiveLinks, AssetMap, EntryAddresses
from exporter.html.markdown import to_markdown
from exporter.html.markdown_simple import simple_markdown
from exporter.html.simple import simple_pieces
from exporter.html.tree import Element
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
    *["b", "b", "p", "p", "div", "i", "font", "span"] * 3, "strong", "em", "u", "s", "big", "sub", "strike", "tt", "code", "center", "blockquote",
    'span style="font-weight: bold"', 'b class="x"', 'div align="center"', "P", *(f'a href="{url}" title="*"' for url in _URLS),
)  # fmt: skip
_CLOSE = "</>"
_steps = st.one_of(
    st.sampled_from(_TEXTS),
    st.sampled_from([*(f"<{opened}>" for opened in _OPENED), *_VOID]),
    st.just(_CLOSE),
    st.text(max_size=2).map(escape),
)


def _body_of(steps: list[str]) -> str:
    """Return these steps as a body whose tags are closed in their places."""
    opened: list[str] = []
    parts: list[str] = []
    for step in [*steps, *[_CLOSE] * len(steps)]:
        if step != _CLOSE:
            parts.append(step)
            if step.startswith("<") and step not in _VOID:
                opened.append(step[1:-1].split()[0])
        elif opened:
            parts.append(f"</{opened.pop()}>")
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


def _check(body: str) -> None:
    assert simple_pieces(visible(body + _COMMENT)[0]) is None
    assert to_markdown(body) == to_markdown(body + _COMMENT)
    assert to_markdown(body, _localise) == to_markdown(body + _COMMENT, _localise)


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
        "<p><b>海</b>\n<i>山</i></p>", "<img src='/a.png'>- 海", "<p><b>海\n- 山</b></p>", "<a name='x'>海</a>[a](b)", "<a>海 </a> 山", "海<b> 山</b>川", "海<b>山 </b>川", "<b>（海）</b>と<b>山。</b>", "",
    ],
)  # fmt: skip
def test_so_it_does_of_what_is_hard_to_come_by(body: str) -> None:
    _check(body)


@pytest.mark.parametrize(
    "body",
    [
        "海\n\n山！",
        "<p>海へ行った。<b>三枚だけ</b>撮った。</p>\n<p>a <i>b</i> c<br>\n# 山</p>",
        '<div align="center"><a href="https://other.example/"><img src="https://blog.example/a.png" alt="絵"></a><br>海</div>',
        '<font color="red">海</font>と<span style="font-weight: bold">山</span>',
    ],
)
def test_what_people_write_takes_the_short_way(body: str) -> None:
    pieces = simple_pieces(body)
    assert pieces is not None
    assert simple_markdown(pieces, None) == to_markdown(body + _COMMENT).text


@pytest.mark.parametrize(
    "body",
    ["<b><i>海</i></b>", "<b> 海</b>", "海*<b>山</b>", "<b>海<br></b>", "<b>海<br><br>山</b>", "<center>海</center>", "<img src='javascript:x'>"],
)  # fmt: skip
def test_what_is_in_doubt_takes_the_general_way(body: str) -> None:
    pieces = simple_pieces(body)
    assert pieces is not None
    assert simple_markdown(pieces, None) is None
