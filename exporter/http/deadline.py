"""Time limits of requests: to connect, of silence, and in total."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

from exporter.frozen import frozen
from exporter.message import message


def _now() -> float:
    return asyncio.get_running_loop().time()


@frozen
class Timeouts:
    """A request's time limits in seconds: to connect, between two pieces of data, and in total."""

    connect: float = 10.0
    read: float = 30.0
    total: float = 120.0


class Deadline:
    """The deadline of a request that starts now: too long after the last data, or after its beginning.

    Args:
        timeouts: of the request.
        patience: seconds after which the answer is no longer needed, even if the timeouts allow more.

    Attributes:
        timeout: the context in which the request is sent; it raises a TimeoutError after the deadline.
    """

    def __init__(self, timeouts: Timeouts, patience: float) -> None:
        now = _now()
        self._silence = timeouts.read
        self._limit = min(timeouts.total, patience)
        self._last = now + patience
        self._end = now + self._limit
        self.timeout = asyncio.timeout_at(min(now + self._silence, self._end))

    def postpone(self) -> None:
        """Restart the limit on silence, because data arrived."""
        self.timeout.reschedule(min(_now() + self._silence, self._end))

    async def without(self, waiting: Awaitable[None]) -> None:
        """Wait for something that the service does not cause: only the patience runs meanwhile."""
        since = _now()
        self.timeout.reschedule(self._last)
        await waiting
        self._end = min(self._end + _now() - since, self._last)
        self.postpone()

    def exceeded(self) -> str:
        """Return a description of the limit that was exceeded."""
        if _now() >= self._end:
            return message("not done within {limit:.3g} s", limit=self._limit)
        return message("silent for {silence:g} s", silence=self._silence)
