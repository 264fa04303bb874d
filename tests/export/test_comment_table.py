"""The comments of each entry are those that were added to it."""

from __future__ import annotations

from collections import defaultdict

from hypothesis import given
from hypothesis import strategies as st

from exporter.export.comment_index import CommentTable

IDS = st.one_of(
    st.integers(0, 10**20).map(str), st.sampled_from(["", "0", "01", "+1", "１", "x", "9" * 18, "9" * 19, " 1", "1\n"]), st.text(max_size=3)
)  # fmt: skip


@given(st.lists(st.tuples(st.sampled_from(["", "1", "2", "x"]), IDS)))
def test_records_are_with_their_owners_in_their_order(pairs: list[tuple[str, str]]) -> None:
    found = CommentTable()
    expected: defaultdict[str, list[str]] = defaultdict(list)
    for owner, record_id in pairs:
        found.add(owner, record_id)
        expected[owner].append(record_id)
    assert list(found.entries()) == list(expected)
    assert {owner: found.of(owner) for owner in expected} == expected
    assert found.of("of nobody") == []
