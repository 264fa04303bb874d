"""Bodies that try to run a script, in both browsers: stopped by the sanitizer alone, and by the policy alone."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

import pytest
from playwright.sync_api import Error

from exporter.html.page_sanitizer import clean
from exporter.site.templating import POLICY
from tests.html.payloads import PAYLOADS
from tests.html.test_page_body import writer
from tests.site.browser.tabs import Tab

pytestmark = pytest.mark.browser

WITNESS = """() => {
  Object.defineProperty(window, "pwned", { get: () => 0, set: () => console.log("PWNED") });
  addEventListener("click", (event) => {
    const link = event.target.closest?.("a, area");
    link?.removeAttribute("target");
    if (link && !/^(javascript|data|vbscript|blob):/.test(link.protocol)) event.preventDefault();
  }, true);
}"""
TOUCH = """(async () => {
  const wait = () => new Promise((resolve) => setTimeout(resolve, 25));
  await wait();
  for (const each of document.querySelectorAll("body, body *")) {
    for (const type of ["mouseover", "mouseenter", "pointerenter", "focus", "click"]) {
      try { each.dispatchEvent(new MouseEvent(type, { bubbles: true, cancelable: true })); } catch {}
    }
  }
  await wait();
})()"""


def executed(tab: Tab, folder: Path, bodies: Sequence[str], *, head: str = "") -> tuple[list[int], list[int]]:
    """Open and touch a page for each body; return the numbers of bodies that ran a script and those that navigated."""
    tab.before_pages(WITNESS)
    ran, left = [], []
    for number, body in enumerate(bodies):
        tab.said.clear()
        path = folder / f"{number}.html"
        text = f'<!DOCTYPE html><html><head><meta charset="utf-8">{head}</head><body><main>{body}</main></body></html>'
        path.write_text(text, "utf-8", "backslashreplace")
        tab.goto(path.as_uri())
        try:
            tab.evaluate(TOUCH)
        except (AssertionError, Error):
            left.append(number)
        if any("PWNED" in said for said in tab.said):
            ran.append(number)
    return ran, left


def test_there_are_enough_payloads() -> None:
    assert len(set(PAYLOADS)) == len(PAYLOADS) >= 150


def test_many_run_without_protection(tab: Tab, tmp_path: Path) -> None:
    ran, _ = executed(tab, tmp_path, PAYLOADS)
    assert len(ran) > 90


def test_none_runs_after_sanitizing(tab: Tab, tmp_path: Path) -> None:
    known = writer()
    bodies = [f"{clean(each)}<hr>{known.html(each, '../')}" for each in PAYLOADS]
    assert executed(tab, tmp_path, bodies) == ([], [])


def test_none_runs_under_the_policy(tab: Tab, tmp_path: Path) -> None:
    policy = f'<meta http-equiv="Content-Security-Policy" content="{escape(POLICY)}">'
    ran, _ = executed(tab, tmp_path, PAYLOADS, head=policy)
    assert ran == []
