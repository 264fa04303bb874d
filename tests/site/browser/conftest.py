"""Both browsers, the blogs that they open, and the proxy that records their requests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.archive.builder import Built
from tests.site.browser import launching
from tests.site.browser.firefox import Firefox
from tests.site.browser.hostile import hostile_blog
from tests.site.browser.kinds import whole_blog
from tests.site.browser.tabs import ChromiumTab, Tab
from tests.site.browser.trap import Trap

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Audit a narrow page in light colours and a wide one in dark ones; the long form has all four."""
    for item in items:
        values = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
        if "test_axe_" in item.name and {"width", "scheme"} <= values.keys() and item.path.name != "test_kinds.py":
            is_narrow = values["width"] in {360, 375, "phone"}
            if is_narrow != (values["scheme"] == "light"):
                item.add_marker("slow")


@pytest.fixture(scope="session")
def _witness() -> Iterator[Trap]:
    with Trap() as trap:
        yield trap


@pytest.fixture
def trap(_witness: Trap) -> Trap:
    _witness.asked.clear()
    return _witness


# The archives come first: once Playwright runs, its event loop prevents another one in this thread.
@pytest.fixture(scope="session")
def chromium(_witness: Trap, demo: Built) -> Iterator[Browser]:
    with launching.chromium(f"http://127.0.0.1:{_witness.port}") as browser:
        yield browser


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    context = chromium.new_context(viewport={"width": 1000, "height": 900}, locale="ja-JP")
    yield context.new_page()
    context.close()


@pytest.fixture(scope="session")
def _firefox(_witness: Trap) -> Iterator[Firefox]:
    with Firefox(_witness.port) as firefox:
        yield firefox


@pytest.fixture
def firefox(_firefox: Firefox) -> Iterator[Firefox]:
    with _firefox.fresh():
        yield _firefox


@pytest.fixture(params=["chromium", "firefox"])
def tab(request: pytest.FixtureRequest, trap: Trap) -> Tab:
    """A new tab of each browser in turn."""
    if request.param == "chromium":
        return ChromiumTab(request.getfixturevalue("page"))
    firefox: Firefox = request.getfixturevalue("firefox")
    return firefox


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return whole_blog(tmp_path_factory.mktemp("whole") / "blog")


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return hostile_blog(tmp_path_factory.mktemp("hostile") / "blog")
