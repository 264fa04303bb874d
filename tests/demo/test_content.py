from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from exporter.demo.content import Blog, RawJson, Record, RecordList, fields, wire


def numbered(*numbers: int) -> RecordList:
    return RecordList(
        {"cm_id": str(number), "entry_id": str(number % 3), "file_size": str(number)} for number in numbers
    )


def ids(records: list[Record] | RecordList) -> list[int]:
    return [int(fields(record)["cm_id"]) for record in records]


def test_a_record_is_sent_with_its_fields_in_order() -> None:
    assert wire({"b": "2", "a": None}) == b'{"b":"2","a":null}'
    assert wire(RawJson(b' {"a":1,"a":2} ')) == b' {"a":1,"a":2} '
    assert json.loads(wire({"title": "\ud83d", "n": 10**40})) == {"title": "\ud83d", "n": 10**40}


def test_text_that_is_not_an_object_has_no_fields() -> None:
    assert fields(RawJson(b'{"a":1}')) == {"a": 1}
    assert fields(RawJson(b"[1]")) == {}
    assert fields(RawJson(b"<html>")) == {}


@given(st.integers(0, 30), st.integers(0, 40), st.integers(1, 12), st.booleans())
def test_cut_is_a_slice_from_either_end(count: int, start: int, size: int, newest_first: bool) -> None:
    records = numbered(*range(count))
    expected = list(range(count))[:: -1 if newest_first else 1][start : start + size]
    assert ids(records.cut(start, size, newest_first=newest_first)) == expected


def test_sums_follow_every_kind_of_change() -> None:
    records = numbered(1, 2, 3)

    def sums() -> tuple[int, int]:
        return records.count_where("entry_id", "1"), records.total("file_size")

    assert sums() == (1, 6)
    records.append({"entry_id": "1", "file_size": "10"})
    assert sums() == (2, 16)
    records[0] = {"entry_id": "9", "file_size": "x"}
    assert sums() == (1, 15)
    del records[3]
    assert sums() == (0, 5)
    record = records[0]
    assert isinstance(record, dict)
    record["entry_id"] = "1"
    assert sums() == (1, 5)
    for record in records:
        assert isinstance(record, dict)
        record["file_size"] = "100"
    assert sums() == (1, 300)
    records[:] = records[1:]
    assert sums() == (0, 200)
    assert records.count({"cm_id": "3", "entry_id": "0", "file_size": "100"}) == 1


@given(st.lists(st.tuples(st.sampled_from(["insert", "delete", "replace"]), st.integers(0, 20)), max_size=20))
def test_records_behave_like_a_list(steps: list[tuple[str, int]]) -> None:
    records, model = numbered(0, 1, 2), [0, 1, 2]
    for fresh, (step, at) in enumerate(steps, 10):
        record: Record = {"cm_id": str(fresh), "entry_id": "0", "file_size": "1"}
        if step == "insert":
            records.insert(at, record)
            model.insert(at, fresh)
        elif model and step == "delete":
            del records[at % len(model)]
            del model[at % len(model)]
        elif model:
            records[at % len(model)] = record
            model[at % len(model)] = fresh
    assert ids(records) == model
    assert len(records) == len(model)
    assert ids(records[1:3]) == model[1:3]


def test_ids_are_compared_as_text() -> None:
    number: dict[str, Any] = {"entry_id": "7"}
    text: dict[str, Any] = {"entry_id": "x"}
    blog = Blog("a.example.jp", {}, entries={7: number, "x": text, "007": {"entry_id": "agent"}})
    assert blog.entry("7") is number
    assert blog.entry("x") is text
    assert blog.entry("007") == {"entry_id": "agent"}
    for absent in ("07", "8", "", "七", "-7", "²"):
        assert blog.entry(absent) is None


def test_list_items_of_bare_records_have_all_fields() -> None:
    blog = Blog("a.example.jp", {}, entries={1: {}, 2: {"category_id": 5, "entry_id": 2}}, categories={"5": "本"})
    items = [fields(item) for item in blog.list_page(0, 20, newest_first=False)]
    assert [item["entry_id"] for item in items] == ["1", 2]
    assert [item["category"] for item in items] == ["", ""]
    assert items[0]["regist_date"] == "//"
    assert items[0]["period_date"] == "-- ::"


def test_listed_counts_the_visible_comments() -> None:
    entries: dict[int | str, Record] = {1: {}, 2: {}, 3: {}}
    blog = Blog("a.example.jp", {}, entries=entries, list_items={1: None, 2: {"title": "x"}, 8: {}, 9: None})
    shown = blog.list_page(0, 20, newest_first=True)
    assert blog.listed() == len(shown) == 3
    assert blog.list_page(1, 1, newest_first=True) == shown[1:2]
