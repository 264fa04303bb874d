"""When a fleet will be done, by what its blogs have cost so far, and how sure that is. Pure."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from math import inf, sqrt
from typing import Final

_WINDOW_SECONDS: Final = 600.0
"""The rate is that of the last ten minutes, or of all the time there was: services are slower by day than by night."""
_SAMPLES: Final = 600
_FEWEST: Final = 5
_SURE: Final = 1.96


@dataclass(frozen=True, slots=True)
class Forecast:
    """When the last listed blog will have been saved.

    Attributes:
        seconds: from now; ``inf`` while nothing moves.
        error: half the width of the interval that holds it with 95 %, in seconds, as far as the blogs differ in size.
        rate: requests per second of the last minutes.
        requests: that are still to be sent.
    """

    seconds: float
    error: float
    rate: float
    requests: float

    def latest(self) -> float:
        """Return by when it is done with some certainty, in seconds from now."""
        return self.seconds + self.error

    def done_within(self, seconds: float) -> float:
        """Return the share of what is left that is done within so many seconds, 0 … 1."""
        if not self.requests:
            return 1.0
        return min(1.0, max(0.0, seconds) * self.rate / self.requests)


class Progress:
    """What a run has done so far, to forecast from; times are seconds of one clock that never goes back.

    Blogs differ, so what is left is counted in requests: as many for each blog that is left as those that are done took,
    less what was sent for those under way.
    """

    def __init__(self, started: float) -> None:
        self._sent: deque[tuple[float, int]] = deque([(started, 0)], _SAMPLES)
        self._done = 0
        self._sum = self._squares = 0.0

    def finished(self, requests: int) -> None:
        """Count a blog that is done, with the requests it took."""
        self._done += 1
        self._sum += requests
        self._squares += requests * requests

    def sent(self, now: float, requests: int) -> None:
        """Note how many requests were sent in all, those of blogs under way too."""
        # The samples are spread over the window, however often this is called.
        if now - self._sent[-1][0] >= _WINDOW_SECONDS / _SAMPLES:
            self._sent.append((now, requests))

    def forecast(self, now: float, sent: int, left: int) -> Forecast | None:
        """Return when all is done; ``None`` before enough blogs are.

        Args:
            now: the time.
            sent: requests sent in all.
            left: blogs that are not done, those under way among them.
        """
        if self._done < _FEWEST and left:
            return None
        mean = self._sum / self._done if self._done else 0.0
        variance = max(0.0, self._squares / self._done - mean * mean) if self._done else 0.0
        requests = max(0.0, left * mean - (sent - self._sum))
        rate = self._rate(now, sent)
        if not rate:
            return Forecast(inf if requests else 0.0, inf if requests else 0.0, 0.0, requests)
        # What is left differs from its mean by its own chance, and by that of the blogs that the mean is from.
        deviation = sqrt(variance * (left + left * left / self._done)) if self._done else 0.0
        return Forecast(requests / rate, _SURE * deviation / rate, rate, requests)

    def _rate(self, now: float, sent: int) -> float:
        while len(self._sent) > 1 and self._sent[1][0] <= now - _WINDOW_SECONDS:
            self._sent.popleft()
        began, before = self._sent[0]
        return (sent - before) / (now - began) if now > began else 0.0
