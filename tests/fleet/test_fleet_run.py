"""Runs of a fleet with scripted backups and a simulated clock, which advances only during waits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from exporter.cli.fleet_output import RunDisplay
from exporter.cli.output import Output
from exporter.errors import Interrupted, NoSpace, NotAuthorised, ServiceError
from exporter.fleet.blog_list import ListedBlog
from exporter.fleet.fleet_run import FleetMoment, FleetPlan, FleetRun
from exporter.fleet.ledger import BlogAttempt, BlogState, DueBlog, FleetLedger
from exporter.fleet.overview import overview

Script = Callable[[DueBlog, int], int]
_LASTING_KINDS = {404: "BlogGone", 400: "BlogRefused", 33: "StaysIncomplete"}
"""Codes of scripts for errors that share their exit code with others."""


class HandClock:
    """A clock that tests advance."""

    def __init__(self) -> None:
        self.seconds = 1_000_000.0

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.seconds, UTC)

    def monotonic(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.seconds += seconds


class ScriptedBackups:
    """Ends the oldest attempt after ten seconds and ten requests with the exit code that the script returns."""

    dashboard: str | None = None

    def __init__(self, clock: HandClock, script: Script, places: int = 2) -> None:
        self.clock = clock
        self.script = script
        self.places = places
        self.begun: list[tuple[str, float]] = []
        self.most = 0
        self.requests = 0
        self._running: list[tuple[DueBlog, float]] = []
        self._end: Interrupted | None = None
        self._tries: dict[int, int] = {}

    @property
    def free_slots(self) -> int:
        return self.places - len(self._running)

    @property
    def under_way(self) -> Collection[int]:
        return [0] * len(self._running)

    def start(self, blogs: Sequence[DueBlog]) -> None:
        self._running += [(blog, self.clock.seconds) for blog in blogs]
        self.begun += [(blog.blog_id, self.clock.seconds) for blog in blogs]
        self.most = max(self.most, len(self._running))
        assert self.most <= self.places

    async def ended(self, seconds: float) -> list[BlogAttempt]:
        if not self._running:
            self.clock.seconds += seconds
            return []
        self.clock.seconds += 10
        self.requests += 10
        blog, started = self._running.pop(0)
        tries = self._tries[blog.number] = self._tries.get(blog.number, 0) + 1
        code = Interrupted.exit_code if self._end is not None else self.script(blog, tries)
        kind = {0: None, 3: "Incomplete", 20: "Unreachable", 12: "NotAuthorised", **_LASTING_KINDS}.get(code, "Error")
        code = {404: 20, 400: 20, 33: 3}.get(code, code)
        return [
            BlogAttempt(
                blog.number, started, self.clock.seconds, code, kind, f"code {code}" if code else None, requests=10
            )
        ]

    def stop(self, error: Interrupted) -> None:
        self._end = error


class Bench:
    """A small fleet and a record of its runs."""

    def __init__(self, root: Path, blogs: int, script: Script, plan: FleetPlan | None = None) -> None:
        self.clock = HandClock()
        root.mkdir(exist_ok=True)
        self.ledger = FleetLedger.create(root)
        self.root = root
        self.ledger.list_blogs([ListedBlog(f"b{number}") for number in range(blogs)], self.clock.seconds)
        self.script = script
        self.plan = plan or FleetPlan()
        self.backups = ScriptedBackups(self.clock, script)
        self.moments: list[FleetMoment] = []

    def run(self, each: Callable[[FleetRun, FleetMoment], None] = lambda _run, _moment: None) -> None:
        self.ledger.begin_run(self.clock.seconds, {})
        self.backups = ScriptedBackups(self.clock, self.script)
        self.moments = []

        async def work() -> None:
            run = FleetRun(self.ledger, self.backups, self.plan, self.clock, chance=lambda: 0.0)
            async for moment in run.moments():
                self.moments.append(moment)
                each(run, moment)

        asyncio.run(work())

    @property
    def begun(self) -> list[str]:
        return [blog_id for blog_id, _ in self.backups.begun]

    def states(self) -> dict[BlogState, int]:
        return {state: number for state, number in self.ledger.counts(0).states.items() if number}


def test_each_blog_has_its_turn_once(tmp_path: Path) -> None:
    bench = Bench(tmp_path, 5, lambda _blog, _tries: 0)
    bench.run()
    assert bench.begun == ["b0", "b1", "b2", "b3", "b4"]
    assert bench.backups.most == 2
    last = bench.moments[-1]
    assert (last.counts.states, last.left, last.under_way, last.requests) == (bench.ledger.counts(0).states, 0, 0, 50)
    assert bench.states() == {BlogState.SAVED: 5}
    bench.run()
    assert bench.begun == []


def test_a_failing_blog_is_retried_after_growing_gaps_without_delaying_others(tmp_path: Path) -> None:
    bench = Bench(tmp_path, 3, lambda blog, tries: 20 if blog.blog_id == "b0" and tries < 4 else 0)
    bench.run()
    times = [time for blog_id, time in bench.backups.begun if blog_id == "b0"]
    assert bench.begun[:3] == ["b0", "b1", "b2"]
    gaps = [later - earlier - 10 for earlier, later in pairwise(times)]
    assert gaps == pytest.approx([60, 180, 540], abs=1.5)
    assert bench.states() == {BlogState.SAVED: 3}
    again = [again for moment in bench.moments for _, _, again in moment.ended if again is not None]
    assert again == pytest.approx([60, 180, 540])


def test_a_run_stops_after_its_tries_and_the_next_continues_when_due(tmp_path: Path) -> None:
    bench = Bench(tmp_path, 2, lambda blog, _tries: 20 if blog.blog_id == "b0" else 0, FleetPlan(tries=2))
    bench.run()
    assert bench.begun == ["b0", "b1", "b0"]
    bench.run()
    assert bench.begun == []  # after two failures: nine minutes
    bench.clock.seconds += timedelta(minutes=9).total_seconds()
    bench.run()
    assert bench.begun == ["b0", "b0"]
    assert overview(tmp_path, bench.clock.seconds)["retry"][0]["failures"] == 4


@pytest.mark.parametrize("code", [2, 4, 12, 13, 404, 400, 33])
def test_a_cause_that_lasts_is_tried_once(tmp_path: Path, code: int) -> None:
    bench = Bench(tmp_path, 2, lambda blog, _tries: code if blog.blog_id == "b0" else 0)
    bench.run()
    assert bench.begun == ["b0", "b1"]
    assert bench.states() == {BlogState.PARTIAL if code == 33 else BlogState.FAILED: 1, BlogState.SAVED: 1}
    counts = bench.moments[-1].counts
    assert (counts.archived, counts.lasting) == (2 if code == 33 else 1, 1)
    assert counts == bench.ledger.counts(bench.clock.seconds)


def test_a_blog_is_retried_only_until_all_its_causes_last(tmp_path: Path) -> None:
    bench = Bench(tmp_path, 1, lambda _blog, tries: 3 if tries < 3 else 33)
    bench.run()
    assert bench.begun == ["b0"] * 3
    assert [moment.counts.archived for moment in bench.moments if moment.ended] == [1, 1, 1]


def test_a_log_gets_a_line_for_each_blog_that_fails_and_at_most_one_a_minute(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bench = Bench(tmp_path, 40, lambda _blog, tries: 20 if tries < 4 else 404)
    bench.run()
    with RunDisplay(Output(), bench.plan) as display:
        for moment in bench.moments:
            display.handle(moment)
    lines = capsys.readouterr().err.splitlines()
    for end in ("; again in ", "; not again in this run."):
        assert sorted(line.split(": ")[0] for line in lines if end in line) == sorted(f"  b{n}" for n in range(40))
    progress = [line for line in lines if "under way" in line]
    assert 0 < len(progress) <= bench.moments[-1].seconds / 60
    assert len(lines) == 80 + len(progress)


def test_a_partly_saved_blog_is_tried_again(tmp_path: Path) -> None:
    bench = Bench(tmp_path, 1, lambda _blog, tries: 3 if tries < 3 else 0)
    bench.run()
    assert bench.begun == ["b0"] * 3
    assert bench.states() == {BlogState.SAVED: 1}


def test_a_full_disk_ends_the_run(tmp_path: Path) -> None:
    bench = Bench(tmp_path, 9, lambda blog, _tries: 28 if blog.blog_id == "b1" else 0)
    with pytest.raises(NoSpace, match="code 28"):
        bench.run()
    assert bench.states() == {BlogState.SAVED: 1, BlogState.FAILED: 1, BlogState.NEW: 7}
    assert len(bench.begun) == 3


def test_a_service_that_never_answers_ends_the_run(tmp_path: Path) -> None:
    bench = Bench(tmp_path, 50, lambda _blog, _tries: 20, FleetPlan(tries=1, silence=10))
    with pytest.raises(
        ServiceError, match=r"10 blogs in a row failed for want of .*, the last one: code 20\. Run the fleet"
    ):
        bench.run()
    assert bench.states() == {BlogState.FAILED: 10, BlogState.NEW: 40}
    bench = Bench(
        tmp_path / "other", 50, lambda blog, _tries: 20 if int(blog.blog_id[1:]) % 10 else 0, FleetPlan(1, silence=10)
    )
    bench.run()
    assert bench.states() == {BlogState.FAILED: 45, BlogState.SAVED: 5}


@pytest.mark.parametrize("tries", [1, 9])
def test_a_dead_service_does_not_stop_the_blogs_of_another(tmp_path: Path, tries: int) -> None:
    def script(blog: DueBlog, _tries: int) -> int:
        return 20 if blog.settings.get("base_url") == "http://dead" else 0

    bench = Bench(tmp_path, 0, script, FleetPlan(tries, timedelta(seconds=1), silence=10))
    dead = [ListedBlog(f"d{number}", settings={"base_url": "http://dead"}) for number in range(3000)]
    bench.ledger.list_blogs([*dead, *(ListedBlog(f"b{number}") for number in range(20))], bench.clock.seconds)
    with pytest.raises(ServiceError, match="10 blogs in a row failed"):
        bench.run()
    assert bench.states()[BlogState.SAVED] == 20
    assert bench.states()[BlogState.NEW] >= 2989
    assert bench.begun[-20:] == [f"b{number}" for number in range(20)]
    assert bench.moments[-1].left == 0
    assert all(0 <= moment.left <= 20 for moment in bench.moments if moment.counts.states[BlogState.SAVED])
    bench.clock.seconds += 60
    with pytest.raises(ServiceError, match="10 blogs in a row failed"):
        bench.run()
    assert bench.states()[BlogState.SAVED] == 20


def test_a_service_that_refuses_every_blog_ends_the_run_with_its_code(tmp_path: Path) -> None:
    bench = Bench(tmp_path, 50, lambda _blog, _tries: 12, FleetPlan(silence=10))
    with pytest.raises(NotAuthorised, match="10 blogs in a row"):
        bench.run()
    assert bench.states() == {BlogState.FAILED: 10, BlogState.NEW: 40}


def test_blogs_under_way_stay_due_after_an_interrupted_run(tmp_path: Path) -> None:
    bench = Bench(tmp_path, 6, lambda _blog, _tries: 0)

    def after_two(run: FleetRun, moment: FleetMoment) -> None:
        if moment.counts.states[BlogState.SAVED] == 2:
            run.stop(Interrupted("Interrupted."))

    with pytest.raises(Interrupted):
        bench.run(after_two)
    assert bench.states() == {BlogState.SAVED: 2, BlogState.NEW: 4}
    bench.run()
    assert bench.begun == ["b2", "b3", "b4", "b5"]


def test_after_the_deadline_nothing_is_begun(tmp_path: Path) -> None:
    bench = Bench(tmp_path, 9, lambda _blog, _tries: 0, FleetPlan(deadline=1_000_025.0))
    bench.run()
    assert bench.begun == ["b0", "b1", "b2", "b3"]
    assert bench.states() == {BlogState.SAVED: 4, BlogState.NEW: 5}


def test_a_blog_that_becomes_due_during_a_run_is_saved(tmp_path: Path) -> None:
    bench = Bench(tmp_path, 5, lambda blog, tries: 20 if blog.blog_id == "b0" and tries == 1 else 0, FleetPlan(tries=1))
    bench.ledger.list_blogs([ListedBlog("b0")], bench.clock.seconds)
    bench.run()
    bench.ledger.list_blogs([ListedBlog(f"b{number}") for number in range(5)], bench.clock.seconds)
    bench.clock.seconds += 30
    bench.run()
    assert bench.begun == ["b1", "b2", "b3", "b4", "b0"]
    assert bench.moments[-1].left == 0
