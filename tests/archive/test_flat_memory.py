"""What an archive's files need in memory does not grow with their number or size."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from exporter.archive.latest import check_latest
from exporter.archive.safe_files import inner
from exporter.archive.segments import line_positions
from exporter.model.kinds import Kind
from tests.archive.builder import Built, entry, pages

FILES: Final = 1_000
BYTES_PER_FILE: Final = 50
"""Less than a path and two hashes take."""

_POSITIONS: Final = """
import sys
from pathlib import Path
from exporter.archive.safe_files import inner
from exporter.archive.segments import line_positions

def peak():
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) // 1024

before = peak()
found = [each for each, _ in line_positions(inner(Path(sys.argv[1])), set(sys.argv[2:]))]
print(len(found), peak() - before)
"""


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A segment of more than 100 MiB."""
    built = Built(tmp_path_factory.mktemp("large") / "archive")
    built.commit({Kind.ENTRIES: {str(number): entry(number, "題" * 80_000) for number in range(1, 300)}})
    path = built.layout.segment(1, Kind.ENTRIES)
    assert path.stat().st_size > 100 << 20
    yield Path(path)
    path.unlink()


def peak_of_check(root: Path, files: int) -> int:
    """Return the bytes that the check of a view with this number of files takes at most."""
    built = Built(root)
    built.commit({Kind.ENTRIES: {"1": entry(1, "題")}})
    built.refresh(pages({f"{number // 100}/{number}.md": b"%d" % number for number in range(files)}))
    tracemalloc.start()
    assert check_latest(built.layout).whole
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


@pytest.mark.thorough
def test_a_check_of_latest_holds_no_list_of_its_files(tmp_path: Path) -> None:
    small, large = (peak_of_check(tmp_path / f"{files}", files) for files in (FILES, 3 * FILES))
    assert large - small < 2 * FILES * BYTES_PER_FILE


IDS: Final = (["1", "299"], [str(number) for number in range(1, 30)])


@pytest.mark.thorough
@pytest.mark.parametrize("ids", IDS)
def test_a_segment_is_searched_without_holding_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ids: list[str]
) -> None:
    built = Built(tmp_path / "archive")
    built.commit({Kind.ENTRIES: {str(number): entry(number, "題" * 1000) for number in range(1, 300)}})
    path = built.layout.segment(1, Kind.ENTRIES)
    window = 100_000
    monkeypatch.setattr("exporter.archive.segments._MAPPED_BYTES", 1)
    monkeypatch.setattr("exporter.archive.segments._WINDOW_BYTES", window)
    released: list[object] = []
    monkeypatch.setattr("exporter.archive.segments._release", released.append)
    tracemalloc.start()
    found = [each for each, _ in line_positions(path, set(ids))]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert sorted(found, key=int) == ids
    assert peak < path.stat().st_size / 3
    assert len(released) >= path.stat().st_size // window - 1 > 10


@pytest.mark.thorough
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not tell the peak of a process")
@pytest.mark.parametrize("ids", IDS)
def test_a_large_segment_is_searched_without_holding_it(large: Path, ids: list[str]) -> None:
    path = large
    done = subprocess.run(
        [sys.executable, "-c", _POSITIONS, str(path), *ids], capture_output=True, text=True, check=True
    )
    found, megabytes = map(int, done.stdout.split())
    assert found == len(ids)
    assert megabytes < 40


def test_lines_at_the_edges_of_what_is_searched_at_once_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("exporter.archive.segments._MAPPED_BYTES", 1)
    built = Built(tmp_path / "archive")
    built.commit({Kind.ENTRIES: {str(number): entry(number, "題" * number) for number in range(1, 40)}})
    path = inner(built.layout.segment(1, Kind.ENTRIES))
    expected = list(line_positions(path))
    assert [each for each, _ in expected] == [str(number) for number in range(1, 40)]
    for window in (40, 97, 1000):
        monkeypatch.setattr("exporter.archive.segments._WINDOW_BYTES", window)
        assert list(line_positions(path)) == expected
        for record_id, place in expected:
            assert list(line_positions(path, [record_id])) == [(record_id, place)]
