"""The comparison of levels by their answers per second, and the order in which answers are compared."""

from __future__ import annotations

import random

import pytest

from exporter.http.throughput import LEVELS, InOrder, Throughput, Turn, level_of


def turn(number: int, under_way: int = 4, started: float = 0.0) -> Turn:
    return Turn(number, started, under_way, 0, under_way, full=True)


def measured(latencies: dict[int, list[float]]) -> Throughput:
    """Return what was learned from these latencies at each number of requests under way."""
    found = Throughput()
    for under_way, seconds in latencies.items():
        for each in seconds:
            found.add(level_of(under_way), under_way, each)
    return found


@pytest.mark.parametrize(
    ("under_way", "level"), [(1, 1), (4, 4), (5, 4), (6, 6), (31, 24), (32, 32), (256, 256), (999, 256)]
)
def test_a_number_between_two_levels_belongs_to_the_lower_one(under_way: int, level: int) -> None:
    assert LEVELS[level_of(under_way)] == level


@pytest.mark.parametrize(
    ("seconds", "pays"),
    [(0.05, True), (0.055, True), (0.075, False), (0.2, False)],
)
def test_more_requests_pay_if_the_latency_rises_clearly_less_than_their_number(seconds: float, *, pays: bool) -> None:
    low, high = level_of(8), level_of(12)
    found = measured({8: [0.05] * 64, 12: [seconds] * 64})
    assert found.pays(low, high, high) is pays
    assert found.pays(low, high, low) is pays


def test_a_trial_with_few_answers_is_undecided() -> None:
    low, high = level_of(8), level_of(12)
    assert measured({8: [0.05] * 64, 12: [0.05] * 5}).pays(low, high, high) is None
    assert measured({8: [0.05] * 64, 12: [0.05] * 6}).pays(low, high, high) is True


def test_noise_leaves_a_trial_undecided_until_it_has_enough_answers() -> None:
    chance = random.Random(1)
    low, high = level_of(8), level_of(12)
    found = measured({8: [chance.lognormvariate(0.0, 1.5) for _ in range(64)]})
    answers = 0
    while found.pays(low, high, high) is None:
        found.add(high, 12, chance.lognormvariate(0.15, 1.5))
        answers += 1
    assert answers == 64


def test_only_a_significantly_better_lower_level_is_named() -> None:
    crowded = {each: [0.05 * max(1.0, each / 6) ** 2] * 8 for each in (4, 6, 8, 12, 16)}
    best = measured(crowded).best_below(level_of(16))
    assert best is not None
    assert LEVELS[best] == 6
    assert measured({each: [0.05] * 8 for each in (4, 6, 8, 12, 16)}).best_below(level_of(16)) is None
    assert measured({6: [0.05], 8: [0.09]}).best_below(level_of(8)) is None


def test_a_level_that_hardly_gives_more_than_a_lower_one_is_doubtful() -> None:
    high = level_of(8)
    assert measured({4: [0.05] * 64, 8: [0.09] * 64}).is_doubtful(high)
    assert not measured({4: [0.05] * 64, 8: [0.05] * 64}).is_doubtful(high)
    assert not measured({8: [0.09] * 64}).is_doubtful(high)


def test_forgotten_answers_are_not_compared() -> None:
    found = measured({4: [0.05] * 64, 8: [0.9] * 64})
    assert found.best_below(level_of(8)) == level_of(4)
    found.forget(*range(level_of(8)))
    assert found.best_below(level_of(8)) is None


def finish(order: InOrder, *ends: tuple[Turn, float]) -> list[tuple[int, float]]:
    return [(each.number, seconds) for end, now in ends for each, seconds in order.finished(end, now, now)]


def test_answers_are_put_into_the_order_of_their_requests() -> None:
    order, turns = InOrder(), [turn(number) for number in range(1, 5)]
    for each in turns:
        order.started(each)
    assert finish(order, (turns[1], 0.1), (turns[2], 0.2)) == []
    assert finish(order, (turns[0], 0.3)) == [(1, 0.3), (2, 0.1), (3, 0.2)]
    assert finish(order, (turns[3], 0.4)) == [(4, 0.4)]


def test_a_request_that_two_rounds_of_others_overtook_counts_with_its_age_and_once() -> None:
    order, turns = InOrder(), [turn(number) for number in range(1, 12)]
    for each in turns:
        order.started(each)
    assert finish(order, *((each, 0.1) for each in turns[1:9])) == []
    overtaken = finish(order, (turns[9], 5.0))
    assert overtaken[0] == (1, 5.0)
    assert [number for number, _ in overtaken[1:]] == list(range(2, 11))
    assert finish(order, (turns[0], 9.0)) == []
    assert finish(order, (turns[10], 9.0)) == [(11, 9.0)]
