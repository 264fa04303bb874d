"""A fleet's catalogue: its rows, the archives it reads again, damage, folders of strangers, and kills."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from exporter.archive import writer
from exporter.archive.archive import Archive
from exporter.archive.fleet_folder import archive_place, archives_in, mark_of
from exporter.archive.layout import Layout
from exporter.archive.lock import ArchiveLock
from exporter.archive.manifest import ArchiveInfo
from exporter.clock import SystemClock
from exporter.errors import ArchiveLocked, NoArchive, NoSpace, UsageError
from exporter.fleet import catalogue, catalogue_rows
from exporter.fleet.catalogue_rows import TABLES, language_of
from exporter.fleet.local_pool import LocalPool
from exporter.fleet.shards import ShardCounts
from exporter.settings import resolve
from tests.archive.builder import CREATED, Built, run_line
from tests.fleet.building import build_blog, changes, entry
from tests.fleet.shelf import SHA, shelf
from tests.fleet.tables import catalogue_rows as read

NAME = "catalogue.sqlite"


def update(root: Path, target: Path, workers: int = 1) -> ShardCounts:
    return catalogue.update(root, target, resolve({}, environ={}), LocalPool(workers), SystemClock())


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return shelf(tmp_path_factory.mktemp("shelf") / "fleet")


@pytest.fixture
def fleet(pristine: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(pristine, tmp_path / "fleet"))


def blogs_of(result: ShardCounts) -> tuple[int, int, int, int]:
    return result.blogs, result.read, result.kept, result.dropped


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.thorough)])
def test_every_row_of_every_table(fleet: Path, workers: int) -> None:
    result = update(fleet, fleet / NAME, workers)
    assert (blogs_of(result), result.trouble, result.entries) == ((3, 3, 0, 0), [], 5)
    blog = {row["blog_id"]: row for row in read(fleet / NAME, "blogs")}
    aki = blog["aki.example.jp"]
    shown = (
        "title", "owner", "state", "complete", "entries", "comments", "files", "versions", "runs", "private_entries",
        "unread_entries", "language", "files_saved", "files_missing", "file_bytes", "version", "error",
    )  # fmt: skip
    assert [aki[each] for each in shown] == [
        "秋の日記", "あき", "saved", True, 3, 1, 3, 1, 1, 1, 1, "ja", 1, 2, 12, 1, None,
    ]  # fmt: skip
    assert aki["archive"] == archive_place(Path(), "aki.example.jp").as_posix()
    assert (aki["first_entry"], aki["last_entry"]) == ("2019-03-02 03:00:00", "2020-01-01 15:00:00")
    assert blog["haru.example.com"]["language"] == "und-Latn"
    entries = {row["entry_id"]: row for row in read(fleet / NAME, "entries") if row["blog_id"] == "aki.example.jp"}
    first = entries["1"]
    assert first["link_hosts"] == ["aki.example.jp", "fuyu.example.jp"]
    assert [first[each] for each in ("links", "pictures", "pictures_missing", "comments", "year", "private")] == [
        2, 2, 1, 1, 2019, False,
    ]  # fmt: skip
    assert [row["private"] for row in entries.values()] == [False, True, None]
    assert [row["saved"] for row in entries.values()] == [True, True, False]
    assert first["characters"] == len("海 冬さん私")
    (comment,) = read(fleet / NAME, "comments")
    assert (comment["name"], comment["url_host"], comment["deleted"]) == ("まめ", "mame.example.jp", False)
    files = read(fleet / NAME, "files")
    assert [(row["state"], row["file_id"], row["entries"], row["name"]) for row in files] == [
        ("pending", "8", 0, "lost.jpg"),
        ("saved", "7", 1, "port.jpg"),
        ("lost", None, 1, None),
    ]
    assert files[1]["path"] == f"assets/ab/{SHA}.jpg"
    (version,) = [row for row in read(fleet / NAME, "versions") if row["blog_id"] == "aki.example.jp"]
    assert (version["version"], version["entries_new"], version["comments"]) == (1, 2, 1)
    assert [(row["run"], row["outcome"]) for row in read(fleet / NAME, "runs")] == [(1, "saved")] * 3


def test_two_workers_write_the_same_in_the_order_of_columns(fleet: Path) -> None:
    for workers in (1, 2):
        update(fleet, fleet / f"{workers}.sqlite", workers)
    for table in TABLES:
        one, two = (read(fleet / f"{workers}.sqlite", table) for workers in (1, 2))
        assert one == two, table
        assert [list(row) for row in one] == [list(TABLES[table])] * len(one)


class TestAgain:
    def test_only_changed_archives_are_read(self, fleet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        update(fleet, fleet / NAME)
        before = {table: read(fleet / NAME, table) for table in TABLES}
        opened: list[str] = []
        true = catalogue_rows.blog_rows

        def noted(archive: Archive, *rest: Any) -> dict[str, Any]:
            opened.append(archive.info.blog_id)
            return true(archive, *rest)

        monkeypatch.setattr(catalogue, "blog_rows", noted)
        again = update(fleet, fleet / NAME)
        assert (blogs_of(again), again.changed, opened) == ((3, 0, 3, 0), False, [])
        built = Built.reopen(archive_place(fleet, "fuyu.example.jp"))
        built.commit(changes(entries={"2": entry(2)}))
        result = update(fleet, fleet / NAME)
        assert (blogs_of(result), result.changed, opened) == ((3, 1, 2, 0), True, ["fuyu.example.jp"])
        after = {table: read(fleet / NAME, table) for table in TABLES}
        for table in TABLES:
            others = [row for row in after[table] if row["blog_id"] != "fuyu.example.jp"]
            assert others == [row for row in before[table] if row["blog_id"] != "fuyu.example.jp"]
        assert [row["entry_id"] for row in after["entries"] if row["blog_id"] == "fuyu.example.jp"] == ["1", "2"]
        assert [row["version"] for row in after["versions"] if row["blog_id"] == "fuyu.example.jp"] == [1, 2]

    def test_a_vanished_and_a_replaced_archive(self, fleet: Path) -> None:
        update(fleet, fleet / NAME)
        shutil.rmtree(archive_place(fleet, "aki.example.jp"))
        shutil.rmtree(archive_place(fleet, "fuyu.example.jp"))
        build_blog(fleet, "fuyu.example.jp", [entry(8), entry(9)])
        assert blogs_of(update(fleet, fleet / NAME)) == (2, 1, 1, 1)
        assert {row["blog_id"] for row in read(fleet / NAME, "comments")} == set()
        found = [(row["blog_id"], row["entry_id"]) for row in read(fleet / NAME, "entries")]
        assert found == [("fuyu.example.jp", "8"), ("fuyu.example.jp", "9"), ("haru.example.com", "1")]

    def test_a_damaged_archive_is_named_and_keeps_its_last_good_rows(self, fleet: Path) -> None:
        update(fleet, fleet / NAME)
        good = {table: read(fleet / NAME, table) for table in TABLES}
        place = archive_place(fleet, "aki.example.jp")
        lines, runs = place / "versions/000001/entries.jsonl", place / "runs.jsonl"
        whole, before = lines.read_bytes(), runs.read_bytes()
        lines.write_bytes(whole.replace("海".encode(), "山".encode()))
        shutil.rmtree(place / "latest")
        runs.write_bytes(before + b"\n")
        for _ in range(2):
            result = update(fleet, fleet / NAME)
            assert blogs_of(result) == (3, 0, 2, 0)
            ((where, reason),) = result.trouble
            assert where == archive_place(Path(), "aki.example.jp").as_posix()
            assert "damaged" in reason
            assert {table: read(fleet / NAME, table) for table in TABLES if table != "blogs"} == {
                table: good[table] for table in TABLES if table != "blogs"
            }
            (row,) = [row for row in read(fleet / NAME, "blogs") if row["blog_id"] == "aki.example.jp"]
            assert (row["state"], row["error"], row["entries"]) == ("damaged", reason, 3)
        lines.write_bytes(whole)
        assert blogs_of(update(fleet, fleet / NAME)) == (3, 1, 2, 0)
        (row,) = [row for row in read(fleet / NAME, "blogs") if row["blog_id"] == "aki.example.jp"]
        assert (row["state"], row["error"]) == ("saved", None)

    def test_another_edition_is_read_again(self, fleet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        update(fleet, fleet / NAME)
        before = read(fleet / NAME, "entries")
        for module in (catalogue, catalogue_rows):
            monkeypatch.setattr(module, "EDITION", 99)
        damaged = archive_place(fleet, "fuyu.example.jp")
        shutil.rmtree(damaged / "latest")
        (damaged / "versions/000001/entries.jsonl").write_bytes(b"{")
        result = update(fleet, fleet / NAME)
        assert blogs_of(result) == (3, 2, 0, 0)
        # Its rows from another edition cannot be kept.
        assert read(fleet / NAME, "entries") == [row for row in before if row["blog_id"] != "fuyu.example.jp"]

    def test_a_file_that_is_not_a_catalogue_is_never_replaced(self, fleet: Path, tmp_path: Path) -> None:
        mine = tmp_path / "mine.db"
        mine.write_text("my own")
        with pytest.raises(UsageError, match="is not a catalogue"):
            update(fleet, mine)
        assert mine.read_text() == "my own"
        link = tmp_path / "link.db"
        link.symlink_to(mine)
        with pytest.raises(UsageError):
            update(fleet, link)
        with pytest.raises(UsageError, match="among the archives"):
            update(fleet, archive_place(fleet, "fuyu.example.jp") / "catalogue")

    def test_one_at_a_time(self, fleet: Path) -> None:
        lock = ArchiveLock(fleet / f".{NAME}.work" / "lock")
        lock.acquire(SystemClock().now())
        try:
            with pytest.raises(ArchiveLocked):
                update(fleet, fleet / NAME)
        finally:
            lock.release()


class TestWhatIsThere:
    def test_strangers_folders_are_named_and_links_never_followed(self, fleet: Path, tmp_path: Path) -> None:
        outside = build_blog(tmp_path / "other", "natsu.example.jp", [entry(1)]).root
        shard = archive_place(fleet, "natsu.example.jp").parent
        shard.mkdir(exist_ok=True)
        (shard / "natsu.example.jp").symlink_to(outside)
        (shard / "wrong\x1b[31m.example.jp").mkdir()
        (shard / ".hidden").mkdir()
        empty = archive_place(fleet, "new.example.jp")
        empty.mkdir(parents=True)
        used = {path.name for path in fleet.iterdir()}
        spare = next(f"{number:02x}" for number in range(256) if f"{number:02x}" not in used)
        (fleet / spare).symlink_to(tmp_path)
        result = update(fleet, fleet / NAME)
        assert result.blogs == 3
        assert sorted(name for name, _ in result.trouble) == sorted(
            [spare, f"{shard.name}/natsu.example.jp", f"{shard.name}/wrong\x1b[31m.example.jp"]
        )
        assert [each.trouble is None for each in archives_in(fleet, shard.name)].count(False) == 2

    def test_an_archive_of_another_blog_is_ignored(self, fleet: Path) -> None:
        place = archive_place(fleet, "natsu.example.jp")
        place.parent.mkdir(exist_ok=True)
        shutil.copytree(archive_place(fleet, "fuyu.example.jp"), place)
        result = update(fleet, fleet / NAME)
        ((_, reason),) = result.trouble
        assert "another blog, fuyu.example.jp" in reason

    def test_no_archives_at_all(self, tmp_path: Path) -> None:
        with pytest.raises(NoArchive, match="no archives of a fleet"):
            update(tmp_path, tmp_path / NAME)

    def test_a_blog_that_no_run_saved(self, fleet: Path) -> None:
        place = archive_place(fleet, "natsu.example.jp")
        place.parent.mkdir(exist_ok=True)
        writer.create(Layout(place), ArchiveInfo("natsu.example.jp", CREATED))
        update(fleet, fleet / NAME)
        (row,) = [row for row in read(fleet / NAME, "blogs") if row["blog_id"] == "natsu.example.jp"]
        assert (row["state"], row["version"], row["saved_at"], row["entries"]) == ("new", None, None, 0)
        writer.append_run(
            Layout(place),
            run_line(outcome="failed", requests=7, started_at="2026-01-31T12:34:56Z", error="no answer"),
        )
        update(fleet, fleet / NAME)
        (row,) = [row for row in read(fleet / NAME, "blogs") if row["blog_id"] == "natsu.example.jp"]
        assert (row["state"], row["last_outcome"], row["runs"]) == ("failed", "failed", 1)
        (run,) = [row for row in read(fleet / NAME, "runs") if row["blog_id"] == "natsu.example.jp"]
        assert (run["requests"], run["error"]) == (7, "no answer")

    def test_an_archive_of_an_unknown_service_is_read(self, fleet: Path) -> None:
        info = archive_place(fleet, "fuyu.example.jp") / "archive.json"
        document = json.loads(info.read_text("utf-8"))
        info.write_text(json.dumps({**document, "service": "other"}), "utf-8")
        (archive_place(fleet, "fuyu.example.jp") / "SHA256SUMS").unlink()
        result = update(fleet, fleet / NAME)
        assert list(result.trouble) == []
        assert "fuyu.example.jp" in {row["blog_id"] for row in read(fleet / NAME, "entries")}

    def test_any_error_in_one_archive_leaves_the_others_to_be_read(
        self, fleet: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        true = catalogue_rows.blog_rows

        def odd(archive: Archive, *rest: Any) -> dict[str, Any]:
            row = true(archive, *rest)
            if archive.info.blog_id == "aki.example.jp":
                raise ZeroDivisionError("odd")
            return row

        monkeypatch.setattr(catalogue, "blog_rows", odd)
        result = update(fleet, fleet / NAME)
        ((_, reason),) = result.trouble
        assert reason == "ZeroDivisionError: odd"
        assert [row["blog_id"] for row in read(fleet / NAME, "entries")] == [
            "fuyu.example.jp",
            "haru.example.com",
        ]

    def test_a_full_disk_ends_it_and_leaves_the_old_one(self, fleet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        update(fleet, fleet / NAME)
        before = read(fleet / NAME, "entries")
        build_blog(fleet, "natsu.example.jp", [entry(1)])

        def full(*_: Any, **__: Any) -> None:
            raise NoSpace("full")

        monkeypatch.setattr(catalogue._Catalogue, "finish", full)
        with pytest.raises(NoSpace):
            update(fleet, fleet / NAME)
        assert read(fleet / NAME, "entries") == before


class TestItsOwnFiles:
    def test_a_new_database_that_was_interrupted_is_continued(
        self, fleet: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def killed(*_: Any) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(catalogue._Catalogue, "finish", killed)
            with pytest.raises(KeyboardInterrupt):
                update(fleet, fleet / "c.sqlite")
        assert not (fleet / "c.sqlite").exists()
        assert blogs_of(update(fleet, fleet / "c.sqlite")) == (3, 0, 3, 0)
        assert len(read(fleet / "c.sqlite", "entries")) == 5

    def test_only_its_owner_may_read_it(self, fleet: Path) -> None:
        update(fleet, fleet / NAME)
        assert (fleet / NAME).stat().st_mode & 0o777 == 0o600

    def test_a_database_that_cannot_be_written_is_reported(self, fleet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        error = sqlite3.OperationalError("database or disk is full")
        error.sqlite_errorcode = sqlite3.SQLITE_FULL

        def full(*_: Any, **__: Any) -> None:
            raise error

        monkeypatch.setattr(catalogue, "_create", full)
        with pytest.raises(NoSpace, match="no space left"):
            update(fleet, fleet / "c.sqlite")
        error.sqlite_errorcode = sqlite3.SQLITE_READONLY
        with pytest.raises(Exception, match="cannot be written"):
            update(fleet, fleet / "c.sqlite")


def test_a_mark_changes_with_a_prune_and_a_run_without_a_version(fleet: Path) -> None:
    place = archive_place(fleet, "fuyu.example.jp")
    first = mark_of(place)
    assert mark_of(place) == first
    Built.reopen(place).run(outcome="unchanged")
    assert mark_of(place) != first


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("海の日に港まで歩いた。", "ja"),
        ("漢字漢字漢字", "und-Hani"),
        ("Spring has come", "und-Latn"),
        ("한국어 일기", "ko"),
        ("Дневник", "und-Cyrl"),
        ("ｶﾀｶﾅ", "ja"),
        ("12 34 !", None),
        ("", None),
        ("Nikki を書いた", "ja"),
    ],
)
def test_languages(text: str, language: str | None) -> None:
    assert language_of(text) == language
