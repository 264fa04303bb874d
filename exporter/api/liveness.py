"""Whether the service as a whole still answers, learnt from all requests together.

A request that fails again and again says either that this one thing cannot be read, or that the host is down. Only
the first may be recorded as a loss; during the second the run waits.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from exporter.clock import Clock
from exporter.errors import NotAuthorised, ServiceError

Probe = Callable[[], Awaitable[object]]


class Liveness:
    """Counts good answers and, in doubt, asks for one."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last_good = clock.monotonic()
        self._probe: Probe | None = None
        self.good_answers = 0

    def good(self) -> None:
        """Note a good answer."""
        self.good_answers += 1
        self._last_good = self._clock.monotonic()

    def probe_with(self, probe: Probe) -> None:
        """Remember a request that was just answered well, to be sent again in doubt."""
        self._probe = probe

    def silent_for(self) -> float:
        """Return the seconds since the last good answer."""
        return self._clock.monotonic() - self._last_good

    async def lives(self, since: int) -> bool:
        """Tell whether there was a good answer after the ``since``-th, or a probe gets one now.

        Raises:
            NotAuthorised: the probe is not allowed any more.
        """
        if self.good_answers > since:
            return True
        if self._probe is None:
            return False
        try:
            await self._probe()
        except NotAuthorised:
            raise
        except ServiceError:
            return self.good_answers > since
        return True
