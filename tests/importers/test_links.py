"""In the pages of site generators, every link of a text to itself and to other entries leads somewhere."""

from __future__ import annotations

import base64
import json
import re
import zipfile
from collections import Counter
from html import unescape
from pathlib import Path
from urllib.parse import quote, unquote

import pytest

from exporter.export.interface import Preset
from exporter.export.own_links import infer_entry_url
from exporter.html.links import AddressPattern
from exporter.service.registry import DEFAULT_SERVICE
from tests.export.memory import BLOG, PIXEL, Memory
from tests.html.test_footnotes import HATENA, TWICE, WORDPRESS
from tests.importers.blogs import Blog
from tests.importers.conftest import Tool
from tests.importers.sites import Generator, every_generator

OLD = (AddressPattern("https://{blog_id}/Entry/{entry_id}/", "x"),)
ENTRIES = 20
PICTURE = base64.b64encode(PIXEL).decode()
IN_PAGE = 8
LINKS = 4
TITLES = ("海の日", "Umi no Hi", "旅 & <食>", "2024年の夏！", "ÉCLAIR カモメ")


def linked_blog() -> Memory:
    """Return a blog in which each entry has eight links within itself, and four to other entries."""
    blog = Memory()
    for number in range(1, ENTRIES + 1):
        other, far = number % ENTRIES + 1, (number * 7) % ENTRIES + 1
        body = (
            '<ul><li><a href="#one">一</a></li><li><a href="#%E6%B3%A8">注へ</a></li></ul>'
            '<h2 id="one">見出し</h2><p>文<sup><a id="fnref1" href="#fn1">1</a></sup>と<a href="#old">古い</a></p>'
            '<p><a name="old"></a>所</p><p id="注">注</p><table><tr><td id="cell">升</td><td><a href="#code">符</a>'
            '<a href="#cell">升へ</a></td></tr></table><pre id="code">a &lt; b</pre><a href="#image">絵へ</a>'
            f'<p><a href="https://{BLOG}/Entry/{other}/">次</a> <a href="http://{BLOG}/Entry/{far}/#one">見出しへ</a>'
            f'<a href="/Entry/{far}/">相対</a></p>'
        )
        more = f'<ol><li id="fn1">脚注 <a href="#fnref1">戻る</a></li></ol><a href="/Entry/{other}/#fn1">注</a><img id="image" src="data:image/png;base64,{PICTURE}">'
        title = TITLES[number % len(TITLES)]
        blog.entry(str(number), title=title, entry_text=body, ps_text=more, name=f"umi-{number}", sec=f"{number:02}")
    return blog


def lettered_blog() -> Memory:
    """Return a blog with Japanese names, files and ids in its links, both literal and percent-encoded."""
    blog = Memory()
    for number in (1, 2, 3):
        other = number % 3 + 1
        ways = [f"https://{BLOG}/日記/潮だまり-{other}.html", f"/{quote('日記')}/{quote(f'潮だまり-{other}.html')}"]
        links = "".join(f'<a href="{way}{place}">次</a>' for way in ways for place in ("", "#注", f"#{quote('注')}"))
        pictures = "".join(
            f'<img src="https://files.example.jp/{name}">' for name in ("海と空.png", quote("海と空.png"))
        )
        body = f'<p>{links}{pictures}</p><p id="注">注 <a href="#注">ここ</a></p>'
        blog.entry(str(number), title=f"潮だまり（{number}）", entry_text=body, name=f"潮だまり-{number}")
    blog.picture(f"https://files.example.jp/{quote('海と空.png')}", entry_id="1")  # the spelling in a backup
    return blog


def led_astray(html: str, parts: str = "article") -> list[str]:
    """Return the links with a target outside of their part of the page, or with an ambiguous one."""
    ids = Counter(map(unescape, re.findall(r'\bid="([^"]*)"', html)))
    astray = []
    for part in re.findall(rf"<{parts}>.*?</{parts}>", html, re.DOTALL):
        own = {unescape(found) for found in re.findall(r'\bid="([^"]*)"', part)}
        places = (unquote(unescape(found)) for found in re.findall(r'href="#([^"]*)"', part))
        astray += [place for place in places if place not in own or ids[place] > 1]
    return astray


def dead_links(site: Path, pages: list[Path]) -> list[str]:
    """Return the links of pages whose targets do not exist on the site."""
    dead = []
    for page in pages:
        html = page.read_text(encoding="utf-8")
        for href in map(unescape, re.findall(r'<a [^>]*?href="((?:https://example.org)?[^":]*)"', html)):
            path, _, fragment = unquote(href).partition("#")
            path = path.removeprefix("https://example.org")
            target = (page.parent / path) if not path.startswith("/") else site / path[1:]
            target = page if not path else target / "index.html" if path.endswith("/") else target
            text = target.read_text(encoding="utf-8") if target.is_file() else ""
            ids = {unescape(found) for found in re.findall(r'\bid="([^"]*)"', text)}
            if not text or (fragment and fragment not in ids):
                dead.append(f"{page.name}: {href}")
    return dead


def noted_blog() -> Memory:
    """Return a blog with three entries that have footnotes, the last one also in its continuation."""
    blog = Memory()
    for number, (body, more) in enumerate([(HATENA, ""), (TWICE, ""), (HATENA, WORDPRESS)], 1):
        blog.entry(str(number), title=f"注{number}", entry_text=body, ps_text=more)
    return blog


@pytest.mark.parametrize("body", ["markdown", "html"])
@every_generator
def test_every_link_leads_somewhere(
    tool: Tool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, generator: Generator, body: str
) -> None:
    monkeypatch.setenv("ASTRO_TELEMETRY_DISABLED", "1")
    blog, site = linked_blog(), tmp_path / "site"
    shown = infer_entry_url(DEFAULT_SERVICE, blog)
    assert shown is not None
    report = Blog("linked", blog, tmp_path / "archive").export(
        generator.form, site, body=body, preset=generator.preset, old_urls=(shown.pattern,)
    )
    assert report["links"] == {"rewritten": LINKS * ENTRIES, "old_host": 0, "dead": 0}
    built = generator.build(tool, site)
    pages = [page for page in built.glob(generator.pages) if "<main>" in page.read_text(encoding="utf-8")]
    assert len(pages) == ENTRIES
    texts = [page.read_text(encoding="utf-8") for page in pages]
    assert min(text.count('href="#') for text in texts) >= IN_PAGE
    assert sum(text.count(BLOG) for text in texts) == 0
    assert dead_links(built, pages) == []
    # Lists and feeds show the texts on other pages.
    lists = [page for page in built.rglob("*") if page.suffix in {".html", ".xml"} and page not in pages]
    around = "".join(unescape(page.read_text(encoding="utf-8")) for page in lists)
    assert re.findall(r'href="(?![a-z]+:|[/#])[^"]*-\d+(?:/|\.html)[^"]*"', around) == []
    assert led_astray((built / "index.html").read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("body", ["markdown", "html"])
@every_generator
def test_addresses_with_japanese_letters_lead_somewhere(
    tool: Tool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, generator: Generator, body: str
) -> None:
    monkeypatch.setenv("ASTRO_TELEMETRY_DISABLED", "1")
    site, old = tmp_path / "site", AddressPattern("https://{blog_id}/日記/{name}.html", "x")
    blog = lettered_blog()
    blog.write_pictures(tmp_path / "archive")
    moved = Blog("lettered", blog, tmp_path / "archive")
    report = moved.export(generator.form, site, body=body, preset=generator.preset, old_urls=(old,))
    assert report["links"] == {"rewritten": 18, "old_host": 0, "dead": 0}
    built = generator.build(tool, site)
    pages = [page for page in built.glob(generator.pages) if "<main>" in page.read_text(encoding="utf-8")]
    texts = [page.read_text(encoding="utf-8") for page in pages]
    assert [len(re.findall("<a [^>]*href=", text)) for text in texts] == [7, 7, 7]
    assert [len(re.findall("<img ", text)) for text in texts] == [2, 2, 2]
    assert dead_links(built, pages) == []
    for page, text in zip(pages, texts, strict=True):
        for source in re.findall(r'<img [^>]*?src="(?:https://example.org)?([^"]*)"', text):
            assert (built / source[1:] if source[0] == "/" else page.parent / source).is_file(), source


@every_generator
def test_footnotes_and_their_ways_back_are_found(
    tool: Tool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, generator: Generator
) -> None:
    monkeypatch.setenv("ASTRO_TELEMETRY_DISABLED", "1")
    site = tmp_path / "site"
    Blog("noted", noted_blog(), tmp_path / "archive").export(generator.form, site, preset=generator.preset)
    knows_them = generator.form in {"jekyll", "pelican"} or generator.preset is Preset.ASTRO
    written = "".join(file.read_text(encoding="utf-8") for file in site.rglob("*.md"))
    assert len(re.findall(r"\[\^e[0-9]+-[0-9]\]", written)) == (11 if knows_them else 0)
    built = generator.build(tool, site)
    texts = [page.read_text(encoding="utf-8") for page in built.glob(generator.pages)]
    pages = [text for text in texts if "<main>" in text]
    assert sorted(page.count('href="#') for page in pages) == [2, 4, 6]
    assert [led_astray(page, "main") for page in pages] == [[], [], []]
    assert sum(bool(re.search('class="footnotes?"', page)) for page in pages) == (3 if knows_them else 0)
    assert sum(page.count("日本海。") for page in pages) == 2
    assert not any("[^" in page for page in pages)
    assert led_astray((built / "index.html").read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("vertical", [False, True])
def test_a_book_has_footnotes(tool: Tool, tmp_path: Path, vertical: bool) -> None:
    Blog("noted", noted_blog(), tmp_path / "archive").export("epub", tmp_path / "out", vertical=vertical)
    book = next((tmp_path / "out").iterdir())
    tool("java", "-jar", tool.path("epubcheck"), book, "--json", tmp_path / "said.json", "--quiet")
    assert json.loads((tmp_path / "said.json").read_text(encoding="utf-8"))["messages"] == []
    with zipfile.ZipFile(book) as opened:
        pages = "".join(opened.read(name).decode() for name in opened.namelist() if "/entry-" in name)
    assert (pages.count('epub:type="noteref"'), pages.count('epub:type="footnote"')) == (6, 5)
    assert pages.count('role="doc-backlink" href="#') == 6


def test_a_book_has_every_place_that_its_links_lead_to(tool: Tool, tmp_path: Path) -> None:
    Blog("linked", linked_blog(), tmp_path / "archive").export("epub", tmp_path / "out", old_urls=OLD)
    book = next((tmp_path / "out").iterdir())
    tool("java", "-jar", tool.path("epubcheck"), book, "--json", tmp_path / "said.json", "--quiet")
    assert json.loads((tmp_path / "said.json").read_text(encoding="utf-8"))["messages"] == []
    with zipfile.ZipFile(book) as opened:
        names = [name for name in opened.namelist() if "/entry-" in name]
        pages = {name.rpartition("/")[2]: opened.read(name).decode() for name in names}
    assert len(pages) == ENTRIES
    assert {page.count('href="#c-') for page in pages.values()} == {IN_PAGE}
    assert {page.count('href="entry-') for page in pages.values()} == {LINKS}
    ids = {name: re.findall(r' id="([^"]*)"', page) for name, page in pages.items()}
    found = [far for page in pages.values() for far in re.findall(r'href="(entry-[^"#]*)#([^"]*)"', page)]
    assert len(found) == 2 * ENTRIES
    assert [(name, place) for name, place in found if place not in ids[name]] == []
