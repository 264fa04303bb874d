"""What is still outside of an archive while its service is about to close, and how many backups remain. Pure."""

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
"""Days before the end at which what is outside is notified again."""
_RUNS_LOOKED_AT: Final = 15
_BY_HAND: Final = timedelta(hours=1)
"""Runs that follow each other faster were begun by somebody, and are no pace."""


@dataclass(frozen=True, slots=True)
class Countdown:
    """How long a service is there.

    Attributes:
        day: the last day, by the blog's clocks.
        days: how many are left after today; negative once it is over.
        backups: how many still come at the pace of the last ones, ``None`` where there is no pace yet.
    """

    day: date
    days: int
    backups: int | None

    def document(self) -> dict[str, Any]:
        """Return it as ``--json`` prints it."""
        return {"date": self.day.isoformat(), "days": self.days, "backups": self.backups}

    @property
    def step(self) -> int | None:
        """The days of the last notification that was due; -1 once it is over, ``None`` while that is far away."""
        if self.days < 0:
            return -1
        return next((days for days in NOTIFIED_AT if self.days <= days), None)


@dataclass(frozen=True, slots=True)
class Outside:
    """Things of one kind that are not in the archive for one reason."""

    kind: str
    state: str
    reason: str
    count: int


@dataclass(frozen=True, slots=True)
class Unseen:
    """Entries in the archive that readers of the blog do not see, so that no copy made by readers has them.

    Attributes:
        private: marked private by the service's own flag.
        drafts: not public by what its owner declared of the flags.
        undeclared: of which nobody has declared whether they are public.
    """

    private: int = 0
    drafts: int = 0
    undeclared: int = 0


@dataclass(frozen=True, slots=True)
class ClosingReport:
    """What a run says about a service that closes."""

    countdown: Countdown
    outside: Sequence[Outside]
    unseen: Unseen
    signed_in: bool


def countdown(day: date, now: datetime, zone: tzinfo, begun: Iterable[datetime]) -> Countdown:
    """Count the days and the backups that remain.

    Args:
        day: the last day of the service.
        now: the time.
        zone: whose clocks the day is by.
        begun: when the last runs began, newest first.
    """
    days = (day - now.astimezone(zone).date()).days
    last = list(begun)[:_RUNS_LOOKED_AT]
    gaps = [newer - older for newer, older in pairwise(last) if newer - older >= _BY_HAND]
    if not gaps:
        return Countdown(day, days, None)
    pace = median(gap.total_seconds() for gap in gaps)
    return Countdown(day, days, max(0, int(timedelta(days=days + 1).total_seconds() / pace)))


def what_is_outside(outcome: Outcome) -> list[Outside]:
    """Return what a run could not save, what is gone, and what settings leave out, most of it first."""
    found: Counter[tuple[str, str, str]] = Counter()
    for problem in outcome.problems:
        found[problem.kind, str(AssetState.PENDING), problem.reason] += 1
    absent = outcome.assets.absent if outcome.assets is not None else ()
    for each in absent:
        if each.state is not AssetState.PENDING:
            found[str(Kind.ASSETS), str(each.state), each.reason] += 1
    return [Outside(*names, count) for names, count in found.most_common()]


def unseen_entries(records: RecordSource, service: Records, declared: Declared) -> Unseen:
    """Count the entries that readers do not see."""
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
