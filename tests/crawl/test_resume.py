"""Runs that were killed, and the runs that resume them."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncGenerator, Callable
from datetime import timedelta
from pathlib import Path

import pytest

from exporter.archive.archive import Archive
from exporter.archive.layout import Layout
from exporter.archive.manifest import Manifest
from exporter.crawl.backup import BackupRun
from exporter.crawl.events import EntryRead, Event, PageRead, RecordFailed, Resumed, SetAside, Started, SweepDone
from exporter.demo.content import Blog, RecordList, fields
from exporter.errors import Interrupted, LongPause, NoSpace, Terminated
from exporter.model.kinds import Kind
from tests.crawl.conftest import NOON, Clock, Crawl, MakeCrawl, Ran, copy_as_killed
from tests.support import faults
from tests.support.demo_service import DemoService, ServiceOptions
from tests.support.generated import generated_blog
from tests.support.runs import all_findings, findings, folded, held, lines_of_runs


async def die(
    crawl: Crawl,
    when: Event | type[Event],
    count: int = 1,
    *,
    also: Callable[[Event], None] = lambda _: None,
    **given: object,
) -> None:
    """Leave in the archive the files that a SIGKILL at the ``count``-th event of this kind would leave."""
    left = crawl.root.with_name("left")
    seen = 0

    def look(run: BackupRun, event: Event) -> None:
        nonlocal seen
        also(event)
        if event == when or type(event) is when:
            seen += 1
            if seen == count:
                copy_as_killed(crawl.root, left)
                run.stop(Interrupted("dead"))

    ran = await crawl.run(look, **given)
    assert isinstance(ran.error, Interrupted)
    assert seen >= count
    shutil.rmtree(crawl.root)
    left.rename(crawl.root)


def asked(crawl: Crawl) -> list[str]:
    return [
        f"{each.path} {each.params.get('page', each.params.get('entry_id', ''))}" for each in crawl.service.requests
    ]


@pytest.mark.parametrize(
    ("when", "count"),
    [
        (PageRead, 1), (PageRead, 9), (EntryRead, 1), (EntryRead, 7), (SweepDone(1, False), 1),
        (PageRead(Kind.COMMENTS, 2, 2, 4), 1), (SweepDone(2, True), 1),
    ],
)  # fmt: skip
async def test_only_entries_in_flight_are_repeated(crawl_of: MakeCrawl, when: Event | type[Event], count: int) -> None:
    blog = generated_blog(15, 18, 11)
    pages = ServiceOptions(entry_page_size=5, comment_page_size=5, file_page_size=5)
    async with DemoService(blog, pages) as service:
        crawl = crawl_of(service)
        await die(crawl, when, count)
        before = len(crawl.gets)
        ran = await crawl.run()
        assert ran.code == 0
        assert ran.of(Resumed)[0].started_at == ran.outcome.resumed_from == "2026-03-01T12:00:00Z"
        # The user and the lists are requested again, and the entries in flight.
        assert len(crawl.gets) + before <= 15 + 8
        assert folded(crawl.root) == held(blog)
        assert findings(crawl.root) == []
        assert not (crawl.root / ".work/checkpoint").exists()
        assert (await crawl.run()).outcome.outcome == "unchanged"


async def test_records_of_the_checkpoint_are_counted(crawl_of: MakeCrawl) -> None:
    async with DemoService(generated_blog(10, 10, 10)) as service:
        crawl = crawl_of(service)
        await die(crawl, SweepDone(1, False))
        ran = await crawl.run()
        # Entries, their list items, comments and files; the user is always read again.
        assert ran.of(Resumed) == [Resumed("2026-03-01T12:00:00Z", 40)]
        assert crawl.gets == []


async def test_an_interrupted_first_run_never_makes_a_later_one_believe_it_has_everything(crawl_of: MakeCrawl) -> None:
    blog = generated_blog(30)
    async with DemoService(blog) as service:
        for refresh in ("changed", "auto", "all"):
            crawl = crawl_of(service)
            shutil.rmtree(crawl.root, ignore_errors=True)
            await die(crawl, EntryRead, 7, refresh=refresh)
            assert list(crawl.root.glob("versions/*")) == []
            shutil.rmtree(crawl.root / ".work")
            assert (await crawl.run(refresh=refresh)).code == 0
            assert len(crawl.gets) == 30
            assert folded(crawl.root) == held(blog)


async def test_a_page_whose_note_is_torn_off_does_not_count(crawl_of: MakeCrawl) -> None:
    """The checkpoint has the page's records, but nothing that follows from them, so they count as unseen."""
    blog = generated_blog(30, 0, 0)
    async with DemoService(blog) as service:
        crawl = crawl_of(service)
        await crawl.run()
        blog.entries[30] = {**fields(blog.entries[30]), "title": "改題", "entry_text": "新"}
        await die(crawl, PageRead(Kind.ENTRY_LIST, 1, 1, 2), refresh="changed")
        spool = crawl.root / ".work/checkpoint/entry_list.jsonl"
        kept = [line for line in spool.read_bytes().splitlines(keepends=True) if not line.startswith(b'{"journal"')]
        spool.write_bytes(b"".join(kept) + b'{"journal":{"sweep":1,"page":1,"ids":["3')
        assert len(kept) == 1
        assert (await crawl.run(refresh="changed")).code == 0
        assert crawl.gets == ["30"]
        assert folded(crawl.root) == held(blog)


async def test_an_entry_whose_note_is_torn_off_is_read_again(crawl_of: MakeCrawl) -> None:
    blog = generated_blog(3)
    async with DemoService(blog) as service:
        crawl = crawl_of(service)
        await die(crawl, SweepDone(1, False))
        spool = crawl.root / ".work/checkpoint/entries.jsonl"
        spool.write_bytes(spool.read_bytes()[:-5])
        assert (await crawl.run()).code == 0
        assert len(crawl.gets) == 1
        assert folded(crawl.root) == held(blog)


@pytest.mark.parametrize("times", [1, 2])
async def test_an_entry_that_changes_after_it_was_read_is_read_again(crawl_of: MakeCrawl, times: int) -> None:
    """The killed run saw the archive's own list item, so its files have none."""
    blog = generated_blog(9)
    async with DemoService(blog) as service:
        crawl = crawl_of(service)
        assert (await crawl.run()).code == 0
        await die(crawl, SweepDone(1, False))
        blog.entries[7] = {**fields(blog.entries[7]), "title": "改題", "entry_text": "新"}
        if times == 2:
            await die(crawl, PageRead(Kind.ENTRY_LIST, 1, 1, 1))
        assert (await crawl.run()).code == 0
        assert crawl.gets == ["7"]
        assert folded(crawl.root) == held(blog)


async def test_a_change_between_two_sweeps_outlives_a_kill(crawl_of: MakeCrawl) -> None:
    blog = generated_blog(9)

    def edit(event: Event) -> None:
        if isinstance(event, SweepDone):
            blog.entries[7] = {**fields(blog.entries[7]), "title": "改題", "entry_text": "新"}

    async with DemoService(blog) as service:
        crawl = crawl_of(service)
        await die(crawl, PageRead(Kind.ENTRY_LIST, 2, 1, 1), also=edit)
        assert (await crawl.run()).code == 0
        assert crawl.gets == ["7"]
        assert folded(crawl.root) == held(blog)


@pytest.mark.parametrize("when", [SweepDone(1, False), SweepDone(2, True)], ids=["first sweep", "last sweep"])
async def test_changes_after_the_kill_are_found(crawl_of: MakeCrawl, when: SweepDone) -> None:
    blog = generated_blog(45, 10, 0)
    async with DemoService(blog) as service:
        crawl = crawl_of(service)
        await die(crawl, when)
        blog.entries[7] = {**fields(blog.entries[7]), "title": "改題", "entry_text": "新"}
        del blog.entries[9]
        blog.entries[46] = {**fields(blog.entries[3]), "entry_id": "46"}
        ran = await crawl.run()
        assert ran.code == 0
        assert sorted(crawl.gets) == ["46", "7", "9"]  # 9 was listed before, so it is requested once
        assert [each.reason for each in ran.of(RecordFailed)] == ["entries: gone since they were read, and left out: 1"]
        found = folded(crawl.root)
        assert "9" not in {*found[Kind.ENTRIES], *found[Kind.ENTRY_LIST]}
        assert ran.outcome.completeness is not None
        assert ran.outcome.completeness["entries"]["saved"] == len(found[Kind.ENTRIES]) == 45
        assert found[Kind.ENTRIES]["7"] == held(blog)[Kind.ENTRIES]["7"]
        assert "46" in found[Kind.ENTRIES]


async def test_what_the_owner_removes_after_a_kill_is_in_no_version(crawl_of: MakeCrawl) -> None:
    """Otherwise the next run would refuse to remove so much of it."""
    blog = generated_blog(40, 12, 8)
    async with DemoService(blog) as service:
        crawl = crawl_of(service)
        await die(crawl, SweepDone(1, False))
        for number in range(1, 31):
            del blog.entries[number]
        left = [each for each in blog.comments if int(str(fields(each)["entry_id"])) > 30]
        blog.comments = RecordList(left)
        del blog.files[:3]
        ran = await crawl.run()
        assert ran.code == 0
        assert folded(crawl.root) == held(blog)
        assert [each.kind for each in ran.of(RecordFailed)] == [Kind.ENTRIES, Kind.FILES, Kind.COMMENTS]
        assert (await crawl.run()).outcome.outcome == "unchanged"


async def test_a_list_that_failed_whole_in_an_earlier_sweep(crawl_of: MakeCrawl) -> None:
    blog = generated_blog(5, 5, 45)
    async with DemoService(blog) as service:
        crawl = crawl_of(service)
        service.before = faults.only(
            "file/list?id=generated.blog.example.jp&page=1", faults.times(1, faults.status(404))
        )
        await die(crawl, PageRead(Kind.FILES, 2, 2, 3))
        service.before = None
        assert (await crawl.run()).code == 0
        assert folded(crawl.root) == held(blog)


async def test_a_run_that_is_killed_repeatedly(crawl_of: MakeCrawl) -> None:
    blog = generated_blog(60, 70, 41)
    async with DemoService(blog) as service:
        crawl = crawl_of(service)
        read = 0
        for _ in range(4):
            await die(crawl, EntryRead, 4)
            read += len(crawl.gets)
        assert (await crawl.run()).code == 0
        assert read + len(crawl.gets) <= 60 + 4 * 8
        assert folded(crawl.root) == held(blog)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"refresh": "changed"}, "with other settings"),
        ({"entry_list_page_param": "seite"}, "with other settings"),
        ({"base_url": "http://127.0.0.1:1"}, "from another address"),
    ],
)
async def test_a_checkpoint_of_other_settings_is_set_aside(
    crawl_of: MakeCrawl, change: dict[str, str], word: str
) -> None:
    blog = generated_blog(9)
    async with DemoService(blog) as service:
        crawl = crawl_of(service)
        await die(crawl, EntryRead, 5)
        ran = await crawl.run(None, **change)
        assert ran.of(SetAside) == [SetAside(f"it was made {word}")]
        assert ran.of(Resumed) == []
        assert len(crawl.gets) == 9
        assert (crawl.root / ".work/checkpoint.aside").is_dir()


async def test_a_checkpoint_of_another_blog_or_version_is_set_aside(crawl_of: MakeCrawl) -> None:
    blog = generated_blog(9)
    async with DemoService(blog) as service:
        crawl = crawl_of(service)
        await crawl.run()
        await die(crawl, EntryRead, 5)
        meta = crawl.root / ".work/checkpoint/meta.json"
        text = meta.read_text()
        meta.write_text(text.replace('"blog_id": "generated', '"blog_id": "another'))
        assert (await crawl.run()).of(SetAside) == [SetAside("it was made of another blog")]
        await die(crawl, EntryRead, 5)
        meta.write_text(text.replace('"parent": 1', '"parent": 7'))
        assert (await crawl.run()).of(SetAside) == [SetAside("it was made on top of another version")]


async def test_an_old_checkpoint_is_set_aside(crawl_of: MakeCrawl) -> None:
    blog = generated_blog(9)
    async with DemoService(blog) as service:
        crawl = crawl_of(service)
        await die(crawl, EntryRead, 5)
        crawl.clock = Clock(NOON + timedelta(hours=24, seconds=1))
        ran = await crawl.run()
        assert ran.of(SetAside) == [SetAside("it is from 2026-03-01T12:00:00Z, older than resume_max_age")]
        assert len(crawl.gets) == 9
        await die(crawl, EntryRead, 5)
        crawl.clock = Clock(NOON)
        assert "yet to come" in (await crawl.run()).of(SetAside)[0].reason


@pytest.mark.parametrize("meta", [b"", b"[]", b"{}", b"not json", b'{"started_at":5}'])
async def test_a_checkpoint_that_cannot_be_read_is_set_aside(crawl_of: MakeCrawl, meta: bytes) -> None:
    async with DemoService(generated_blog(3)) as service:
        crawl = crawl_of(service)
        await die(crawl, EntryRead, 2)
        (crawl.root / ".work/checkpoint/meta.json").write_bytes(meta)
        ran = await crawl.run()
        assert (ran.code, ran.of(SetAside)) == (0, [SetAside("it cannot be read")])


async def test_a_folder_without_its_meta_is_no_checkpoint(crawl_of: MakeCrawl) -> None:
    async with DemoService(generated_blog(3)) as service:
        crawl = crawl_of(service)
        await die(crawl, EntryRead, 2)
        (crawl.root / ".work/checkpoint/meta.json").unlink()
        ran = await crawl.run()
        assert (ran.code, ran.of(SetAside), ran.of(Resumed)) == (0, [], [])


@pytest.mark.parametrize(("error", "code"), [(Interrupted("stop"), 130), (Terminated("stop"), 143)])
async def test_stopping_keeps_the_checkpoint_and_leaves_a_line(
    crawl_of: MakeCrawl, error: Interrupted, code: int
) -> None:
    async with DemoService(generated_blog(60)) as service:
        crawl = crawl_of(service)
        ran = await crawl.run(lambda run, event: run.stop(error) if isinstance(event, EntryRead) else None)
        assert ran.error is error
        assert (ran.code, ran.outcome.outcome) == (code, "interrupted")
        assert [line["outcome"] for line in lines_of_runs(crawl.root)] == ["interrupted"]
        assert (crawl.root / ".work/checkpoint").is_dir()
        ran = await crawl.run()
        assert ran.code == 0
        assert len(crawl.gets) < 60


async def test_a_run_stopped_before_it_starts(crawl_of: MakeCrawl) -> None:
    async with DemoService(generated_blog(3)) as service:
        crawl = crawl_of(service)
        async with crawl.started() as run:
            run.stop(Interrupted("stop"))
            with pytest.raises(Interrupted):
                [event async for event in run.events()]
        assert service.requests == []
        assert not crawl.root.exists()


async def test_a_run_without_a_consumer_ends(crawl_of: MakeCrawl) -> None:
    async with DemoService(generated_blog(60)) as service:
        crawl = crawl_of(service)
        async with crawl.started() as run:
            events = run.events()
            assert isinstance(await anext(events), Started)
            assert isinstance(events, AsyncGenerator)
            await events.aclose()
        assert not [task for task in asyncio.all_tasks() if "BackupRun" in repr(task)]


async def test_a_run_that_read_nothing_keeps_no_checkpoint(crawl_of: MakeCrawl) -> None:
    blog = generated_blog(3)
    async with DemoService(blog) as service:
        crawl = crawl_of(service)
        await crawl.run()
        service.before = faults.status(500)
        ran = await crawl.run()
        assert ran.code == 20
        assert not (crawl.root / ".work/checkpoint").exists()


async def test_a_disk_that_fails_at_the_sync_ends_the_run(crawl_of: MakeCrawl, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_checkpoint: object) -> None:
        raise NoSpace("full")

    async with DemoService(generated_blog(30)) as service:
        monkeypatch.setattr("exporter.crawl.checkpoint.Checkpoint.sync", full)
        monkeypatch.setattr("exporter.crawl.backup._SYNC_SECONDS", 0.0)
        service.before = faults.slow(0.05)
        crawl = crawl_of(service)
        ran = await crawl.run()
        assert isinstance(ran.error, NoSpace)
        assert ran.outcome.exit_code == 28


async def test_the_checkpoint_reaches_the_disk_while_the_run_is_under_way(
    crawl_of: MakeCrawl, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced = 0
    real = os.fsync

    def fsync(handle: int) -> None:
        nonlocal synced
        synced += 1
        real(handle)

    monkeypatch.setattr("exporter.crawl.checkpoint.os.fsync", fsync)
    monkeypatch.setattr("exporter.crawl.backup._SYNC_SECONDS", 0.01)
    async with DemoService(generated_blog(30)) as service:
        service.before = faults.slow(0.02)
        assert (await crawl_of(service).run()).code == 0
    assert synced > len(Kind)


class Halting:
    """Stops a commit while it writes its lines, or after it is completed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, late: bool) -> None:
        self.run: BackupRun | None = None
        from exporter.archive import writer  # noqa: PLC0415

        real = writer.commit

        def commit(layout: Layout, draft: writer.VersionDraft) -> Manifest:
            loop = self.loop
            if late:
                made = real(layout, draft)
            assert self.run is not None
            asyncio.run_coroutine_threadsafe(self._stop(self.run), loop).result()
            return made if late else real(layout, draft)

        self.loop = asyncio.get_running_loop()
        monkeypatch.setattr("exporter.archive.writer.commit", commit)

    async def _stop(self, run: BackupRun) -> None:
        run.stop(Interrupted("stop"))

    def __call__(self, run: BackupRun, _event: Event) -> None:
        self.run = run


async def test_stopping_in_the_middle_of_a_commit(crawl_of: MakeCrawl, monkeypatch: pytest.MonkeyPatch) -> None:
    blog = generated_blog(30)
    async with DemoService(blog) as service:
        crawl = crawl_of(service)
        with monkeypatch.context() as patched:
            ran = await crawl.run(Halting(patched, late=False))
        assert (ran.code, ran.outcome.version) == (130, None)
        assert Archive.open(crawl.root).newest() is None
        assert (crawl.root / ".work/checkpoint").is_dir()
        ran = await crawl.run()
        assert (ran.code, crawl.gets) == (0, [])
        assert folded(crawl.root) == held(blog)


async def test_stopping_when_the_commit_is_through(crawl_of: MakeCrawl, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run is saved and its line says so; only then does it end as requested."""
    blog = generated_blog(30)
    async with DemoService(blog) as service:
        crawl = crawl_of(service)
        with monkeypatch.context() as patched:
            ran = await crawl.run(Halting(patched, late=True))
        assert isinstance(ran.error, Interrupted)
        line = lines_of_runs(crawl.root)[-1]
        assert (line["outcome"], line["version"], line["exit_code"]) == ("saved", 1, 0)
        assert not (crawl.root / ".work/checkpoint").exists()
        assert folded(crawl.root) == held(blog)


async def test_a_commit_whose_run_died_before_its_line(crawl_of: MakeCrawl) -> None:
    blog = generated_blog(30)
    blog.list_items = {99: {"entry_id": "99"}}
    async with DemoService(blog) as service:
        crawl = crawl_of(service)
        await crawl.run()
        before = crawl.root.with_name("before")
        shutil.copytree(crawl.root, before)
        blog.entries[3] = {**fields(blog.entries[3]), "title": "改題"}
        left = crawl.root.with_name("left")

        def look(_run: BackupRun, event: Event) -> None:
            if event == SweepDone(2, True):
                shutil.copytree(crawl.root / ".work/checkpoint", left)

        assert (await crawl.run(look)).outcome.version == 2
        left.rename(crawl.root / ".work/checkpoint")
        lines = (crawl.root / "runs.jsonl").read_bytes().splitlines(keepends=True)
        (crawl.root / "runs.jsonl").write_bytes(lines[0] + lines[1][:30])
        shutil.copyfile(before / "SHA256SUMS", crawl.root / "SHA256SUMS")

        ran = await crawl.run()
        assert (ran.of(SetAside), ran.of(Resumed), ran.outcome.version) == ([], [], None)
        assert len(crawl.gets) == 31 + 1
        runs = lines_of_runs(crawl.root)
        assert [run["version"] for run in runs] == [1, 2, None]
        assert (runs[1]["outcome"], runs[1]["exit_code"], runs[1]["requests"]) == ("partial", 3, None)
        assert runs[1]["problems"][0]["id"] == "99"
        assert runs[1]["error"] == runs[2]["error"]
        assert [finding for finding in all_findings(crawl.root) if "latest" not in finding] == []


async def test_a_service_that_asks_for_an_endless_pause(crawl_of: MakeCrawl) -> None:
    async with DemoService(generated_blog(30)) as service:
        service.before = faults.only("entry/get", faults.status(503, retry_after=999_999))
        crawl = crawl_of(service)
        ran = await crawl.run()
        assert type(ran.error) is LongPause
        assert (ran.code, ran.outcome.outcome) == (20, "failed")
        assert (crawl.root / ".work/checkpoint").is_dir()


async def test_an_unchanged_list_page_is_noted_without_its_records(crawl_of: MakeCrawl) -> None:
    async with DemoService(generated_blog(5, 5, 5), ServiceOptions()) as service:
        crawl = crawl_of(service)
        await crawl.run()
        sizes: list[int] = []

        def look(_run: BackupRun, event: Event) -> None:
            if isinstance(event, SweepDone):
                spool = Path(crawl.root / ".work/checkpoint/comments.jsonl")
                sizes.append(sum(line.startswith(b'{"op"') for line in spool.read_bytes().splitlines()))

        await crawl.run(look)
        assert sizes == [0, 0]


async def test_ran_is_shown_by_its_reasons(crawl_of: MakeCrawl) -> None:
    async with DemoService(Blog("b.example.jp", {"nickname": "id のない人"})) as service:
        ran: Ran = await crawl_of(service).run()
        assert ran.code == 3
        assert ran.reasons == ("user None: the user could not be read: user? answered 200: the answer has no usable id")


@pytest.mark.parametrize(
    "damage", ["hole", "hole in a record", "changed letter", "no journal line", "not what it says"]
)
async def test_records_after_a_damaged_line_of_the_checkpoint_are_read_again(crawl_of: MakeCrawl, damage: str) -> None:
    """As after a power cut: a note without its record would claim that the archive has a record that is missing."""
    blog = generated_blog(30, 10, 5)
    async with DemoService(blog) as service:
        crawl = crawl_of(service)
        assert (await crawl.run()).code == 0
        for key, record in list(blog.entries.items()):
            blog.entries[key] = {**fields(record), "title": f"改題された {key} 番の記事"}
        await die(crawl, EntryRead, 20)
        spool = crawl.root / ".work/checkpoint/entries.jsonl"
        lines = spool.read_bytes().splitlines(keepends=True)
        begun = next(place for place, line in enumerate(lines) if place > 9 and line.startswith(b'{"op"'))
        size = len(lines[begun])
        lines[begun] = {
            "hole": bytes(size),
            "hole in a record": lines[begun][:200] + bytes(size - 201) + b"\n",
            "changed letter": lines[begun].replace("改題".encode(), "改訂".encode()),
            "no journal line": b'{"journal":{"read":\n',
            "not what it says": b'{"journal":{"sweep":1}}\n',
        }[damage]
        spool.write_bytes(b"".join(lines))
        ran = await crawl.run()
        assert ran.code == 0
        assert ran.outcome.resumed_from is not None
        assert folded(crawl.root) == held(blog)
        assert findings(crawl.root) == []


async def test_a_new_entry_without_a_text_is_named_after_an_interruption_and_believed_the_second_time(
    crawl_of: MakeCrawl,
) -> None:
    blog = generated_blog(12, 5, 0)
    blog.entries[3] = {name: value for name, value in fields(blog.entries[3]).items() if name != "entry_text"}
    async with DemoService(blog) as service:
        crawl = crawl_of(service)
        await die(crawl, EntryRead, 11)
        for reasons in ("entries 3: its answer has no text, not even an empty one", ""):
            ran = await crawl.run(refresh="changed")
            assert ran.code == (3 if reasons else 0)
            assert ran.reasons.startswith(reasons)
            assert folded(crawl.root)[Kind.ENTRIES].keys() == {str(key) for key in blog.entries}
            assert crawl.gets.count("3") <= 1
