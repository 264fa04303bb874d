"""Reading single fields: dates, flags and numbers, valid and invalid."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter import lossless_json
from exporter.model.records import Problem
from exporter.service.blog_v1 import FieldReader

PARTS = ("year", "mon", "day", "hour", "min", "sec")


def reader(value: Any) -> FieldReader:
    """Return a reader of an object with the one field ``x``."""
    return FieldReader({"x": value}, UTC)


class TestDates:
    @pytest.mark.parametrize(
        ("text", "parts"),
        [
            ("2016-02-29 23:59:58", (2016, 2, 29, 23, 59, 58)),
            ("2016/02/29", (2016, 2, 29)),
            ("2016-2-9", (2016, 2, 9)),
            ("2016-02-29T23:59:58", (2016, 2, 29, 23, 59, 58)),
            ("2016-02-29 23:59", (2016, 2, 29, 23, 59)),
            (" 2016/02/29 ", (2016, 2, 29)),
            ("9999-12-31 23:59:59", (9999, 12, 31, 23, 59, 59)),
            ("1000-01-01", (1000, 1, 1)),
        ],
    )
    def test_valid_forms_are_read(self, text: str, parts: tuple[int, ...]) -> None:
        read = reader(text)
        assert read.date("x") == datetime(*parts, tzinfo=UTC)  # type: ignore[misc, arg-type]  # three to six numbers
        assert read.problems == []

    @pytest.mark.parametrize(
        "text",
        ["2015-02-29", "2016-13-01", "2016-00-10", "2016-01-00", "0000-00-00 00:00:00", "0000-01-01", "0016-01-01",
         "2016-01-01 24:00:00", "2016-01-01 00:60:00", "2016-01-01 00:00:60"],
    )  # fmt: skip
    def test_impossible_ones_are_named(self, text: str) -> None:
        read = reader(text)
        assert read.date("x") is None
        assert [problem.reason for problem in read.problems] == ["is an impossible date"]

    @pytest.mark.parametrize(
        "value", ["16-01-01", "yesterday", "2016", "２０１６-01-01", "2016-01-01 1", 20160101, 1.5, [], True]
    )
    def test_invalid_dates_are_named(self, value: Any) -> None:
        read = reader(value)
        assert read.date("x") is None
        assert [problem.reason for problem in read.problems] == ["is not a date"]

    @pytest.mark.parametrize("value", [None, ""])
    def test_an_empty_one_is_no_problem(self, value: Any) -> None:
        read = reader(value)
        assert read.date("x") is None
        assert read.problems == []

    @given(st.datetimes(min_value=datetime(1000, 1, 1), timezones=st.just(UTC)))  # noqa: DTZ001
    def test_every_possible_date_is_read(self, moment: datetime) -> None:
        moment = moment.replace(microsecond=0)
        assert reader(f"{moment:%Y-%m-%d %H:%M:%S}").date("x") == moment


class TestDatesInParts:
    def parts(self, *values: Any, prefix: str = "") -> FieldReader:
        return FieldReader({prefix + name: value for name, value in zip(PARTS, values, strict=False)}, UTC)

    @pytest.mark.parametrize("prefix", ["", "period_"])
    def test_texts_and_numbers_are_read(self, prefix: str) -> None:
        read = self.parts("2016", "02", 29, "23", " 59 ", "58", prefix=prefix)
        assert read.date_from_parts(prefix) == datetime(2016, 2, 29, 23, 59, 58, tzinfo=UTC)
        assert read.problems == []

    @pytest.mark.parametrize("values", [(), (None,) * 6, ("",) * 6, ("", None)])
    def test_empty_ones_are_no_problem(self, values: tuple[Any, ...]) -> None:
        read = self.parts(*values)
        assert read.date_from_parts() is None
        assert read.problems == []

    @pytest.mark.parametrize(
        "values",
        [("2015", "02", "29", "0", "0", "0"), ("0000", "01", "01", "0", "0", "0"), ("16", "01", "01", "0", "0", "0"),
         ("2016", "01", "01", "25", "0", "0"), ("-2016", "1", "1", "0", "0", "0"), ("9" * 4000, "1", "1", "0", "0", "0")],
    )  # fmt: skip
    def test_impossible_ones_are_named_as_a_whole(self, values: tuple[Any, ...]) -> None:
        read = self.parts(*values)
        assert read.date_from_parts() is None
        (problem,) = read.problems
        assert (problem.field, problem.reason) == ("year…sec", "is an impossible date")

    @pytest.mark.parametrize(
        ("values", "field"),
        [
            (("2016", "Feb", "29", "0", "0", "0"), "mon"),
            (("2016", "02", None, "0", "0", "0"), "day"),
            (("2016", "02", "29", "", "0", "0"), "hour"),
            ((True, "02", "29", "0", "0", "0"), "year"),
            (("2016", "02", "29", "0", 1.5, "0"), "min"),
            (("2016", "02", "29", "0", "0"), "sec"),
        ],
    )
    def test_an_invalid_part_is_named(self, values: tuple[Any, ...], field: str) -> None:
        read = self.parts(*values)
        assert read.date_from_parts() is None
        assert [(problem.field, problem.reason) for problem in read.problems] == [(field, "is not a part of a date")]


class TestFlags:
    @pytest.mark.parametrize(("value", "flag"), [("t", True), ("f", False), (True, True), (False, False)])
    def test_valid_values_are_read(self, value: Any, flag: bool) -> None:
        read = reader(value)
        assert read.flag("x") is flag
        assert read.problems == []

    @pytest.mark.parametrize("value", [None, ""])
    def test_empty_ones_are_unknown(self, value: Any) -> None:
        read = reader(value)
        assert read.flag("x") is None
        assert read.problems == []

    @pytest.mark.parametrize("value", ["T", "true", "1", 0, 1, [], {}, " t"])
    def test_anything_else_is_named(self, value: Any) -> None:
        read = reader(value)
        assert read.flag("x") is None
        assert [problem.reason for problem in read.problems] == ["is neither t nor f"]


class TestNumbers:
    @pytest.mark.parametrize(
        ("value", "number"), [("12", 12), (12, 12), ("-3", -3), ("+3", 3), ("007", 7), (" 5 ", 5), (2**90, 2**90)]
    )
    def test_valid_forms_are_read(self, value: Any, number: int) -> None:
        read = reader(value)
        assert read.number("x") == number
        assert read.problems == []

    @pytest.mark.parametrize("value", ["1.5", 1.5, "1e3", "１２", "12px", True, [], {}, "--1", "9" * 4001])
    def test_anything_else_is_named(self, value: Any) -> None:
        read = reader(value)
        assert read.number("x") is None
        assert [problem.reason for problem in read.problems] == ["is not a whole number"]

    def test_more_digits_than_python_converts_are_invalid(self) -> None:
        read = FieldReader(lossless_json.loads(b'{"x":' + b"9" * 5000 + b"}"), UTC)
        assert read.number("x") is None
        assert read.problems == [Problem("x", "9" * 60, "is not a whole number")]
        assert read.text("x") == "9" * 5000

    @pytest.mark.parametrize("value", [None, ""])
    def test_empty_ones_are_no_problem(self, value: Any) -> None:
        read = reader(value)
        assert read.number("x") is None
        assert read.problems == []

    @given(st.integers())
    def test_every_integer_is_read_as_text_and_as_number(self, number: int) -> None:
        assert reader(str(number)).number("x") == reader(number).number("x") == number


def test_a_missing_field_of_any_type_is_empty() -> None:
    read = FieldReader({}, UTC)
    assert (read.date("x"), read.flag("x"), read.number("x"), read.optional_text("x")) == (None, None, None, None)
    assert read.problems == []
    assert read.text("x") == ""
    assert read.problems == [Problem("x", "", "is missing")]
