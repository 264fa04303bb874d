from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.archive.latest import write_latest
from exporter.archive.latest_segments import LatestLines
from exporter.model.kinds import Kind
from tests.archive.versions import ArchiveMaker, entry

IDS = st.one_of(
    st.integers(0, 120).map(str),
    st.sampled_from(["007", "07", "x", 'a"b\\', "\ud83d", "9" * 30, "1" * 5000, "-1", "٣", " ", "海\n"]),
)


@given(ids=st.sets(IDS, max_size=30), others=st.sets(IDS, max_size=10))
def test_a_record_is_found_where_a_fold_has_it(
    tmp_path_factory: pytest.TempPathFactory, ids: set[str], others: set[str]
) -> None:
    made = ArchiveMaker(tmp_path_factory.mktemp("lookup") / "archive")
    made.commit({Kind.ENTRIES: {each: entry(each, "海" * (len(each) % 7)) for each in ids}})
    write_latest(made.layout, made.reader.state(), [])
    with contextlib.closing(LatestLines(made.layout)) as lines, contextlib.closing(made.reader.state()) as state:
        for record_id in ids | others:
            found = lines.line(Kind.ENTRIES, record_id)
            assert found == state.line(Kind.ENTRIES, record_id)
            assert (found is not None) == (record_id in ids)
        assert lines.line(Kind.FILES, "1") is None


@pytest.mark.parametrize("harm", [("海", "山"), ('"sha256"', '"sha"'), ('"5"', '"6"')])
def test_a_damaged_line_is_not_found(tmp_path: Path, harm: tuple[str, str]) -> None:
    made = ArchiveMaker(tmp_path / "archive")
    made.commit({Kind.ENTRIES: {"5": entry("5", "海")}})
    write_latest(made.layout, made.reader.state(), [])
    path = made.layout.latest_segment(Kind.ENTRIES)
    path.write_text(path.read_text().replace(*harm))
    with contextlib.closing(LatestLines(made.layout)) as lines:
        assert lines.line(Kind.ENTRIES, "5") is None
