"""Folding versions, compared with a dictionary."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporter import lossless_json
from exporter.archive.lines import RecordLine, latest_line, put_line, remove_line
from exporter.archive.state import KindState, State
from exporter.errors import ArchiveDamaged
from exporter.model.kinds import Kind, sort_key
from tests.archive.builder import Built, open_files, record
from tests.support.examples import in_both_lanes
from tests.support.json_texts import objects, texts

IDS = st.one_of(
    st.integers(0, 5).map(str),
    st.sampled_from(
        ["00", "01", "7", "007", "9" * 18, "9" * 19, "9" * 30, "-1", "a", "", "\ud83d", 'x","data":', "１", str(2**62)]
    ),
)
OPERATIONS = st.lists(st.tuples(IDS, st.one_of(st.none(), objects)), max_size=12)


def folding_versions_is_setting_and_deleting(tmp_path_factory: pytest.TempPathFactory, versions: list[object]) -> None:
    folder = tmp_path_factory.mktemp("fold")
    state = State("sea.example")
    model: dict[str, tuple[bytes, int]] = {}
    for number, operations in enumerate(versions, 1):
        lines = []
        assert isinstance(operations, list)
        for record_id, value in operations:
            if value is None:
                lines.append(remove_line(record_id, {"absent_in_sweeps": [1, 2]}))
                model.pop(record_id, None)
            else:
                frozen = lossless_json.freeze(lossless_json.loads(lossless_json.canonical(value)))
                lines.append(put_line(record_id, frozen))
                model[record_id] = (frozen.data, number)
        path = folder / f"{number}.jsonl"
        path.write_bytes(b"".join(lines))
        assert state.fold(path, Kind.COMMENTS, number)[0] == len(lines)
    found = {line.record_id: (line.data, line.version) for line in state.lines(Kind.COMMENTS)}
    assert found == model
    assert state.ids(Kind.COMMENTS) == sorted(model, key=sort_key) == list(found)
    assert len(state.kinds[Kind.COMMENTS]) == len(model)
    assert state.ids(Kind.ENTRIES) == []
    for record_id, (data, _) in model.items():
        assert record_id in state.kinds[Kind.COMMENTS]
        assert state.identity(Kind.COMMENTS, record_id) == lossless_json.freeze(lossless_json.loads(data)).identity
        assert lossless_json.canonical(state.load(Kind.COMMENTS, record_id)) == lossless_json.canonical(
            lossless_json.loads(data)
        )
    state.close()


test_folding_versions_is_setting_and_deleting, test_folding_versions_is_setting_and_deleting_often = in_both_lanes(
    given(st.lists(OPERATIONS, min_size=1, max_size=4)), folding_versions_is_setting_and_deleting, some=8, many=60
)


@pytest.mark.parametrize("place", ["version", "latest"])
@settings(max_examples=60, deadline=None)
@given(st.dictionaries(IDS, texts(), max_size=4), st.booleans(), st.integers(0, 400))
def test_a_record_is_that_of_its_line(
    tmp_path_factory: pytest.TempPathFactory, place: str, records: dict[str, str], newest: bool, flip: int
) -> None:
    """Both the fast path and full parsing read the record, and replace a damaged line by the record found elsewhere."""
    frozen = {
        record_id: lossless_json.freeze(lossless_json.loads(f'{{"record":{text}}}'.encode()))
        for record_id, text in records.items()
    }
    elsewhere = {
        (record_id, each.identity): RecordLine(record_id, False, each.digest, each.raw_digest, each.data)
        for record_id, each in frozen.items()
    }
    path = tmp_path_factory.mktemp("state") / "comments.jsonl"
    path.write_bytes(
        b"".join(put_line(*each) if place == "version" else latest_line(each[0], 7, each[1]) for each in frozen.items())
    )
    state = State("b", 7 if newest else 8)
    state.fold(path, Kind.COMMENTS, 7)

    def refused(read: Callable[[Kind, str], object]) -> set[str]:
        found = set()
        for record_id in frozen:
            try:
                read(Kind.COMMENTS, record_id)
            except ArchiveDamaged:
                found.add(record_id)
        return found

    for damaged in (False, True):
        if damaged:
            body = bytearray(path.read_bytes())
            for at in range(flip, len(body), 401):
                body[at] ^= 1
            path.write_bytes(body)
            state.close()
            assert refused(state.load) == refused(state.line)
            state.fallback = lambda _kind, record_id, identity: elsewhere[record_id, identity]
        expected = {key: written(lossless_json.loads(each.data)) for key, each in frozen.items()}
        assert {line.record_id: written(line.record()) for line in state.lines(Kind.COMMENTS)} == expected
        assert {key: written(data) for key, data in state.scan(Kind.COMMENTS)} == expected
        assert {key: written(state.load(Kind.COMMENTS, key)) for key in frozen} == expected
    state.close()


def written(value: object) -> str:
    return lossless_json.write(value, ordered=True)


class TestState:
    def test_every_version_of_an_archive(self, five: Built) -> None:
        for number, expected in enumerate(five.states, 1):
            state = five.reader.fold(number)
            for kind in Kind:
                found = {line.record_id: (line.data, line.version) for line in state.lines(kind)}
                assert found == expected[kind]
                assert [key for key, _ in state.scan(kind)] == list(found)
                assert all(
                    data == lossless_json.loads(expected[kind][key][0]) or "n" in data for key, data in state.scan(kind)
                )
            state.close()

    def test_what_is_not_there(self, five: Built) -> None:
        state = five.reader.state()
        assert state.line(Kind.ENTRIES, "999") is None
        assert state.load(Kind.ENTRIES, "999") is None
        assert state.identity(Kind.ENTRIES, "999") is None
        assert "999" not in state.kinds[Kind.ENTRIES]
        state.kinds[Kind.ENTRIES].remove("999")
        state.close()

    def test_reading_reopens_closed_files(self, five: Built) -> None:
        state = five.reader.fold(5)
        before = list(state.lines(Kind.ENTRIES))
        state.close()
        assert list(state.lines(Kind.ENTRIES)) == before
        state.close()

    def test_a_damaged_line_names_file_and_line(self, tmp_path: Path) -> None:
        path = tmp_path / "entries.jsonl"
        path.write_bytes(put_line("1", lossless_json.freeze({"a": 1})) + b"nonsense\n")
        with pytest.raises(ArchiveDamaged, match=rf"^{path} is damaged: line 2: .*verify .* --repair"):
            State("b").fold(path, Kind.ENTRIES, 1)

    def test_a_missing_file_is_damage(self, tmp_path: Path) -> None:
        with pytest.raises(
            ArchiveDamaged, match=r"no\.jsonl is damaged: it cannot be read: No such file or directory\. To restore"
        ):
            State("b").fold(tmp_path / "no.jsonl", Kind.ENTRIES, 1)

    def test_a_folder_in_the_place_of_a_file_is_damage(self, tmp_path: Path) -> None:
        with pytest.raises(ArchiveDamaged, match="cannot be read"):
            State("b").fold(tmp_path, Kind.ENTRIES, 1)

    def test_many_files_are_read_with_few_open(self, tmp_path: Path) -> None:
        state = State("b")
        open_before = open_files()
        for number in range(1, 201):
            path = tmp_path / f"{number}.jsonl"
            path.write_bytes(put_line(str(number), lossless_json.freeze(lossless_json.loads(record(n=number)))))
            state.fold(path, Kind.FILES, number)
        for _ in range(2):
            assert [data["n"] for _, data in state.scan(Kind.FILES)] == list(range(1, 201))
        assert open_files() <= open_before + 64
        state.close()
        assert open_files() == open_before

    def test_the_same_file_has_one_number(self, tmp_path: Path) -> None:
        path = tmp_path / "a.jsonl"
        path.write_bytes(b"")
        segments = State("b").segments
        assert segments.add(path) == segments.pin(path)[0] == segments.pin(path)[0] == 0
        segments.close()


class TestKindState:
    def test_a_changed_record_keeps_its_row_and_a_restored_one_gets_a_new_row(self) -> None:
        state = KindState()
        first = state.put("5", b"a" * 32, 1, (0, 0, 10))
        assert state.put("5", b"b" * 32, 2, (1, 5, 20)) == first == state.row("5")
        assert (state.identity(first), state.version(first), state.place(first)) == (b"b" * 32, 2, (1, 5, 20))
        state.remove("5")
        assert state.row("5") is None
        assert state.put("5", b"c" * 32, 3, (0, 0, 1)) == first + 1

    @given(st.lists(IDS, unique=True))
    def test_similar_ids_are_separate_and_sorted(self, ids: list[str]) -> None:
        state = KindState()
        for row, record_id in enumerate(ids):
            assert state.put(record_id, row.to_bytes(32), row, (0, 0, 0)) == row
        assert list(state.ids()) == sorted(ids, key=sort_key)
        assert [state.row(record_id) for record_id in ids] == list(range(len(ids)))
        for left, right in itertools.combinations(ids, 2):
            assert state.row(left) != state.row(right)
