from __future__ import annotations

from exporter.cli.output import counted


def test_numbers_for_people() -> None:
    assert counted(1, "entry") == "1 entry"
    assert counted(2, "entry") == "2 entries"
    assert counted(1234, "comment") == "1,234 comments"
