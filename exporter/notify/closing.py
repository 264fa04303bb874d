"""Before a service closes: the records that are not in the archive yet, and the number of backups left. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from exporter.model.asset import AssetState
from exporter.model.kinds import Kind
from exporter.model.publication import Cause, Declared, Hidden, PostStatus

if TYPE_CHECKING:
    from exporter.crawl.outcome import Outcome
    from exporter.export.interface import RecordSource
    from exporter.service.interface import Records

NOTIFIED_AT: Final = (0, 1, 3, 7, 14, 30)
"""Days before the end on which missing records are reported again."""
_MAX_RUNS: Final = 15
_MIN_GAP: Final = timedelta(hours=1)
"""Shorter gaps come from backups that a person started, and do not count."""


@dataclass(frozen=True, slots=True)
class Countdown:
    """The time until a service closes.

    Attributes:
        day: the last day, in the blog's time zone.
        days: the days left after today; negative after the end.
        backups: the backups left at the recent pace; ``None`` without a pace.
    """

    day: date
    days: int
    backups: int | None

    def document(self) -> dict[str, Any]:
        """Return the countdown for ``--json``."""
        return {"date": self.day.isoformat(), "days": self.days, "backups": self.backups}

    @property
    def step(self) -> int | None:
        """The last step of ``NOTIFIED_AT`` that was reached; -1 after the end, ``None`` before the first step."""
        if self.days < 0:
            return -1
        return next((days for days in NOTIFIED_AT if self.days <= days), None)


@dataclass(frozen=True, slots=True)
class Outside:
    """The number of records that are missing in the archive, by kind, state and reason."""

    kind: str
    state: str
    reason: str
    count: int


@dataclass(frozen=True, slots=True)
class Unseen:
    """The number of entries in the archive that the blog's readers cannot see or save.

    Attributes:
        private: private by the service's flag.
        drafts: not public by the owner's settings for the flags.
        undeclared: unknown, because no setting says whether they are public.
    """

    private: int = 0
    drafts: int = 0
    undeclared: int = 0


@dataclass(frozen=True, slots=True)
class ClosingReport:
    """The report of a run about a closing service; ``provable`` unless the source states no totals."""

    countdown: Countdown
    outside: Sequence[Outside]
    unseen: Unseen
    signed_in: bool
    provable: bool = True


def countdown(day: date, now: datetime, zone: tzinfo, begun: Iterable[datetime]) -> Countdown:
    """Count the days and the backups left.

    Args:
        day: the last day of the service.
        now: the current time.
        zone: the time zone of the day.
        begun: the last runs' start times, newest first.
    """
    days = (day - now.astimezone(zone).date()).days
    last = list(begun)[:_MAX_RUNS]
    gaps = [newer - older for newer, older in pairwise(last) if newer - older >= _MIN_GAP]
    if not gaps:
        return Countdown(day, days, None)
    pace = median(gap.total_seconds() for gap in gaps)
    return Countdown(day, days, max(0, int(timedelta(days=days + 1).total_seconds() / pace)))


def what_is_outside(outcome: Outcome) -> list[Outside]:
    """Return the records that failed, are gone, or are excluded by settings; the largest groups come first."""
    found: Counter[tuple[str, str, str]] = Counter()
    for problem in outcome.problems:
        found[problem.kind, str(AssetState.PENDING), problem.reason] += 1
    absent = outcome.assets.absent if outcome.assets is not None else ()
    for each in absent:
        if each.state is not AssetState.PENDING:
            found[str(Kind.ASSETS), str(each.state), each.reason] += 1
    return [Outside(*names, count) for names, count in found.most_common()]


def unseen_entries(records: RecordSource, service: Records, declared: Declared) -> Unseen:
    """Count the entries that readers cannot see."""
    found: Counter[str] = Counter()
    for _, raw in records.scan(Kind.ENTRIES):
        status, cause = service.publication(service.post(raw), declared)
        if status is not PostStatus.PUBLISH:
            found[_group(status, cause, declared)] += 1
    return Unseen(found["private"], found["draft"], found["undeclared"])


def _group(status: PostStatus, cause: Cause | None, declared: Declared) -> str:
    if status is PostStatus.PRIVATE:
        return "private"
    undeclared = declared.public_access is None and cause is not None and cause.reason is Hidden.UNDECLARED
    return "undeclared" if undeclared else "draft"
