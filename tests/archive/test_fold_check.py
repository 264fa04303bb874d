"""Applying lines while they are checked finds and leaves the same as two passes, the first of which changes nothing."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from exporter import lossless_json
from exporter.archive.fold_check import FoldCheck
from exporter.archive.lines import put_line, remove_line, split
from exporter.archive.manifest import Manifest
from exporter.archive.state import State
from exporter.model.kinds import Kind

IDS = st.sampled_from(["1", "2", "007", "x", "9" * 30])
LINES = st.lists(st.tuples(IDS, st.one_of(st.none(), st.integers(0, 2))), max_size=8)
PATHS = Path("1.jsonl"), Path("2.jsonl")


def lines_of(changes: list[tuple[str, int | None]]) -> list[bytes]:
    return [
        remove_line(record_id, {"why": 1})
        if value is None
        else put_line(record_id, lossless_json.freeze({"value": value}))
        for record_id, value in changes
    ]


def manifest(*, pruned: bool, healed: bool) -> Manifest:
    return Manifest(
        version=2,
        parent=None,
        blog_id="sea.example",
        base_url="",
        started_at="",
        finished_at="",
        counts={},
        completeness={},
        problems=[],
        files={},
        pruned={} if pruned else None,
        healed=[] if healed else None,
    )


def in_two_passes(state: State, lines: list[bytes], made: Manifest) -> list[str]:
    """Find the lines that change nothing, then apply all."""
    healed, before, wrong = made.healed is not None, state.kinds[Kind.ENTRIES], []
    seen: set[str] = set()
    for text in lines:
        line = split(text)
        row = before.row(line.record_id)
        if line.record_id in seen:
            wrong.append(f"{line.record_id} has two lines")
        seen.add(line.record_id)
        if line.removed:
            if row is None and made.pruned is None and not healed:
                wrong.append(f"{line.record_id} is removed but did not exist")
        elif row is not None and not healed and before.identity(row) == line.identity:
            wrong.append(f"{line.record_id} is put but did not change")
    state.fold(PATHS[1], Kind.ENTRIES, 2, lines=lines)
    return wrong


def shown(state: State) -> list[tuple[str, bytes, int, tuple[int, int, int]]]:
    records = state.kinds[Kind.ENTRIES]
    return [(name, records.identity(row), records.version(row), records.place(row)) for name, row in records.ordered()]


@given(LINES, LINES, st.booleans(), st.booleans())
def test_one_pass_finds_and_leaves_the_same_as_two(
    first: list[tuple[str, int | None]], second: list[tuple[str, int | None]], pruned: bool, healed: bool
) -> None:
    made, lines = manifest(pruned=pruned, healed=healed), lines_of(second)
    states = [State("sea.example"), State("sea.example")]
    for state in states:
        state.fold(PATHS[0], Kind.ENTRIES, 1, lines=lines_of(first))
    check = FoldCheck(states[0], Kind.ENTRIES, PATHS[1], 2, made)
    for text in lines:
        check.apply(split(text), len(text))
    assert check.wrong == in_two_passes(states[1], lines, made)
    assert shown(states[0]) == shown(states[1])
