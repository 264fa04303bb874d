"""Names and paths of an archive."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.archive.layout import SEGMENTS, Layout, numbers_in, segment_name, version_name
from exporter.archive.safe_files import InnerPath
from exporter.model.kinds import Kind


@given(st.integers(1, 2**32 - 1))
def test_version_names_round_trip_and_sort_within_six_digits(number: int) -> None:
    name = version_name(number)
    assert len(name) >= 6
    assert numbers_in([name]) == [number]
    if number < 999_999:
        assert name < version_name(number + 1)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "1",
        "00001",
        "000000",
        "0000001",
        "00000a",
        "-00001",
        "000001 ",
        ".000001",
        "１２３４５６",
        "4294967296",
        "9" * 200,
    ],
)
def test_other_names_are_not_versions(name: str) -> None:
    assert numbers_in([name]) == []
    assert numbers_in(["000002", name, "000001"]) == [1, 2]


def test_the_six_segments() -> None:
    assert SEGMENTS == (
        "entries.jsonl", "entry_list.jsonl", "comments.jsonl", "files.jsonl", "user.jsonl", "assets.jsonl",
    )  # fmt: skip
    assert segment_name(Kind.ENTRY_LIST) == "entry_list.jsonl"


def test_every_path_is_inside_the_archive_and_its_own() -> None:
    root = Path("/a/b")
    layout = Layout(root)
    declared = (getattr(layout, name) for name in dir(layout) if name != "root")
    paths = [each for each in declared if isinstance(each, InnerPath)]
    paths += [layout.version(3), layout.manifest(3), layout.segment(3, Kind.USER), layout.latest_segment(Kind.USER)]
    assert len(set(paths)) == len(paths) >= 15
    assert all(root in path.parents for path in paths)


def test_the_documented_places() -> None:
    layout = Layout(Path("x"))
    shown = {
        layout.info: "archive.json",
        layout.readme: "README.txt",
        layout.format_document: "FORMAT.md",
        layout.runs: "runs.jsonl",
        layout.sums: "SHA256SUMS",
        layout.manifest(12): "versions/000012/manifest.json",
        layout.segment(12, Kind.ENTRIES): "versions/000012/entries.jsonl",
        layout.latest_segment(Kind.ENTRIES): "latest/entries.jsonl",
        layout.assets: "assets",
        layout.lock: ".work/lock",
        layout.checkpoint: ".work/checkpoint",
        layout.latest_record: ".work/latest.json",
        layout.freshness: ".work/freshness.jsonl",
    }
    assert {str(path) for path in shown} == {f"x/{place}" for place in shown.values()}
    for path, place in shown.items():
        assert path == Path("x") / place
