"""Findings of independent tools: axe-core checks the pages' accessibility, html-validate their HTML."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from shutil import copytree
from typing import TYPE_CHECKING, Any

import pytest

from tests.archive.builder import Built
from tests.site.browser.launching import program, tool
from tests.site.building import build

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

HERE = Path(__file__).parent
KINDS = {
    "home": "index.html", "entry": "entry/9.html", "entry with a table": "entry/34.html", "entry with comments": "entry/61.html",
    "years": "years.html", "year and months": "year/2016.html", "categories": "categories.html",
    "comments": "comments.html", "comments of a year": "comments/2018.html", "gallery": "gallery.html",
    "statistics": "statistics.html", "history": "history.html", "version": "history/version-2.html",
    "entry history": "history/entry-66.html", "earlier state": "history/entry-50-v1.html", "about": "about.html", "search": "search.html",
    "search results": "search.html?q=海",
}  # fmt: skip
WIDTHS = {"desk": 1100, "phone": 360}


def audit(page: Page) -> list[str]:
    """Return every violation that axe-core finds on the current page: rule, impact, place."""
    page.evaluate(tool("axe-core/axe.min.js").read_text("utf-8"))
    found: list[dict[str, Any]] = page.evaluate("axe.run().then((result) => result.violations)")
    return [f"{each['id']} {node['target']} {node['failureSummary']}" for each in found for node in each["nodes"]]


def invalid(site: Path, folder: Path) -> dict[str, str]:
    """Return html-validate's findings in a site's pages, each with one place; its output goes to ``folder``."""
    told = folder / "told.json"
    command: list[str | Path] = [
        program("node"),
        tool("html-validate/bin/html-validate.mjs"),
        "--config",
        HERE / "html-validate.json",
    ]
    subprocess.run([*command, "--formatter", f"json={told}", f"{site}/**/*.html"], stdout=subprocess.DEVNULL)
    return {
        f"{message['ruleId']}: {message['message']}": f"{page['filePath']}:{message['line']}"
        for page in json.loads(told.read_text("utf-8"))
        for message in page["messages"]
    }


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_on_any_kind_of_page(chromium: Browser, site: Path, scheme: Any, width: str) -> None:
    context = chromium.new_context(color_scheme=scheme, viewport={"width": WIDTHS[width], "height": 800})
    page = context.new_page()
    found = {}
    for kind, path in KINDS.items():
        name, mark, query = path.partition("?")
        page.goto((site / name).as_uri() + mark + query)
        if kind == "search results":
            page.wait_for_selector("#results[data-state=done]")
        found[kind] = audit(page)
    context.close()
    assert {kind: wrong for kind, wrong in found.items() if wrong} == {}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_with_open_dialogs(chromium: Browser, site: Path, scheme: Any) -> None:
    context = chromium.new_context(color_scheme=scheme)
    page = context.new_page()
    page.goto((site / "gallery.html").as_uri())
    page.locator("a[data-zoom]").first.click()
    assert audit(page) == []
    page.goto((site / "entry" / "9.html").as_uri())
    page.locator("summary").first.click()
    page.keyboard.press("?")
    assert audit(page) == []
    page.goto((site / "search.html").as_uri() + "?q=ぱん")
    page.wait_for_selector("#similar-results li")
    assert audit(page) == []
    page.locator("#similar-results a").first.click()
    page.wait_for_selector(".found")
    assert audit(page) == []
    page.goto((site / "statistics.html").as_uri())
    for summary in page.locator("summary").all():
        summary.click()
    assert audit(page) == []
    context.close()


def test_axe_finds_nothing_in_english(page: Page, demo: Built, tmp_path: Path) -> None:
    english = Built.reopen(copytree(demo.root, tmp_path / "english"))
    build(english, title="Tide pool", language="en")
    for kind in ("index.html", "entry/9.html", "years.html", "search.html", "about.html"):
        page.goto((english.layout.latest / "site" / kind).as_uri())
        assert page.get_attribute("html", "lang") == "en"
        assert audit(page) == []


@pytest.mark.parametrize("blog", ["demo", "hostile"])
def test_every_page_is_valid_html(blog: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    built: Built = request.getfixturevalue(blog)
    assert invalid(built.layout.latest / "site", tmp_path) == {}
