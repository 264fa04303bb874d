"""One way to control a page in either browser."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, Protocol

from playwright.sync_api import Error

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.site.browser.trap import Trap


_MAKERS = re.compile(r"^[A-Z]+ (?:https?://)?[a-z0-9.-]+\.(?:google|googleapis|gvt1|mozilla)\.(?:com|net|org)[:/]")


class Tab(Protocol):
    """The features that both browsers have."""

    said: list[str]
    requests: list[str]

    def goto(self, address: str) -> None: ...
    def evaluate(self, expression: str) -> Any: ...
    def before_pages(self, function: str) -> None: ...
    def press(self, *keys: str) -> None: ...
    def click(self, selector: str) -> None: ...


class ChromiumTab:
    """A page of Chromium."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.said: list[str] = []
        self.requests: list[str] = []
        page.on("pageerror", lambda error: self.said.append(f"error {error}"))
        page.on("console", lambda said: self.said.append(f"{said.type} {said.text}"))
        page.on("dialog", lambda dialog: self.said.append(f"dialog {dialog.message}"))
        page.on("request", lambda made: self.requests.append(made.url))
        page.context.on("page", lambda other: self.said.append(f"window {other.url}"))

    def goto(self, address: str) -> None:
        """Open a page and wait until it is loaded."""
        self.page.goto(address)

    def evaluate(self, expression: str) -> Any:
        """Return the value of an expression or promise in the page."""
        return self.page.evaluate(expression)

    def before_pages(self, function: str) -> None:
        """Run a function in every page before the page's own scripts."""
        self.page.add_init_script(f"({function})()")

    def press(self, *keys: str) -> None:
        """Press keys one after the other."""
        for key in keys:
            self.page.keyboard.press(key) if key.isascii() else self.page.keyboard.insert_text(key)

    def click(self, selector: str) -> None:
        """Click the first match as a user would."""
        self.page.locator(selector).first.click()


def until(tab: Tab | Page, condition: str) -> None:
    """Wait at most ten seconds until an expression is true in the current page.

    Playwright's own function polls from within the page, whose policy forbids that.
    """
    end = monotonic() + 10
    while monotonic() < end:
        # A page that is unloaded cancels the evaluation.
        with suppress(AssertionError, Error):
            if tab.evaluate(f"Boolean({condition})"):
                return
        sleep(0.03)
    raise AssertionError(
        f"never: {condition} at {tab.evaluate('location.href')}, which said {getattr(tab, 'said', [])}"
    )


def told(tab: Tab, folder: Path, trap: Trap) -> list[str]:
    """Return all console output, and all requests except those for files in a folder.

    The browsers' own requests to their vendors are ignored; no blog in these tests uses these addresses.
    """
    own = (folder.as_uri() + "/", "data:", "about:")
    elsewhere = [url for url in tab.requests if not url.startswith(own)]
    return [*tab.said, *elsewhere, *(line for line in trap.asked if not _MAKERS.search(line))]
