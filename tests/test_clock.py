"""The machine's clock, and the notation of times."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from exporter.clock import FixedClock, SystemClock, at_home, for_people, timestamp


def test_now_is_in_utc() -> None:
    before = datetime.now(UTC)
    now = SystemClock().now()
    assert before <= now <= datetime.now(UTC)
    assert now.utcoffset() == timedelta(0)


async def test_sleeping_takes_the_requested_time() -> None:
    clock = SystemClock()
    begun = clock.monotonic()
    await clock.sleep(0.02)
    assert clock.monotonic() - begun >= 0.019


async def test_a_fixed_clock_does_not_move_but_waits() -> None:
    moment = datetime(2026, 1, 31, tzinfo=UTC)
    clock = FixedClock(moment)
    begun = clock.monotonic()
    assert clock.now() == moment
    await clock.sleep(0.02)
    assert clock.now() == moment
    assert clock.monotonic() - begun >= 0.019


@pytest.mark.parametrize(
    ("moment", "written"),
    [
        (datetime(2026, 1, 31, 12, 34, 56, tzinfo=UTC), "2026-01-31T12:34:56Z"),
        (datetime(2026, 1, 1, 3, 0, 0, 999_999, tzinfo=timezone(timedelta(hours=9))), "2025-12-31T18:00:00Z"),
        (datetime(1999, 12, 31, 23, 59, 59, tzinfo=timezone(timedelta(hours=-1))), "2000-01-01T00:59:59Z"),
    ],
)
def test_timestamps_are_utc_and_whole_seconds(moment: datetime, written: str) -> None:
    assert timestamp(moment) == written
    assert datetime.fromisoformat(written) == moment.replace(microsecond=0)


JAPAN = timezone(timedelta(hours=9))


def test_times_are_shown_in_the_time_zone_of_the_blog() -> None:
    line = "     1  2026-01-31T20:34:56Z  entries +5, since 2026-01-01T00:00:00Z"
    assert for_people(line, JAPAN) == "     1  2026-02-01T05:34:56+09:00  entries +5, since 2026-01-01T09:00:00+09:00"


@pytest.mark.parametrize(
    "text", ["", "Z", "2026-01-31", "2026-13-31T20:34:56Z", "9999-12-31T23:59:59Z", "0000-00-00T00:00:00Z"]
)
def test_invalid_times_are_unchanged(text: str) -> None:
    assert at_home(text, JAPAN) is None
    assert for_people(text, JAPAN) == text
