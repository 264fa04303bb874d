"""A backup as a library call: its events, its lock, and early ends."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

import exporter
from exporter.archive.archive import Archive
from exporter.archive.lock import ArchiveLock
from exporter.clock import SystemClock
from exporter.crawl.events import EntryRead, PageRead, Started
from exporter.errors import ArchiveLocked, Interrupted, ServiceError, UsageError
from exporter.library.views import LatestRefreshed, LatestRepaired
from exporter.settings import Settings
from tests.support.demo_service import DemoService
from tests.support.generated import generated_blog

ENTRIES = 12


@pytest.fixture
async def service() -> AsyncIterator[DemoService]:
    async with DemoService(generated_blog(ENTRIES)) as running:
        yield running


def settings(service: DemoService, **more: object) -> Settings:
    return Settings(base_url=service.base_url, assets="none", **more)  # type: ignore[arg-type]  # fields of any type


def blog_id(service: DemoService) -> str:
    return next(iter(service.blogs))


async def back_up(service: DemoService, root: Path, dry_run: bool = False, **more: object) -> list[object]:
    wanted = settings(service, **more)
    async with exporter.open_service(blog_id(service), wanted) as opened:
        return [event async for event in exporter.backup(root, opened, wanted, dry_run=dry_run)]


def wait_for(path: Path) -> None:
    end = time.monotonic() + 30
    while not path.exists():
        assert time.monotonic() < end
        time.sleep(0.001)


async def test_events_tell_the_whole_run(service: DemoService, tmp_path: Path) -> None:
    root = tmp_path / "archive"
    events = await back_up(service, root)
    assert isinstance(events[0], Started)
    assert sum(isinstance(event, EntryRead) for event in events) == ENTRIES
    assert isinstance(events[-1], LatestRefreshed)
    assert events[-1].files > ENTRIES
    assert Archive.open(root).versions() == [1]
    assert (root / "latest" / "site" / "index.html").is_file()
    assert await back_up(service, root) != []
    assert Archive.open(root).versions() == [1]


async def test_the_outcome_is_that_of_the_run(service: DemoService, tmp_path: Path) -> None:
    wanted = settings(service, site=False)
    async with exporter.open_service(blog_id(service), wanted) as opened:
        run = exporter.backup(tmp_path / "archive", opened, wanted)
        async for _ in run:
            assert not run.outcome.finished_at or run.outcome.version == 1
    assert (run.outcome.outcome, run.outcome.version, run.outcome.exit_code) == ("saved", 1, 0)
    assert run.outcome.line().items() <= Archive.open(tmp_path / "archive").runs()[-1].items()
    assert not (tmp_path / "archive" / "latest" / "site").exists()


async def test_a_dry_run_writes_nothing(service: DemoService, tmp_path: Path) -> None:
    events = await back_up(service, tmp_path / "archive", dry_run=True)
    assert isinstance(events[-1], PageRead)
    assert list(os.scandir(tmp_path)) == []


async def test_damage_in_latest_is_reported_and_repaired(service: DemoService, tmp_path: Path) -> None:
    root = tmp_path / "archive"
    await back_up(service, root)
    page = root / "latest" / "markdown" / "index.md"
    text = page.read_bytes()
    page.write_bytes(b"scribble")
    assert LatestRepaired(1) in await back_up(service, root)
    assert page.read_bytes() == text


async def test_two_backups_of_two_blogs_share_an_event_loop(tmp_path: Path) -> None:
    async with (
        DemoService(generated_blog(ENTRIES)) as one,
        DemoService(generated_blog(5)) as two,
        asyncio.TaskGroup() as group,
    ):
        for number, each in enumerate((one, two)):
            group.create_task(back_up(each, tmp_path / str(number)))
    counts = [len(list(Archive.open(tmp_path / str(n)).records(exporter.Kind.ENTRIES))) for n in range(2)]
    assert counts == [ENTRIES, 5]


async def test_a_locked_archive_is_waited_for_without_blocking_the_loop(service: DemoService, tmp_path: Path) -> None:
    root = tmp_path / "archive"
    await back_up(service, root, site=False)
    lock = Archive.open(root).lock()
    lock.acquire(SystemClock().now())
    with pytest.raises(ArchiveLocked, match="is being written by process"):
        await back_up(service, root, site=False)
    waiting = asyncio.create_task(back_up(service, root, site=False, wait_lock=timedelta(seconds=30)))
    for _ in range(3):
        await asyncio.sleep(0.05)
        assert not waiting.done()
    lock.release()
    assert isinstance((await waiting)[-1], LatestRefreshed)


async def test_a_stop_while_waiting_for_the_lock_is_obeyed_at_once(service: DemoService, tmp_path: Path) -> None:
    root = tmp_path / "archive"
    await back_up(service, root, site=False)
    lock: ArchiveLock = Archive.open(root).lock()
    lock.acquire(SystemClock().now())
    wanted = settings(service, wait_lock=timedelta(seconds=60))
    async with exporter.open_service(blog_id(service), wanted) as opened:
        run = exporter.backup(root, opened, wanted)
        asyncio.get_running_loop().call_later(0.05, run.stop, Interrupted("Enough."))
        async with asyncio.timeout(5):
            with pytest.raises(Interrupted, match="Enough"):
                _ = [event async for event in run]
    lock.release()
    assert [line["outcome"] for line in Archive.open(root).runs()] == ["saved"]


async def test_leaving_early_releases_the_lock_and_keeps_read_records(service: DemoService, tmp_path: Path) -> None:
    root = tmp_path / "archive"
    wanted = settings(service, site=False)
    async with exporter.open_service(blog_id(service), wanted) as opened:
        async with exporter.backup(root, opened, wanted) as run:
            async for event in run:
                if isinstance(event, EntryRead):
                    break
        assert Archive.open(root).versions() == []
        service.requests.clear()
        async for _ in exporter.backup(root, opened, wanted):
            pass
    gets = [each for each in service.requests if each.path.endswith("entry/get")]
    assert len(gets) < ENTRIES
    assert Archive.open(root).versions() == [1]


def test_a_service_that_never_answers_leaves_no_folder(tmp_path: Path) -> None:
    async def run() -> None:
        wanted = Settings(base_url="http://127.0.0.1:1", retries=0)
        async with exporter.open_service("x.example", wanted) as opened:
            async for _ in exporter.backup(tmp_path / "archive", opened, wanted):
                pass

    with pytest.raises(ServiceError):
        asyncio.run(run())
    assert list(tmp_path.iterdir()) == []


async def test_a_cancelled_backup_leaves_no_half_made_view(tmp_path: Path) -> None:
    root = tmp_path / "archive"
    async with DemoService(generated_blog(300)) as service:
        task = asyncio.create_task(back_up(service, root))
        await asyncio.to_thread(wait_for, root / ".work" / "latest.new")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not (root / ".work" / "latest.new").exists()
        assert Archive.open(root).versions() == [1]
        Archive.open(root).lock().acquire(SystemClock().now())


async def test_a_service_must_be_named() -> None:
    with pytest.raises(UsageError, match="--base-url or --profile"):
        async with exporter.open_service("x.example", Settings()):
            pass


def test_a_public_name_that_is_missing_is_an_attribute_error() -> None:
    assert set(dir(exporter)) >= {"Archive", "backup", "export_blog"}
    with pytest.raises(AttributeError, match="nothing_like_it"):
        _ = exporter.nothing_like_it  # type: ignore[attr-defined]  # what is tested
