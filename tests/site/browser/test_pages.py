"""Every page of the demo and of a hostile blog in Chromium and in Firefox, opened and clicked, from a folder."""

from __future__ import annotations

import pytest

from tests.archive.builder import Built
from tests.site.browser.tabs import ChromiumTab, Tab, told, until
from tests.site.browser.trap import Trap

pytestmark = pytest.mark.browser

WITNESS = """() => Object.defineProperty(window, "pwned", {
  get: () => { console.error("READ"); }, set: () => { console.error("PWNED"); } })"""
CLICK_EVERYTHING = """(async () => {
  const shown = (each) => each.checkVisibility();
  addEventListener("click", (event) => {
    const link = event.target.closest?.("a[href]");
    if (link && !link.dataset.zoom) event.preventDefault();
  });
  const things = [...document.querySelectorAll("summary, button:not([data-do=random], .find button), a, .body *, dialog *")];
  for (const each of things.slice(0, 120)) {
    if (!shown(each)) continue;
    for (const type of ["pointerenter", "mouseover", "mousedown", "focus"]) each.dispatchEvent(new Event(type));
    if (each.click && each.checkVisibility()) each.click();
    for (const dialog of document.querySelectorAll("dialog[open]")) dialog.close();
  }
  for (const select of document.querySelectorAll("select")) {
    for (const option of select.options) { select.value = option.value; select.dispatchEvent(new Event("change")); }
  }
  return Math.min(things.length, 120);
})()"""


@pytest.mark.parametrize("blog", ["demo", "hostile"])
def test_every_page_opens_and_is_clicked_without_console_output(
    tab: Tab, trap: Trap, blog: str, request: pytest.FixtureRequest
) -> None:
    built: Built = request.getfixturevalue(blog)
    tab.before_pages(WITNESS)
    pages = sorted((built.layout.latest / "site").rglob("*.html"))
    # Of the hostile pages, Chromium opens every second and Firefox every fourth; test_payloads tries each payload in both.
    step = 1 if blog == "demo" else 2 if isinstance(tab, ChromiumTab) else 4
    clicked = 0
    for path in pages[step // 4 :: step]:
        tab.goto(path.as_uri())
        clicked += tab.evaluate(CLICK_EVERYTHING)
        assert tab.evaluate("location.href") == path.as_uri(), "a click left the page"
        assert told(tab, built.root, trap) == [], path
    assert len(pages) > 100
    assert clicked > 2_000 // step


@pytest.mark.parametrize(
    ("query", "shown"), [("海", 1), ("pwned", 20), ("<script>", 20), ("><img", 20), ("c", 20), ("長長長", 1), ("く", 0)]
)
def test_a_hostile_blog_is_searched(tab: Tab, trap: Trap, hostile: Built, query: str, shown: int) -> None:
    tab.before_pages(WITNESS)
    tab.goto((hostile.layout.latest / "site" / "search.html").as_uri())
    until(tab, "document.documentElement.dataset.search === 'ready'")
    tab.evaluate(
        f"""(() => {{ const form = document.getElementById("search"); form.elements.q.value = {query!r};
        form.requestSubmit(); }})()"""
    )
    until(tab, "document.querySelector('#results[data-state=done]')")
    assert tab.evaluate("document.querySelectorAll('#results li').length") == shown
    tab.evaluate(CLICK_EVERYTHING)
    assert told(tab, hostile.root, trap) == []


def test_clicks_lead_through_the_pages(tab: Tab, trap: Trap, demo: Built) -> None:
    site = (demo.layout.latest / "site").as_uri()
    tab.goto(f"{site}/index.html")
    for name in ("years", "categories", "comments", "gallery", "statistics", "history", "about", "index"):
        tab.click(f".menu a[href$='{name}.html']")
        until(tab, f"location.href === '{site}/{name}.html' && document.readyState === 'complete'")
        assert tab.evaluate("document.querySelector('.menu [aria-current]').getAttribute('href')") == f"{name}.html"
    tab.click(".cards a")
    until(tab, "document.querySelector('article.entry')")
    first = tab.evaluate("location.href")
    tab.click(".turn [rel=prev]")
    until(tab, f"document.querySelector('article.entry') && location.href !== '{first}'")
    tab.click(".category")
    until(tab, "location.href.includes('/category/')")
    tab.click(".line a")
    until(tab, "document.querySelector('article.entry')")
    tab.click(".when a")
    until(tab, "location.href.includes('/year/')")
    assert told(tab, demo.root, trap) == []


def test_scripts_and_requests_would_be_detected(tab: Tab, trap: Trap, demo: Built) -> None:
    page = demo.root / "witness.html"
    page.write_text("<!DOCTYPE html><script>pwned = 1</script><img src=https://attacker.example/x>")
    tab.before_pages(WITNESS)
    tab.goto(page.as_uri())
    page.unlink()
    assert "error PWNED" in tab.said
    assert "https://attacker.example/x" in tab.requests
    assert any("attacker.example" in line for line in trap.asked)
