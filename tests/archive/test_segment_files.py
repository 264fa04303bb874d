"""Read lines that are close together and far apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from exporter.archive import state
from exporter.archive.state import SegmentFiles


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    monkeypatch.setattr(state, "_BLOCK_BYTES", 64)
    return [b"%d:" % number + b"x" * (number * 7 % 150) + b"\n" for number in range(60)]


def test_lines_read_near_each_other_are_those_read_one_by_one(tmp_path: Path, lines: list[bytes]) -> None:
    """Forwards, backwards and in two files, with lines that cross block borders or are longer than a block."""
    found = SegmentFiles()
    numbers = []
    for name in ("one", "two"):
        (tmp_path / name).write_bytes(b"".join(lines))
        numbers.append(found.add(tmp_path / name))
    places = []
    offset = 0
    for line in lines:
        places.append((offset, len(line), line))
        offset += len(line)
    for order in (places, places[::-1], places[::7]):
        for start, length, line in order:
            for number in numbers:
                assert found.read_near(number, start, length) == found.read(number, start, length) == line
    found.close()
    assert found.read_near(numbers[1], 0, len(lines[0])) == lines[0]
    found.close()


def test_lines_appended_later_are_read(tmp_path: Path, lines: list[bytes]) -> None:
    path = tmp_path / "spool"
    path.write_bytes(b"one\n")
    found = SegmentFiles()
    number = found.add(path)
    assert found.read_near(number, 0, 4) == b"one\n"
    with path.open("ab") as file:
        file.write(b"two\n")
    assert found.read_near(number, 4, 4) == b"two\n"
    found.close()
