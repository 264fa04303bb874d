"""``latest/`` made from a state and its changes equals the one made from all versions, and its rows match its lines."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter import lossless_json
from exporter.archive.latest import load_latest, read_record, write_latest
from exporter.archive.latest_segments import ROWS_HASH, ChangedLine, Segments, SegmentsWriter, write_segments
from exporter.archive.layout import Layout, segment_name
from exporter.archive.lines import put_line, remove_line
from exporter.archive.state import State
from exporter.errors import ArchiveDamaged, NoSpace
from exporter.model.kinds import Kind, sort_key
from tests.archive.builder import Built, entry
from tests.support.examples import in_both_lanes
from tests.support.json_texts import objects

IDS = st.one_of(
    st.integers(0, 40).map(str),
    st.sampled_from(["00", "007", "9" * 19, "9" * 30, "-1", "a", "", "\ud83d", 'x","data":', "１", str(2**63)]),
)
VERSION = st.dictionaries(IDS, st.one_of(st.none(), objects), max_size=12)


def changes_of(version: dict[str, object]) -> Iterator[ChangedLine]:
    for record_id in sorted(version, key=sort_key):
        value = version[record_id]
        if value is None:
            yield ChangedLine(record_id, remove_line(record_id, {"why": 1}), None)
        else:
            frozen = lossless_json.freeze(lossless_json.loads(lossless_json.canonical(value)))
            yield ChangedLine(record_id, put_line(record_id, frozen), frozen.identity)


@dataclass
class Place:
    """Versions in separate files, and the state after each."""

    folder: Path

    def fold(self, versions: list[list[ChangedLine]]) -> State:
        state = State("sea.example")
        for number, changes in enumerate(versions, 1):
            path = self.folder / f"{number}.jsonl"
            path.write_bytes(b"".join(change.line for change in changes))
            state.fold(path, Kind.COMMENTS, number)
            state.version = number
        return state


def latest_lines(state: State, kind: Kind) -> list[bytes]:
    return [state.latest_line(kind, record_id, row) for record_id, row in state.kinds[kind].ordered()]


def contents(segments: Segments) -> dict[str, bytes]:
    return {file.name: (segments.folder / file.name).read_bytes() for file in segments.files}


def facts(state: State) -> list[tuple[str, bytes, int, bytes]]:
    """Return all the facts that a state has about its lines, and the lines."""
    rows = state.kinds[Kind.COMMENTS]
    return [
        (record_id, rows.identity(row), rows.version(row), state.segments.read(*rows.place(row)))
        for record_id, row in rows.ordered()
    ]


def a_state_and_its_changes_equal_a_fold_of_all_versions(
    tmp_path_factory: pytest.TempPathFactory, versions: list[dict[str, object]]
) -> None:
    place, layout = Place(tmp_path_factory.mktemp("versions")), Layout(tmp_path_factory.mktemp("archive"))
    made = [list(changes_of(version)) for version in versions]
    before, after = place.fold(made[:-1]), place.fold(made)
    expected = contents(write_segments(layout, after))
    writer = SegmentsWriter(layout, before, len(made))
    for kind in Kind:
        changes = made[-1] if kind is Kind.COMMENTS else []
        assert list(writer.passing(kind, changes)) == [change.line for change in changes]
    segments = writer.close()
    assert contents(segments) == expected
    shown, folded = segments.state("sea.example"), State("sea.example")
    folded.fold(segments.folder / segment_name(Kind.COMMENTS), Kind.COMMENTS, len(made))
    assert facts(shown) == facts(folded)
    assert shown.ids(Kind.COMMENTS) == after.ids(Kind.COMMENTS)
    assert latest_lines(shown, Kind.COMMENTS) == latest_lines(after, Kind.COMMENTS)
    for state in (before, after, shown, folded):
        state.close()


(
    test_a_state_and_its_changes_equal_a_fold_of_all_versions,
    test_a_state_and_its_changes_equal_a_fold_of_all_versions_often,
) = in_both_lanes(
    given(st.lists(VERSION, min_size=1, max_size=4)),
    a_state_and_its_changes_equal_a_fold_of_all_versions,
    some=6,
    many=80,
)


@pytest.fixture
def archive(five: Built, tmp_path: Path) -> Built:
    shutil.copytree(five.root, tmp_path / "copy")
    copy = Built.reopen(tmp_path / "copy")
    copy.refresh()
    return copy


def opened(archive: Built) -> State:
    state = load_latest(archive.layout, "b", len(archive.states))
    assert state is not None
    return state


class TestRows:
    def test_they_match_the_lines(self, archive: Built) -> None:
        state = opened(archive)
        folded = archive.reader.fold(5)
        for kind in Kind:
            assert list(state.lines(kind)) == list(folded.lines(kind))
            assert latest_lines(state, kind) == archive.layout.latest_segment(kind).read_bytes().splitlines(True)
        state.close()

    def test_many_lines_and_ids_of_both_forms(self, archive: Built) -> None:
        records = {str(number): entry(number, "題") for number in range(1, 3000)}
        archive.commit({Kind.ENTRIES: {**records, **{f"0{number}": entry(number, "絵") for number in range(1500)}}})
        archive.refresh()
        state, folded = opened(archive), archive.reader.fold(6)
        assert list(state.lines(Kind.ENTRIES)) == list(folded.lines(Kind.ENTRIES))
        state.close()

    @pytest.mark.parametrize("damage", ["missing", "empty", "cut", "longer", "other", "another"])
    def test_damaged_rows_are_not_used(self, archive: Built, damage: str) -> None:
        path = archive.layout.latest_rows
        data = path.read_bytes()
        path.unlink()
        if damage == "another":
            other = Built(archive.root.parent / "other")
            other.commit({Kind.ENTRIES: {"1": entry(1, "題")}})
            other.refresh()
            data = other.layout.latest_rows.read_bytes()
        if damage != "missing":
            changed = {"empty": b"", "cut": data[:-5], "longer": data + b"\0", "other": data[:40] + b"?" + data[41:]}
            path.write_bytes(changed.get(damage, data))
        state = opened(archive)
        assert list(state.lines(Kind.ENTRIES)) == list(archive.reader.fold(5).lines(Kind.ENTRIES))
        state.close()

    def test_rows_are_not_used_if_a_file_has_another_size(self, archive: Built) -> None:
        """The rows may have been forged, so the program checks that the lines exist."""
        other = Built(archive.root.parent / "other")
        other.commit({Kind.ENTRIES: {"1": entry(1, "題")}})
        other.refresh()
        shutil.copy(other.layout.latest_rows, archive.layout.latest_rows)
        record = read_record(archive.layout) | {ROWS_HASH: read_record(other.layout)[ROWS_HASH]}
        archive.layout.latest_record.write_bytes(lossless_json.dumps(record))
        assert opened(archive).ids(Kind.ENTRIES) == archive.reader.fold(5).ids(Kind.ENTRIES)

    def test_files_that_were_touched_are_hashed_and_changed_ones_not_read(self, archive: Built) -> None:
        path = archive.layout.latest_segment(Kind.ENTRIES)
        os.utime(path, ns=(1, 1))
        opened(archive).close()
        path.write_bytes(path.read_bytes().replace("題".encode(), "絵".encode()))
        assert load_latest(archive.layout, "b", 5) is None
        state = archive.reader.state()
        assert list(state.lines(Kind.ENTRIES)) == list(archive.reader.fold(5).lines(Kind.ENTRIES))
        state.close()

    def test_damage_with_unchanged_size_and_time_is_found_when_reading(self, archive: Built) -> None:
        path = archive.layout.latest_segment(Kind.ENTRIES)
        before = path.stat()
        path.write_bytes(path.read_bytes().replace("題".encode(), "絵".encode()))
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        state = archive.reader.state()
        assert list(state.lines(Kind.ENTRIES)) == list(archive.reader.fold(5).lines(Kind.ENTRIES))
        state.close()
        for number in range(1, 6):
            segment = archive.layout.segment(number, Kind.ENTRIES)
            segment.write_bytes(segment.read_bytes().replace("題".encode(), "絵".encode()))
        state = archive.reader.state()
        with pytest.raises(ArchiveDamaged, match="does not match its sha256"):
            list(state.lines(Kind.ENTRIES))
        state.close()


class TestFailure:
    def test_a_version_is_written_though_latest_cannot_be(
        self, archive: Built, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        state = archive.reader.state()
        writer = SegmentsWriter(archive.layout, state, 6)
        frozen = lossless_json.freeze({"entry_id": "1"})
        changes = [
            ChangedLine("1", put_line("1", frozen), frozen.identity),
            ChangedLine("2", remove_line("2", {}), None),
        ]
        list(writer.passing(Kind.ENTRIES, changes))

        def full(*_: object, **__: object) -> None:
            raise NoSpace("full")

        monkeypatch.setattr(State, "latest_line", full)
        assert list(writer.passing(Kind.ENTRY_LIST, changes)) == [change.line for change in changes]
        assert not [path for path in archive.layout.work.iterdir() if "new" in path.name or "next" in path.name]
        assert list(writer.passing(Kind.FILES, changes)) == [change.line for change in changes]
        with pytest.raises(NoSpace, match="full"):
            writer.close()
        state.close()

    def test_missing_segments_are_not_read(self, archive: Built) -> None:
        state = archive.reader.state()
        segments = write_segments(archive.layout, state)
        segments.rows[0].write_bytes(b"")
        with pytest.raises(ArchiveDamaged, match="was changed while it was in use; run rebuild"):
            segments.state("b")
        write_latest(archive.layout, state, [])
