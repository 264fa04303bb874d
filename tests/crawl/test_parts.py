"""The smaller parts of a crawl, each by itself."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from exporter import codec
from exporter.archive.state import KindState
from exporter.crawl import commit
from exporter.crawl.checkpoint import Checkpoint, Purpose, Spool, drop, note_of, read_meta, set_aside
from exporter.crawl.completeness import assess
from exporter.crawl.ledger import UNSEEN, Ledger
from exporter.crawl.outcome import RunSettings
from exporter.crawl.sweep import SweepResult, count_of
from exporter.crawl.tasks import in_thread, together
from exporter.errors import ApiError, ArchiveDamaged, BlogExporterError, NoSpace
from exporter.model.kinds import Kind
from tests.crawl.conftest import NOON

PURPOSE = Purpose("b.example.jp", "https://api.example.jp", {"refresh": "all"}, 3, "ab")


@pytest.fixture
def spool(tmp_path: Path) -> Iterator[Spool]:
    made = Spool(tmp_path / "comments.jsonl")
    yield made
    made.close()


@pytest.fixture
def ledger(spool: Spool) -> Iterator[Ledger]:
    base = KindState()
    for number in (1, 2, 3):
        base.put(str(number), codec.freeze({"cm_id": number}).identity, 1, (0, 0, 0))
    made = Ledger(base, spool)
    yield made
    made.close()


def test_a_ledger_compares_with_the_archive_and_then_with_the_sweep_before(ledger: Ledger) -> None:
    same, other = codec.freeze({"cm_id": 1}), codec.freeze({"cm_id": 1, "x": 1})
    assert ledger.seen("1") == ledger.seen("99") == UNSEEN
    assert ledger.observe("1", same, 1).agrees
    assert not ledger.observe("9", same, 1).agrees
    assert ledger.observe("9", same, 1).agrees
    assert ledger.observe("1", same, 2).agrees
    assert not ledger.observe("1", other, 2).agrees
    assert not ledger.observe("2", codec.freeze({"cm_id": 2}), 2).agrees, "no sweep before saw it"
    assert ledger.identity("1") == other.identity
    assert ledger.identity("99") is None
    assert list(ledger.changed()) == ["1", "9"]
    assert list(ledger.absent_since(1)) == ["3"]
    assert list(ledger.absent_since(2)) == ["3"]
    assert list(ledger.seen_in(2)) == ["2", "1"]
    assert list(ledger.seen_in(1)) == ["9"]
    assert ledger.count_seen(2) == 2


def test_a_ledger_reads_back_what_it_spooled(ledger: Ledger, spool: Spool) -> None:
    ledger.observe("9", codec.freeze({"cm_id": 9}), 1)
    spool.flush()
    assert codec.loads(ledger.line("9"))["data"] == {"cm_id": 9}
    with pytest.raises(KeyError):
        ledger.line("1")


def test_a_spool_that_was_cut_is_noticed(ledger: Ledger, spool: Spool) -> None:
    ledger.observe("9", codec.freeze({"cm_id": 9}), 1)
    spool.flush()
    spool.path.write_bytes(b"")
    with pytest.raises(ArchiveDamaged, match="was changed while it was in use"):
        ledger.line("9")


def test_marking_what_is_unknown_does_nothing(ledger: Ledger) -> None:
    ledger.mark("99", 1)
    assert ledger.seen("99") == UNSEEN


def test_counts_and_lines_of_a_commit(ledger: Ledger, spool: Spool) -> None:
    ledger.observe("1", codec.freeze({"cm_id": 1, "x": 1}), 1)
    ledger.observe("2", codec.freeze({"cm_id": 2, "x": 1}), 1)
    ledger.observe("10", codec.freeze({"cm_id": 10}), 1)
    ledger.observe("9", codec.freeze({"cm_id": 9}), 1)
    spool.flush()
    gone = {"2": {"why": 1}, "3": {"why": 2}}
    counts = commit.count(ledger, gone)
    assert (counts.total, counts.new, counts.changed, counts.gone) == (3, 2, 1, 2)
    found = [codec.loads(line) for line in commit.lines(ledger, gone)]
    assert [(line["op"], line["id"]) for line in found] == [
        ("put", "1"), ("remove", "2"), ("remove", "3"), ("put", "9"), ("put", "10"),
    ]  # fmt: skip
    assert commit.has_changes({Kind.COMMENTS: counts})
    assert not commit.has_changes({})


def test_a_spool_keeps_records_and_notes_in_order(spool: Spool) -> None:
    assert spool.put("1", codec.freeze({"cm_id": "1"})) == (0, spool.size)
    spool.journal({"page": 1})
    place = spool.put("2", codec.freeze({"cm_id": "2"}))
    lines = list(spool.lines())
    assert [note_of(line) for _, line in lines] == [None, {"page": 1}, None]
    assert lines[2] == (place[0], lines[2][1])
    assert len(lines[2][1]) == place[1]


def test_a_journal_line_outlives_the_process_at_once(spool: Spool) -> None:
    spool.put("1", codec.freeze({"cm_id": "1"}))
    assert spool.path.read_bytes() == b""
    spool.journal({"page": 1})
    assert spool.path.read_bytes().endswith(b'{"journal":{"page":1}}\n')


def test_a_torn_tail_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"op":"put"}\n{"jour')
    opened = Spool(path)
    opened.close()
    assert (path.read_bytes(), opened.size) == (b'{"op":"put"}\n', 13)


def test_syncing_a_closed_spool_is_fine(spool: Spool) -> None:
    threads = [threading.Thread(target=spool.sync) for _ in range(8)]
    for thread in threads[:4]:
        thread.start()
    spool.close()
    for thread in threads[4:]:
        thread.start()
    for thread in threads:
        thread.join()
    spool.sync()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_told_and_closing_stays_quiet(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").symlink_to("/dev/full")
    opened = Spool.__new__(Spool)
    opened.path = tmp_path / "x.jsonl"
    opened._open = threading.Lock()
    opened._file = opened.path.open("ab", buffering=1 << 20)
    opened.size = 0
    with pytest.raises(NoSpace):
        opened.journal({"page": 1})
    opened.close()


def test_a_checkpoint_begins_resumes_and_goes(tmp_path: Path) -> None:
    folder = tmp_path / "checkpoint"
    assert Checkpoint.resume(folder, PURPOSE, NOON, timedelta(hours=1)) is None
    begun = Checkpoint.begin(folder, PURPOSE, NOON)
    begun.spools[Kind.FILES].journal({"page": 1})
    begun.sync()
    begun.close()
    found = Checkpoint.resume(folder, PURPOSE, NOON + timedelta(hours=1), timedelta(hours=1))
    assert isinstance(found, Checkpoint)
    assert found.started_at == "2026-03-01T12:00:00Z"
    assert [line for _, line in found.spools[Kind.FILES].lines()] == [b'{"journal":{"page":1}}\n']
    found.discard()
    assert list(tmp_path.iterdir()) == []


def test_a_checkpoint_is_dropped_in_one_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder half removed would be taken for a checkpoint that knows less than it did."""
    folder = tmp_path / "checkpoint"
    Checkpoint.begin(folder, PURPOSE, NOON).close()

    def dies(_path: object) -> None:
        if (tmp_path / "checkpoint.old").exists():
            raise OSError("killed")

    monkeypatch.setattr("exporter.archive.atomic.shutil.rmtree", dies)
    with pytest.raises(BlogExporterError):
        drop(folder)
    assert not folder.exists()
    assert read_meta(folder) is None


def test_setting_aside_replaces_what_was_set_aside_before(tmp_path: Path) -> None:
    folder = tmp_path / "checkpoint"
    for number in (1, 2):
        Checkpoint.begin(folder, PURPOSE, NOON + timedelta(days=number)).close()
        set_aside(folder)
    meta = read_meta(tmp_path / "checkpoint.aside")
    assert meta is not None
    assert meta["started_at"] == "2026-03-03T12:00:00Z"


def test_a_run_s_purpose_names_what_it_assumes() -> None:
    purpose = RunSettings("b.example.jp", "https://api.example.jp").purpose(None, None)
    assert purpose.settings["entry_list_page_param"] == "page"
    assert purpose.settings["timezone"] == "JST"
    assert codec.loads(codec.dumps(purpose.document("now")))["settings"] == purpose.settings


def sweeps(**more: SweepResult) -> dict[Kind, SweepResult]:
    found = {
        kind: SweepResult(kind, complete=True, agreed=True) for kind in (Kind.ENTRY_LIST, Kind.COMMENTS, Kind.FILES)
    }
    return found | {Kind(name): result for name, result in more.items()}


def test_complete_when_nothing_is_missing() -> None:
    document, problems = assess(sweeps(), number_of_sweeps=2, unread={}, user=None)
    assert (document["complete"], document["sweeps"], document["sweeps_agreed"], problems) == (True, 2, True, [])


def test_everything_that_is_missing_is_a_problem() -> None:
    entries = SweepResult(Kind.ENTRY_LIST, complete=True, agreed=True, listed=5, tally=9)
    comments = SweepResult(Kind.COMMENTS, complete=True, agreed=True, listed=8)
    files = SweepResult(Kind.FILES, complete=True, agreed=True, listed=1, filenum=2, tally=10, totalsize=20)
    document, problems = assess(
        sweeps(entry_list=entries, comments=comments, files=files),
        number_of_sweeps=2,
        unread={"7": "why", "8": "because"},
        unlisted=1,
        user=ApiError("user", {}, 404, "no"),
    )
    assert [(each.kind, each.id) for each in problems] == [
        ("entries", "7"), ("entries", "8"), ("user", None), ("comments", None), ("files", None),
    ]  # fmt: skip
    assert not document["complete"]
    assert document["entries"] == {"listed": 5, "read": 4, "unread": 2, "list_complete": True}
    assert document["comments"] == {"read": 8, "expected": 9, "list_complete": True}
    assert document["files"]["bytes_expected"] == 20


def test_lists_that_kept_changing_are_not_compared() -> None:
    entries = SweepResult(Kind.ENTRY_LIST, complete=True, agreed=False, listed=5, tally=9)
    files = SweepResult(Kind.FILES, complete=True, agreed=False, listed=1, filenum=2)
    document, problems = assess(sweeps(entry_list=entries, files=files), number_of_sweeps=4, unread={}, user=None)
    assert (problems, document["sweeps_agreed"]) == ([], False)


@pytest.mark.parametrize(
    ("value", "count"), [("7", 7), (7, 7), ("-7", 0), ("", 0), (None, 0), ([], 0), ("9" * 50, int("9" * 50))]
)
def test_counts_of_raw_records(value: object, count: int) -> None:
    assert count_of({"comment_count": value}, "comment_count") == count


async def test_together_returns_in_order_and_leaves_nothing_behind() -> None:
    async def after(turns: int) -> int:
        for _ in range(turns):
            await asyncio.sleep(0)
        return turns

    assert await together(after(turns) for turns in (3, 1, 2)) == [3, 1, 2]

    async def fail() -> int:
        await asyncio.sleep(0)
        raise ValueError("one")

    with pytest.raises(ValueError, match="one"):
        await together([fail(), after(10_000)])
    assert len(asyncio.all_tasks()) == 1


async def test_work_in_a_thread_is_waited_for_though_cancelled() -> None:
    may_end = threading.Event()
    done: list[str] = []

    def work() -> str:
        may_end.wait()
        done.append("work")
        return "result"

    async def outer() -> str:
        result = await in_thread(work)
        await asyncio.sleep(0)
        return result

    task = asyncio.create_task(outer())
    for _ in range(3):
        await asyncio.sleep(0.01)
        task.cancel()
    may_end.set()
    assert await task == "result"
    assert done == ["work"]


async def test_what_fails_in_a_thread_fails() -> None:
    def work() -> None:
        raise NoSpace("full")

    with pytest.raises(NoSpace):
        await in_thread(work)
