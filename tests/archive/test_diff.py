from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from exporter import lossless_json
from exporter.archive.history import diff_versions
from exporter.errors import NoSuchRecord
from exporter.model.changes import ABSENT, WHOLE_RECORD, Change
from exporter.model.kinds import Kind, sort_key
from exporter.service.registry import DEFAULT_SERVICE
from tests.archive.test_history import HISTORIES
from tests.archive.versions import EVIDENCE, ArchiveMaker, comment, entry, plain_states
from tests.support.examples import in_both_lanes


def made(root: Path) -> ArchiveMaker:
    maker = ArchiveMaker(root / "archive")
    maker.commit({Kind.ENTRIES: {"1": entry("1"), "2": entry("2")}, Kind.COMMENTS: {"7": comment("7")}})
    maker.commit({Kind.ENTRIES: {"1": entry("1", "山の日"), "10": entry("10", "川")}, Kind.COMMENTS: {"7": None}})
    maker.commit({Kind.ENTRIES: {"1": entry("1"), "10": None}})
    return maker


def test_changes_of_the_last_version(tmp_path: Path) -> None:
    found = list(diff_versions(made(tmp_path).reader, 1, 2, DEFAULT_SERVICE))
    assert [(item.kind, item.record_id, item.change, item.title) for item in found] == [
        (Kind.ENTRIES, "1", Change.CHANGED, "山の日"),
        (Kind.ENTRIES, "10", Change.NEW, "川"),
        (Kind.COMMENTS, "7", Change.GONE, "通りすがり"),
    ]
    assert [(field.name, field.before, field.after) for field in found[0].fields] == [("title", "海の日", "山の日")]
    assert ("title", ABSENT, "川") in [(field.name, field.before, field.after) for field in found[1].fields]
    assert found[2].evidence == EVIDENCE
    assert all(field.after is ABSENT for field in found[2].fields)


def test_changes_that_were_undone_are_no_changes(tmp_path: Path) -> None:
    found = list(diff_versions(made(tmp_path).reader, 1, 3, DEFAULT_SERVICE))
    assert [(item.kind, item.record_id, item.change) for item in found] == [(Kind.COMMENTS, "7", Change.GONE)]


def test_backwards(tmp_path: Path) -> None:
    found = list(diff_versions(made(tmp_path).reader, 2, 1, DEFAULT_SERVICE))
    assert [(item.record_id, item.change) for item in found] == [
        ("1", Change.CHANGED),
        ("10", Change.GONE),
        ("7", Change.NEW),
    ]
    assert [(field.before, field.after) for field in found[0].fields] == [("山の日", "海の日")]
    assert found[1].evidence is None


def test_the_state_before_the_first_version_is_zero(tmp_path: Path) -> None:
    reader = made(tmp_path).reader
    assert {item.change for item in diff_versions(reader, 0, 1, DEFAULT_SERVICE)} == {Change.NEW}
    assert {item.change for item in diff_versions(reader, 1, 0, DEFAULT_SERVICE)} == {Change.GONE}
    assert list(diff_versions(reader, 2, 2, DEFAULT_SERVICE)) == []


def test_a_missing_version(tmp_path: Path) -> None:
    with pytest.raises(NoSuchRecord, match="no version 9"):
        list(diff_versions(made(tmp_path).reader, 1, 9, DEFAULT_SERVICE))


def test_a_change_that_no_field_shows(tmp_path: Path) -> None:
    maker = ArchiveMaker(tmp_path / "archive")
    for body in (b'{"entry_id":"1","price":1.10}', b'{"entry_id":"1","price":1.1}'):
        maker.commit({Kind.ENTRIES: {"1": lossless_json.loads(body)}})
    (change,) = diff_versions(maker.reader, 1, 2, DEFAULT_SERVICE)
    (field,) = change.fields
    assert (field.name, field.before, field.after) == (
        WHOLE_RECORD,
        '{"entry_id":"1","price":1.10}',
        '{"entry_id":"1","price":1.1}',
    )


def every_diff_is_that_of_two_whole_states(
    tmp_path_factory: pytest.TempPathFactory, history: list[dict[Kind, dict[str, Any]]]
) -> None:
    maker = ArchiveMaker(tmp_path_factory.mktemp("diff") / "archive")
    for changes in history:
        maker.commit(changes)
    states = {0: {kind: dict[str, bytes]() for kind in Kind}, **plain_states(maker.layout.root)}
    for a, before in states.items():
        for b, after in states.items():
            found = [
                (item.kind, item.record_id, item.change) for item in diff_versions(maker.reader, a, b, DEFAULT_SERVICE)
            ]
            expected = [
                (
                    kind,
                    record_id,
                    Change.NEW
                    if record_id not in before[kind]
                    else Change.GONE
                    if record_id not in after[kind]
                    else Change.CHANGED,
                )
                for kind in Kind
                for record_id in sorted({*before[kind], *after[kind]}, key=sort_key)
                if before[kind].get(record_id) != after[kind].get(record_id)
            ]
            assert found == expected


test_every_diff_is_that_of_two_whole_states, test_every_diff_is_that_of_two_whole_states_often = in_both_lanes(
    given(history=HISTORIES), every_diff_is_that_of_two_whole_states, some=5, many=30
)
