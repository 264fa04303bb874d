"""The crew of many processes: real workers, a real scheduler, and what is left when any of them is killed."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest

from exporter.archive.fleet_folder import archive_place
from exporter.errors import ArchiveError
from exporter.fleet.overview import overview
from tests.fleet.platform_service import Platform, blog_ids
from tests.support.runs import Done, Run, Runs, findings, folded

ENTRIES = 6
Processes = dict[str, list[psutil.Process]]


@pytest.fixture(scope="module")
def platform() -> Iterator[Platform]:
    with Platform(ENTRIES, 0.02) as started:
        yield started


def write_list(tmp_path: Path, count: int) -> Path:
    blogs = tmp_path / "blogs.txt"
    blogs.write_text("".join(f"{blog_id}\n" for blog_id in blog_ids(count)), encoding="utf-8")
    return blogs


def command(platform: Platform, blogs: Path, root: Path, *options: object) -> list[object]:
    """Return what runs a fleet with two workers."""
    service = ["--base-url", platform.base_url, "--assets", "none", "--total-timeout", "2s"]
    crew = ["--engine", "dask", "--workers", 2, "--at-once", 16, "--retry-after", "1s", "--tries", 20]
    return ["fleet", "run", blogs, "--into", root, *service, *crew, "--json", *options]


def saved(root: Path) -> int:
    """Return how many blogs the ledger says are saved."""
    try:
        blogs: dict[str, int] = overview(root, time.time())["blogs"]
    except ArchiveError:  # it is just being made
        return 0
    return blogs["saved"]


def has_more(root: Path, than: int) -> bool:
    return saved(root) > than


def processes(pid: int) -> Processes:
    """Return the living processes that a driver started, by what they are."""
    found: Processes = {"worker": [], "scheduler": [], "owner": []}
    for process in psutil.Process(pid).children():
        with contextlib.suppress(psutil.Error):  # it has died
            words = process.cmdline()
            if "exporter.permits.owner" in words:
                found["owner"].append(process)
            elif "exporter.fleet.dask_process" in words:
                found[words[words.index("exporter.fleet.dask_process") + 1]].append(process)
    return found


def wait_until(condition: Callable[[], bool], seconds: float = 120.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def kill_one(run: Run, kind: str) -> None:
    """Kill a process of a run once there is one."""
    wait_until(lambda: bool(processes(run.pid)[kind]))
    random.choice(processes(run.pid)[kind]).kill()


def check_whole(root: Path, count: int) -> None:
    """Check that every blog is saved, verifies, and is as the first one but for its name."""
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
    assert {len(records) for records in first.values()} != {0}
    assert saved(root) == count


def check_like_one_process(platform: Platform, runs: Runs, root: Path, tmp_path: Path) -> None:
    """Check that the first blog's archive is what a run in one process makes of the same service."""
    alone = tmp_path / "alone"
    service = ["--base-url", platform.base_url, "--assets", "none"]
    assert runs.run("fleet", "run", write_list(tmp_path, 1), "--into", alone, *service).code == 0
    (blog_id,) = blog_ids(1)
    assert folded(archive_place(alone, blog_id)) == folded(archive_place(root, blog_id))


def end_of(run: Run) -> Done:
    done = run.wait(timeout=180.0)
    assert done.code == 0, done
    return done


@pytest.mark.hostile
@pytest.mark.no_cover
def test_a_worker_may_be_killed_and_an_interrupted_run_leaves_no_process(
    platform: Platform, runs: Runs, tmp_path: Path
) -> None:
    root, blogs = tmp_path / "fleet", write_list(tmp_path, 400)
    run = runs.start(*command(platform, blogs, root))
    wait_until(partial(has_more, root, 5))
    kill_one(run, "worker")
    wait_until(partial(has_more, root, saved(root) + 20))
    found = processes(run.pid)
    began = time.monotonic()
    run.signal(signal.SIGINT)
    assert run.wait().code == 130
    assert time.monotonic() - began < 3.0
    _, left = psutil.wait_procs(found["worker"] + found["scheduler"] + found["owner"], timeout=5.0)
    assert left == []
    document = overview(root, time.time())
    assert document["run"]["exit_code"] == 130
    assert document["blogs"]["failed"] == 0


@pytest.mark.hostile
@pytest.mark.no_cover
def test_what_the_scheduler_and_the_driver_leave_when_they_die_is_not_withheld(
    platform: Platform, runs: Runs, tmp_path: Path
) -> None:
    """Their workers part in order, so that nobody waits for the two minutes that a request may take."""
    root, blogs = tmp_path / "fleet", write_list(tmp_path, 90)
    line = [*command(platform, blogs, root), "--total-timeout", "2m", "--rate", 100]
    platform.record()
    began = time.monotonic()
    run = runs.start(*line)
    wait_until(partial(has_more, root, 5))
    kill_one(run, "scheduler")
    wait_until(partial(has_more, root, 30))
    found = processes(run.pid)
    run.signal(signal.SIGKILL)
    assert run.wait().code == -signal.SIGKILL
    _, left = psutil.wait_procs(found["worker"] + found["scheduler"] + found["owner"], timeout=5.0)
    assert left == []
    assert 30 < saved(root) < 90
    assert end_of(runs.start(*line)).document["blogs"]["saved"] == 90
    assert time.monotonic() - began < 90
    check_whole(root, 90)
    assert platform.record()["again"] <= 2 * 16 * ENTRIES
    check_like_one_process(platform, runs, root, tmp_path)


SLOTS, RATE = 6, 40.0
THERE_AGAIN = 6.0
RECOVERY = THERE_AGAIN + 0.5 + 3.0 + 2.0 + 1.0 + 1.0
"""As in tests/permits/test_deaths.py: seconds until what died works again, and the owner that was there before is known
to be gone; the lease, the longest request, the time for which a place counts, and a second of margin."""


def strike(run: Run, line: list[object], runs: Runs, root: Path, kind: str) -> Run:
    """Kill something; return the run, which is another one where it was the driver."""
    if kind == "driver":
        run.signal(signal.SIGKILL)
        assert run.wait().code == -signal.SIGKILL
        return runs.start(*line)
    if kind == "owner":
        wait_until(partial(kills_owner, root / ".work/permits/lock"))
    else:
        kill_one(run, kind)
    return run


def kills_owner(lock: Path) -> bool:
    """Kill whoever has the lock; tell whether somebody living had it."""
    with contextlib.suppress(ValueError, ProcessLookupError):
        os.kill(json.loads(lock.read_bytes())["pid"], signal.SIGKILL)
        return True
    return False


def is_there(run: Run) -> bool:
    found = processes(run.pid)
    return [len(found[kind]) for kind in ("worker", "scheduler", "owner")] == [2, 1, 2]


def quiet_shares(starts: list[float], quiet: list[tuple[float, float]]) -> list[float]:
    """Return what share of the rate arrived in each of some stretches."""
    return [sum(begin <= each < end for each in starts) / (end - begin) / RATE for begin, end in quiet]


@pytest.mark.no_cover
@pytest.mark.parametrize("kind", ["worker", "scheduler", "owner", "driver"])
@pytest.mark.parametrize(
    "kills", [pytest.param(10, marks=pytest.mark.hostile), pytest.param(50, marks=pytest.mark.slow)]
)
def test_kills_lose_nothing_and_hold_to_the_budget(runs: Runs, tmp_path: Path, kind: str, kills: int) -> None:
    """The long form runs by itself: how much of the rate is reached says nothing beside tests that want the processors."""
    chance = random.Random(kind)
    is_alone = kills == 50
    count, entries = 900 if is_alone else 300, 6
    root, blogs = tmp_path / "fleet", write_list(tmp_path, count)
    quiet: list[tuple[float, float]] = []
    began = time.monotonic()
    with Platform(entries, 0.01) as platform:
        line = [*command(platform, blogs, root), "--concurrency", SLOTS, "--rate", RATE]
        run = runs.start(*line)
        for number in range(1, kills + 1):
            wait_until(partial(has_more, root, saved(root)))
            time.sleep(chance.uniform(0.0, 1.0))
            run = strike(run, line, runs, root, kind)
            if number % 10 == 0:
                wait_until(partial(is_there, run))
                time.sleep(RECOVERY)
                quiet.append((time.monotonic(), time.monotonic() + 5.0))
                time.sleep(5.0)
        assert saved(root) < count
        assert run.wait(timeout=900.0).code == 0
        found = platform.record()
        check_like_one_process(platform, runs, root, tmp_path)
    shares = quiet_shares(found["starts"], quiet)
    print(kind, round(time.monotonic() - began), found["requests"], found["again"], found["peak"], found["most_in_a_second"], [round(each, 3) for each in shares])  # noqa: T201  # fmt: skip
    check_whole(root, count)
    assert found["again"] <= kills * 16 * entries
    assert found["peak"] <= SLOTS
    assert found["most_in_a_second"] <= RATE
    assert len(shares) == kills // 10
    assert not is_alone or min(shares) >= 0.95
