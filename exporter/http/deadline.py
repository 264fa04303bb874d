"""Time limits of requests: to connect, of silence, and in total; one timer watches all requests under way."""

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
    """Time limits of one request in seconds: to connect, between two pieces of data, and in total."""

    connect: float = 10.0
    read: float = 30.0
    total: float = 120.0


class Deadline:
    """The deadline of a request that starts now: too long after the last data, or after its beginning.

    The task that sends the request uses it in ``with``. The deadline cancels that task, and the block then raises a
    TimeoutError.
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
        # The cancellation ends here, unless the task was also cancelled for another reason.
        if self._passed and self._task.uncancel() <= self._cancelling and kind is asyncio.CancelledError:
            raise TimeoutError from error

    @property
    def moment(self) -> float:
        """The time on the loop's clock at which the request ends if no more data arrives."""
        return min(self._heard + self._silence, self._end)

    def postpone(self) -> None:
        """Restart the limit on silence, because data arrived."""
        self._heard = _now()

    async def without(self, waiting: Awaitable[None]) -> None:
        """Wait for something that the service does not cause: only the patience runs meanwhile."""
        since, end = _now(), self._end
        self._heard, self._end = _NEVER, self._last
        await waiting
        self._heard = now = _now()
        self._end = min(end + now - since, self._last)
        self._others.add(self)

    def expire(self) -> None:
        """End the request."""
        self._passed = True
        self._task.cancel()

    def exceeded(self) -> str:
        """Return a description of the limit that was exceeded."""
        if _now() >= self._end:
            return message("not done within {limit:.3g} s", limit=self._limit)
        return message("silent for {silence:g} s", silence=self._silence)


class Deadlines:
    """The deadlines of all requests under way, with one timer for the earliest.

    A timer for each request would cost a twentieth of its time, although nearly all end long before. This one is set
    again only when it fires, or for a request that has less time. For one event loop.
    """

    def __init__(self) -> None:
        self._under_way: set[Deadline] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._next = _NEVER

    def of(self, timeouts: Timeouts, patience: float) -> Deadline:
        """Return the deadline of a request that starts now.

        Args:
            timeouts: of the request.
            patience: seconds after which the answer is no longer needed, even if the timeouts allow more.
        """
        return Deadline(self, timeouts, patience, _now())

    def add(self, deadline: Deadline) -> None:
        """Watch a deadline that is new, or earlier than before."""
        self._under_way.add(deadline)
        moment = deadline.moment
        if moment < self._next:
            self._set_timer(moment)

    def remove(self, deadline: Deadline) -> None:
        """Stop watching a request that has ended."""
        self._under_way.discard(deadline)

    def close(self) -> None:
        """Stop the timer."""
        if self._timer is not None:
            self._timer.cancel()

    def _set_timer(self, moment: float) -> None:
        self.close()
        self._next = moment
        self._timer = asyncio.get_running_loop().call_at(moment, self._expire_due)

    def _expire_due(self) -> None:
        now = _now()
        for deadline in [each for each in self._under_way if each.moment <= now]:
            self._under_way.remove(deadline)
            deadline.expire()
        self._next = _NEVER
        if self._under_way:
            self._set_timer(min(each.moment for each in self._under_way))
