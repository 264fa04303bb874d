"""One browser for all tests, and for each test a window with an empty home."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
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


@contextmanager
def in_front(browser: Browser, home: Path, width: int, *, scripts: bool = True) -> Iterator[Visitor]:
    """Yield a person with a new window in Japanese."""
    with cron_daemon(), opened(home) as window:
        context = browser.new_context(
            viewport={"width": width, "height": 900}, locale="ja-JP", java_script_enabled=scripts
        )
        yield Visitor(context.new_page(), window)
        context.close()


@pytest.fixture(params=[375, 1280], ids=["phone", "desk"])
def visitor(request: pytest.FixtureRequest, browser: Browser, tmp_path: Path) -> Iterator[Visitor]:
    with in_front(browser, tmp_path, request.param) as person:
        yield person
