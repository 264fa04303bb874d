"""Services that do not say what they bear, met in virtual time; ``python -m benchmarks.throttle`` meets many more."""

from __future__ import annotations

import pytest

from benchmarks import throttle
from benchmarks.throttle import scenarios

SCENARIOS = dict(scenarios())
AT_RANDOM = {
    "503 to 5%, latency 0.05 s": 60.0,
    "503 to 50%, latency 0.05 s": 500.0,
    "503 once to each, latency 0.001 s": 107.0,
    "503 always to 50% of pictures, 0.001 s": 750.0,
    "503 for 0.3 s of 5, long": 320.0,
    "429 to 5%, latency 0.05 s": 90.0,
    "429 to 20%, latency 0.05 s": 345.0,
}
"""One and a half times the seconds that halving takes: what a cleverer rule must not pass."""


@pytest.mark.parametrize("ceiling", [8, 32])
@pytest.mark.parametrize(
    ("name", "seconds"), [("20 a second, window", 150), ("20 a second, bucket", 150), ("6 at once", 25)]
)
def test_a_hidden_limit_is_found_with_few_refusals(name: str, seconds: float, ceiling: int) -> None:
    outcome = SCENARIOS[name].run(ceiling)
    assert outcome.seconds <= throttle.MOST_TIMES_BEST * seconds
    assert outcome.refusals <= throttle.MOST_REFUSALS
    assert not outcome.lost


def test_a_pace_is_given_up_where_the_service_bears_more() -> None:
    assert SCENARIOS["20 a second, then 1,000"].run(8).seconds <= 90


@pytest.mark.parametrize("name", AT_RANDOM)
def test_refusals_that_do_not_depend_on_what_is_asked_cost_little_time(name: str) -> None:
    assert SCENARIOS[name].run(8).seconds <= AT_RANDOM[name]


@pytest.mark.parametrize("ceiling", [8, 32])
def test_a_service_without_a_limit_is_asked_as_much_as_may_be(ceiling: int) -> None:
    assert SCENARIOS["no limit, jittered"].run(ceiling, 6000).seconds <= 1.03 * 6000 * 0.05 / ceiling


def test_the_table_names_what_was_asked_for_and_its_best_setting(capsys: pytest.CaptureFixture[str]) -> None:
    assert throttle.main(["6 at once, latency 0.01", "--requests=60"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert all("6 at once  " in line.split("s  ", 1)[1] for line in lines[1:])
