"""``python -m benchmarks.throttle``: the program against services with unannounced limits, in virtual time.

Each service gets 3,000 requests through the program's own layers, and through a throttle that learns nothing: at every
fixed concurrency up to the ceiling, and at some fixed rates. The table has the program's seconds, those of the
fixed setting that lost least, the ratio of the two, and the number of refused requests.
"""

from __future__ import annotations

import asyncio
import random
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from yarl import URL

from benchmarks import virtual_time
from benchmarks.hidden_limits import (
    Admit,
    Failing,
    HiddenLimits,
    Latency,
    anything,
    at_once,
    at_random,
    bucket,
    changing,
    crowded,
    episodes,
    for_good,
    heavy_tailed,
    in_turn,
    jittered,
    never,
    once,
    product,
    some_slow,
    steady,
    window,
)
from benchmarks.measure import Bench
from benchmarks.table import Goal, Row
from benchmarks.virtual_time import LoopClock
from exporter.errors import TransportError
from exporter.http.body import MemoryBody, MemoryBudget
from exporter.http.deadline import Timeouts
from exporter.http.engine import DOWNLOAD_POLICY
from exporter.http.limit import AdaptiveLimit
from exporter.http.retry import HostWatch, Retrying, RetryPolicy, ServiceWatch
from exporter.http.throttle import Throttle, Throttled, Throttles
from exporter.http.throughput import Turn
from exporter.http.transport import HttpRequest, Sender, Statistics

REQUESTS = 3000
MOST_TIMES_BEST = 1.15
MOST_REFUSALS = 25
_HOST = "http://api.example"
_CEILINGS = (8, 32)
_AT_ONCE = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 24, 32)
_RATES = (19.0, 20.0, 21.0)
_USUAL = 0.05
_STEADY = steady(_USUAL)
_MEASURED = (
    "20 a second, window",
    "20 a second, bucket",
    "6 at once",
    "latency (n/6)^1 above 6, 0.05 s",
    "latency (n/6)^2 above 6, 0.05 s",
    "503 to 5%, latency 0.05 s",
)


class FixedLimit(AdaptiveLimit):
    """A limit that learns nothing."""

    def restrict(self, concurrency: float) -> None:
        """Allow this number of requests at a time."""
        self.concurrency = self.limit = concurrency

    def started(self, _turn: Turn) -> None:
        """Ignore a request."""

    def answered(self, _turn: Turn, _latency: float, *, held_back: bool) -> None:
        """Ignore an answer."""

    def refused(self, _turn: Turn, *, counted: bool) -> None:
        """Ignore a refusal."""

    def finished(self, _turn: Turn, _latency: float, _now: float) -> None:
        """Ignore the end of a request."""


class FixedThrottles(Throttles):
    """The same fixed throttle for every host."""

    def __init__(self, limit: int, rate: float | None, clock: LoopClock) -> None:
        super().__init__(clock, limit)
        self._fixed = Throttle(limit, rate, clock, FixedLimit())

    def of(self, _origin: str) -> Throttle:
        """Return it."""
        return self._fixed


@dataclass(frozen=True, slots=True)
class Outcome:
    """The seconds for reading everything, the number of refused requests, and the number of lost items."""

    seconds: float
    refusals: int
    lost: int


@dataclass(frozen=True, slots=True)
class Scenario:
    """A service with limits.

    Attributes:
        admit: makes the function that decides whether a request is refused.
        latency: the seconds that a response takes.
        rates: fixed rates that may be the best setting, in requests per second.
        status: the status of a refusal.
        prompt: whether a refusal comes at once, or as late as an answer.
        retry_after: the header's form: ``seconds``, as a ``date``, or not at all.
        counted: whether a refused request is under way until its refusal is sent.
        pictures: whether the service is a host of pictures, which gets fewer retries.
        times: a factor for the number of requests.
    """

    admit: Callable[[], Admit] = anything
    latency: Latency = _STEADY
    rates: tuple[float, ...] = ()
    status: int = 429
    prompt: bool = False
    retry_after: str = ""
    counted: bool = False
    failing: Callable[[], Failing] = never
    pictures: bool = False
    times: int = 1

    def run(self, ceiling: int, requests: int = REQUESTS, seed: int = 1) -> Outcome:
        """Send this number of requests with a throttle that learns."""
        return virtual_time.run(self._ask(requests, ceiling, None, None, seed))

    def best(self, ceiling: int, requests: int = REQUESTS, seed: int = 1) -> tuple[float, str]:
        """Return the seconds and the name of the quickest fixed setting among those that lost least."""
        settings: list[tuple[int, float | None]] = [(limit, None) for limit in _AT_ONCE if limit <= ceiling]
        settings += [(ceiling, rate) for rate in self.rates]
        found = []
        for limit, rate in settings:
            outcome = virtual_time.run(self._ask(requests, ceiling, limit, rate, seed))
            found.append((outcome.lost, outcome.seconds, f"{rate:g} a second" if rate else f"{limit} at once"))
        return min(found)[1:]

    async def _ask(self, requests: int, ceiling: int, fixed: int | None, rate: float | None, seed: int) -> Outcome:
        clock, chance = LoopClock(), random.Random(seed)
        await asyncio.sleep(chance.random() if seed > 1 else 0.0)
        begun = clock.monotonic()
        host = HiddenLimits(
            clock,
            self.admit(),
            self.failing(),
            self.latency,
            self.status,
            self.prompt,
            self.retry_after,
            self.counted,
            chance,
        )
        policy = DOWNLOAD_POLICY if self.pictures else RetryPolicy()
        watch = HostWatch(host, policy) if self.pictures else ServiceWatch(host, policy, clock)
        throttles = Throttles(clock, ceiling)
        if fixed is not None:
            throttles = FixedThrottles(fixed, rate, clock)
        retrying = Retrying(
            Throttled(watch, throttles), policy, watch, throttles, clock, chance=random.Random(seed).random
        )
        sender = Sender(Timeouts(), Statistics())
        body = MemoryBody(MemoryBudget(0), 0)
        things = iter(range(self.times * requests))
        lost = 0

        async def worker() -> None:
            nonlocal lost
            for number in things:
                request = HttpRequest(URL(f"{_HOST}/{number}", encoded=True), _HOST, {}, body, sender)
                try:
                    await retrying.fetch(request, lambda answer: answer.status)
                except TransportError:
                    lost += 1

        await asyncio.gather(*[worker() for _ in range(ceiling)])
        return Outcome(clock.monotonic() - begun, host.refusals, lost)


def scenarios() -> Iterator[tuple[str, Scenario]]:
    """Yield all services, by their names."""
    yield from _counted()
    yield from _counting_refusals()
    yield from _uneven()
    yield from _crowded()
    yield from _changing()
    yield from _regardless_of_load()


def _counted() -> Iterator[tuple[str, Scenario]]:
    limits: dict[str, tuple[Callable[[], Admit], tuple[float, ...]]] = {
        "20 a second, window": (partial(window, 20), _RATES),
        "20 a second, bucket": (partial(bucket, 20, 20), _RATES),
        "6 at once": (partial(at_once, 6), ()),
    }
    for name, (admit, rates) in limits.items():
        for prompt in (False, True):
            for wish in ("", "seconds", "date"):
                how = (", refused at once" if prompt else "") + (f", Retry-After in {wish}" if wish else "")
                yield name + how, Scenario(admit, rates=rates, prompt=prompt, retry_after=wish)
        for seconds in (0.001, 0.01, 0.2, 0.5, 2.0):
            yield f"{name}, latency {seconds:g} s", Scenario(admit, steady(seconds), rates)
        for make in (jittered, heavy_tailed):
            yield f"{name}, {make.__name__}", Scenario(admit, make(_USUAL), rates)
        yield f"{name}, status 503", Scenario(admit, rates=rates, status=503)
    for phase in (0.1, 0.3, 0.5, 0.7, 0.9):
        yield f"20 a second, window, {phase} s late", Scenario(partial(window, 20, 1.0, phase), rates=_RATES)
    for capacity in (1, 5, 100):
        yield f"20 a second, bucket of {capacity}", Scenario(partial(bucket, 20, capacity), rates=_RATES)
    for quota, seconds in ((200, 10.0), (1200, 60.0)):
        for wish in ("", "seconds"):
            name = f"{quota} in {seconds:g} s" + (", Retry-After" if wish else "")
            yield name, Scenario(partial(window, quota, seconds), rates=_RATES, retry_after=wish)


def _counting_refusals() -> Iterator[tuple[str, Scenario]]:
    """Yield services for which a refused request is under way until its refusal is sent, as late as an answer."""
    for seconds in (0.01, 0.05, 0.2):
        name = f"6 at once, refusals counted, latency {seconds:g} s"
        yield name, Scenario(partial(at_once, 6), steady(seconds), counted=True)
    yield "6 at once, refusals counted, jittered", Scenario(partial(at_once, 6), jittered(_USUAL), counted=True)
    yield "6 at once, refusals counted, status 503", Scenario(partial(at_once, 6), status=503, counted=True)


def _uneven() -> Iterator[tuple[str, Scenario]]:
    for seconds in (0.001, 0.01, 0.05, 0.2, 2.0):
        yield f"no limit, latency {seconds:g} s", Scenario(latency=steady(seconds))
    for make in (jittered, heavy_tailed):
        yield f"no limit, {make.__name__}", Scenario(latency=make(_USUAL))
    slow = some_slow(_USUAL, 0.05, 1.0)
    yield "no limit, some slow", Scenario(latency=slow)
    yield "6 at once, some slow", Scenario(partial(at_once, 6), slow)
    lists = steady(0.3)
    yield "slow lists, entries, lists", Scenario(latency=in_turn((0, lists), (10, steady(_USUAL)), (20, lists)))


def _crowded() -> Iterator[tuple[str, Scenario]]:
    for power in (1, 2):
        law = f"latency (n/6)^{power}"
        for seconds in (0.01, 0.05, 0.2, 2.0):
            yield f"{law} above 6, {seconds:g} s", Scenario(latency=crowded(seconds, 6, power))
            yield f"{law}, {seconds:g} s", Scenario(latency=crowded(seconds, 6, power, always=True))
        for make in (jittered, heavy_tailed):
            yield f"{law} above 6, {make.__name__}", Scenario(latency=product(make(_USUAL), crowded(1.0, 6, power)))


def _changing() -> Iterator[tuple[str, Scenario]]:
    yield (
        "slower, then as before",
        Scenario(latency=in_turn((0, steady(_USUAL)), (4, crowded(0.3, 3, 2)), (40, steady(_USUAL)))),
    )
    yield (
        "6, then 3, then 6",
        Scenario(partial(changing, (0, partial(at_once, 6)), (8, partial(at_once, 3)), (25, partial(at_once, 6)))),
    )
    yield "6, then all", Scenario(partial(changing, (0, partial(at_once, 6)), (8, anything)))
    for name, later in (("10, then 40", ((40, 10), (90, 40))), ("1,000", ((40, 1000),))):
        phases = [(float(begins), partial(window, rate)) for begins, rate in later]
        yield f"20 a second, then {name}", Scenario(partial(changing, (0, partial(window, 20)), *phases), rates=_RATES)
    for status, length in ((429, 0.3), (503, 2.0)):
        yield f"{status} for {length:g} s of 5", Scenario(partial(episodes, 5, length), status=status)


def _regardless_of_load() -> Iterator[tuple[str, Scenario]]:
    """Yield services that refuse as much under a lower load."""
    for status in (429, 503):
        for share in (0.01, 0.05, 0.2, 0.5):
            for seconds in (0.001, 0.05, 1.0):
                name = f"{status} to {share:.0%}, latency {seconds:g} s"
                yield name, Scenario(failing=partial(at_random, share), latency=steady(seconds), status=status)
        for seconds in (0.001, 0.05):
            each = steady(seconds)
            yield f"{status} once to each, latency {seconds:g} s", Scenario(failing=once, latency=each, status=status)
            for share in (0.1, 0.5, 1.0):
                yield (
                    f"{status} always to {share:.0%} of pictures, {seconds:g} s",
                    Scenario(failing=partial(for_good, share), latency=each, status=status, pictures=True),
                )
    yield (
        "503 to 5%, heavy-tailed",
        Scenario(failing=partial(at_random, 0.05), latency=heavy_tailed(_USUAL), status=503),
    )
    yield (
        "503 to 5%, 6 at once",
        Scenario(partial(at_once, 6), failing=partial(at_random, 0.05), status=503),
    )
    yield (
        "503 to 2%, 20 a second",
        Scenario(partial(window, 20), failing=partial(at_random, 0.02), rates=_RATES, status=503),
    )
    for every, length in ((5.0, 0.3), (30.0, 1.0), (60.0, 5.0)):
        for status in (429, 503):
            yield (
                f"{status} for {length:g} s of {every:g}, long",
                Scenario(partial(episodes, every, length), status=status, times=10),
            )


def throttle(bench: Bench) -> Iterator[Row]:
    """Measure the services with the most common limits, in seconds of virtual time."""
    known, requests = dict(scenarios()), bench.size(REQUESTS, 100)
    for name in _MEASURED:
        for ceiling in _CEILINGS:
            ours = known[name].run(ceiling, requests)
            seconds, setting = known[name].best(ceiling, requests)
            refused = f"{ours.refusals} refused"
            if known[name].failing is never and not known[name].rates:
                refused += f", at most {MOST_REFUSALS} wanted"
            goal = Goal(wall=MOST_TIMES_BEST)
            times = ours.seconds / seconds
            yield Row(f"{name}, {ceiling} allowed", setting, times, wall_s=ours.seconds, goal=goal, note=refused)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = ArgumentParser(prog="python -m benchmarks.throttle", description=__doc__)
    parser.add_argument("names", nargs="*", help="only services whose name contains one of these")
    parser.add_argument("--requests", type=int, default=REQUESTS, help="how many (%(default)s)")
    options = parser.parse_args(arguments)
    print(f"{'':52}{'at most':>8}{'s':>8}{'best s':>8}{'best':>13}{'times':>7}{'refused':>9}")
    for name, scenario in scenarios():
        if options.names and not any(each in name for each in options.names):
            continue
        for ceiling in _CEILINGS:
            ours = scenario.run(ceiling, options.requests)
            seconds, setting = scenario.best(ceiling, options.requests)
            times = ours.seconds / seconds
            missed = times > MOST_TIMES_BEST or ours.refusals > MOST_REFUSALS or ours.lost
            line = (
                f"{name:52}{ceiling:>8}{ours.seconds:>8.1f}{seconds:>8.1f}{setting:>13}{times:>7.2f}{ours.refusals:>9}"
            )
            print(line + "  MISSED" * bool(missed), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
