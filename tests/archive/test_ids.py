"""IDs and their rows, compared with a dictionary."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from exporter.archive.state import IdRows, key_of_id, merged
from exporter.model.kinds import sort_key

IDS = st.one_of(
    st.integers(0, 3000).map(str),
    st.integers(2**62, 2**65).map(str),
    st.sampled_from(["00", "01", "007", "9" * 18, "9" * 19, "9" * 20, "9" * 1000, "-1", "+1", "1_0", " 1", "a", "", "１", "\ud83d"]),
)  # fmt: skip
RUN = st.builds(range, st.integers(0, 3000), st.integers(0, 6000), st.integers(1, 3)).map(
    lambda run: [str(number) for number in run]
)
"""Many IDs in the order of lists and files, and in reverse order."""
BATCHES = st.lists(st.one_of(st.lists(IDS, max_size=8), RUN, RUN.map(lambda run: run[::-1])), max_size=4)


def filled(batches: list[list[str]]) -> tuple[IdRows, dict[str, int]]:
    rows = IdRows()
    model: dict[str, int] = {}
    for batch in batches:
        for record_id in batch:
            if record_id not in model:
                model[record_id] = len(model)
                rows.add(key_of_id(record_id), model[record_id])
    return rows, model


def in_order(rows: IdRows) -> list[tuple[str, int]]:
    return [(str(key), row) for key, row in rows.items()]


@settings(max_examples=100, deadline=None)
@given(BATCHES, st.lists(IDS, max_size=8))
def test_rows_are_found_and_come_in_the_order_of_ids(batches: list[list[str]], others: list[str]) -> None:
    rows, model = filled(batches)
    for record_id in (*model, *others):
        assert rows.find(key_of_id(record_id)) == model.get(record_id)
    assert len(rows) == len(model)
    assert in_order(rows) == sorted(model.items(), key=lambda item: sort_key(item[0]))


@settings(max_examples=60, deadline=None)
@given(BATCHES, st.data())
def test_what_is_removed_is_gone_and_may_come_back(batches: list[list[str]], data: st.DataObject) -> None:
    rows, model = filled(batches)
    gone = data.draw(st.one_of(st.just(list(model)), st.lists(st.sampled_from(sorted(model) or ["1"]), max_size=9)))
    for record_id in gone:
        rows.remove(key_of_id(record_id))
        model.pop(record_id, None)
    assert in_order(rows) == sorted(model.items(), key=lambda item: sort_key(item[0]))
    for number, record_id in enumerate(dict.fromkeys(gone), 10_000):
        rows.add(key_of_id(record_id), number)
        model[record_id] = number
    assert in_order(rows) == sorted(model.items(), key=lambda item: sort_key(item[0]))
    assert len(rows) == len(model)


@settings(max_examples=60, deadline=None)
@given(BATCHES, BATCHES)
def test_two_are_merged_in_order(one: list[list[str]], other: list[list[str]]) -> None:
    (left, first), (right, second) = filled(one), filled(other)
    found = [(str(key), a, b) for key, a, b in merged(left, right)]
    expected = sorted({*first, *second}, key=sort_key)
    assert found == [(record_id, first.get(record_id), second.get(record_id)) for record_id in expected]
