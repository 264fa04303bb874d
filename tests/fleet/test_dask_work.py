"""Fleet commands on a Dask cluster whose processes are killed: the result is the same, only later."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import psutil
import pytest

from exporter.fleet.local_pool import LocalPool
from exporter.fleet.work import JobOptions, site, work_over
from tests.fleet.building import blog_name, build_blog, entry
from tests.fleet.platform_service import Platform, blog_ids
from tests.fleet.test_host_workers import (
    check_budgets,
    check_whole,
    command,
    has_more,
    kill_a_worker,
    mixed,
    saved,
    wait_until,
)
from tests.fleet.test_pools import cluster
from tests.support.runs import Run, Runs

pytestmark = [pytest.mark.thorough, pytest.mark.no_cover]

BLOGS = 100


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("dask-work") / "fleet"
    for number in range(BLOGS):
        build_blog(root, blog_name(number), [entry(each, period_flg="f") for each in range(1, 9)])
    return root


@pytest.fixture(scope="module")
def sites(pristine: Path) -> dict[str, bytes]:
    """Return the sites made by processes without Dask."""
    root = pristine.with_name("local")
    shutil.copytree(pristine, root)
    assert {result.state for result in work_over(root, site, JobOptions(), LocalPool(2))} == {"made"}
    return files(root)


@pytest.fixture
def root(pristine: Path, tmp_path: Path) -> Path:
    shutil.copytree(pristine, tmp_path / "fleet")
    return tmp_path / "fleet"


def files(root: Path) -> dict[str, bytes]:
    found = (path for path in root.glob("??/*/latest/**/*") if path.is_file())
    return {str(path.relative_to(root)): path.read_bytes() for path in found}


def made(root: Path) -> int:
    return sum(1 for _ in root.glob("??/*/latest/site/index.html"))


def made_more(root: Path, than: int) -> bool:
    return made(root) > than


def start(runs: Runs, root: Path) -> Run:
    return runs.start("fleet", "site", root, "--engine", "dask", "--workers", 2, "--json")


def test_killed_workers_lose_nothing(runs: Runs, root: Path, sites: dict[str, bytes]) -> None:
    chance = random.Random(1)
    run = start(runs, root)
    done = 0
    for _ in range(5):
        wait_until(partial(made_more, root, done))
        time.sleep(chance.uniform(0.0, 0.3))
        kill_a_worker(run.pid, chance, recursive=True)
        done = made(root)
    assert done < BLOGS
    ended = run.wait(timeout=300.0)
    assert ended.code == 0, ended
    assert (ended.document["archives"], ended.document["failed"]) == (BLOGS, 0)
    assert files(root) == sites


@pytest.mark.parametrize(
    "number",
    [signal.SIGTERM, *(pytest.param(each, marks=pytest.mark.slow) for each in (signal.SIGINT, signal.SIGKILL))],
)
def test_a_terminated_command_leaves_no_process(
    runs: Runs, root: Path, sites: dict[str, bytes], number: signal.Signals
) -> None:
    run = start(runs, root)
    wait_until(partial(made_more, root, 10))
    left = psutil.Process(run.pid).children(recursive=True)
    run.signal(number)
    done = run.wait()
    assert made(root) < BLOGS  # it did not end because its work was done
    assert done.code == {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGKILL: -9}[number]
    assert "Traceback" not in done.err
    assert psutil.wait_procs(left, timeout=60.0)[1] == []
    again = start(runs, root).wait(timeout=120.0)
    assert (again.code, again.document["archives"]) == (0, BLOGS), again
    assert again.document["up_to_date"] >= 10
    assert files(root) == sites


@pytest.fixture(scope="module")
def platforms() -> Iterator[list[Platform]]:
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(Platform(4, 0.02)) for _ in range(2)]


def test_blogs_of_a_cluster_whose_workers_and_main_process_are_killed(
    runs: Runs, platforms: list[Platform], tmp_path: Path
) -> None:
    """The cluster survives. Its work for a killed run ends before the next run sends any request."""
    root, blogs, chance = tmp_path / "fleet", mixed(tmp_path, platforms, 80), random.Random(1)
    for platform in platforms:
        platform.record()
    with cluster(2, 1) as address:
        line = command(blogs, root, "--engine", "dask", "--scheduler", address)
        run = runs.start(*line)
        for kind in ("worker", "main", "worker", "main"):
            wait_until(partial(has_more, root, saved(root) + 3))
            if kind == "worker":
                kill_a_worker(os.getpid(), chance, recursive=True)
            else:
                run.signal(signal.SIGKILL)
                assert run.wait().code == -signal.SIGKILL
                run = runs.start(*line)
        done = run.wait(timeout=300.0)
    assert done.code == 0, done
    check_whole(root, 80)
    assert len(blog_ids(80)) == saved(root)
    assert check_budgets(platforms) <= 4 * 12 * 4
