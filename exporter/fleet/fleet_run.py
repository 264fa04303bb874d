"""Run a fleet: start the blogs that are due, and record the result of each attempt in the ledger.

A blog that fails does not stop the others. How blogs are saved, in this process or in several, is up to the
implementation of :class:`Backups`.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from heapq import heapify, heappop, heappush
from typing import Final, Protocol

from exporter.clock import Clock
from exporter.errors import (
    BadBody,
    BlogExporterError,
    ConnectFailed,
    HostGivenUp,
    HtmlBody,
    Interrupted,
    LongPause,
    NoSpace,
    NotAuthorised,
    RequestTimeout,
    RetryableStatus,
    ServiceError,
    ServiceSilent,
    SignInRevoked,
    Unreachable,
    UsageError,
)
from exporter.fleet.forecast import FleetProgress, Forecast
from exporter.fleet.ledger import BlogAttempt, BlogState, Counts, DueBlog, FleetLedger
from exporter.message import message_n

_TICK_SECONDS: Final = 1.0
_GAP_GROWTH: Final = 3.0
_MAX_GAP_SECONDS: Final = timedelta(days=1).total_seconds()
_QUEUED_BLOGS: Final = 1000
_JITTER: Final = 0.2
_SILENCE: Final = frozenset(
    each.__name__
    for each in (
        Unreachable, ConnectFailed, HostGivenUp, RequestTimeout, RetryableStatus, BadBody, HtmlBody, ServiceSilent,
        LongPause, NotAuthorised, SignInRevoked, UsageError,
    )
)  # fmt: skip
"""Errors caused by the service or the settings rather than by one blog."""
_ENDS: Final = {each.exit_code: each for each in (NotAuthorised, UsageError)}


@dataclass(frozen=True, slots=True)
class FleetPlan:
    """The options of a run.

    Attributes:
        tries: the most attempts for a blog in this run.
        gap: the wait after a first failure; after each further one it is three times as long, a day at most.
        deadline: when to stop starting blogs, in seconds since 1970; ``None`` for never.
        silence: the number of consecutive blogs without an answer or a usable setting that ends the run. If they share
            settings of their lines, such as a base URL, the run continues with the other blogs.
    """

    tries: int = 4
    gap: timedelta = timedelta(minutes=1)
    deadline: float | None = None
    silence: int = 100


class Backups(Protocol):
    """Saves blogs, many at a time."""

    @property
    def free_slots(self) -> int:
        """The number of blogs that can be started now."""

    @property
    def under_way(self) -> Collection[int]:
        """The number of requests sent so far for each blog that is being saved; 0 if unknown."""

    @property
    def requests(self) -> int:
        """The number of requests sent so far, including retries and those for blogs under way."""

    def start(self, blogs: Sequence[DueBlog]) -> None:
        """Start saving blogs, at most ``free_slots``."""

    async def ended(self, seconds: float) -> list[BlogAttempt]:
        """Return all attempts that have ended, after waiting up to ``seconds`` for the first."""

    def stop(self, error: Interrupted) -> None:
        """End all attempts soon and in order; the next ones resume them."""

    @property
    def dashboard(self) -> str | None:
        """The address of a page that shows the work; ``None`` without one."""


@dataclass(frozen=True, slots=True)
class FleetMoment:
    """The progress of a run.

    Attributes:
        counts: the listed blogs; ``due`` and ``lasting`` are those of the run's start, at its end those of its end.
        under_way: blogs being saved.
        left: blogs that this run has not started yet.
        requests: sent so far in this run, retries included.
        seconds: the time since the start of the run.
        forecast: when it will be done; ``None`` if unknown yet.
        ended: the attempts that ended since the moment before, with their blogs' IDs, and when each is made again in
            this run, in seconds from its end; ``None`` for not.
    """

    counts: Counts
    under_way: int
    left: int
    requests: int
    seconds: float
    forecast: Forecast | None
    ended: Sequence[tuple[str, BlogAttempt, float | None]] = ()


@dataclass(eq=False)
class FleetRun:
    """Saves the blogs that are due; iterate over :meth:`moments` to run it.

    Args:
        ledger: its list read, its run begun.
        backups: saves the blogs.
        plan: how.
        clock: the time of day, and what waits.
        chance: gives the jitter of waits between attempts, 0 … 1.
    """

    ledger: FleetLedger
    backups: Backups
    plan: FleetPlan
    clock: Clock
    chance: Callable[[], float] = random.random

    def __post_init__(self) -> None:
        self._under_way: dict[int, DueBlog] = {}
        self._queue: list[DueBlog] = []
        self._again: list[tuple[float, int, DueBlog]] = []
        self._tries: dict[int, int] = {}
        self._since = self._now()
        self._counts = self.ledger.counts(self._since)
        self._left = self._counts.due
        self._begun = self.clock.monotonic()
        self._progress = FleetProgress(self._begun)
        self._forecast: Forecast | None = None
        self._next_forecast = self._begun
        self._silent = 0
        self._silent_alike: Counter[str] = Counter()
        self._aside: dict[str, BlogExporterError] = {}
        self._end: BlogExporterError | None = None

    def stop(self, error: Interrupted) -> None:
        """End the run soon and in order."""
        self._end = self._end or error
        self.backups.stop(error)

    async def moments(self) -> AsyncIterator[FleetMoment]:
        """Yield the progress whenever an attempt ends, and once a second.

        Raises:
            Interrupted: it was stopped.
            NoSpace: there is no room on the disk for any blog.
            ServiceError, NotAuthorised, UsageError: no blog can be read any more.
        """
        while self._fill() or self._under_way:
            yield self.moment(self._recorded(await self.backups.ended(_TICK_SECONDS)))
        self._counts = self.ledger.counts(self._now())
        yield self.moment()
        for error in (self._end, *self._aside.values()):
            if error is not None:
                raise error

    def _now(self) -> float:
        return self.clock.now().timestamp()

    def _fill(self) -> bool:
        """Start blogs in all free slots; return whether any are left, now or later in this run."""
        now = self._now()
        if self._end is not None or (self.plan.deadline is not None and now >= self.plan.deadline):
            self._left = 0
            return False
        room = self.backups.free_slots
        if room and len(self._queue) < room:
            known = {*self._under_way, *(blog.number for blog in self._queue)}
            found = self.ledger.due(now, max(room, _QUEUED_BLOGS), without=known, aside=self._aside)
            self._left += sum(blog.due_at > self._since for blog in found)
            self._queue += found
        begun: list[DueBlog] = []
        while len(begun) < room and self._again and self._again[0][0] <= now:
            begun.append(heappop(self._again)[2])
        rest = room - len(begun)
        begun, self._queue = begun + self._queue[:rest], self._queue[rest:]
        if begun:
            self._left -= len(begun)
            self._under_way.update({blog.number: blog for blog in begun})
            self.backups.start(begun)
        return bool(self._queue or self._again)

    def _recorded(self, attempts: Sequence[BlogAttempt]) -> list[tuple[str, BlogAttempt, float | None]]:
        """Record attempts, and return them with their blogs' IDs and the seconds until the next attempt."""
        found: list[tuple[str, BlogAttempt, float | None]] = []
        written: list[tuple[BlogAttempt, float | None]] = []
        ended: list[tuple[BlogAttempt, DueBlog]] = []
        for attempt in attempts:
            blog = self._under_way.pop(attempt.blog)
            if attempt.exit_code in {130, 143} and self._end is not None:
                continue
            due_at, again = self._due_again(attempt, blog)
            written.append((attempt, due_at))
            found.append((blog.blog_id, attempt, None if due_at is None or not again else due_at - attempt.finished_at))
            if attempt.state is not BlogState.FAILED:
                self._progress.finished(attempt.requests)
            ended.append((attempt, blog))
        if written:
            states = dict(self._counts.states)
            for old, (attempt, _) in zip(self.ledger.record(written), written, strict=True):
                states[old] -= 1
                states[attempt.state] += 1
            archived = sum(not blog.saved and attempt.state is not BlogState.FAILED for attempt, blog in ended)
            self._counts = replace(self._counts, states=states, archived=self._counts.archived + archived)
        for attempt, blog in ended:
            self._notice(attempt, blog)
        return found

    def _notice(self, attempt: BlogAttempt, blog: DueBlog) -> None:
        """End the run if an attempt shows that all others will fail, or skip the blogs with the same settings."""
        if attempt.kind in _SILENCE:
            self._silent += 1
            self._silent_alike[blog.alike] += 1
        else:
            self._silent = 0
            self._silent_alike.pop(blog.alike, None)
        if self._end is not None:
            return
        if attempt.exit_code == NoSpace.exit_code:
            self._end = NoSpace(attempt.reason or "")
        elif self._silent_alike[blog.alike] >= self.plan.silence and self._has_others(blog.alike):
            self._put_aside(blog.alike, self._silence(attempt))
        elif self._silent >= self.plan.silence:
            self._end = self._silence(attempt)
        if self._end is not None:
            self.backups.stop(Interrupted(str(self._end)))

    def _silence(self, attempt: BlogAttempt) -> BlogExporterError:
        return _ENDS.get(attempt.exit_code, ServiceError)(
            message_n(
                "{n:,} blog failed for want of an answer or a setting: {reason}. "
                "Run the fleet again when that is mended.",
                "{n:,} blogs in a row failed for want of an answer or a setting, the last one: {reason}. "
                "Run the fleet again when that is mended.",
                self.plan.silence,
                reason=attempt.reason or "",
            )
        )

    def _has_others(self, alike: str) -> bool:
        """Return whether this run has blogs left other than those with these settings."""
        known = (*self._under_way.values(), *self._queue, *(blog for _, _, blog in self._again))
        aside = {*self._aside, alike}
        return any(blog.alike not in aside for blog in known) or bool(self.ledger.due(self._now(), 1, aside=aside))

    def _put_aside(self, alike: str, error: BlogExporterError) -> None:
        """Start no more blogs with these settings in this run."""
        if alike in self._aside:
            return
        self._aside[alike] = error
        self._silent = 0
        first = [blog for blog in self._under_way.values() if blog.alike == alike and blog.number not in self._tries]
        again = [each for each in self._again if each[2].alike != alike]
        self._left -= self.ledger.due_alike(self._now(), alike) - len(first) + len(self._again) - len(again)
        self._queue = [blog for blog in self._queue if blog.alike != alike]
        self._again = again
        heapify(self._again)

    def _due_again(self, attempt: BlogAttempt, blog: DueBlog) -> tuple[float | None, bool]:
        """Return the time of a blog's next attempt, ``None`` for no attempt, and whether it belongs to this run."""
        if attempt.state is BlogState.SAVED:
            self._tries.pop(blog.number, None)
            return None, False
        gap = min(self.plan.gap.total_seconds() * _GAP_GROWTH ** min(blog.failures, 20), _MAX_GAP_SECONDS)
        due_at = attempt.finished_at + gap * (1 + _JITTER * self.chance())
        tries = self._tries.pop(blog.number, 0) + 1
        is_over = self._end is not None or blog.alike in self._aside
        if attempt.lasts or tries >= self.plan.tries or is_over:
            return due_at, False
        self._tries[blog.number] = tries
        is_kept = blog.saved or attempt.state is not BlogState.FAILED
        heappush(self._again, (due_at, blog.number, replace(blog, failures=blog.failures + 1, saved=is_kept)))
        self._left += 1
        return due_at, True

    def moment(self, ended: Sequence[tuple[str, BlogAttempt, float | None]] = ()) -> FleetMoment:
        """Return the progress now."""
        now, sent = self.clock.monotonic(), self.backups.requests
        self._progress.sent(now, sent)
        if now >= self._next_forecast or not self._under_way:
            self._next_forecast = now + _TICK_SECONDS
            self._forecast = self._progress.forecast(now, sent, self._left, self.backups.under_way)
        return FleetMoment(
            self._counts, len(self._under_way), self._left, sent, now - self._begun, self._forecast, ended
        )
