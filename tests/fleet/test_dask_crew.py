"""The crew of many processes, driven in this process: with workers that are threads of it, or with workers of its own."""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import distributed
import pytest

from exporter.archive.fleet_folder import archive_place
from exporter.clock import SystemClock
from exporter.errors import Interrupted, ServiceError, UsageError
from exporter.fleet import dask_crew, dask_link
from exporter.fleet.budgets import terms_of
from exporter.fleet.dask_crew import DaskCrew
from exporter.fleet.dask_link import check_dask
from exporter.fleet.ledger import BlogAttempt, DueBlog
from exporter.fleet.overview import fleet_lock
from exporter.permits.budget import HostLimits
from exporter.settings import resolve
from tests.fleet.platform_service import Platform, blog_ids
from tests.fleet.test_dask import processes
from tests.support.runs import Runs, findings


@pytest.fixture(scope="module")
def platform() -> Iterator[Platform]:
    with Platform(3, 0.02) as started:
        yield started


def blogs(count: int) -> list[DueBlog]:
    return [DueBlog(number, blog_id, {}, 0, 0.0) for number, blog_id in enumerate(blog_ids(count), 1)]


def crew_for(root: Path, platform: Platform, at_once: int = 16, **options: Any) -> DaskCrew:
    settings = {"base_url": platform.base_url, "assets": "none", "site": "no", "markdown": "no", "total_timeout": "2s"}
    terms = terms_of(blogs(1), lambda blog: resolve({**settings, **blog.settings}, blog_id=blog.blog_id))
    soon = terms._replace(lease=0.8)
    return DaskCrew(root, settings, None, at_once, soon, SystemClock(), **options)


@asynccontextmanager
async def scheduler() -> AsyncIterator[str]:
    """A scheduler with two workers in threads, as a machine elsewhere has them in processes."""
    cluster: Any = distributed.LocalCluster  # it has no types
    options = {"n_workers": 2, "threads_per_worker": 4, "processes": False, "protocol": "tcp"}
    quiet = {"dashboard_address": "127.0.0.1:0", "worker_dashboard_address": "127.0.0.1:0", "silence_logs": 50}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Creating scratch directories")  # a busy machine is slow
        async with cluster(asynchronous=True, host="127.0.0.1", memory_limit=0, **options, **quiet) as started:
            yield started.scheduler_address


async def ends(crew: DaskCrew, count: int, seconds: float = 30.0) -> list[BlogAttempt]:
    """Wait for the ends of so many attempts."""
    found: list[BlogAttempt] = []
    end = time.monotonic() + seconds
    while len(found) < count:
        assert time.monotonic() < end, found
        found += await crew.ended(0.2)
    return found


async def test_workers_of_a_scheduler_that_is_there(platform: Platform, tmp_path: Path) -> None:
    platform.record()
    async with scheduler() as address, crew_for(tmp_path, platform, scheduler=address) as crew:
        assert crew.room == 16
        crew.start(blogs(5))
        assert (crew.room, list(crew.under_way)) == (11, [0] * 5)
        attempts = await ends(crew, 5)
        assert {attempt.exit_code for attempt in attempts} == {0}
        assert sorted(attempt.blog for attempt in attempts) == [1, 2, 3, 4, 5]
        assert len({attempt.worker for attempt in attempts}) == 2
        assert crew.room == 16
        assert crew.requests == sum(attempt.requests for attempt in attempts) == platform.record()["requests"]
    assert [findings(archive_place(tmp_path, blog_id)) for blog_id in blog_ids(5)] == [[]] * 5


async def test_a_stop_reaches_the_workers_and_waits_for_none_that_hangs(tmp_path: Path) -> None:
    with Platform(3, 5.0) as slow:
        async with scheduler() as address, crew_for(tmp_path, slow, scheduler=address) as crew:
            crew.start(blogs(20)[:16])
            while not slow.record()["peak"]:
                assert await crew.ended(0.1) == []
            begun = time.monotonic()
            crew.stop(Interrupted("Interrupted."))
            crew.stop(Interrupted("Once more."))
            attempts = await ends(crew, 16)
            assert {attempt.exit_code for attempt in attempts} == {130}
            assert time.monotonic() - begun < 1.5


async def test_workers_of_another_version_are_refused(
    platform: Platform, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with scheduler() as address, crew_for(tmp_path, platform, scheduler=address) as crew:
        monkeypatch.setattr(dask_link, "__version__", "0.1")
        crew.start(blogs(2))
        with pytest.raises(UsageError, match=r"has version 0\.1 of blog-exporter, this is"):
            await ends(crew, 1)


async def test_workers_that_see_another_folder_are_refused(platform: Platform, tmp_path: Path) -> None:
    async with scheduler() as address, crew_for(tmp_path, platform, scheduler=address) as crew:
        with fleet_lock(tmp_path) as lock:
            lock.acquire(datetime.now(UTC))
            crew.start(blogs(2))
            with pytest.raises(UsageError, match="does not see the folder"):
                await ends(crew, 1)


async def test_a_worker_that_cannot_begin_says_why(
    platform: Platform, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with scheduler() as address, crew_for(tmp_path, platform, scheduler=address) as crew:
        monkeypatch.setattr("exporter.fleet.dask_task.connect", lambda *_: 1 / 0)
        crew.start(blogs(1))
        with pytest.raises(UsageError, match="cannot save blogs: ZeroDivisionError"):
            await ends(crew, 1)


async def test_a_scheduler_that_is_not_there_is_named(
    platform: Platform, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask_link, "START_SECONDS", 0.1)
    monkeypatch.setattr(dask_link, "TRY_SECONDS", 0.3)
    with pytest.raises(ServiceError, match=r"The scheduler tcp://127\.0\.0\.1:9 does not answer, or has no workers"):
        async with crew_for(tmp_path, platform, scheduler="tcp://127.0.0.1:9"):
            pass


async def test_what_dead_workers_had_is_handed_out_again_but_not_for_ever(
    platform: Platform, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The scheduler dies, then two workers: with the second of these a blog is left for later."""
    monkeypatch.setattr(dask_crew, "_MOST_LOSSES", 2)
    with Platform(3, 5.0) as slow:
        async with crew_for(tmp_path, slow, at_once=4, workers=1) as crew:
            crew.start(blogs(4))
            for kind in ("scheduler", "worker", "worker"):
                while not slow.record()["requests"]:
                    assert await crew.ended(0.05) == []
                (victim,) = processes(os.getpid())[kind]
                victim.kill()
                victim.wait()
                slow.record()
            attempts = await ends(crew, 4, 90.0)
    assert {(attempt.exit_code, attempt.kind) for attempt in attempts} == {(1, "WorkerDied")}
    assert "2 workers died while they saved this blog" in str(attempts[0].reason)
    assert processes(os.getpid()) == {"worker": [], "scheduler": [], "owner": []}


async def test_processes_that_do_not_start_are_told_of(
    platform: Platform, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask_link, "START_SECONDS", 0.1)
    monkeypatch.setattr(dask_link, "TRY_SECONDS", 1.0)
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(ServiceError, match=r"The processes of Dask do not start .*dask\.log"):
        async with crew_for(tmp_path, platform, workers=1):
            pass


@pytest.mark.parametrize(
    ("workers", "address", "said"),
    [
        (2, "tcp://10.0.0.5:8786", "Give --workers or --scheduler, not both"),
        (None, "10.0.0.5:8786", "--scheduler is '10.0.0.5:8786': an address such as"),
        (None, "tcp://user@host:1", "--scheduler is"),
    ],
)
def test_what_cannot_be_right_is_refused(workers: int | None, address: str, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        check_dask(workers, address)
    assert str(refused.value).startswith(said)


def test_windows_and_a_missing_library_are_said_clearly(monkeypatch: pytest.MonkeyPatch) -> None:
    check_dask(None, "tls://10.0.0.5:8786")
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "distributed", None)
        with pytest.raises(UsageError, match=r"pip install 'blog-exporter\[fleet\]'"):
            check_dask(None, None)
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(UsageError, match="not on Windows"):
        check_dask(None, None)


def test_options_of_dask_need_dask(runs: Runs, tmp_path: Path) -> None:
    listed = tmp_path / "blogs.txt"
    listed.write_text("a.example.jp\n", encoding="utf-8")
    done = runs.run("fleet", "run", listed, "--into", tmp_path / "fleet", "--workers", 2)
    assert (done.code, "add --engine dask" in done.err) == (2, True)
    assert not (tmp_path / "fleet").exists()


def test_the_strictest_of_all_blogs_holds_for_their_host() -> None:
    def blog(blog_id: str, **settings: str) -> DueBlog:
        return DueBlog(1, blog_id, settings, 0, 0.0)

    asked: list[str] = []

    def settings_of(blog: DueBlog) -> Any:
        asked.append(blog.blog_id)
        return resolve({"base_url": "https://api.example.jp", "assets": "none", **blog.settings})

    listed = [
        blog("a.example.jp"),
        blog("b.example.jp"),
        blog("c.example.jp", concurrency="3", rate="9"),
        blog("d.example.jp", rate="20", total_timeout="5m"),
        blog("e.example.jp", base_url="https://other.example.jp", rate="5"),
        blog("f.example.jp", base_url="no address"),
    ]
    terms = terms_of(listed, settings_of)
    assert terms.hosts == {
        "https://api.example.jp": HostLimits(3, 9.0),
        "https://other.example.jp": HostLimits(8, 5.0),
    }
    assert terms.longest == 300.0
    assert "b.example.jp" not in asked
    assert terms_of([blog("a.example.jp", assets="linked")], settings_of).longest == 600.0
    assert terms_of([], settings_of).longest == 120.0
