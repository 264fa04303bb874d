"""One demo archive with its site, for all tests that only read it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from exporter.site import thumbnails
from tests.archive.builder import Built
from tests.site.building import build, demo_archive
from tests.support.in_process import InProcess


@pytest.fixture(scope="package", autouse=True)
def _pictures_are_reduced_in_this_process() -> Iterator[None]:
    """Make thumbnails without new processes, except for the tests of these."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(thumbnails, "Worker", InProcess)
        yield


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Built:
    root = tmp_path_factory.mktemp("site") / "demo"
    demo_archive(root)
    built = Built.reopen(root)
    build(built, title="潮だまり日記", entry_addresses=("https://{blog_id}/Entry/{entry_id}/",))
    return built


@pytest.fixture(scope="session")
def site(demo: Built) -> Path:
    """The demo's site folder, which must not be changed."""
    return demo.layout.latest / "site"
