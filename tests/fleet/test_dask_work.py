"""Work over a fleet by processes of Dask that die: what is killed costs time, and nothing else."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import psutil
import pytest

from exporter.fleet.archive_jobs import JobOptions, site
from exporter.fleet.work import work_over
from exporter.fleet.workers import LocalHands
from tests.fleet.building import blog_name, build_blog, entry
from tests.fleet.test_dask import processes, wait_until
from tests.fleet.test_dask_hands import is_helper
from tests.support.runs import Run, Runs

pytestmark = [pytest.mark.hostile, pytest.mark.no_cover]

BLOGS = 300


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("dask-work") / "fleet"
    for number in range(BLOGS):
        build_blog(root, blog_name(number), [entry(each, period_flg="f") for each in range(1, 9)])
    return root


@pytest.fixture(scope="module")
def sites(pristine: Path) -> dict[str, bytes]:
    """Give the sites as processes without Dask make them."""
    root = pristine.with_name("local")
    shutil.copytree(pristine, root)
    assert {result.state for result in work_over(root, site, JobOptions(), LocalHands(2))} == {"made"}
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


def has_more(root: Path, than: int) -> bool:
    return made(root) > than


def helpers(pids: list[int]) -> list[psutil.Process]:
    """Return the processes that do calls for workers."""
    found = []
    for pid in pids:
        with contextlib.suppress(psutil.Error):  # it has died
            found += [each for each in psutil.Process(pid).children() if is_helper(each)]
    return found


def all_processes(run: Run) -> list[psutil.Process]:
    return psutil.Process(run.pid).children(recursive=True)


def victims(run: Run, kind: str) -> list[psutil.Process]:
    found = processes(run.pid)
    return helpers([each.pid for each in found["worker"]]) if kind == "helper" else found[kind]


def strike(run: Run, kind: str) -> None:
    """Kill a process of a kind, once there is one."""
    wait_until(lambda: bool(victims(run, kind)))
    with contextlib.suppress(psutil.NoSuchProcess, IndexError):
        random.choice(victims(run, kind)).kill()


def start(runs: Runs, root: Path) -> Run:
    return runs.start("fleet", "site", root, "--engine", "dask", "--workers", 2, "--json")


@pytest.mark.parametrize(("kind", "kills"), [("helper", 12), ("worker", 5), ("scheduler", 5)])
def test_kills_lose_nothing(runs: Runs, root: Path, sites: dict[str, bytes], kind: str, kills: int) -> None:
    chance = random.Random(kind)
    run = start(runs, root)
    done = 0
    for _ in range(kills):
        wait_until(partial(has_more, root, done))
        time.sleep(chance.uniform(0.0, 0.3))
        strike(run, kind)
        done = made(root)
    assert done < BLOGS
    ended = run.wait(timeout=300.0)
    assert ended.code == 0, ended
    assert ended.document["archives"] == BLOGS
    assert files(root) == sites


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_command_that_is_ended_leaves_no_process(
    runs: Runs, root: Path, sites: dict[str, bytes], number: signal.Signals
) -> None:
    run = start(runs, root)
    wait_until(partial(has_more, root, 10))
    left = all_processes(run)
    assert len(left) >= 5
    began = time.monotonic()
    run.signal(number)
    code = run.wait().code
    assert time.monotonic() - began < 2.5
    assert code == {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGKILL: -9}[number]
    _, alive = psutil.wait_procs(left, timeout=3.0 if number is signal.SIGKILL else 0.5)
    assert alive == []
    again = start(runs, root).wait(timeout=120.0)
    assert (again.code, again.document["archives"]) == (0, BLOGS), again
    assert again.document["up_to_date"] >= 10
    assert files(root) == sites


@contextmanager
def process(folder: Path, kind: str, *options: object) -> Iterator[psutil.Process]:
    """Run what ``dask`` does, in a folder of its own, as another machine would."""
    with (folder / f"{kind}.log").open("ab") as log:
        words = [sys.executable, "-m", f"distributed.cli.dask_{kind}", *map(str, options), "--host", "127.0.0.1"]
        found = psutil.Popen(words, cwd=folder, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        try:
            yield found
        finally:
            for each in [*found.children(recursive=True), found] if found.is_running() else []:
                with contextlib.suppress(psutil.Error):
                    each.kill()
            found.wait()


def test_a_cluster_of_others_whose_scheduler_is_killed_and_started_again(
    runs: Runs, root: Path, tmp_path: Path, sites: dict[str, bytes]
) -> None:
    """One of two workers is killed, then the scheduler; the other worker finds the next one by itself, or is anew."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"
    scheduler: Callable[[], contextlib.AbstractContextManager[psutil.Process]] = partial(
        process, elsewhere, "scheduler", "--port", port, "--dashboard-address", "127.0.0.1:0"
    )
    worker: Callable[[], contextlib.AbstractContextManager[psutil.Process]] = partial(
        process, elsewhere, "worker", address, "--nthreads", 2, "--dashboard-address", "127.0.0.1:0"
    )
    relative = os.path.relpath(root)
    with contextlib.ExitStack() as stack:
        first = stack.enter_context(scheduler())
        one, _other = stack.enter_context(worker()), stack.enter_context(worker())
        run = runs.start("fleet", "site", relative, "--engine", "dask", "--scheduler", address, "--json")
        wait_until(partial(has_more, root, 10))
        for each in [*one.children(recursive=True), one]:
            each.kill()
        wait_until(partial(has_more, root, made(root) + 10))
        first.kill()
        first.wait()
        stack.enter_context(scheduler())
        stack.enter_context(worker())
        ended = run.wait(timeout=300.0)
        assert (ended.code, ended.document["archives"], ended.document["failed"]) == (0, BLOGS, 0), ended
        assert files(root) == sites
        again = runs.start("fleet", "rebuild", relative, "--engine", "dask", "--scheduler", address, "--json")
        wait_until(lambda: bool(helpers(workers_of(address))))
        began = time.monotonic()
        again.signal(signal.SIGINT)
        assert again.wait().code == 130
        assert time.monotonic() - began < 2.5
        wait_until(lambda: not helpers(workers_of(address)), 3.0)
    assert list(root.rglob(".blog-exporter-*")) == []


def workers_of(address: str) -> list[int]:
    """Return the processes of workers, which a nanny may have started."""
    found = []
    for each in psutil.process_iter(["cmdline"]):
        if address in (each.info["cmdline"] or []):
            found += [each.pid, *(child.pid for child in each.children(recursive=True))]
    return found
