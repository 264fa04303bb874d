from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.cli import settings
from exporter.cli.output import counted, size_text, time_text


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("90s", 90), ("1.5m", 90), ("24h", 86400), (" 7d ", 604800), ("2w", 1209600), ("0", 0)],
)
def test_durations(text: str, seconds: float) -> None:
    assert settings.duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["", "soon", "-1", "1y", "1 2", "1e5", "١"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="a duration"):
        settings.duration(text)


@given(st.integers(0, 10**9))
def test_a_duration_that_was_written_reads_back(seconds: int) -> None:
    value = timedelta(seconds=seconds)
    assert settings.duration(settings.duration_text(value)) == value


def test_durations_are_written_in_their_largest_whole_unit() -> None:
    assert [settings.duration_text(timedelta(seconds=n)) for n in (0, 90, 120, 7200, 604800)] == [
        "0s", "90s", "2m", "2h", "7d",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "count"), [("10", 10), ("1kB", 1000), ("64MB", 64_000_000), ("1.5G", 1_500_000_000), ("2 TiB", 2 * 10**12)]
)
def test_sizes(text: str, count: int) -> None:
    assert settings.size(text) == count


def test_what_is_no_size() -> None:
    with pytest.raises(ValueError, match="a size such as"):
        settings.size("huge")


def test_names_of_hosts() -> None:
    assert settings.hosts("a.example.jp, B.Example.JP. ,,c-d") == {"a.example.jp", "b.example.jp", "c-d"}
    assert settings.hosts("") == frozenset()


@pytest.mark.parametrize("text", ["http://h/", "h/x", "h:80", "a b", "u@h", "[::1]", "ok.example, h?x"])
def test_what_is_no_name_of_a_host(text: str) -> None:
    with pytest.raises(ValueError, match="names of hosts"):
        settings.hosts(text)


def test_zones_by_name_and_by_offset() -> None:
    moment = datetime(2020, 1, 1)  # noqa: DTZ001 - the zone is what is tested
    offsets = {"Asia/Tokyo": 9, "UTC": 0, "+09:00": 9, "-0330": -3.5}
    for text, hours in offsets.items():
        assert moment.replace(tzinfo=settings.zone(text)).utcoffset() == timedelta(hours=hours)
    for wrong in ("Mars/Olympus", "../../etc/passwd", "", "+9"):
        with pytest.raises(ValueError, match="a time zone such as"):
            settings.zone(wrong)


def test_numbers_for_people() -> None:
    assert counted(1, "entry") == "1 entry"
    assert counted(2, "entry") == "2 entries"
    assert counted(1234, "comment") == "1,234 comments"
    assert [size_text(n) for n in (0, 999, 1000, 3_400_000, 5 * 10**9, 2 * 10**12)] == [
        "0 B", "999 B", "1.0 kB", "3.4 MB", "5.0 GB", "2.0 TB",
    ]  # fmt: skip
    assert [time_text(n) for n in (0.26, 42.9, 61, 3600 + 180)] == ["0.3 s", "42 s", "1 min 01 s", "1 h 03 min"]
