"""Archives to read; each test has its own copy."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.archive.builder import Built, five_versions, pages


@pytest.fixture(scope="session")
def five(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """An archive of five versions with ``latest/`` and a view; tests must not change it."""
    built = five_versions(tmp_path_factory.mktemp("five") / "archive")
    built.refresh(pages({"index.md": b"# index\n", "2016/01/a.md": b"a\n"}))
    return built


@pytest.fixture
def archive(five: Built, tmp_path: Path) -> Built:
    """A copy of the five-version archive that the test may change."""
    root = tmp_path / "archive"
    shutil.copytree(five.root, root)
    copy = Built.reopen(root)
    assert copy.states == five.states
    return copy
