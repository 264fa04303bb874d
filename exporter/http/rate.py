"""A number of requests a second that a service never sees exceeded, whatever happens on the way to it."""

from __future__ import annotations

import asyncio
from collections import deque
from math import ceil
from typing import Final

from exporter.clock import Clock

_DRIFT: Final = 0.001  # of a second, by which a service's clock may be faster than ours
_SPACING: Final = 0.9  # of the even distance between starts; so one that is late does not make all others late


class RateWindow:
    """Counts each request from its start until a second after its answer began, and lets so many count at a time.

    When a request arrives cannot be known here, only that it is between its start and the first bytes of its answer.
    So whenever that is, it counts then and for a second more: of two requests that one place lets through, the second
    arrives more than a second after the first. No delay of a network, a machine or a service changes that. A second
    after the start would not do: what is held up on its way arrives together with what was sent later.

    It costs the share of a second that an answer takes to begin: 1 % of the rate at 10 ms, 5 % at 50 ms.

    A rate that is not a whole number is that of the next one in a longer time: 2.5 a second are 3 in 1.2 s, and half a
    request a second is one in 2 s. So no more than the next whole number arrive in any second.

    Args:
        rate: requests per second, above 0.
        clock: measures, and waits.

    Attributes:
        rate: as given.
        places: how many requests may count at a time: the next whole number.
        seconds: how long a request counts after its answer began.
        interval: the least number of seconds from one start to the next, nine tenths of what is even.
    """

    def __init__(self, rate: float, clock: Clock) -> None:
        self.rate = rate
        self.places = ceil(rate)
        self.seconds = self.places / rate + _DRIFT
        self.interval = _SPACING / rate
        self._clock = clock
        self._unheard: set[int] = set()
        self._counted_until: deque[float] = deque()
        self._change: asyncio.Future[None] | None = None

    @property
    def counted(self) -> int:
        """How many requests count now."""
        now = self._clock.monotonic()
        while self._counted_until and self._counted_until[0] <= now:
            self._counted_until.popleft()
        return len(self._unheard) + len(self._counted_until)

    async def take(self, number: int) -> None:
        """Wait until a request may start; one at a time may wait.

        Args:
            number: names the request, until :meth:`heard`.
        """
        while self.counted >= self.places:
            if self._counted_until:
                await self._clock.sleep(self._counted_until[0] - self._clock.monotonic())
            else:
                self._change = asyncio.get_running_loop().create_future()
                await self._change
        self._unheard.add(number)

    def heard(self, number: int) -> None:
        """Note that a request's answer begins, or that there will be none; to say it again does nothing."""
        if number in self._unheard:
            self._unheard.remove(number)
            self._counted_until.append(self._clock.monotonic() + self.seconds)
            if self._change is not None and not self._change.done():
                self._change.set_result(None)
