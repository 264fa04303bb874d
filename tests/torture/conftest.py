"""The real command, in processes of its own, against a real service on loopback."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.runs import Runs


@pytest.fixture
def runs(tmp_path: Path) -> Iterator[Runs]:
    folder = tmp_path / "process"
    folder.mkdir()
    with Runs(folder) as started:
        yield started
