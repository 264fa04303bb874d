"""What a host lets one client do, learned from its answers. Pure.

Nobody says how much a service bears. These rules find out, and go back at the first sign of too much:

- It begins with four requests at a time, and doubles while more of them do not make each slower.
- A refusal (429, 503) stops all but one request at a time until one is answered; each that is not doubles the pause
  before the next. What follows depends on who was refused. If those alone who had more beside them than any that was
  answered, or not all that were under way, the service counts requests at a time: no more are sent than it did not
  refuse. Otherwise, and when it refuses that much too, it counts them by the second: they are spaced to the pace at
  which it answered since the last refusals were over, these included where they lasted long. That finds what is allowed
  in a second as well as in a minute. A pace that did not help against long refusals is taken back.
- Now and then a little more is tried: a probe. After one that is refused, as after any other refusal, the next comes
  after twice the wait and is half as large; one that goes well is kept, and the next comes at once and is twice as
  large. Where a refusal costs a pause, there is no probe for ten times as long.
- Where more at a time only makes each slower, fewer do as well. More are worth it while latency grows less than their
  number does to the power of 2/3; else fewer are tried, by the same kind of probe. Latencies are compared by their
  logarithms, so that a few slow answers among many count little, and only those of requests that were started while as
  many were allowed. When latency has changed for another reason, a probe of fewer shows that they would be no better.
"""

from __future__ import annotations

import enum
from math import exp, inf, log, sqrt

_FIRST = 4  # requests at a time
_STEEP = 2 / 3  # the power of the number at a time with which latency may grow
_SAMPLES = 32  # answers that show a latency well
_WATCHED = 8  # at the ceiling one of so many answers tells whether latency is as it was
_CHANGED = log(1.5)  # how far a latency is off when it is no longer the one that was
_INSTANT = 0.002  # seconds; below, a latency is the client's own
_SMALLEST_STEP = 1 / 32
_LARGEST_PACE_STEP = 0.25
_WAIT = 1.0  # seconds before the first probe after a refusal
_ROUNDS = 16  # the same where latency grew: so many answers one after another
_LONGEST_WAIT = 120.0
_PAUSE = 0.25  # seconds after a refusal of the only request under way, doubled each time
_LONGEST_PAUSE = 30.0
_PAUSES = 10  # so many times as long as a pause lasts, nothing is probed
_FEWEST = 8  # answers that show a pace
_SHORTEST_CYCLE = 1.0  # seconds that show a pace
_OUTAGE = 1.5  # seconds of refusals that may have another reason
_HELPED = 1.1  # so many times as long until the next refusals, where a slower pace helped


class _Probe(enum.Enum):
    """What is being tried."""

    NONE = enum.auto()
    MORE = enum.auto()
    FEWER = enum.auto()
    FASTER = enum.auto()


class _Level:
    """The latencies of requests that were started after the one numbered ``began``, with ``limit`` allowed at a time.

    ``mean`` and ``variance`` are of their logarithms; of many, the newest count most.
    """

    __slots__ = ("began", "limit", "mean", "samples", "variance")

    def __init__(self, limit: int, began: int) -> None:
        self.limit = limit
        self.began = began
        self.samples = 0
        self.mean = 0.0
        self.variance = 0.0

    def add(self, latency: float) -> None:
        """Take in one more."""
        self.samples += 1
        weight = 1 / min(self.samples, _SAMPLES)
        off = log(max(latency, _INSTANT)) - self.mean
        self.mean += weight * off
        self.variance += weight * ((1 - weight) * off * off - self.variance)

    def against(self, other: _Level) -> tuple[float, float]:
        """Return by how much more than it may latency grows from the lower limit to the higher, and the error."""
        lower, higher = (other, self) if other.limit < self.limit else (self, other)
        samples = min(lower.samples, higher.samples, _SAMPLES)
        error = sqrt((lower.variance + higher.variance) / samples)
        return higher.mean - lower.mean - _STEEP * log(higher.limit / lower.limit), error


class Allowance:
    """How many requests may be under way to a host, at most ``ceiling``, and how many seconds apart they start.

    All times are seconds of one monotonic clock. Requests are numbered from 1 in the order in which they start;
    ``beside`` counts those under way when one started, itself included, and ``newest`` is the number of the last one.
    """

    def __init__(self, ceiling: int) -> None:
        self.ceiling = ceiling
        self.limit = min(ceiling, _FIRST)
        self.interval = 0.0
        # Refusals: one concerns what was sent before it was known, up to the request numbered ``cut``.
        self._cut = 0
        self._testing = False
        self._pause = _PAUSE
        self._refused_before = False
        self._refused_at = 0.0
        self._least_refused = 0
        self._most_answered = 0
        self._unrefused = 0
        self._full = False
        # A cycle lasts from the end of refusals to the end of the next ones.
        self._cycle_began = inf
        self._answered = 0
        self._good_before = 0.0
        self._hastier: float | None = None
        # Probes.
        self._probe = _Probe.NONE
        self._probe_began = 0.0
        self._slower = 0.0
        self._fewer_next = False
        self._next_probe = -inf
        self._wait = 0.0
        self._step = 1.0
        # Latency at this limit, and at the one before.
        self._level = _Level(self.limit, 0)
        self._left: _Level | None = None
        self._usual: float | None = None

    def restrict(self, ceiling: int) -> None:
        """Allow no more than so many at a time either."""
        self.ceiling = min(self.ceiling, ceiling)
        self.limit = min(self.limit, self.ceiling)

    @property
    def at_once(self) -> int:
        """How many requests may be under way now."""
        return 1 if self._testing else self.limit

    def succeeded(
        self,
        number: int,
        beside: int,
        started: float,
        now: float,
        latency: float,
        newest: int,
        waiting: bool,
        paced: bool,
    ) -> None:
        """Learn from an answer that is no refusal.

        Args:
            number: of the request.
            beside: as above.
            started: when it was sent.
            now: when it was answered.
            latency: how long the host let it wait.
            newest: as above.
            waiting: whether others wait for their turn.
            paced: whether they wait for ``interval`` alone.
        """
        self._answered += 1
        self._most_answered = max(self._most_answered, beside)
        self._cycle_began = min(self._cycle_began, started)
        if number <= self._cut:
            return
        if self._testing:
            self._recover(now, newest)
        elif paced:
            self._quicken(started, now)
        elif waiting and number > self._level.began and (self._usual is None or number % _WATCHED == 0):
            self._level.add(latency)
            self._climb(now, newest)

    def refused(self, number: int, beside: int, now: float, newest: int, under_way: int) -> float:
        """Learn from a refusal, with so many others under way; return the seconds in which nothing is to be sent."""
        if number <= self._cut:
            self._least_refused = min(self._least_refused, beside)
            self._unrefused -= 1
            return 0.0
        self._cut = newest
        if self._testing:
            self._least_refused = self._unrefused = 0
            self._pause *= 2
            return min(self._pause / 2, _LONGEST_PAUSE)
        if self._refused_before and self._probe in {_Probe.MORE, _Probe.FASTER}:
            self._end_probe(now, newest, _WAIT, kept=False)
            return 0.0
        self._testing = True
        self._pause = _PAUSE
        self._refused_at = now
        self._least_refused = beside
        self._unrefused = under_way
        self._full = under_way + 1 >= self.limit
        return 0.0

    def paused(self, seconds: float, until: float) -> None:
        """Probe nothing for a good while after a pause of so many seconds, since a refusal would cost another."""
        self._next_probe = max(self._next_probe, until + _PAUSES * seconds)

    def _recover(self, now: float, newest: int) -> None:
        """Go on after refusals, with less at a time or by the second."""
        limit = self.limit
        good = self._refused_at - self._cycle_began
        if self._least_refused > self._most_answered:
            limit = min(limit, self._least_refused - 1)
        elif self._unrefused > 0 and (not self._refused_before or (self._full and good < _SHORTEST_CYCLE)):
            limit = min(limit, self._unrefused)
        elif self._answered >= _FEWEST:
            self._slow_down(good, now - self._refused_at)
        if now - self._cycle_began >= _SHORTEST_CYCLE:
            self._cycle_began, self._answered = now, 0
        self._testing = False
        self._refused_before = True
        self._most_answered = 0
        self._probe = _Probe.NONE
        self._fewer_next = False
        self._schedule(now, _WAIT, kept=False)
        self._change(limit, newest)
        self._left = None

    def _slow_down(self, good: float, refused: float) -> None:
        """Space requests as those of a cycle were answered that had so many seconds without and with refusals."""
        if self._hastier is not None and good < _HELPED * self._good_before and refused > _OUTAGE:
            # It refused as soon as before, and for long: these refusals are not about the pace.
            self.interval, self._hastier = self._hastier, None
            return
        self._hastier, self._good_before = self.interval, good
        # What came before the first refusals may have been an outage: it says nothing yet about how long these are.
        interval = max(good + refused if self._refused_before else good, _SHORTEST_CYCLE) / self._answered
        if self.interval and refused < good:
            # The wait was longer than it had to be, and is a large part of so short a cycle.
            interval = min(interval, self.interval / 0.9)
        self.interval = max(interval, 1.05 * self.interval)

    def _quicken(self, started: float, now: float) -> None:
        """Probe a faster pace, for as long as the wait before it was."""
        if self._probe is _Probe.FASTER:
            if started >= self._probe_began + max(self._wait, _WAIT):
                self._end_probe(now, 0, _WAIT, kept=True)
        elif self._probe is _Probe.NONE and now >= self._next_probe:
            self._probe = _Probe.FASTER
            self._probe_began = now
            self._slower = self.interval
            self.interval /= 1 + min(self._step, _LARGEST_PACE_STEP)

    def _climb(self, now: float, newest: int) -> None:
        """Begin or judge a probe of more or fewer at a time."""
        level, left = self._level, self._left
        if self._probe is not _Probe.NONE:
            if left is not None and self._probe is not _Probe.FASTER:
                self._judge(level, left, now, newest)
        elif now < self._next_probe:
            return
        elif (
            level.samples == 2 * _SAMPLES
            and left is not None
            and left.limit < level.limit
            and level.against(left)[0] > 0
        ):
            # The first answers had fewer beside them: a limit that was kept for these is judged again.
            self._probe = _Probe.MORE
            self._settle(level, left, now, newest, kept=False)
        elif self.limit < self.ceiling:
            if level.samples >= (_SAMPLES if self._wait and not self._fewer_next else max(_FIRST, self.limit // 2)):
                self._try(newest, fewer=self._fewer_next)
        elif self._usual is None:
            if level.samples >= 2 * _SAMPLES:
                self._usual = level.mean
        elif abs(level.mean - self._usual) > _CHANGED + 2 * sqrt(2 * level.variance / _SAMPLES):
            self._step = min(self._step, _LARGEST_PACE_STEP)
            self._try(newest, fewer=True)

    def _try(self, newest: int, *, fewer: bool) -> None:
        if fewer:
            limit = max(1, min(self.limit - 1, int(self.limit / (1 + self._step))))
        else:
            limit = min(self.ceiling, max(self.limit + 1, int(self.limit * (1 + self._step))))
        self._fewer_next = fewer and limit < self.limit
        if limit != self.limit:
            self._probe = _Probe.FEWER if fewer else _Probe.MORE
            self._change(limit, newest)

    def _judge(self, level: _Level, left: _Level, now: float, newest: int) -> None:
        """Settle for the lower of two limits where latency surely is too steep between them, else for the higher."""
        excess, error = level.against(left)
        many = level.samples >= max(_SAMPLES, 2 * self.limit)
        if excess > 0:
            if many or (excess > 2 * error and level.samples >= max(_FIRST, self.limit // 4)):
                self._settle(level, left, now, newest, kept=self._probe is _Probe.FEWER)
        elif many or (not self._wait and level.samples >= max(_FIRST, self.limit // 2)):
            self._settle(level, left, now, newest, kept=self._probe is _Probe.MORE)

    def _settle(self, level: _Level, left: _Level, now: float, newest: int, *, kept: bool) -> None:
        """End a probe by what latency showed; where more failed, fewer are tried at once, else more after a wait."""
        more_failed = self._probe is _Probe.MORE and not kept
        self._end_probe(now, newest, _ROUNDS * exp(min(level.mean, left.mean)), kept=kept)
        self._fewer_next = (more_failed and self.limit > 1) or (self._fewer_next and kept)
        if more_failed and self._fewer_next:
            self._next_probe = now

    def _end_probe(self, now: float, newest: int, wait: float, *, kept: bool) -> None:
        self._schedule(now, wait, kept=kept)
        if not kept:
            if self._probe is _Probe.FASTER:
                self.interval = self._slower
            elif self._left is not None:
                self._change(self._left.limit, newest)
                self._left = None
        self._probe = _Probe.NONE

    def _schedule(self, now: float, wait: float, *, kept: bool) -> None:
        if kept:
            self._wait /= 2
            self._step = min(2 * self._step, 1.0)
            self._next_probe = now
        else:
            self._wait = min(max(2 * self._wait, wait), _LONGEST_WAIT)
            self._step = max(self._step / 2, _SMALLEST_STEP)
            self._next_probe = max(self._next_probe, now + self._wait)

    def _change(self, limit: int, newest: int) -> None:
        self.limit = limit
        self._left, self._level = self._level, _Level(limit, newest)
        self._usual = None
