"""What a fleet of any size takes, from what one blog was measured to cost: a run simulated step by step. Pure.

In a step of some seconds, blogs under way are given requests: no more than the permitted rate, than requests in flight
come back, and than the crawlers' processors manage. A blog's lists are read one page after the other, its entries
side by side; some blogs fail and wait for another attempt; now and then the service asks for a pause.
"""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass, replace
from functools import cache
from heapq import heappop, heappush
from math import log
from typing import Final

from benchmarks.content import SWEEPS, BlogSize, pages

_SAMPLE: Final = 4000
_STEP: Final = 0.5
_STEP_REQUESTS: Final = 320
_USER: Final = 1
_LITTLE: Final = 1e-6
_GAP_GROWTH: Final = 3
_TRIES: Final = 4
_BUSIEST: Final = 0.95


@dataclass(frozen=True, slots=True)
class Line:
    """A cost that grows evenly with a blog's entries, or its requests."""

    blog: float
    each: float

    def of(self, number: float) -> float:
        """Return the cost of one blog."""
        return self.blog + self.each * number


@dataclass(frozen=True, slots=True)
class Costs:
    """What was measured, seconds of one processor and bytes; ``Line`` where it depends on a blog's entries.

    That of ``crawl`` depends on its requests.
    """

    crawl: Line
    archive_bytes: Line
    site: Line
    site_bytes: Line
    verify: Line
    catalogue: Line
    catalogue_bytes: Line
    archive_files: float
    crawler_bytes: float
    under_way_bytes: float
    ledger_bytes: float
    ledger_seconds: float


@dataclass(frozen=True, slots=True)
class Wishes:
    """What is to be saved, and how fast.

    Attributes:
        blogs: how many.
        entries: of a blog, on average; with two comments each and a file for ten.
        varied: whether blogs differ in size, exponentially.
        rate: requests per second that the service permits; ``inf`` for any.
        concurrency: requests in flight that it permits.
        latency: seconds that it takes for an answer.
        at_once: blogs under way.
        crawlers: processes that save blogs, each with a processor.
        failing: the share of attempts that fail half way and are made again.
        gap: seconds until then; three times as long after each further failure.
        pause_every: seconds between pauses that the service asks for; ``inf`` for none.
        pause: how long one is.
    """

    blogs: int
    entries: float
    varied: bool
    rate: float
    concurrency: int
    latency: float
    at_once: int
    crawlers: int = 1
    failing: float = 0.0
    gap: float = 60.0
    pause_every: float = float("inf")
    pause: float = 0.0


@dataclass(frozen=True, slots=True)
class Run:
    """How a run went: seconds, requests, seconds of processors, blogs that were left after the last attempt."""

    seconds: float
    requests: float
    cpu: float
    left: int


@dataclass(slots=True)
class _Blog:
    """A blog under way: pages of its lists, read twice (the user first), and entries between.

    ``turn`` is how many more requests can follow each other in this step.
    """

    entries: int
    listed: float
    fails_at: float
    fetched: float = 0.0
    swept: float = -_USER
    failures: int = 0
    turn: float = 0.0

    def is_done(self) -> bool:
        return self.fetched >= self.entries - _LITTLE and self.swept >= 2 * self.listed - _LITTLE

    def wants(self) -> float:
        """Return how many requests it can send in what is left of the step."""
        first = max(0.0, self.listed - self.swept)
        if self.turn < first:
            return self.turn
        again = 2 * self.listed - max(self.swept, self.listed)
        return first + self.entries - self.fetched + min(self.turn - first, again)

    def send(self, requests: float) -> None:
        first = min(requests, max(0.0, self.listed - self.swept))
        entries = min(requests - first, self.entries - self.fetched)
        self.fetched += entries
        self.swept += requests - entries
        self.turn -= requests - entries


def size_of(entries: float) -> BlogSize:
    """Return the size of a blog with so many entries, as these benchmarks have it."""
    count = max(1, round(entries))
    return BlogSize(count, 2 * count, max(1, count // 10))


def list_pages(size: BlogSize) -> int:
    """Return how many pages one sweep over a blog's lists has."""
    return sum(map(pages, (size.entries, size.comments, size.files)))


def requests_of(entries: float) -> float:
    """Return how many requests a first backup takes."""
    size = size_of(entries)
    return _USER + size.entries + SWEEPS * list_pages(size)


def simulate(wishes: Wishes, costs: Costs) -> Run:
    """Simulate a run; of a large one beginning and end, and between them the rate that was reached.

    Args:
        wishes: what is to be saved.
        costs: what that was measured to take.
    """
    if wishes.blogs <= _SAMPLE:
        return _steps(wishes, costs)[0]
    part, rate = _steps(replace(wishes, blogs=_SAMPLE), costs)
    times = wishes.blogs / _SAMPLE
    requests = part.requests * times
    seconds = part.seconds + (requests - part.requests) / rate
    return Run(seconds, requests, part.cpu * times, round(part.left * times))


@cache
def _steps(wishes: Wishes, costs: Costs) -> tuple[Run, float]:
    """Return how it went, and the requests per second of the middle half of the blogs."""
    fleet = _Fleet(wishes, costs)
    marks: list[tuple[float, float]] = []
    while fleet.queue or fleet.again or fleet.running:
        fleet.step()
        if wishes.blogs // 4 <= len(fleet.queue) <= 3 * wishes.blogs // 4:
            marks.append((fleet.now, fleet.requests))
    run = Run(fleet.now, fleet.requests, fleet.cpu, fleet.left)
    (began, before), (ended, after) = (
        (marks[0], marks[-1]) if len(marks) > 1 else ((0.0, 0.0), (run.seconds, run.requests))
    )
    return run, (after - before) / (ended - began)


class _Fleet:
    """A run as far as it has come."""

    def __init__(self, wishes: Wishes, costs: Costs) -> None:
        self._wishes = wishes
        self._costs = costs.crawl
        self._chance = random.Random(1)
        self._step = max(_STEP, _STEP_REQUESTS / wishes.rate)
        self._debt = self._busy = 0.0
        self._failed = 0
        self.queue = deque(_blogs(wishes, self._chance))
        self.again: list[tuple[float, int, _Blog]] = []
        self.running: list[_Blog] = []
        self.now = self.requests = self.cpu = 0.0
        self.left = 0

    def step(self) -> None:
        """Let a step pass."""
        wishes, step = self._wishes, self._step
        while self.again and self.again[0][0] <= self.now and len(self.running) < wishes.at_once:
            self.running.append(heappop(self.again)[2])
        begun = 0
        self._fill()
        self.now += step
        if self.now % wishes.pause_every < wishes.pause:
            return
        # An answer waits until its crawler has time for it, the longer the busier that is.
        residence = wishes.latency + self._costs.each / (1 - min(self._busy, _BUSIEST))
        processors = max(0.0, wishes.crawlers * step - self._debt)
        most = min(wishes.rate * step, wishes.concurrency * step / residence, processors / self._costs.each)
        sent = used = 0.0
        while most > _LITTLE:
            # Who begins in the midst of a step has less of it left.
            for blog in self.running[begun:]:
                blog.turn = step / residence * (1 - sent / most)
            sent += _share(self.running, most - sent)
            before = len(self.running)
            self.running = [blog for blog in self.running if not self._ended(blog)]
            begun = len(self.running)
            used += self._costs.blog * (before - begun)
            self._fill()
            if most - sent < _LITTLE or len(self.running) == begun:
                break
        used += sent * self._costs.each
        self._debt = max(0.0, self._debt + used - wishes.crawlers * step)
        self._busy = min(1.0, used / (wishes.crawlers * step))
        self.requests += sent
        self.cpu += used

    def _fill(self) -> None:
        while self.queue and len(self.running) < self._wishes.at_once:
            self.running.append(self.queue.popleft())

    def _ended(self, blog: _Blog) -> bool:
        """Tell whether an attempt has ended; one that failed is made again."""
        if blog.fetched < blog.fails_at:
            return blog.is_done()
        self._failed += 1
        blog.failures += 1
        blog.swept = -_USER
        blog.fails_at = _failure(self._wishes, self._chance, blog.entries)
        if blog.failures < _TRIES:
            gap = self._wishes.gap * _GAP_GROWTH ** (blog.failures - 1)
            heappush(self.again, (self.now + gap, self._failed, blog))
        else:
            self.left += 1
        return True


def _blogs(wishes: Wishes, chance: random.Random) -> list[_Blog]:
    """Return the blogs in any order, their sizes spread as evenly as an exponential distribution has them."""
    count = wishes.blogs
    times = [-log(1 - (number + 0.5) / count) if wishes.varied else 1.0 for number in range(count)]
    chance.shuffle(times)
    sizes = [max(1, round(each * wishes.entries)) for each in times]
    return [_Blog(each, list_pages(size_of(each)), _failure(wishes, chance, each)) for each in sizes]


def _failure(wishes: Wishes, chance: random.Random, entries: int) -> float:
    return entries / 2 if chance.random() < wishes.failing else float("inf")


def _share(running: list[_Blog], most: float) -> float:
    """Hand requests out, the same to all, and what one cannot use to the others; return how many were sent."""
    wanting, free = running, most
    while wanting and free > _LITTLE:
        share = free / len(wanting)
        more = []
        for blog in wanting:
            wants = blog.wants()
            given = min(wants, share)
            blog.send(given)
            free -= given
            if wants > share:
                more.append(blog)
        wanting = more
    return most - free
