"""The site of several blogs, opened from a folder: it asks for nothing, is read without scripts, and axe finds nothing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from exporter.library.library_site import LibraryOptions, build_library
from exporter.settings import resolve
from tests.library.test_library_site import HOSTILE, LONG, blog, comment, entry
from tests.site.browser.tabs import Tab, until
from tests.site.browser.test_audit import audit, invalid

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("blogs")
    moved = entry(1, "足あと", LONG * 3)
    changed = entry(7, "足あと", f"<p>{LONG * 3}</p><p>追記: 珊瑚でした。</p>")
    bad = entry(3, HOSTILE, HOSTILE, 4, is_private="t")
    link = entry(2, "台所", '<a href="https://old.example/e/1">最初の話</a>', 9)
    blogs = [
        blog(root / "old", "old.example", {1: moved, 3: bad}, {1: comment(1, 1, "なぎさ", "きれい")}),
        blog(root / "new", "new.example", {7: changed, 2: link}, {1: comment(1, 7, "うしお", "おめでとう")}),
    ]
    titled = {"entry_url": "https://old.example/e/{entry_id}", "site_title": "海辺の日記"}
    blogs[0] = blogs[0][0], resolve(titled, environ={})
    build_library(blogs, root / "out", LibraryOptions(title="わたしの本棚"))
    return root / "out"


def moved_page(library: Path) -> Path:
    (found,) = (path for path in (library / "entry").iterdir() if 'id="copies"' in path.read_text("utf-8"))
    return found


@pytest.mark.parametrize("width", [1100, 360])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(chromium: Browser, library: Path, scheme: Any, width: int) -> None:
    context = chromium.new_context(color_scheme=scheme, viewport={"width": width, "height": 800})
    page = context.new_page()
    found = {}
    blog_page = next((library / "blog").iterdir()).relative_to(library)
    entry_page = moved_page(library).relative_to(library)
    for name in (
        "index.html",
        "blogs.html",
        "search.html?q=砂",
        "about.html",
        "years.html",
        str(blog_page),
        str(entry_page),
    ):
        path, mark, query = name.partition("?")
        page.goto((library / path).as_uri() + mark + query)
        if query:
            page.wait_for_selector("#results[data-state=done]")
        found[name] = audit(page)
        wider: int = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wider <= 0, name
    context.close()
    assert {name: wrong for name, wrong in found.items() if wrong} == {}


def test_the_pages_are_valid_html(library: Path, tmp_path: Path) -> None:
    assert invalid(library, tmp_path) == {}


def test_the_search_chooses_a_blog(tab: Tab, library: Path) -> None:
    tab.goto((library / "search.html").as_uri() + "?q=珊瑚")
    until(tab, "document.getElementById('results')?.dataset.state === 'done'")
    assert tab.evaluate("document.querySelectorAll('#results .blog').length") == 2
    assert tab.evaluate("document.querySelector('#results .blog').textContent") == "海辺の日記"
    assert tab.evaluate("[...document.querySelector('[name=blog]').options].map((each) => each.value)") == [
        "",
        "=1",
        "=2",
    ]
    tab.goto((library / "search.html").as_uri() + "?q=の&blog=%3D1")
    until(tab, "document.getElementById('results')?.dataset.state === 'done'")
    assert tab.evaluate("document.querySelectorAll('#results > li').length") == 1
    assert not [said for said in tab.said if "rror" in said]
    assert all(address.startswith(("file://", "data:")) for address in tab.requests)


def test_links_between_blogs_are_followed_without_scripts(chromium: Browser, library: Path) -> None:
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((library / "blogs.html").as_uri())
    page.click("text=new.example")
    page.click("text=台所")
    page.click("text=最初の話")
    assert page.url == moved_page(library).as_uri()
    assert page.inner_text("h1") == "足あと"
    assert "https://old.example/e/1" in page.inner_text("#copies")
    context.close()
