"""A body's HTML as text."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from exporter.html import text as texts
from exporter.html.text import plain_text, text_of, text_start
from tests.html.bodies import Maker


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("波の音", "波の音"),
        ("<p>東<b>京</b></p><p>大阪</p>", "東京\n大阪"),
        ("東京<br>大阪", "東京\n大阪"),
        ("a &amp; b &lt;c&gt;", "a & b <c>"),
        ('<img src="x" alt="海の写真">と<script>alert(1)</script><style>p{}</style>', "海の写真と"),
        ("<ul><li>一<li>二</ul>", "一\n二"),
        ("<table><tr><td>甲<td>乙</table>", "甲\n乙"),
        ("", ""),
        ("5 < 6 & 7", "5 < 6 & 7"),
        ("<div>" * 3000 + "底", "底"),
    ],
)
def test_plain_text_is_the_visible_text(source: str, text: str) -> None:
    assert plain_text(source) == text


def test_a_body_too_tangled_to_read_is_searched_without_its_tags() -> None:
    source = "".join(f'<b x="{number}"><p>' for number in range(40_000)) + "底 &amp; 海"
    assert plain_text(source).strip() == "底 & 海"


@pytest.mark.parametrize("characters", [1, 5, 221])
def test_the_start_of_a_text_is_where_the_whole_text_starts(characters: int) -> None:
    for seed in range(60):
        html = Maker(seed).make().html + " <br> \n<p> </p>\n" + Maker(seed + 1_000).make().html
        whole, start = text_of(html), text_start(html, characters)
        assert whole.startswith(start)
        assert start == whole or len(start) >= characters


def test_the_start_of_a_text_does_not_read_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    pieces = texts._text_pieces

    def noted(source: str) -> Iterator[str]:
        for piece in pieces(source):
            read.append(piece)
            yield piece

    monkeypatch.setattr(texts, "_text_pieces", noted)

    assert text_start("<p>たくさんの言葉</p>" * 1_000, 20).startswith("たくさんの言葉\nたくさんの言葉")
    assert len(read) < 20
