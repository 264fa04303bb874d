"""How many requests at a time a host bears, learned from what it refuses and how long it takes. Pure."""

from __future__ import annotations

from typing import NamedTuple

from exporter.http.pace import Pace

_SMOOTHING = 0.125  # the weight of the newest latency in the moving average
_LATENCY_FACTOR = 4.0
_LATENCY_SLACK = 0.5  # seconds; below this a multiple of the baseline is noise
_FIRST = 4.0  # requests at a time
_REST = 2  # answers before one more is tried, after the first that was refused
_LONGEST_REST = 512


class Turn(NamedTuple):
    """A request that may be sent.

    Attributes:
        number: which of the host's it is.
        started: when its turn came.
        under_way: how many were under way then.
        cuts: how often the ceiling had been lowered by then.
    """

    number: int
    started: float
    under_way: int
    cuts: int


class Ceiling:
    """The limit on requests at a time, between 1 and ``most``.

    It begins at four and grows by one with each answer until something goes wrong, later by one in as many answers as
    may be under way. Of requests that were under way together, each that the host refuses (429, 503) takes one off (two
    off the first time, when the limit had doubled), but no more than half where anything was answered since the last
    refusal. When the moving average of latency exceeds four times the best seen and is more than half a second over it,
    the limit is halved.

    Where only one more than before was refused, the next is tried after twice as many answers; where another was, it is
    tried at once: so a limit costs few refusals, and refusals without one cost little time. Where the host counts
    requests in some time instead, a :class:`~exporter.http.pace.Pace` is found, and the limit is left alone.

    All times are seconds of one monotonic clock.

    Attributes:
        limit: how many may be under way now; its whole part counts.
        most: what the limit never exceeds.
        cuts: how often it was lowered.
    """

    def __init__(self) -> None:
        self.most, self.limit = float("inf"), _FIRST
        self.cuts = 0
        # Of the last refusals: the limit before them less what they took off, the least it may be, and what it became.
        self._left = self._lowest = 1.0
        self._borne = 0
        self._starting, self._took = True, 1
        self._rest = self._answers = 0
        self._baseline = float("inf")
        self._latency: float | None = None
        self._pace = Pace()

    @property
    def interval(self) -> float:
        """Seconds from one start to the next, where the host seems to count; else 0."""
        return self._pace.interval

    def restrict(self, most: float) -> None:
        """Let no more through than this either."""
        self.most = min(self.most, most)
        self.limit = min(self.limit, self.most)

    def answered(self, turn: Turn, now: float, latency: float, *, held_back: bool) -> None:
        """Learn from an answer that is no refusal; ``held_back`` where starts wait for something else anyhow."""
        if self.cuts:  # nothing to learn of a pace before anything was refused
            self._pace.answered(turn.started, now)
        self._baseline = min(self._baseline, latency)
        before = self._latency
        average = latency if before is None else before + _SMOOTHING * (latency - before)
        self._latency = average
        if average > _LATENCY_FACTOR * self._baseline and average > self._baseline + _LATENCY_SLACK:
            if self.limit < 2.0:
                # With one request at a time the wait is the service's own pace, not our doing.
                self._baseline = average
            elif turn.cuts == self.cuts:
                self._halve()
        else:
            self._answers += turn.cuts == self.cuts
            if self._answers > self._rest and self.limit < self.most and not held_back:
                self.limit = min(self.most, self.limit + (1.0 if self._starting else 1.0 / self.limit))

    def refused(self, turn: Turn, now: float) -> None:
        """Learn from a refusal."""
        first = turn.cuts == self.cuts
        paced = self._pace.interval
        self._pace.refused(turn.started, now, first=first)
        if first:
            self.cuts += 1
            self._latency = None
        if paced:
            return
        if first:
            one_more = turn.under_way > self._borne and not self._starting
            self._rest = min(max(_REST, 2 * self._rest), _LONGEST_REST) if one_more else 0
            self._lowest = max(1.0, self.limit / 2) if self._answers and not self._starting else 1.0
            self._left, self._took = self.limit, 2 if self._starting else 1
            self._starting, self._answers = False, 0
        self._left -= self._took
        self.limit = max(self._lowest, min(self.limit, self._left, turn.under_way - 1.0))
        if self._pace.interval:
            self.limit = 1.0
        self._borne = int(self.limit)

    def _halve(self) -> None:
        self.cuts += 1
        self.limit = max(1.0, self.limit / 2)
        self._latency = None
        self._starting = False
