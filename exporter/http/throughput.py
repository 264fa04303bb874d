"""Whether a host gives more answers a second if more requests are under way."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from math import log, sqrt
from typing import Final, NamedTuple

LEVELS: Final = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)
"""The numbers of requests under way that are compared; a number in between belongs to the level below it."""

_REMEMBERED_ANSWERS = 64  # answers at a level after which older ones fade; a trial ends with so many
_FEWEST_ANSWERS = 3  # with which a trial may end
_EXPECTED_VARIANCE = 1.0  # of the logarithm of a latency, until answers have shown it
_EXPECTED_ANSWERS = 4  # the weight of this expectation
_LEAST_DEVIATION = 0.05  # of the logarithm of a latency: a difference of 5 % is noise
_CERTAIN_ERRORS = 2.5  # standard errors by which a difference is significant
_DOUBTFUL_ERRORS = 2.0
_WORTHWHILE_SHARE = 0.3  # of the gain of a host that answers as quickly under a higher load
_DOUBTFUL_SHARE = 0.5
_LEAST_LOSS = 0.1  # of the logarithm of the throughput, to be called a loss
_OVERTAKEN_ROUNDS = 2  # rounds of later answers after which an unanswered request counts with its age


class Turn(NamedTuple):
    """A request that may be sent.

    Attributes:
        number: counts the requests to this host.
        started: monotonic time at which it may be sent.
        under_way: requests under way at that time, with all others that may be sent at the same time.
        cuts: how often the limit had been lowered by that time.
        place: requests under way at that time, without those that are sent after this one.
        full: whether the limit allowed no further request at that time.
    """

    number: int
    started: float
    under_way: int
    cuts: int
    place: int
    full: bool


def level_of(under_way: float) -> int:
    """Return the position in :data:`LEVELS` for a number of requests, at least 1."""
    return bisect_right(LEVELS, under_way) - 1


class InOrder:
    """Puts answers into the order of their requests. Pure.

    The first answers to a group of requests are always quick ones, so that a comparison of the newest answers would
    favour the level that was tried last. A request that remains without an answer does not delay the others for long:
    after two rounds of later answers its latency is taken to be its age.
    """

    def __init__(self) -> None:
        self._waiting: dict[int, tuple[Turn, float | None]] = {}
        self._answered = 0

    def started(self, turn: Turn) -> None:
        """Record a request; they come in the order of their numbers."""
        self._waiting[turn.number] = turn, None

    def finished(self, turn: Turn, latency: float, now: float) -> Iterator[tuple[Turn, float]]:
        """Record the end of a request, and yield the requests whose turn has come, with their latencies in seconds.

        Args:
            turn: the request.
            latency: 0 if the end says nothing about the host's speed.
            now: monotonic time.
        """
        if turn.number in self._waiting:
            self._waiting[turn.number] = turn, latency
            self._answered += 1
        while self._waiting:
            first, known = self._waiting[next(iter(self._waiting))]
            if known is not None:
                self._answered -= 1
            elif self._answered <= _OVERTAKEN_ROUNDS * first.under_way:
                return
            del self._waiting[first.number]
            yield first, now - first.started if known is None else known


class _Level:
    """The answers at one level: how many are remembered, and means of logarithms.

    Attributes:
        answers: at most as many as are remembered.
        throughput: mean logarithm of answers per second.
        size: mean logarithm of the requests under way.
    """

    __slots__ = ("answers", "size", "throughput")

    def __init__(self) -> None:
        self.answers, self.throughput, self.size = 0, 0.0, 0.0


class Throughput:
    """Compares how many answers a second a host gives at different levels. Pure.

    A host that answers each request after L seconds, with n requests under way all the time, gives n / L answers a
    second. The logarithms of this figure are compared, because a few very late answers hardly change their mean. All
    levels share one variance, so that a level with few answers can be compared, too.
    """

    def __init__(self) -> None:
        self._levels = [_Level() for _ in LEVELS]
        self._variance, self._answers = _EXPECTED_VARIANCE, _EXPECTED_ANSWERS

    def add(self, level: int, under_way: int, latency: float) -> None:
        """Record an answer that took ``latency`` seconds, above 0."""
        known = self._levels[level]
        distance = log(under_way / latency) - known.throughput
        if known.answers:
            self._answers = min(self._answers + 1, _REMEMBERED_ANSWERS)
            square = distance * distance * known.answers / (known.answers + 1)
            self._variance += (square - self._variance) / self._answers
        known.answers = min(known.answers + 1, _REMEMBERED_ANSWERS)
        known.throughput += distance / known.answers
        known.size += (log(under_way) - known.size) / known.answers

    def forget(self, *levels: int) -> None:
        """Forget all answers at these levels."""
        for level in levels:
            self._levels[level] = _Level()

    def best_below(self, level: int) -> int | None:
        """Return the level with the highest throughput, if it is a lower one that is significantly better."""
        best, highest = None, 0.0
        for each in range(level):
            gain, error, _ = self._gain(each, level)
            known = self._levels[each]
            if gain < -_LEAST_LOSS - _CERTAIN_ERRORS * error and (best is None or known.throughput > highest):
                best, highest = each, known.throughput
        return best

    def is_doubtful(self, level: int) -> bool:
        """Return whether the throughput of a level is hardly higher than that of a lower one."""
        gains = [self._gain(each, level) for each in range(level)]
        return any(gain + _DOUBTFUL_ERRORS * error < _DOUBTFUL_SHARE * ideal for gain, error, ideal in gains)

    def pays(self, low: int, high: int, tried: int) -> bool | None:
        """Return whether the throughput of one level is enough higher than that of another one.

        If a trial remains undecided, the lower level is kept only if it seems to be better.

        Args:
            low: the lower level.
            high: the higher level.
            tried: the one of both that was entered last; ``None`` is returned until it has enough answers.
        """
        answers = self._levels[tried].answers
        if answers < max(_FEWEST_ANSWERS, LEVELS[tried] // 2):
            return None
        gain, error, ideal = self._gain(low, high)
        above = gain - _WORTHWHILE_SHARE * ideal
        if abs(above) > _CERTAIN_ERRORS * error:
            return above > 0
        if answers < _REMEMBERED_ANSWERS:
            return None
        return gain > -error if tried == low else above > 0

    def _gain(self, low: int, high: int) -> tuple[float, float, float]:
        """Return the logarithm of the higher level's throughput divided by the lower one's.

        The second figure is its standard error, and the third the gain of a host that answers as quickly under a
        higher load. If a level has no answers, the error is infinite.
        """
        one, other = self._levels[low], self._levels[high]
        ideal = other.size - one.size
        if not one.answers or not other.answers:
            return 0.0, float("inf"), ideal
        deviation = max(sqrt(self._variance), _LEAST_DEVIATION)
        error = deviation * sqrt(1 / one.answers + 1 / other.answers)
        return other.throughput - one.throughput, error, ideal
