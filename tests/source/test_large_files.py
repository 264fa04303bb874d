"""Files of 200 MB and of 2 GB: every record, in flat memory."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from exporter.archive.archive import Archive
from exporter.model.kinds import Kind
from tests.support.export_texts import large_file
from tests.support.peaks import run_measured

MOST_MEGABYTES = 200


@pytest.mark.slow
@pytest.mark.parametrize("size", [200_000_000, 2_000_000_000])
def test_a_large_file_in_flat_memory(size: int, tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    path, root = tmp_path / "export.txt", tmp_path / "archive"
    count = large_file(path, size)
    begun = time.monotonic()
    options = ("--archive", root, "--assets", "none", "--no-site", "--no-markdown", "-q")
    done = run_measured(tmp_path, ("backup", path, *options))
    assert done.code == 0, done.printed
    record_property("seconds", round(time.monotonic() - begun))
    record_property("megabytes", done.megabytes)
    assert done.megabytes < MOST_MEGABYTES
    archive = Archive.open(root)
    assert sum(1 for _ in archive.records(Kind.ENTRIES)) == count
    assert sum(1 for _ in archive.records(Kind.COMMENTS)) == count
