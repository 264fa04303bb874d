from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.errors import UsageError
from exporter.model.kinds import Kind
from exporter.search.query import Query, parse_query

JST = timezone(timedelta(hours=9))


def test_words_and_phrases(subtests: pytest.Subtests) -> None:
    rows: list[tuple[list[str], tuple[str, ...]]] = [
        (["海"], ("海",)),
        (["海", "山"], ("海", "山")),
        (["海　山"], ("海", "山")),
        (['"海 の 日" 山'], ("海 の 日", "山")),
        (['"foo', 'bar"'], ("foo bar",)),
        (["“海 の 日”"], ("海 の 日",)),
        (["ｶﾞｽ", "ガス", "ABC"], ("ガス", "abc")),
        (['海"の 日"'], ("海", "の 日")),
        (['"" 海'], ("海",)),
        (['"'], ('"',)),
        (["“"], ("“",)),
        (["＂"], ('"',)),
        (['海 "の日'], ("海", '"の日')),
        (['15.6"'], ('15.6"',)),
        (['"海 の" 日"'], ("海 の", '日"')),
        (['海"の"日"'], ("海", "の", '日"')),
        (['"""'], ('"',)),
    ]
    for words, terms in rows:
        with subtests.test(words=words, terms=terms):
            assert parse_query(words).terms == terms


def test_filters() -> None:
    query = parse_query(["海"], "comment", "2024-07-01", limit=5, by_date=True, timezone=JST)
    assert query == Query(("海",), None, Kind.COMMENTS, datetime(2024, 7, 1, tzinfo=JST), 5, by_date=True)
    assert parse_query(["海"], since="2024-07-01T10:00:00+00:00").since == datetime(2024, 7, 1, 19, tzinfo=JST)


def test_an_expression_is_one_pattern() -> None:
    assert parse_query(["海 ", "[山川]"], regex=True) == Query((), "海  [山川]")


@pytest.mark.parametrize(
    ("words", "options", "reason"),
    [
        ([], {}, "nothing to search for"),
        (["  "], {}, "nothing to search for"),
        (['""'], {}, "nothing to search for"),
        (["海"], {"kind": "user"}, "choose entry, comment or file"),
        (["海"], {"since": "last week"}, "since is .last week., which is not a date such as"),
        (["(海"], {"regex": True}, "cannot be read"),
        (["(" * 5000], {"regex": True}, "cannot be read"),
        ([""], {"regex": True}, "is empty"),
        (["a{99999999999}"], {"regex": True}, "cannot be read"),
    ],
)
def test_an_invalid_query_gives_a_one_line_error(words: list[str], options: dict[str, Any], reason: str) -> None:
    with pytest.raises(UsageError, match=reason) as caught:
        parse_query(words, **options)
    assert "\n" not in str(caught.value)


def test_a_doubtful_expression_gives_no_warning() -> None:
    assert parse_query(["[[a]"], regex=True).pattern == "[[a]"


@given(words=st.lists(st.text(max_size=8), max_size=4))
def test_any_words_give_a_query_or_a_usage_error(words: list[str]) -> None:
    try:
        query = parse_query(words)
    except UsageError:
        return
    assert query.terms
    assert all(query.terms)
