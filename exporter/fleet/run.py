"""A run of a fleet: what is due is handed to a crew, what the crew says of it goes into the ledger.

Whatever happens to one blog is written down and keeps no other from its turn. The run knows nothing of how blogs are
saved: a crew of one process, or of many machines, does that.
"""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final, Protocol, Self

from exporter.clock import Clock
from exporter.errors import Interrupted, NoSpace
from exporter.fleet.forecast import Forecast, Progress
from exporter.fleet.ledger import Attempt, BlogState, Counts, DueBlog, Ledger
from exporter.message import message

_TICK_SECONDS: Final = 1.0
_GAP_GROWTH: Final = 3.0
_LONGEST_GAP: Final = timedelta(days=1).total_seconds()
_QUEUED: Final = 1000
_JITTER: Final = 0.2
_PARTIAL: Final = 3


@dataclass(frozen=True, slots=True)
class FleetPlan:
    """How a fleet is run.

    Attributes:
        tries: the most attempts for a blog in this run.
        gap: the wait after a first failure; after each further one it is three times as long, a day at most.
        deadline: when no further blog is begun, in seconds since 1970; ``None`` for never.
    """

    tries: int = 4
    gap: timedelta = timedelta(minutes=1)
    deadline: float | None = None


class Crew(Protocol):
    """Saves blogs, many at a time; use it in ``async with``.

    Attributes:
        room: how many blogs it can take now.
        requests: sent so far, retries and those for blogs under way included.
    """

    @property
    def room(self) -> int: ...

    @property
    def requests(self) -> int: ...

    def start(self, blogs: Sequence[DueBlog]) -> None:
        """Begin to save blogs, no more than there is room for."""

    async def ended(self, seconds: float) -> list[Attempt]:
        """Return how attempts ended, waiting up to so many seconds for the first one."""

    def stop(self, error: Interrupted) -> None:
        """End all attempts soon and in order; what was read is kept for the next ones."""

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, *_: object) -> None: ...


@dataclass(frozen=True, slots=True)
class FleetMoment:
    """How a run stands.

    Attributes:
        counts: the listed blogs.
        under_way: blogs being saved.
        requests: sent so far in this run, retries included.
        seconds: since its beginning.
        forecast: when it will be done; ``None`` before that can be said.
        ended: the attempts that ended since the moment before, with their blogs' IDs.
    """

    counts: Counts
    under_way: int
    requests: int
    seconds: float
    forecast: Forecast | None
    ended: Sequence[tuple[str, Attempt]] = ()


class FleetRun:
    """Does what is due by a ledger; iterate over :meth:`moments` to have it done.

    Args:
        ledger: open for writing, its list read.
        crew: saves the blogs; entered already.
        plan: how.
        clock: the time of day, and what waits.
        chance: the jitter of the waits between attempts, in 0 … 1.
    """

    def __init__(
        self, ledger: Ledger, crew: Crew, plan: FleetPlan, clock: Clock, chance: Callable[[], float] = random.random
    ) -> None:
        self._ledger = ledger
        self._crew = crew
        self._plan = plan
        self._clock = clock
        self._chance = chance
        self._under_way: dict[int, DueBlog] = {}
        self._queue: list[DueBlog] = []
        self._counts = ledger.counts(self._now())
        self._left = self._counts.due + self._counts.later
        self._begun = clock.monotonic()
        self._progress = Progress(self._begun)
        self._tries: dict[int, int] = {}
        self._end: Interrupted | NoSpace | None = None

    def stop(self, error: Interrupted) -> None:
        """End the run soon and in order."""
        self._end = self._end or error
        self._crew.stop(error)

    async def moments(self) -> AsyncIterator[FleetMoment]:
        """Yield how the run stands, at each end of an attempt and once a second.

        Raises:
            Interrupted: it was stopped.
            NoSpace: there is no room on the disk for any blog.
        """
        while True:
            self._fill()
            wait = _TICK_SECONDS
            if not self._under_way:
                pause = self._pause()
                if pause is None:
                    break
                wait = min(wait, pause)
            attempts = await self._crew.ended(wait)
            yield self._moment(self._recorded(attempts))
        yield self._moment([])
        if self._end is not None:
            raise self._end

    def _now(self) -> float:
        return self._clock.now().timestamp()

    def _is_over(self) -> bool:
        return self._end is not None or (self._plan.deadline is not None and self._now() >= self._plan.deadline)

    def _fill(self) -> None:
        """Hand the crew as many blogs as it has room for."""
        room = 0 if self._is_over() else self._crew.room
        if room and len(self._queue) < room:
            known = {*self._under_way, *(blog.number for blog in self._queue)}
            self._queue += self._ledger.due(self._now(), max(room, _QUEUED), without=known)
        begun, self._queue = self._queue[:room], self._queue[room:]
        if begun:
            self._under_way.update({blog.number: blog for blog in begun})
            self._crew.start(begun)

    def _pause(self) -> float | None:
        """Return the seconds until something becomes due; ``None`` where nothing will in this run."""
        if self._is_over():
            return None
        due_at = self._ledger.next_due(self._now())
        if due_at is None or (self._plan.deadline is not None and due_at >= self._plan.deadline):
            return None
        return max(0.0, due_at - self._now())

    def _recorded(self, attempts: Sequence[Attempt]) -> list[tuple[str, Attempt]]:
        """Write attempts down, and return them with their blogs' IDs."""
        found = []
        written = []
        for attempt in attempts:
            blog = self._under_way.pop(attempt.blog)
            if attempt.exit_code in {Interrupted.exit_code, 143} and self._end is not None:
                continue
            written.append((attempt, self._due_again(attempt, blog)))
            found.append((blog.blog_id, attempt))
            if attempt.state is not BlogState.FAILED:
                self._progress.finished(attempt.requests)
            if attempt.exit_code == NoSpace.exit_code and self._end is None:
                self._end = NoSpace(attempt.reason or message("There is no space left."))
                self._crew.stop(Interrupted(str(self._end)))
        if written:
            before = self._ledger.record(written)
            states = dict(self._counts.states)
            left = self._left
            for old, (attempt, due_at) in zip(before, written, strict=True):
                states[old] -= 1
                states[attempt.state] += 1
                left -= due_at is None or self._tries.get(attempt.blog, 0) >= self._plan.tries
            self._counts, self._left = replace(self._counts, states=states), left
        return found

    def _due_again(self, attempt: Attempt, blog: DueBlog) -> float | None:
        """Return when a blog is to be tried again: at once in the next run where this one has tried often enough."""
        if attempt.state is BlogState.SAVED:
            self._tries.pop(blog.number, None)
            return None
        tries = self._tries[blog.number] = self._tries.get(blog.number, 0) + 1
        gap = min(self._plan.gap.total_seconds() * _GAP_GROWTH ** min(blog.failures, 20), _LONGEST_GAP)
        return attempt.finished_at + gap * (1 + _JITTER * self._chance())

    def _moment(self, ended: Sequence[tuple[str, Attempt]]) -> FleetMoment:
        now, sent = self._clock.monotonic(), self._crew.requests
        self._progress.sent(now, sent)
        left = self._left
        return FleetMoment(
            self._counts, len(self._under_way), sent, now - self._begun, self._progress.forecast(now, sent, left), ended
        )
