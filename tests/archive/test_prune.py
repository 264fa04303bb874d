from __future__ import annotations

import ctypes
import errno
import hashlib
import json
import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter import lossless_json
from exporter.archive import atomic
from exporter.archive.archive import Archive
from exporter.archive.history import last_known, version_rows
from exporter.archive.latest import load_latest, write_latest
from exporter.archive.layout import Layout, clear_replaced, recover_versions
from exporter.archive.prune import KeptVersion, PrunePlan, PruneResult, plan_prune, prune
from exporter.archive.safe_files import InnerPath
from exporter.archive.verify import verify
from exporter.errors import ArchiveDamaged, NoSpace, UsageError
from exporter.model.kinds import Kind
from tests.archive.sums import sums_agree
from tests.archive.test_history import HISTORIES
from tests.archive.versions import EVIDENCE, ArchiveMaker, comment, entry, plain_states
from tests.support.examples import in_both_lanes
from tests.support.instants import instants

HASHES = [hashlib.sha256(b"x" * size).hexdigest() for size in (1, 2, 3)]


def asset(url: str, digest: str) -> dict[str, Any]:
    return {"url": url, "status": 200, "sha256": digest}


def made(root: Path) -> ArchiveMaker:
    """Return an archive of six versions with records that are new, changed, changed back, removed, and restored."""
    maker = ArchiveMaker(root / "archive")
    maker.commit(
        {
            Kind.ENTRIES: {"1": entry("1"), "2": entry("2")},
            Kind.COMMENTS: {"7": comment("7")},
            Kind.ASSETS: {"u": asset("u", HASHES[0])},
        }
    )
    maker.commit({Kind.ENTRIES: {"1": entry("1", "二"), "3": entry("3")}, Kind.ASSETS: {"u": asset("u", HASHES[1])}})
    maker.commit({Kind.ENTRIES: {"1": entry("1"), "2": None}, Kind.COMMENTS: {"7": None}})
    maker.commit({Kind.ENTRIES: {"3": None, "4": entry("4")}, Kind.COMMENTS: {"7": comment("7")}})
    maker.commit({Kind.ENTRIES: {"4": None}, Kind.USER: {"x": {"id": "x", "nickname": "海"}}})
    maker.commit({Kind.ENTRIES: {"5": entry("5")}})
    for number, digest in enumerate(HASHES):
        folder = maker.layout.assets / digest[:2]
        folder.mkdir(mode=0o700)
        (folder / f"{digest}.jpg").write_bytes(b"x" * (number + 1))
    return maker


def keep(*versions: int, of: int = 6) -> PrunePlan:
    kept = []
    before = 0
    for version in versions:
        kept.append(KeptVersion(version, ("last",), tuple(range(before + 1, version))))
        before = version
    assert before == of
    return PrunePlan(tuple(kept))


def damages(layout: Layout) -> list[str]:
    return [
        f"{finding.code} {finding.path}: {finding.detail}"
        for finding in verify(Archive.open(layout.root))
        if finding.damage
    ]


@pytest.mark.parametrize("kept", [(6,), (1, 6), (2, 6), (3, 5, 6), (2, 4, 6), (1, 2, 3, 4, 5, 6)])
def test_every_kept_version_reads_back_the_same(tmp_path: Path, kept: tuple[int, ...]) -> None:
    layout = made(tmp_path).layout
    before = plain_states(layout.root)
    done = prune(layout, keep(*kept))
    assert done.versions == 6 - len(kept)
    assert Archive.open(layout.root).versions() == list(kept)
    assert plain_states(layout.root, lenient=True) == {number: before[number] for number in kept}
    assert damages(layout) == []


def test_a_reader_of_the_package_folds_the_same(tmp_path: Path) -> None:
    layout = made(tmp_path).layout
    before = plain_states(layout.root)
    prune(layout, keep(3, 5, 6))
    reader = Archive.open(layout.root)
    for number in reader.versions():
        state = reader.fold(number)
        found = {kind: {line.record_id: line.data for line in state.lines(kind)} for kind in Kind}
        assert found == before[number]


def test_the_manifest_names_folded_versions_and_counts_from_its_new_parent(tmp_path: Path) -> None:
    layout = made(tmp_path).layout
    prune(layout, keep(2, 5, 6))
    reader = Archive.open(layout.root)
    second, fifth, sixth = (reader.manifest(number) for number in (2, 5, 6))
    assert second.pruned == {"first": 1, "last": 1, "count": 1, "started_at": "2026-01-01T11:55:00Z"}
    assert second.parent is None
    assert fifth.pruned == {"first": 3, "last": 4, "count": 2, "started_at": "2026-01-03T11:55:00Z"}
    assert fifth.parent == {"version": 2, "sha256": hashlib.sha256(layout.manifest(2).read_bytes()).hexdigest()}
    entries = fifth.counts[Kind.ENTRIES]
    assert (entries.total, entries.new, entries.changed, entries.gone) == (1, 0, 1, 2)
    assert sixth.pruned is None
    assert [row.pruned for row in version_rows(reader)] == [1, 2, 0]


def test_pruning_again_adds_up(tmp_path: Path) -> None:
    layout = made(tmp_path).layout
    prune(layout, keep(2, 5, 6))
    prune(layout, PrunePlan((KeptVersion(6, ("last",), (2, 5)),)))
    assert Archive.open(layout.root).manifest(6).pruned == {
        "first": 1,
        "last": 5,
        "count": 5,
        "started_at": "2026-01-01T11:55:00Z",
    }
    assert damages(layout) == []


def test_tombstones_stay_and_changes_that_came_to_nothing_go(tmp_path: Path) -> None:
    layout = made(tmp_path).layout
    prune(layout, keep(1, 5, 6))
    ids = [json.loads(line)["id"] for line in layout.segment(5, Kind.ENTRIES).read_bytes().splitlines()]
    assert ids == ["2", "3", "4"]
    assert layout.segment(5, Kind.COMMENTS).read_bytes() == b""
    known = last_known(Archive.open(layout.root), Kind.ENTRIES, "3")
    assert known is not None
    assert (known.stored, known.gone_in, known.evidence) == (None, 5, EVIDENCE)


def test_sums_are_those_of_the_files(tmp_path: Path) -> None:
    layout = made(tmp_path).layout
    prune(layout, keep(2, 5, 6))
    for number in (2, 5, 6):
        assert sums_agree(layout.version(number))


def test_members_that_a_later_program_added_to_a_manifest_stay(tmp_path: Path) -> None:
    layout = made(tmp_path).layout
    _rewrite(layout, 6, lambda document: {**document, "mood": "calm"})
    prune(layout, keep(5, 6))
    assert lossless_json.loads(layout.manifest(6).read_bytes())["mood"] == "calm"
    assert damages(layout) == []


def _rewrite(layout: Layout, number: int, change: Any) -> None:
    path = layout.manifest(number)
    before = hashlib.sha256(path.read_bytes()).hexdigest()
    path.write_bytes(lossless_json.dumps(change(lossless_json.loads(path.read_bytes())), pretty=True) + b"\n")
    after = hashlib.sha256(path.read_bytes()).hexdigest()
    sums = path.with_name("SHA256SUMS")
    sums.write_bytes(sums.read_bytes().replace(before.encode(), after.encode()))


def test_unreferenced_assets_go_and_others_stay(tmp_path: Path) -> None:
    layout = made(tmp_path).layout
    stranger = layout.assets / HASHES[0][:2] / "notes.txt"
    stranger.write_text("mine")
    assert prune(layout, keep(1, 2, 3, 4, 5, 6)) == PruneResult(0, 1, 3)
    assert prune(layout, keep(2, 6)).assets == 1
    assert sorted(path.name for path in layout.assets.glob("*/*")) == sorted([HASHES[1] + ".jpg", "notes.txt"])


def test_assets_of_a_run_under_way_stay(tmp_path: Path) -> None:
    layout = made(tmp_path).layout
    layout.checkpoint.mkdir(parents=True)
    (layout.checkpoint / "assets.jsonl").write_bytes(lossless_json.dumps(asset("v", HASHES[2])) + b"\n")
    assert prune(layout, keep(1, 2, 3, 4, 5, 6)).assets == 0


def test_latest_is_stale_until_it_is_written_again(tmp_path: Path) -> None:
    layout = made(tmp_path).layout
    write_latest(layout, Archive.open(layout.root).fold(6), ())
    prune(layout, keep(3, 6))
    assert load_latest(layout, "sea.example", 6) is None
    assert damages(layout) == []
    write_latest(layout, Archive.open(layout.root).fold(6), ())
    assert list(verify(Archive.open(layout.root))) == []


@pytest.mark.parametrize("what", ["segment", "line", "sums", "chain", "missing"])
def test_damage_is_refused_before_anything_is_touched(tmp_path: Path, what: str) -> None:
    layout = made(tmp_path).layout
    path = {"sums": layout.version(2) / "SHA256SUMS", "chain": layout.manifest(2)}.get(
        what, layout.segment(2, Kind.ENTRIES)
    )
    if what in {"missing", "sums"}:
        path.unlink()
    else:
        path.write_bytes(path.read_bytes().replace(b"2", b"3", 1))
    before = {file: file.read_bytes() for file in layout.versions.rglob("*") if file.is_file()}
    with pytest.raises(ArchiveDamaged, match="000002"):
        prune(layout, keep(3, 6))
    assert {file: file.read_bytes() for file in layout.versions.rglob("*") if file.is_file()} == before
    assert not layout.building.exists()


def test_a_plan_for_other_versions_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="Run prune again"):
        prune(made(tmp_path).layout, keep(3, 5, of=5))


def test_a_full_disk_leaves_the_archive_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    layout = made(tmp_path).layout
    before = plain_states(layout.root)
    left = 10

    def full(handle: int) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(NoSpace):
        prune(layout, keep(3, 6))
    assert plain_states(layout.root) == before
    assert damages(layout) == []
    assert not layout.building.exists()


def test_files_are_copied_if_links_are_not_possible(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    layout = made(tmp_path).layout
    before = plain_states(layout.root)

    def refuse(*args: Any, **kwargs: Any) -> None:
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(os, "link", refuse)
    prune(layout, keep(1, 3, 4, 5, 6))
    assert damages(layout) == []
    assert plain_states(layout.root, lenient=True) == {number: before[number] for number in (1, 3, 4, 5, 6)}


def any_prune_of_any_history_preserves_the_kept_versions(
    tmp_path_factory: pytest.TempPathFactory, history: list[dict[Kind, dict[str, Any]]], choice: set[int]
) -> None:
    maker = ArchiveMaker(tmp_path_factory.mktemp("prune") / "archive")
    for changes in history:
        maker.commit(changes)
    before = plain_states(maker.layout.root)
    kept = sorted({number for number in choice if number in before} | {max(before)})
    prune(maker.layout, keep(*kept, of=max(before)))
    assert damages(maker.layout) == []
    assert plain_states(maker.layout.root, lenient=True) == {number: before[number] for number in kept}


(
    test_any_prune_of_any_history_preserves_the_kept_versions,
    test_any_prune_of_any_history_preserves_the_kept_versions_often,
) = in_both_lanes(
    given(history=HISTORIES, choice=st.sets(st.integers(1, 6))),
    any_prune_of_any_history_preserves_the_kept_versions,
    some=8,
    many=25,
)


def faults_of(layout: Layout, expected: dict[int, Any], kept: set[int]) -> list[str]:
    """Return the archive's problems: damage, and kept versions with other contents."""
    found = damages(layout)
    states = plain_states(layout.root, lenient=True)
    if not kept <= states.keys():
        found.append(f"of the kept versions only {sorted(states)} are there")
    return [*found, *(f"version {each} reads back otherwise" for each in states if states[each] != expected[each])]


@pytest.mark.no_cover
@pytest.mark.parametrize(
    ("way", "step"),
    [("exchange", 8), *(pytest.param(way, 1, marks=pytest.mark.thorough) for way in ("exchange", "rename"))],
)
def test_after_a_kill_the_archive_is_valid_and_a_second_run_completes_the_prune(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str, step: int
) -> None:
    if way == "rename":
        monkeypatch.setattr(atomic, "exchange", lambda one, other: False)
    layout = made(tmp_path).layout
    expected = plain_states(layout.root)
    kept = {5, 6}
    with instants(Path(layout.root), tmp_path / "instants", step=step) as copies:
        prune(layout, keep(5, 6))
    assert len(copies) > 40 // step
    absent = 0
    faults = []
    for number, copy in enumerate(copies):
        left = Layout(copy)
        if not left.versions.exists():
            absent += 1
            recover_versions(left)
        faults += [f"after {number}: {fault}" for fault in faults_of(left, expected, kept)]
        versions = set(Archive.open(copy).versions())
        prune(
            left,
            keep(5, 6) if versions != kept else PrunePlan(tuple(KeptVersion(each, ("last",), ()) for each in kept)),
        )
        faults += [f"completed after {number}: {fault}" for fault in faults_of(left, expected, kept)]
        rest = {path.name for path in copy.iterdir()} | {f".work/{path.name}" for path in (copy / ".work").iterdir()}
        if set(Archive.open(copy).versions()) != kept or rest & {"versions.new", "versions.old", ".work/new-versions"}:
            faults.append(f"completed after {number}: not everything is pruned or cleared")
        if sorted(path.stat().st_size for path in (copy / "assets").glob("*/*")) != [2]:
            faults.append(f"completed after {number}: the assets are not the referenced ones")
    assert faults == []
    assert absent == (way == "rename" or not sys.platform.startswith(("linux", "darwin")))


def test_a_gap_that_a_reader_closed_is_no_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    layout = made(tmp_path).layout
    before = plain_states(layout.root)
    monkeypatch.setattr(atomic, "exchange", lambda one, other: False)
    real = InnerPath.rename

    def rename(self: InnerPath, target: InnerPath) -> InnerPath:
        found = real(self, target)
        if self == layout.versions:
            recover_versions(layout)
        return found

    monkeypatch.setattr(InnerPath, "rename", rename)
    prune(layout, keep(6))
    assert plain_states(layout.root, lenient=True) == {6: before[6]}
    assert damages(layout) == []


def test_exchange_says_when_it_cannot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "plan9")
    assert not atomic.exchange(tmp_path, tmp_path)
    monkeypatch.setattr(os, "name", "nt")
    assert not atomic.exchange(tmp_path, tmp_path)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the call is Linux'")
def test_exchange_fails_as_the_system_does(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        atomic.exchange(tmp_path / "nothing", tmp_path)


class OtherSystem:
    """C libraries: one whose file system cannot exchange names, and that of macOS, which can."""

    def renameat2(self, *_: object) -> int:
        ctypes.set_errno(errno.EINVAL)
        return -1

    def renameatx_np(self, *_: object) -> int:
        return 0


def test_exchange_asks_the_system_it_runs_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: OtherSystem())
    monkeypatch.setattr(sys, "platform", "linux")
    assert not atomic.exchange(tmp_path, tmp_path)
    monkeypatch.setattr(sys, "platform", "darwin")
    assert atomic.exchange(tmp_path, tmp_path)


def test_recover_does_nothing_in_a_read_only_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    layout = Layout(tmp_path)
    (tmp_path / "versions.new").mkdir()

    def refuse(self: InnerPath, target: InnerPath) -> InnerPath:
        raise PermissionError(errno.EROFS, "read only")

    monkeypatch.setattr(InnerPath, "rename", refuse)
    recover_versions(layout)
    clear_replaced(layout)
    assert (tmp_path / "versions.new").exists()


def test_plan_by_the_clock_of_the_caller() -> None:
    late = [(1, datetime(2026, 1, 1, 23, tzinfo=UTC)), (2, datetime(2026, 1, 2, 1, tzinfo=UTC))]
    assert plan_prune(late, keep_daily=5).dropped == ()
