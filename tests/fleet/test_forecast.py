"""Forecasts compared with simulated runs."""

from __future__ import annotations

import random
from math import inf
from statistics import mean

import pytest

from exporter.fleet.forecast import FleetProgress, Forecast


def test_there_is_no_forecast_before_a_blog_is_done() -> None:
    progress = FleetProgress(0.0)
    assert progress.forecast(1.0, 5, 100, [5]) is None
    assert progress.forecast(1.0, 0, 0, []) == Forecast(0.0, 0.0, 0.0, 0.0)
    for _ in range(5):
        progress.finished(10)
    stuck = progress.forecast(1.0, 0, 100, [])
    assert stuck is not None
    assert (stuck.seconds, stuck.error, stuck.requests) == (inf, inf, 1000)


def test_equal_blogs_are_forecast_exactly() -> None:
    progress = FleetProgress(0.0)
    for number in range(100):
        progress.finished(20)
        progress.sent(number / 5, 20 * (number + 1) + 250)
    found = progress.forecast(20.0, 2250, 875, [10] * 25)
    assert found is not None
    assert found.requests == pytest.approx(875 * 20 + 25 * 10)
    assert found.error == 0.0
    assert found.share_within(found.seconds / 2) == pytest.approx(0.5)
    assert found.share_within(-1.0) == 0.0


def forecast_ratio(sizes: list[int], chance: random.Random) -> float:
    """Return the forecast time divided by the real time. The forecast is made when a fifth of the blogs are done.

    500 blogs are under way at the same time and share 100 requests a second.
    """
    queue, running, done, sent, now = sizes[::-1], list[list[int]](), 0, 0, 0.0
    progress = FleetProgress(0.0)
    promised = 0.0
    while queue or running:
        while queue and len(running) < 500:
            running.append([queue.pop(), 0])
        for each in chance.sample(running, min(len(running), 10)):
            each[1] += 1
            sent += 1
            if each[1] == each[0]:
                running.remove(each)
                progress.finished(each[0])
                done += 1
        now += 0.1
        progress.sent(now, sent)
        if not promised and 5 * done >= len(sizes):
            found = progress.forecast(now, sent, len(queue), [each[1] for each in running])
            assert found is not None
            promised = now + found.seconds
    return promised / now


@pytest.mark.parametrize("seed", range(3))
def test_small_blogs_that_end_first_do_not_distort_the_forecast(seed: int) -> None:
    chance = random.Random(seed)
    assert forecast_ratio([chance.randint(10, 60) for _ in range(2000)], chance) == pytest.approx(1, abs=0.1)


def test_very_different_sizes_do_not_distort_the_average_forecast() -> None:
    found = []
    for seed in range(6):
        chance = random.Random(seed)
        found.append(forecast_ratio([1 + int(chance.expovariate(1 / 40)) for _ in range(2000)], chance))
    assert mean(found) == pytest.approx(1, abs=0.1)


def test_the_rate_is_that_of_the_last_ten_minutes() -> None:
    progress = FleetProgress(0.0)
    for second in range(1, 2001):
        progress.sent(float(second), 100 * min(second, 1000) + 10 * max(0, second - 1000))
    for _ in range(10):
        progress.finished(10)
    found = progress.forecast(2000.0, 110_000, 10, [])
    assert found is not None
    assert found.rate == pytest.approx(10, rel=0.01)
