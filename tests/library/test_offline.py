"""Library calls without a service: exports, site copies, status, prune, rebuild and repair."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

import exporter
from exporter.archive.archive import Archive
from exporter.clock import SystemClock
from exporter.errors import ArchiveLocked, NoSuchRecord, UsageError
from exporter.library.status import StatusProblem
from exporter.settings import Settings

DECLARED = exporter.Declared(public_access=frozenset({"1"}), visible_comment_flags=frozenset({"f"}))
OPTIONS = exporter.ExportOptions(declared=DECLARED)


def test_an_export_returns_its_report(archive: Path, tmp_path: Path) -> None:
    public, private = exporter.export_blog(archive, "jsonl", tmp_path / "out", OPTIONS, only="all")
    assert (public.private, private.private) == (False, True)
    assert private.folder == tmp_path / "out.NOT-PUBLIC"
    assert public.document["version"] == 2
    assert {file.path for file in public.files} == {
        path.relative_to(public.folder).as_posix() for path in public.folder.rglob("*") if path.is_file()
    }
    older = exporter.export_blog(archive, "jsonl", tmp_path / "older", OPTIONS, at=1, dry_run=True)
    assert older[0].document["version"] == 1
    assert not (tmp_path / "older").exists()


@pytest.mark.parametrize(
    ("form", "options", "more", "message"),
    [
        ("wxt", OPTIONS, {}, r"no format 'wxt' \(did you mean wxr\?\)"),
        ("hatenna", OPTIONS, {}, r"no format 'hatenna' \(did you mean hatena\?\)"),
        ("wxr", exporter.ExportOptions(), {}, "Nothing says yet which entries are public"),
        ("bagit", OPTIONS, {}, "takes the whole archive"),
        ("bagit", OPTIONS, {"only": "all", "at": 1}, "leave out --at"),
        ("csv", exporter.ExportOptions(declared=exporter.Declared(all_as_draft=True)), {}, "csv has no drafts"),
    ],
)
def test_an_invalid_export_writes_nothing(
    archive: Path, tmp_path: Path, form: str, options: exporter.ExportOptions, more: dict[str, object], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        exporter.export_blog(archive, form, tmp_path / "out", options, **more)  # type: ignore[arg-type]  # of any type
    assert not list(tmp_path.glob("out*"))


def test_an_export_of_an_unknown_category_writes_nothing(archive: Path, tmp_path: Path) -> None:
    options = exporter.ExportOptions(declared=DECLARED, category="none such")
    with pytest.raises(NoSuchRecord, match=r"^No entry is of the category none such\.$"):
        exporter.export_blog(archive, "wxr", tmp_path / "out", options)
    assert not list(tmp_path.glob("out*"))


def test_nothing_is_written_into_an_archive(archive: Path) -> None:
    with pytest.raises(UsageError, match="cannot be inside each other"):
        exporter.export_blog(archive, "csv", archive / "out", OPTIONS)
    with pytest.raises(UsageError, match="inside the archive"):
        exporter.copy_site(archive, archive / "out", Settings())


def test_a_public_copy_of_the_site_needs_a_declaration(archive: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="Nothing says yet which entries are public"):
        exporter.copy_site(archive, tmp_path / "site", Settings(), public=exporter.Declared())
    assert not (tmp_path / "site").exists()


def test_the_status_names_the_worst(archive: Path) -> None:
    opened = Archive.open(archive)
    assert exporter.status(opened).problem is None
    assert exporter.status(opened, max_age=timedelta(days=1)).problem is StatusProblem.STALE
    (archive / ".work" / "checkpoint").mkdir()
    assert exporter.status(opened, max_age=timedelta(days=1)).problem is StatusProblem.LAST_RUN_DIED


def test_writing_calls_take_the_lock_and_update_latest(archive: Path) -> None:
    opened, settings = Archive.open(archive), Settings()
    with opened.lock() as lock:
        lock.acquire(SystemClock().now())
        for work in (
            lambda: exporter.prune(opened, settings, keep_last=1),
            lambda: exporter.rebuild(opened, settings),
            lambda: list(exporter.repair(opened, settings)),
        ):
            with pytest.raises(ArchiveLocked):
                work()
    (archive / "latest" / "entries.jsonl").write_bytes(b"scribble")
    assert list(exporter.repair(opened, settings)) == [("latest", True)]
    assert exporter.prune(opened, settings, keep_last=1, dry_run=True).plan.dropped == (1,)
    assert opened.versions() == [1, 2]
    assert exporter.prune(opened, settings, keep_last=1).plan.dropped == (1,)
    assert [finding for finding in Archive.open(archive).verify() if finding.damage] == []
