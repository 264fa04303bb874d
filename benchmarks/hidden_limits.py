"""Services with limits that they do not announce, as a transport in virtual time."""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from email.utils import format_datetime

from benchmarks.virtual_time import LoopClock
from exporter.http.transport import HttpRequest, HttpResponse

Admit = Callable[[float, int], float | None]
"""Takes the time of a request and the number of requests under way; returns ``None``, or the wait in seconds."""

Failing = Callable[[random.Random, str], bool]
"""Returns whether a request for an address is refused, regardless of the load."""

Latency = Callable[[random.Random, float, int], float]
"""Takes the start of a request and the number of requests under way, including it; returns the latency in seconds."""


def anything() -> Admit:
    """Refuse nothing."""
    return lambda _now, _under_way: None


def at_once(most: int) -> Admit:
    """Allow this number of concurrent requests."""
    return lambda _now, under_way: None if under_way < most else 1.0


def window(quota: int, seconds: float = 1.0, phase: float = 0.0) -> Admit:
    """Allow a quota in each window of this length; ``phase`` is how much of the first one has passed."""
    used: dict[int, int] = {}

    def admit(now: float, _under_way: int) -> float | None:
        current = math.floor((now + phase) / seconds)
        if used.get(current, 0) >= quota:
            return (current + 1) * seconds - now - phase
        used[current] = used.get(current, 0) + 1
        return None

    return admit


def bucket(rate: float, capacity: float) -> Admit:
    """Allow a rate, and bursts of up to ``capacity`` saved requests."""
    level, filled = capacity, 0.0

    def admit(now: float, _under_way: int) -> float | None:
        nonlocal level, filled
        level, filled = min(capacity, level + rate * (now - filled)), now
        if level < 1.0 - 1e-9:
            return (1.0 - level) / rate
        level -= 1.0
        return None

    return admit


def episodes(every: float, length: float) -> Admit:
    """Refuse everything for ``length`` seconds in each period."""
    return lambda now, _: None if now % every < every - length else every - now % every


def changing(*phases: tuple[float, Callable[[], Admit]]) -> Admit:
    """Judge by the last phase that has begun; each phase has a start in seconds and a function that makes its judge."""
    judges = [(begins, make()) for begins, make in phases]

    def admit(now: float, under_way: int) -> float | None:
        return [judge for begins, judge in judges if begins <= now][-1](now, under_way)

    return admit


def never() -> Failing:
    """Refuse no address."""
    return lambda _chance, _address: False


def at_random(share: float) -> Failing:
    """Refuse a random share of all requests."""
    return lambda chance, _address: chance.random() < share


def once() -> Failing:
    """Refuse each address the first time."""
    asked: set[str] = set()

    def failing(_chance: random.Random, address: str) -> bool:
        if address in asked:
            return False
        asked.add(address)
        return True

    return failing


def for_good(share: float) -> Failing:
    """Always refuse a share of the addresses."""
    return lambda _chance, address: random.Random(address).random() < share


def steady(seconds: float) -> Latency:
    """Answer after this number of seconds."""
    return lambda _chance, _now, _under_way: seconds


def jittered(seconds: float) -> Latency:
    """Answer after half to one and a half times this number of seconds."""
    return lambda chance, _now, _under_way: seconds * chance.uniform(0.5, 1.5)


def heavy_tailed(seconds: float) -> Latency:
    """Answer with this median, and one request in a hundred ten times as late (log-normal)."""
    return lambda chance, _now, _under_way: seconds * chance.lognormvariate(0.0, 1.0)


def crowded(seconds: float, most: int, power: float, *, always: bool = False) -> Latency:
    """Answer later under load: by a power of (requests under way / ``most``); below ``most`` only with ``always``."""

    def latency(_chance: random.Random, _now: float, under_way: int) -> float:
        load = under_way / most
        return float(seconds * (load if always else max(1.0, load)) ** power)

    return latency


def product(one: Latency, other: Latency) -> Latency:
    """Multiply two latencies."""
    return lambda chance, now, under_way: one(chance, now, under_way) * other(chance, now, under_way)


def some_slow(seconds: float, share: float, slow: float) -> Latency:
    """Answer a share of the requests slowly."""
    return lambda chance, _now, _under_way: slow if chance.random() < share else seconds


def in_turn(*phases: tuple[float, Latency]) -> Latency:
    """Answer with the latency of the last phase that has begun."""
    return lambda chance, now, under_way: [each for begins, each in phases if begins <= now][-1](chance, now, under_way)


@dataclass
class HiddenLimits:
    """A transport to one such service.

    Attributes:
        admit: decides by load whether a request is refused.
        failing: decides by address whether a request is refused.
        latency: the seconds that a response takes.
        status: the status of a refusal.
        prompt: whether a refusal comes at once, or as late as an answer.
        retry_after: the header's form: ``seconds``, as a ``date``, or not at all.
        counted: whether a refused request is under way until its refusal is sent.
        chance: the source of randomness.
        under_way: the number of requests in progress.
        refusals: the number of refused requests.
    """

    clock: LoopClock
    admit: Admit
    failing: Failing
    latency: Latency
    status: int = 429
    prompt: bool = False
    retry_after: str = ""
    counted: bool = False
    chance: random.Random = field(default_factory=lambda: random.Random(1))
    under_way: int = 0
    refusals: int = 0

    async def send(self, request: HttpRequest) -> HttpResponse:
        """Answer or refuse a request."""
        now = self.clock.monotonic()
        wait = self.admit(now, self.under_way)
        if wait is None and self.failing(self.chance, request.url.path):
            wait = 1.0
        if wait is not None:
            self.refusals += 1
            self.under_way += self.counted
            await asyncio.sleep(0.001 if self.prompt else self.latency(self.chance, now, 1))
            self.under_way -= self.counted
            return HttpResponse(request.origin, self.status, self._headers(wait))
        self.under_way += 1
        await asyncio.sleep(self.latency(self.chance, now, self.under_way))
        self.under_way -= 1
        return HttpResponse(request.origin, 200, {})

    def _headers(self, wait: float) -> dict[str, str]:
        if self.retry_after == "seconds":
            return {"retry-after": str(math.ceil(wait))}
        if self.retry_after == "date":
            now = self.clock.now()
            until = now + timedelta(seconds=wait)
            return {"date": format_datetime(now, usegmt=True), "retry-after": format_datetime(until, usegmt=True)}
        return {}
