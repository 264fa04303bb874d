from __future__ import annotations

import json
from datetime import timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter import lossless_json
from exporter.archive.history import LastKnown, Revision, last_known, positions_at, record_at, revisions, version_at
from exporter.archive.safe_files import InnerPath
from exporter.archive.segments import line_positions
from exporter.errors import ArchiveDamaged, NoArchive, NoSuchRecord, UsageError
from exporter.model.changes import WHOLE_RECORD, Change
from exporter.model.kinds import Kind
from tests.archive.versions import EVIDENCE, ArchiveMaker, comment, entry, find_in, plain_states
from tests.support.examples import in_both_lanes

JST = timezone(timedelta(hours=9))


def made(root: Path) -> ArchiveMaker:
    """Return an archive of five versions: entry 1 is edited and removed, 10 and "1" differ, a comment comes back."""
    maker = ArchiveMaker(root / "archive")
    maker.commit({Kind.ENTRIES: {"1": entry("1"), "10": entry("10", "山")}, Kind.COMMENTS: {"7": comment("7")}})
    maker.commit({Kind.ENTRIES: {"1": entry("1", "海の日、二度目", mood="晴れ")}, Kind.COMMENTS: {"7": None}})
    maker.commit({Kind.ENTRIES: {"2": entry("2", text='{"op":"put","id":"1","sha256":""}')}})
    maker.commit({Kind.ENTRIES: {"1": None}})
    maker.commit({Kind.COMMENTS: {"7": comment("7", text="また来た")}})
    return maker


def test_life_lists_every_change_of_a_record(tmp_path: Path) -> None:
    reader = made(tmp_path).reader
    steps = revisions(reader, Kind.ENTRIES, "1")
    assert [(step.version, step.change) for step in steps] == [(1, Change.NEW), (2, Change.CHANGED), (4, Change.GONE)]
    assert steps[0].date == "2026-01-01T12:00:00Z"
    assert "title" in steps[0].fields
    assert set(steps[1].fields) == {"title", "mood"}
    assert steps[2] == Revision(4, "2026-01-04T12:00:00Z", Change.GONE, (), EVIDENCE)


def test_life_starts_again_when_a_record_comes_back(tmp_path: Path) -> None:
    steps = revisions(made(tmp_path).reader, Kind.COMMENTS, "7")
    assert [(step.version, step.change) for step in steps] == [(1, Change.NEW), (2, Change.GONE), (5, Change.NEW)]


def test_life_of_an_unknown_record_is_empty(tmp_path: Path) -> None:
    assert revisions(made(tmp_path).reader, Kind.ENTRIES, "999") == []


def test_life_names_a_change_that_no_field_shows(tmp_path: Path) -> None:
    maker = ArchiveMaker(tmp_path / "archive")
    for body in (b'{"entry_id":"1","price":1.10}', b'{"entry_id":"1","price":1.1}'):
        maker.commit({Kind.ENTRIES: {"1": lossless_json.loads(body)}})
    assert [step.fields for step in revisions(maker.reader, Kind.ENTRIES, "1")] == [
        ("entry_id", "price"),
        (WHOLE_RECORD,),
    ]


def test_record_at_any_version(tmp_path: Path) -> None:
    reader = made(tmp_path).reader
    found = record_at(reader, Kind.ENTRIES, "1", 1)
    assert found is not None
    assert (found.version, found.data()["title"]) == (1, "海の日")
    later = record_at(reader, Kind.ENTRIES, "1", 3)
    assert later is not None
    assert (later.version, later.data()["title"]) == (2, "海の日、二度目")
    assert record_at(reader, Kind.ENTRIES, "1", 4) is None
    assert record_at(reader, Kind.ENTRIES, "1") is None
    assert record_at(reader, Kind.ENTRIES, "2", 2) is None
    with pytest.raises(NoSuchRecord, match="no version 6"):
        record_at(reader, Kind.ENTRIES, "1", 6)


def test_last_known_names_the_version_that_last_had_it(tmp_path: Path) -> None:
    reader = made(tmp_path).reader
    gone = last_known(reader, Kind.ENTRIES, "1")
    assert gone is not None
    assert gone.stored is not None
    assert (gone.stored.version, gone.gone_in, gone.gone_at) == (2, 4, "2026-01-04T12:00:00Z")
    assert gone.evidence == EVIDENCE
    there = last_known(reader, Kind.COMMENTS, "7")
    assert there is not None
    assert there.gone_in is None
    assert last_known(reader, Kind.FILES, "1") is None


def test_an_archive_without_a_version_says_so(tmp_path: Path) -> None:
    reader = ArchiveMaker(tmp_path / "archive").reader
    with pytest.raises(NoArchive):
        record_at(reader, Kind.ENTRIES, "1")
    with pytest.raises(NoArchive):
        version_at(reader, "2026-01-01")


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("3", 3),
        (" 3 ", 3),
        ("2026-01-02", 2),
        ("2026-01-02T12:00:00Z", 2),
        ("2026-01-02T11:59:59Z", 1),
        ("2026-01-02T20:59", 1),
        ("2026-01-02T21:00", 2),
        ("2027-01-01", 5),
        ("9999-12-31", 5),
        ("20260103", None),
    ],
)
def test_resolve_at(tmp_path: Path, text: str, version: int | None) -> None:
    reader = made(tmp_path).reader
    if version is None:
        with pytest.raises(NoSuchRecord, match="There is no version 20260103"):
            version_at(reader, text, JST)
    else:
        assert version_at(reader, text, JST) == version


def test_a_time_without_an_offset_is_utc_by_default(tmp_path: Path) -> None:
    reader = made(tmp_path).reader
    assert version_at(reader, "2026-01-02T12:00") == 2
    assert version_at(reader, "2026-01-02T21:00+09:00") == 2


@pytest.mark.parametrize("text", ["yesterday", "", "2026-13-01", "-1", "1.5"])
def test_an_invalid_time_is_a_usage_error(tmp_path: Path, text: str) -> None:
    with pytest.raises(UsageError, match="neither a version's number nor a date"):
        version_at(made(tmp_path).reader, text)


def test_there_is_no_version_before_the_first(tmp_path: Path) -> None:
    with pytest.raises(NoSuchRecord, match=r"The oldest one is from 2026-01-01T21:00:00\+09:00"):
        version_at(made(tmp_path).reader, "2025-12-31", JST)


def test_a_manifest_without_a_time_is_damage(tmp_path: Path) -> None:
    reader = made(tmp_path).reader
    path = reader.layout.manifest(5)
    path.write_bytes(path.read_bytes().replace(b"2026-01-05T12:00:00Z", b"tomorrow"))
    with pytest.raises(ArchiveDamaged, match=r"000005/manifest\.json is damaged: finished_at is"):
        version_at(reader, "2026-01-02")


def write(path: InnerPath, data: bytes) -> None:
    """Replace a segment's content, and write its new size into its manifest."""
    manifest = path.parent / "manifest.json"
    document = json.loads(manifest.read_bytes())
    document["files"][path.name] |= {"lines": data.count(b"\n"), "bytes": len(data)}
    manifest.write_text(json.dumps(document))
    path.write_bytes(data)


def test_damage_is_named(tmp_path: Path) -> None:
    reader = made(tmp_path).reader
    path = reader.layout.segment(1, Kind.ENTRIES)
    write(path, b'{"op":"put","id":"1","sha256":\nnonsense\n')
    with pytest.raises(ArchiveDamaged, match=r"is damaged: .*verify .* --repair"):
        find_in(path, "1")
    with pytest.raises(ArchiveDamaged, match="at byte 31"):
        list(line_positions(path))
    path.unlink()
    with pytest.raises(ArchiveDamaged, match="missing"):
        last_known(reader, Kind.ENTRIES, "10")


def test_the_head_of_a_line_inside_a_record_is_not_a_line(tmp_path: Path) -> None:
    maker = ArchiveMaker(tmp_path / "archive")
    inner = lossless_json.loads(b'{"entry_id":"2","a":{"op":"put","id":"1","x":1,"x":2}}')
    maker.commit({Kind.ENTRIES: {"2": inner}})
    maker.commit(
        {
            Kind.ENTRIES: {
                "1": entry("1"),
                "2": lossless_json.loads(b'{"entry_id":"2","b":{"op":"put","id":"1","x":1,"x":2}}'),
            }
        }
    )
    reader = maker.reader
    assert b'{"op":"put","id":"1",' in reader.layout.segment(1, Kind.ENTRIES).read_bytes()
    assert last_known(reader, Kind.ENTRIES, "1", 1) is None
    found = record_at(reader, Kind.ENTRIES, "1")
    assert found is not None
    assert found.data()["title"] == "海の日"


def test_a_segment_that_is_one_byte_short_is_damaged(tmp_path: Path) -> None:
    reader = made(tmp_path).reader
    path = reader.layout.segment(3, Kind.ENTRIES)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ArchiveDamaged, match="it has 272 bytes, and its manifest says 273"):
        find_in(path, "2")


IDS = st.sampled_from(["1", "2", "12", 'odd"id', "改\n行", "\ud83d", "\\", "0"])
DATA = st.one_of(
    st.none(), st.dictionaries(st.sampled_from(["a", "b"]), st.one_of(st.integers(), st.text(max_size=5)), min_size=1)
)
HISTORIES: st.SearchStrategy[list[dict[Kind, dict[str, Any]]]] = st.lists(
    st.dictionaries(
        st.sampled_from([Kind.ENTRIES, Kind.COMMENTS, Kind.ASSETS]), st.dictionaries(IDS, DATA, max_size=4)
    ),
    min_size=1,
    max_size=6,
)


def every_record_at_every_version_equals_a_plain_fold(
    tmp_path_factory: pytest.TempPathFactory, history: list[dict[Kind, dict[str, Any]]]
) -> None:
    maker = ArchiveMaker(tmp_path_factory.mktemp("history") / "archive")
    for changes in history:
        maker.commit(changes)
    reader = maker.reader
    for version, state in plain_states(maker.layout.root).items():
        for kind, records in state.items():
            ids = {record_id for found in history for record_id in found.get(kind, {})}
            for record_id in ids:
                stored = record_at(reader, kind, record_id, version)
                assert (None if stored is None else stored.line.data) == records.get(record_id)
            there = positions_at(reader.layout, range(1, version + 1), kind, ids)
            assert {record_id: place.read().data for record_id, place in there.items()} == records


test_every_record_at_every_version_equals_a_plain_fold, test_every_record_at_every_version_equals_a_plain_fold_often = (
    in_both_lanes(given(history=HISTORIES), every_record_at_every_version_equals_a_plain_fold, some=8, many=40)
)


def test_a_prune_keeps_the_tombstone_of_a_record(tmp_path: Path) -> None:
    reader = made(tmp_path).reader
    for version in (1, 2):
        write(reader.layout.segment(version, Kind.ENTRIES), b"")
    assert last_known(reader, Kind.ENTRIES, "1") == LastKnown(None, 4, "2026-01-04T12:00:00Z", EVIDENCE)
