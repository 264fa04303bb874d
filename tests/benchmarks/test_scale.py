from __future__ import annotations

from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import pytest

from benchmarks import scale
from benchmarks.content import addresses
from benchmarks.measure import Sample
from benchmarks.scale_model import Costs, Line, Wishes, requests_of, simulate, size_of

NOTHING = Line(0.0, 0.0)
CHEAP = Costs(Line(0.0, 1e-9), NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, 1, 1, 1, 1, 1)
PLAIN = Wishes(blogs=400, entries=20, varied=False, rate=inf, concurrency=16, latency=0.1, at_once=50)


@pytest.mark.thorough
def test_the_page_is_what_the_inputs_say() -> None:
    assert scale.PAGE.read_text("utf-8") == scale.current_page(), "run: python -m benchmarks scale"


def test_requests_are_those_of_a_backup() -> None:
    assert requests_of(100) == sum(1 for _ in addresses(size_of(100)))


@pytest.mark.parametrize(
    ("limits", "rate"),
    [({"rate": 40.0}, 40), ({}, 160), ({"concurrency": 4}, 40)],
    ids=["rate", "requests in flight", "fewer in flight"],
)
def test_what_is_scarce_says_how_long_a_run_takes(limits: dict[str, Any], rate: float) -> None:
    run = simulate(replace(PLAIN, **limits), CHEAP)
    assert run.requests == pytest.approx(400 * requests_of(20))
    # A step more or less, and some seconds at the end, when few blogs have anything left to ask for.
    assert run.requests / rate - 8 <= run.seconds <= run.requests / rate + 8


def test_processors_limit_a_run_and_more_crawlers_help() -> None:
    slow = replace(CHEAP, crawl=Line(0.1, 0.01))
    one, two = (simulate(replace(PLAIN, concurrency=999, crawlers=number), slow) for number in (1, 2))
    assert one.cpu == pytest.approx(400 * (0.1 + 0.01 * requests_of(20)), rel=0.01)
    assert one.seconds == pytest.approx(one.cpu, rel=0.1)
    assert two.seconds == pytest.approx(one.seconds / 2, rel=0.1)


def test_failures_and_pauses_cost_requests_and_time() -> None:
    fine = simulate(PLAIN, CHEAP)
    failing = simulate(replace(PLAIN, failing=0.3), CHEAP)
    assert failing.requests > fine.requests
    assert failing.seconds > fine.seconds + PLAIN.gap
    assert 0 < failing.left < 20
    paused = simulate(replace(PLAIN, pause_every=10.0, pause=5.0), CHEAP)
    assert paused.seconds == pytest.approx(2 * fine.seconds, rel=0.1)


def test_a_large_run_goes_on_as_it_begins() -> None:
    wishes = replace(PLAIN, blogs=40_000, rate=100.0)
    run = simulate(wishes, CHEAP)
    assert run.requests == pytest.approx(40_000 * requests_of(20))
    assert run.seconds == pytest.approx(run.requests / 100, rel=0.01)


def test_blogs_that_differ_have_the_mean_that_was_asked_for() -> None:
    varied = simulate(replace(PLAIN, varied=True, entries=100), CHEAP)
    assert varied.requests == pytest.approx(400 * requests_of(100), rel=0.03)


@pytest.mark.thorough
def test_other_wishes_are_answered_and_leave_the_page_alone(capsys: pytest.CaptureFixture[str]) -> None:
    before = scale.PAGE.stat().st_mtime_ns
    assert scale.main(["--blogs", "3000", "--rate", "20", "--put-price", "50"]) == 0
    assert "| 10,000 |" in capsys.readouterr().out
    assert scale.PAGE.stat().st_mtime_ns == before


def test_inputs_are_kept_with_their_comments(tmp_path: Path) -> None:
    path = tmp_path / "scale.toml"
    path.write_text("# what this is\n\n[old]\na = 1\n", "utf-8")
    inputs = {"recorded": {"on": "today", "load": 1.5, "crawl": {"blog": 0.25, "each": 2}}}
    scale.save(inputs, path)
    assert path.read_text("utf-8").startswith("# what this is\n\n[recorded]\n")
    assert scale.load(path) == inputs


def test_a_run_is_compared_with_what_was_predicted() -> None:
    sample = Sample(500.0, 100.0, 70, b'{"requests": 60000, "seconds": 400.0}')
    found = scale.compared(CHEAP, sample, 5)
    assert found["seconds"]["measured"] == 400.0
    assert found["seconds"]["predicted"] == pytest.approx(simulate(scale.CHECKED, CHEAP).seconds)
    assert found["memory_bytes"] == {"predicted": 101.0, "measured": 70.0}
