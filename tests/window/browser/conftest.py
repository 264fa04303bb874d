"""One browser for all tests, and for each test a window with an empty home."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.site.browser.launching import chromium
from tests.support.schedulers import cron_daemon
from tests.window.browser.visitor import Visitor
from tests.window.opened import opened

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium(None) as started:
        yield started


@pytest.fixture(params=[375, 1280], ids=["phone", "desk"])
def visitor(request: pytest.FixtureRequest, browser: Browser, tmp_path: Path) -> Iterator[Visitor]:
    """Yield a person with a new window in Japanese."""
    with cron_daemon(), opened(tmp_path) as window:
        context = browser.new_context(viewport={"width": request.param, "height": 900}, locale="ja-JP")
        yield Visitor(context.new_page(), window)
        context.close()
