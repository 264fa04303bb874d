from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporter.http.retry import seconds_to_wait

NOW = datetime(2026, 1, 31, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None),
        ("", None),
        ("soon", None),
        ("120", 120.0),
        (" 7 ", 7.0),
        ("1.5", 1.5),
        ("+3", 3.0),
        ("0", 0.0),
        ("-5", 0.0),
        ("999999999999", 999999999999.0),
        ("9" * 5000, float("inf")),
        ("Sat, 31 Jan 2026 12:00:30 GMT", 30.0),
        ("Sat, 31 Jan 2026 21:00:30 +0900", 30.0),
        ("Saturday, 31-Jan-26 12:00:30 GMT", 30.0),
        ("Sat Jan 31 12:00:30 2026", 30.0),
        ("Sat, 31 Jan 2026 11:00:00 GMT", 0.0),
        ("Sat, 99 Jan 2026 11:00:00 GMT", None),
        ("Sat, 31 Jan 99999 11:00:00 GMT", None),
        ("nan", None),
        ("١٢", None),
    ],
)
def test_both_forms_and_nonsense(value: str | None, seconds: float | None) -> None:
    assert seconds_to_wait(value, NOW) == seconds


def test_a_date_counts_from_the_services_own_clock() -> None:
    asked = "Sat, 31 Jan 2026 15:00:10 GMT"
    assert seconds_to_wait(asked, NOW, "Sat, 31 Jan 2026 15:00:00 GMT") == 10.0
    assert seconds_to_wait(asked, NOW, "garbage") == 3 * 3600 + 10.0


@pytest.mark.parametrize("examples", [20, pytest.param(300, marks=pytest.mark.thorough)])
def test_no_text_makes_it_fail_or_wait_a_negative_time(examples: int) -> None:
    @settings(max_examples=examples)
    @given(st.text(max_size=30), st.text(max_size=30) | st.none())
    def check(value: str, sent_at: str | None) -> None:
        seconds = seconds_to_wait(value, NOW, sent_at)
        assert seconds is None or seconds >= 0

    check()
