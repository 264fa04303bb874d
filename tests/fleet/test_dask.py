"""The crew of many processes: real workers, a real scheduler, and what is left when any of them is killed."""

from __future__ import annotations

import contextlib
import random
import signal
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest

from exporter.errors import ArchiveError
from exporter.fleet.blog_list import archive_place
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
    found: Processes = {"worker": [], "scheduler": []}
    for process in psutil.Process(pid).children():
        with contextlib.suppress(psutil.Error):  # it has died
            words = process.cmdline()
            if "exporter.fleet.dask_process" in words:
                found[words[words.index("exporter.fleet.dask_process") + 1]].append(process)
    return found


def wait_until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
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


def end_of(run: Run) -> Done:
    done = run.wait(timeout=180.0)
    assert done.code == 0, done
    return done


@pytest.mark.no_cover
def test_workers_and_the_scheduler_may_be_killed(platform: Platform, runs: Runs, tmp_path: Path) -> None:
    """What the workers make is what the crew of one process makes, and nothing is lost."""
    root, blogs = tmp_path / "fleet", write_list(tmp_path, 60)
    platform.record()
    run = runs.start(*command(platform, blogs, root))
    wait_until(lambda: saved(root) >= 5)
    kill_one(run, "worker")
    wait_until(lambda: saved(root) >= 30)
    kill_one(run, "scheduler")
    document = end_of(run).document
    assert document["blogs"]["saved"] == 60
    check_whole(root, 60)
    assert platform.record()["again"] <= 2 * 16 * ENTRIES
    alone = tmp_path / "alone"
    assert runs.run("fleet", "run", write_list(tmp_path, 1), "--into", alone, "--base-url", platform.base_url, "--assets", "none").code == 0  # fmt: skip
    (blog_id,) = blog_ids(1)
    assert folded(archive_place(alone, blog_id)) == folded(archive_place(root, blog_id))


@pytest.mark.no_cover
def test_the_driver_may_be_killed(platform: Platform, runs: Runs, tmp_path: Path) -> None:
    """Its processes end with it, and the next run does what is left."""
    root, blogs = tmp_path / "fleet", write_list(tmp_path, 40)
    platform.record()
    run = runs.start(*command(platform, blogs, root))
    wait_until(lambda: saved(root) >= 5)
    found = processes(run.pid)
    run.signal(signal.SIGKILL)
    assert run.wait().code == -signal.SIGKILL
    _, left = psutil.wait_procs(found["worker"] + found["scheduler"], timeout=5.0)
    assert left == []
    done = saved(root)
    assert 5 <= done < 40
    end_of(runs.start(*command(platform, blogs, root)))
    check_whole(root, 40)
    assert platform.record()["again"] <= 16 * ENTRIES


@pytest.mark.no_cover
def test_an_interrupted_run_ends_soon_and_leaves_no_process(platform: Platform, runs: Runs, tmp_path: Path) -> None:
    root, blogs = tmp_path / "fleet", write_list(tmp_path, 400)
    run = runs.start(*command(platform, blogs, root))
    wait_until(lambda: saved(root) >= 5)
    found = processes(run.pid)
    began = time.monotonic()
    run.signal(signal.SIGINT)
    assert run.wait().code == 130
    assert time.monotonic() - began < 3.0
    _, left = psutil.wait_procs(found["worker"] + found["scheduler"], timeout=5.0)
    assert left == []
    document = overview(root, time.time())
    assert document["run"]["exit_code"] == 130
    assert document["blogs"]["failed"] == 0


@pytest.mark.hostile
@pytest.mark.parametrize("kind", ["worker", "scheduler", "driver"])
def test_fifty_kills_lose_nothing(runs: Runs, tmp_path: Path, kind: str) -> None:
    chance = random.Random(kind)
    count, entries, kills = 400, 10, 0
    root, blogs = tmp_path / "fleet", write_list(tmp_path, count)
    with Platform(entries, 0.05) as platform:
        line = [*command(platform, blogs, root), "--total-timeout", "1s"]
        run = runs.start(*line)
        while kills < 50:
            wait_until(partial(has_more, root, saved(root)))
            time.sleep(chance.uniform(0.0, 1.0))
            if kind == "driver":
                run.signal(signal.SIGKILL)
                assert run.wait().code == -signal.SIGKILL
                run = runs.start(*line)
            else:
                kill_one(run, kind)
            kills += 1
        assert saved(root) < count
        assert run.wait(timeout=300.0).code == 0
        again = platform.record()["again"]
    check_whole(root, count)
    assert again <= kills * 16 * entries
