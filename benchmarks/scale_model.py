"""Simulate a run over a fleet of any size step by step, from the measured costs of one blog. Pure.

A step lasts some seconds. In each, the blogs under way send requests, up to the permitted rate, the requests that come
back, and the speed of the crawlers' processors. A blog's lists are read one page after another, its entries
concurrently. Some blogs fail and wait for another attempt; now and then the service asks for a pause.
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
    """A cost that grows linearly with a blog's entries, or its requests."""

    blog: float
    each: float

    def of(self, number: float) -> float:
        """Return the cost of one blog."""
        return self.blog + self.each * number


@dataclass(frozen=True, slots=True)
class Costs:
    """Measured costs, in processor seconds and bytes; a ``Line`` if they depend on a blog's entries.

    The cost of ``crawl`` depends on the requests.
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
    """The fleet to back up, and the limits of the service.

    Attributes:
        blogs: number of blogs.
        entries: average entries of a blog; each has two comments, and every tenth a file.
        varied: whether blogs differ in size, exponentially.
        rate: requests per second that the service permits; ``inf`` for any.
        concurrency: concurrent requests that the service permits.
        latency: seconds that a response takes.
        at_once: blogs backed up concurrently.
        crawlers: processes that back up blogs, each on its own processor.
        failing: the share of attempts that fail half way and are repeated.
        gap: seconds until the next attempt; three times as long after each further failure.
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
    """Seconds, requests and processor seconds of a run, and the number of blogs that failed for good."""

    seconds: float
    requests: float
    cpu: float
    left: int


@dataclass(slots=True)
class _Blog:
    """A blog under way: pages of its lists, read twice (the user first), and entries between.

    ``turn`` is the number of consecutive requests that still fit into this step.
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
        """Return the number of requests it can send in the rest of the step."""
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
    """Return the size of a blog with this number of entries."""
    count = max(1, round(entries))
    return BlogSize(count, 2 * count, max(1, count // 10))


def list_pages(size: BlogSize) -> int:
    """Return the number of pages in one pass over a blog's lists."""
    return sum(map(pages, (size.entries, size.comments, size.files)))


def requests_of(entries: float) -> float:
    """Return the number of requests of a first backup."""
    size = size_of(entries)
    return _USER + size.entries + SWEEPS * list_pages(size)


def simulate(wishes: Wishes, costs: Costs) -> Run:
    """Simulate a run; if it is large, only its beginning and end, with a constant rate between them.

    Args:
        wishes: the fleet to back up.
        costs: the measured costs.
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
    """Return the result, and the requests per second of the middle half of the blogs."""
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
    """The current state of a run."""

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
        """Simulate one step."""
        wishes, step = self._wishes, self._step
        while self.again and self.again[0][0] <= self.now and len(self.running) < wishes.at_once:
            self.running.append(heappop(self.again)[2])
        begun = 0
        self._fill()
        self.now += step
        if self.now % wishes.pause_every < wishes.pause:
            return
        # A response waits until its crawler has time for it: the busier the crawler, the longer.
        residence = wishes.latency + self._costs.each / (1 - min(self._busy, _BUSIEST))
        processors = max(0.0, wishes.crawlers * step - self._debt)
        most = min(wishes.rate * step, wishes.concurrency * step / residence, processors / self._costs.each)
        sent = used = 0.0
        while most > _LITTLE:
            # A blog that begins in the middle of a step has only the rest of the step.
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
        """Return whether a blog is finished; a failed attempt is repeated."""
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
    """Return the blogs in random order, with sizes distributed exponentially as evenly as possible."""
    count = wishes.blogs
    times = [-log(1 - (number + 0.5) / count) if wishes.varied else 1.0 for number in range(count)]
    chance.shuffle(times)
    sizes = [max(1, round(each * wishes.entries)) for each in times]
    return [_Blog(each, list_pages(size_of(each)), _failure(wishes, chance, each)) for each in sizes]


def _failure(wishes: Wishes, chance: random.Random, entries: int) -> float:
    return entries / 2 if chance.random() < wishes.failing else float("inf")


def _share(running: list[_Blog], most: float) -> float:
    """Divide the requests equally among the blogs, give the unused ones to others, and return the number sent."""
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
