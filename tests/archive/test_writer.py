"""Creating an archive and adding to it: first files, versions, hash chain, checksums, runs, and refused places."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import pytest

from exporter.archive import writer
from exporter.archive.archive import Archive
from exporter.archive.layout import SEGMENTS, Layout
from exporter.archive.manifest import ArchiveInfo, KindCounts
from exporter.archive.verify import verify
from exporter.errors import ArchiveDamaged, NewerFormat, NoArchive, UsageError
from exporter.model.kinds import Kind
from tests.archive.builder import BLOG, CREATED, Built, entry, pages, record, run_line
from tests.archive.sums import checked_names


class TestCreate:
    def test_the_skeleton(self, tmp_path: Path) -> None:
        built = Built(tmp_path / "a/b")
        names = {path.name for path in built.root.iterdir()}
        assert names == {"archive.json", "README.txt", "FORMAT.md", "runs.jsonl", "versions", "assets"}
        for name in ("README.txt", "FORMAT.md"):
            assert (built.root / name).read_bytes() == resources.files("exporter.archive").joinpath(name).read_bytes()
        assert built.reader.info == ArchiveInfo(BLOG, CREATED)
        assert (built.reader.versions(), built.reader.newest(), built.reader.runs()) == ([], None, [])
        assert list(verify(built.reader)) == []

    @pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="only Linux tells what a descriptor is of")
    def test_the_parent_folders_are_durable(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        synced = []
        fsync = os.fsync

        def told(handle: int) -> None:
            synced.append(Path(f"/proc/self/fd/{handle}").readlink())
            fsync(handle)

        monkeypatch.setattr(os, "fsync", told)
        Built(tmp_path / "a/b/archive")
        assert {tmp_path / "a/b/archive", tmp_path / "a/b", tmp_path / "a", tmp_path} <= {*synced}

    def test_an_existing_list_of_runs_is_kept(self, tmp_path: Path) -> None:
        built = Built(tmp_path)
        writer.append_run(built.layout, run_line(outcome="failed"))
        writer.create(built.layout, ArchiveInfo(BLOG, CREATED))
        assert [run["outcome"] for run in built.reader.runs()] == ["failed"]

    def test_everything_is_private_with_any_umask(self, tmp_path: Path) -> None:
        before = os.umask(0)
        try:
            built = Built(tmp_path / "home/archive")
            built.commit({Kind.ENTRIES: {"1": entry(1, "海")}})
            built.refresh(pages({"2016/01/02/a.md": b"x"}))
        finally:
            os.umask(before)
        found = [tmp_path / "home", *(tmp_path / "home").rglob("*")]
        modes = {path: stat.S_IMODE(path.stat().st_mode) for path in found}
        assert {path for path, mode in modes.items() if mode != (0o700 if path.is_dir() else 0o600)} == set()
        assert len(modes) > 25


class TestRequirePlace:
    def test_new_empty_and_own_places_are_fine(self, tmp_path: Path, five: Built) -> None:
        writer.require_place(tmp_path / "new", BLOG)
        writer.require_place(tmp_path, BLOG)
        (tmp_path / ".work").mkdir()
        writer.require_place(tmp_path, BLOG)
        writer.require_place(five.root, BLOG)

    def test_another_blogs_archive(self, five: Built) -> None:
        with pytest.raises(
            UsageError, match=r"is the archive of sea\.example, not of hill\.example: name another folder"
        ):
            writer.require_place(five.root, "hill.example")

    @pytest.mark.parametrize("name", ["README.txt", "FORMAT.md", "notes.txt", "versions", "runs.jsonl", ".git"])
    def test_a_folder_of_other_things(self, tmp_path: Path, name: str) -> None:
        if name == "versions":
            (tmp_path / name / "old").mkdir(parents=True)
        else:
            (tmp_path / name).write_text("mine")
        with pytest.raises(NoArchive, match="is not empty and holds no archive"):
            writer.require_place(tmp_path, BLOG)

    def test_a_newer_format(self, tmp_path: Path) -> None:
        (tmp_path / "archive.json").write_text('{"format":"blog-exporter-archive","format_version":2}')
        with pytest.raises(NewerFormat):
            writer.require_place(tmp_path, BLOG)

    def test_a_file_is_no_place(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_bytes(b"")
        with pytest.raises(UsageError, match="Cannot access"):
            writer.require_place(tmp_path / "file", BLOG)

    def test_a_damaged_archive_is_not_taken_for_something_else(self, archive: Built) -> None:
        data = archive.layout.info.read_bytes()
        archive.layout.info.write_bytes(data.replace(b"blog-exporter-archive", b"blog-exporter-arghive"))
        writer.require_place(archive.root, BLOG)
        archive.layout.work.remove()
        with pytest.raises(ArchiveDamaged, match=r"archive\.json is damaged"):
            writer.require_place(archive.root, BLOG)


class TestCommit:
    def test_every_sum_is_that_of_its_file(self, five: Built) -> None:
        for number in five.reader.versions():
            checked = checked_names(five.layout.version(number))
            assert checked == ["manifest.json", *SEGMENTS, "../../archive.json"]

    def test_a_version_has_exactly_eight_files(self, five: Built) -> None:
        for number in five.reader.versions():
            names = {path.name for path in five.layout.version(number).iterdir()}
            assert names == {"manifest.json", "SHA256SUMS", *SEGMENTS}

    def test_the_chain(self, five: Built) -> None:
        assert five.reader.manifest(1).parent is None
        for number in range(2, 6):
            before = hashlib.sha256(five.layout.manifest(number - 1).read_bytes()).hexdigest()
            assert five.reader.manifest(number).parent == {"version": number - 1, "sha256": before}

    def test_the_manifest_describes_its_files(self, five: Built) -> None:
        for number in five.reader.versions():
            files = five.reader.manifest(number).files
            assert tuple(files) == SEGMENTS
            for name, info in files.items():
                data = (five.layout.version(number) / name).read_bytes()
                assert (info.bytes, info.lines) == (len(data), data.count(b"\n"))
                assert info.sha256 == hashlib.sha256(data).hexdigest()

    def test_the_facts_of_a_run_are_kept(self, five: Built) -> None:
        manifest = five.reader.manifest(3)
        assert (manifest.version, manifest.blog_id, manifest.base_url) == (3, BLOG, "https://api.example")
        assert manifest.counts["entries"] == KindCounts(total=9, new=0, changed=0, gone=2)
        assert manifest.completeness == {"complete": True, "sweeps": 2}
        assert [(found.kind, found.id, found.reason) for found in manifest.problems] == [
            ("entries", "13", "answered 404")
        ]

    def test_a_draft_without_lines_of_a_kind_makes_empty_files(self, tmp_path: Path) -> None:
        built = Built(tmp_path / "archive")
        draft = writer.VersionDraft(None, "https://api.example", CREATED, CREATED, {}, {}, [])
        assert writer.commit(built.layout, draft).version == 1
        assert [(built.layout.version(1) / name).read_bytes() for name in SEGMENTS] == [b""] * 6

    def test_an_existing_version_is_never_overwritten(self, archive: Built) -> None:
        before = archive.layout.manifest(2).read_bytes()
        draft = writer.VersionDraft(1, "https://api.example", CREATED, CREATED, {}, {}, [])
        with pytest.raises(Exception, match="not empty"):
            writer.commit(archive.layout, draft)
        assert archive.layout.manifest(2).read_bytes() == before

    def test_a_leftover_of_a_killed_run_is_not_in_the_next_version(self, archive: Built) -> None:
        folder = archive.layout.work / "new-version"
        folder.mkdir()
        (folder / "strange").write_bytes(b"x")
        archive.commit({Kind.ENTRIES: {"99": entry(99, "後")}})
        assert [found for found in verify(archive.reader) if found.damage] == []

    def test_a_failing_source_of_lines_leaves_the_archive_as_it_was(self, archive: Built) -> None:
        def lines() -> Iterator[bytes]:
            yield b"{}\n"
            raise ArchiveDamaged("half way")

        draft = writer.VersionDraft(5, "https://api.example", CREATED, CREATED, {}, {}, [], {Kind.FILES: lines()})
        with pytest.raises(ArchiveDamaged, match="half way"):
            writer.commit(archive.layout, draft)
        assert archive.reader.versions() == [1, 2, 3, 4, 5]
        assert list(verify(archive.reader)) == []


class TestLeftovers:
    def test_only_leftovers_of_killed_runs_are_removed(self, archive: Built) -> None:
        before = {path for path in archive.root.rglob("*") if path.is_file()}
        for name in ("new-version", "latest.new", "latest.old"):
            (archive.layout.work / name / "deep").mkdir(parents=True)
        (archive.layout.work / "views.new.jsonl").write_bytes(b"half")
        (archive.root / ".runs.jsonl.tmp").write_bytes(b"half")
        (archive.layout.work / "freshness.jsonl").write_bytes(b"")
        writer.clean_leftovers(archive.layout)
        assert {path for path in archive.root.rglob("*") if path.is_file()} == before | {archive.layout.freshness}
        assert {path.name for path in archive.layout.work.iterdir() if path.is_dir()} == set()

    def test_a_place_without_any_is_fine(self, tmp_path: Path) -> None:
        writer.clean_leftovers(Layout(tmp_path / "no"))
        assert list(tmp_path.iterdir()) == []


def test_runs_are_appended(tmp_path: Path) -> None:
    built = Built(tmp_path / "archive")
    runs = [run_line(outcome="failed", error="ひ\n\ud83d"), run_line(version=1)]
    for run in runs:
        writer.append_run(built.layout, run)
    lines = built.layout.runs.read_bytes().splitlines()
    links = [None, hashlib.sha256(lines[0]).hexdigest()]
    expected = [{**run, "previous": link, "manifest_sha256": None} for run, link in zip(runs, links, strict=True)]
    assert built.reader.runs() == expected
    assert [json.loads(line) for line in lines] == expected


def test_the_newest_record_wins_in_the_next_version(tmp_path: Path) -> None:
    built = Built(tmp_path / "archive")
    built.commit({Kind.USER: {"u": record(id="u", nickname="a")}})
    built.commit({Kind.USER: {"u": record(id="u", nickname="b")}})
    state = Archive.open(built.root).state()
    assert dict(state.scan(Kind.USER)) == {"u": {"id": "u", "nickname": "b"}}
    state.close()
