"""Two machines that send different histories or the same history to one place at the same time."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

import pytest

from exporter.clock import SystemClock
from exporter.copies.folder import FolderStore
from exporter.copies.store import ObjectContent, content_of
from exporter.errors import ArchiveLocked, BlogExporterError, HistoriesDiffer
from tests.archive.builder import Built
from tests.copies.conftest import grow
from tests.copies.support import damages, files_in, findings, pulled, pushed


def forked(source: Built, tmp_path: Path) -> Built:
    """Make another archive with the same history except for its newest version."""
    shutil.copytree(source.root, tmp_path / "other")
    other = Built.reopen(tmp_path / "other")
    grow(source, "one")
    grow(other, "another")
    return other


def at_once(*works: tuple[Path, FolderStore]) -> list[BlogExporterError | None]:
    """Push archives in separate threads; return the error of each, or ``None``."""
    ended: list[BlogExporterError | None] = [None] * len(works)
    start = threading.Barrier(len(works))

    def work(number: int, root: Path, store: FolderStore) -> None:
        start.wait()
        try:
            pushed(root, store)
        except BlogExporterError as error:
            ended[number] = error

    threads = [threading.Thread(target=work, args=(number, *each)) for number, each in enumerate(works)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return ended


@pytest.mark.parametrize("turn", [0, 1, *(pytest.param(turn, marks=pytest.mark.thorough) for turn in range(2, 12))])
def test_one_of_two_histories_wins_and_nothing_is_mixed(source: Built, tmp_path: Path, turn: int) -> None:
    copy = tmp_path / "copy"
    if turn % 2:
        pushed(source.root, FolderStore(copy))
    other = forked(source, tmp_path)
    ended = at_once((source.root, FolderStore(copy)), (other.root, FolderStore(copy)))
    lost = [error for error in ended if error is not None]
    assert len(lost) == 1
    assert isinstance(lost[0], ArchiveLocked | HistoriesDiffer)
    assert lost[0].exit_code in {11, 15}
    winner, loser = (source, other) if ended[0] is None else (other, source)
    assert files_in(copy) == files_in(winner.root)
    assert findings(FolderStore(copy)) == damages(copy) == []
    with pytest.raises(HistoriesDiffer):
        pushed(loser.root, FolderStore(copy))


def test_two_with_the_same_history_help_each_other(source: Built, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    ended = at_once((source.root, FolderStore(copy)), (source.root, FolderStore(copy)))
    assert all(error is None or isinstance(error, ArchiveLocked) for error in ended)
    pushed(source.root, FolderStore(copy))
    assert files_in(copy) == files_in(source.root)


def test_the_first_writer_of_a_version_keeps_it(source: Built, tmp_path: Path) -> None:
    """The other writer stored SHA256SUMS of its version and then died."""
    copy = FolderStore(tmp_path / "copy")
    pushed(source.root, copy)
    other = forked(source, tmp_path)
    claim = (other.root / "versions/000007/SHA256SUMS").read_bytes()
    copy.create("versions/000007/SHA256SUMS", content_of(claim))
    with pytest.raises(ArchiveLocked, match=r"sending another version 7 .* remove versions/000007/ there"):
        pushed(source.root, copy)
    assert "unfinished versions/000007" in findings(copy)
    pushed(other.root, copy)
    assert files_in(tmp_path / "copy") == files_in(other.root)


class Beaten(FolderStore):
    """A store in which another writer always stores one name first."""

    def __init__(self, root: Path, name: str, theirs: bytes) -> None:
        super().__init__(root)
        self._name = name
        self._theirs = theirs

    def create(self, name: str, content: ObjectContent) -> bool:
        if name == self._name:
            super().create(name, content_of(self._theirs))
        return super().create(name, content)

    def replace(self, name: str, content: bytes, tag: str | None) -> bool:
        if name == self._name:
            super().replace(name, self._theirs, tag)
        return super().replace(name, content, tag)


def test_a_writer_that_is_second_to_store_a_name_stops(source: Built, tmp_path: Path) -> None:
    for number, name in enumerate(("archive.json", "versions/000002/manifest.json")):
        with pytest.raises(HistoriesDiffer, match="Another writer has stored another"):
            pushed(source.root, Beaten(tmp_path / str(number), name, b"{}"))
    with pytest.raises(ArchiveLocked, match="Another writer has changed"):
        pushed(source.root, Beaten(tmp_path / "copy", "runs.jsonl", b"theirs"))
    runs = (source.root / "runs.jsonl").read_bytes()
    pushed(source.root, Beaten(tmp_path / "same", "runs.jsonl", runs))
    assert files_in(tmp_path / "same") == files_in(source.root)


def test_a_folder_that_is_being_written_is_left_alone(source: Built, tmp_path: Path) -> None:
    pulled(FolderStore(source.root), tmp_path / "copy")
    with Built.reopen(tmp_path / "copy").reader.lock() as lock:
        lock.acquire(SystemClock().now())
        with pytest.raises(ArchiveLocked, match="is being written by"):
            pulled(FolderStore(source.root), tmp_path / "copy")
