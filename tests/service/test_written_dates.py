"""Dates as export files write them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporter.service.movable_type.dates import read_date

JAPAN = timezone(timedelta(hours=9))


@pytest.mark.parametrize(
    ("text", "digits"),
    [
        ("01/31/2002 03:31:05 PM", "20020131153105"),
        ("01/31/2002 03:31:05 AM", "20020131033105"),
        ("01/31/2002 12:00:00 AM", "20020131000000"),
        ("01/31/2002 12:00:00 PM", "20020131120000"),
        ("01/31/2002 15:31:05", "20020131153105"),
        ("01/31/2002 15:31:05 PM", "20020131153105"),
        ("1/2/2003 4:05", "20030102040500"),
        ("31/01/2002 10:00:00", "20020131100000"),
        ("01/31/02 10:00:00", "20020131100000"),
        ("01/31/99 10:00:00", "19990131100000"),
        ("2006/01/02 03:04:05", "20060102030405"),
        ("2006-01-02 03:04:05", "20060102030405"),
        ("2006-01-02T03:04:05Z", "20060102030405"),
        ("2006-01-02T03:04:05.123+09:00", "20060102030405"),
        ("2006年1月2日 午後3時04分", "20060102150400"),
        ("2006年1月2日", "20060102000000"),
        ("05/04/2011", "20110504000000"),
        (" 05/04/2011  10:00 p.m. ", "20110504220000"),
    ],
)
def test_forms(text: str, digits: str) -> None:
    found = read_date(text)
    assert found is not None
    assert found.digits == digits
    assert found.has_time is (":" in text or "時" in text)


@pytest.mark.parametrize(
    "text",
    ["", "soon", "02/30/2002 10:00:00", "01/31/2002 25:00:00", "01/31/2002 10:00:00 foo", "13/13/2002", "1" * 100],
)
def test_what_is_no_date(text: str) -> None:
    assert read_date(text) is None


def test_a_written_offset_is_obeyed() -> None:
    found = read_date("2006-01-02T03:04:05Z")
    assert found is not None
    assert found.within(JAPAN) == datetime(2006, 1, 2, 12, 4, 5, tzinfo=JAPAN)
    without = read_date("2006-01-02 03:04:05")
    assert without is not None
    assert without.within(UTC) == datetime(2006, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.mark.parametrize("examples", [30, pytest.param(100, marks=pytest.mark.thorough)])
def test_no_text_raises(examples: int) -> None:
    @settings(max_examples=examples)
    @given(
        st.text(max_size=70) | st.from_regex(r"[0-9]{1,4}[/-][0-9]{1,2}[/-][0-9]{1,4} [0-9]{1,2}:[0-9]{1,2}( [AP]M)?")
    )
    def check(text: str) -> None:
        found = read_date(text)
        if found is not None:
            assert len(found.digits) == 14
            found.within(JAPAN)

    check()


@given(st.datetimes(min_value=datetime(1970, 1, 1), max_value=datetime(2100, 1, 1)))  # noqa: DTZ001
def test_what_movable_type_writes_is_read_back(when: datetime) -> None:
    for form in ("%m/%d/%Y %I:%M:%S %p", "%m/%d/%Y %H:%M:%S", "%Y-%m-%dT%H:%M:%S"):
        found = read_date(when.strftime(form))
        assert found is not None
        assert found.when == when.replace(microsecond=0)
