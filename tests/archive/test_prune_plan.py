from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.archive.prune import ALL, KeptVersion, PrunePlan, plan_prune
from exporter.errors import UsageError

JST = timezone(timedelta(hours=9))
DAYS = [(number, datetime(2026, 1, 1, 12, tzinfo=UTC) + timedelta(days=number - 1)) for number in range(1, 41)]


def kept(plan: PrunePlan) -> list[int]:
    return [item.version for item in plan.kept]


def test_last_keeps_the_newest_and_folds_the_rest_into_the_oldest_of_them() -> None:
    plan = plan_prune(DAYS, keep_last=3)
    assert plan.kept == (
        KeptVersion(38, ("last",), tuple(range(1, 38))),
        KeptVersion(39, ("last",)),
        KeptVersion(40, ("last",)),
    )
    assert plan.dropped == tuple(range(1, 38))
    assert plan.versions == tuple(range(1, 41))


def test_daily_keeps_the_newest_of_each_day_that_has_one() -> None:
    times = ["01T08", "01T20", "03T01", "03T02", "07T05"]
    versions = [(number, datetime.fromisoformat(f"2026-01-{text}:00:00+00:00")) for number, text in enumerate(times, 1)]
    assert kept(plan_prune(versions, keep_daily=2)) == [4, 5]
    assert kept(plan_prune(versions, keep_daily=3)) == [2, 4, 5]


def test_the_oldest_stays_while_a_rule_has_some_left() -> None:
    times = ["01T08", "01T20", "03T01"]
    versions = [(number, datetime.fromisoformat(f"2026-01-{text}:00:00+00:00")) for number, text in enumerate(times, 1)]
    plan = plan_prune(versions, keep_daily=3)
    assert kept(plan) == [1, 2, 3]
    assert plan.kept[0].reasons == ("oldest daily",)
    assert kept(plan_prune(versions, keep_daily=2)) == [2, 3]


def test_weeks_are_those_of_the_calendar_that_starts_on_monday() -> None:
    sunday, monday = datetime(2026, 1, 4, tzinfo=UTC), datetime(2026, 1, 5, tzinfo=UTC)
    thursday = datetime(2025, 12, 30, tzinfo=UTC)
    assert kept(plan_prune([(1, thursday), (2, sunday), (3, monday)], keep_weekly=2)) == [2, 3]


def test_months_and_years() -> None:
    assert kept(plan_prune(DAYS, keep_monthly=2)) == [31, 40]
    assert kept(plan_prune(DAYS, keep_yearly=1)) == [40]
    assert kept(plan_prune(DAYS, keep_yearly=2)) == [1, 40]


def test_rules_add_up_and_each_is_named() -> None:
    plan = plan_prune(DAYS, keep_last=1, keep_daily=2, keep_weekly=2, keep_monthly=1)
    assert kept(plan) == [39, 40]
    assert plan.kept[-1].reasons == ("last", "daily", "weekly", "monthly")


def test_all_of_a_rule() -> None:
    assert plan_prune(DAYS, keep_daily=ALL).dropped == ()
    assert kept(plan_prune(DAYS, keep_monthly=ALL)) == [1, 31, 40]


def test_days_are_those_of_the_times_own_offset() -> None:
    late, later = datetime(2026, 1, 1, 14, tzinfo=UTC), datetime(2026, 1, 1, 16, tzinfo=UTC)
    assert kept(plan_prune([(1, late), (2, later)], keep_daily=1)) == [2]
    assert kept(plan_prune([(1, late.astimezone(JST)), (2, later.astimezone(JST))], keep_daily=2)) == [1, 2]
    assert plan_prune([(1, late.astimezone(JST)), (2, later.astimezone(JST))], keep_daily=2).kept[0].reasons == (
        "daily",
    )


def test_the_order_of_versions_counts_if_a_clock_went_back() -> None:
    assert kept(
        plan_prune([(1, datetime(2030, 1, 1, tzinfo=UTC)), (2, datetime(2026, 1, 1, tzinfo=UTC))], keep_last=1)
    ) == [2]


def test_nothing_to_prune_is_an_empty_plan() -> None:
    assert plan_prune([], keep_last=1) == PrunePlan(())


def test_a_prune_without_a_rule_is_refused() -> None:
    with pytest.raises(UsageError, match="at least one of --keep-last"):
        plan_prune(DAYS)


def test_a_number_below_all_is_refused() -> None:
    with pytest.raises(UsageError, match="--keep-weekly -2"):
        plan_prune(DAYS, keep_weekly=-2)


NUMBERS = st.integers(-1, 5)


@given(
    hours=st.lists(st.integers(0, 24 * 900), min_size=1, max_size=60),
    last=NUMBERS,
    daily=NUMBERS,
    weekly=NUMBERS,
    monthly=NUMBERS,
    yearly=NUMBERS,
)
def test_any_plan_keeps_the_versions_of_its_rules(
    hours: list[int], last: int, daily: int, weekly: int, monthly: int, yearly: int
) -> None:
    start = datetime(2024, 12, 20, tzinfo=UTC)
    versions = [(number, start + timedelta(hours=at)) for number, at in enumerate(sorted(hours), 1)]
    if not any((last, daily, weekly, monthly, yearly)):
        return
    plan = plan_prune(
        versions, keep_last=last, keep_daily=daily, keep_weekly=weekly, keep_monthly=monthly, keep_yearly=yearly
    )
    found = kept(plan)
    assert found[-1] == versions[-1][0]
    assert sorted([*found, *plan.dropped]) == [number for number, _ in versions]
    times = dict(versions)
    periods: dict[str, tuple[int, Callable[[int], object]]] = {
        "daily": (daily, lambda number: times[number].date()),
        "weekly": (weekly, lambda number: times[number].isocalendar()[:2]),
        "monthly": (monthly, lambda number: (times[number].year, times[number].month)),
        "yearly": (yearly, lambda number: times[number].year),
        "last": (last, lambda number: number),
    }
    for name, (count, period) in periods.items():
        newest: dict[object, int] = {}
        for number, _ in versions:
            newest[period(number)] = number
        wanted = sorted(newest.values(), reverse=True)
        wanted = wanted if count == ALL else wanted[:count]
        assert set(wanted) <= set(found)
        ours = [item.version for item in plan.kept if name in item.reasons]
        assert sorted(wanted) == ours
