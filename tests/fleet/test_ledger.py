"""A ledger's contents, including after crashes."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from exporter.errors import ArchiveDamaged, ArchiveLocked, NewerFormat, NoArchive, UsageError
from exporter.fleet.blog_list import ListedBlog
from exporter.fleet.ledger import FILE_NAME, BlogAttempt, BlogState, FleetLedger, Listing
from exporter.fleet.overview import overview
from exporter.message import message


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[FleetLedger]:
    with FleetLedger.create(tmp_path) as opened:
        yield opened


def blogs(*names: str, **settings: str) -> list[ListedBlog]:
    return [ListedBlog(name, 0, settings, line) for line, name in enumerate(names, 1)]


def ids(ledger: FleetLedger, now: float, most: int = 10) -> list[str]:
    return [blog.blog_id for blog in ledger.due(now, most)]


def test_listing_again_keeps_the_stored_facts(ledger: FleetLedger) -> None:
    assert ledger.list_blogs(blogs("a", "b", "a"), 1.0) == Listing(2, 2, 1, 0)
    ledger.begin_run(2.0, {})
    ledger.record([(BlogAttempt(1, 2.0, 3.0, 0), None), (BlogAttempt(2, 2.0, 3.0, 20), 60.0)])
    assert ledger.list_blogs(blogs("c", "a", "b"), 4.0) == Listing(3, 1, 0)
    assert ledger.counts(4.0).states == {
        BlogState.NEW: 1, BlogState.SAVED: 1, BlogState.PARTIAL: 0, BlogState.FAILED: 1
    }  # fmt: skip
    ledger.begin_run(5.0, {})
    assert ids(ledger, 5.0) == ["c"]
    assert ids(ledger, 60.0) == ["c", "b"]
    # A blog with changed settings is due at once; one that is no longer listed is not.
    assert ledger.list_blogs(blogs("a", rate="5"), 6.0) == Listing(1, 0, 0, 2)
    assert [(blog.blog_id, blog.settings) for blog in ledger.due(6.0, 10)] == [("a", {"rate": "5"})]
    assert ledger.counts(6.0).blogs == 1
    assert ledger.list_blogs(blogs("b", "d"), 7.0) == Listing(2, 1, 0, 1)


def test_a_list_with_a_wrong_line_changes_nothing(ledger: FleetLedger) -> None:
    def wrong() -> Iterator[ListedBlog]:
        yield ListedBlog("a")
        raise UsageError("line 2")

    with pytest.raises(UsageError):
        ledger.list_blogs(wrong(), 1.0)
    assert ledger.counts(1.0).blogs == 0
    assert ledger.list_blogs(blogs("b"), 1.0) == Listing(1, 1, 0)
    assert ids(ledger, 1.0) == ["b"]


def test_the_order_is_priority_then_unsaved_blogs_then_the_list(ledger: FleetLedger) -> None:
    urgent = ListedBlog("urgent", 5)
    ledger.list_blogs([*blogs("saved", "failed", "new"), urgent], 1.0)
    ledger.begin_run(1.0, {})
    ledger.record([(BlogAttempt(1, 1.0, 2.0, 0), None), (BlogAttempt(2, 1.0, 2.0, 20), 2.0)])
    assert ids(ledger, 9.0) == ["urgent", "new"]  # a blog that this run tried is not due again in this run
    ledger.begin_run(9.0, {}, again_before=5.0)
    assert ids(ledger, 9.0) == ["urgent", "new", "failed", "saved"]
    assert ids(ledger, 9.0, 1) == ["urgent"]
    assert [blog.blog_id for blog in ledger.due(9.0, 2, without=[3, 4])] == ["failed", "saved"]


def test_a_time_recorded_with_a_wrong_clock_is_due(ledger: FleetLedger) -> None:
    future = 4e9
    ledger.list_blogs(blogs("new", "failed"), future)
    ledger.begin_run(future, {})
    ledger.record([(BlogAttempt(2, future, future, 20), future + 60)])
    ledger.begin_run(2e9, {})
    assert ids(ledger, 2e9) == ["new", "failed"]


def test_a_failed_blog_waits_unless_a_retry_is_requested(ledger: FleetLedger) -> None:
    ledger.list_blogs(blogs("a"), 1.0)
    ledger.begin_run(1.0, {})
    ledger.record([(BlogAttempt(1, 1.0, 2.0, 20), 500.0)])
    ledger.begin_run(3.0, {})
    assert ids(ledger, 3.0) == []
    ledger.begin_run(4.0, {}, retry_now=True)
    assert [blog.failures for blog in ledger.due(4.0, 1)] == [1]


def test_attempts_are_only_added(ledger: FleetLedger, tmp_path: Path) -> None:
    ledger.list_blogs(blogs("a"), 1.0)
    ledger.begin_run(1.0, {})
    ledger.record([(BlogAttempt(1, 1.0, 2.0, 0), None)])
    with sqlite3.connect(tmp_path / FILE_NAME) as other:
        for statement in ("DELETE FROM attempts", "UPDATE attempts SET exit_code = 0"):
            with pytest.raises(sqlite3.Error, match="only added"):
                other.execute(statement)
    other.close()


def test_a_killed_run_has_sent_the_requests_that_it_noted(ledger: FleetLedger, tmp_path: Path) -> None:
    ledger.list_blogs(blogs("a", "b"), 1.0)
    ledger.begin_run(1.0, {})
    ledger.record([(BlogAttempt(1, 1.0, 2.0, 0, requests=7), None)])
    ledger.note_progress({"requests": 315_000, "under_way": 1})
    run = overview(tmp_path, 9.0)["run"]
    assert (run["requests"], run["under_way"], run["running"]) == (315_000, 0, False)


def test_the_overview_summarizes_the_ledger(ledger: FleetLedger, tmp_path: Path) -> None:
    ledger.list_blogs(blogs("a", "b", "c", "d"), 1.0)
    assert overview(tmp_path, 1.0)["run"] is None
    ledger.begin_run(10.0, {"list": "x"})
    ledger.record([
        (BlogAttempt(1, 10.0, 12.0, 0, requests=30), None),
        (BlogAttempt(2, 10.0, 20.0, 20, "Unreachable", "nothing answers", requests=10), 90.0),
        (BlogAttempt(3, 10.0, 11.0, 3, "StaysIncomplete", "1 problem", 1, requests=20), 91.0),
    ])  # fmt: skip
    found = overview(tmp_path, 30.0)
    assert found["blogs"] == {"listed": 4, "new": 1, "saved": 1, "partial": 1, "failed": 1}
    assert (found["archived"], found["lasting"]) == (2, 1)
    assert (found["due"], found["due_later"], found["next_due"]) == (1, 2, "1970-01-01T00:01:30Z")
    run = found["run"]
    assert (run["running"], run["exit_code"], run["attempts"], run["requests"]) == (False, None, 3, 60)
    assert (run["seconds"], run["rate"]) == (10.0, 6.0)
    assert {(each["exit_code"], each["blogs"], each["example"]) for each in found["failures"]} == {
        (20, 1, "b"),
        (3, 1, "c"),
    }
    assert [each["blog_id"] for each in found["slowest"]] == ["b", "a", "c"]
    assert [each["blog_id"] for each in found["retry"]] == ["b", "c"]
    ledger.end_run(40.0, 3)
    assert overview(tmp_path, 50.0)["run"]["exit_code"] == 3


def test_a_reason_keeps_its_template_and_values(ledger: FleetLedger, tmp_path: Path) -> None:
    ledger.list_blogs(blogs("a", "b", "c"), 1.0)
    ledger.begin_run(10.0, {})
    reasons = [message("it answered {status}", status="\ud800"), "\ud800 plain", '{"template": 5}']
    attempts = [BlogAttempt(number, 1.0, 2.0, 20, str(number), each) for number, each in enumerate(reasons, start=1)]
    assert [BlogAttempt.of_row(json.loads(json.dumps(each.row()))).reason for each in attempts] == [
        "it answered \ud800", "? plain", '{"template": 5}',
    ]  # fmt: skip
    ledger.record([(each, 60.0) for each in attempts])
    failures = {each["example"]: each for each in overview(tmp_path, 30.0)["failures"]}
    assert failures["a"]["reason"] == "it answered \ud800"
    assert failures["a"]["message"] == {"template": "it answered {status}", "values": {"status": "\ud800"}}
    assert failures["b"]["reason"] == "? plain"
    assert "message" not in failures["b"]
    assert failures["c"]["reason"] == '{"template": 5}'


def test_after_a_run_the_ledger_is_one_file_that_a_read_only_disk_can_hold(tmp_path: Path) -> None:
    with FleetLedger.create(tmp_path) as ledger:
        ledger.list_blogs(blogs("a"), 1.0)
        reader = sqlite3.connect(tmp_path / FILE_NAME)
        assert reader.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        reader.close()
    assert [path.name for path in tmp_path.iterdir()] == [FILE_NAME]
    with contextlib.closing(sqlite3.connect(tmp_path / FILE_NAME)) as reader:
        assert reader.execute("PRAGMA journal_mode").fetchone() == ("delete",)


def test_a_reader_does_not_keep_a_run_from_ending(tmp_path: Path) -> None:
    begun = time.monotonic()
    with FleetLedger.create(tmp_path), contextlib.closing(sqlite3.connect(tmp_path / FILE_NAME)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM blogs").fetchall()
        with FleetLedger.create(tmp_path):
            pass
    assert time.monotonic() - begun < 30  # SQLite would wait for a minute


@pytest.mark.parametrize(
    "statement",
    [
        'CREATE TRIGGER t AFTER UPDATE ON blogs BEGIN UPDATE blogs SET settings = \'{"base_url": "http://x"}\'; END',
        "CREATE VIEW more AS SELECT * FROM blogs",
        "DROP TRIGGER attempts_stay",
        "DROP TABLE runs",
        "ALTER TABLE blogs ADD COLUMN more TEXT DEFAULT 'x'",
        "UPDATE fleet SET value = '9223372036854775807' WHERE name = 'listing'",
        f"UPDATE fleet SET value = '{'9' * 5000}' WHERE name = 'listing'",
        "UPDATE fleet SET value = '２' WHERE name = 'format'",
        "INSERT INTO blogs VALUES (9, '../../x', 2, 9, 0, '{}', 'new', 0, 1, 0, NULL, NULL, NULL)",
        "UPDATE blogs SET blog_id = '../../x', listed = 1",
        "UPDATE blogs SET state = 'weird'",
        "UPDATE blogs SET settings = '{'",
        "UPDATE blogs SET due_at = 'soon'",
        "UPDATE blogs SET due_at = 1e300",
        "UPDATE runs SET started_at = 1e300",
        "UPDATE runs SET started_at = 'x'",
        "UPDATE runs SET options = '['",
    ],
)
def test_values_that_no_run_writes_are_damage(tmp_path: Path, statement: str) -> None:
    with FleetLedger.create(tmp_path) as ledger:
        ledger.list_blogs(blogs("a.example.jp"), 1.0)
        ledger.begin_run(1.0, {})
    with contextlib.closing(sqlite3.connect(tmp_path / FILE_NAME)) as stranger:
        stranger.execute(statement)
        stranger.commit()

    def read_all() -> None:
        overview(tmp_path, 2.0)
        with FleetLedger.create(tmp_path) as ledger:
            list(ledger.listed())
            ledger.due(2.0, 10)
            ledger.list_blogs(blogs("b.example.jp"), 2.0)

    with pytest.raises(ArchiveDamaged, match=r"fleet\.sqlite"):
        read_all()


def test_another_programs_database_is_not_changed(tmp_path: Path) -> None:
    path = tmp_path / FILE_NAME
    with contextlib.closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE x (y)")
    before = path.read_bytes()
    with pytest.raises(ArchiveDamaged, match="is not the ledger"):
        FleetLedger.create(tmp_path)
    assert path.read_bytes() == before


def test_a_locked_or_unreadable_ledger_is_not_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("exporter.fleet.ledger._BUSY_SECONDS", 0.1)
    with FleetLedger.create(tmp_path) as ledger, contextlib.closing(sqlite3.connect(tmp_path / FILE_NAME)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(ArchiveLocked, match="is held by another program"):
            ledger.list_blogs(blogs("a"), 1.0)
    (tmp_path / "other" / FILE_NAME).mkdir(parents=True)
    with pytest.raises(UsageError, match="unable to open"):
        FleetLedger.create(tmp_path / "other")


def test_a_file_that_is_not_a_ledger_is_named(tmp_path: Path) -> None:
    with pytest.raises(NoArchive, match="is not a fleet"):
        overview(tmp_path, 1.0)
    path = tmp_path / FILE_NAME
    path.write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
    with pytest.raises(ArchiveDamaged, match=r"fleet\.sqlite, the ledger of the fleet, cannot be used"):
        overview(tmp_path, 1.0)
    path.unlink()
    sqlite3.connect(path).executescript("CREATE TABLE x (y);")
    with pytest.raises(ArchiveDamaged, match="is not the ledger"):
        overview(tmp_path, 1.0)
    path.unlink()
    with FleetLedger.create(tmp_path):
        pass
    other = sqlite3.connect(path)
    with other:
        other.execute("UPDATE fleet SET value = '9' WHERE name = 'format'")
    other.close()
    with pytest.raises(NewerFormat, match="update it"):
        FleetLedger.create(tmp_path)
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ArchiveDamaged, match="is a link"):
        overview(tmp_path, 1.0)
