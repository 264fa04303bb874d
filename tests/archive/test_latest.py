"""``latest/`` is used only if it is valid, replaced while readers use it, and its views rewrite only changed files."""

from __future__ import annotations

import ctypes
import errno
import json
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from exporter.archive import atomic
from exporter.archive.checks import file_sha256
from exporter.archive.latest import (
    CHECKS_FOR_ALL,
    LatestCheck,
    check_latest,
    is_current,
    load_latest,
    read_index,
    read_record,
    write_latest,
)
from exporter.archive.layout import SEGMENTS
from exporter.archive.state import State
from exporter.archive.verify import verify
from exporter.errors import BlogExporterError
from exporter.model.kinds import Kind
from tests.archive.builder import BLOG, Built, entry, open_files, pages

FILES = {"index.md": b"# index\n", "2016/01/a.md": b"a\n"}


def content(state: State) -> dict[Kind, list[tuple[str, bytes, int | None]]]:
    """Return everything in a state, and close it."""
    found = {kind: [(line.record_id, line.data, line.version) for line in state.lines(kind)] for kind in Kind}
    state.close()
    return found


class TestLoading:
    def test_it_equals_the_versions(self, five: Built) -> None:
        state = load_latest(five.layout, BLOG, 5)
        assert state is not None
        assert content(state) == content(five.reader.fold(5))

    def test_only_the_version_it_shows(self, five: Built) -> None:
        assert load_latest(five.layout, BLOG, 4) is None

    def test_a_replaced_manifest_is_another_version(self, archive: Built) -> None:
        manifest = archive.layout.manifest(5)
        manifest.write_bytes(manifest.read_bytes() + b" ")
        assert load_latest(archive.layout, BLOG, 5) is None
        manifest.unlink()
        assert load_latest(archive.layout, BLOG, 5) is None

    @pytest.mark.parametrize("kind", Kind)
    def test_a_missing_file_is_noticed_and_nothing_stays_open(self, archive: Built, kind: Kind) -> None:
        archive.layout.latest_segment(kind).unlink()
        before = open_files()
        assert load_latest(archive.layout, BLOG, 5) is None
        assert open_files() == before

    @pytest.mark.parametrize("record", [b"", b"[]", b"{}", b"null", b'{"version":5,"files":7}', b"\xff"])
    def test_an_empty_record(self, archive: Built, record: bytes) -> None:
        archive.layout.latest_record.write_bytes(record)
        assert load_latest(archive.layout, BLOG, 5) is None
        assert content(archive.reader.state()) == content(archive.reader.fold(5))

    def test_a_record_without_files(self, archive: Built) -> None:
        record = {**read_record(archive.layout), "files": []}
        archive.layout.latest_record.write_text(json.dumps(record))
        assert load_latest(archive.layout, BLOG, 5) is None

    def test_files_that_match_their_record_but_have_invalid_lines(self, archive: Built) -> None:
        path = archive.layout.latest_segment(Kind.ENTRIES)
        path.write_bytes(b"nonsense\n")
        record = read_record(archive.layout)
        record["files"]["entries.jsonl"] = file_sha256(path)
        archive.layout.latest_record.write_text(json.dumps(record))
        before = open_files()
        assert load_latest(archive.layout, BLOG, 5) is None
        assert open_files() == before
        assert content(archive.reader.state()) == content(archive.reader.fold(5))

    @pytest.mark.parametrize("changes", [12, pytest.param(120, marks=pytest.mark.thorough)])
    @pytest.mark.parametrize("name", [*(f"latest/{name}" for name in SEGMENTS), ".work/latest.json"])
    def test_a_changed_byte_anywhere_changes_nothing(self, archive: Built, name: str, changes: int) -> None:
        expected = content(archive.reader.fold(5))
        path = archive.root / name
        whole = path.read_bytes()
        before = open_files()
        chance = random.Random(name)
        for place in chance.sample(range(len(whole)), min(len(whole), changes)):
            changed = bytearray(whole)
            changed[place] ^= 1 << chance.randrange(8)
            path.write_bytes(changed)
            assert content(archive.reader.state()) == expected
        assert open_files() == before

    @pytest.mark.parametrize("name", SEGMENTS)
    def test_a_file_cut_short_changes_nothing(self, archive: Built, name: str) -> None:
        expected = content(archive.reader.fold(5))
        path = archive.layout.latest / name
        path.write_bytes(path.read_bytes()[:-1])
        assert content(archive.reader.state()) == expected

    def test_readers_that_opened_it_go_on_after_it_was_replaced(self, archive: Built) -> None:
        expected = content(archive.reader.fold(5))
        reading = archive.reader.state()
        archive.commit({Kind.ENTRIES: {"1": entry(1, "別"), "99": entry(99, "後")}})
        archive.refresh()
        assert content(reading) == expected
        assert "99" in dict(archive.reader.state().scan(Kind.ENTRIES))


class TestWriting:
    def test_lines_are_those_of_the_format(self, five: Built) -> None:
        for kind in Kind:
            lines = five.layout.latest_segment(kind).read_bytes().split(b"\n")
            assert lines.pop() == b""
            state = five.reader.fold(5)
            heads = [json.loads(line.partition(b',"sha256":')[0] + b"}") for line in lines]
            assert [head["id"] for head in heads] == state.ids(kind)
            assert [list(head) for head in heads] == [["id", "version"]] * len(lines)
            state.close()

    def test_an_empty_archive_has_six_empty_files(self, tmp_path: Path) -> None:
        built = Built(tmp_path / "archive")
        built.commit({})
        built.refresh()
        assert {path.name: path.read_bytes() for path in built.layout.latest.iterdir()} == dict.fromkeys(SEGMENTS, b"")
        assert is_current(built.layout, 1, [])

    def test_it_replaces_all_old_files(self, archive: Built) -> None:
        (archive.layout.latest / "stray.txt").write_bytes(b"x")
        archive.refresh()
        assert {path.name for path in archive.layout.latest.iterdir()} == set(SEGMENTS)
        assert {path.name for path in archive.layout.work.iterdir()} == {
            "latest.json", "latest.rows", "views.jsonl", "documents.jsonl", "runs.jsonl",
        }  # fmt: skip

    def test_damage_in_latest_does_not_get_into_the_next(self, archive: Built) -> None:
        path = archive.layout.latest_segment(Kind.ENTRIES)
        path.write_bytes(path.read_bytes().replace(b"\xe9\xa1\x8c", b"\xe9\xa1\x8d"))
        archive.refresh(pages(FILES))
        assert list(verify(archive.reader)) == []


class TestViews:
    def inode(self, built: Built, path: str) -> int:
        return (built.layout.latest / "markdown" / path).stat().st_ino

    def test_unchanged_files_are_linked_and_changed_ones_made(self, archive: Built) -> None:
        before = {path: self.inode(archive, path) for path in FILES}
        changed = {**FILES, "index.md": b"# other\n", "new/b.md": b"b\n"}
        assert archive.refresh(pages(changed)) == 2
        assert self.inode(archive, "2016/01/a.md") == before["2016/01/a.md"]
        assert self.inode(archive, "index.md") != before["index.md"]
        found = {path: (archive.layout.latest / "markdown" / path).read_bytes() for path in changed}
        assert found == changed
        assert list(verify(archive.reader)) == []

    def test_files_no_longer_asked_for_are_gone(self, archive: Built) -> None:
        assert archive.refresh(pages({"index.md": FILES["index.md"]})) == 0
        assert [path.name for path in (archive.layout.latest / "markdown").rglob("*")] == ["index.md"]

    def test_another_edition_makes_all_files_again(self, archive: Built) -> None:
        assert archive.refresh(pages(FILES, edition="2")) == 2

    def test_a_view_of_another_name_shares_nothing(self, archive: Built) -> None:
        assert archive.refresh(pages(FILES), pages(FILES, name="site")) == 2

    def test_a_damaged_file_is_made_again_if_nothing_is_reused(self, archive: Built) -> None:
        path = archive.layout.latest / "markdown/index.md"
        path.write_bytes(b"# damaged\n")
        assert archive.refresh(pages(FILES), reuse=False) == 2
        assert path.read_bytes() == FILES["index.md"]
        assert list(verify(archive.reader)) == []

    def test_a_missing_file_is_made_again(self, archive: Built) -> None:
        (archive.layout.latest / "markdown/index.md").unlink()
        assert archive.refresh(pages(FILES)) == 1

    def test_an_index_that_is_not_the_one_written_is_not_believed(self, archive: Built) -> None:
        index = archive.layout.work / "views.jsonl"
        index.write_bytes(index.read_bytes().replace(b"index.md", b"indix.md"))
        assert list(read_index(archive.layout)) == []
        assert archive.refresh(pages(FILES)) == 2
        index.unlink()
        assert list(read_index(archive.layout)) == []
        assert archive.refresh(pages(FILES)) == 2

    @pytest.mark.parametrize("path", ["../x", "a/../../x", "/etc/x", "", ".", "a\\b", "..", "a/.."])
    def test_a_path_out_of_the_views_folder_is_refused(self, archive: Built, path: str) -> None:
        before = sorted(archive.root.rglob("*"))
        with pytest.raises(ValueError, match="a view asked for the path"):
            archive.refresh(pages({path: b"x"}))
        assert (archive.layout.latest / "markdown/index.md").read_bytes() == FILES["index.md"]
        shutil.rmtree(archive.layout.work / "latest.new")
        for name in ("views.new.jsonl", "latest.new.rows"):
            (archive.layout.work / name).unlink()
        assert sorted(archive.root.rglob("*")) == before


class TestCurrent:
    def test_a_new_latest_is_current(self, five: Built) -> None:
        assert is_current(five.layout, 5, [pages(FILES)])

    def test_another_version_edition_or_set_of_views_is_not(self, five: Built) -> None:
        assert not is_current(five.layout, 4, [pages(FILES)])
        assert not is_current(five.layout, 5, [pages(FILES, edition="2")])
        assert not is_current(five.layout, 5, [])
        assert not is_current(five.layout, 5, [pages(FILES), pages(FILES, name="site")])

    @pytest.mark.parametrize("name", ["latest", "latest/files.jsonl", "latest/markdown", ".work/latest.json"])
    def test_a_missing_file_is_not_current(self, archive: Built, name: str) -> None:
        path = archive.root / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
        assert not is_current(archive.layout, 5, [pages(FILES)])


def touch(path: Path, data: bytes) -> None:
    """Change a file's content, but not its size and times."""
    before = path.stat()
    path.write_bytes(data)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def notes(built: Built) -> tuple[bytes, dict[str, object]]:
    """Return the record of ``latest/`` without the number of checks."""
    record = {name: value for name, value in read_record(built.layout).items() if name != "turn"}
    return (built.layout.work / "views.jsonl").read_bytes(), record


PLACES = [*SEGMENTS, "markdown/index.md", "markdown/2016/01/a.md"]


class TestLooking:
    @pytest.fixture(autouse=True)
    def segments_with_content(self, archive: Built) -> None:
        archive.commit({Kind.FILES: {"7": entry(7, "絵")}})
        archive.refresh(pages(FILES))

    def test_a_new_latest_is_complete(self, archive: Built) -> None:
        before = notes(archive)
        for _ in range(CHECKS_FOR_ALL):
            assert check_latest(archive.layout).whole
        assert notes(archive) == before

    @pytest.mark.parametrize("damage", ["missing", "empty", "cut", "other", "link"])
    def test_damage_is_noticed_at_once(self, archive: Built, damage: str, subtests: pytest.Subtests) -> None:
        aside = archive.root.parent / "aside"
        for place in PLACES:
            with subtests.test(place=place):
                path = Path(archive.layout.latest / place)
                data = path.read_bytes()
                path.rename(aside)
                if damage == "link":
                    path.symlink_to(aside)
                elif damage != "missing":
                    path.write_bytes({"empty": b"", "cut": data[:-1], "other": b"?" * len(data)}[damage])
                before = notes(archive)
                assert check_latest(archive.layout).damaged == {place}
                assert notes(archive) == before
                aside.rename(path)

    @pytest.mark.parametrize("place", PLACES)
    def test_damage_of_the_content_alone_is_found_within_seven_checks(self, archive: Built, place: str) -> None:
        path = archive.layout.latest / place
        data = path.read_bytes()
        touch(path, data[:-1] + b"?")
        found = [check_latest(archive.layout).damaged for _ in range(CHECKS_FOR_ALL)]
        # Once damage is found, every check reports it until it is repaired.
        assert found == sorted(found)
        assert found[-1] == {place}

    def test_each_look_hashes_a_part(self, archive: Built) -> None:
        files = {f"{number}.md": b"%d" % number for number in range(700)}
        archive.refresh(pages(files))
        for name, data in files.items():
            touch(archive.layout.latest / "markdown" / name, b"?" * len(data))
        record = read_record(archive.layout)
        found = []
        for turn in range(CHECKS_FOR_ALL):
            archive.layout.latest_record.write_text(json.dumps({**record, "turn": turn}))
            found.append(check_latest(archive.layout).damaged)
        assert frozenset().union(*found) == {f"markdown/{name}" for name in files}
        assert all(70 < len(part) < 130 for part in found)

    def test_a_copied_archive_is_hashed_once_and_then_trusted(self, archive: Built, tmp_path: Path) -> None:
        shutil.copytree(archive.root, tmp_path / "copy", copy_function=shutil.copy)
        copy = Built.reopen(tmp_path / "copy")
        before = notes(copy)
        assert check_latest(copy.layout).whole
        after = notes(copy)
        assert after != before
        assert [entry.sha256 for entry in read_index(copy.layout)] == [
            each.sha256 for each in read_index(archive.layout)
        ]
        assert check_latest(copy.layout).whole
        assert notes(copy) == after

    def test_an_index_of_an_earlier_program_is_checked_by_hashes(self, archive: Built) -> None:
        index = archive.layout.work / "views.jsonl"
        index.write_bytes(
            b"".join(json.dumps(json.loads(line)[:4]).encode() + b"\n" for line in index.read_bytes().splitlines())
        )
        record = {**read_record(archive.layout), "index_sha256": file_sha256(index)}
        del record["stamps"], record["turn"]
        archive.layout.latest_record.write_text(json.dumps(record))
        touch(archive.layout.latest / "markdown/index.md", b"# inbex\n")
        assert check_latest(archive.layout).damaged == {"markdown/index.md"}
        touch(archive.layout.latest / "markdown/index.md", FILES["index.md"])
        assert check_latest(archive.layout).whole
        assert {len(json.loads(line)) for line in index.read_bytes().splitlines()} == {6}

    def test_without_an_index_nothing_is_known(self, archive: Built) -> None:
        assert check_latest(archive.layout) == LatestCheck()
        (archive.layout.work / "views.jsonl").unlink()
        assert not check_latest(archive.layout).known
        archive.layout.latest_record.unlink()
        assert not check_latest(archive.layout).whole

    @pytest.mark.parametrize("line", ["7", "{}", '["a"]', "[1,2,3,4]", '["markdown","../../x","","",1,2]'])
    def test_invalid_lines_are_skipped(self, archive: Built, line: str) -> None:
        index = archive.layout.work / "views.jsonl"
        index.write_bytes(index.read_bytes() + line.encode() + b"\n")
        record = {**read_record(archive.layout), "index_sha256": file_sha256(index)}
        archive.layout.latest_record.write_text(json.dumps(record))
        assert check_latest(archive.layout).whole
        index.write_bytes(b"{]\n")
        record["index_sha256"] = file_sha256(index)
        archive.layout.latest_record.write_text(json.dumps(record))
        assert not check_latest(archive.layout).known

    @pytest.mark.parametrize("data", [b"", b"# inbex\n"])
    def test_a_damaged_file_is_not_linked_into_the_next_folder(self, archive: Built, data: bytes) -> None:
        path = archive.layout.latest / "markdown/index.md"
        path.write_bytes(data)
        archive.commit({Kind.ENTRIES: {"99": entry(99, "後")}})
        assert archive.refresh(pages(FILES)) == 1
        assert path.read_bytes() == FILES["index.md"]
        assert list(verify(archive.reader)) == []

    def test_damaged_files_are_made_again_and_the_rest_is_linked(self, archive: Built) -> None:
        view = archive.layout.latest / "markdown"
        inode = (view / "2016/01/a.md").stat().st_ino
        touch(view / "index.md", b"# inbex\n")
        while not (damaged := check_latest(archive.layout).damaged):
            pass
        assert write_latest(archive.layout, archive.reader.state(), [pages(FILES)], damaged=damaged) == 1
        assert (view / "index.md").read_bytes() == FILES["index.md"]
        assert (view / "2016/01/a.md").stat().st_ino == inode

    def test_a_file_whose_time_alone_changed_is_linked(self, archive: Built) -> None:
        path = archive.layout.latest / "markdown/index.md"
        os.utime(path, ns=(1, 1))
        assert archive.refresh(pages(FILES)) == 0
        before = notes(archive)
        assert check_latest(archive.layout).whole
        assert notes(archive) == before


class Told:
    """Records the calls that make files durable and rename them, in order."""

    def __init__(self, patch: pytest.MonkeyPatch, *, syncfs: bool) -> None:
        self.calls: list[str] = []
        fsync, rename, replace = os.fsync, os.rename, os.replace
        call, exchange = atomic._syncfs(), atomic.exchange

        def noted_fsync(handle: int) -> None:
            self.calls.append(f"fsync {Path(f'/proc/self/fd/{handle}').readlink()}")
            fsync(handle)

        def noted_syncfs(handle: int) -> int:
            self.calls.append("syncfs")
            return int(call(handle))

        def noted_exchange(one: Path, other: Path) -> bool:
            self.calls.append(f"{one.name} becomes {other.name}")
            return exchange(one, other)

        def noted(real: Callable[..., None]) -> Callable[..., None]:
            def moved(source: str, target: str, **folders: int) -> None:
                self.calls.append(f"{source} becomes {target}")
                real(source, target, **folders)

            return moved

        patch.setattr(os, "fsync", noted_fsync)
        patch.setattr(os, "rename", noted(rename))
        patch.setattr(os, "replace", noted(replace))
        patch.setattr(atomic, "exchange", noted_exchange)
        patch.setattr(atomic, "_syncfs", lambda: noted_syncfs if syncfs else None)

    def before(self, call: str) -> list[str]:
        return self.calls[: self.calls.index(call)]


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="only Linux tells what a descriptor is of")
class TestDurability:
    """All files in the record and the index are durable before the folder, the record and the index are renamed."""

    VOUCHERS = (
        "views.new.jsonl becomes views.jsonl",
        "latest.new becomes latest",
        ".latest.json.tmp becomes latest.json",
    )

    def test_a_few_files_one_by_one(self, archive: Built, monkeypatch: pytest.MonkeyPatch) -> None:
        told = Told(monkeypatch, syncfs=True)
        archive.refresh(pages({**FILES, "index.md": b"# new\n"}))
        new = archive.layout.work / "latest.new"
        folders = [new, new / "markdown", new / "markdown/2016", new / "markdown/2016/01"]
        for voucher in self.VOUCHERS:
            done = told.before(voucher)
            assert {f"fsync {path}" for path in [*folders, new / "markdown/index.md", new / "entries.jsonl"]} <= {*done}
        assert f"fsync {new / 'markdown/2016/01/a.md'}" not in told.calls
        assert "syncfs" not in told.calls

    @pytest.mark.parametrize("syncfs", [True, False])
    def test_many_files_at_once_if_the_system_can(
        self, archive: Built, monkeypatch: pytest.MonkeyPatch, syncfs: bool
    ) -> None:
        told = Told(monkeypatch, syncfs=syncfs)
        files = {f"{number}.md": b"x" for number in range(80)}
        archive.refresh(pages(files))
        new = archive.layout.work / "latest.new"
        each = {f"fsync {new / 'markdown' / name}" for name in files}
        for voucher in self.VOUCHERS:
            done = {*told.before(voucher)}
            assert "syncfs" in done if syncfs else each <= done
        assert not (syncfs and each & {*told.calls})

    def test_a_system_that_does_not_know_the_call_after_all(
        self, archive: Built, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        told = Told(monkeypatch, syncfs=False)
        number = errno.ENOSYS

        def failing(_handle: int) -> int:
            ctypes.set_errno(number)
            return -1

        monkeypatch.setattr(atomic, "_syncfs", lambda: failing)
        archive.refresh(pages({f"{number}.md": b"x" for number in range(80)}))
        assert sum(call.endswith(".md") for call in told.calls) == 80
        number = errno.EIO
        with pytest.raises(BlogExporterError, match="Input/output error"):
            archive.refresh(pages({f"{number}.md": b"y" for number in range(80)}))
        assert (archive.layout.latest / "markdown/7.md").read_bytes() == b"x"
        assert check_latest(archive.layout).whole


def test_writing_an_older_state_is_possible(archive: Built) -> None:
    write_latest(archive.layout, archive.reader.fold(2), [])
    state = load_latest(archive.layout, BLOG, 2)
    assert state is not None
    assert content(state) == content(archive.reader.fold(2))
