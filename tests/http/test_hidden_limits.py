"""Services with unannounced limits, in virtual time; ``python -m benchmarks.throttle`` tries many more."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pytest
from _pytest.mark import ParameterSet

from benchmarks import throttle
from benchmarks.throttle import scenarios

SCENARIOS = dict(scenarios())
COUNTED = {
    "6 at once": throttle.REQUESTS / 6 * 0.05,
    "6 at once, refused at once": throttle.REQUESTS / 6 * 0.05,
    "latency (n/6)^1 above 6, 0.05 s": throttle.REQUESTS / 6 * 0.05,
    "6 at once, refusals counted, latency 0.05 s": throttle.REQUESTS / 6 * 0.05,
    "6 at once, refusals counted, jittered": throttle.REQUESTS / 6 * 0.05,
    "latency (n/6)^1, 0.05 s": throttle.REQUESTS / 6 * 0.05,
    "latency (n/6)^2 above 6, 0.05 s": throttle.REQUESTS / 6 * 0.05,
    "latency (n/6)^2 above 6, 2 s": throttle.REQUESTS / 6 * 2.0,
    "latency (n/6)^2 above 6, jittered": throttle.REQUESTS / 6 * 0.05,
}
"""The seconds that the best fixed setting takes, or a little less."""
AT_RANDOM = {
    "503 to 5%, latency 0.05 s": 60.0,
    "503 to 50%, latency 0.05 s": 500.0,
    "503 once to each, latency 0.001 s": 107.0,
    "503 always to 50% of pictures, 0.001 s": 750.0,
    "503 for 0.3 s of 5, long": 320.0,
    "429 to 5%, latency 0.05 s": 90.0,
    "429 to 20%, latency 0.05 s": 345.0,
}
"""One and a half times the seconds that halving takes: the upper limit for a cleverer rule."""


THOROUGH = pytest.mark.thorough


def rows(names: Iterable[str], ceilings: Sequence[int], usual: set[tuple[str, int]]) -> list[ParameterSet]:
    """Return each name with each ceiling; all but the usual ones are thorough."""
    return [
        pytest.param(name, ceiling, marks=[] if (name, ceiling) in usual else THOROUGH)
        for name in names
        for ceiling in ceilings
    ]


@pytest.mark.parametrize(
    ("name", "ceiling"),
    rows(COUNTED, (8, 32), {("6 at once", 32), ("latency (n/6)^1, 0.05 s", 8), ("latency (n/6)^2 above 6, 2 s", 8)}),
)
def test_a_hidden_limit_is_found_with_few_refusals(name: str, ceiling: int) -> None:
    outcome = SCENARIOS[name].run(ceiling)
    assert outcome.seconds <= throttle.MOST_TIMES_BEST * COUNTED[name]
    assert outcome.refusals <= throttle.MOST_REFUSALS
    assert not outcome.lost


@pytest.mark.parametrize(
    ("name", "seconds"),
    [
        ("6, then 3, then 6", 41.2),
        pytest.param("6, then all", 25.0, marks=THOROUGH),
        pytest.param("slower, then as before", 60.0, marks=THOROUGH),
        pytest.param("503 for 2 s of 5", 70.0, marks=THOROUGH),
        ("1200 in 60 s, Retry-After", throttle.REQUESTS / 20),
    ],
)
def test_a_service_whose_limits_change_is_followed(name: str, seconds: float) -> None:
    outcome = SCENARIOS[name].run(8)
    assert outcome.seconds <= throttle.MOST_TIMES_BEST * seconds
    assert not outcome.lost


@pytest.mark.parametrize("ceiling", [8, pytest.param(32, marks=THOROUGH)])
def test_a_service_whose_latency_always_rises_with_the_load_is_asked_little_at_a_time(ceiling: int) -> None:
    best = throttle.REQUESTS * 0.05 / 36
    assert SCENARIOS["latency (n/6)^2, 0.05 s"].run(ceiling).seconds <= 1.4 * best


@pytest.mark.parametrize(("ceiling", "seconds"), [(8, 30.7), pytest.param(32, 8.3, marks=THOROUGH)])
@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=THOROUGH) for seed in (2, 3, 4))])
def test_a_few_very_late_answers_do_not_lower_the_limit(ceiling: int, seconds: float, seed: int) -> None:
    assert SCENARIOS["no limit, heavy_tailed"].run(ceiling, seed=seed).seconds <= 1.15 * seconds


def test_slower_requests_between_quick_ones_do_not_lower_the_limit() -> None:
    assert SCENARIOS["slow lists, entries, lists"].run(8).seconds <= 1.05 * 63.5


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[] if name == "503 to 5%, latency 0.05 s" else THOROUGH) for name in AT_RANDOM],
)
def test_refusals_that_do_not_depend_on_the_load_cost_little_time(name: str) -> None:
    assert SCENARIOS[name].run(8).seconds <= AT_RANDOM[name]


@pytest.mark.parametrize(
    ("name", "ceiling", "best"),
    [
        ("no limit, latency 0.05 s", 8, 18.75),
        pytest.param("no limit, latency 0.05 s", 32, 4.7, marks=THOROUGH),
        pytest.param("no limit, jittered", 8, 18.8, marks=THOROUGH),
        pytest.param("no limit, jittered", 32, 4.75, marks=THOROUGH),
        pytest.param("no limit, latency 2 s", 32, 188.0, marks=THOROUGH),
        pytest.param("no limit, some slow", 8, 39.05, marks=THOROUGH),
        ("no limit, some slow", 32, 10.25),
    ],
)
def test_a_service_without_a_limit_gets_the_highest_load(name: str, ceiling: int, best: float) -> None:
    assert SCENARIOS[name].run(ceiling).seconds <= 1.03 * best


def test_the_table_names_the_requested_scenario_and_its_best_setting(capsys: pytest.CaptureFixture[str]) -> None:
    assert throttle.main(["6 at once, latency 0.01", "--requests=60"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert all("6 at once  " in line.split("s  ", 1)[1] for line in lines[1:])
