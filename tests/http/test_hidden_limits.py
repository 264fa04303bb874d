"""Services that do not say what they bear, met in virtual time; ``python -m benchmarks.throttle`` meets many more."""

from __future__ import annotations

import pytest

from benchmarks import throttle
from benchmarks.throttle import MOST_REFUSALS, MOST_TIMES_BEST, REQUESTS, Outcome, scenarios

SCENARIOS = dict(scenarios())
COUNTED = {
    "20 a second, window": REQUESTS / 20,
    "20 a second, window, Retry-After in seconds": REQUESTS / 20,
    "20 a second, window, refused at once, Retry-After in date": REQUESTS / 20,
    "20 a second, bucket": REQUESTS / 20,
    "20 a second, bucket, refused at once": REQUESTS / 20,
    "20 a second, bucket, status 503": REQUESTS / 20,
    "6 at once": REQUESTS / 6 * 0.05,
    "6 at once, refused at once": REQUESTS / 6 * 0.05,
    "6 at once, Retry-After in date": REQUESTS / 6 * 0.05,
    "6 at once, some slow": REQUESTS / 6 * 0.1,
}
"""The seconds that the best fixed setting takes, or a little less."""
CROWDED = {
    "latency (n/6)^1 above 6, 0.05 s": REQUESTS / 6 * 0.05,
    "latency (n/6)^2 above 6, 0.05 s": REQUESTS / 6 * 0.05,
    "latency (n/6)^1, 0.05 s": REQUESTS / 6 * 0.05,
    "latency (n/6)^2, 0.05 s": REQUESTS / 36 * 0.05,
}


def run(name: str, ceiling: int) -> Outcome:
    outcome = SCENARIOS[name].run(ceiling)
    assert not outcome.lost
    return outcome


@pytest.mark.parametrize("ceiling", [8, 32])
@pytest.mark.parametrize("name", [*COUNTED, *CROWDED])
def test_what_a_service_bears_is_found_soon_and_with_few_refusals(name: str, ceiling: int) -> None:
    outcome = run(name, ceiling)
    assert outcome.refusals <= MOST_REFUSALS
    assert outcome.seconds <= MOST_TIMES_BEST * (COUNTED | CROWDED)[name]


@pytest.mark.parametrize(
    ("name", "ceiling", "best"),
    [
        ("no limit, latency 0.05 s", 8, 18.75),
        ("no limit, latency 0.05 s", 32, 4.7),
        ("no limit, jittered", 8, 18.8),
        ("no limit, jittered", 32, 4.75),
        ("no limit, some slow", 8, 39.05),
        ("no limit, some slow", 32, 10.25),
    ],
)
def test_a_service_without_a_limit_is_asked_as_much_as_may_be(name: str, ceiling: int, best: float) -> None:
    assert run(name, ceiling).seconds <= 1.03 * best


def test_slower_requests_between_quick_ones_do_not_lower_the_limit() -> None:
    assert run("slow lists, entries, lists", 8).seconds <= 1.05 * 63.5


@pytest.mark.parametrize(
    ("name", "seconds"),
    [
        ("6, then 3, then 6", 41.2),
        ("6, then all", 25.0),
        ("20 a second, then 1,000", 100.0),
        ("slower, then as before", 60.0),
        ("503 for 2 s of 5", 70.0),
    ],
)
def test_a_service_whose_limits_change_is_followed(name: str, seconds: float) -> None:
    assert run(name, 8).seconds <= MOST_TIMES_BEST * seconds


def test_a_quota_for_a_minute_is_found_too() -> None:
    outcome = run("1200 in 60 s, Retry-After", 8)
    assert outcome.refusals <= MOST_REFUSALS
    assert outcome.seconds <= MOST_TIMES_BEST * REQUESTS / 20


def test_the_table_names_what_was_asked_for_and_its_best_setting(capsys: pytest.CaptureFixture[str]) -> None:
    assert throttle.main(["6 at once, latency 0.01", "--requests=60"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert all("6 at once  " in line.split("s  ", 1)[1] for line in lines[1:])
