"""Opening archives and folders that are not archives, and finding the requested version."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from exporter.archive.archive import Archive, read_consistently
from exporter.archive.layout import version_numbers
from exporter.archive.prune import plan_prune, prune
from exporter.archive.reader import apply_version, read_info
from exporter.archive.state import State
from exporter.errors import ArchiveDamaged, Interrupted, NewerFormat, NoArchive, NoSuchRecord, UsageError
from exporter.model.kinds import Kind
from tests.archive.builder import BLOG, CREATED, Built


class TestOpening:
    def test_an_archive(self, five: Built) -> None:
        reader = Archive.open(five.root)
        assert (reader.info.blog_id, reader.versions(), reader.newest()) == (BLOG, [1, 2, 3, 4, 5], 5)

    @pytest.mark.parametrize("name", ["", "missing", "file", "file/below"])
    def test_no_archive(self, tmp_path: Path, name: str) -> None:
        (tmp_path / "file").write_bytes(b"")
        with pytest.raises(
            NoArchive,
            match=r"is not an archive: it has no archive\.json\. Give the folder that `blog-exporter backup` wrote\.$",
        ):
            Archive.open(tmp_path / name)

    def test_another_programs_folder(self, tmp_path: Path) -> None:
        (tmp_path / "archive.json").write_text('{"format":"photo-album"}')
        with pytest.raises(NoArchive, match="says another format"):
            Archive.open(tmp_path)

    def test_a_newer_format(self, tmp_path: Path) -> None:
        (tmp_path / "archive.json").write_text('{"format":"blog-exporter-archive","format_version":7}')
        with pytest.raises(NewerFormat, match="has format 7"):
            Archive.open(tmp_path)

    def test_a_document_that_cannot_be_read(self, tmp_path: Path) -> None:
        (tmp_path / "archive.json").write_bytes(b'{"format"')
        with pytest.raises(ArchiveDamaged, match=r"archive\.json is damaged"):
            Archive.open(tmp_path)

    def test_a_folder_in_its_place(self, tmp_path: Path) -> None:
        (tmp_path / "archive.json").mkdir()
        with pytest.raises(ArchiveDamaged, match=r"archive\.json is a folder, .*; remove it"):
            Archive.open(tmp_path)

    @pytest.mark.parametrize(
        ("old", "new"),
        [(b"blog-exporter-archive", b"blog-exporter-arghive"), (b'"format_version": 1', b'"format_version": 3')],
    )
    def test_damage_is_not_taken_for_a_foreign_or_newer_archive(self, archive: Built, old: bytes, new: bytes) -> None:
        data = archive.layout.info.read_bytes()
        archive.layout.info.write_bytes(data.replace(old, new))
        assert read_info(archive.layout).encode() == data
        archive.layout.work.remove()
        with pytest.raises(ArchiveDamaged, match=r"its hash is not the one in SHA256SUMS; restore it"):
            read_info(archive.layout)

    def test_a_version_without_checksums_proves_nothing(self, archive: Built) -> None:
        data = archive.layout.info.read_bytes()
        archive.layout.info.write_bytes(data.replace(b'"format_version": 1', b'"format_version": 3'))
        archive.layout.sums.unlink()
        archive.layout.work.remove()
        (archive.layout.version(1) / "SHA256SUMS").unlink()
        with pytest.raises(ArchiveDamaged):
            read_info(archive.layout)
        for number in range(2, 6):
            (archive.layout.version(number) / "SHA256SUMS").unlink()
        with pytest.raises(NewerFormat):
            read_info(archive.layout)


class TestVersions:
    def test_only_the_names_of_versions_count(self, archive: Built) -> None:
        for name in (".tmp", "0000007", "seven", "000000"):
            (archive.layout.versions / name).mkdir()
        assert archive.reader.versions() == [1, 2, 3, 4, 5]

    def test_a_missing_folder_has_no_versions(self, tmp_path: Path) -> None:
        built = Built(tmp_path / "archive")
        built.layout.versions.rmdir()
        assert version_numbers(built.layout) == []
        built.layout.versions.write_bytes(b"")
        assert version_numbers(built.layout) == []

    def test_resolving(self, five: Built) -> None:
        assert five.reader.resolve() == 5
        assert [five.reader.resolve(number) for number in (1, 3, 5)] == [1, 3, 5]

    @pytest.mark.parametrize("number", [0, 6, -1])
    def test_a_missing_version(self, five: Built, number: int) -> None:
        with pytest.raises(NoSuchRecord, match=rf"^There is no version {number}: this archive has 1 to 5\.$"):
            five.reader.resolve(number)

    def test_no_version_yet(self, tmp_path: Path) -> None:
        reader = Built(tmp_path / "archive").reader
        for at in (None, 1):
            with pytest.raises(NoArchive, match="holds no version yet"):
                reader.resolve(at)
        state = reader.state()
        assert (state.version, state.blog_id, state.ids(Kind.ENTRIES)) == (0, BLOG, [])

    def test_a_missing_manifest_is_damage(self, archive: Built) -> None:
        archive.layout.manifest(3).unlink()
        with pytest.raises(
            ArchiveDamaged, match=r"000003/manifest\.json is missing or cannot be read\. To restore it: "
        ):
            archive.reader.manifest(3)


class TestState:
    @pytest.mark.parametrize("number", [1, 2, 3, 4, 5, None])
    def test_any_version(self, five: Built, number: int | None) -> None:
        state = five.reader.state(number)
        assert state.version == (number or 5)
        for kind in Kind:
            assert {line.record_id: (line.data, line.version) for line in state.lines(kind)} == five.states[
                (number or 5) - 1
            ][kind]
        state.close()

    def test_the_newest_does_not_need_the_older_versions(self, archive: Built) -> None:
        for path in archive.layout.version(2).glob("*.jsonl"):
            path.unlink()
        state = archive.reader.state()
        assert len(state.ids(Kind.ENTRIES)) == len(archive.states[-1][Kind.ENTRIES])
        state.close()
        with pytest.raises(ArchiveDamaged, match=r"000002/entries\.jsonl is damaged: it cannot be read"):
            archive.reader.fold(5)

    def test_applying_a_version_moves_the_state_on(self, five: Built) -> None:
        state = State(BLOG)
        for number in (1, 2):
            apply_version(state, five.layout, number)
            assert state.version == number
            assert set(state.ids(Kind.ENTRIES)) == set(five.states[number - 1][Kind.ENTRIES])
        state.close()

    def test_only_the_kinds_that_are_needed(self, five: Built) -> None:
        state = five.reader.state(3, [Kind.COMMENTS])
        assert {kind for kind in Kind if state.ids(kind)} == {Kind.COMMENTS}
        assert set(state.ids(Kind.COMMENTS)) == set(five.states[2][Kind.COMMENTS])
        state.close()


class TestRuns:
    def test_oldest_first(self, five: Built) -> None:
        assert [run["version"] for run in five.reader.runs()] == [1, 2, 3, 4, 5]

    def test_a_missing_file_has_no_runs(self, archive: Built) -> None:
        archive.layout.runs.unlink()
        assert archive.reader.runs() == []

    def test_damaged_and_torn_lines_are_passed_over(self, archive: Built) -> None:
        lines = archive.layout.runs.read_bytes().splitlines(keepends=True)
        lines[1:3] = [b"nonsense\n", b"[1]\n"]
        archive.layout.runs.write_bytes(b"".join(lines) + json.dumps({"version": 6}).encode())
        assert [run["version"] for run in archive.reader.runs()] == [1, 4, 5]

    def test_newest_first_reads_no_further_than_asked(self, five: Built) -> None:
        runs = five.reader.newest_runs()
        assert [next(runs)["version"], next(runs)["version"]] == [5, 4]


class TestSteadily:
    def test_work_starts_again_when_a_prune_took_its_files(self, archive: Built) -> None:
        seen: list[list[int]] = []

        def work(reader: Archive) -> list[str]:
            versions = reader.versions()
            seen.append(versions)
            if len(seen) == 1:
                times = [(version, datetime(2026, 1, version, tzinfo=UTC)) for version in versions]
                prune(reader.layout, plan_prune(times, keep_last=1))
            return [reader.manifest(version).finished_at for version in versions]

        assert read_consistently(archive.root, work) == [CREATED]
        assert seen == [[1, 2, 3, 4, 5], [5]]

    @pytest.mark.parametrize("error", [UsageError("Cannot write"), FileNotFoundError("entries.jsonl")])
    def test_any_error_of_a_missing_file_starts_the_work_again(self, archive: Built, error: Exception) -> None:
        tries = []

        def work(reader: Archive) -> int:
            tries.append(reader)
            if len(tries) == 1:
                self.replace_versions(archive)
                raise error
            return len(reader.versions())

        assert read_consistently(archive.root, work) == 5

    def test_an_interruption_does_not_start_the_work_again(self, archive: Built) -> None:
        tries = []

        def work(reader: Archive) -> None:
            tries.append(reader)
            self.replace_versions(archive)
            raise Interrupted("Interrupted.")

        with pytest.raises(Interrupted):
            read_consistently(archive.root, work)
        assert len(tries) == 1

    def replace_versions(self, archive: Built) -> None:
        """Replace the versions by a copy, as a prune does."""
        old = archive.root / "versions"
        gone = archive.root / f"old-{len(list(archive.root.iterdir()))}"
        old.rename(gone)
        shutil.copytree(gone, old)

    def test_damage_is_reported_at_once(self, archive: Built) -> None:
        archive.layout.manifest(3).unlink()
        tries = []

        def work(reader: Archive) -> list[int]:
            tries.append(reader)
            return [reader.manifest(version).version for version in reader.versions()]

        with pytest.raises(ArchiveDamaged, match="000003"):
            read_consistently(archive.root, work)
        assert len(tries) == 1

    def test_it_gives_up_on_an_archive_that_keeps_changing(self, archive: Built) -> None:
        tries = []

        def work(reader: Archive) -> None:
            tries.append(reader)
            self.replace_versions(archive)
            raise ArchiveDamaged("it changed")

        with pytest.raises(ArchiveDamaged, match="it changed"):
            read_consistently(archive.root, work)
        assert 1 < len(tries) < 10
