"""sample_output/ equals the output of the demo; ``make sample`` updates it, so that a commit shows every change."""

from __future__ import annotations

import shutil
from pathlib import Path

SAMPLE = Path(__file__).parent.parent / "sample_output"


def files(root: Path) -> dict[str, bytes]:
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_the_sample_is_what_the_demo_makes(archive: Path) -> None:
    shutil.rmtree(archive / ".work")
    made, kept = files(archive), files(SAMPLE)
    assert sorted(kept) == sorted(made)
    assert [name for name in made if kept[name] != made[name]] == []
