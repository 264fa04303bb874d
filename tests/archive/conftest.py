"""Archives to read; each test has its own copy."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.archive.builder import Built, five_versions, pages
from tests.support.local_worker import LocalWorker


@pytest.fixture(autouse=True)
def _pictures_are_reduced_in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("exporter.site.thumbnails.Worker", LocalWorker)


@pytest.fixture(scope="session")
def five(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """An archive of five versions with ``latest/`` and a view; tests must not change it."""
    built = five_versions(tmp_path_factory.mktemp("five") / "archive")
    built.refresh(pages({"index.md": b"# index\n", "2016/01/a.md": b"a\n"}))
    return built


@pytest.fixture
def archive(five: Built, tmp_path: Path) -> Built:
    """A copy of the five-version archive that the test may change."""
    return five.copied(tmp_path / "archive")
