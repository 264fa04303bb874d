"""Worker pools of both kinds: their results, and how they recover from dead workers."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from multiprocessing import spawn
from pathlib import Path
from typing import Any

import distributed
import pytest

from exporter.errors import BlogExporterError, ServiceError, UsageError
from exporter.fleet import dask_pool
from exporter.fleet.dask_pool import DaskPool
from exporter.fleet.local_pool import LocalPool
from exporter.fleet.pool import WorkerPool, results_as_completed
from exporter.fleet.work import work_over
from exporter.worker import processors
from tests.fleet.building import blog_name, build_blog, entry
from tests.fleet.calls import buried, deadly, deaf, doubled, killed_by, refused, slow


@contextmanager
def cluster(workers: int, threads: int) -> Iterator[str]:
    """Run a cluster whose workers are processes, like those of other machines, and yield its address."""
    make: Any = distributed.LocalCluster
    with make(
        n_workers=workers, threads_per_worker=threads, host="127.0.0.1", protocol="tcp", memory_limit=0,
        dashboard_address="127.0.0.1:0", silence_logs=50, preload=["exporter.fleet.dask_pool"],
    ) as started:  # fmt: skip
        yield started.scheduler_address


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with cluster(1, 2) as found:
        yield found


@pytest.fixture(params=["local", "dask"])
def pool(request: pytest.FixtureRequest, tmp_path: Path) -> WorkerPool:
    if request.param == "local":
        return LocalPool(2)
    (tmp_path / "fleet").mkdir(exist_ok=True)
    return DaskPool(tmp_path / "fleet", [tmp_path / "out" / "new"], scheduler=request.getfixturevalue("address"))


def test_every_argument_is_answered_by_a_process_that_keeps_to_one_processor(pool: WorkerPool) -> None:
    found = list(results_as_completed(pool, doubled, range(40)))
    assert sorted(answer for answer, _, _ in found) == list(range(0, 80, 2))
    assert os.getpid() not in {process for _, process, _ in found}
    assert {used for _, _, used in found} == {1}
    assert pool.slots == 2


def test_one_local_worker_is_this_process() -> None:
    assert list(results_as_completed(LocalPool(1), doubled, range(2))) == [
        (0, os.getpid(), processors()),
        (2, os.getpid(), processors()),
    ]


def test_an_exception_in_a_call_ends_the_work(pool: WorkerPool) -> None:
    with pytest.raises(BlogExporterError, match="ValueError: no threes"):
        list(results_as_completed(pool, refused, range(9)))


def test_an_error_of_the_program_arrives_unchanged(pool: WorkerPool) -> None:
    with pytest.raises(UsageError, match="not this"):
        list(results_as_completed(pool, usage_error, [1]))


def usage_error(_argument: int) -> int:
    raise UsageError("not this")


@pytest.mark.no_cover
@pytest.mark.parametrize("count", [15, pytest.param(30, marks=pytest.mark.thorough)])
def test_a_process_that_dies_loses_one_argument_which_is_tried_once_more(tmp_path: Path, count: int) -> None:
    numbers = range(1, count + 1)
    found = list(results_as_completed(LocalPool(2), partial(deadly, tmp_path), numbers, lost=buried))
    lost = [-number for number in numbers if number % 7 == 0 and number != 14]
    assert sorted(found) == sorted([*(number for number in numbers if number % 7), 14, *lost])


@pytest.mark.no_cover
@pytest.mark.parametrize(
    ("workers", "numbers"), [(1, (7, 1)), pytest.param(2, range(1, 16), marks=pytest.mark.thorough)]
)
@pytest.mark.thorough
def test_a_dead_worker_of_our_own_cluster_loses_one_argument(
    tmp_path: Path, workers: int, numbers: Sequence[int]
) -> None:
    pool = DaskPool(tmp_path, workers=workers)
    found = list(results_as_completed(pool, partial(deadly, tmp_path), numbers, lost=buried))
    assert sorted(found) == sorted(-number if number == 7 else number for number in numbers)


@pytest.mark.no_cover
def test_without_a_way_to_report_it_a_death_ends_the_work(tmp_path: Path) -> None:
    with pytest.raises(BlogExporterError, match=r"ended before its work was done \(SIGKILL\)"):
        list(results_as_completed(LocalPool(2), partial(deadly, tmp_path), [1, 7, 2, 3]))


@pytest.mark.no_cover
@pytest.mark.parametrize("kind", ["local", pytest.param("dask", marks=pytest.mark.thorough)])
def test_an_archive_that_kills_its_process_twice_is_named_and_all_others_are_done(tmp_path: Path, kind: str) -> None:
    for number in range(4):
        build_blog(tmp_path, blog_name(number), [entry(1)])
    pool: WorkerPool = LocalPool(2) if kind == "local" else DaskPool(tmp_path, workers=2)
    results = {each.blog_id: each for each in work_over(tmp_path, partial(killed_by, blog_name(1)), None, pool)}
    assert {name: each.state for name, each in results.items()} == {
        blog_name(number): "failed" if number == 1 else "made" for number in range(4)
    }
    assert "died twice" in (results[blog_name(1)].reason or "")


@pytest.mark.no_cover
@pytest.mark.parametrize("most_seconds", [float("inf"), pytest.param(5.0, marks=pytest.mark.thorough)])
@pytest.mark.parametrize(("work", "left"), [(slow, "tidied"), (deaf, "begun")])
def test_leaving_the_pool_ends_running_calls_within_seconds(
    tmp_path: Path, work: Callable[[Path, int], int], left: str, most_seconds: float
) -> None:
    found = results_as_completed(LocalPool(2), partial(work, tmp_path), iter(range(8)), lost=buried)
    monitor = _Monitor(tmp_path)
    with pytest.raises(KeyboardInterrupt), monitor:
        next(found)
    found.close()
    assert time.monotonic() - monitor.at < most_seconds
    assert len(list(tmp_path.glob(f"{left}*"))) == 2
    assert list(tmp_path.glob("ended*")) == []
    for each in tmp_path.glob("begun-*-*"):
        with pytest.raises(ProcessLookupError):
            os.kill(int(each.name.split("-")[-1]), 0)


class _Monitor:
    """Interrupts this process when two calls have started, like Ctrl-C."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.at = 0.0

    def __enter__(self) -> None:
        signal.signal(signal.SIGALRM, self._look)
        signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)

    def _look(self, *_: object) -> None:
        if len(list(self._folder.glob("begun*"))) == 2:
            signal.setitimer(signal.ITIMER_REAL, 0)
            self.at = time.monotonic()
            raise KeyboardInterrupt


@pytest.mark.no_cover
def test_processes_that_cannot_start_are_named_once() -> None:
    before = spawn.get_executable()
    multiprocessing.set_executable("/bin/false")
    try:
        with pytest.raises(BlogExporterError, match="No worker process can be started"):
            list(results_as_completed(LocalPool(2), doubled, range(4)))
    finally:
        multiprocessing.set_executable(os.fsdecode(before))


def test_workers_of_another_version_are_refused(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask_pool, "__version__", "0.0.1")
    with pytest.raises(UsageError, match=r"blog-exporter, this is 0\.0\.1: install the same everywhere"):
        list(results_as_completed(DaskPool(tmp_path, scheduler=address), doubled, [1]))


def test_workers_that_do_not_see_a_folder_are_refused(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hide = dask_pool._marked

    @contextmanager
    def hidden(folder: Path, path: Path) -> Iterator[Any]:
        with hide(folder, path) as marker:
            path.write_text("another disk")
            yield marker

    monkeypatch.setattr(dask_pool, "_marked", hidden)
    with pytest.raises(UsageError, match=r"does not see the folder .* share it under the same path"):
        list(results_as_completed(DaskPool(tmp_path, scheduler=address), doubled, [1]))
    assert list(tmp_path.rglob(".blog-exporter-*")) == []


def test_a_scheduler_that_does_not_exist_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask_pool, "_CONNECT_SECONDS", 0.5)
    with pytest.raises(ServiceError, match=r"The scheduler tcp://127\.0\.0\.1:9 does not answer"):
        list(results_as_completed(DaskPool(tmp_path, scheduler="tcp://127.0.0.1:9"), doubled, [1]))


@pytest.mark.thorough
def test_a_scheduler_that_dies_ends_the_work(tmp_path: Path) -> None:
    with cluster(1, 1) as address, DaskPool(tmp_path, scheduler=address) as pool:
        pool.submit(1, partial(slow, tmp_path), 1)
        while not list(tmp_path.glob("begun*")):
            time.sleep(0.02)
        began = time.monotonic()
        pool.done(0.0)
    assert time.monotonic() - began < 30
