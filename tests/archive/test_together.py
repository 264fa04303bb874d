"""Versions, history, diffs and prunes used together, as over many years."""

from __future__ import annotations

import stat
import threading
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from exporter.archive import atomic
from exporter.archive.archive import Archive
from exporter.archive.history import diff_versions, last_known, record_at, revisions, version_at, version_rows
from exporter.archive.layout import Layout
from exporter.archive.prune import PrunePlan, plan_prune, prune
from exporter.archive.segments import line_positions
from exporter.errors import ArchiveDamaged, NoSuchRecord
from exporter.html.diff import count_changes, diff_text
from exporter.model.changes import Change
from exporter.model.kinds import Kind
from exporter.service.registry import DEFAULT_SERVICE
from exporter.site import SiteOptions
from exporter.site.single import OneFilePages
from tests.archive.versions import ArchiveMaker, comment, entry, find_in, plain_states


def years(root: Path, versions: int = 40) -> ArchiveMaker:
    """Return an archive of daily versions: each edits entry 0, every fifth adds a comment, every tenth removes one."""
    maker = ArchiveMaker(root / "archive")
    for day in range(versions):
        comments: dict[str, dict[str, Any] | None] = {str(day): comment(str(day), "0")} if day % 5 == 0 else {}
        if day % 10 == 9:
            comments = {str(day - 4): None}
        maker.commit(
            {Kind.ENTRIES: {"0": entry("0", f"{day}日目"), str(day + 1): entry(str(day + 1))}, Kind.COMMENTS: comments}
        )
    return maker


def plan_for(layout: Layout, **rules: int) -> PrunePlan:
    rows = version_rows(Archive.open(layout.root))
    return plan_prune([(row.version, datetime.fromisoformat(row.finished_at)) for row in rows], **rules)


def test_after_a_prune_history_has_fewer_steps_and_is_still_correct(tmp_path: Path) -> None:
    layout = years(tmp_path).layout
    states = plain_states(layout.root)
    prune(layout, plan_for(layout, keep_daily=3, keep_weekly=4))
    reader = Archive.open(layout.root)
    kept = reader.versions()
    assert kept == [25, 32, 38, 39, 40]
    for version in kept:
        for record_id, data in states[version][Kind.ENTRIES].items():
            stored = record_at(reader, Kind.ENTRIES, record_id, version)
            assert stored is not None
            assert stored.line.data == data
    steps = revisions(reader, Kind.ENTRIES, "0")
    assert [step.version for step in steps] == kept
    assert [step.change for step in steps] == [Change.NEW, *[Change.CHANGED] * (len(kept) - 1)]


def test_after_a_prune_a_diff_is_that_of_the_states(tmp_path: Path) -> None:
    layout = years(tmp_path).layout
    states = plain_states(layout.root)
    prune(layout, plan_for(layout, keep_last=2, keep_weekly=3))
    reader = Archive.open(layout.root)
    kept = reader.versions()
    for a in kept:
        for b in kept:
            found = {(item.kind, item.record_id) for item in diff_versions(reader, a, b, DEFAULT_SERVICE)}
            assert found == {
                (kind, record_id)
                for kind in Kind
                for record_id in states[a][kind].keys() | states[b][kind].keys()
                if states[a][kind].get(record_id) != states[b][kind].get(record_id)
            }


def test_after_a_prune_a_date_means_the_version_kept_before_it(tmp_path: Path) -> None:
    layout = years(tmp_path).layout
    prune(layout, plan_for(layout, keep_last=1, keep_monthly=2))
    reader = Archive.open(layout.root)
    assert reader.versions() == [31, 40]
    assert version_at(reader, "2026-02-05") == 31
    assert version_at(reader, "2026-02-09") == 40
    with pytest.raises(NoSuchRecord, match="The oldest one is from 2026-01-31"):
        version_at(reader, "2026-01-30")
    with pytest.raises(NoSuchRecord, match="no version 30"):
        version_at(reader, "30")


def test_after_a_prune_a_backup_continues(tmp_path: Path) -> None:
    maker = years(tmp_path)
    prune(maker.layout, plan_for(maker.layout, keep_last=2))
    assert maker.commit({Kind.ENTRIES: {"0": entry("0", "また")}}) == 41
    reader = Archive.open(maker.layout.root)
    assert reader.versions() == [39, 40, 41]
    assert [(item.record_id, item.change) for item in diff_versions(reader, 40, 41, DEFAULT_SERVICE)] == [
        ("0", Change.CHANGED)
    ]


def test_a_comment_removed_before_the_oldest_version_is_still_known_as_removed(tmp_path: Path) -> None:
    layout = years(tmp_path).layout
    prune(layout, plan_for(layout, keep_last=1))
    known = last_known(Archive.open(layout.root), Kind.COMMENTS, "5")
    assert known is not None
    assert (known.stored, known.gone_in) == (None, 40)


def test_files_written_by_a_prune_are_private(tmp_path: Path) -> None:
    layout = years(tmp_path, 4).layout
    prune(layout, plan_for(layout, keep_last=2))
    for path in [layout.versions, *layout.versions.rglob("*")]:
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)


def test_a_prune_with_nothing_to_remove_rewrites_no_version(tmp_path: Path) -> None:
    layout = years(tmp_path, 4).layout
    before = {path: path.stat().st_mtime_ns for path in layout.versions.rglob("*")}
    assert prune(layout, plan_for(layout, keep_last=9)).versions == 0
    assert {path: path.stat().st_mtime_ns for path in layout.versions.rglob("*")} == before


def test_segments_that_nothing_changes_are_the_same_files(tmp_path: Path) -> None:
    layout = years(tmp_path, 4).layout
    before = layout.segment(4, Kind.ENTRIES).stat().st_ino
    prune(layout, plan_for(layout, keep_last=2))
    assert layout.segment(4, Kind.ENTRIES).stat().st_ino == before


def test_a_reader_during_a_prune_sees_the_old_set_or_the_new_one(tmp_path: Path) -> None:
    layout = years(tmp_path, 12).layout
    assert atomic.exchange(layout.versions, layout.assets), "this file system cannot exchange names"
    atomic.exchange(layout.versions, layout.assets)
    seen: set[tuple[int, ...]] = set()
    stop = threading.Event()

    def look() -> None:
        while not stop.is_set():
            seen.add(tuple(Archive.open(layout.root).versions()))

    thread = threading.Thread(target=look)
    thread.start()
    try:
        for last in (9, 6, 3, 1):
            prune(layout, plan_for(layout, keep_last=last))
    finally:
        stop.set()
        thread.join()
    assert seen <= {tuple(range(13 - last, 13)) for last in (12, 9, 6, 3, 1)}
    assert seen


def test_views_of_a_long_diff(tmp_path: Path) -> None:
    reader = years(tmp_path, 12).reader
    changes = list(diff_versions(reader, 1, 12, DEFAULT_SERVICE))
    assert count_changes(changes)[Kind.ENTRIES] == {Change.NEW: 11, Change.CHANGED: 1, Change.GONE: 0}
    lines = list(diff_text(changes))
    assert lines[:2] == ["~ entry 0  11日目", "    title: [-0-]{+11+}日目"]
    assert len(lines) == len(changes) + 1
    page = OneFilePages(reader, DEFAULT_SERVICE, SiteOptions()).changes(changes, 1, 12).decode()
    assert page.count('<span class="mark ') == len(changes)


def test_many_wanted_places_are_those_found_one_by_one(tmp_path: Path) -> None:
    maker = ArchiveMaker(tmp_path / "archive")
    maker.commit({Kind.ENTRIES: {str(number): entry(str(number)) for number in range(50)}})
    path = maker.layout.segment(1, Kind.ENTRIES)
    wanted = [str(number) for number in range(0, 60, 3)]
    many = dict(line_positions(path, wanted))
    few = {key: place for number in wanted for key, place in line_positions(path, [number])}
    assert many == few == {key: place for key, place in line_positions(path) if key in set(wanted)}
    for key, place in many.items():
        assert place.read() == find_in(path, key)


def test_a_large_segment_is_read_as_a_small_one(tmp_path: Path) -> None:
    maker = ArchiveMaker(tmp_path / "archive")
    maker.commit({Kind.ENTRIES: {str(number): entry(str(number), text="波" * 5000) for number in range(100)}})
    path = maker.layout.segment(1, Kind.ENTRIES)
    assert path.stat().st_size > 1 << 20
    line = find_in(path, "99")
    assert line is not None
    assert line.fault() is None
    assert find_in(path, "100") is None
    assert len(list(line_positions(path))) == 100


def test_a_place_whose_line_was_damaged_since_says_so(tmp_path: Path) -> None:
    layout = years(tmp_path, 2).layout
    path = layout.segment(1, Kind.ENTRIES)
    place = dict(line_positions(path))["0"]
    path.write_bytes(b"x" * path.stat().st_size)
    with pytest.raises(ArchiveDamaged, match="is damaged: "):
        place.read()
