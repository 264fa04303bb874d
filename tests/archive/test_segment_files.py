"""Read lines back from several files."""

from __future__ import annotations

from pathlib import Path

from exporter.archive.state import SegmentFiles


def test_lines_are_read_at_their_places_also_after_a_close(tmp_path: Path) -> None:
    lines = [b"%d:" % number + b"x" * (number * 7 % 150) + b"\n" for number in range(60)]
    found = SegmentFiles()
    numbers = []
    for name in ("one", "two"):
        (tmp_path / name).write_bytes(b"".join(lines))
        numbers.append(found.add(tmp_path / name))
    offset = 0
    for line in lines:
        assert [found.read(number, offset, len(line)) for number in numbers] == [line, line]
        offset += len(line)
    found.close()
    assert found.read(numbers[1], 0, len(lines[0])) == lines[0]
    found.close()


def test_lines_appended_later_are_read(tmp_path: Path) -> None:
    path = tmp_path / "spool"
    path.write_bytes(b"one\n")
    found = SegmentFiles()
    number = found.add(path)
    assert found.read(number, 0, 4) == b"one\n"
    with path.open("ab") as file:
        file.write(b"two\n")
    assert found.read(number, 4, 4) == b"two\n"
    found.close()
