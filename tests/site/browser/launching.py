"""The paths of the browsers and tools for these tests; if one is missing, the test fails and is never skipped."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from playwright.sync_api import sync_playwright

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Playwright

TOOLS = Path(__file__).parent / "node_modules"


def program(*names: str) -> str:
    """Return the first of these programs that is installed."""
    for name in names:
        found = shutil.which(name)
        if found:
            return found
    raise FileNotFoundError(f"none of {', '.join(names)} is installed; .ci/install gets them")


def tool(path: str) -> Path:
    """Return a file of the npm packages that ``make browsers`` installs."""
    found = TOOLS / path
    if not found.exists():
        raise FileNotFoundError(f"{found} is missing; `make browsers` installs it")
    return found


_drivers: list[Playwright] = []


@contextmanager
def _driver() -> Iterator[Playwright]:
    """Start Playwright, or use the running one, because a thread can have only one; its last user stops it."""
    driver = _drivers[0] if _drivers else sync_playwright().start()
    _drivers.append(driver)
    try:
        yield driver
    finally:
        _drivers.remove(driver)
        if not _drivers:
            driver.stop()


@contextmanager
def chromium(proxy: str | None, *options: str) -> Iterator[Browser]:
    """Run Debian's Chromium; with a ``proxy``, all connections go there, also those to this machine."""
    with _driver() as driver:
        browser = driver.chromium.launch(
            executable_path=program("chromium", "chromium-browser", "google-chrome"),
            args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", *options],
            proxy={"server": proxy, "bypass": "<-loopback>"} if proxy else None,
        )
        yield browser
        browser.close()
