"""The synchronous calls of the public API, each with its own event loop, and their agreement with the commands."""

from __future__ import annotations

import asyncio
import shutil
import signal
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

import exporter
from exporter.archive.archive import Archive
from exporter.crawl.events import EntryRead
from exporter.errors import ArchiveDamaged, HistoriesDiffer, Interrupted, UsageError
from exporter.library.capture import capture
from exporter.settings import Settings
from tests.cli.conftest import Program
from tests.support.demo_service import DemoService
from tests.support.generated import generated_blog

BLOG = "generated.blog.example.jp"


@pytest.fixture
def settings() -> Iterator[Settings]:
    with DemoService(generated_blog(12)).run_in_thread() as service:
        yield Settings(base_url=service.base_url, assets="none", markdown=False, site=False)


def test_a_backup_in_one_call(settings: Settings, tmp_path: Path) -> None:
    events: list[exporter.BackupEvent] = []
    outcome = exporter.backup_blog(str(tmp_path / "blog"), BLOG, settings, on_event=events.append)
    assert (outcome.outcome, outcome.version, outcome.exit_code, outcome.problems) == ("saved", 1, 0, [])
    assert sum(isinstance(each, EntryRead) for each in events) == 12
    again = exporter.backup_blog(tmp_path / "blog", BLOG, settings)
    assert (again.outcome, again.version, again.exit_code) == ("unchanged", None, 0)
    assert exporter.Archive.open(str(tmp_path / "blog")).versions() == [1]
    with pytest.raises(UsageError, match="is the archive of generated"):
        exporter.backup_blog(tmp_path / "blog", "other.blog.example.jp", settings)
    with pytest.raises(UsageError, match="unknown"):
        exporter.backup_blog(tmp_path / "new", BLOG, replace(settings, base_url=None))
    (tmp_path / "file").write_text("")
    with pytest.raises(exporter.errors.BlogExporterError, match="file"):
        exporter.backup_blog(tmp_path / "file", BLOG, settings)
    assert not (tmp_path / "new").exists()


def test_an_interrupted_call_frees_the_archive_and_the_next_one_resumes(settings: Settings, tmp_path: Path) -> None:
    def interrupt(event: object) -> None:
        if isinstance(event, EntryRead):
            signal.raise_signal(signal.SIGINT)

    def fail(event: object) -> None:
        if isinstance(event, EntryRead):
            raise LookupError  # noqa: TRY004 - any error

    slow = replace(settings, concurrency=1)
    with pytest.raises(KeyboardInterrupt):
        exporter.backup_blog(tmp_path / "blog", BLOG, slow, on_event=interrupt)
    with pytest.raises(LookupError):
        exporter.backup_blog(tmp_path / "blog", BLOG, slow, on_event=fail)
    outcome = exporter.backup_blog(tmp_path / "blog", BLOG, settings)
    assert (outcome.exit_code, outcome.version) == (0, 1)
    assert outcome.resumed_from is not None


async def test_inside_an_event_loop_a_call_names_the_other_way(settings: Settings, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"backup_blog was called inside a running event loop.* Use open_backup there"):
        exporter.backup_blog(tmp_path / "blog", BLOG, settings)
    async with exporter.open_backup(tmp_path / "blog", BLOG, settings) as run:
        async for _ in run:
            pass
    assert run.outcome.exit_code == 0
    assert (await asyncio.to_thread(exporter.backup_blog, tmp_path / "blog", BLOG, settings)).outcome == "unchanged"


async def test_a_closed_engine_is_refused(settings: Settings, tmp_path: Path) -> None:
    async with exporter.Engine() as engine:
        pass
    with pytest.raises(UsageError, match="The engine is closed because its async with has ended"):
        async with exporter.open_backup(tmp_path / "blog", BLOG, settings, engine=engine):
            pass


def test_a_closing_service_is_read_whole(settings: Settings, tmp_path: Path) -> None:
    exporter.backup_blog(tmp_path / "blog", BLOG, settings)
    last = replace(settings, refresh="changed", closing=date(2030, 1, 1))
    events: list[exporter.BackupEvent] = []
    exporter.backup_blog(tmp_path / "blog", BLOG, last, on_event=events.append)
    assert sum(isinstance(each, EntryRead) for each in events) == 12


def test_a_search_finds_what_the_command_finds(archive: Path, program: Program) -> None:
    found = exporter.search_blog(Archive.open(archive), "海", kind="entry", limit=3)
    document = program("search", archive, "海", "--kind", "entry", "--limit", 3, "--json").json
    assert ([hit.document() for hit in found.hits], found.total) == (document["hits"], document["found"])
    newest = exporter.search_blog(Archive.open(archive), "海", kind="entry", by_date=True)
    dates = [hit.date for hit in newest.hits if hit.date is not None]
    assert dates == sorted(dates, reverse=True)
    assert len(dates) > 2
    with pytest.raises(UsageError, match="nothing to search for"):
        exporter.search_blog(Archive.open(archive), "  ")


def test_a_copy_is_whole_or_an_error(archive: Path, tmp_path: Path) -> None:
    copy, other = tmp_path / "copy", tmp_path / "other"
    results: list[exporter.SyncResult] = []
    (sent,) = exporter.sync(archive, str(copy), on_result=results.append)
    assert sent.objects > 0
    assert results == [sent]
    assert [each.objects for each in exporter.sync(archive, copy)] == [0]
    exporter.sync(copy, other, dry_run=True)
    assert not other.exists()
    with pytest.raises(UsageError, match="synced to itself"):
        exporter.sync(archive, archive)
    (tmp_path / "file").write_text("x", "utf-8")
    for places in ((archive, tmp_path / "file"), (tmp_path / "file", archive), ("s3://one/a", tmp_path / "file")):
        with pytest.raises(UsageError, match="file is a file: name a folder"):
            exporter.sync(*places)
    with pytest.raises(UsageError, match="must be a folder"):
        exporter.sync("s3://one/a", "s3://two/b")
    (damaged,) = list((archive / "versions" / "000002").glob("entries.jsonl"))
    damaged.chmod(0o600)
    damaged.write_bytes(damaged.read_bytes()[:-5])
    with pytest.raises(ArchiveDamaged):
        exporter.sync(archive, other)


def test_a_backup_is_stopped_with_an_error_of_the_program(tmp_path: Path, settings: Settings) -> None:
    async def stopped(error: Any) -> None:
        async with exporter.open_backup(tmp_path / "stopped", BLOG, settings) as run:
            async for _ in run:
                run.stop(error)

    for error in (ValueError("x"), "x", None):
        with pytest.raises(UsageError, match=r"error is .*: the type exporter\.errors\.BlogExporterError is expected"):
            asyncio.run(stopped(error))
    with pytest.raises(Interrupted, match="enough"):
        asyncio.run(stopped(Interrupted("enough")))


def test_two_histories_are_a_conflict(archive: Path, tmp_path: Path, settings: Settings) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    exporter.backup_blog(one, BLOG, settings)
    shutil.copytree(one, two)
    for root, entries in ((one, 13), (two, 14)):
        with DemoService(generated_blog(entries)).run_in_thread() as service:
            exporter.backup_blog(root, BLOG, replace(settings, base_url=service.base_url))
    with pytest.raises(HistoriesDiffer):
        exporter.sync(one, two)


def test_a_capture_obeys_the_limits_of_a_program(tmp_path: Path) -> None:
    def limits(**given: object) -> tuple[object, object]:
        chosen = Settings(home_url="https://a.example/", **given)  # type: ignore[arg-type]  # of any type
        how = capture(tmp_path / "pages", "a.example", chosen, exporter.Engine()).run.settings
        return how.rate, how.concurrency

    own = limits()
    assert limits(rate=7.5, concurrency=3) == (7.5, 3) != own
