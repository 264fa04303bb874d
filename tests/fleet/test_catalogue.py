"""The catalogue of a fleet: its rows, what is read again, damage, strangers' folders, kills, and its three formats."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
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
from exporter.fleet.catalogue import parquet_folder, reading, rows, sqlite_file
from exporter.fleet.catalogue.columns import TABLES
from exporter.fleet.catalogue.language import language_of
from exporter.fleet.catalogue.update import (
    CatalogueOptions,
    CatalogueResult,
    update_duckdb,
    update_parquet,
    update_sqlite,
)
from exporter.fleet.workers import LocalHands
from exporter.settings import resolve
from tests.archive.builder import CREATED, Built, run_line
from tests.fleet.building import build_blog, changes, entry
from tests.fleet.shelf import SHA, shelf
from tests.fleet.tables import duckdb_rows, parquet_rows, sqlite_rows

Update = Callable[[Path, Path, CatalogueOptions], CatalogueResult]
FORMATS: dict[str, tuple[Update, str, Callable[[Path, str], list[dict[str, Any]]]]] = {
    "parquet": (update_parquet, "catalogue", parquet_rows),
    "sqlite": (update_sqlite, "catalogue.sqlite", sqlite_rows),
    "duckdb": (update_duckdb, "catalogue.duckdb", duckdb_rows),
}


def options(workers: int = 1) -> CatalogueOptions:
    return CatalogueOptions(resolve({}, environ={}), LocalHands(workers), SystemClock())


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return shelf(tmp_path_factory.mktemp("shelf") / "fleet")


@pytest.fixture
def fleet(pristine: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(pristine, tmp_path / "fleet"))


def blogs_of(result: CatalogueResult) -> tuple[int, int, int, int]:
    return result.blogs, result.read, result.kept, result.dropped


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("workers", [1, 2])
def test_every_row_of_every_table(fleet: Path, form: str, workers: int) -> None:
    update, name, read = FORMATS[form]
    result = update(fleet, fleet / name, options(workers))
    assert (blogs_of(result), result.trouble, result.entries) == ((3, 3, 0, 0), [], 5)
    blog = {row["blog_id"]: row for row in read(fleet / name, "blogs")}
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
    entries = {row["entry_id"]: row for row in read(fleet / name, "entries") if row["blog_id"] == "aki.example.jp"}
    first = entries["1"]
    assert first["link_hosts"] == ["aki.example.jp", "fuyu.example.jp"]
    assert [first[each] for each in ("links", "pictures", "pictures_missing", "comments", "year", "private")] == [
        2, 2, 1, 1, 2019, False,
    ]  # fmt: skip
    assert [row["private"] for row in entries.values()] == [False, True, None]
    assert [row["saved"] for row in entries.values()] == [True, True, False]
    assert first["characters"] == len("海 冬さん私")
    (comment,) = read(fleet / name, "comments")
    assert (comment["name"], comment["url_host"], comment["deleted"]) == ("まめ", "mame.example.jp", False)
    files = read(fleet / name, "files")
    assert [(row["state"], row["file_id"], row["entries"], row["name"]) for row in files] == [
        ("pending", "8", 0, "lost.jpg"),
        ("saved", "7", 1, "port.jpg"),
        ("lost", None, 1, None),
    ]
    assert files[1]["path"] == f"assets/ab/{SHA}.jpg"
    (version,) = [row for row in read(fleet / name, "versions") if row["blog_id"] == "aki.example.jp"]
    assert (version["version"], version["entries_new"], version["comments"]) == (1, 2, 1)
    assert [(row["run"], row["outcome"]) for row in read(fleet / name, "runs")] == [(1, "saved")] * 3


def test_the_three_formats_and_two_workers_say_the_same(fleet: Path) -> None:
    for form, (update, name, _) in FORMATS.items():
        update(fleet, fleet / name, options(1 if form == "parquet" else 2))
    for table in TABLES:
        found = [read(fleet / name, table) for _, name, read in FORMATS.values()]
        assert found[0] == found[1] == found[2], table
        assert [list(row) for row in found[0]] == [list(TABLES[table])] * len(found[0])


@pytest.mark.parametrize("form", FORMATS)
class TestAgain:
    def test_only_what_changed_is_read(self, fleet: Path, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
        update, name, read = FORMATS[form]
        update(fleet, fleet / name, options())
        before = {table: read(fleet / name, table) for table in TABLES}
        opened: list[str] = []
        true = rows.blog_rows

        def noted(archive: Archive, *rest: Any) -> None:
            opened.append(archive.info.blog_id)
            true(archive, *rest)

        monkeypatch.setattr(reading, "blog_rows", noted)
        again = update(fleet, fleet / name, options())
        assert (blogs_of(again), again.changed, opened) == ((3, 0, 3, 0), False, [])
        built = Built.reopen(archive_place(fleet, "fuyu.example.jp"))
        built.commit(changes(entries={"2": entry(2)}))
        result = update(fleet, fleet / name, options())
        assert (blogs_of(result), result.changed, opened) == ((3, 1, 2, 0), True, ["fuyu.example.jp"])
        after = {table: read(fleet / name, table) for table in TABLES}
        for table in TABLES:
            others = [row for row in after[table] if row["blog_id"] != "fuyu.example.jp"]
            assert others == [row for row in before[table] if row["blog_id"] != "fuyu.example.jp"]
        assert [row["entry_id"] for row in after["entries"] if row["blog_id"] == "fuyu.example.jp"] == ["1", "2"]
        assert [row["version"] for row in after["versions"] if row["blog_id"] == "fuyu.example.jp"] == [1, 2]

    def test_a_vanished_and_a_replaced_archive(self, fleet: Path, form: str) -> None:
        update, name, read = FORMATS[form]
        update(fleet, fleet / name, options())
        shutil.rmtree(archive_place(fleet, "aki.example.jp"))
        shutil.rmtree(archive_place(fleet, "fuyu.example.jp"))
        build_blog(fleet, "fuyu.example.jp", [entry(8), entry(9)])
        assert blogs_of(update(fleet, fleet / name, options())) == (2, 1, 1, 1)
        assert {row["blog_id"] for row in read(fleet / name, "comments")} == set()
        found = [(row["blog_id"], row["entry_id"]) for row in read(fleet / name, "entries")]
        assert found == [("fuyu.example.jp", "8"), ("fuyu.example.jp", "9"), ("haru.example.com", "1")]

    def test_a_damaged_archive_is_named_and_keeps_its_last_good_rows(self, fleet: Path, form: str) -> None:
        update, name, read = FORMATS[form]
        update(fleet, fleet / name, options())
        good = {table: read(fleet / name, table) for table in TABLES}
        place = archive_place(fleet, "aki.example.jp")
        lines, runs = place / "versions/000001/entries.jsonl", place / "runs.jsonl"
        whole, before = lines.read_bytes(), runs.read_bytes()
        lines.write_bytes(whole.replace("海".encode(), "山".encode()))
        shutil.rmtree(place / "latest")
        runs.write_bytes(before + b"\n")
        for _ in range(2):
            result = update(fleet, fleet / name, options())
            assert blogs_of(result) == (3, 0, 2, 0)
            ((where, reason),) = result.trouble
            assert where == archive_place(Path(), "aki.example.jp").as_posix()
            assert "damaged" in reason
            assert {table: read(fleet / name, table) for table in TABLES if table != "blogs"} == {
                table: good[table] for table in TABLES if table != "blogs"
            }
            (row,) = [row for row in read(fleet / name, "blogs") if row["blog_id"] == "aki.example.jp"]
            assert (row["state"], row["error"], row["entries"]) == ("damaged", reason, 3)
        lines.write_bytes(whole)
        assert blogs_of(update(fleet, fleet / name, options())) == (3, 1, 2, 0)
        (row,) = [row for row in read(fleet / name, "blogs") if row["blog_id"] == "aki.example.jp"]
        assert (row["state"], row["error"]) == ("saved", None)

    def test_another_edition_is_read_anew(self, fleet: Path, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
        update, name, read = FORMATS[form]
        update(fleet, fleet / name, options())
        before = read(fleet / name, "entries")
        for module in (rows, reading, sqlite_file):
            monkeypatch.setattr(module, "EDITION", 99)
        damaged = archive_place(fleet, "fuyu.example.jp")
        shutil.rmtree(damaged / "latest")
        (damaged / "versions/000001/entries.jsonl").write_bytes(b"{")
        result = update(fleet, fleet / name, options())
        assert blogs_of(result) == (3, 2, 0, 0)
        # What another edition had of it cannot be kept.
        assert read(fleet / name, "entries") == [row for row in before if row["blog_id"] != "fuyu.example.jp"]

    def test_what_is_no_catalogue_is_never_replaced(self, fleet: Path, form: str, tmp_path: Path) -> None:
        update, _, _ = FORMATS[form]
        mine = tmp_path / "mine.db"
        mine.write_text("my own")
        with pytest.raises(UsageError, match="is no catalogue"):
            update(fleet, mine, options())
        assert mine.read_text() == "my own"
        link = tmp_path / "link.db"
        link.symlink_to(mine)
        with pytest.raises(UsageError):
            update(fleet, link, options())
        with pytest.raises(UsageError, match="among the archives"):
            update(fleet, archive_place(fleet, "fuyu.example.jp") / "catalogue", options())

    def test_one_at_a_time(self, fleet: Path, form: str) -> None:
        update, name, _ = FORMATS[form]
        work = fleet / f".{'catalogue' if form == 'duckdb' else name}.work" / "lock"
        lock = ArchiveLock(work)
        lock.acquire(SystemClock().now())
        try:
            with pytest.raises(ArchiveLocked):
                update(fleet, fleet / name, options())
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
        result = update_parquet(fleet, fleet / "catalogue", options())
        assert result.blogs == 3
        assert sorted(name for name, _ in result.trouble) == sorted(
            [spare, f"{shard.name}/natsu.example.jp", f"{shard.name}/wrong\x1b[31m.example.jp"]
        )
        assert [each.trouble is None for each in archives_in(fleet, shard.name)].count(False) == 2

    def test_an_archive_of_another_blog_is_none_of_this(self, fleet: Path) -> None:
        place = archive_place(fleet, "natsu.example.jp")
        place.parent.mkdir(exist_ok=True)
        shutil.copytree(archive_place(fleet, "fuyu.example.jp"), place)
        result = update_parquet(fleet, fleet / "catalogue", options())
        ((_, reason),) = result.trouble
        assert "another blog, fuyu.example.jp" in reason

    def test_no_archives_at_all(self, tmp_path: Path) -> None:
        with pytest.raises(NoArchive, match="no archives of a fleet"):
            update_parquet(tmp_path, tmp_path / "catalogue", options())

    def test_a_blog_that_no_run_saved(self, fleet: Path) -> None:
        place = archive_place(fleet, "natsu.example.jp")
        place.parent.mkdir(exist_ok=True)
        writer.create(Layout(place), ArchiveInfo("natsu.example.jp", CREATED))
        update_parquet(fleet, fleet / "catalogue", options())
        (row,) = [row for row in parquet_rows(fleet / "catalogue", "blogs") if row["blog_id"] == "natsu.example.jp"]
        assert (row["state"], row["version"], row["saved_at"], row["entries"]) == ("new", None, None, 0)
        writer.append_run(
            Layout(place),
            run_line(outcome="failed", requests=7, started_at="2026-01-31T12:34:56Z", error="no answer"),
        )
        update_parquet(fleet, fleet / "catalogue", options())
        (row,) = [row for row in parquet_rows(fleet / "catalogue", "blogs") if row["blog_id"] == "natsu.example.jp"]
        assert (row["state"], row["last_outcome"], row["runs"]) == ("failed", "failed", 1)
        (run,) = [row for row in parquet_rows(fleet / "catalogue", "runs") if row["blog_id"] == "natsu.example.jp"]
        assert (run["requests"], run["error"]) == (7, "no answer")

    def test_a_service_that_is_not_known_is_named(self, fleet: Path) -> None:
        info = archive_place(fleet, "fuyu.example.jp") / "archive.json"
        document = json.loads(info.read_text("utf-8"))
        info.write_text(json.dumps({**document, "service": "other"}), "utf-8")
        (archive_place(fleet, "fuyu.example.jp") / "SHA256SUMS").unlink()
        result = update_parquet(fleet, fleet / "catalogue", options())
        ((_, reason),) = result.trouble
        assert "'other' is not known" in reason

    def test_whatever_one_archive_does_the_others_have_their_turn(
        self, fleet: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        true = rows.blog_rows

        def odd(archive: Archive, *rest: Any) -> None:
            true(archive, *rest)
            if archive.info.blog_id == "aki.example.jp":
                raise ZeroDivisionError("odd")

        monkeypatch.setattr(reading, "blog_rows", odd)
        result = update_parquet(fleet, fleet / "catalogue", options())
        ((_, reason),) = result.trouble
        assert reason == "ZeroDivisionError: odd"
        assert [row["blog_id"] for row in parquet_rows(fleet / "catalogue", "entries")] == [
            "fuyu.example.jp",
            "haru.example.com",
        ]

    def test_a_full_disk_ends_it_and_leaves_the_old_one(self, fleet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        update_parquet(fleet, fleet / "catalogue", options())
        before = parquet_rows(fleet / "catalogue", "entries")
        build_blog(fleet, "natsu.example.jp", [entry(1)])

        def full(*_: Any, **__: Any) -> None:
            raise NoSpace("full")

        monkeypatch.setattr(parquet_folder, "_replace", full)
        with pytest.raises(NoSpace):
            update_parquet(fleet, fleet / "catalogue", options())
        assert parquet_rows(fleet / "catalogue", "entries") == before


class TestItsOwnFiles:
    @pytest.mark.parametrize("table", ["entries", "blogs"])
    @pytest.mark.parametrize("way", ["cut", "gone", "other", "link"])
    def test_a_damaged_file_is_written_anew(self, fleet: Path, table: str, way: str, tmp_path: Path) -> None:
        update_parquet(fleet, fleet / "catalogue", options())
        before = {name: parquet_rows(fleet / "catalogue", name) for name in TABLES}
        for path in sorted((fleet / "catalogue" / table).iterdir()):
            data = path.read_bytes()
            path.unlink()
            if way == "cut":
                path.write_bytes(data[: len(data) // 2])
            elif way == "other":
                shutil.copyfile(next((fleet / "catalogue/runs").iterdir()), path)
            elif way == "link":
                (tmp_path / path.name).write_bytes(data)
                path.symlink_to(tmp_path / path.name)
        for blog in ("aki.example.jp", "fuyu.example.jp", "haru.example.com"):
            runs = archive_place(fleet, blog) / "runs.jsonl"
            runs.write_bytes(runs.read_bytes() + b"\n")
        result = update_parquet(fleet, fleet / "catalogue", options())
        assert (result.blogs, result.trouble) == (3, [])
        after = {name: parquet_rows(fleet / "catalogue", name) for name in TABLES}
        for name in TABLES:
            assert [{**row, "mark": ""} for row in after[name]] == [{**row, "mark": ""} for row in before[name]]

    def test_what_a_killed_run_had_finished_is_used(self, fleet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def killed(*_: Any) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(parquet_folder, "publish", killed)
            with pytest.raises(KeyboardInterrupt):
                update_parquet(fleet, fleet / "catalogue", options())
        assert not (fleet / "catalogue").exists()
        result = update_parquet(fleet, fleet / "catalogue", options())
        assert (blogs_of(result), result.changed) == ((3, 0, 3, 0), True)
        assert len(parquet_rows(fleet / "catalogue", "entries")) == 5

    def test_a_new_database_that_was_cut_short_is_carried_on(
        self, fleet: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def killed(*_: Any) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(sqlite_file.CatalogueDatabase, "finish", killed)
            with pytest.raises(KeyboardInterrupt):
                update_sqlite(fleet, fleet / "c.sqlite", options())
        assert not (fleet / "c.sqlite").exists()
        assert blogs_of(update_sqlite(fleet, fleet / "c.sqlite", options())) == (3, 0, 3, 0)
        assert len(sqlite_rows(fleet / "c.sqlite", "entries")) == 5

    def test_files_are_for_their_owner_alone(self, fleet: Path) -> None:
        for update, name, _ in FORMATS.values():
            update(fleet, fleet / name, options())
            paths = [fleet / name] if (fleet / name).is_file() else [*(fleet / name).rglob("*.parquet")]
            assert {path.stat().st_mode & 0o777 for path in paths} == {0o600}

    def test_a_database_that_cannot_be_written_is_said(self, fleet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        error = sqlite3.OperationalError("database or disk is full")
        error.sqlite_errorcode = sqlite3.SQLITE_FULL

        def full(*_: Any, **__: Any) -> None:
            raise error

        monkeypatch.setattr(sqlite_file, "_create", full)
        with pytest.raises(NoSpace, match="no space left"):
            update_sqlite(fleet, fleet / "c.sqlite", options())
        error.sqlite_errorcode = sqlite3.SQLITE_READONLY
        with pytest.raises(Exception, match="cannot be written"):
            update_sqlite(fleet, fleet / "c.sqlite", options())


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


@pytest.mark.parametrize("form", FORMATS)
def test_folders_whose_names_are_patterns_for_duckdb(tmp_path: Path, form: str) -> None:
    """Beside the fleet is another one, which such a pattern fits."""
    update, name, read = FORMATS[form]
    for folder, number in (("it's [1]*", 1), ("it's 1x", 2)):
        build_blog(tmp_path / folder, "same.example.jp", [entry(each) for each in range(1, number + 1)])
    for folder, number in (("it's 1x", 2), ("it's [1]*", 1)):
        update(tmp_path / folder, tmp_path / folder / name, options())
        assert update(tmp_path / folder, tmp_path / folder / name, options()).changed is False
        if form != "parquet":  # whose files this test would read by patterns
            assert len(read(tmp_path / folder / name, "entries")) == number


@pytest.mark.parametrize("folder", ["what?", "what\\else"])
def test_a_place_that_duckdb_mistakes_for_another_is_refused(tmp_path: Path, folder: str) -> None:
    build_blog(tmp_path / folder, "a.example.jp", [entry(1)])
    with pytest.raises(UsageError, match=r"DuckDB cannot write .*, as its path has a [?\\]; name another place"):
        update_duckdb(tmp_path / folder, tmp_path / folder / "catalogue.duckdb", options())
    assert update_duckdb(tmp_path / folder, tmp_path / "catalogue.duckdb", options()).blogs == 1
