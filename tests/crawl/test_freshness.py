"""Reading fewer entries: refresh policies and validators, and all entries that must be read."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from exporter import lossless_json
from exporter.crawl.backup import BackupRun
from exporter.crawl.events import Event, SweepDone
from exporter.crawl.freshness import Freshness
from exporter.demo.content import fields
from exporter.errors import Interrupted
from exporter.model.kinds import Kind
from exporter.service.interface import Validators
from tests.crawl.conftest import NOON, Clock, MakeCrawl, copy_as_killed
from tests.support import faults
from tests.support.demo_service import DemoService, ServiceOptions
from tests.support.generated import generated_blog
from tests.support.runs import folded, held

ETAGS = ServiceOptions(etag=True)


async def test_unchanged_entries_are_asked_for_with_their_validators(crawl_of: MakeCrawl) -> None:
    blog = generated_blog(20)
    async with DemoService(blog, ETAGS) as service:
        crawl = crawl_of(service)
        await crawl.run()
        assert not any("If-None-Match" in each.headers for each in service.requests)
        blog.entries[7] = {**fields(blog.entries[7]), "entry_text": "本文だけ"}
        whole = (await crawl.run()).outcome
        assert len(crawl.gets) == 20
        asked = [each for each in service.requests if each.path.endswith("entry/get")]
        assert all(each.headers["If-None-Match"] for each in asked)
        assert whole.counts["entries"].changed == 1
        assert folded(crawl.root) == held(blog)
        assert (await crawl.run()).outcome.outcome == "unchanged"


async def test_validators_of_another_state_are_never_sent(crawl_of: MakeCrawl) -> None:
    """A run died after its version and before it stored validators: an edit that is undone must not pass unnoticed."""
    blog = generated_blog(3)
    async with DemoService(blog, ETAGS) as service:
        crawl = crawl_of(service)
        await crawl.run()
        first = blog.entries[2]
        kept = (crawl.root / ".work/freshness.jsonl").read_bytes()
        blog.entries[2] = {**fields(first), "entry_text": "改"}
        await crawl.run()
        (crawl.root / ".work/freshness.jsonl").write_bytes(kept)
        blog.entries[2] = first
        assert (await crawl.run()).outcome.version == 3
        assert not any("If-None-Match" in each.headers for each in service.requests)
        assert folded(crawl.root) == held(blog)


async def test_validators_of_entries_read_before_a_kill_come_along(crawl_of: MakeCrawl) -> None:
    blog = generated_blog(3)
    async with DemoService(blog, ETAGS) as service:
        crawl = crawl_of(service)
        await crawl.run()
        first = blog.entries[2]
        blog.entries[2] = {**fields(first), "entry_text": "改"}
        left = crawl.root.with_name("left")

        def look(run: BackupRun, event: Event) -> None:
            if event == SweepDone(1, False):
                copy_as_killed(crawl.root, left)
                run.stop(Interrupted("dead"))

        await crawl.run(look)
        shutil.rmtree(crawl.root)
        left.rename(crawl.root)
        assert (await crawl.run()).outcome.version == 2
        assert crawl.gets == []
        blog.entries[2] = first
        assert (await crawl.run()).outcome.version == 3
        assert all("If-None-Match" in each.headers for each in service.requests if each.path.endswith("get"))
        assert folded(crawl.root) == held(blog)


async def test_changed_reads_entries_that_are_new_or_listed_differently(crawl_of: MakeCrawl) -> None:
    blog = generated_blog(50)
    async with DemoService(blog) as service:
        crawl = crawl_of(service)
        await crawl.run(refresh="changed")
        assert len(crawl.gets) == 50
        blog.entries[3] = {**fields(blog.entries[3]), "title": "改題"}
        blog.entries[4] = {**fields(blog.entries[4]), "entry_text": "本文だけ"}
        blog.entries[51] = {**fields(blog.entries[5]), "entry_id": "51"}
        await crawl.run(refresh="changed")
        assert sorted(crawl.gets) == ["3", "51"]
        # Reading all entries finds the body that changed without a trace in the list.
        await crawl.run(refresh="all")
        assert folded(crawl.root) == held(blog)


async def test_changed_reads_entries_that_failed_last_time(crawl_of: MakeCrawl) -> None:
    blog = generated_blog(50)
    async with DemoService(blog) as service:
        crawl = crawl_of(service)
        await crawl.run()
        blog.entries[3] = {**fields(blog.entries[3]), "title": "改題", "entry_text": "新"}
        service.before = faults.only("entry_id=3", faults.status(404))
        assert (await crawl.run(refresh="changed")).code == 3
        service.before = None
        assert (await crawl.run(refresh="changed")).code == 0
        assert crawl.gets == ["3"]
        assert folded(crawl.root) == held(blog)


async def test_auto_reads_the_newest_and_the_old_spread_over_the_days(crawl_of: MakeCrawl) -> None:
    blog = generated_blog(150)
    async with DemoService(blog) as service:
        crawl = crawl_of(service)
        await crawl.run(refresh="auto")
        assert len(crawl.gets) == 150
        read: set[str] = set()
        for day in range(1, 8):
            crawl.clock = Clock(NOON + timedelta(days=day))
            await crawl.run(refresh="auto")
            assert {str(number) for number in range(131, 151)} <= set(crawl.gets)
            assert 20 <= len(crawl.gets) < 75
            read |= set(crawl.gets)
        assert len(read) == 150
        # A second run on the same day has only the newest to read.
        await crawl.run(refresh="auto")
        assert len(crawl.gets) == 20


async def test_auto_without_memory_reads_all(crawl_of: MakeCrawl) -> None:
    async with DemoService(generated_blog(40)) as service:
        crawl = crawl_of(service)
        await crawl.run(refresh="auto")
        (crawl.root / ".work/freshness.jsonl").unlink()
        await crawl.run(refresh="auto")
        assert len(crawl.gets) == 40


async def test_an_entry_edited_while_it_is_swept_is_read_again(crawl_of: MakeCrawl) -> None:
    blog = generated_blog(30)
    async with DemoService(blog, ETAGS) as service:
        crawl = crawl_of(service)

        def edit(_run: BackupRun, event: Event) -> None:
            if event == SweepDone(1, False):
                blog.entries[3] = {**fields(blog.entries[3]), "title": "改題", "entry_text": "新"}

        ran = await crawl.run(edit)
        assert (ran.code, ran.outcome.sweeps) == (0, 3)
        assert crawl.gets.count("3") == 2
        assert folded(crawl.root)[Kind.ENTRIES] == held(blog)[Kind.ENTRIES]


def test_stored_validators_are_read_back(tmp_path: Path) -> None:
    path = tmp_path / "freshness.jsonl"
    made = Freshness(path, None)
    now = datetime(2026, 3, 1, tzinfo=UTC)
    made.note("1", now, Validators('"a"', None))
    made.note("2", now, Validators(None, "Sun, 01 Mar 2026 00:00:00 GMT"))
    made.note("3", now, Validators())
    made.note("1", now, Validators())
    made.note("1", now, Validators('"b"'))
    made.note("\ud800", now, Validators('"c"'))
    made.save("seal", ["1", "2", "3", "\ud800", "unknown"])
    found = Freshness(path, "seal")
    assert (found.last_read, found.validators) == (made.last_read, made.validators)
    assert set(found.last_read) == {"1", "2", "3", "\ud800"}
    assert found.validators["1"].etag == '"b"'
    assert_empty(path, "another")
    assert_empty(path, None)


def test_validators_stay_until_an_entry_is_read_or_a_new_version_exists(tmp_path: Path) -> None:
    path = tmp_path / "freshness.jsonl"
    made = Freshness(path, None)
    made.note("1", NOON, Validators('"a"'))
    made.save("seal", ["1"])
    written = path.stat().st_mtime_ns, path.read_bytes()
    same = Freshness(path, "seal")
    same.save("seal", ["1"])
    assert (path.stat().st_mtime_ns, path.read_bytes()) == written
    same.note("2", NOON, Validators())
    same.save("seal", ["1", "2"])
    assert set(Freshness(path, "seal").last_read) == {"1", "2"}
    Freshness(path, "seal").save("newer", ["2"])
    assert set(Freshness(path, "newer").last_read) == {"2"}


def test_an_entry_that_loses_its_validator_loses_it(tmp_path: Path) -> None:
    made = Freshness(tmp_path / "freshness.jsonl", None)
    made.note("1", NOON, Validators('"a"'))
    made.note("1", NOON, Validators())
    assert made.validators == {}


@pytest.mark.parametrize(
    "text", [b"", b"\n", b"[1]\n", b"x", b'["1","2026-03-01T00:00:00Z"]\n', b'["1","yesterday",null,null]\n', b"{}\n"]
)
def test_a_damaged_file_of_validators_is_ignored(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "freshness.jsonl"
    assert_empty(path, "seal")
    path.write_bytes(lossless_json.dumps({"manifest_sha256": "seal"}) + b"\n" + text)
    assert_empty(path, "seal")
    path.write_bytes(text)
    assert_empty(path, "seal")


def assert_empty(path: Path, sealed: str | None) -> None:
    """Check that nothing is stored."""
    found = Freshness(path, sealed)
    assert (found.last_read, found.validators) == ({}, {})
