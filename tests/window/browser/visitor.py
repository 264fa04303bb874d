"""A person who uses the window in a browser. The clicks are counted."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests.window.opened import PATIENCE_SECONDS, Opened

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

PATIENCE_MS = PATIENCE_SECONDS * 1000
LOOK, BEGIN = "調べる", "保存を始める"


@dataclass
class Visitor:
    """A person with a page of a real browser.

    Attributes:
        page: shows the window.
        window: the window.
        clicks: how often this person clicked so far. Pasting and typing are no clicks; choosing a file is one.
    """

    page: Page
    window: Opened
    clicks: int = 0

    def click(self, target: Locator) -> None:
        target.click(timeout=PATIENCE_MS)
        self.clicks += 1

    def button(self, name: str) -> Locator:
        return self.page.get_by_role("button", name=name, exact=True)

    def is_too_wide(self) -> bool:
        """Return whether the page must be scrolled sideways."""
        return bool(self.page.evaluate("document.documentElement.scrollWidth > innerWidth"))

    def looks_at(self, address: str) -> None:
        """Paste an address on the first page, and wait for the result of the check."""
        self.page.goto(self.window.address)
        self.page.get_by_label("ブログのアドレス、または書き出したファイル").fill(address)
        self.click(self.button(LOOK))
        self.button(BEGIN).wait_for(timeout=PATIENCE_MS)

    def begins(self) -> None:
        """Start saving with the proposed answers, and wait until the archive's page says how it went."""
        self.click(self.button(BEGIN))
        self.sees_the_end()

    def sees_the_end(self) -> None:
        """Wait until the archive's page says how the first backup went."""
        self.page.wait_for_url("**/blog/*", timeout=PATIENCE_MS)
        self.page.locator("main:has(.health):not(:has([data-running]))").wait_for(timeout=PATIENCE_MS)

    def saves_address(self, address: str) -> None:
        """Go from a pasted address to a verified and scheduled backup, with the proposed answers."""
        self.looks_at(address)
        self.begins()

    def drops(self, file: Path) -> None:
        """Drop a file on the first page, and wait for the result of the check."""
        self.page.goto(self.window.address)
        dropped = self.page.evaluate_handle(
            """([name, text]) => {
              const data = new DataTransfer();
              data.items.add(new File([text], name));
              return data;
            }""",
            [file.name, file.read_text("utf-8")],
        )
        self.page.dispatch_event("body", "drop", {"dataTransfer": dropped})
        self.button(BEGIN).wait_for(timeout=PATIENCE_MS)

    def exports_for_hatena(self) -> tuple[list[int], Path]:
        """Export for Hatena Blog from an archive's page; return the trial's numbers of entries, and the file.

        If the page asks which kinds of entries and comments are public, the answer is the first kind.
        """
        for place in ("/export", "/export/hatena"):
            self.click(self.page.locator(f'main a[href$="{place}"]'))
        for name in ("public", "visible"):
            asked = self.page.locator(f'input[name="{name}"]')
            if asked.count():
                self.click(asked.first)
        self.click(self.page.locator("form.ask button.main"))
        write = self.page.locator("form.do button.main")
        write.wait_for(timeout=PATIENCE_MS)
        cells = self.page.locator(".sums tbody tr").first.locator("td")
        numbers = [int(each.replace(",", "")) for each in cells.all_inner_texts()]
        self.click(write)
        self.page.locator("ol.steps").wait_for(timeout=PATIENCE_MS)
        (file,) = (self.window.home / "blogs").glob("*-hatena/*.txt")
        return numbers, file
