"""Time limits of requests: to connect, the longest silence and the whole, watched by one timer for all under way."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass

from exporter.message import message

_NEVER = float("inf")


def _now() -> float:
    return asyncio.get_running_loop().time()


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds for one request: to connect, the longest silence, and the whole."""

    connect: float = 10.0
    read: float = 30.0
    total: float = 120.0


class Deadline:
    """When a request is over that starts now: too long after what was heard last, or after its beginning.

    Used in ``with`` by the task that sends the request, which it then cancels, to raise a TimeoutError from there.
    """

    __slots__ = ("_cancelling", "_end", "_heard", "_last", "_limit", "_others", "_passed", "_silence", "_task")

    def __init__(self, others: Deadlines, timeouts: Timeouts, patience: float, now: float) -> None:
        self._others = others
        self._heard = now
        self._silence = timeouts.read
        self._limit = min(timeouts.total, patience)
        self._last = now + patience
        self._end = now + self._limit
        self._passed = False

    def __enter__(self) -> None:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("requests are sent by tasks")
        self._task = task
        self._cancelling = task.cancelling()
        self._others.add(self)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        self._others.remove(self)
        # Unless somebody else cancelled the task as well, the cancellation ends here.
        if self._passed and self._task.uncancel() <= self._cancelling and kind is asyncio.CancelledError:
            raise TimeoutError from error

    @property
    def moment(self) -> float:
        """When it is over, on the loop's clock, should nothing more be heard."""
        return min(self._heard + self._silence, self._end)

    def postpone(self) -> None:
        """Start the silence anew: something arrived."""
        self._heard = _now()

    async def without(self, waiting: Awaitable[None]) -> None:
        """Wait for something that is not the service's fault: only the patience runs on meanwhile."""
        since, end = _now(), self._end
        self._heard, self._end = _NEVER, self._last
        await waiting
        self._heard = now = _now()
        self._end = min(end + now - since, self._last)
        self._others.add(self)

    def let_pass(self) -> None:
        """End the request."""
        self._passed = True
        self._task.cancel()

    def what_passed(self) -> str:
        """Say which of the limits it was."""
        if _now() >= self._end:
            return message("not done within {limit:.3g} s", limit=self._limit)
        return message("silent for {silence:g} s", silence=self._silence)


class Deadlines:
    """The deadlines of all requests under way, with one timer for the earliest, as that was when last looked at.

    A timer for each costs a twentieth of a request, as nearly all are over long before. This one is set anew only
    when it goes off, or for a request that has less time. For one event loop.
    """

    def __init__(self) -> None:
        self._under_way: set[Deadline] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._next = _NEVER

    def of(self, timeouts: Timeouts, patience: float) -> Deadline:
        """Return the deadline of a request that starts now.

        Args:
            timeouts: of the request.
            patience: the seconds after which nobody waits any more, whatever the time-outs allow.
        """
        return Deadline(self, timeouts, patience, _now())

    def add(self, deadline: Deadline) -> None:
        """Look in time at a deadline that is new, or earlier than it was."""
        self._under_way.add(deadline)
        moment = deadline.moment
        if moment < self._next:
            self._look_at(moment)

    def remove(self, deadline: Deadline) -> None:
        """Forget a request that is over."""
        self._under_way.discard(deadline)

    def close(self) -> None:
        """Look no more."""
        if self._timer is not None:
            self._timer.cancel()

    def _look_at(self, moment: float) -> None:
        self.close()
        self._next = moment
        self._timer = asyncio.get_running_loop().call_at(moment, self._look)

    def _look(self) -> None:
        now = _now()
        for deadline in [each for each in self._under_way if each.moment <= now]:
            self._under_way.remove(deadline)
            deadline.let_pass()
        self._next = _NEVER
        if self._under_way:
            self._look_at(min(each.moment for each in self._under_way))
