"""Lists with several services: one process sends all requests to a service, and kills of any process lose no work."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest

from exporter import lossless_json
from exporter.archive.fleet_folder import archive_place
from exporter.archive.lock import ArchiveLock
from exporter.errors import ArchiveError, ArchiveLocked, BlogExporterError
from exporter.fleet import host_workers
from exporter.fleet.blog_list import ListedBlog
from exporter.fleet.host_workers import HostTask, HostWorkers, hosts_of, recover
from exporter.fleet.ledger import FILE_NAME, BlogAttempt, DueBlog, FleetLedger
from exporter.fleet.overview import overview
from exporter.fleet.pool import Died, Outcome, Raised, Returned
from exporter.http.engine import Engine
from exporter.settings import resolve
from tests.cli.conftest import Program
from tests.fleet.own_pool import OwnPool
from tests.fleet.platform_service import Platform, blog_ids, write_list
from tests.fleet.test_pools import cluster
from tests.support.runs import Runs, findings, folded

ENTRIES, SLOTS, RATE = 4, 4, 40.0
FREE = 10_000
"""A rate for which no request waits."""
PATIENCE = 60.0
"""Seconds that a busy machine may need for what an idle one does in two."""


@pytest.fixture(scope="module")
def platforms() -> Iterator[list[Platform]]:
    with ExitStack() as stack:
        yield [stack.enter_context(Platform(ENTRIES, 0.02)) for _ in range(3)]


def mixed(tmp_path: Path, platforms: list[Platform], count: int) -> Path:
    """Write a list whose blogs alternate between these services."""
    lines = [
        f"{blog_id} base_url={platforms[number % len(platforms)].base_url}"
        for number, blog_id in enumerate(blog_ids(count))
    ]
    return write_list(tmp_path / "blogs.txt", lines)


def command(blogs: Path, root: Path, *options: object) -> list[object]:
    """Return the arguments that run a fleet."""
    limits = ["--concurrency", SLOTS, "--rate", RATE, "--at-once", 12, "--retry-after", "1s", "--tries", 20]
    return ["fleet", "run", blogs, "--into", root, "--assets", "none", *limits, "--json", *options]


def saved(root: Path) -> int:
    try:
        blogs: dict[str, int] = overview(root, time.time())["blogs"]
    except ArchiveError:  # the ledger is being created
        return 0
    return blogs["saved"]


def has_more(root: Path, than: int) -> bool:
    return saved(root) > than


def wait_until(condition: Callable[[], bool], seconds: float = 120.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def workers_of_attempts(root: Path) -> dict[str, set[str]]:
    """Return the workers that saved blogs of each service, from the ledger."""
    found: dict[str, set[str]] = {}
    with closing(sqlite3.connect(root / FILE_NAME)) as connection:
        rows = connection.execute("SELECT b.settings, a.worker FROM attempts a JOIN blogs b ON b.number = a.blog")
        for settings, worker in rows:
            found.setdefault(json.loads(settings)["base_url"], set()).add(worker)
    return found


def check_whole(root: Path, count: int) -> None:
    """Check that every blog is saved, valid, and equal to the first except for its name."""
    first: Any = None
    for blog_id in blog_ids(count):
        place = archive_place(root, blog_id)
        assert findings(place) == []
        state = {
            kind: {key: data.replace(blog_id.encode(), b"ID") for key, data in records.items()}
            for kind, records in folded(place).items()
        }
        first = first or state
        assert state == first
    assert saved(root) == count


def settle(platforms: list[Platform]) -> None:
    """Wait until all requests of killed processes have arrived.

    A service under load may read them late, and no later run can know that.
    """
    wait_until(lambda: not any(platform.connections() for platform in platforms))


def check_budgets(platforms: list[Platform]) -> int:
    """Check the limits of requests to each service; return the number of repeated requests for entries."""
    records = [platform.record() for platform in platforms]
    for found in records:
        assert found["peak"] <= SLOTS
        assert found["most_in_a_second"] <= RATE
    return sum(found["again"] for found in records)


@pytest.mark.no_cover
@pytest.mark.parametrize("workers", [pytest.param([], marks=pytest.mark.thorough), ["--workers", 1], ["--workers", 2]])
@pytest.mark.sample(1)
def test_each_service_is_asked_by_one_process(
    runs: Runs, platforms: list[Platform], tmp_path: Path, workers: list[object]
) -> None:
    for platform in platforms:
        platform.record()
    root = tmp_path / "fleet"
    done = runs.run(*command(mixed(tmp_path, platforms, 6), root, *workers, "--rate", FREE))
    assert done.code == 0, done
    assert done.document["blogs"]["saved"] == 6
    check_whole(root, 6)
    found = workers_of_attempts(root)
    assert [len(each) for each in found.values()] == [1, 1, 1]
    assert not (root / ".work" / "hosts").exists()
    records = [platform.record() for platform in platforms]
    assert done.document["requests"] == sum(each["requests"] for each in records)
    assert {each["again"] for each in records} == {0}
    if workers == ["--workers", 1]:
        assert set.union(*found.values()) == {""}


@pytest.mark.parametrize("services", [1, 2])
@pytest.mark.sample(1)
def test_the_first_requests_wait_for_those_of_a_killed_run(
    program: Program, platforms: list[Platform], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, services: int
) -> None:
    given: list[bool] = []
    make = Engine.__init__

    def noted(engine: Engine, **options: Any) -> None:
        given.append(options["after_kill"])
        make(engine, **options)

    monkeypatch.setattr(Engine, "__init__", noted)
    root, blogs = tmp_path / "fleet", mixed(tmp_path, platforms[:services], services)
    (root / ".work").mkdir(parents=True)
    (root / ".work" / "lock").write_text(json.dumps({"pid": 1, "host": "killed"}), encoding="utf-8")
    for is_after_kill in (True, False):
        done = program(*command(blogs, root, "--rate", FREE, "--workers", 1))
        assert done.code == 0, done
        assert given
        assert set(given) == {is_after_kill}
        given.clear()
        blogs = mixed(tmp_path, platforms[:services], 2 * services)


@pytest.mark.thorough
@pytest.mark.no_cover
@pytest.mark.parametrize("services", [1, 2])
def test_the_rate_counts_the_requests_of_a_killed_run(
    runs: Runs, platforms: list[Platform], tmp_path: Path, services: int
) -> None:
    some, starts = platforms[:services], list[float]()
    for platform in some:
        platform.record()
    (tmp_path / "fleet" / ".work").mkdir(parents=True)
    (tmp_path / "fleet" / ".work" / "lock").write_text(json.dumps({"pid": 1, "host": "killed"}), encoding="utf-8")

    def is_asked() -> bool:
        starts.extend(each for platform in some for each in platform.record()["starts"])
        return bool(starts)

    began = time.monotonic()
    run = runs.start(*command(mixed(tmp_path, some, services), tmp_path / "fleet", "--rate", 0.25))
    wait_until(is_asked)
    run.signal(signal.SIGINT)
    assert run.wait().code == 130
    assert min(starts) - began > 1 / 0.25


@pytest.mark.thorough
@pytest.mark.no_cover
def test_each_service_is_a_task_of_a_cluster(runs: Runs, platforms: list[Platform], tmp_path: Path) -> None:
    for platform in platforms:
        platform.record()
    root = tmp_path / "fleet"
    with cluster(3, 1) as address:
        line = command(mixed(tmp_path, platforms, 12), root, "--engine", "dask", "--scheduler", address)
        done = runs.run(*line)
    assert done.code == 0, done
    check_whole(root, 12)
    found = workers_of_attempts(root)
    assert [len(each) for each in found.values()] == [1, 1, 1]
    assert len(set.union(*found.values())) == 3
    assert check_budgets(platforms) == 0


def workers_of(pid: int, *, recursive: bool = False) -> list[psutil.Process]:
    """Return the processes of workers below a process. One that ends meanwhile, or was just killed, is none."""
    found = []
    for each in psutil.Process(pid).children(recursive=recursive):
        with contextlib.suppress(psutil.NoSuchProcess):
            if "spawn_main" in " ".join(each.cmdline()):
                found.append(each)
    return found


def kill_a_worker(pid: int, chance: random.Random, *, recursive: bool = False) -> None:
    """Kill one of the workers below a process as soon as one is there."""

    def has_killed() -> bool:
        with contextlib.suppress(psutil.NoSuchProcess, IndexError):
            chance.choice(workers_of(pid, recursive=recursive)).kill()
            return True
        return False

    wait_until(has_killed)


@pytest.mark.thorough
@pytest.mark.no_cover
def test_a_killed_worker_loses_nothing_and_an_interrupted_run_leaves_no_process(
    runs: Runs, platforms: list[Platform], tmp_path: Path
) -> None:
    root, blogs, chance = tmp_path / "fleet", mixed(tmp_path, platforms, 90), random.Random(1)
    run = runs.start(*command(blogs, root, "--workers", 3))
    for _ in range(4):
        wait_until(partial(has_more, root, saved(root) + 2))
        kill_a_worker(run.pid, chance)
    wait_until(partial(has_more, root, saved(root) + 5))
    left = workers_of(run.pid)
    began = time.monotonic()
    run.signal(signal.SIGINT)
    assert run.wait().code == 130
    assert time.monotonic() - began < PATIENCE
    assert psutil.wait_procs(left, timeout=PATIENCE)[1] == []
    assert overview(root, time.time())["blogs"]["failed"] == 0
    done = runs.run(*command(blogs, root, "--workers", 3))
    assert done.code == 0, done
    check_whole(root, 90)


def check_kills(runs: Runs, platforms: list[Platform], line: list[object], root: Path, count: int, kills: int) -> None:
    """Kill a run's main process: no blog is lost, and no saved blog is requested again."""
    for platform in platforms:
        platform.record()
    chance = random.Random(kills)
    run = runs.start(*line)
    for _ in range(kills):
        wait_until(partial(has_more, root, saved(root)))
        time.sleep(chance.uniform(0.0, 0.5) if kills > 1 else 0.0)
        left = workers_of(run.pid)
        run.signal(signal.SIGKILL)
        assert run.wait().code == -signal.SIGKILL
        assert psutil.wait_procs(left, timeout=PATIENCE)[1] == []
        settle(platforms)
        run = runs.start(*line)
    done = run.wait(timeout=600.0)
    assert done.code == 0, done
    check_whole(root, count)
    with closing(sqlite3.connect(root / FILE_NAME)) as connection:
        (most,) = connection.execute(
            "SELECT max(n) FROM (SELECT count(*) AS n FROM attempts WHERE exit_code = 0 GROUP BY blog)"
        ).fetchone()
    assert most == 1


@pytest.mark.no_cover
def test_the_main_process_may_be_killed(runs: Runs, platforms: list[Platform], tmp_path: Path) -> None:
    some, root, count = platforms[:2], tmp_path / "fleet", 8
    line = command(mixed(tmp_path, some, count), root, "--workers", 1, "--at-once", 2, "--rate", FREE)
    check_kills(runs, some, line, root, count, 1)
    assert sum(platform.record()["again"] for platform in some) <= 2 * 2 * ENTRIES


@pytest.mark.thorough
@pytest.mark.no_cover
@pytest.mark.parametrize("kills", [4, pytest.param(20, marks=pytest.mark.slow)])
@pytest.mark.parametrize("services", [1, 3])
def test_the_limits_hold_when_the_main_process_is_killed(
    runs: Runs, platforms: list[Platform], tmp_path: Path, kills: int, services: int
) -> None:
    some, root, count = platforms[:services], tmp_path / "fleet", 30 + 12 * kills
    line = command(mixed(tmp_path, some, count), root, "--workers", services)
    check_kills(runs, some, line, root, count, kills)
    # Only the blogs under way at a kill are requested again, and their archives resume.
    assert check_budgets(some) <= kills * 12 * ENTRIES


def due(number: int, **settings: str) -> DueBlog:
    return DueBlog(number, f"b{number}.example.jp", settings, 0, 0.0)


def test_hosts_are_counted_by_the_settings_that_differ() -> None:
    asked: list[str] = []

    def settings_of(blog: DueBlog) -> Any:
        asked.append(blog.blog_id)
        return resolve({"base_url": "https://api.example.jp", **blog.settings})

    blogs = [
        *map(due, range(5)),
        due(6, base_url="https://API.example.jp/v2/"),
        due(7, base_url="https://other.example.jp"),
        due(8, base_url="no address"),
    ]
    assert hosts_of(blogs, settings_of) == {"https://api.example.jp", "https://other.example.jp"}
    assert len(asked) == 4


class ScriptedPool(OwnPool):
    """Ends tasks with the outcomes that a test sets."""

    def __init__(self, *outcomes: Outcome) -> None:
        super().__init__()
        self.outcomes = list(outcomes)
        self.begun = 0

    def submit(self, number: int, work: Callable[[Any], Any], argument: Any) -> None:
        self.begun += 1

    def done(self, seconds: float) -> list[tuple[int, Outcome]]:
        return [(0, self.outcomes.pop(0))] if self.outcomes else []


def test_a_blog_that_kills_its_worker_again_and_again_fails(tmp_path: Path) -> None:
    pool = ScriptedPool(*[Died("SIGKILL")] * 10)
    task = HostTask(tmp_path, 0, 5, {}, {}, None)

    async def run() -> list[BlogAttempt]:
        async with HostWorkers(pool, 1, task, lambda _: resolve({"base_url": "https://a.example.jp"})) as workers:
            workers.start([due(1)])
            assert (workers.free_slots, list(workers.under_way), workers.requests) == (4, [0], 0)
            found: list[BlogAttempt] = []
            while not found:
                found = await workers.ended(1.0)
            return found

    (attempt,) = asyncio.run(run())
    assert (attempt.kind, attempt.exit_code) == ("WorkerDied", 1)
    assert attempt.reason == "10 workers died while they saved this blog."
    assert pool.begun == 11
    lines = (tmp_path / ".work/hosts/0.todo").read_bytes().splitlines()
    assert [list(lossless_json.loads(line)) for line in lines] == [["line", "blog"], ["drop"], ["end"]]


@pytest.mark.parametrize(
    ("outcomes", "said"),
    [
        ([Raised(BlogExporterError("no memory"))], "no memory"),
        ([Returned(None)] * 10, "ended before its work was done"),
    ],
)
def test_a_worker_that_fails_itself_ends_the_run(tmp_path: Path, outcomes: list[Outcome], said: str) -> None:
    pool = ScriptedPool(*outcomes)

    async def run() -> None:
        task = HostTask(tmp_path, 0, 5, {}, {}, None)
        async with HostWorkers(pool, 1, task, lambda _: resolve({})) as workers:
            await workers.ended(2.0)

    with pytest.raises(BlogExporterError, match=said):
        asyncio.run(run())


def test_an_attempt_that_a_killed_run_did_not_record_is_recorded_once(tmp_path: Path) -> None:
    hosts = tmp_path / ".work" / "hosts"
    hosts.mkdir(parents=True)
    with FleetLedger.create(tmp_path) as ledger:
        ledger.list_blogs([ListedBlog(f"b{number}") for number in range(4)], 1.0)
        ledger.begin_run(10.0, {})
        ledger.record([(BlogAttempt(1, 11.0, 12.0, 0), None)])
        lines = [
            [0, "b0", 1, 11.0, 12.0, 0, None, None, 1, 5, 0, 9, "w"],
            [1, "b1", 9, 11.0, 13.0, 0, None, None, 1, 5, 0, 9, "w"],
            [2, "b2", 3, 11.0, 13.0, 3, None, "some", 1, 5, 0, 9, "w"],
            [3, "b3", 4, 11.0, 13.0, 130, "Interrupted", "stop", None, 5, 0, 9, "w"],
            [4, "unlisted", 2, 11.0, 13.0, 0, None, None, 1, 5, 0, 9, "w"],
        ]
        torn = b"[5, 4, 1"
        (hosts / "0.done").write_bytes(b"".join(lossless_json.dumps(line) + b"\n" for line in lines) + torn)
        (hosts / "0.lock").touch()
        recover(tmp_path, ledger)
        recover(tmp_path, ledger)
        ledger.begin_run(20.0, {})
        assert [blog.number for blog in ledger.due(21.0, 9)] == [4, 3]
    assert not hosts.exists()
    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as connection:
        assert connection.execute("SELECT blog, run, exit_code FROM attempts").fetchall() == [
            (1, 1, 0),
            (2, 1, 0),
            (3, 1, 3),
        ]


def test_a_worker_that_still_runs_for_another_run_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_workers, "_LOCK_SECONDS", 0.1)
    hosts = tmp_path / ".work" / "hosts"
    hosts.mkdir(parents=True)
    with ArchiveLock(hosts / "0.lock") as lock, FleetLedger.create(tmp_path) as ledger:
        lock.acquire(datetime.now(UTC))
        with pytest.raises(ArchiveLocked):
            recover(tmp_path, ledger)
