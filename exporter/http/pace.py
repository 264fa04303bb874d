"""How far apart requests to a host should start, where it refuses some whatever few are under way. Pure."""

from __future__ import annotations

from math import inf

_LONG_ENOUGH = 1.0  # seconds between two refusals that tell a rate
_FEWEST = 8  # answers between them
_SLOWEST = 1.0  # seconds apart; what comes more rarely needs no pace
_TELLING = 0.2  # the share of requests refused that is worth a trial
_TRIAL = 2.0  # seconds, from its first answer
_EXPECTED = 4  # refusals that a trial would have met if it were of no use
_MEMORY = 100  # answers under a pace; of older ones half are forgotten
_TOO_MANY = 3.0  # refusals remembered under a pace end it
_REST = 10.0  # seconds before another trial after one that failed, at first
_LONGEST_REST = 600.0
_STEP = 0.05  # how much faster the first probe is
_WAIT = 4.0  # seconds before the first probe
_WAIT_AFTER_SUCCESS = 1.0
_LONGEST_WAIT = 60.0
_MOST_SLOWER = 1.1  # so many times as slow as after its trial a pace may get
_MOST_SLOWER_AT_ONCE = 1.25  # the same for one step of a trial
_TOO_FAST = 1.03  # a pace that is so many times as fast as what was answered is made slower


class Pace:
    """A guess that a host allows so many requests in so much time, held only as long as it proves right.

    What was answered between two refusals, and how long that took, is the rate that the host allows, if it counts.
    That is tried for two seconds. Where a quarter of the share of refusals or more is left, it is no matter of pace:
    requests start as before, and the next trial comes after 10, 20, 40 … seconds. As a trial asks for what was being
    answered anyhow, it costs little.

    A pace that helps is kept. After some seconds one faster by a twentieth is probed. Where that is refused, the next
    probe comes after two to four times the wait; else soon, and in twice the step. Five in a row end the pace, since
    nothing needs it. It also ends where three of the last hundred or so are refused. Where one is refused without a
    probe, it is made slower, but by a tenth at most in all.

    All times are seconds of one monotonic clock.

    Attributes:
        interval: seconds from one start to the next; 0 without a pace.
    """

    def __init__(self) -> None:
        self.interval = 0.0
        # Since the refusal that a rate is counted from, of what was sent after it.
        self._since = inf
        self._good = self._bad = 0
        # The share of refusals without a pace, and what was counted under this one.
        self._usual = 0.0
        self._answered = self._refused = 0.0
        self._on_trial = self._probing = False
        self._next = inf
        self._slower = self._slowest = 0.0
        self._step, self._wait = 0.0, _WAIT
        self._next_trial = -inf
        self._rest = _REST

    def answered(self, started: float, now: float) -> None:
        """Learn from an answer that is no refusal, to a request that was sent at ``started``."""
        if started < self._since:
            return
        self._good += 1
        if self.interval:
            self._answered += 1
            if self._on_trial:
                self._try(now)
            else:
                if self._answered > _MEMORY:
                    self._answered, self._refused = self._answered / 2, self._refused / 2
                if now >= self._next:
                    self._probe(now)

    def refused(self, started: float, now: float, *, first: bool) -> None:
        """Learn from a refusal; ``first`` of those that were under way together."""
        self._bad += 1
        if self.interval:
            if started >= self._since:
                self._doubt(now, first=first)
        elif first:
            interval = self._told(now)
            if interval:
                share = self._bad / (self._bad + self._good)
                if share >= _TELLING and now >= self._next_trial and interval <= _SLOWEST:
                    self.interval, self._usual = interval, share
                    self._on_trial, self._probing, self._next = True, False, inf
                    self._answered = self._refused = 0.0
            if interval or self._since == inf:
                self._count(now)

    def _told(self, now: float) -> float:
        """Return the seconds for each answer since the refusal before, 0 where that tells nothing."""
        passed = now - self._since
        return passed / self._good if passed >= _LONG_ENOUGH and self._good >= _FEWEST else 0.0

    def _count(self, now: float) -> None:
        self._since, self._good, self._bad = now, 0, 1

    def _try(self, now: float) -> None:
        """Go on with a trial, and keep or drop the pace at its end."""
        if self._next == inf:
            self._next = now + _TRIAL
        expected = self._usual * (self._answered + self._refused)
        if now >= self._next and expected >= _EXPECTED:
            if self._refused >= expected / 4:
                self._drop(now)
            else:
                self._on_trial = False
                self._slowest = _MOST_SLOWER * self.interval
                self._step, self._wait = 0.0, _WAIT
                self._next = now + self._wait

    def _probe(self, now: float) -> None:
        """Begin a probe, or be content with one."""
        self._probing = not self._probing
        if self._probing:
            self._slower = self.interval
            self.interval /= 1 + max(self._step, _STEP)
            self._next = now + (2 * _TRIAL if self._wait > _WAIT and not self._step else _TRIAL)
        else:
            self._next = now + _WAIT_AFTER_SUCCESS
            self._step = 2 * self._step or _STEP
            if self._step > 1:
                self._end()

    def _doubt(self, now: float, *, first: bool) -> None:
        """Learn from a refusal in spite of the pace."""
        if not self._on_trial or self._next < inf:
            self._refused += 1
        if not self._on_trial and self._refused >= _TOO_MANY:
            self._drop(now)
        elif first and self._probing:
            self._probing = False
            self.interval = self._slower
            self._wait = min((2 if self._step else 4) * self._wait, _LONGEST_WAIT)
            self._hold(now)
        elif first and (interval := self._told(now)):
            if interval > _TOO_FAST * self.interval:
                if self._on_trial:
                    self.interval = min(interval, _MOST_SLOWER_AT_ONCE * self.interval)
                else:
                    self.interval = min(interval, (1 + _STEP) * self.interval, self._slowest)
                    self._hold(now)
            self._count(now)

    def _hold(self, now: float) -> None:
        """Wait before the next probe."""
        self._step = 0.0
        self._next = now + self._wait
        self._count(now)

    def _drop(self, now: float) -> None:
        self._end()
        self._next_trial = now + self._rest
        self._rest = min(2 * self._rest, _LONGEST_REST)

    def _end(self) -> None:
        self.interval = 0.0
        self._since = inf
