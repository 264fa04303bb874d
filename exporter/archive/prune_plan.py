"""Which versions a prune keeps. Pure: numbers and times in, a plan out.

The rules are those of ``restic forget``: going from the newest version to the oldest, the newest of each day (week,
month, year) is kept until that many are; the rules add up; and the oldest version of all is kept as long as a rule has
some left, so that the history stays as long as it can.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from exporter.errors import UsageError

ALL = -1
"""A rule with this number keeps every day (week, …)."""

_Period = Callable[[datetime, int], tuple[int, ...]]
_PERIODS: dict[str, _Period] = {
    "last": lambda _, position: (position,),
    "daily": lambda time, _: (time.year, time.month, time.day),
    "weekly": lambda time, _: tuple(time.isocalendar()[:2]),
    "monthly": lambda time, _: (time.year, time.month),
    "yearly": lambda time, _: (time.year,),
}


@dataclass(frozen=True, slots=True)
class Kept:
    """A version that stays.

    Attributes:
        version: its number, which it keeps.
        reasons: the rules that keep it, such as ``daily`` or ``oldest monthly``.
        folds: the versions right before it that are folded into it, oldest first.
    """

    version: int
    reasons: tuple[str, ...]
    folds: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class PrunePlan:
    """What stays, oldest first; everything else is folded into what stays."""

    kept: tuple[Kept, ...]

    @property
    def dropped(self) -> tuple[int, ...]:
        """The versions that go, oldest first."""
        return tuple(version for kept in self.kept for version in kept.folds)

    @property
    def versions(self) -> tuple[int, ...]:
        """All versions the plan is about, oldest first."""
        return tuple(version for kept in self.kept for version in (*kept.folds, kept.version))


def plan_prune(
    versions_with_times: Sequence[tuple[int, datetime]],
    *,
    keep_last: int = 0,
    keep_daily: int = 0,
    keep_weekly: int = 0,
    keep_monthly: int = 0,
    keep_yearly: int = 0,
) -> PrunePlan:
    """Decide what a prune keeps.

    Args:
        versions_with_times: every version with the time it was committed; days and weeks (ISO 8601) are those of the
            times' own offset.
        keep_last: keep the newest so many; 0 keeps none by this rule, -1 all.
        keep_daily: keep the newest version of each of the newest so many days that have one.
        keep_weekly: the same for weeks.
        keep_monthly: the same for months.
        keep_yearly: the same for years.

    Raises:
        UsageError: no rule is given, or a number is below -1.
    """
    left = {
        "last": keep_last,
        "daily": keep_daily,
        "weekly": keep_weekly,
        "monthly": keep_monthly,
        "yearly": keep_yearly,
    }
    for name, number in left.items():
        if number < ALL:
            raise UsageError(f"--keep-{name} {number} is no number of versions: give one from 1, or -1 for all.")
    if not any(left.values()):
        raise UsageError(
            "A prune needs at least one of --keep-last, --keep-daily, --keep-weekly, --keep-monthly, --keep-yearly."
        )
    newest_first = sorted(versions_with_times, reverse=True)
    seen: dict[str, tuple[int, ...]] = {}
    reasons: dict[int, tuple[str, ...]] = {}
    for position, (version, time) in enumerate(newest_first):
        oldest = position == len(newest_first) - 1
        found = tuple(_reasons(left, seen, time, position, oldest=oldest))
        if found:
            reasons[version] = found
    return _plan(sorted(version for version, _ in versions_with_times), reasons)


def _reasons(
    left: dict[str, int], seen: dict[str, tuple[int, ...]], time: datetime, position: int, *, oldest: bool
) -> list[str]:
    """Return the rules that keep one version, and count it against them."""
    found = []
    for name, period_of in _PERIODS.items():
        if left[name] == 0:
            continue
        period = period_of(time, position)
        fresh = seen.get(name) != period
        if fresh or oldest:
            seen[name] = period
            left[name] -= left[name] > 0
            found.append(name if fresh else f"oldest {name}")
    return found


def _plan(versions: list[int], reasons: dict[int, tuple[str, ...]]) -> PrunePlan:
    kept = [version for version in versions if version in reasons]
    bounds = pairwise([0, *kept])
    return PrunePlan(
        tuple(
            Kept(high, reasons[high], tuple(version for version in versions if low < version < high))
            for low, high in bounds
        )
    )
