"""How many requests may be under way at a host: fewer while it refuses some, or if more bring no more answers."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from exporter.http.throughput import LEVELS, InOrder, Throughput, Turn, level_of

_SMOOTHING = 0.125  # weight of the newest latency in the moving average
_LATENCY_FACTOR = 4.0
_LATENCY_SLACK_SECONDS = 0.5  # below this, a multiple of the baseline is noise
_INITIAL_CONCURRENCY = 4.0
_MIN_REST_ANSWERS = 2  # answers before the limit grows again after a refusal; doubled up to the longest
_MAX_REST_ANSWERS = 512
_LONGEST_PROBE_SECONDS = 0.1
_OVERTAKEN_ROUNDS = 1  # rounds of later answers after which a probe is no longer waited for

_CALM_ANSWERS = 64  # without a refusal, after which a high latency leads to a trial
_MIN_TRIAL_REST_ANSWERS = 16  # between two trials; doubled up to the longest by each one that changes nothing
_MAX_TRIAL_REST_ANSWERS = 256
_DOUBTFUL_RESTS = 2  # rests before the highest limit is compared with a lower one, if it hardly brings more
_SURE_RESTS = 256  # the same if it brings more


@dataclass(slots=True)
class Trial:
    """A comparison of two levels.

    Attributes:
        low: the lower level.
        high: the higher level.
        tried: the one of both that applies during the trial.
        cap: the cap before it.
        limit: the limit before it.
        skipped: answers at the tried level that were not counted, because the load was still changing.
    """

    low: int
    high: int
    tried: int
    cap: float
    limit: float
    skipped: int = 0


class AdaptiveLimit:
    """The number of requests that may be under way at a host, between 1 and ``concurrency``. Pure.

    The limit starts at four and grows by one with each answer until the first problem. After that it grows by one in as
    many answers as may be under way (additive increase). Each refusal (429, 503) among requests that were under way
    together lowers it by one, or by two the first time. If anything was answered since the last refusal, half of the
    limit remains. If the moving average of latency exceeds four times the best latency and is more than half a second
    above it, the limit is halved.

    If the host refused only the request that was one more than before, the next attempt to grow waits for twice as many
    answers. After any other refusal the limit grows again at once. So few requests are refused by a host with
    a fixed limit, and refusals for other reasons cost little time. An attempt to grow sends a single request more, the
    probe, and no other one before the host has answered it: a host that counts refused requests would refuse them all.
    After a 503 there is no probe, because that status often has other causes, and none if the host is slow.

    A cap keeps the limit where more requests bring no more answers a second. If a lower level had a significantly
    higher throughput, it is tried, and becomes the cap unless the throughput falls. From then on the next lower and the
    next higher level are tried in turns, and the intervals between trials double while nothing changes, so that a host
    that has recovered is asked as often as before. The highest limit is compared with the next lower level at long
    intervals, and sooner if it brings hardly more.

    All times are seconds of one monotonic clock.

    Attributes:
        limit: requests that may be under way now, rounded down.
        concurrency: the highest value of ``limit``.
        cuts: how often the limit was lowered.
    """

    def __init__(self) -> None:
        self.concurrency, self.limit = inf, _INITIAL_CONCURRENCY
        self.cuts = 0
        # The latest group of refusals: the limit before them minus their cuts, its lower bound, and the result.
        self._remaining = self._lowest = 1.0
        self._accepted = 0
        self._starting, self._cut = True, 1
        self._rest = self._answers = 0
        self._baseline = inf
        self._latency: float | None = None
        # The number of the probe, the later answers, and how many requests under way were not refused.
        self._probe: int | None = None
        self._overtaken = self._proven = 0
        self._probing = False
        self._cap = inf
        self._in_order = InOrder()
        self._throughput = Throughput()
        self._trial: Trial | None = None
        self._since_trial, self._trial_rest = 0, _MIN_TRIAL_REST_ANSWERS
        self._down = True

    @property
    def allowed(self) -> int:
        """The requests that may be under way now; fewer than the limit during a probe."""
        return int(self.limit) if self._probe is None else min(int(self.limit), self._proven)

    def restrict(self, concurrency: float) -> None:
        """Lower the highest limit to ``concurrency`` if it is above."""
        self.concurrency = min(self.concurrency, concurrency)
        self.limit = min(self.limit, self.concurrency)

    def started(self, turn: Turn) -> None:
        """Record a request; they come in the order of their numbers."""
        self._in_order.started(turn)
        # At a slow host, waiting for a probe costs more time than the pauses after several refusals.
        quick = self._latency is not None and self._latency <= _LONGEST_PROBE_SECONDS
        if quick and self._probe is None and self._probing and self._rest and turn.place > self._proven:
            self._probe, self._overtaken = turn.number, 0

    def answered(self, turn: Turn, latency: float, *, held_back: bool) -> None:
        """Learn from an answer that is not a refusal; ``held_back`` if the rate delays requests anyway."""
        self._baseline = min(self._baseline, latency)
        before = self._latency
        average = latency if before is None else before + _SMOOTHING * (latency - before)
        self._latency = average
        if average > _LATENCY_FACTOR * self._baseline and average > self._baseline + _LATENCY_SLACK_SECONDS:
            if self.limit < 2.0:
                # With one request at a time, the latency is the service's own speed and not caused by us.
                self._baseline = average
            elif turn.cuts == self.cuts:
                self._be_slower(turn, average)
        else:
            self._answers += turn.cuts == self.cuts
            highest = min(self.concurrency, self._cap)
            if self._answers > self._rest and self.limit < highest and not held_back:
                self.limit = min(highest, self.limit + (1.0 if self._starting else 1.0 / self.limit))

    def refused(self, turn: Turn, *, counted: bool) -> None:
        """Learn from a refusal; ``counted`` if its status says that there were too many requests."""
        self._abandon_trial()
        self._since_trial = 0
        if turn.cuts == self.cuts:  # the first of the requests that were under way together
            self.cuts += 1
            self._latency = None
            self._probing = counted
            one_more = turn.under_way > self._accepted and not self._starting
            self._rest = min(max(_MIN_REST_ANSWERS, 2 * self._rest), _MAX_REST_ANSWERS) if one_more else 0
            self._lowest = max(1.0, self.limit / 2) if self._answers and not self._starting else 1.0
            self._remaining, self._cut = self.limit, 2 if self._starting else 1
            self._starting, self._answers = False, 0
        self._remaining -= self._cut
        self.limit = max(self._lowest, min(self.limit, self._remaining, turn.under_way - 1.0))
        self._accepted = self._proven = int(self.limit)

    def finished(self, turn: Turn, latency: float, now: float) -> None:
        """Learn from the end of a request, after :meth:`answered` or :meth:`refused`.

        Args:
            turn: the request.
            latency: 0 if it was refused or not answered.
            now: monotonic time.
        """
        if self._probe is not None:
            self._overtaken += latency > 0 and turn.number > self._probe
            if turn.number == self._probe or self._overtaken > _OVERTAKEN_ROUNDS * self._proven:
                self._probe = None
                self._proven += latency > 0
        for each, seconds in self._in_order.finished(turn, latency, now):
            if each.full and seconds > 0:
                self._compare(each, seconds)

    def _be_slower(self, turn: Turn, average: float) -> None:
        """Halve the limit, for a trial if the host refuses nothing, because it may be as slow with fewer requests."""
        if not turn.full or not (self._starting or self._answers >= _CALM_ANSWERS):
            self._lower(self.limit / 2)
        elif self._trial is None:
            level, half = level_of(self.limit), level_of(self.limit / 2)
            self._throughput.forget(*range(len(LEVELS)))
            self._try(half, level, half)
            self._baseline = average

    def _lower(self, limit: float) -> None:
        self.cuts += 1
        self.limit = max(1.0, min(self.limit, limit))
        self._latency = None
        self._starting = False

    def _compare(self, turn: Turn, latency: float) -> None:
        """Add an answer to its level, then end a trial or start one."""
        level, trial = level_of(turn.under_way), self._trial
        if trial is not None and level == trial.tried and trial.skipped < LEVELS[level] // 2:
            trial.skipped += 1
            return
        self._throughput.add(level, turn.under_way, latency)
        if turn.cuts != self.cuts:
            return
        if trial is not None:
            pays = self._throughput.pays(trial.low, trial.high, trial.tried) if level == trial.tried else None
            if pays is not None:
                self._end(trial, pays=pays)
            return
        self._since_trial += 1
        if self._cap == inf:
            self._doubt(level)
        elif level == level_of(self._cap) and self._since_trial >= self._trial_rest:
            if self._down and level:
                self._try(level - 1, level, level - 1)
            elif level + 1 < len(LEVELS) and LEVELS[level + 1] <= self.concurrency:
                self._try(level, level + 1, level + 1)
            self._down = not self._down

    def _doubt(self, level: int) -> None:
        """Try a lower level if that seems to be better; nothing caps the limit yet."""
        if not self._starting and self._since_trial < self._trial_rest:
            return
        better = self._throughput.best_below(level)
        if better is not None:
            self._throughput.forget(*range(level))
            self._try(better, level, better)
        elif level and self.limit >= self.concurrency:
            rests = _DOUBTFUL_RESTS if self._throughput.is_doubtful(level) else _SURE_RESTS
            if self._since_trial >= rests * self._trial_rest:
                self._try(level - 1, level, level - 1)

    def _try(self, low: int, high: int, tried: int) -> None:
        self._trial = Trial(low, high, tried, self._cap, self.limit)
        self._throughput.forget(tried)
        self._cap = float(LEVELS[tried])
        if tried == low:
            self._lower(self._cap)
        else:
            self.limit = self._cap

    def _end(self, trial: Trial, *, pays: bool) -> None:
        """Keep the better level; ``pays`` if that is the higher one."""
        self._trial = None
        if pays == (trial.tried == trial.high):
            # The next level in the same direction may be even better, and is tried at once.
            self._since_trial = self._trial_rest = _MIN_TRIAL_REST_ANSWERS
            self._down = not pays
            if pays and (trial.high + 1 == len(LEVELS) or LEVELS[trial.high + 1] > self.concurrency):
                self._cap = inf
            return
        self._rest_longer()
        self._cap = trial.cap
        if pays:
            self.limit = trial.limit
        else:
            self._lower(trial.limit)

    def _abandon_trial(self) -> None:
        if self._trial is not None:
            self._cap, self._trial = self._trial.cap, None
            self._rest_longer()

    def _rest_longer(self) -> None:
        self._since_trial = 0
        self._trial_rest = min(2 * self._trial_rest, _MAX_TRIAL_REST_ANSWERS)
