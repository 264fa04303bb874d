from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from exporter.archive.archive import Archive
from exporter.copies.cache import Need, cache_folder, fetched
from exporter.copies.folder import FolderStore
from exporter.copies.store import Store
from exporter.errors import ArchiveDamaged, NoArchive
from exporter.model.kinds import Kind
from tests.archive.builder import Built
from tests.copies.conftest import PICTURES, add_pictures, asset_name, grow
from tests.copies.support import files_in, ignore, pruned, pushed
from tests.copies.test_prune_of_a_copy import prune_here, states_of


class Counting(FolderStore):
    """A folder store that records the objects it reads."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.names: list[str] = []

    def read(self, name: str) -> Iterator[bytes]:
        self.names.append(name)
        return super().read(name)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def store(source: Built, tmp_path: Path) -> Counting:
    pushed(source.root, FolderStore(tmp_path / "copy"))
    return Counting(tmp_path / "copy")


def brought(store: Store, need: Need, at: str | None = None) -> Path:
    return fetched(store, need, at, ignore)


def test_it_reads_like_the_archive_and_fetches_only_missing_objects(source: Built, store: Counting) -> None:
    root = brought(store, Need.RECORDS)
    assert states_of(root) == states_of(source.root)
    assert Archive.open(root).head() == Archive.open(source.root).head()
    assert not [name for name in store.names if name.startswith("assets/")]
    store.names.clear()
    assert brought(store, Need.RECORDS) == root
    assert not [name for name in store.names if name.endswith(".jsonl") and name != "runs.jsonl"]
    grow(source)
    pushed(source.root, FolderStore(Path(store.place)))
    store.names.clear()
    brought(store, Need.RECORDS)
    assert {name.split("/")[1] for name in store.names if name.startswith("versions/")} == {"000007"}
    assert states_of(root) == states_of(source.root)


def test_only_needed_objects_are_fetched(source: Built, store: Counting) -> None:
    root = brought(store, Need.MANIFESTS)
    log = Archive.open(root).log()
    assert log == Archive.open(source.root).log()
    assert not [
        name for name in store.names if name.startswith("versions/") and "manifest" not in name and "SUMS" not in name
    ]
    store.names.clear()
    brought(store, Need.RECORDS, "2")
    assert {name.split("/")[1] for name in store.names if name.endswith("entries.jsonl")} == {"000001", "000002"}
    brought(store, Need.PICTURES, "5")
    assert not [name for name in store.names if name.startswith("assets/")]
    brought(store, Need.PICTURES, "2016-01-01")
    assert {name for name in store.names if name.startswith("assets/")} == set(map(asset_name, PICTURES))
    assert files_in(root) == files_in(source.root)


def test_only_its_owner_may_look(store: Counting) -> None:
    root = brought(store, Need.RECORDS)
    assert root.is_relative_to(cache_folder())
    assert {path.stat().st_mode & 0o077 for path in (root, *root.rglob("*"))} == {0}


def test_a_pruned_copy_and_a_replaced_copy_are_read_again(source: Built, store: Counting, tmp_path: Path) -> None:
    root = brought(store, Need.PICTURES)
    prune_here(source.root)
    pruned(source.root, FolderStore(tmp_path / "copy"))
    brought(store, Need.PICTURES)
    assert states_of(root) == states_of(source.root)
    assert files_in(root) == files_in(source.root)
    shutil.rmtree(tmp_path / "copy")
    other = Built(tmp_path / "other")
    (other.root / "archive.json").write_bytes((other.root / "archive.json").read_bytes().replace(b"2026", b"2025"))
    add_pictures(other, b"x")
    pushed(other.root, FolderStore(tmp_path / "copy"))
    brought(store, Need.PICTURES)
    assert files_in(root) == files_in(other.root)


def test_damage_in_the_copy_is_named_and_not_shown(store: Counting, tmp_path: Path) -> None:
    picture = tmp_path / "copy" / asset_name(PICTURES[0])
    picture.write_bytes(b"another")
    root = brought(store, Need.PICTURES)
    assert not (root / asset_name(PICTURES[0])).exists()
    shutil.rmtree(root)
    segment = tmp_path / "copy" / "versions/000002/entries.jsonl"
    segment.write_bytes(segment.read_bytes().replace("変".encode(), "偽".encode()))
    with pytest.raises(ArchiveDamaged, match=r"versions/000002/entries\.jsonl in .* is not what was stored"):
        brought(store, Need.RECORDS)
    manifest = tmp_path / "copy" / "versions/000002/manifest.json"
    manifest.write_bytes(b"{}")
    with pytest.raises(ArchiveDamaged, match=r"versions/000002/manifest\.json"):
        brought(store, Need.MANIFESTS)


def test_a_damaged_cache_is_repaired_or_refused(source: Built, store: Counting) -> None:
    root = brought(store, Need.RECORDS)
    manifest = root / "versions/000003/manifest.json"
    manifest.write_bytes(manifest.read_bytes().replace(b'"version": 3', b'"version": 2'))
    brought(store, Need.RECORDS)
    assert files_in(root / "versions") == files_in(source.root / "versions")
    segment = root / "versions/000002/entries.jsonl"
    segment.write_bytes(segment.read_bytes().replace("変".encode(), "偽".encode()))
    with pytest.raises(ArchiveDamaged):
        list(Archive.open(root).records(Kind.ENTRIES, 2))


def test_an_empty_copy_and_a_missing_one(tmp_path: Path) -> None:
    with pytest.raises(NoArchive, match="has no copy"):
        brought(FolderStore(tmp_path / "none"), Need.RECORDS)
    empty = Built(tmp_path / "empty")
    pushed(empty.root, FolderStore(tmp_path / "copy"))
    root = brought(FolderStore(tmp_path / "copy"), Need.PICTURES)
    assert Archive.open(root).versions() == []
