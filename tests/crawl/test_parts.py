"""A crawl's smaller parts, each tested alone."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from exporter import lossless_json
from exporter.archive.manifest import RecordProblem
from exporter.archive.state import KindState
from exporter.crawl import commit
from exporter.crawl.assets.summary import AbsentAsset, AssetSummary, Tally
from exporter.crawl.checkpoint import Checkpoint, Purpose, Spool, drop, note_of, read_meta, set_aside
from exporter.crawl.ingest import BackupSettings, EntryCounts
from exporter.crawl.ledger import UNSEEN, Ledger
from exporter.crawl.outcome import assess
from exporter.crawl.sweep import SweepResult, compare_comments
from exporter.crawl.tasks import finish_in_thread, run_together
from exporter.errors import ApiError, ArchiveDamaged, BlogExporterError, NoSpace
from exporter.model.asset import AssetState
from exporter.model.kinds import Kind
from exporter.service.blog_v1 import BlogV1
from tests.crawl.conftest import NOON
from tests.crawl.reading import reading

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
        base.put(str(number), lossless_json.freeze({"cm_id": number}).identity, 1, (0, 0, 0))
    made = Ledger(base, spool)
    yield made
    made.close()


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sets(st.integers(1, 4)), st.lists(st.tuples(st.integers(1, 4), st.integers(1, 3)), max_size=6))
def test_unseen_records_are_found_without_a_look_at_each(
    spool: Spool, ids: set[int], seen: list[tuple[int, int]]
) -> None:
    """With IDs that are the archive's own objects, and with others."""
    base, asked = KindState(), KindState()
    for number in (1, 2, 3):
        base.put(str(number), lossless_json.freeze({"cm_id": number}).identity, 1, (0, 0, 0))
    for number in sorted(ids):
        asked.put(str(number), bytes(32), 1, (0, 0, 0))
    with contextlib.closing(Ledger(base, spool)) as ledger:
        for number, sweep in sorted(seen, key=lambda each: each[1]):
            ledger.observe(str(number), lossless_json.freeze({"cm_id": number}), sweep)
        for sweep in (1, 2, 3):
            expected = [each for each in map(str, sorted(ids)) if ledger.seen(each) < sweep]
            assert list(ledger.never_seen_since(sweep, asked.keys)) == expected
            assert ledger.count_seen(sweep) == len(list(ledger.seen_in(sweep)))


def test_a_ledger_compares_with_the_archive_and_then_with_the_sweep_before(ledger: Ledger) -> None:
    same, other = lossless_json.freeze({"cm_id": 1}), lossless_json.freeze({"cm_id": 1, "x": 1})
    assert ledger.seen("1") == ledger.seen("99") == UNSEEN
    assert ledger.observe("1", same, 1).agrees
    assert not ledger.observe("9", same, 1).agrees
    assert ledger.observe("9", same, 1).agrees
    assert ledger.observe("1", same, 2).agrees
    assert not ledger.observe("1", other, 2).agrees
    assert not ledger.observe("2", lossless_json.freeze({"cm_id": 2}), 2).agrees, "no sweep before saw it"
    assert ledger.identity("1") == other.identity
    assert ledger.identity("99") is None
    assert [record_id for record_id, _, _ in ledger.changes()] == ["1", "9"]
    assert list(ledger.absent_since(1)) == ["3"]
    assert list(ledger.absent_since(2)) == ["3"]
    assert list(ledger.seen_in(2)) == ["1", "2"]
    assert list(ledger.seen_in(1)) == ["9"]


def test_a_ledger_reads_back_what_it_spooled(ledger: Ledger, spool: Spool) -> None:
    ledger.observe("9", lossless_json.freeze({"cm_id": 9}), 1)
    spool.flush()
    frozen = ledger.frozen("9")
    assert frozen is not None
    assert lossless_json.loads(frozen.data) == {"cm_id": 9}
    assert ledger.frozen("1") is None


def test_a_spool_that_was_cut_is_noticed(ledger: Ledger, spool: Spool) -> None:
    ledger.observe("9", lossless_json.freeze({"cm_id": 9}), 1)
    spool.flush()
    spool.path.write_bytes(b"")
    with pytest.raises(ArchiveDamaged, match="was changed while it was in use"):
        ledger.frozen("9")


def test_marking_an_unknown_record_does_nothing(ledger: Ledger) -> None:
    assert ledger.mark("99", 1) == UNSEEN
    assert ledger.seen("99") == UNSEEN


def test_marking_returns_the_last_sweep(ledger: Ledger) -> None:
    ledger.observe("9", lossless_json.freeze({"cm_id": 9}), 1)
    for record_id, before in (("1", UNSEEN), ("9", 1)):
        assert ledger.mark(record_id, 2) == before
        assert ledger.mark(record_id, 3) == 2
        assert ledger.seen(record_id) == 3
    assert list(ledger.seen_in(3)) == ["1", "9"]
    assert list(ledger.absent_since(3)) == ["2", "3"]
    ledger.mark("2", 3), ledger.mark("3", 4)
    assert list(ledger.absent_since(3)) == []


def test_counts_and_lines_of_a_commit(ledger: Ledger, spool: Spool) -> None:
    ledger.observe("1", lossless_json.freeze({"cm_id": 1, "x": 1}), 1)
    ledger.observe("2", lossless_json.freeze({"cm_id": 2, "x": 1}), 1)
    ledger.observe("10", lossless_json.freeze({"cm_id": 10}), 1)
    ledger.observe("9", lossless_json.freeze({"cm_id": 9}), 1)
    spool.flush()
    gone = {"2": {"why": 1}, "3": {"why": 2}}
    counts = commit.count(ledger, gone)
    assert (counts.total, counts.new, counts.changed, counts.gone) == (3, 2, 1, 2)
    found = [lossless_json.loads(change.line) for change in commit.changes(ledger, gone)]
    assert [(line["op"], line["id"]) for line in found] == [
        ("put", "1"), ("remove", "2"), ("remove", "3"), ("put", "9"), ("put", "10"),
    ]  # fmt: skip
    assert commit.has_changes({Kind.COMMENTS: counts})
    assert not commit.has_changes({})


def test_a_spool_keeps_records_and_notes_in_order(spool: Spool) -> None:
    assert spool.put("1", lossless_json.freeze({"cm_id": "1"})) == (0, spool.size)
    spool.journal({"page": 1})
    place = spool.put("2", lossless_json.freeze({"cm_id": "2"}))
    lines = list(spool.lines())
    assert [note_of(line) for _, line in lines] == [None, {"page": 1}, None]
    assert lines[2] == (place[0], lines[2][1])
    assert len(lines[2][1]) == place[1]


def test_a_journal_line_outlives_the_process_at_once(spool: Spool) -> None:
    spool.put("1", lossless_json.freeze({"cm_id": "1"}))
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
def test_a_full_disk_is_reported_and_closing_raises_nothing(tmp_path: Path) -> None:
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
    """A partly removed folder would be taken for a checkpoint with less progress."""
    folder = tmp_path / "checkpoint"
    Checkpoint.begin(folder, PURPOSE, NOON).close()

    def dies(_folder: object) -> None:
        if (tmp_path / "checkpoint.old").exists():
            raise OSError("killed")

    monkeypatch.setattr("exporter.archive.safe_files.InnerPath.remove", dies)
    with pytest.raises(BlogExporterError):
        drop(folder)
    assert not folder.exists()
    assert read_meta(folder) is None


def test_setting_aside_replaces_an_earlier_checkpoint(tmp_path: Path) -> None:
    folder = tmp_path / "checkpoint"
    for number in (1, 2):
        Checkpoint.begin(folder, PURPOSE, NOON + timedelta(days=number)).close()
        set_aside(folder)
    meta = read_meta(tmp_path / "checkpoint.aside")
    assert meta is not None
    assert meta["started_at"] == "2026-03-03T12:00:00Z"


def test_a_run_s_purpose_names_its_assumptions() -> None:
    purpose = BackupSettings("b.example.jp", "https://api.example.jp").purpose(BlogV1().options, None, None)
    assert purpose.settings["entry_list_page_param"] == "page"
    assert purpose.settings["timezone"] == "JST"
    assert lossless_json.loads(lossless_json.dumps(purpose.document("now")))["settings"] == purpose.settings


def sweeps(**more: SweepResult) -> dict[Kind, SweepResult]:
    found = {
        kind: SweepResult(kind, complete=True, agreed=True) for kind in (Kind.ENTRY_LIST, Kind.COMMENTS, Kind.FILES)
    }
    return found | {Kind(name): result for name, result in more.items()}


def assessed(found: dict[Kind, SweepResult] | None = None, **more: Any) -> tuple[dict[str, Any], list[RecordProblem]]:
    """Assess a run of two sweeps in which nothing else is missing."""
    assets = more.pop("assets", AssetSummary())
    return assess(reading(found or sweeps(), **more), assets)


def left_out(pending: int = 0, lost: int = 0, by_choice: int = 0) -> dict[str, int]:
    return {"pending": pending, "lost": lost, "by_choice": by_choice}


def test_complete_when_nothing_is_missing() -> None:
    document, problems = assessed()
    assert (document["complete"], document["sweeps"], document["sweeps_agreed"], problems) == (True, 2, True, [])


def test_everything_that_is_missing_is_a_problem() -> None:
    entries = SweepResult(Kind.ENTRY_LIST, complete=True, agreed=True, listed=5, tally=9)
    comments = SweepResult(Kind.COMMENTS, complete=True, agreed=True, listed=8, expected=9)
    files = SweepResult(Kind.FILES, complete=True, agreed=True, listed=1, total=2, tally=10, total_size=20)
    pending = AbsentAsset("http://h/a", AssetState.PENDING, "it answered 503", known=False)
    lost = AbsentAsset("http://h/b", AssetState.LOST, "it answered 404", known=False)
    assets = AssetSummary(
        addresses=Tally(3, 1, 1, 2), uploads=Tally(0, 1), nameless=("5",), absent=(pending, lost), bytes_saved=7
    )
    document, problems = assessed(
        sweeps(entry_list=entries, comments=comments, files=files),
        entries=EntryCounts(2, 1, 2),
        unread={"7": "why", "8": "because"},
        short_comments={"3": 1},
        user=ApiError("user", {}, 404, "no"),
        assets=assets,
    )
    assert [(each.kind, each.id) for each in problems] == [
        ("entries", "7"), ("entries", "8"), ("user", None), ("comments", None), ("files", None), ("files", None),
        ("assets", "http://h/a"),
    ]  # fmt: skip
    assert not document["complete"]
    assert document["entries"] == {
        "listed": 5, "saved": 3, "left_out": left_out(2), "read": 2, "carried_over": 1, "contradicted": 0,
        "list_complete": True,
    }  # fmt: skip
    assert document["comments"] == {
        "listed": 9, "saved": 8, "left_out": left_out(1), "expected": 9, "list_complete": True,
    }  # fmt: skip
    assert document["files"] == {
        "listed": 2, "saved": 0, "left_out": left_out(2), "without_address": 1, "not_on_list": 1, "expected": 2,
        "bytes_saved": 7, "bytes_listed": 10, "bytes_expected": 20, "list_complete": True,
    }  # fmt: skip
    assert document["assets"] == {"listed": 7, "saved": 3, "left_out": left_out(1, 1, 2)}
    assert document["user"] == {"read": False}
    _, strict = assessed(assets=assets, strict_assets=True)
    assert [(each.kind, each.id) for each in strict] == [
        ("files", None), ("assets", "http://h/a"), ("assets", "http://h/b"),
    ]  # fmt: skip


@pytest.mark.parametrize("state", [AssetState.LOST, AssetState.LEFT_OUT])
def test_lost_and_excluded_files_leave_a_backup_complete(state: AssetState) -> None:
    summary = AssetSummary(
        addresses=Tally.of([state]), uploads=Tally.of([state]), absent=(AbsentAsset("u", state, "why", known=False),)
    )
    document, problems = assessed(assets=summary)
    assert (document["complete"], problems) == (True, [])
    _, strict = assessed(assets=summary, strict_assets=True)
    assert [each.id for each in strict] == (["u"] if state is AssetState.LOST else [])


def test_a_file_refused_by_the_address_guard_is_not_excluded_by_choice() -> None:
    refused = AssetState.REFUSED
    summary = AssetSummary(addresses=Tally.of([refused]), absent=(AbsentAsset("u", refused, "why", known=True),))
    document, problems = assessed(assets=summary)
    assert (document["complete"], [(each.id, each.reason) for each in problems]) == (False, [("u", "why")])
    assert document["assets"] == {"listed": 1, "saved": 0, "left_out": {**left_out(), "refused": 1}}


def test_totals_are_compared_even_if_the_lists_kept_changing() -> None:
    files = SweepResult(Kind.FILES, complete=True, agreed=False, listed=1, total=2)
    document, problems = assessed(sweeps(files=files), number_of_sweeps=4, short_comments={"2": 3, "10": 1})
    assert [each.reason for each in problems] == [
        (
            "4 comments that the entries count are not on the comment list, because the service keeps them back, "
            "of these entries: 2, 10"
        ),
        "the file list holds 1 files, its summary counts 2",
    ]
    assert (document["complete"], document["sweeps_agreed"]) == (False, False)


@pytest.mark.parametrize(
    ("tally", "totalsize", "said"),
    [(19, 20, True), (20, 20, False), (21, 20, True), (None, 20, False), (9, None, False)],
)
def test_files_of_another_size_than_their_summary_says(tally: int | None, totalsize: int | None, said: bool) -> None:
    files = SweepResult(Kind.FILES, complete=True, listed=2, total=2, tally=tally, total_size=totalsize)
    _, problems = assessed(sweeps(files=files))
    assert [each.reason.partition(";")[0] for each in problems] == (
        [f"the 2 files on the list have {tally} bytes together, and its summary says 20"] if said else []
    )
    _, cut = assessed(sweeps(files=replace(files, complete=False, problems=["page 2: could not be read"])))
    assert [each.reason for each in cut] == ["page 2: could not be read"]


def counted(kind: Kind, complete: bool = True, **comments: int) -> SweepResult:
    return SweepResult(kind, complete=complete, comments=Counter({name[1:]: count for name, count in comments.items()}))


def test_comments_are_compared_entry_by_entry_and_the_counts_let_go_of() -> None:
    entries = counted(Kind.ENTRY_LIST, e1=5, e2=3, e3=2)
    comments = counted(Kind.COMMENTS, e1=5, e2=1, e404=9)
    compare_comments(entries, comments, {"e1", "e2", "e3"}.__contains__)
    assert (comments.expected, comments.short) == (10, {"2": 2, "3": 2})
    assert (entries.comments, comments.comments) == (Counter(), Counter())


def test_a_comment_list_cut_short_has_its_own_problems() -> None:
    comments = counted(Kind.COMMENTS, complete=False)
    compare_comments(counted(Kind.ENTRY_LIST, e1=5), comments, {"e1"}.__contains__)
    assert (comments.expected, comments.short) == (5, {})


@pytest.mark.parametrize("mode", list(AssetState))
def test_a_tally_counts_by_state(mode: AssetState) -> None:
    tally = Tally.of([mode, mode, AssetState.SAVED])
    found = {AssetState.SAVED: tally.saved, AssetState.PENDING: tally.pending, AssetState.LOST: tally.lost}
    found |= {
        AssetState.LEFT_OUT: tally.left_out,
        AssetState.REFUSED: tally.refused,
        AssetState.DOUBTFUL: tally.doubtful,
    }
    assert found == {state: (state is mode) * 2 + (state is AssetState.SAVED) for state in AssetState}
    assert tally.listed == 3


async def test_coroutines_run_together_return_in_order_and_leaves_nothing_behind() -> None:
    async def after(turns: int) -> int:
        for _ in range(turns):
            await asyncio.sleep(0)
        return turns

    assert await run_together(after(turns) for turns in (3, 1, 2)) == [3, 1, 2]

    async def fail() -> int:
        await asyncio.sleep(0)
        raise ValueError("one")

    with pytest.raises(ValueError, match="one"):
        await run_together([fail(), after(10_000)])
    assert len(asyncio.all_tasks()) == 1


async def test_work_in_a_thread_is_finished_before_a_cancellation_is_raised() -> None:
    may_end = threading.Event()
    done: list[str] = []

    def work() -> None:
        may_end.wait()
        done.append("work")

    task = asyncio.create_task(finish_in_thread(work))
    for _ in range(3):
        await asyncio.sleep(0.01)
        task.cancel()
    await asyncio.sleep(0.01)
    assert not task.done()
    may_end.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert done == ["work"]


async def test_files_that_a_thread_opened_for_a_cancelled_task_are_closed() -> None:
    may_end = threading.Event()
    closed: list[str] = []

    def work() -> str:
        may_end.wait()
        return "opened"

    task = asyncio.create_task(finish_in_thread(work, close=closed.append))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    may_end.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert closed == ["opened"]


async def test_an_exception_in_a_thread_is_raised() -> None:
    def work() -> None:
        raise NoSpace("full")

    with pytest.raises(NoSpace):
        await finish_in_thread(work)
