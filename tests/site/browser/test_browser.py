"""A real Chromium on the site as it stands in a folder: nothing runs but the site's own scripts, and it all works."""

from __future__ import annotations

import base64
import shutil
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from exporter.model.kinds import Kind
from exporter.site.sanitize import clean
from exporter.site.templating import POLICY
from tests.archive.builder import Built
from tests.site.building import build
from tests.site.payloads import PAYLOADS
from tests.site.test_body import writer
from tests.site.test_view import entry, many_entries

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield found
        found.close()


class Watch:
    """What a page did that it should not: errors, and requests to anything but files of one folder."""

    def __init__(self, page: Page, folder: Path) -> None:
        self.errors: list[str] = []
        self.requests: list[str] = []
        own = (folder.as_uri(), "data:", "about:")
        page.on("pageerror", lambda error: self.errors.append(f"{page.url} {error}"))
        page.on("console", lambda said: self.errors.append(said.text) if said.type in {"error", "warning"} else None)
        page.on("request", lambda made: None if made.url.startswith(own) else self.requests.append(made.url))


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1000, "height": 900})
    yield context.new_page()
    context.close()


class TestTheDemo:
    def test_every_page_opens_without_a_word(self, page: Page, demo: Built) -> None:
        watch = Watch(page, demo.root)
        pages = sorted((demo.layout.latest / "site").rglob("*.html"))
        for path in pages:
            page.goto(path.as_uri())
        assert len(pages) > 100
        assert (watch.errors, watch.requests) == ([], [])

    def test_search_from_the_first_page(self, page: Page, site: Path) -> None:
        watch = Watch(page, site.parent.parent)
        page.goto((site / "index.html").as_uri())
        page.keyboard.press("/")
        page.keyboard.type("丘の一本桜")
        page.keyboard.press("Enter")
        page.wait_for_selector("#results[data-state=done]")
        assert page.url.endswith("search.html?q=%E4%B8%98%E3%81%AE%E4%B8%80%E6%9C%AC%E6%A1%9C")
        assert page.locator("#results mark").first.inner_text() == "丘の一本桜"
        page.keyboard.press("Escape")
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        page.wait_for_selector("article.entry")
        assert (watch.errors, watch.requests) == ([], [])

    def test_facets_narrow(self, page: Page, site: Path) -> None:
        page.goto((site / "search.html").as_uri() + "?q=海")
        page.wait_for_selector("#results[data-state=done]")
        whole = page.locator("#status").inner_text()
        page.select_option("select[name=year]", "2016")
        dates = page.locator("#results time").all_inner_texts()
        assert dates
        assert all(date.startswith("2016") for date in dates)
        assert page.locator("#status").inner_text() != whole

    def test_nothing_is_searched_while_a_word_is_composed(self, page: Page, site: Path) -> None:
        page.goto((site / "search.html").as_uri())
        page.wait_for_selector("html[data-search=ready]")
        page.evaluate(
            """() => { const q = document.querySelector("#search input"); q.value = "う";
            q.dispatchEvent(new InputEvent("input", { isComposing: true, bubbles: true })); }"""
        )
        page.wait_for_timeout(400)
        assert page.locator("#results li").count() == 0
        page.evaluate(
            """() => document.querySelector("#search input").dispatchEvent(new CompositionEvent("compositionend"))"""
        )
        page.wait_for_selector("#results[data-state=done]")

    def test_keys_and_theme(self, page: Page, site: Path) -> None:
        page.goto((site / "entry" / "9.html").as_uri())
        page.keyboard.press("?")
        assert page.locator("#keys").is_visible()
        page.keyboard.press("Escape")
        assert not page.locator("#keys").is_visible()
        page.keyboard.press("t")
        assert page.evaluate("document.documentElement.dataset.theme") == "dark"
        page.keyboard.press("n")
        page.wait_for_url("**/entry/12.html")
        assert page.evaluate("document.documentElement.dataset.theme") == "dark"

    def test_the_lightbox(self, page: Page, site: Path) -> None:
        page.goto((site / "gallery.html").as_uri())
        page.locator("a[data-zoom]").first.click()
        first = page.locator("dialog.lightbox img").get_attribute("src")
        page.keyboard.press("ArrowRight")
        assert page.locator("dialog.lightbox img").get_attribute("src") != first
        page.keyboard.press("Escape")
        assert not page.locator("dialog.lightbox").is_visible()

    def test_an_entry_can_be_gone_on_with(self, page: Page, site: Path) -> None:
        page.set_viewport_size({"width": 600, "height": 300})
        page.goto((site / "entry" / "9.html").as_uri())
        page.evaluate("scrollTo(0, 500)")
        page.goto((site / "index.html").as_uri())
        assert page.locator("#continue a").inner_text() == "丘の一本桜"

    def test_versions_can_be_picked(self, page: Page, site: Path) -> None:
        page.goto((site / "history" / "entry-50.html").as_uri())
        page.select_option("select[data-do=pick]", "v2")
        assert page.locator("[data-step]:visible").count() == 1

    def test_it_reads_without_scripts(self, browser: Browser, site: Path) -> None:
        context = browser.new_context(java_script_enabled=False)
        page = context.new_page()
        page.goto((site / "search.html").as_uri())
        assert page.locator("noscript").inner_text()
        page.goto((site / "years.html").as_uri())
        page.locator(".calendar td a").first.click()
        page.locator(".line a").first.click()
        assert page.locator("article .body").inner_text()
        assert page.locator("button:visible").count() == 0
        context.close()

    @pytest.mark.parametrize("width", [360, 1000])
    def test_nothing_is_wider_than_the_window(self, page: Page, site: Path, width: int) -> None:
        page.set_viewport_size({"width": width, "height": 800})
        for name in ("index", "entry/9", "entry/61", "years", "gallery", "statistics", "history/version-2", "about"):
            page.goto((site / f"{name}.html").as_uri())
            assert page.evaluate("document.documentElement.scrollWidth") <= width, name


class TestPayloads:
    """Three pages of each payload: as it is, cleaned without the policy, and raw under the policy."""

    @staticmethod
    def run(browser: Browser, folder: Path, name: str, bodies: list[str], *, policy: bool) -> list[int]:
        head = f'<meta http-equiv="Content-Security-Policy" content="{escape(POLICY)}">' if policy else ""
        context = browser.new_context(offline=True)
        context.add_init_script(
            """Object.defineProperty(window, "pwned", { get: () => 0, set: () => console.log("PWNED") });
            addEventListener("click", (event) => {
              const link = event.target.closest?.("a[href]");
              if (link && /^(https?|mailto|file):/.test(link.protocol)) event.preventDefault();
            }, true);"""
        )
        page = context.new_page()
        said: list[str] = []
        page.on("console", lambda message: said.append(message.text))
        executed = []
        for number, body in enumerate(bodies):
            said.clear()
            path = folder / f"{name}-{number}.html"
            path.write_text(f'<!DOCTYPE html><html><head><meta charset="utf-8">{head}</head><body>{body}', "utf-8")
            page.goto(path.as_uri())
            page.wait_for_timeout(30)
            page.evaluate(
                """() => { for (const each of document.querySelectorAll("body, body *")) {
                  for (const type of ["mouseover", "mouseenter", "pointerenter", "focus", "click"]) {
                    try { each.dispatchEvent(new MouseEvent(type, { bubbles: true, cancelable: true })); } catch {}
                  } } }"""
            )
            page.wait_for_timeout(30)
            if "PWNED" in said:
                executed.append(number)
        context.close()
        return executed

    def test_there_are_ninety(self) -> None:
        assert len(set(PAYLOADS)) >= 90

    def test_many_run_where_nothing_stops_them(self, browser: Browser, tmp_path: Path) -> None:
        assert len(self.run(browser, tmp_path, "raw", PAYLOADS, policy=False)) > 45

    def test_none_runs_when_cleaned(self, browser: Browser, tmp_path: Path) -> None:
        assert self.run(browser, tmp_path, "clean", [clean(each) for each in PAYLOADS], policy=False) == []
        bodies = [str(writer().html(each, "../")) for each in PAYLOADS]
        assert self.run(browser, tmp_path, "body", bodies, policy=False) == []

    def test_none_runs_under_the_policy(self, browser: Browser, tmp_path: Path) -> None:
        assert self.run(browser, tmp_path, "policy", PAYLOADS, policy=True) == []


class TestSearch:
    """The page's answers against plain substrings of folded texts."""

    QUERIES = (
        "題",
        "題15",
        "本文",
        "の本文29",
        "題1 本文7",
        '"題3の本文3"',
        "ﾎﾝ",
        "１５",
        "無い言葉",
        "7 8 9",
        "題2の",
        "abc12",
        "bc1",
        "c",
        "𠮷",
        "c𠮷の",
    )

    @pytest.mark.parametrize("sharded", [False, True])
    def test_it_finds_all_and_nothing_else(
        self, page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sharded: bool
    ) -> None:
        from exporter.search.folding import fold  # noqa: PLC0415
        from exporter.site import search_data  # noqa: PLC0415

        monkeypatch.setattr(search_data, "SMALL_BLOG", 10 if sharded else 10_000)
        built = many_entries(tmp_path / "a", 400)
        built.commit({Kind.ENTRIES: {"401": entry(401, "Abc12 と ＡＢＣ𠮷")}})
        build(built)
        texts = [fold(f"題{number}の本文{number}\n題{number}") for number in range(1, 401)]
        texts.append(fold("Abc12 と ＡＢＣ𠮷の本文401"))
        page.goto((built.layout.latest / "site" / "search.html").as_uri())
        page.wait_for_selector("html[data-search=ready]")
        for query in self.QUERIES:
            words = [fold(query).strip('"')] if query.startswith('"') else fold(query).split()
            expected = sum(all(word in text for word in words) for text in texts)
            page.evaluate("document.getElementById('results').dataset.state = ''")
            page.fill("#search input", query)
            page.keyboard.press("Enter")
            page.wait_for_selector("#results[data-state=done]", state="attached")
            assert int(page.get_attribute("#results", "data-count") or -1) == expected, query


def test_pictures_of_pages_are_drawn(page: Page, site: Path) -> None:
    page.goto((site / "entry" / "9.html").as_uri())
    width = page.evaluate("document.querySelector('.body img').naturalWidth")
    assert width == 320
    assert base64.b64encode(page.screenshot())
