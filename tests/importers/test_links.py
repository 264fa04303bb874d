"""In the pages that site generators make, every link of a text to itself and to other entries leads somewhere."""

from __future__ import annotations

import base64
import json
import re
import zipfile
from html import unescape
from pathlib import Path
from urllib.parse import unquote

import pytest

from exporter.html.links import AddressPattern
from tests.export.memory import BLOG, PIXEL, Memory
from tests.importers.blogs import Blog
from tests.importers.conftest import Tool

OLD = (AddressPattern("https://{blog_id}/Entry/{entry_id}/", "x"),)
ENTRIES = 50
PICTURE = base64.b64encode(PIXEL).decode()
IN_PAGE = 8
TITLES = ("海の日", "Umi no Hi", "旅 & <食>", "2024年の夏！", "ÉCLAIR カモメ")


def linked_blog() -> Memory:
    """Return a blog in which each entry links to eight places of its own, and to two other entries."""
    blog = Memory()
    for number in range(1, ENTRIES + 1):
        other, far = number % ENTRIES + 1, (number * 7) % ENTRIES + 1
        body = (
            '<ul><li><a href="#one">一</a></li><li><a href="#%E6%B3%A8">注へ</a></li></ul>'
            '<h2 id="one">見出し</h2><p>文<sup><a id="fnref1" href="#fn1">1</a></sup>と<a href="#old">古い</a></p>'
            '<p><a name="old"></a>所</p><p id="注">注</p><table><tr><td id="cell">升</td><td><a href="#code">符</a>'
            '<a href="#cell">升へ</a></td></tr></table><pre id="code">a &lt; b</pre><a href="#image">絵へ</a>'
            f'<p><a href="https://{BLOG}/Entry/{other}/">次</a> <a href="http://{BLOG}/Entry/{far}/#one">見出しへ</a></p>'
        )
        more = f'<ol><li id="fn1">脚注 <a href="#fnref1">戻る</a></li></ol><img id="image" src="data:image/png;base64,{PICTURE}">'
        title = TITLES[number % len(TITLES)]
        blog.entry(str(number), title=title, entry_text=body, ps_text=more, name=f"umi-{number}", sec=f"{number:02}")
    return blog


def dead_links(site: Path, pages: list[Path]) -> list[str]:
    """Return the links of pages that lead to no place of the site."""
    dead = []
    for page in pages:
        html = page.read_text(encoding="utf-8")
        for href in map(unescape, re.findall(r'<a [^>]*?href="([^":]*)"', html)):
            path, _, fragment = unquote(href).partition("#")
            target = (page.parent / path) if not path.startswith("/") else site / path[1:]
            target = page if not path else target / "index.html" if path.endswith("/") else target
            text = target.read_text(encoding="utf-8") if target.is_file() else ""
            ids = {unescape(found) for found in re.findall(r'\bid="([^"]*)"', text)}
            if not text or (fragment and fragment not in ids):
                dead.append(f"{page.name}: {href}")
    return dead


@pytest.mark.parametrize("body", ["markdown", "html"])
@pytest.mark.parametrize("form", ["hugo", "jekyll", "pelican", "markdown"])
def test_every_link_leads_somewhere(tool: Tool, tmp_path: Path, form: str, body: str) -> None:
    site = tmp_path / "site"
    report = Blog("linked", linked_blog(), tmp_path / "archive").export(form, site, body=body, old_urls=OLD)
    assert report["links"] == {"rewritten": 2 * ENTRIES, "old_host": 0, "dead": 0}
    if form == "hugo":
        layouts = site / "layouts" / "_default"
        layouts.mkdir(parents=True)
        (layouts / "single.html").write_text("<main>{{ .Content }}</main>")
        tool("hugo", "--quiet", cwd=site)
        pages = list((built := site / "public").glob("posts/*/index.html"))
    elif form == "jekyll":
        (site / "_layouts").mkdir()
        (site / "_layouts" / "post.html").write_text("<main>{{ content }}</main>")
        tool("jekyll", "build", "--quiet", cwd=site)
        pages = list((built := site / "_site").glob("posts/*/index.html"))
    elif form == "pelican":
        tool("pelican", "content", "-o", "output", "-e", f"TIMEZONE={json.dumps('Asia/Tokyo')}", cwd=site)
        pages = list((built := site / "output").glob("umi-*.html"))
    else:
        (site / "eleventy.config.mjs").write_text("export default (config) => config.setUseGitIgnore(false);\n")
        tool("eleventy", "--quiet", cwd=site)
        pages = list((built := site / "_site").glob("posts/*/index.html"))
    assert len(pages) == ENTRIES
    texts = [page.read_text(encoding="utf-8") for page in pages]
    assert min(text.count('href="#') for text in texts) >= IN_PAGE
    assert sum(text.count(BLOG) for text in texts) == 0
    assert dead_links(built, pages) == []


def test_a_book_has_every_place_that_its_links_lead_to(tool: Tool, tmp_path: Path) -> None:
    Blog("linked", linked_blog(), tmp_path / "archive").export("epub", tmp_path / "out", old_urls=OLD)
    book = next((tmp_path / "out").iterdir())
    tool("java", "-jar", tool.path("epubcheck"), book, "--json", tmp_path / "said.json", "--quiet")
    assert json.loads((tmp_path / "said.json").read_text(encoding="utf-8"))["messages"] == []
    with zipfile.ZipFile(book) as opened:
        pages = [opened.read(name).decode() for name in opened.namelist() if "/entry-" in name]
    assert len(pages) == ENTRIES
    assert {page.count('href="#c-') for page in pages} == {IN_PAGE}
    assert {page.count('href="entry-') for page in pages} == {2}
