"""A transfer killed at any call leaves complete versions, and the next transfer completes it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.no_cover


def killed(template: Path, folder: Path, way: str, step: int, most: int) -> dict[str, Any]:
    """Run the kills in a separate process."""
    words = [sys.executable, "-m", "tests.copies.killing", str(template), str(folder), way, str(step), str(most)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    return report


@pytest.mark.parametrize(("way", "step"), [("push", 89), ("pull", 61), ("pull-together", 67)])
def test_a_few_kills(sample: Path, tmp_path: Path, way: str, step: int) -> None:
    report = killed(sample, tmp_path, way, step, 5)
    assert report == {"kills": 5, "faults": []}


@pytest.mark.thorough
@pytest.mark.parametrize(("way", "step"), [("push", 4), ("pull", 3), ("pull-together", 3)])
def test_a_hundred_kills(sample: Path, tmp_path: Path, way: str, step: int) -> None:
    report = killed(sample, tmp_path, way, step, 100)
    assert report == {"kills": 100, "faults": []}
