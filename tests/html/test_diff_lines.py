from __future__ import annotations

import re
from typing import Any

from exporter import lossless_json
from exporter.html.diff import count_changes, diff_text, in_context, value_text
from exporter.model.changes import ABSENT, Change, FieldChange, RecordChange, field_changes
from exporter.model.kinds import Kind

HOSTILE = "<script>alert(1)</script>\u202e\x1b[2J\ud83d&"


def changed(*fields: FieldChange, title: str = "海の日", change: Change = Change.CHANGED) -> RecordChange:
    return RecordChange(Kind.ENTRIES, "42", change, title, fields)


def test_plain_text_marks_words() -> None:
    found = list(diff_text([changed(FieldChange("title", "海の日", "山の日"))]))
    assert found == ["~ entry 42  海の日", "    title: [-海-]{+山+}の日"]


def test_new_and_gone_records_take_one_line() -> None:
    new = changed(FieldChange("title", ABSENT, "海の日"), change=Change.NEW)
    gone = RecordChange(Kind.COMMENTS, "7", Change.GONE, "通りすがり", (), {"absent_in_sweeps": [1, 2]})
    assert list(diff_text([new, gone])) == ["+ entry 42  海の日", "- comment 7  通りすがり"]


def test_colours_end_where_they_should() -> None:
    found = list(diff_text([changed(FieldChange("title", "海", "山"))], colour=True))
    assert found == ["\x1b[33m~ entry 42  海の日\x1b[0m", "    title: \x1b[31m海\x1b[0m\x1b[32m山\x1b[0m"]


def test_far_text_is_left_out() -> None:
    text = "静かな朝だった。" * 20
    line = list(diff_text([changed(FieldChange("entry_text", text + "海、" + text, text + "山、" + text))]))[1]
    assert re.fullmatch(r"    entry_text: ….{30}\[-海-\]\{\+山\+\}、.{29}…", line)


def test_terminal_output_is_escaped() -> None:
    change = RecordChange(Kind.COMMENTS, HOSTILE, Change.CHANGED, HOSTILE, (FieldChange(HOSTILE, "", HOSTILE + "\n"),))
    for line in diff_text([change]):
        assert not re.search("[\x00-\x1f\u202e\ud83d]", line)


def test_changes_are_counted_by_kind() -> None:
    changes = [
        changed(),
        changed(change=Change.NEW),
        changed(change=Change.NEW),
        RecordChange(Kind.FILES, "1", Change.GONE, "x", ()),
    ]
    assert count_changes(changes) == {
        Kind.ENTRIES: {Change.NEW: 2, Change.CHANGED: 1, Change.GONE: 0},
        Kind.FILES: {Change.NEW: 0, Change.CHANGED: 0, Change.GONE: 1},
    }


def test_values_as_text() -> None:
    assert [value_text(value) for value in (ABSENT, None, "a", 1, {"b": "海"})] == ["", "null", "a", "1", '{"b":"海"}']
    assert value_text({"a": "\ud83d"}) == '{"a":"\\ud83d"}'


def test_context_keeps_short_stretches() -> None:
    assert list(in_context([("equal", "a" * 5), ("insert", "b" * 99), ("equal", "c" * 30)], 10)) == [
        ("equal", "a" * 5),
        ("insert", "b" * 99),
        ("equal", "c" * 10 + "…"),
    ]
    middle = list(in_context([("insert", "x"), ("equal", "a" * 10 + "b" * 10 + "c" * 10), ("delete", "y")], 10))
    assert middle[1] == ("equal", "a" * 10 + "…" + "c" * 10)


def test_fields_are_compared_as_json_sees_them() -> None:
    def names(before: Any, after: Any) -> list[str]:
        return [change.name for change in field_changes(before, after)]

    assert names({"a": 1, "b": "x", "c": True}, {"a": 1.0, "b": "x", "c": 1}) == ["a", "c"]
    assert names({"a": None}, {}) == ["a"]
    assert names({"z": {"q": 1}, "a": [1]}, {"z": {"q": 1}, "a": [1, 2], "n": None}) == ["a", "n"]
    assert names({"a": "1"}, {"a": 1}) == ["a"]


def test_documents_leave_absent_values_out() -> None:
    change = changed(FieldChange("a", ABSENT, None), FieldChange("b", 1, ABSENT))
    assert lossless_json.loads(lossless_json.dumps(change.document())) == {
        "kind": "entries",
        "id": "42",
        "change": "changed",
        "title": "海の日",
        "fields": [{"name": "a", "after": None}, {"name": "b", "before": 1}],
        "evidence": None,
    }
