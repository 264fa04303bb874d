"""The single page: its title, years, appearance, and keyboard navigation."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path

from exporter.html.tree import Element, parse
from tests.export.memory import Memory, export

SHEET = Path(__file__).parent.parent.parent / "exporter" / "site" / "static" / "site.css"


def blog() -> Memory:
    memory = Memory()
    memory.entry("1", title="ひとつ", entry_text='<pre class="lang-python">if x: pass</pre>', year="2015")
    memory.entry("2", title="ふたつ", entry_text="<table title='<pre a>b'><tr><td>1</td></tr></table>", year="2016")
    memory.entry("3", title="みっつ", entry_text="<p title='<pre onclick=x>'>x</p>", year="2016")
    return memory


def page(**options: str) -> str:
    return export("html", blog(), **options).only().decode()


def elements(html: str, tag: str) -> list[Element]:
    found = parse(html.partition("<body>")[2])
    return [each for each in found.walk() if isinstance(each, Element) and each.tag == tag]


def test_it_has_a_title() -> None:
    assert "<h1>潮 &lt;だまり&gt;</h1>" in page(title=" 潮\n<だまり> ")
    assert "<h1>umi.blog.example.jp</h1>" in page()


def test_entries_are_grouped_by_year() -> None:
    made = page()
    assert [each.text() for each in elements(made, "h2")] == [
        "2015年",
        "2016年",
        "2015年",
        "ひとつ",
        "2016年",
        "ふたつ",
        "みっつ",
    ]
    places = {each.attributes.get("id") for tag in ("h2", "article") for each in elements(made, tag)}
    links = {each.attributes["href"] for each in elements(made.partition("</nav>")[0], "a")}
    assert links == {"#y2015", "#y2016", "#e1", "#e2", "#e3"}
    assert {link[1:] for link in links} <= places


def test_it_looks_like_the_site() -> None:
    made = page()
    style = made.partition("<style>")[2].partition("</style>")[0]
    assert style.startswith(SHEET.read_text("utf-8"))
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in made
    assert '<span class="ck">if</span>' in made


def test_a_picture_keeps_its_own_words() -> None:
    memory, address = Memory(), "https://emoji.example.jp/e/onpu.gif"
    shown = "".join(f'<img src="{address}" alt="{each}">' for each in ("♪", "(^^)", "IMG_0004"))
    memory.entry("1", entry_text=f"<p>{shown}</p>")
    memory.picture(address, entry_id="1")
    pictures = elements(export("html", memory).only().decode(), "img")
    assert [each.attributes["alt"] for each in pictures] == ["♪", "(^^)", "画像 1"]


def test_scrolling_parts_are_focusable_and_nothing_else_is_changed() -> None:
    made = page()
    assert [each.attributes for each in elements(made, "pre")] == [{"tabindex": "0"}]
    assert [each.attributes for each in elements(made, "table")] == [{"title": "<pre a>b", "tabindex": "0"}]
    assert {"title": "<pre onclick=x>"} in [each.attributes for each in elements(made, "p")]
    assert not re.search(r"</?(?:script|link)\b", made)
