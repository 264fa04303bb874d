"""The choice of the entries to read."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from exporter.crawl.freshness import NEWEST_ALWAYS_READ, Age, Refresh, entries_to_read

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
LISTING = ["9", "8", "7", "6"]
CHANGED = {"8", "7"}


def test_all_reads_all() -> None:
    assert list(entries_to_read(LISTING, CHANGED, Refresh.ALL, None)) == ["9", "8", "7", "6"]


def test_changed_reads_new_and_changed_entries() -> None:
    assert list(entries_to_read(LISTING, CHANGED, Refresh.CHANGED, None)) == ["8", "7"]


def test_entries_that_failed_last_time_come_first_and_once() -> None:
    assert list(entries_to_read(LISTING, CHANGED, Refresh.ALL, None, ["6", "8", "6"])) == ["6", "8", "9", "7"]
    assert list(entries_to_read(LISTING, CHANGED, Refresh.CHANGED, None, ["6"])) == ["6", "8", "7"]


def test_auto_without_ages_reads_all() -> None:
    listing = [str(number) for number in range(100)]
    assert len(list(entries_to_read(listing, (), Refresh.AUTO, None))) == 100


def test_auto_always_reads_the_newest() -> None:
    listing = [str(number) for number in range(100, 0, -1)]
    age = Age(NOW, timedelta(days=7), {str(number): NOW for number in range(101)})
    read = list(entries_to_read(listing, (), Refresh.AUTO, age))
    assert read == [str(number) for number in range(100, 100 - NEWEST_ALWAYS_READ, -1)]


def test_entries_never_read_or_read_too_long_ago_are_due() -> None:
    age = Age(NOW, timedelta(days=7), {"1": NOW - timedelta(days=7), "2": NOW})
    assert age.due("1")
    assert age.due("unknown")
    assert not age.due("2")


@given(st.text(min_size=1), st.integers(1, 40))
def test_every_entry_has_its_day(entry_id: str, days: int) -> None:
    """Each entry is read on its day of the cycle, and no entry waits longer than the maximum age."""
    max_age = timedelta(days=days)
    read = NOW
    times = []
    for day in range(1, 3 * days + 1):
        now = NOW + timedelta(days=day)
        if Age(now, max_age, {entry_id: read}).due(entry_id):
            assert now - read <= max_age
            read = now
            times.append(day)
    assert len(times) in {3, 4}


@given(st.text(min_size=1))
def test_less_than_a_day_means_every_day(entry_id: str) -> None:
    age = Age(NOW, timedelta(hours=3), {entry_id: NOW - timedelta(days=1)})
    assert age.due(entry_id)
