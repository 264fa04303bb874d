from __future__ import annotations

import json
import os
import shutil
import socket
from pathlib import Path

import pytest

from exporter.archive.archive import Archive
from exporter.archive.layout import Layout
from exporter.archive.prune import plan_prune, prune
from exporter.clock import SystemClock, timestamp
from exporter.copies.contents import Relation
from exporter.copies.folder import FolderStore
from exporter.copies.push import Push
from exporter.copies.store import ObjectContent
from exporter.errors import ArchiveLocked, HistoriesDiffer
from exporter.model.kinds import Kind
from tests.archive.builder import Built
from tests.copies.conftest import PICTURES, add_pictures, asset_name, grow
from tests.copies.support import damages, files_in, findings, pruned, pulled, pushed

NOTE = "versions.new.json"


def prune_here(root: Path, keep_last: int = 2) -> None:
    """Prune an archive."""
    archive = Archive.open(root)
    rows = [(row.version, SystemClock().now()) for row in archive.log()]
    prune(Layout(root), plan_prune(rows, keep_last=keep_last))


@pytest.fixture
def store(tmp_path: Path) -> FolderStore:
    return FolderStore(tmp_path / "copy")


def test_a_prune_reaches_the_copy_only_when_it_is_asked_for(source: Built, store: FolderStore, tmp_path: Path) -> None:
    pushed(source.root, store)
    shutil.copytree(source.root, tmp_path / "whole")
    before = files_in(tmp_path / "copy")
    prune_here(source.root)
    assert pushed_relation(source.root, store) is Relation.PRUNED
    with pytest.raises(HistoriesDiffer, match="was pruned"):
        pulled(FolderStore(source.root), tmp_path / "whole")
    assert files_in(tmp_path / "copy") == before
    pruned(source.root, store)
    assert files_in(tmp_path / "copy") == files_in(source.root)
    pulled(FolderStore(source.root), tmp_path / "whole", prune=True)
    assert files_in(tmp_path / "whole") == files_in(source.root)
    assert damages(tmp_path / "whole") == damages(tmp_path / "copy") == findings(store) == []


def pushed_relation(root: Path, store: FolderStore) -> Relation:
    """Return how an archive relates to a copy."""
    return Push(Archive.open(root), store, pruning=True).plan().relation


def test_an_archive_with_new_versions_after_a_prune_is_sent_completely(
    source: Built, store: FolderStore, tmp_path: Path
) -> None:
    pushed(source.root, store)
    grow(source)
    grow(source, "もっと")
    prune_here(source.root, 3)
    pruned(source.root, store)
    assert files_in(tmp_path / "copy") == files_in(source.root)
    prune_here(source.root, 1)
    grown = Built.reopen(source.root)
    assert grown.reader.versions() == [8]
    pruned(source.root, store)
    assert files_in(tmp_path / "copy") == files_in(source.root)


def test_pictures_that_no_version_needs_go_with_the_versions(source: Built, store: FolderStore, tmp_path: Path) -> None:
    pushed(source.root, store)
    store.create(asset_name(b"nobody's"), ObjectContent(8, lambda: iter([b"nobody's"])))
    prune_here(source.root)
    pruned(source.root, store)
    assert not (tmp_path / "copy" / asset_name(b"nobody's")).exists()
    assert all((tmp_path / "copy" / asset_name(data)).exists() for data in PICTURES)


def test_an_unpruned_archive_adds_nothing_to_a_pruned_copy(source: Built, store: FolderStore, tmp_path: Path) -> None:
    shutil.copytree(source.root, tmp_path / "whole")
    prune_here(source.root)
    pushed(source.root, store)
    with pytest.raises(HistoriesDiffer, match="was pruned, and"):
        pushed(tmp_path / "whole", store)
    with pytest.raises(HistoriesDiffer, match="was pruned, and"):
        pulled(FolderStore(tmp_path / "whole"), source.root)


def test_another_history_is_no_prune(source: Built, store: FolderStore, tmp_path: Path) -> None:
    shutil.copytree(source.root, tmp_path / "other")
    other = Built.reopen(tmp_path / "other")
    grow(other, "other")
    grow(source)
    grow(source)
    pushed(other.root, store)
    prune_here(source.root, 1)
    with pytest.raises(HistoriesDiffer, match="has other runs"):
        pushed(source.root, store)


def note(**members: object) -> bytes:
    """Return the note of a prune."""
    known = {"step": "building", "pid": os.getpid(), "host": socket.gethostname()}
    return json.dumps({**known, "since": timestamp(SystemClock().now()), **members}).encode()


def test_during_a_prune_no_other_machine_can_write(source: Built, store: FolderStore) -> None:
    pushed(source.root, store)
    grow(source)
    store.replace(NOTE, note(), None)
    assert "unfinished versions" in findings(store)
    with pytest.raises(ArchiveLocked, match="is running or was interrupted"):
        pushed(source.root, store)
    prune_here(source.root)
    with pytest.raises(ArchiveLocked, match=f"Process {os.getpid()}"):
        pruned(source.root, store)


@pytest.mark.parametrize(
    "left",
    [note(pid=2**22 + 1), note(since="2020-01-01T00:00:00"), note(pid="x"), b"no JSON", b"[]", note(since=7)],
    ids=["dead", "old", "no number", "no JSON", "no object", "no time"],
)
def test_the_note_of_a_dead_prune_is_taken_over(source: Built, store: FolderStore, tmp_path: Path, left: bytes) -> None:
    pushed(source.root, store)
    store.replace(NOTE, left, None)
    store.create("versions.new/000001/SHA256SUMS", ObjectContent(3, lambda: iter([b"old"])))
    prune_here(source.root)
    pruned(source.root, store)
    assert files_in(tmp_path / "copy") == files_in(source.root)


def test_a_version_that_comes_meanwhile_stops_the_prune(source: Built, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    pushed(source.root, FolderStore(copy))
    shutil.copytree(source.root, tmp_path / "other")
    other = Built.reopen(tmp_path / "other")
    grow(other)
    prune_here(source.root)

    class Busy(FolderStore):
        """Another writer that sees no note sends a version while the new set is stored."""

        def create(self, name: str, content: ObjectContent) -> bool:
            if name.startswith("versions.new/000006/manifest"):
                shutil.copytree(other.root / "versions" / "000007", copy / "versions" / "000007")
            return super().create(name, content)

    with pytest.raises(ArchiveLocked, match="has changed"):
        pruned(source.root, Busy(copy))
    assert not (copy / NOTE).exists()
    assert Archive.open(copy).versions() == [1, 2, 3, 4, 5, 6, 7]


def test_a_writer_that_met_a_prune_says_so(source: Built, store: FolderStore, tmp_path: Path) -> None:
    pushed(source.root, store)
    grow(source)

    class Late(FolderStore):
        def create(self, name: str, content: ObjectContent) -> bool:
            created = super().create(name, content)
            if name.endswith("000007/manifest.json"):
                super().replace(NOTE, note(), None)
            return created

    with pytest.raises(ArchiveLocked, match="Another writer has changed"):
        pushed(source.root, Late(tmp_path / "copy"))


def states_of(root: Path) -> dict[int, dict[Kind, dict[str, bytes]]]:
    """Read every version of an archive: the stored bytes of each record."""
    built = Built.reopen(root)
    return {
        number: {kind: {each: data for each, (data, _) in records.items()} for kind, records in state.items()}
        for number, state in zip(built.reader.versions(), built.states, strict=True)
    }


def test_a_copy_whose_objects_are_locked_is_not_pruned(source: Built, store: FolderStore, tmp_path: Path) -> None:
    pushed(source.root, store)
    before = files_in(tmp_path / "copy")
    prune_here(source.root)

    class Locked(FolderStore):
        """Files in versions/ cannot be removed."""

        def remove(self, name: str) -> None:
            if not name.startswith("versions/"):
                super().remove(name)

    with pytest.raises(ArchiveLocked, match="are locked and cannot be removed"):
        pruned(source.root, Locked(tmp_path / "copy"))
    assert files_in(tmp_path / "copy") == before


class Stopped(Exception):
    """The transfer was stopped."""


class Stopping(FolderStore):
    """A folder store that stops the transfer before its ``left``-th change."""

    def __init__(self, root: Path, left: int) -> None:
        super().__init__(root)
        self._left = left

    def _count(self) -> None:
        self._left -= 1
        if self._left == 0:
            raise Stopped

    def create(self, name: str, content: ObjectContent) -> bool:
        self._count()
        return super().create(name, content)

    def replace(self, name: str, content: bytes, tag: str | None) -> bool:
        self._count()
        return super().replace(name, content, tag)

    def remove(self, name: str) -> None:
        self._count()
        super().remove(name)


@pytest.mark.parametrize("step", [41, pytest.param(17, marks=pytest.mark.thorough)])
def test_no_state_is_missing_at_any_time(
    source: Built, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    """After each change, every kept version reads back unchanged, and the next prune completes the first."""
    pushed(source.root, FolderStore(tmp_path / "template"))
    add_pictures(source, b"new")
    expected = states_of(source.root)
    prune_here(source.root, 2)
    monkeypatch.setattr("exporter.copies.pruning.os.getpid", lambda: 2**22 + 1)
    whole, steps = files_in(source.root), 0
    for left in range(1, 1000, step):
        copy, back = tmp_path / "copy", tmp_path / "back"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.rmtree(back, ignore_errors=True)
        shutil.copytree(tmp_path / "template", copy)
        try:
            pruned(source.root, Stopping(copy, left))
        except Stopped:
            steps += 1
        else:
            break
        pulled(FolderStore(copy), back)
        states = states_of(back)
        assert {6} <= states.keys()
        assert all(states[number] == expected[number] for number in states)
        pruned(source.root, FolderStore(copy))
        assert files_in(copy) == whole
    assert steps > 68 // step
