"""Long entries in browsers: table of contents, copying of code, and text settings."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from exporter.model.kinds import Kind
from tests.archive.builder import record
from tests.site.browser.launching import program, tool
from tests.site.browser.tabs import Tab, until
from tests.site.browser.test_audit import HERE, audit
from tests.site.building import build, of_records

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

CODE = "def tide(level):\n    return level + 1  # " + "潮" * 80
BODY = "".join(
    f"<h{3 + at % 3}>{at}. <ruby>潮<rt>しお</rt></ruby>だまり</h{3 + at % 3}><p>{'海へ行った。' * 60}<code>ls -l</code></p>"
    for at in range(12)
) + (
    f"<pre class='lang-python'>{CODE}</pre><pre>{'x' * 400}</pre><table><tr>{'<th>見出し</th>' * 12}</tr>"
    f"<tr>{'<td>とても長い値</td>' * 12}</tr></table><ul><li>一<ol><li>二</li></ol></li></ul><blockquote>三</blockquote>"
    "<pre data-lang=diff>-old\n+new</pre><pre class='brush: php'>$a = 1; /* x */ function f() {}</pre>"
    "<pre class='language-html'>&lt;a href='x'&gt;&amp;amp;&lt;/a&gt;</pre>"
)


@pytest.fixture(scope="session")
def entry(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a long entry; the site has a second entry."""
    dated = {"year": "2016", "mon": "01", "hour": "08", "min": "00", "sec": "00"}
    entries = {
        "1": record(entry_id="1", title="長い記事", entry_text=BODY, day="02", **dated),
        "2": record(entry_id="2", title="短い記事", entry_text="<p>海。</p>", day="03", **dated),
    }
    built = of_records(tmp_path_factory.mktemp("long") / "archive", {Kind.ENTRIES: entries})
    build(built)
    return built.layout.latest / "site" / "entry" / "1.html"


def opened(page: Page, entry: Path) -> None:
    page.goto(entry.as_uri())
    page.wait_for_selector(".title .tool")


def test_text_settings_are_changed_by_keyboard_and_kept(tab: Tab, entry: Path) -> None:
    tab.goto(entry.as_uri())
    until(tab, "document.querySelector('.title .tool')")
    tab.evaluate("document.querySelector('.title .tool').focus()")
    tab.press("Enter")
    assert tab.evaluate("document.querySelector('.sheet').matches(':modal')")
    assert tab.evaluate("document.activeElement.name") == "face"
    tab.press("ArrowRight", "Tab", "ArrowRight", "Tab", "ArrowRight", "Escape")
    chosen = "(({ face, size, way }) => [face, size, way].join())(document.documentElement.dataset)"
    assert tab.evaluate(chosen) == "serif,large,vertical"
    tab.goto((entry.parent / "2.html").as_uri())
    assert tab.evaluate(chosen) == "serif,large,vertical"
    assert tab.evaluate("getComputedStyle(document.querySelector('.body')).writingMode") == "vertical-rl"


def test_printed_pages_ignore_text_settings(page: Page, entry: Path) -> None:
    shown = "(({ writingMode, fontFamily, fontSize }) => [writingMode, fontFamily, fontSize].join())(getComputedStyle(document.querySelector('.body')))"
    opened(page, entry)
    page.emulate_media(media="print")
    before = page.evaluate(shown)
    page.evaluate(
        "Object.assign(document.documentElement.dataset, { face: 'serif', size: 'largest', way: 'vertical' })"
    )
    assert page.evaluate(shown) == before
    page.emulate_media(media="screen")
    assert page.evaluate(shown) != before


def test_code_is_copied(chromium: Browser, entry: Path) -> None:
    context = chromium.new_context(permissions=["clipboard-read", "clipboard-write"])
    page = context.new_page()
    opened(page, entry)
    button = page.locator(".code button").first
    assert button.inner_text() == "コピー"
    button.focus()
    page.keyboard.press("Enter")
    until(page, "document.querySelector('.entry > [role=status]').textContent === 'コピーしました'")
    assert page.evaluate("navigator.clipboard.readText()") == CODE
    context.close()


@pytest.mark.parametrize(("width", "shown"), [(1280, True), (375, False)])
def test_contents_need_no_script(chromium: Browser, entry: Path, width: int, shown: bool) -> None:
    context = chromium.new_context(java_script_enabled=False, viewport={"width": width, "height": 800})
    page = context.new_page()
    page.goto(entry.as_uri())
    link = page.get_by_role("link", name="5. 潮だまり")
    assert page.get_by_role("navigation", name="目次").is_visible()
    assert link.is_visible() is shown
    if not shown:
        page.locator(".contents summary").click()
    link.click()
    assert page.url.endswith("#h-6")
    assert 0 <= page.locator("#h-6").evaluate("(each) => each.getBoundingClientRect().top") < 100
    context.close()


@pytest.mark.parametrize("width", [1280, 375])
def test_contents_mark_the_current_section(page: Page, entry: Path, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 700})
    opened(page, entry)
    marked = page.locator(".contents [aria-current]")
    for place, name in (("h-4", "3."), ("h-9", "8."), ("h-2", "1.")):
        page.evaluate(f"document.getElementById('{place}').scrollIntoView()")
        until(page, f"document.querySelector('.contents [aria-current]')?.textContent.startsWith('{name}')")
        assert marked.count() == 1
    page.evaluate("scrollTo(0, 0)")
    page.evaluate("document.documentElement.dataset.way = 'vertical'")
    page.evaluate("scrollTo(0, 90)")
    until(page, "!document.querySelector('.contents [aria-current]')")


def test_wide_content_scrolls_separately_and_by_keyboard(tab: Tab, entry: Path) -> None:
    tab.goto(entry.as_uri())
    until(tab, "document.querySelector('.code')")
    assert tab.evaluate("document.documentElement.scrollWidth === document.documentElement.clientWidth")
    wide = (
        "[...document.querySelectorAll('.body :is(pre, .wide)')].filter((each) => each.scrollWidth > each.clientWidth)"
    )
    assert tab.evaluate(f"{wide}.length") >= 3
    assert tab.evaluate(f"{wide}.every((each) => each.tabIndex === 0)")
    named = "document.querySelector('.body .wide').getAttribute('role') === 'region'"
    until(tab, f"{named} && document.querySelector('.body .wide').ariaLabel === '横にスクロールできる表'")


@pytest.mark.parametrize("width", [375, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(chromium: Browser, entry: Path, scheme: Any, width: int) -> None:
    context = chromium.new_context(color_scheme=scheme, viewport={"width": width, "height": 800})
    page = context.new_page()
    opened(page, entry)
    assert audit(page) == []
    page.click(".title .tool")
    page.check("input[value=vertical]")
    assert audit(page) == []
    page.keyboard.press("Escape")
    assert audit(page) == []
    context.close()


def test_it_is_valid_html(entry: Path) -> None:
    checked = subprocess.run(
        [program("node"), tool("html-validate/bin/html-validate.mjs"), "--config", HERE / "html-validate.json", entry],
        capture_output=True, text=True,
    )  # fmt: skip
    assert (checked.returncode, checked.stdout) == (0, "")
