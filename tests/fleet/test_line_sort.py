from __future__ import annotations

import random
from pathlib import Path

import pytest

from exporter.fleet import line_sort
from exporter.fleet.line_sort import SortedLines


@pytest.mark.parametrize("most_bytes", [0, 1_000, 1_000_000])
def test_lines_come_in_the_order_of_their_bytes(
    tmp_path: Path, most_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(line_sort, "_MERGED_FILES", 4)
    chance = random.Random(5)
    lines = [f"{chance.choice('aあz~ ')}{chance.randrange(50)}\n".encode() for _ in range(500)]
    found = SortedLines(tmp_path, most_bytes)
    for line in lines[:450]:
        found.add(line)
    given = tmp_path / "given"
    given.write_bytes(b"".join(sorted(lines[450:])))
    found.add_file(given)
    assert list(found) == sorted(lines)
    assert list(SortedLines(tmp_path)) == []


def test_many_files_are_merged_without_opening_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_sort, "_MERGED_FILES", 3)
    found = SortedLines(tmp_path)
    for number in range(100):
        path = tmp_path / f"file-{number}"
        path.write_bytes(b"%03d\n" % (number * 37 % 100))
        found.add_file(path)
    assert len(list(tmp_path.iterdir())) <= 2 * 5
    assert list(found) == [b"%03d\n" % number for number in range(100)]
