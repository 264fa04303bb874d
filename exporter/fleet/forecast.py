"""Forecast when a fleet will be done, from the requests of its blogs so far, with an error interval. Pure."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from math import inf, log, sqrt
from typing import Final

_WINDOW_SECONDS: Final = 600.0
"""The forecast uses the rate during the last ten minutes, because services are slower by day than by night."""
_SAMPLES: Final = 600
_MIN_BLOGS: Final = 5
_Z_95_PERCENT: Final = 1.96


@dataclass(frozen=True, slots=True)
class Forecast:
    """When the last blog will have been saved.

    Attributes:
        seconds: from now; ``inf`` while nothing moves.
        error: half the width of the 95 % interval in seconds, considering only the variation of blog sizes.
        rate: requests per second of the last minutes.
        requests: that are still to be sent.
    """

    seconds: float
    error: float
    rate: float
    requests: float

    def share_within(self, seconds: float) -> float:
        """Return what share, 0 … 1, of the remaining work is done within ``seconds``, 0 … 1."""
        if not self.requests:
            return 1.0
        return min(1.0, max(0.0, seconds) * self.rate / self.requests)


class FleetProgress:
    """Collects the progress of a run for forecasts; times are seconds on a monotonic clock."""

    def __init__(self, started: float) -> None:
        self._sent: deque[tuple[float, int]] = deque([(started, 0)], _SAMPLES)
        self._taken: Counter[int] = Counter()
        self._done = 0

    def finished(self, requests: int) -> None:
        """Count a blog that is done, with the requests it took."""
        self._taken[requests] += 1
        self._done += 1

    def sent(self, now: float, requests: int) -> None:
        """Note the number of requests sent in all, including those for blogs under way."""
        # The samples are spread over the window, no matter how often this is called.
        if now - self._sent[-1][0] >= _WINDOW_SECONDS / _SAMPLES:
            self._sent.append((now, requests))

    def forecast(self, now: float, sent: int, left: int, under_way: Collection[int]) -> Forecast | None:
        """Return when all is done; ``None`` before enough blogs are.

        Args:
            now: the time.
            sent: requests sent in all.
            left: blogs that are not begun.
            under_way: requests sent so far for each blog that is under way; 0 if unknown.
        """
        rate = self._rate(now, sent)
        if not left and not under_way:
            return Forecast(0.0, 0.0, rate, 0.0)
        if self._done < _MIN_BLOGS:
            return None
        sizes = _Sizes(self._taken, under_way)
        requests = left * sizes.mean + sum(sizes.beyond(taken) for taken in under_way)
        if not rate:
            return Forecast(inf, inf, 0.0, requests)
        # Two errors add up: the remaining blogs vary around the mean, and the mean comes from a sample.
        number = left + len(under_way)
        deviation = sqrt(sizes.variance * (number + number * number / self._done))
        return Forecast(requests / rate, _Z_95_PERCENT * deviation / rate, rate, requests)

    def _rate(self, now: float, sent: int) -> float:
        while len(self._sent) > 1 and self._sent[1][0] <= now - _WINDOW_SECONDS:
            self._sent.popleft()
        began, before = self._sent[0]
        return (sent - before) / (now - began) if now > began else 0.0


class _Sizes:
    """The number of requests of each blog: exact if the blog is done, a minimum if it is under way.

    Small blogs end first, so the mean of the finished blogs alone is too small while many are under way. The
    Kaplan-Meier estimator includes those under way (Journal of the American Statistical Association 53, 1958).
    """

    def __init__(self, taken: Mapping[int, int], under_way: Collection[int]) -> None:
        running = Counter(under_way)
        at_risk = sum(taken.values()) + len(under_way)
        alive, area, squares, before = 1.0, 0.0, 0.0, 0
        self._after: dict[int, tuple[float, float]] = {}
        for size in sorted(taken.keys() | running.keys()):
            area += alive * (size - before)
            squares += alive * (size * size - before * before)
            alive *= 1.0 - taken.get(size, 0) / at_risk
            at_risk -= taken.get(size, 0) + running[size]
            before = size
            self._after[size] = alive, area
        rest = self._rest(alive, area, before)
        self.mean = area + alive * rest
        squares += 2.0 * alive * rest * (before + rest)
        self.variance = max(0.0, squares - self.mean * self.mean)

    def _rest(self, alive: float, area: float, largest: int) -> float:
        """Return the number of further requests of blogs that are larger than all finished ones.

        It uses the rate of endings among the blogs above half that size, or among all blogs if none of those ended.
        """
        half = max((size for size in self._after if 2 * size <= largest), default=0)
        alive_at_half = self._after[half][0] if half else 1.0
        if 0.0 < alive < alive_at_half:
            return (largest - half) / log(alive_at_half / alive)
        return area / (1.0 - alive)

    def beyond(self, taken: int) -> float:
        """Return the number of further requests of a blog after ``taken``."""
        alive, area = self._after[taken]
        return (self.mean - area) / alive
