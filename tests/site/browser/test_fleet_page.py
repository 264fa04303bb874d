"""The page over many sites in both browsers, opened from a folder: its search, its links, and hostile names."""

from __future__ import annotations

from pathlib import Path

import pytest

from exporter.archive.fleet_folder import archive_place
from exporter.fleet import index_page
from exporter.fleet.index_page import make_index_page
from exporter.fleet.local_pool import LocalPool
from exporter.settings import resolve
from tests.fleet.building import build_blog, entry
from tests.site.browser.tabs import ChromiumTab, Tab, until

pytestmark = pytest.mark.browser

HOSTILE = "</script><img src=x onerror=console.log('PWNED')>悪い名前"


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("pages") / "fleet"
    for number in range(12):
        built = build_blog(root, f"blog{number:02d}.example.jp", [entry(1)])
        title = {5: HOSTILE, 6: "髙﨑の国①"}.get(number, f"潮だまり{number}")
        (built.root / "settings.toml").write_text(f'site_title = "{title}"\n', "utf-8")
    site = archive_place(root, "blog07.example.jp") / "latest/site"
    site.mkdir(parents=True)
    (site / "index.html").write_text("<title>the site</title>")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"ON_PAGE": 5, "IN_PART": 4}.items():
            patch.setattr(index_page, name, value)
            patch.setattr(f"exporter.site.fleet_page.{name}", value)
        make_index_page(root, resolve({}, environ={}), LocalPool(1), "ja", "")
    return root


def test_names_are_found_without_a_server(tab: Tab, fleet: Path) -> None:
    tab.goto((fleet / "index.html").as_uri())
    tab.click("input[name=q]")
    tab.press("り", "7", "Enter")
    until(tab, "document.getElementById('status')?.textContent === '1\u00a0件'")
    assert tab.evaluate("document.querySelector('#found a').textContent") == "潮だまり7"
    tab.click("#found a")
    until(tab, "document.title === 'the site'")
    assert not [said for said in tab.said if "rror" in said]


@pytest.mark.parametrize(("query", "count"), [("高崎の國", 1), ("1", 3), ("①", 1)])
def test_names_are_compared_like_texts(tab: Tab, fleet: Path, query: str, count: int) -> None:
    tab.goto(f"{(fleet / 'index.html').as_uri()}?q={query}")
    until(tab, f"document.getElementById('status')?.textContent === '{count}\u00a0件'")


def test_hostile_names_are_only_words(tab: Tab, fleet: Path) -> None:
    for address in (
        "index.html?q=悪い",
        "fleet/pages/000001.html",
        "fleet/pages/000002.html",
        "fleet/pages/000003.html",
    ):
        path, _, query = address.partition("?")
        tab.goto((fleet / path).as_uri() + (f"?{query}" if query else ""))
        if query:
            until(tab, "document.querySelectorAll('#found li').length === 1")
        assert tab.evaluate("document.images.length") == 0
    assert not [said for said in tab.said if "PWNED" in said]


def test_pages_are_linked_and_the_brightness_changes(tab: Tab, fleet: Path) -> None:
    tab.goto((fleet / "index.html").as_uri())
    tab.click("main .chips a")
    until(tab, "document.querySelectorAll('.lines li').length === 5")
    tab.click("a[rel=next]")
    until(tab, "location.pathname.endsWith('000002.html')")
    before = tab.evaluate("document.documentElement.dataset.theme ?? ''")
    tab.click("#theme")
    assert tab.evaluate("document.documentElement.dataset.theme") != before
    if isinstance(tab, ChromiumTab):
        assert all(address.startswith("file://") for address in tab.requests)
