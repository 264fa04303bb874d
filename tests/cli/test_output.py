from __future__ import annotations

from exporter.cli.output import counted, size_text, time_text


def test_numbers_for_people() -> None:
    assert counted(1, "entry") == "1 entry"
    assert counted(2, "entry") == "2 entries"
    assert counted(1234, "comment") == "1,234 comments"
    assert [size_text(n) for n in (0, 999, 1000, 3_400_000, 5 * 10**9, 2 * 10**12)] == [
        "0 B", "999 B", "1.0 kB", "3.4 MB", "5.0 GB", "2.0 TB",
    ]  # fmt: skip
    assert [time_text(n) for n in (0.26, 42.9, 61, 3600 + 180)] == ["0.3 s", "42 s", "1 min 01 s", "1 h 03 min"]
