"""Doubtful records are never public."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.model.publication import Cause, Declared, Hidden, PostStatus, Verdict, more_hidden
from exporter.service.registry import DEFAULT_SERVICE
from tests.html import records

SAID = Declared(frozenset({"1"}), visible_comment_flags=frozenset({"f"}))
ODD: list[Any] = ["t", "f", "1", "0", "", " f", "F", "false", None, 0, 1, True, False, [], {}, "\ud83d"]


def status(declared: Declared = SAID, as_of: datetime | None = None, **changes: Any) -> PostStatus:
    return DEFAULT_SERVICE.publication(DEFAULT_SERVICE.post(records.entry(**changes)), declared, as_of).status


def test_a_plain_entry_is_public_once_its_flag_is_declared() -> None:
    assert status() is PostStatus.PUBLISH
    assert status(Declared()) is PostStatus.DRAFT
    assert status(Declared(frozenset({"2"}))) is PostStatus.DRAFT


def test_a_number_means_the_same_as_its_digits() -> None:
    assert status(open_flg=1) is PostStatus.PUBLISH


def test_private_overrides_all_other_flags() -> None:
    assert status(is_private="t", open_flg="9", mon="99") is PostStatus.PRIVATE
    assert status(Declared(all_as_draft=True), is_private="t") is PostStatus.PRIVATE


def test_all_as_draft_makes_drafts_of_public_entries() -> None:
    assert status(Declared(frozenset({"1"}), all_as_draft=True)) is PostStatus.DRAFT


@pytest.mark.parametrize("value", [value for value in ODD if value not in ("f", False) or isinstance(value, int)])
def test_is_private_other_than_f_is_private(value: Any) -> None:
    expected = PostStatus.PUBLISH if value is False else PostStatus.PRIVATE
    assert status(is_private=value) is expected


def test_a_period_is_public_only_when_declared() -> None:
    assert status(period_flg="t") is PostStatus.DRAFT
    assert status(Declared(frozenset({"1"}), period_public=True), period_flg="t") is PostStatus.PUBLISH
    assert status(Declared(frozenset({"1"}), period_public=True), period_flg="?") is PostStatus.DRAFT


def test_an_impossible_date_is_a_draft() -> None:
    assert status(mon="02", day="30") is PostStatus.DRAFT


def test_an_entry_dated_after_the_backup_is_not_public_yet() -> None:
    assert status(as_of=datetime(2024, 3, 5, tzinfo=UTC)) is PostStatus.DRAFT
    assert status(as_of=datetime(2024, 3, 6, tzinfo=UTC)) is PostStatus.PUBLISH


@pytest.mark.parametrize(
    ("changes", "field", "value"), [({"open_flg": "2"}, "open_flg", "'2'"), ({"period_flg": "t"}, "period_flg", "'t'")]
)
def test_the_stricter_of_entry_and_list_item_counts(changes: dict[str, str], field: str, value: str) -> None:
    post = DEFAULT_SERVICE.post(records.entry(), records.item(**changes))
    verdict = DEFAULT_SERVICE.publication(post, SAID)
    assert verdict.status is PostStatus.DRAFT
    assert verdict.cause == Cause(Hidden.UNDECLARED, field, value)


@pytest.mark.parametrize("value", ODD)
def test_a_private_list_item_makes_the_entry_private(value: Any) -> None:
    post = DEFAULT_SERVICE.post(records.entry(), {**records.item(), "is_private": value})
    expected = PostStatus.PUBLISH if value is False or value == "f" else PostStatus.PRIVATE
    assert DEFAULT_SERVICE.publication(post, SAID).status is expected
    drafts = DEFAULT_SERVICE.publication(post, Declared(all_as_draft=True)).status
    assert drafts is (PostStatus.DRAFT if expected is PostStatus.PUBLISH else PostStatus.PRIVATE)


@pytest.mark.parametrize("then", PostStatus)
@pytest.mark.parametrize("now", [*PostStatus, None])
def test_the_stricter_of_an_older_and_the_newest_state_counts(then: PostStatus, now: PostStatus | None) -> None:
    order = [PostStatus.PRIVATE, PostStatus.DRAFT, PostStatus.PUBLISH]
    cause = Cause(Hidden.FLAG, "is_private", "'t'")
    found = more_hidden(Verdict(then, Cause(Hidden.NO_DATE)), None if now is None else Verdict(now, cause))
    assert found.status is min(then, now or PostStatus.PRIVATE, key=order.index)
    if now is None:
        assert found.cause == Cause(Hidden.REMOVED)
    else:
        assert found.cause == (Cause(Hidden.NO_DATE) if found.status is then else replace(cause, newest=True))


@given(st.sampled_from(ODD), st.sampled_from(ODD), st.sampled_from(ODD), st.booleans(), st.booleans())
def test_every_combination_of_flags(private: Any, opened: Any, period: Any, periods: bool, drafts: bool) -> None:
    declared = Declared(frozenset({"1"}), periods, all_as_draft=drafts)
    found = status(declared, is_private=private, open_flg=opened, period_flg=period)
    may = (
        any(private is value or private == value == "f" for value in ("f", False)) and not drafts and str(opened) == "1"
    )
    may = may and not isinstance(opened, bool)
    may = may and (period == "f" or period is False or (periods and (period == "t" or period is True)))
    assert (found is PostStatus.PUBLISH) == may


@pytest.mark.parametrize("value", ODD)
def test_a_comment_is_visible_only_with_a_declared_flag(value: Any) -> None:
    comment = DEFAULT_SERVICE.comment(records.comment(delete_flg=value))
    assert DEFAULT_SERVICE.is_visible(comment, SAID) == (value == "f" or value is False)
    assert not DEFAULT_SERVICE.is_visible(comment, Declared())
    both = Declared(visible_comment_flags=frozenset({"t", "f"}))
    assert DEFAULT_SERVICE.is_visible(comment, both) == (value in ("t", "f") or value is True or value is False)
