"""``latest/``: believed only when it is right, swapped under the eyes of readers, its views made only where they changed."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path

import pytest

from exporter.archive import latest
from exporter.archive.latest import is_current, load_latest, read_index, read_record, write_latest
from exporter.archive.layout import SEGMENTS
from exporter.archive.state import State
from exporter.archive.verify import verify
from exporter.model.kinds import Kind
from tests.archive.builder import BLOG, Built, entry, open_files, pages

FILES = {"index.md": b"# index\n", "2016/01/a.md": b"a\n"}


def content(state: State) -> dict[Kind, list[tuple[str, bytes, int | None]]]:
    """All a state holds; the state is closed."""
    found = {kind: [(line.record_id, line.data, line.version) for line in state.lines(kind)] for kind in Kind}
    state.close()
    return found


class TestLoading:
    def test_it_is_what_the_versions_say(self, five: Built) -> None:
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
    def test_a_record_that_says_nothing(self, archive: Built, record: bytes) -> None:
        archive.layout.latest_record.write_bytes(record)
        assert load_latest(archive.layout, BLOG, 5) is None
        assert content(archive.reader.state()) == content(archive.reader.fold(5))

    def test_a_record_without_files(self, archive: Built) -> None:
        record = {**read_record(archive.layout), "files": []}
        archive.layout.latest_record.write_text(json.dumps(record))
        assert load_latest(archive.layout, BLOG, 5) is None

    def test_files_that_match_their_record_and_are_no_lines(self, archive: Built) -> None:
        path = archive.layout.latest_segment(Kind.ENTRIES)
        path.write_bytes(b"nonsense\n")
        record = read_record(archive.layout)
        record["files"]["entries.jsonl"] = latest.file_sha256(path)
        archive.layout.latest_record.write_text(json.dumps(record))
        before = open_files()
        assert load_latest(archive.layout, BLOG, 5) is None
        assert open_files() == before
        assert content(archive.reader.state()) == content(archive.reader.fold(5))

    @pytest.mark.parametrize("name", [*(f"latest/{name}" for name in SEGMENTS), ".work/latest.json"])
    def test_a_changed_byte_anywhere_changes_nothing(self, archive: Built, name: str) -> None:
        expected = content(archive.reader.fold(5))
        path = archive.root / name
        whole = path.read_bytes()
        before = open_files()
        chance = random.Random(name)
        for place in chance.sample(range(len(whole)), min(len(whole), 120)):
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

    def test_it_replaces_all_that_was_there(self, archive: Built) -> None:
        (archive.layout.latest / "stray.txt").write_bytes(b"x")
        archive.refresh()
        assert {path.name for path in archive.layout.latest.iterdir()} == set(SEGMENTS)
        assert {path.name for path in archive.layout.work.iterdir()} == {"latest.json", "views.jsonl"}

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

    def test_another_edition_makes_all_anew(self, archive: Built) -> None:
        assert archive.refresh(pages(FILES, edition="2")) == 2

    def test_a_view_of_another_name_shares_nothing(self, archive: Built) -> None:
        assert archive.refresh(pages(FILES), pages(FILES, name="site")) == 2

    def test_a_damaged_file_is_made_anew_when_nothing_is_reused(self, archive: Built) -> None:
        path = archive.layout.latest / "markdown/index.md"
        path.write_bytes(b"# damaged\n")
        assert archive.refresh(pages(FILES), reuse=False) == 2
        assert path.read_bytes() == FILES["index.md"]
        assert list(verify(archive.reader)) == []

    def test_a_missing_file_is_made_anew(self, archive: Built) -> None:
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
        (archive.layout.work / "views.new.jsonl").unlink()
        assert sorted(archive.root.rglob("*")) == before


class TestCurrent:
    def test_what_was_written_is_current(self, five: Built) -> None:
        assert is_current(five.layout, 5, [pages(FILES)])

    def test_another_version_edition_or_set_of_views_is_not(self, five: Built) -> None:
        assert not is_current(five.layout, 4, [pages(FILES)])
        assert not is_current(five.layout, 5, [pages(FILES, edition="2")])
        assert not is_current(five.layout, 5, [])
        assert not is_current(five.layout, 5, [pages(FILES), pages(FILES, name="site")])

    @pytest.mark.parametrize("name", ["latest", "latest/files.jsonl", "latest/markdown", ".work/latest.json"])
    def test_what_is_missing_is_not(self, archive: Built, name: str) -> None:
        path = archive.root / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
        assert not is_current(archive.layout, 5, [pages(FILES)])


def test_writing_an_older_state_is_possible(archive: Built) -> None:
    write_latest(archive.layout, archive.reader.fold(2), [])
    state = load_latest(archive.layout, BLOG, 2)
    assert state is not None
    assert content(state) == content(archive.reader.fold(2))
