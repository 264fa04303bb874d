"""Archives to read, each test its own copy."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.archive.builder import Built, five_versions, pages


@pytest.fixture(scope="session")
def five(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """An archive of five versions with ``latest/`` and a view; not to be changed."""
    built = five_versions(tmp_path_factory.mktemp("five") / "archive")
    built.refresh(pages({"index.md": b"# index\n", "2016/01/a.md": b"a\n"}))
    return built


@pytest.fixture
def archive(five: Built, tmp_path: Path) -> Built:
    """A copy of the archive of five versions, to be changed at will."""
    root = tmp_path / "archive"
    shutil.copytree(five.root, root)
    copy = Built.reopen(root)
    assert copy.states == five.states
    return copy
