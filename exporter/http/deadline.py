"""Time limits of requests: to connect, the longest silence and the whole, watched by one timer for all under way."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass

_NEVER = float("inf")


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds for one request: to connect, the longest silence, and the whole."""

    connect: float = 10.0
    read: float = 30.0
    total: float = 120.0


class Deadline:
    """When a request is over that starts now: too long after what was heard last, or after its beginning.

    ``timer`` has no time of its own; it is the :class:`Deadlines` it is of that let it go off.
    """

    __slots__ = ("_end", "_heard", "_last", "_limit", "_loop", "_others", "_silence", "timer")

    def __init__(self, others: Deadlines, timeouts: Timeouts, patience: float) -> None:
        self._others = others
        self._loop = asyncio.get_running_loop()
        self._heard = now = self._loop.time()
        self._silence = timeouts.read
        self._limit = min(timeouts.total, patience)
        self._last = now + patience
        self._end = now + self._limit
        self.timer = asyncio.timeout(None)

    @property
    def moment(self) -> float:
        """When it is over, on the loop's clock, should nothing more be heard."""
        return min(self._heard + self._silence, self._end)

    def postpone(self) -> None:
        """Start the silence anew: something arrived."""
        self._heard = self._loop.time()

    async def without(self, waiting: Awaitable[None]) -> None:
        """Wait for something that is not the service's fault: only the patience runs on meanwhile."""
        since, end = self._loop.time(), self._end
        self._heard, self._end = _NEVER, self._last
        await waiting
        self._heard = now = self._loop.time()
        self._end = min(end + now - since, self._last)
        self._others.watch(self)

    def what_passed(self) -> str:
        """Say which of the limits it was."""
        if self._loop.time() >= self._end:
            return f"not done within {self._limit:.3g} s"
        return f"silent for {self._silence:g} s"


class Deadlines:
    """The deadlines of all requests under way, with one timer for the earliest, as that was when last looked at.

    A timer for each costs a twentieth of a request, as nearly all are over long before. This one is set anew only
    when it goes off, or for a request that has less time. For one event loop.
    """

    def __init__(self) -> None:
        self._under_way: set[Deadline] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._next = _NEVER

    def begin(self, timeouts: Timeouts, patience: float) -> Deadline:
        """Return the deadline of a request that starts now; :meth:`end` must follow.

        Args:
            timeouts: of the request.
            patience: the seconds after which nobody waits any more, whatever the time-outs allow.
        """
        deadline = Deadline(self, timeouts, patience)
        self._under_way.add(deadline)
        self.watch(deadline)
        return deadline

    def end(self, deadline: Deadline) -> None:
        """Forget a request that is over."""
        self._under_way.discard(deadline)

    def watch(self, deadline: Deadline) -> None:
        """Look in time at a deadline that is new, or earlier than it was."""
        if deadline.moment < self._next:
            self._look_at(deadline.moment)

    def close(self) -> None:
        """Look no more."""
        if self._timer is not None:
            self._timer.cancel()

    def _look_at(self, moment: float) -> None:
        self.close()
        self._next = moment
        self._timer = asyncio.get_running_loop().call_at(moment, self._look)

    def _look(self) -> None:
        now = asyncio.get_running_loop().time()
        for deadline in [each for each in self._under_way if each.moment <= now]:
            self._under_way.remove(deadline)
            deadline.timer.reschedule(now)
        self._next = _NEVER
        if self._under_way:
            self._look_at(min(each.moment for each in self._under_way))
