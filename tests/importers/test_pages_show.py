"""The pages that generators make from Markdown show the same text, lists and quotes as a browser shows of each body."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from exporter.export.interface import Comments, ExportOptions
from exporter.export.names import plain_name
from exporter.export.post_html import safe_body
from exporter.export.posts import ExportPost, Posts
from exporter.export.report import Report
from tests.export.memory import SAID
from tests.html.structures import STRUCTURES, made_up, tree_of
from tests.importers.blogs import Blog, blog
from tests.importers.conftest import Tool
from tests.importers.sites import MAIN, Generator, every_generator
from tests.importers.test_wordpress_shows import made_up as many_bodies
from tests.importers.test_wordpress_shows import page, seen

if TYPE_CHECKING:
    from playwright.sync_api import Page

__all__ = ["page"]


LINES = (
    "* 星", "- 線", "+ 足", "1. 一", "1) 一", "12: 二", "# 見出し", "## 題 ##", "> 引用", "===", "---", "- - -", "***", "___", "~~~", "```",
    ": 定義", "[^1]: 注", "[a]: https://a.example/", "*[HTML]: 略", "{: .class}", "{:toc}", "[TOC]", "[[_TOC_]]", "!!! note", ":::", "::: tip",
    "| 一 | 二 |", "一 | 二", "|---|---|", "---|---", "$$x$$", "\\[x\\]", "{{x}}", "{% x %}", "{{ x }}", "{# x #}", "<% x %>", "{{&lt; x >}}",
    "<!-- x -->", "    四つ", "&nbsp;&nbsp;&nbsp;&nbsp;字", "\u3000　字下げ", "[ ] 未", "[x] 済", "{#id}", "{.class}", "^^^", "+++", "%%x%%",
    "Date: 2020-01-01", "title: x", "[Read more]",
)  # fmt: skip
WORDS = (
    "10時~12時です~", "~~消~~", "==印==", "x^2^", "H~2~O", "_斜_", "__太__", "a_b_c", "*斜*", "**太**", "2*3*4", "`code`", ":smile: :)", "@name",
    "#tag", "C:\\dir\\", "¥\\", "\\*", "[x]", "[x](y)", "![x](y)", "[^1]", "&amp;amp;", "&lt;b&gt;", "(c) (r) (tm)", "'a' \"b\"", "...", "--", "---",
    "&lt;https://a.example/&gt; ", "https://a.example/?a=1&amp;b=2_c_d", "www.example.com", "mail@example.com", "$x$", "\\(x\\)", "{x}", "{{x}}", "{%x%}",
    "<s>消</s>", "<del>消</del>線", "<u>下線</u>", "<sub>下</sub>", "<tt>t</tt>", "<b>太「字」</b>続き", "<b>太</b><i>斜</i>", "<i><b>両</b></i>",
    "<ruby>海<rt>うみ</rt></ruby>", "|", "<", "HTML", "\\", "!", "^", "=", "+", "%", '<a href="https://a.example/(x)_y_">鎖_(x)_</a>',
)  # fmt: skip
MISREAD = (
    *(f"<p>前</p><p>{line}</p><p>後</p>" for line in LINES),
    *(f"前<br>{line}<br>後<br><br>{line}" for line in LINES),
    *(f"<p>{line}</p><p><br></p><p>**前**{line}</p><p><br><br></p><p>{line}</p><hr><p>後</p>" for line in LINES),
    *(f"<ul><li>{line}<br>{line}</li><li>項</li></ul><blockquote>{line}<br>{line}</blockquote>" for line in LINES),
    *(f"{word}<br>前{word}後 {word} {word}{word}" for word in WORDS),
    *(
        f"<h3>{word}</h3><ul><li>{word}<ul><li>{word}</li></ul></li></ul><ol><li>{word}<p>{word}</p></li></ol>"
        for word in WORDS
    ),
    *(f"<table><tr><th>一{word}</th><td>{word}</td></tr><tr><td>{word}</td><td>二</td></tr></table>" for word in WORDS),
    *(
        f"<pre>{word}\n{line}\n\n  {word}</pre><center>{word}<br>{line}</center>"
        for word, line in zip(WORDS, LINES, strict=False)
    ),
)
"""Text that one Markdown reader or another takes for markup."""

FRAME = re.compile(r'<iframe[^>]*? src="([^"]*)"[^>]*></iframe>')


@pytest.mark.parametrize("name", ["demo", "made up"])
@every_generator
def test_the_text_equals_that_of_the_blog(
    tool: Tool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, page: Page, name: str, generator: Generator
) -> None:
    monkeypatch.setenv("ASTRO_TELEMETRY_DISABLED", "1")
    if name == "demo":
        with blog(name, tmp_path / "archive") as moved:
            check(tool, tmp_path / "site", page, moved, generator)
    else:
        records = many_bodies()
        structures = dict(enumerate([*STRUCTURES.values(), *map(made_up, range(80))], 2001))
        for number, body in {**dict(enumerate(MISREAD, 1001)), **structures}.items():
            records.entry(str(number), title=f"題{number}", entry_text=body)
        shown = check(tool, tmp_path / "site", page, Blog(name, records, tmp_path), generator)
        different = [body for number, body in structures.items() if tree_of(shown[str(number)]) != tree_of(body)]
        assert different == []


def check(tool: Tool, site: Path, page: Page, moved: Blog, generator: Generator) -> dict[str, str]:
    """Build a blog's pages, compare their text, and return the HTML of each post by its id."""
    moved.export(generator.form, site, preset=generator.preset, comments=Comments.NONE)
    built = generator.build(tool, site)
    posts = Posts(moved.records, ExportOptions(declared=SAID), Report(), spelling=plain_name)
    different, pages = {}, {}
    for post in posts:
        html = generator.page_of(built, post.id, posts.name(post.id)).read_text(encoding="utf-8")
        (shown,) = MAIN.findall(html)
        pages[post.id] = shown
        # Some generators treat a cell of ideographic spaces as empty.
        texts = [re.sub("\t\u3000+\t", "\t\t", seen(page, each, lines=False)) for each in (shown, source(post))]
        if texts[0] != texts[1]:
            different[post.id] = texts
    assert different == {}
    return pages


def source(post: ExportPost) -> str:
    """Return a post's body, the title of its continuation, and the latter, with a link in place of each frame."""
    lead = f"<h2>{post.record.more_title}</h2>" if post.record.more_title.strip() else ""
    html = f"{safe_body(post.record.body)}{lead}{safe_body(post.record.more)}"
    return FRAME.sub(lambda found: f"<div>{found[1]}</div>", html)
