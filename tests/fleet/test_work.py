"""Work on one archive in a fleet: the commands' calls, and errors, which are reported for that archive only."""

from __future__ import annotations

import errno
import pickle
import shutil
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from exporter.archive.archive import Archive
from exporter.archive.fleet_folder import FoundArchive, archive_place, archives_in, folders_in, shards_in
from exporter.archive.layout import Layout
from exporter.errors import NoSpace, UsageError
from exporter.export.interface import ExportOptions
from exporter.fleet.export_job import FleetExportOptions, export
from exporter.fleet.work import (
    ArchiveResult,
    Done,
    JobOptions,
    WorkTally,
    do,
    lost,
    rebuild,
    search_index,
    site,
    verify,
    work_over,
)
from exporter.model.publication import Declared
from tests.archive.builder import Built
from tests.fleet.building import blog_name, build_blog, changes, entry
from tests.fleet.own_pool import OwnPool

PUBLIC = JobOptions({"public_open_flg": "1"})


def plain(number: int, **members: Any) -> dict[str, Any]:
    """Return an entry without an end of publication."""
    return entry(number, period_flg="f", **members)


@pytest.fixture
def found(tmp_path: Path) -> FoundArchive:
    """Return an archive with two entries, one of them private."""
    build_blog(tmp_path / "fleet", blog_name(1), [plain(1), plain(2, open_flg="9", title="ひみつ")])
    (place,) = (tmp_path / "fleet").glob("*/*")
    return FoundArchive(blog_name(1), place)


def add_entry(found: FoundArchive, number: int) -> None:
    """Add a version with one more entry."""
    built = Built.reopen(found.path)
    built.commit(changes(entries={str(number): plain(number)}))
    built.refresh()


def test_a_site_is_made_once_and_again_after_a_change(found: FoundArchive) -> None:
    first = do(site, JobOptions({"site_lang": "en"}), found)
    assert (first.state, first.exit_code, first.facts["version"]) == ("made", 0, 1), first
    assert 'lang="en"' in (found.path / "latest/site/index.html").read_text("utf-8")
    assert do(site, JobOptions(), found).state == "up_to_date"
    add_entry(found, 3)
    assert do(site, JobOptions(), found).state == "made"
    assert pickle.loads(pickle.dumps(first)) == first


def test_rebuilding_keeps_the_existing_views(found: FoundArchive) -> None:
    latest = found.path / "latest"
    (latest / "entries.jsonl").write_bytes(b"")
    assert do(rebuild, JobOptions(), found).state == "made"
    assert (latest / "entries.jsonl").stat().st_size
    assert not (latest / "site").exists()
    do(rebuild, JobOptions({"markdown": "yes"}), found)
    assert (latest / "markdown").is_dir()
    (latest / "markdown" / "index.md").unlink()
    do(rebuild, JobOptions(), found)
    assert (latest / "markdown" / "index.md").is_file()


def test_a_search_index_is_kept_in_the_archive(found: FoundArchive) -> None:
    assert [do(search_index, JobOptions(), found).state for _ in range(2)] == ["made", "up_to_date"]
    assert (found.path / ".work" / "search.txt").is_file()
    shutil.rmtree(found.path / ".work")
    (found.path / ".work").symlink_to(found.path / "assets")
    refused = do(search_index, JobOptions(), found)
    assert (refused.state, refused.exit_code) == ("failed", 3)
    assert "could not be written" in (refused.reason or "")


def test_verification_returns_the_head_and_the_problems(found: FoundArchive) -> None:
    good = do(verify, False, found)
    assert good.facts["head"] == Archive.open(found.path).head()
    assert good.facts["intact"]
    lines = Layout(found.path).version(1) / "entries.jsonl"
    lines.write_bytes(lines.read_bytes().replace(b"4", b"5"))
    bad = do(verify, True, found)
    assert (bad.state, bad.exit_code, bad.kind) == ("failed", 13, "ArchiveDamaged")
    assert bad.facts["findings"] >= 1
    assert "versions/000001" in (bad.reason or "")


def exported(found: FoundArchive, out: Path, **how: Any) -> ArchiveResult:
    base = FleetExportOptions(PUBLIC, "jsonl", out, None, ExportOptions())
    return do(export, replace(base, **how), found)


def test_exports_are_made_again_only_if_something_changed(found: FoundArchive, tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = exported(found, out)
    assert (first.state, first.facts["entries"]) == ("made", 1), first
    folder = archive_place(out, found.blog_id)
    assert "ひみつ" not in "".join(each.read_text("utf-8") for each in folder.rglob("*.jsonl"))
    again = exported(found, out)
    assert (again.state, again.facts["entries"]) == ("up_to_date", 1)
    add_entry(found, 3)
    assert exported(found, out).facts["entries"] == 2
    closed = exported(found, out, job=JobOptions({"public_open_flg": "9"}))
    assert (closed.kind, closed.exit_code) == ("UsageError", 2), "an export with other flags is a different export"
    opened = exported(found, out, job=JobOptions({"public_open_flg": "9"}), force=True)
    assert (opened.state, opened.facts["entries"]) == ("made", 1)
    (folder.with_name(f".{folder.name}.made")).write_bytes(b"{broken")
    assert exported(found, out).kind == "UsageError", "its options are unknown"


def test_private_posts_have_a_separate_folder_and_a_dry_run_writes_nothing(found: FoundArchive, tmp_path: Path) -> None:
    out, apart = tmp_path / "out", tmp_path / "out.NOT-PUBLIC"
    assert exported(found, out, private=apart, dry_run=True).facts["entries"] == 2
    assert not out.exists()
    both = exported(found, out, private=apart)
    assert both.facts["entries"] == 2
    assert list(apart.glob(f"??/{found.blog_id}.NOT-PUBLIC/*"))
    assert not list(out.glob("??/*NOT-PUBLIC*"))
    whole = exported(found, tmp_path / "x", form="bagit", public=None, private=tmp_path / "whole")
    assert whole.state == "made", whole
    assert not (tmp_path / "x").exists()
    drafts = exported(found, out, form="wxr", options=ExportOptions(declared=Declared(all_as_draft=True)), force=True)
    assert drafts.state == "made", drafts
    pattern = exported(
        found, tmp_path / "y", job=JobOptions({**PUBLIC.settings, "entry_url": "https://old.example/{entry_id}"})
    )
    assert pattern.state == "made", pattern


def raising(error: BaseException, _archive: Archive, _options: None) -> Done:
    raise error


@pytest.mark.parametrize(
    ("error", "code", "kind"),
    [
        (NoSpace("full"), 28, "NoSpace"),
        (MemoryError(), 28, "NoMemory"),
        (RecursionError("deep"), 1, "BlogExporterError"),
        (OSError(errno.EIO, "disk"), 1, "BlogExporterError"),
    ],
)
def test_any_error_is_reported_for_its_archive_alone(
    found: FoundArchive, error: BaseException, code: int, kind: str
) -> None:
    result = do(partial(raising, error), None, found)
    assert (result.state, result.exit_code, result.kind) == ("failed", code, kind)
    assert result.document()["reason"]


def test_folders_without_an_archive_of_the_fleet(tmp_path: Path, found: FoundArchive) -> None:
    root = tmp_path / "fleet"
    shard = found.path.parent.name
    (root / shard / "stranger").mkdir()
    outside = tmp_path / "outside"
    shutil.copytree(found.path, outside)
    archive_place(root, "link.example").parent.mkdir(exist_ok=True)
    archive_place(root, "link.example").symlink_to(outside)
    for name in ("moved.example", "empty.example"):
        shutil.copytree(found.path, archive_place(root, name))
    empty = archive_place(root, "empty.example")
    shutil.rmtree(empty)
    Archive.create(empty, "empty.example", datetime(2026, 1, 1, tzinfo=UTC))
    every = [each for shard in shards_in(root) for each in archives_in(root, shard)]
    results = {each.blog_id: do(site, JobOptions(), each) for each in every}
    assert {name: (each.state, each.exit_code) for name, each in results.items()} == {
        found.blog_id: ("made", 0),
        "stranger": ("failed", 10),
        "link.example": ("failed", 10),
        "moved.example": ("failed", 13),
        "empty.example": ("empty", 0),
    }
    assert not (outside / "latest" / "site").exists()
    assert folders_in(root) == 5


def refusing(_archive: Archive, _options: None) -> Done:
    raise UsageError("no such thing")


def full(_archive: Archive, _options: None) -> Done:
    raise NoSpace("the disk is full")


def test_an_error_of_the_machine_ends_the_work(tmp_path: Path) -> None:
    for number in range(25):
        build_blog(tmp_path, blog_name(number), [entry(1)])
    with pytest.raises(UsageError, match="Every archive was refused, the last one so: no such thing"):
        list(work_over(tmp_path, refusing, None, OwnPool()))
    with pytest.raises(NoSpace, match="full"):
        list(work_over(tmp_path, full, None, OwnPool()))


def test_a_tally_names_a_thousand_failures_and_the_error_that_ends_the_command() -> None:
    tally = WorkTally()
    assert tally.problem() is None
    tally.count(ArchiveResult("a", Path("a"), "made", facts={"version": 3, "files": 2, "intact": True}))
    for number in range(1005):
        tally.count(ArchiveResult(str(number), Path("b"), "failed", 11, "ArchiveLocked", "busy"))
    document = tally.document()
    assert (document["failed"], len(document["failures"]), document["failures_not_named"]) == (1005, 1000, 5)
    assert document["sums"] == {"files": 2}
    problem = tally.problem()
    assert problem is not None
    assert (problem.exit_code, str(problem)[:21]) == (3, "1,005 archives failed")
    dead = lost(FoundArchive("x", Path("x")), "SIGKILL")
    tally.count(dead)
    tally.count(ArchiveResult("y", Path("y"), "failed", 13, "ArchiveDamaged", "bad"))
    assert "(SIGKILL)" in (dead.reason or "")
    damage = tally.problem()
    assert damage is not None
    assert damage.exit_code == 13
