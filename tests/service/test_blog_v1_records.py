"""The typed records: read from complete, missing, null, mistyped and hostile objects, and never raising."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from exporter import lossless_json
from exporter.model.kinds import Kind
from exporter.model.records import Comment, Post, Upload, User
from exporter.service.blog_v1 import DEFAULT, BlogV1
from exporter.service.registry import DEFAULT_SERVICE
from tests.support.json_texts import values

SERVICE = DEFAULT_SERVICE
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
Record = Post | Comment | Upload | User
FULL: dict[str, dict[str, Any]] = {"entry": ENTRY, "item": ITEM, "comment": COMMENT, "upload": FILE, "user": USER}
READ: dict[str, Callable[[Any], Record]] = {
    "entry": SERVICE.post,
    "item": lambda raw: SERVICE.post(None, raw),
    "comment": SERVICE.comment,
    "upload": SERVICE.upload,
    "user": SERVICE.user,
}
NULLABLE = {"res_flg", "title", "explanation"}
kinds = pytest.mark.parametrize("kind", READ)


class TestWhole:
    @kinds
    def test_a_record_as_documented_has_no_problem(self, kind: str) -> None:
        record = READ[kind](FULL[kind])
        assert record.problems == ()
        assert FULL[kind] in (record.raw, getattr(record, "item", None))

    @kinds
    def test_every_text_comes_from_the_service(self, kind: str) -> None:
        record = READ[kind](FULL[kind])
        texts = [
            value
            for field in fields(record)
            if isinstance(value := getattr(record, field.name), str) and value and field.name != "kind"
        ]
        assert texts
        assert set(texts) <= set(FULL[kind].values())

    def test_an_entry(self) -> None:
        entry = SERVICE.post(ENTRY)
        assert (entry.id, entry.title, entry.slug, entry.body) == ("42", "海", "umi", "<p>波</p>")
        assert (entry.more_title, entry.more, entry.category, entry.category_id) == ("つづき", "<p>砂</p>", None, "3")
        assert entry.date == datetime(2016, 2, 29, 23, 59, 58, tzinfo=JST)
        assert entry.period_date == datetime(2016, 3, 1, tzinfo=JST)
        assert entry.updated == datetime(2016, 3, 2, 1, 2, 3, tzinfo=JST)
        assert (entry.comments_open, entry.pings_open, entry.private, entry.access) == (True, False, True, "1")
        assert entry.facts == {
            "category_id": "3", "name": "umi", "open_flg": "1", "period_flg": False, "is_private": True,
            "text_format": "2", "cm_receipt_flg": True, "tb_receipt_flg": False,
        }  # fmt: skip

    def test_a_list_item_alone(self) -> None:
        item = SERVICE.post(None, ITEM)
        assert (item.id, item.title, item.slug, item.category, item.access) == ("42", "海", "umi", "日々", "1")
        assert item.listed_on == datetime(2016, 2, 29, tzinfo=JST)
        assert item.period_date == datetime(2016, 3, 1, tzinfo=JST)
        assert (item.date, item.private, item.comments_open, item.pings_open) == (None, None, True, False)

    def test_an_entry_with_its_list_item(self) -> None:
        joined = SERVICE.post(ENTRY, {**ITEM, "title": "別", "comment_count": "x"})
        assert (joined.title, joined.category, joined.listed_on) == ("海", "日々", datetime(2016, 2, 29, tzinfo=JST))
        assert [problem.field for problem in joined.problems] == ["comment_count"]

    def test_a_comment(self) -> None:
        comment = SERVICE.comment(COMMENT)
        assert (comment.id, comment.post_id, comment.text, comment.url) == ("9", "42", "いいね", "https://a.example")
        assert (comment.date, comment.has_time) == (datetime(2016, 3, 1, tzinfo=JST), False)
        assert (comment.deleted, comment.facts, comment.reply) == (False, {}, None)
        assert SERVICE.comment({**COMMENT, "res_flg": "2016-03-02"}).reply == "2016-03-02"
        assert SERVICE.comment({**COMMENT, "delete_flg": "t"}).facts == {"delete_flg": "t"}
        assert SERVICE.comment({**COMMENT, "regist_date": "2016/03/01 10:00:00"}).has_time

    def test_an_upload(self) -> None:
        upload = SERVICE.upload(FILE)
        assert (upload.bytes, upload.height, upload.width, upload.modified) == (1234, 480, 640, 1456758000)
        assert (upload.title, upload.description) == (None, None)
        assert SERVICE.upload({**FILE, "title": ""}).title == ""

    def test_the_timezone_can_be_set(self) -> None:
        entry = BlogV1(DEFAULT._replace(timezone=UTC)).post(ENTRY)
        assert entry.date == datetime(2016, 2, 29, 23, 59, 58, tzinfo=UTC)
        assert SERVICE.post(ENTRY).date == datetime(2016, 2, 29, 23, 59, 58, tzinfo=JST)

    def test_records_are_compared_by_content(self) -> None:
        assert SERVICE.user(USER) == SERVICE.user({**USER, "unknown": 1})
        assert SERVICE.user(USER) != SERVICE.user({**USER, "nickname": "x"})
        assert "raw" not in repr(SERVICE.user(USER))


class TestMissing:
    @kinds
    def test_an_empty_object_gives_empty_fields_and_names_the_missing_texts(self, kind: str) -> None:
        record = READ[kind]({})
        for field in fields(record):
            if field.name not in {"raw", "item", "problems", "facts", "kind"}:
                assert getattr(record, field.name) in {"", None, False, ()}
        named = {problem.field for problem in record.problems}
        assert named
        assert named <= set(FULL[kind]) - {"res_flg"}
        assert {problem.reason for problem in record.problems} == {"is missing"}

    @kinds
    def test_nulls_are_empty_and_no_problem(self, kind: str) -> None:
        record = READ[kind](dict.fromkeys(FULL[kind]))
        assert record.problems == ()
        for field in fields(record):
            if field.name not in {"raw", "item", "problems", "facts", "kind"}:
                assert getattr(record, field.name) in {"", None, False, ()}

    def test_optional_fields_are_null_when_missing(self) -> None:
        assert SERVICE.upload({}).title is None
        assert SERVICE.comment({}).reply is None

    def test_numbers_in_place_of_texts_keep_their_digits(self) -> None:
        entry = SERVICE.post({**ENTRY, "entry_id": 42, "title": 1.5, "year": 2016, "mon": 2})
        assert (entry.id, entry.title, entry.problems) == ("42", "1.5", ())
        assert entry.date == datetime(2016, 2, 29, 23, 59, 58, tzinfo=JST)


class TestMistyped:
    @kinds
    @pytest.mark.parametrize("wrong", [["x"], {"a": 1}, True], ids=["list", "object", "bool"])
    def test_every_mistyped_field_is_named(self, kind: str, wrong: object) -> None:
        record = READ[kind](dict.fromkeys(FULL[kind], wrong))
        flags = {name for name in FULL[kind] if name.endswith("_flg") and name not in {"open_flg", "res_flg"}}
        flags |= {"is_private"} & set(FULL[kind])
        expected = set(FULL[kind]) - (flags if wrong is True else set())
        expected -= {"user_id"} if kind == "upload" else set()
        if kind == "entry":
            parts = {"year", "mon", "day", "hour", "min", "sec"}
            expected -= {f"period_{part}" for part in parts} | parts
            expected |= {"year", "period_year"}
        assert {problem.field for problem in record.problems} == expected

    def test_a_value_is_shown_in_sixty_characters(self) -> None:
        (problem,) = SERVICE.upload({**FILE, "width": "x" * 500}).problems
        assert problem.value == "x" * 60
        (problem,) = SERVICE.upload({**FILE, "width": [1, 2]}).problems
        assert problem.value == "a list of 2"
        (problem,) = SERVICE.upload({**FILE, "width": {"a": 1}}).problems
        assert problem.value == "an object of 1"
        (problem,) = SERVICE.upload({**FILE, "width": 1.5}).problems
        assert problem.value == "1.5"

    @pytest.mark.parametrize(
        "name",
        ["title", *(pytest.param(each, marks=pytest.mark.thorough) for each in ("last_update", "year", "is_private"))],
    )
    def test_a_value_nested_beyond_any_stack_is_named_too(self, name: str) -> None:
        deep = lossless_json.loads(b'{"x":' + b"[" * 50_000 + b"]" * 50_000 + b"}")["x"]
        (problem,) = SERVICE.post({**ENTRY, name: deep}).problems
        assert (problem.field, problem.value) == (name, "a list of 1")


hostile = st.one_of(
    values,
    st.sampled_from(
        ["t", "f", "2016", "02", "99", "0000-00-00", "9999-12-31 24:60:60", "１２", "-1", "+1", " 7 ", "9" * 5000]
    ),
)


class TestHostile:
    @pytest.mark.parametrize("examples", [10, pytest.param(100, marks=pytest.mark.thorough)])
    @kinds
    def test_no_object_raises(self, kind: str, examples: int) -> None:
        @settings(max_examples=examples)
        @given(data=st.data())
        @example(data=None)
        def check(data: st.DataObject | None) -> None:
            made: dict[str, Any] = {}
            if data is not None:
                made = data.draw(st.dictionaries(st.sampled_from(sorted(FULL[kind])), hostile))
            raw = lossless_json.loads(json.dumps(made).encode())
            record = READ[kind](raw)
            assert raw in (record.raw, getattr(record, "item", None))
            assert {problem.field for problem in record.problems} <= {*FULL[kind], "year…sec", "period_year…period_sec"}
            assert all(problem.reason and len(problem.value) <= 60 for problem in record.problems)
            json.dumps([str(getattr(record, field.name)) for field in fields(record)])

        check()

    def test_integers_of_any_size_do_not_raise(self) -> None:
        raw = lossless_json.loads(
            b'{"entry_id":' + b"7" * 9999 + b',"year":' + b"8" * 9999 + b',"title":' + b"9" * 4300 + b"}"
        )
        entry = SERVICE.post(raw)
        assert entry.id == "7" * 9999
        assert entry.title == "9" * 4300
        assert entry.date is None


@pytest.mark.parametrize(
    ("kind", "field"),
    [
        (Kind.ENTRIES, "entry_id"),
        (Kind.ENTRY_LIST, "entry_id"),
        (Kind.COMMENTS, "cm_id"),
        (Kind.FILES, "file_id"),
        (Kind.USER, "id"),
    ],
)
def test_a_record_is_keyed_by_its_own_field(kind: Kind, field: str) -> None:
    raw = {name: f"of {name}" for name in ("entry_id", "cm_id", "file_id", "id")}
    assert SERVICE.key(kind, raw) == f"of {field}"
    assert SERVICE.key(kind, {}) is None


@pytest.mark.parametrize("data", [None, [], "42", 42])
def test_a_value_that_is_not_an_object_has_no_key(data: Any) -> None:
    assert SERVICE.key(Kind.ENTRIES, data) is None


def test_an_id_of_more_digits_than_python_converts_is_kept() -> None:
    key = SERVICE.key(Kind.COMMENTS, lossless_json.loads(b'{"cm_id":' + b"9" * 9000 + b"}"))
    assert key == "9" * 9000
    assert type(key) is str


def test_titles() -> None:
    assert SERVICE.title(Kind.COMMENTS, {"title": " ", "name": "海"}) == "海"
    assert SERVICE.title(Kind.COMMENTS, {"title": None, "name": 3}) == ""
    assert SERVICE.title(Kind.ASSETS, {"url": "https://x.example/a"}) == ""
