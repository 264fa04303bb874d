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
    """Counts good answers, measures how long none came and, in doubt, asks for one.

    Silence begins with the last whole answer or, where nothing was asked for a while after it, with the next question:
    a run that is busy with something else does not wait for the service.
    """

    def __init__(self, clock: Clock, give_up_after: float) -> None:
        self._clock = clock
        self._give_up_after = give_up_after
        self._since = clock.monotonic()
        self._open = 0
        self._doubtful = False
        self._probe: Probe | None = None
        self.good_answers = 0

    def ask(self) -> float:
        """Note that a question is about to be sent, and return the patience with it; :meth:`closed` must follow."""
        now = self._clock.monotonic()
        if not self._open and not self._doubtful:
            self._since = now
        self._open += 1
        return max(0.0, self._give_up_after - (now - self._since))

    def closed(self) -> None:
        """Note that a question came to its end, whichever; until :meth:`heard` is told, there is doubt."""
        self._open -= 1
        self._doubtful = True

    def heard(self) -> None:
        """Note a whole answer, be it a refusal: nobody who answers is silent."""
        self._doubtful = False
        self._since = self._clock.monotonic()

    def good(self) -> None:
        """Note a good answer."""
        self.good_answers += 1
        self.heard()

    def probe_with(self, probe: Probe) -> None:
        """Remember a request that was just answered well, to be sent again in doubt."""
        self._probe = probe

    def silent_for(self) -> float:
        """Return the seconds for which answers were wanted and none came whole."""
        if not self._open and not self._doubtful:
            return 0.0
        return self._clock.monotonic() - self._since

    def patience(self) -> float:
        """Return the seconds until the silence has lasted ``give_up_after`` seconds."""
        return max(0.0, self._give_up_after - self.silent_for())

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
