"""Kinds, ids and their order."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.model.kinds import Kind, key_of, sort_key


def test_the_names_of_kinds_match_the_format() -> None:
    assert [str(kind) for kind in Kind] == ["entries", "entry_list", "comments", "files", "user", "assets"]


@pytest.mark.parametrize(
    ("value", "key"),
    [("42", "42"), (42, "42"), (-1, "-1"), (0, "0"), ("", None), (None, None), (True, None), (False, None),
     (1.5, None), ([], None), ({}, None), ("\ud83d", "\ud83d"), (" 1", " 1"), (2**80, str(2**80))],
)  # fmt: skip
def test_a_numeric_id_becomes_text(value: Any, key: str | None) -> None:
    assert key_of(value) == key


def test_ids_are_ordered_by_number_and_the_others_last() -> None:
    ids = ["b", "10", "9", "a", "010", "2", "", "-1", "9" * 4001, "１"]
    assert sorted(ids, key=sort_key) == ["2", "9", "010", "10", "", "-1", "9" * 4001, "a", "b", "１"]


@given(st.lists(st.integers(0)))
def test_numbers_are_sorted_numerically(numbers: list[int]) -> None:
    assert sorted(map(str, numbers), key=sort_key) == [str(number) for number in sorted(numbers)]
