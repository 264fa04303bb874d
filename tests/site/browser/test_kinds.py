"""One page of every kind: accessible at each width, in both browsers, without scripts, and on paper."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.archive.builder import Built
from tests.site.browser.kinds import kinds
from tests.site.browser.tabs import Tab, told, until
from tests.site.browser.test_audit import audit, invalid
from tests.site.browser.test_exports import program
from tests.site.browser.test_pages import CLICK_EVERYTHING, WITNESS
from tests.site.browser.trap import Trap
from tests.support.runs import Runs, Zygote

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

WIDTHS = (375, 768, 1280, 1920)
MORE = (
    "entry/2.html", "entry/4.html", "entry/401.html", "search.html?q=海", "index.html?v=3", "entry/2.html?v=2",
    "year/2016.html?v=3", "comments.html?v=2", "gallery.html?v=3",
)  # fmt: skip
"""Pages with threads, private, with a contents list; with search results; of another version."""
READY = {
    "": "true",
    "v": "document.documentElement.dataset.past === 'shown'",
    "q": "document.querySelector('#results[data-state=done]')",
}
SHOWN = "(names) => [...document.querySelectorAll(names)].filter((each) => each.checkVisibility({ visibilityProperty: true })).map((each) => each.outerHTML)"
LOST = """[...document.querySelectorAll("main :is(time, .amount)")].filter((each) => each.checkVisibility())
  .map((each) => [each.getBoundingClientRect(), each.textContent]).filter(([box]) => box.right <= 0).map((each) => each[1])"""
PRESSED = "nav, .top, form, button, input, select, dialog, summary:not(.body *), .chips, .turn"


@pytest.fixture(scope="session")
def book(whole: Built, tmp_path_factory: pytest.TempPathFactory, zygote: Zygote) -> Path:
    """The single page with all entries."""
    out = tmp_path_factory.mktemp("book") / "out"
    with Runs(out.parent / "runs", zygote) as runs:
        program(runs, "export", "html", whole.root, out, "--public-open-flg", "1", "--visible-delete-flg", "f", "-q")
    return out / "book-public.html"


@pytest.fixture(scope="session")
def folder(whole: Built) -> Path:
    return whole.layout.latest / "site"


def address(folder: Path, place: str) -> tuple[str, str]:
    """Return a page's address, and the condition that is true once it shows the requested content."""
    path, mark, query = place.partition("?")
    return (folder / path).as_uri() + mark + query, READY[query[:1]]


# The archive is built first, because Playwright's event loop prevents another one in this thread.
@pytest.mark.parametrize(
    ("width", "scheme"),
    [
        *((width, "light") for width in (WIDTHS[0], WIDTHS[-1])),
        (WIDTHS[0], "dark"),
        *(pytest.param(width, "light", marks=pytest.mark.slow) for width in WIDTHS[1:-1]),
        *(pytest.param(width, "dark", marks=pytest.mark.slow) for width in WIDTHS[1:]),
    ],
)
def test_axe_finds_nothing(whole: Built, folder: Path, chromium: Browser, width: int, scheme: Any) -> None:
    context = chromium.new_context(color_scheme=scheme, viewport={"width": width, "height": 800})
    page = context.new_page()
    found = {}
    for place in [*kinds(folder), *MORE]:
        where, ready = address(folder, place)
        page.goto(where)
        until(page, ready)
        found[place] = audit(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, place
        assert page.evaluate(LOST) == [], place
    context.close()
    assert {place: wrong for place, wrong in found.items() if wrong} == {}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [375, 1280])
def test_axe_finds_nothing_on_the_single_page(book: Path, chromium: Browser, width: int, scheme: Any) -> None:
    context = chromium.new_context(color_scheme=scheme, viewport={"width": width, "height": 800})
    page = context.new_page()
    page.goto(book.as_uri())
    assert audit(page) == []
    context.close()


def test_text_of_any_colour_is_adapted_in_the_dark(book: Path, chromium: Browser) -> None:
    shown = (
        "[...document.querySelectorAll('.body font, .body [style*=color]')].map((each) => getComputedStyle(each).color)"
    )
    found = []
    for scheme in ("light", "dark"):
        context = chromium.new_context(color_scheme=scheme)
        page = context.new_page()
        page.goto(book.as_uri())
        found.append(page.evaluate(shown))
        context.close()
    light, dark = found
    assert light
    assert all(before != after for before, after in zip(light, dark, strict=True))


def test_each_is_valid_html(folder: Path, tmp_path: Path) -> None:
    assert invalid(folder, tmp_path) == {}


def test_both_browsers_open_and_click_each(whole: Built, folder: Path, trap: Trap, tab: Tab) -> None:
    tab.before_pages(WITNESS)
    for place in [*kinds(folder), *MORE]:
        where, ready = address(folder, place)
        tab.goto(where)
        until(tab, ready)
        tab.evaluate(CLICK_EVERYTHING)
        assert told(tab, whole.root, trap) == [], place


def test_without_scripts_each_is_shown_and_has_nothing_that_needs_them(folder: Path, chromium: Browser) -> None:
    context = chromium.new_context(java_script_enabled=False, locale="ja-JP")
    page = context.new_page()
    for place in [*kinds(folder), *MORE[:3]]:
        page.goto((folder / place).as_uri())
        assert page.locator("main h1").first.is_visible(), place
        assert page.locator(".top a").first.is_visible()
        # Playwright's own code runs here; the page's scripts do not.
        needing = page.evaluate(SHOWN, "main :is(button, select, input), [data-past], .tool")
        assert needing == [] or place == "search.html", (place, needing)
        for link in page.evaluate(SHOWN, "main a[href]:not([href^=http], [href^='#'])"):
            way = re.split('["#]', link.partition('href="')[2])[0]
            assert ((folder / place).parent / way).exists(), (place, way)
    page.goto((folder / "statistics.html").as_uri())
    page.locator("summary").first.click()
    assert page.locator("details[open] table").first.is_visible()
    page.goto((folder / "search.html").as_uri())
    assert page.locator("noscript").inner_text().strip()
    context.close()


def test_printed_pages_are_white_and_have_no_buttons(folder: Path, chromium: Browser) -> None:
    context = chromium.new_context(color_scheme="dark", viewport={"width": 660, "height": 930})
    page = context.new_page()
    page.emulate_media(media="print", color_scheme="dark")
    for place in [*kinds(folder), *MORE]:
        where, ready = address(folder, place)
        page.goto(where)
        until(page, ready)
        assert page.evaluate(SHOWN, PRESSED) == [], place
        colours = page.evaluate(
            "(({ color, backgroundColor }) => [color, backgroundColor])(getComputedStyle(document.documentElement))"
        )
        assert colours == ["rgb(0, 0, 0)", "rgb(255, 255, 255)"], place
        assert page.evaluate("document.documentElement.scrollWidth") <= 660, place
    context.close()


def test_printed_pages_show_link_addresses(folder: Path, page: Page) -> None:
    page.goto((folder / "entry" / "401.html").as_uri())
    link = page.locator(".body a[href^='https://a.example']")
    said = "(link) => getComputedStyle(link, '::after').content"
    assert link.evaluate(said) == "none"
    page.emulate_media(media="print")
    assert link.evaluate(said) == f'" <{link.get_attribute("href")}>"'
    assert page.locator(".body details p").is_visible()
