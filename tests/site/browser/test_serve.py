"""The served site in a browser: pictures and scripts under its policies, search without scripts, no audit findings."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import pytest

from tests.archive.builder import Built
from tests.serve.serving import served
from tests.site.browser.launching import program, tool
from tests.site.browser.tabs import until
from tests.site.browser.test_audit import HERE, audit

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

    from tests.site.browser.trap import Trap

pytestmark = pytest.mark.browser


def opened(chromium: Browser, trap: Trap, **options: Any) -> BrowserContext:
    """Open a window that reaches this machine; all other requests go to the trap."""
    proxy: Any = {"server": f"http://127.0.0.1:{trap.port}", "bypass": "127.0.0.1"}
    return chromium.new_context(proxy=proxy, **options)


def test_it_works_as_from_a_folder(chromium: Browser, trap: Trap, demo: Built) -> None:
    said: list[str] = []
    context = opened(chromium, trap)
    page = context.new_page()
    page.on("console", lambda message: said.append(message.text))
    with served(demo.root) as running:
        page.goto(running.address)
        assert page.locator("h1").inner_text() == "潮だまり日記"
        page.locator(".cards img").first.evaluate("image => image.decode()")
        until(page, "!document.querySelector('[data-do=random]').hidden")
        page.locator(".top input[type=search]").fill("していません")
        page.keyboard.press("Enter")
        page.wait_for_selector(".results mark")
        page.locator("#earlier .results a").first.click()
        page.wait_for_load_state("networkidle")
        assert page.url.endswith("history/entry-50-v1.html")
    context.close()
    assert said == []
    assert [line for line in trap.asked if "127.0.0.1" in line or "example" in line] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [375, 1280])
def test_axe_finds_nothing_on_the_search_page(
    chromium: Browser, trap: Trap, demo: Built, scheme: Any, width: int
) -> None:
    context = opened(chromium, trap, color_scheme=scheme, viewport={"width": width, "height": 800})
    page = context.new_page()
    with served(demo.root) as running:
        for query in ("?q=していません", "?q=%22", "?q=%22%22", "?q=zzzz", "?q=ぱん", "?q=海&year=2016", ""):
            page.goto(f"{running.address}latest/site/search.html{query}")
            assert audit(page) == []
    context.close()


def test_its_search_needs_no_scripts_and_is_valid(chromium: Browser, trap: Trap, demo: Built, tmp_path: Path) -> None:
    context = opened(chromium, trap, java_script_enabled=False)
    page = context.new_page()
    with served(demo.root) as running:
        page.goto(f"{running.address}latest/site/search.html")
        page.locator("main input[type=search]").fill("海")
        page.locator("main button").click()
        page.locator("main select[name=year]").select_option("2016")
        page.locator("main .facets button").click()
        assert page.locator(".results mark").count() > 1
        assert all(date.startswith("2016") for date in page.locator(".results time").all_inner_texts())
        found = tmp_path / "search.html"
        found.write_bytes(
            running.get("latest/site/search.html?q=%E3%81%97%E3%81%A6%E3%81%84%E3%81%BE%E3%81%9B%E3%82%93").body
        )
    context.close()
    done = subprocess.run(
        [program("node"), tool("html-validate/bin/html-validate.mjs"), "--config", HERE / "html-validate.json", found],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "")


QUERIES = {
    "demo": ("海", "パン", "ぱん", "の", "もなか", "海 の", '"', "コメント", "2016", "ガッコウ", "zzzz"),
    "whole": ("海", "題", "感想", "潮 コード", "いつか", "また来ます", "商店街", "記事のない", "カンソウ", "return"),
}


def choices(page: Page) -> dict[str, list[str]]:
    """Return the labels of all facets that are offered, with their counts."""
    selects = page.locator(".facets select:not([name=sort])").all()
    return {str(each.get_attribute("name")): each.locator("option").all_inner_texts() for each in selects}


@pytest.mark.long
@pytest.mark.parametrize("blog", QUERIES)
def test_the_facets_have_the_counts_of_the_site_s_own_page(
    chromium: Browser, trap: Trap, blog: str, request: pytest.FixtureRequest
) -> None:
    """The same entries and the same choices for each query, in any order of equal counts."""
    built: Built = request.getfixturevalue(blog)
    static = (built.layout.latest / "site" / "search.html").as_uri()
    context = opened(chromium, trap)
    page = context.new_page()
    compared = 0
    with served(built.root) as running:
        for query in QUERIES[blog]:
            for chosen in ("", "&year=2016", "&category=日記"):
                address = f"?{urlencode({'q': query})}{chosen}"
                page.goto(f"{static}{address}")
                page.wait_for_selector("#results[data-state=done]", state="attached")
                hidden = page.locator("#facets").get_attribute("hidden") is not None
                wanted = {} if hidden else choices(page)
                titles = page.locator("#results > li > a").all_inner_texts()
                page.goto(f"{running.address}latest/site/search.html{address}")
                found = choices(page)
                assert {name: sorted(rows) for name, rows in found.items()} == {
                    name: sorted(rows) for name, rows in wanted.items()
                }, address
                assert [row for rows in found.values() for row in rows[:1]] == [
                    row for rows in wanted.values() for row in rows[:1]
                ]
                assert page.locator("#results > li > a").all_inner_texts() == titles, address
                compared += bool(titles)
    context.close()
    assert compared >= 10
