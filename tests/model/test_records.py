"""The typed records: read from whole, missing, null, mistyped and hostile objects, and never raising."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from exporter import lossless_json
from exporter.model.assumptions import DEFAULT, TIMEZONE
from exporter.model.records import Comment, Entry, EntryListItem, FileInfo, User
from tests.support.json_texts import values

Record = Entry | EntryListItem | Comment | FileInfo | User
RECORDS: tuple[type[Record], ...] = (Entry, EntryListItem, Comment, FileInfo, User)
JST = timezone(timedelta(hours=9))

ENTRY = {
    "blog_id": "sea.example",
    "entry_id": "42",
    "regist_user_id": "7",
    "title": "海",
    "name": "umi",
    "category_id": "3",
    "period_flg": "f",
    "open_flg": "1",
    "entry_text": "<p>波</p>",
    "ps_title": "つづき",
    "ps_text": "<p>砂</p>",
    "text_format": "2",
    "cm_receipt_flg": "t",
    "tb_receipt_flg": "f",
    "year": "2016", "mon": "02", "day": "29", "hour": "23", "min": "59", "sec": "58",
    "period_year": "2016", "period_mon": "03", "period_day": "01",
    "period_hour": "00", "period_min": "00", "period_sec": "00",
    "last_update": "2016-03-02 01:02:03",
    "template_text": "",
    "is_private": "t",
}  # fmt: skip
ITEM = {
    "regist_date": "2016/02/29",
    "entry_id": "42",
    "title": "海",
    "name": "umi",
    "open_flg": "1",
    "period_flg": "f",
    "period_date": "2016-03-01 00:00:00",
    "cm_receipt_flg": "t",
    "tb_receipt_flg": "f",
    "category": "日々",
    "comment_count": "12",
    "trackback_count": "0",
}
COMMENT = {
    "regist_date": "2016/03/01",
    "cm_id": "9",
    "entry_id": "42",
    "name": "友",
    "title": "Re: 海",
    "cm_text": "いいね",
    "delete_flg": "f",
    "url": '<a href="https://a.example">友</a>',
    "url_text": "https://a.example",
    "res_flg": None,
}
FILE = {
    "file_id": "5",
    "name": "a.jpg",
    "title": None,
    "explanation": None,
    "file_size": "1234",
    "height": "480",
    "width": "640",
    "user_id": "0f" * 16,
    "mtime": "1456758000",
    "extension": "jpg",
}
USER = {"id": "0f" * 16, "nickname": "浜"}
FULL: dict[type[Record], dict[str, Any]] = {
    Entry: ENTRY, EntryListItem: ITEM, Comment: COMMENT, FileInfo: FILE, User: USER,
}  # fmt: skip
NULLABLE = {"res_flg", "title", "explanation"}


class TestWhole:
    @pytest.mark.parametrize("kind", RECORDS)
    def test_a_record_as_documented_has_no_problem(self, kind: type[Record]) -> None:
        record = kind.from_raw(FULL[kind])
        assert record.problems == ()
        assert record.raw is FULL[kind]

    @pytest.mark.parametrize("kind", RECORDS)
    def test_every_text_is_the_services_own(self, kind: type[Record]) -> None:
        record = kind.from_raw(FULL[kind])
        for field in fields(record):
            value = getattr(record, field.name)
            if isinstance(value, str):
                assert value == FULL[kind][field.name]

    def test_an_entry(self) -> None:
        entry = Entry.from_raw(ENTRY)
        assert entry.date == datetime(2016, 2, 29, 23, 59, 58, tzinfo=JST)
        assert entry.period_date == datetime(2016, 3, 1, tzinfo=JST)
        assert entry.last_update == datetime(2016, 3, 2, 1, 2, 3, tzinfo=JST)
        assert (entry.period_flg, entry.cm_receipt_flg, entry.tb_receipt_flg, entry.is_private) == (
            False, True, False, True,
        )  # fmt: skip
        assert (entry.open_flg, entry.text_format) == ("1", "2")

    def test_a_list_item(self) -> None:
        item = EntryListItem.from_raw(ITEM)
        assert item.regist_date == datetime(2016, 2, 29, tzinfo=JST)
        assert item.period_date == datetime(2016, 3, 1, tzinfo=JST)
        assert (item.comment_count, item.trackback_count) == (12, 0)
        assert (item.period_flg, item.cm_receipt_flg, item.tb_receipt_flg) == (False, True, False)

    def test_a_comment(self) -> None:
        comment = Comment.from_raw(COMMENT)
        assert comment.regist_date == datetime(2016, 3, 1, tzinfo=JST)
        assert (comment.delete_flg, comment.res_flg) == (False, None)
        assert Comment.from_raw({**COMMENT, "res_flg": "2016-03-02"}).res_flg == "2016-03-02"

    def test_a_file(self) -> None:
        info = FileInfo.from_raw(FILE)
        assert (info.file_size, info.height, info.width, info.mtime) == (1234, 480, 640, 1456758000)
        assert (info.title, info.explanation) == (None, None)
        assert FileInfo.from_raw({**FILE, "title": ""}).title == ""

    def test_the_timezone_can_be_another(self) -> None:
        assume = replace(DEFAULT, timezone=UTC)
        entry = Entry.from_raw(ENTRY, assume)
        assert entry.date == datetime(2016, 2, 29, 23, 59, 58, tzinfo=UTC)
        assert Entry.from_raw(ENTRY).date == datetime(2016, 2, 29, 23, 59, 58, tzinfo=TIMEZONE)

    def test_records_are_compared_by_what_they_say(self) -> None:
        assert User.from_raw(USER) == User.from_raw({**USER, "unknown": 1})
        assert User.from_raw(USER) != User.from_raw({**USER, "nickname": "x"})
        assert "raw" not in repr(User.from_raw(USER))


class TestMissing:
    @pytest.mark.parametrize("kind", RECORDS)
    def test_an_empty_object_gives_empty_fields_and_names_the_missing_texts(self, kind: type[Record]) -> None:
        record = kind.from_raw({})
        for field in fields(record):
            if field.name not in {"raw", "problems"}:
                assert getattr(record, field.name) in {"", None}
        texts = {field.name for field in fields(record) if getattr(record, field.name) == ""}
        assert {problem.field for problem in record.problems} == texts
        assert {problem.reason for problem in record.problems} == {"is missing"}

    @pytest.mark.parametrize("kind", RECORDS)
    def test_nulls_are_empty_and_no_problem(self, kind: type[Record]) -> None:
        record = kind.from_raw(dict.fromkeys(FULL[kind]))
        assert record.problems == ()
        for field in fields(record):
            if field.name not in {"raw", "problems"}:
                assert getattr(record, field.name) in {"", None}

    def test_what_may_be_null_is_null_when_missing(self) -> None:
        assert FileInfo.from_raw({}).title is None
        assert Comment.from_raw({}).res_flg is None

    def test_numbers_in_place_of_texts_keep_their_digits(self) -> None:
        entry = Entry.from_raw({**ENTRY, "entry_id": 42, "title": 1.5, "year": 2016, "mon": 2})
        assert (entry.entry_id, entry.title, entry.problems) == ("42", "1.5", ())
        assert entry.date == datetime(2016, 2, 29, 23, 59, 58, tzinfo=JST)
        assert EntryListItem.from_raw({**ITEM, "comment_count": 7}).comment_count == 7


class TestMistyped:
    @pytest.mark.parametrize("kind", RECORDS)
    @pytest.mark.parametrize("wrong", [["x"], {"a": 1}, True], ids=["list", "object", "bool"])
    def test_every_mistyped_field_is_named(self, kind: type[Record], wrong: object) -> None:
        record = kind.from_raw(dict.fromkeys(FULL[kind], wrong))
        flags = {name for name in FULL[kind] if name.endswith("_flg") and name not in {"open_flg", "res_flg"}}
        flags |= {"is_private"} & set(FULL[kind])
        expected = set(FULL[kind]) - (flags if wrong is True else set())
        if kind is Entry:
            parts = {"year", "mon", "day", "hour", "min", "sec"}
            expected -= {f"period_{part}" for part in parts} | parts
            expected |= {"year", "period_year"}
        assert {problem.field for problem in record.problems} == expected

    def test_a_value_is_shown_in_sixty_characters(self) -> None:
        (problem,) = FileInfo.from_raw({**FILE, "width": "x" * 500}).problems
        assert problem.value == "x" * 60
        (problem,) = FileInfo.from_raw({**FILE, "width": [1, 2]}).problems
        assert problem.value == "a list of 2"
        (problem,) = FileInfo.from_raw({**FILE, "width": {"a": 1}}).problems
        assert problem.value == "an object of 1"
        (problem,) = FileInfo.from_raw({**FILE, "width": 1.5}).problems
        assert problem.value == "1.5"

    @pytest.mark.parametrize("name", ["title", "last_update", "year", "is_private"])
    def test_a_value_nested_beyond_any_stack_is_named_too(self, name: str) -> None:
        deep = lossless_json.loads(b'{"x":' + b"[" * 50_000 + b"]" * 50_000 + b"}")["x"]
        (problem,) = Entry.from_raw({**ENTRY, name: deep}).problems
        assert (problem.field, problem.value) == (name, "a list of 1")


hostile = st.one_of(
    values,
    st.sampled_from(
        ["t", "f", "2016", "02", "99", "0000-00-00", "9999-12-31 24:60:60", "１２", "-1", "+1", " 7 ", "9" * 5000]
    ),
)


class TestHostile:
    @pytest.mark.parametrize("kind", RECORDS)
    @given(data=st.data())
    @example(data=None)
    def test_no_object_raises(self, kind: type[Record], data: st.DataObject | None) -> None:
        made: dict[str, Any] = {}
        if data is not None:
            made = data.draw(st.dictionaries(st.sampled_from(sorted(FULL[kind])), hostile))
        raw = lossless_json.loads(json.dumps(made).encode())
        record = kind.from_raw(raw)
        assert record.raw is raw
        assert {problem.field for problem in record.problems} <= {*FULL[kind], "year…sec", "period_year…period_sec"}
        assert all(problem.reason and len(problem.value) <= 60 for problem in record.problems)
        json.dumps([str(getattr(record, field.name)) for field in fields(record)])

    def test_integers_of_any_size_do_not_raise(self) -> None:
        raw = lossless_json.loads(
            b'{"entry_id":' + b"7" * 9999 + b',"year":' + b"8" * 9999 + b',"title":' + b"9" * 4300 + b"}"
        )
        entry = Entry.from_raw(raw)
        assert entry.entry_id == "7" * 9999
        assert entry.title == "9" * 4300
        assert entry.date is None
