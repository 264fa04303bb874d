"""Copies damaged by an attacker or a failing disk: ``sync`` names the damage either way and restores the rest."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from exporter.copies.contents import Relation
from exporter.copies.folder import FolderStore
from exporter.errors import DamagedObject
from tests.archive.builder import Built
from tests.copies.conftest import PICTURES, add_pictures, asset_name
from tests.copies.support import damages, files_in, pulled, pushed

Attack = Callable[[Path], object]
PICTURE = asset_name(PICTURES[0])
PICTURE_HASH = PICTURE.removesuffix(".gif")
NEWEST = "versions/000006/manifest.json"
MIDDLE = "versions/000003/manifest.json"
FIRST_LINES = "versions/000001/entries.jsonl"


def removed(name: str) -> Attack:
    """Remove a file or folder."""

    def attack(copy: Path) -> None:
        path = copy / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()

    return attack


def linked(name: str) -> Attack:
    """Replace a file or folder by a link that leads out of the copy."""

    def attack(copy: Path) -> None:
        removed(name)(copy)
        (copy / name).symlink_to("/etc")

    return attack


def written(name: str, data: bytes) -> Attack:
    """Write a file."""

    def attack(copy: Path) -> None:
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        (copy / name).write_bytes(data)

    return attack


def cut(name: str) -> Attack:
    """Cut a file in half."""
    return lambda copy: os.truncate(copy / name, (copy / name).stat().st_size // 2)


def hollow(name: str) -> Attack:
    """Make a file a sparse file of one tebibyte."""
    return lambda copy: os.truncate(copy / name, 1 << 40)


def a_fifo(name: str) -> Attack:
    """Replace a file by a FIFO, whose reading never ends."""

    def attack(copy: Path) -> None:
        removed(name)(copy)
        os.mkfifo(copy / name)

    return attack


def a_folder(name: str) -> Attack:
    """Put a folder in the place of a file."""

    def attack(copy: Path) -> None:
        removed(name)(copy)
        (copy / name).mkdir()

    return attack


LOSSES: dict[str, tuple[Attack, list[str], str]] = {
    "newest version": (removed("versions/000006"), [NEWEST], "12345"),
    "a version between": (removed("versions/000003"), [MIDDLE], "12456"),
    "a manifest between": (cut(MIDDLE), [MIDDLE], "12456"),
    "all versions": (removed("versions"), [NEWEST], ""),
    "versions linked": (linked("versions"), [NEWEST], ""),
    "a note of a prune that never was": (
        lambda copy: (
            written("versions.new.json", b'{"step":"built"}\n')(copy),
            removed("versions/000006")(copy),
        ),
        [NEWEST],
        "12345",
    ),
    "a picture": (removed(PICTURE), [PICTURE_HASH], "123456"),
    "a picture's folder linked": (linked(PICTURE.rpartition("/")[0]), [PICTURE_HASH], "123456"),
    "README a folder": (a_folder("README.txt"), ["README.txt"], "123456"),
    "README linked": (linked("README.txt"), ["README.txt"], "123456"),
    "README endless": (hollow("README.txt"), ["README.txt"], "123456"),
    "runs": (removed("runs.jsonl"), ["runs.jsonl"], "123456"),
    "runs linked": (linked("runs.jsonl"), ["runs.jsonl"], "123456"),
    "runs a FIFO": (a_fifo("runs.jsonl"), ["runs.jsonl"], "123456"),
    "seal": (removed("SHA256SUMS"), ["SHA256SUMS"], "123456"),
    "seal linked": (linked("SHA256SUMS"), ["SHA256SUMS"], "123456"),
    "a version of nobody": (
        written("versions/000099/manifest.json", b"{}"),
        ["versions/000099/manifest.json"],
        "123456",
    ),
    "the newest version once more": (
        lambda copy: shutil.copytree(copy / "versions/000006", copy / "versions/000099"),
        ["versions/000099/manifest.json"],
        "123456",
    ),
}


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.sample(4)
def test_missing_objects_are_named_and_the_rest_is_restored(source: Built, tmp_path: Path, loss: str) -> None:
    """A later transfer from an intact archive repairs the restored one."""
    attack, named, versions = LOSSES[loss]
    copy, back = tmp_path / "copy", tmp_path / "back"
    pushed(source.root, FolderStore(copy))
    attack(copy)
    plan, _ = pulled(FolderStore(copy), back)
    assert plan.damaged == named
    assert "".join(path.name.lstrip("0") for path in sorted((back / "versions").iterdir())) == versions
    whole, there = files_in(source.root), files_in(back)
    assert {name for name in there if there[name] != whole[name]} <= {"runs.jsonl"} & {*named}
    if not {*named} <= {"SHA256SUMS", "versions/000099/manifest.json"}:
        assert damages(back)
    pulled(FolderStore(source.root), back)
    assert files_in(back) == whole
    assert damages(back) == []


@pytest.mark.parametrize("folder", ["a\\b", os.fsdecode(b"\xff")])
def test_an_unknown_folder_is_skipped(source: Built, tmp_path: Path, folder: str) -> None:
    pushed(source.root, FolderStore(tmp_path / "copy"))
    (tmp_path / "copy" / folder).mkdir()
    (tmp_path / "copy" / folder / "file").write_bytes(b"")
    plan, _ = pulled(FolderStore(tmp_path / "copy"), tmp_path / "back")
    assert plan.damaged == []
    assert files_in(tmp_path / "back") == files_in(source.root)


@pytest.mark.parametrize("name", [FIRST_LINES, PICTURE])
@pytest.mark.parametrize("attack", [cut, hollow])
def test_an_object_of_another_size_is_named_and_never_overwritten(
    source: Built, tmp_path: Path, name: str, attack: Callable[[str], Attack]
) -> None:
    store = FolderStore(tmp_path / "copy")
    pushed(source.root, store)
    attack(name)(tmp_path / "copy")
    size = (tmp_path / "copy" / name).stat().st_size
    plan, tally = pushed(source.root, store)
    assert (plan.damaged_there, plan.damaged, tally.objects) == ([name], [], 0)
    assert (tmp_path / "copy" / name).stat().st_size == size
    store.remove(name)
    assert pushed(source.root, store)[0].damaged_there == []
    assert files_in(tmp_path / "copy") == files_in(source.root)


@pytest.mark.parametrize("name", [FIRST_LINES, MIDDLE, "versions/000003/SHA256SUMS"])
@pytest.mark.parametrize("attack", [cut, removed])
def test_a_folder_that_is_updated_is_checked(
    source: Built, tmp_path: Path, name: str, attack: Callable[[str], Attack]
) -> None:
    """Missing segments are fetched again; if two files differ in size, the manifest shows which one is truncated."""
    copy, back = FolderStore(source.root), tmp_path / "back"
    pulled(copy, back)
    attack(name)(back)
    plan, _ = pulled(copy, back)
    comes_anew = (attack, name) == (removed, FIRST_LINES)
    assert (plan.damaged, plan.damaged_there) == ([], [] if comes_anew else [name])
    plan, _ = pulled(FolderStore(back), source.root)
    assert (plan.damaged, plan.damaged_there) == ([] if comes_anew or attack is removed else [name], [])


def test_a_stray_version_in_a_folder_does_not_make_it_newer(source: Built, tmp_path: Path) -> None:
    copy, back = FolderStore(source.root), tmp_path / "back"
    pulled(copy, back)
    stray = "versions/000099/manifest.json"
    written(stray, b"{}")(back)
    plan, _ = pulled(copy, back)
    assert (plan.relation, plan.damaged_there) == (Relation.SAME, [stray])


def test_a_picture_cut_short_here_is_not_blamed_on_the_copy(source: Built, tmp_path: Path) -> None:
    store = FolderStore(tmp_path / "copy")
    pushed(source.root, store)
    cut(PICTURE)(source.root)
    assert pushed(source.root, store)[0].damaged_there == []


@pytest.mark.parametrize("manifest", [b"{}", b"garbage", None])
def test_a_stray_manifest_does_not_make_the_copy_newer(source: Built, tmp_path: Path, manifest: bytes | None) -> None:
    """New versions are still sent."""
    store = FolderStore(tmp_path / "copy")
    pushed(source.root, store)
    stray = "versions/000099/manifest.json"
    written(stray, (source.root / NEWEST).read_bytes() if manifest is None else manifest)(tmp_path / "copy")
    plan, _ = pushed(source.root, store)
    assert (plan.relation, plan.damaged_there) == (Relation.SAME, [stray])
    add_pictures(source, b"a third picture")
    plan, _ = pushed(source.root, store)
    assert (plan.relation, tuple(plan.versions), plan.damaged_there) == (Relation.AHEAD, (7,), [stray])
    older = tmp_path / "older"
    pulled(FolderStore(source.root), older)
    removed("versions/000007")(tmp_path / "copy")
    plan_back, _ = pulled(store, older)
    assert plan_back.relation is Relation.BEHIND
    assert plan_back.damaged == [stray, "versions/000007/manifest.json"]


def test_a_damaged_newest_manifest_in_the_copy_is_named(source: Built, tmp_path: Path) -> None:
    store = FolderStore(tmp_path / "copy")
    pushed(source.root, store)
    cut(NEWEST)(tmp_path / "copy")
    with pytest.raises(DamagedObject, match=r"versions/000006/manifest\.json in .* is not what was stored"):
        pushed(source.root, store)
