"""The site of a blog with tags, writers, pages, audiences and threads in a browser."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from exporter.site.catalogue import safe_name
from tests.archive.builder import Built
from tests.site.browser.test_audit import WIDTHS, audit, invalid
from tests.site.wide_site import refresh, site_folder
from tests.support.wide_blog import everyday_blog

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

ENTRY = f"entry/{safe_name('p-1')}.html"
EDITED = safe_name("p-2")
KINDS = (
    "index.html", ENTRY, f"entry/{safe_name('p-4')}.html", f"entry/{safe_name('page-1')}.html", "pages.html", "tags.html",
    "authors.html", "categories.html", "statistics.html", "comments.html", "history/version-2.html",
    f"history/entry-{EDITED}-v1.html", "search.html?q=京都",
)  # fmt: skip


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Built:
    built = everyday_blog(tmp_path_factory.mktemp("wide") / "blog")
    refresh(built, language="en", title="潮だまり日記")
    return built


def opened(page: Page, built: Built, path: str) -> None:
    name, mark, query = path.partition("?")
    page.goto((site_folder(built) / name).as_uri() + mark + query)
    if name == "search.html" and query:
        page.wait_for_selector("#results[data-state=done]")


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(wide: Built, chromium: Browser, scheme: Any, width: str) -> None:
    context = chromium.new_context(color_scheme=scheme, viewport={"width": WIDTHS[width], "height": 800})
    page = context.new_page()
    found = {}
    for path in [*KINDS, *(f"{each.parent.name}/{each.name}" for each in (site_folder(wide) / "category").iterdir())]:
        opened(page, wide, path)
        found[path] = audit(page)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (path, "is wider than the screen")
    context.close()
    assert {path: wrong for path, wrong in found.items() if wrong} == {}


def test_every_page_is_valid_html(wide: Built, tmp_path: Path) -> None:
    assert invalid(site_folder(wide), tmp_path) == {}


def test_the_search_can_be_narrowed_by_tag_writer_and_kind(wide: Built, page: Page) -> None:
    def found() -> list[str]:
        return [each.strip() for each in page.locator("#results > li > a").all_inner_texts()]

    def options(name: str) -> list[str]:
        return page.locator(f"select[name={name}] option").all_inner_texts()

    opened(page, wide, "search.html?q=本文")
    assert options("tag")[0] == "All (9)"
    assert "春 (1)" in options("tag")
    assert options("kind") == ["All (9)", "Entry (7)", "Page (2)"]
    page.select_option("select[name=author]", "=さくら")
    assert found() == ["友だちへ", "お茶のいれかた（改）"]
    assert options("tag") == ["All (2)", "春 (1)", "お茶 (1)", "湯 (1)"]
    page.select_option("select[name=tag]", "=湯")
    assert found() == ["お茶のいれかた（改）"]
    page.reload()
    page.wait_for_selector("#results[data-state=done]")
    assert found() == ["お茶のいれかた（改）"]
    page.select_option("select[name=tag]", "")
    page.select_option("select[name=author]", "")
    page.select_option("select[name=kind]", "=page")
    assert sorted(found()) == ["Contact", "このブログについて"]
    assert page.locator("#results .badge").all_inner_texts() == ["Draft"]


def test_a_category_finds_all_entries_that_have_it(wide: Built, page: Page) -> None:
    opened(page, wide, "search.html?q=京都")
    assert "旅行 › 関西 › 京都 (2)" in page.locator("select[name=category] option").all_inner_texts()
    page.select_option("select[name=category]", "=写真")
    assert page.locator("#results > li > a").all_inner_texts() == ["京都の二日間"]
    opened(page, wide, "search.html?q=湯")
    assert page.locator("#results > li > a").all_inner_texts() == ["お茶のいれかた（改）"]


def test_the_past_has_the_categories_and_audiences_of_that_day(wide: Built, page: Page) -> None:
    def lines() -> list[str]:
        page.wait_for_selector(":root[data-past=shown]")
        return page.locator("li.line > a").all_inner_texts()

    today = page
    opened(today, wide, "categories.html?v=1")
    today.wait_for_selector(":root[data-past=shown]")
    assert "旅行 › 関西 › 京都" in today.locator(".tiles strong").all_inner_texts()
    today.locator(".tiles a", has_text="旅行 › 関西 › 京都").click()
    assert lines() == ["京都の二日間"]
    opened(today, wide, "year/2024.html?v=1")
    assert "お茶のいれかた" in lines()
    assert today.locator("li.line .badge").all_inner_texts() == [
        "Private", "With a password", "Members only", "Draft",
    ]  # fmt: skip
    opened(today, wide, f"entry/{safe_name('page-1')}.html?v=1")
    today.wait_for_selector(":root[data-past=shown]")
    assert today.locator("nav.turn").count() == 0
