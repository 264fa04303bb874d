"""The time until a service closes, and the content that readers of the blog do not see."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

import pytest

from exporter.notify.closing import Countdown, countdown

JAPAN = timezone(timedelta(hours=9))
DAY = date(2026, 12, 31)


def nights(count: int, gap: timedelta, last: datetime) -> list[datetime]:
    return [last - number * gap for number in range(count)]


def test_days_are_in_the_time_zone_of_the_blog() -> None:
    late = datetime(2026, 12, 30, 15, 30, tzinfo=UTC)
    assert countdown(DAY, late, UTC, ()).days == 1
    assert countdown(DAY, late, JAPAN, ()).days == 0
    assert countdown(DAY, late + timedelta(days=1), JAPAN, ()).days == -1


@pytest.mark.parametrize(
    ("gap", "backups"),
    [(timedelta(days=1), 11), (timedelta(hours=6), 44), (timedelta(days=7), 1), (timedelta(days=30), 0)],
)
def test_the_pace_of_the_last_backups_is_extrapolated(gap: timedelta, backups: int) -> None:
    now = datetime(2026, 12, 21, 3, tzinfo=UTC)
    assert countdown(DAY, now, UTC, nights(9, gap, now)) == Countdown(DAY, 10, backups)


def test_a_late_night_and_manual_runs_do_not_change_the_pace() -> None:
    now = datetime(2026, 12, 21, 3, tzinfo=UTC)
    begun = [now, now - timedelta(minutes=2), *nights(5, timedelta(days=1), now - timedelta(days=5))]
    assert countdown(DAY, now, UTC, begun).backups == 11
    assert countdown(DAY, now, UTC, begun[:2]).backups is None
    assert countdown(DAY, now, UTC, ()).backups is None


@pytest.mark.parametrize(
    ("days", "step"), [(31, None), (30, 30), (8, 14), (7, 7), (2, 3), (0, 0), (-1, -1), (-400, -1)]
)
def test_the_notice_repeats_as_the_day_approaches(days: int, step: int | None) -> None:
    assert Countdown(DAY, days, None).step == step
