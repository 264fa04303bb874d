"""Many pictures come together: each is verified, and gets its name once its content is durable."""

from __future__ import annotations

import errno
import os
from collections.abc import Collection
from pathlib import Path

import pytest

from exporter.archive import atomic
from exporter.copies import incoming
from exporter.copies.folder import FolderStore
from exporter.copies.sync import SyncOptions, sync
from exporter.errors import NoSpace
from tests.archive.builder import Built
from tests.copies.conftest import add_pictures, asset_name
from tests.copies.support import damages, files_in, ignore, pulled

MANY = [b"picture %d" % number * (1 + number * 200) for number in range(40)]


@pytest.fixture
def many(source: Built) -> Built:
    add_pictures(source, *MANY)
    return source


@pytest.fixture(autouse=True)
def together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let five pictures become durable together, and let a thread fetch three."""
    monkeypatch.setattr(incoming, "_MOST_ALONE", 1)
    monkeypatch.setattr(incoming, "_FILES_TOGETHER", 5)
    monkeypatch.setattr(incoming, "_NAMES_PER_JOB", 3)


def left_in(root: Path) -> list[str]:
    return [path.name for path in (root / ".work").iterdir() if path.name.startswith("incoming")]


def test_many_pictures_are_copied_byte_for_byte(many: Built, tmp_path: Path) -> None:
    plan, tally = pulled(FolderStore(many.root), tmp_path / "copy")
    assert files_in(tmp_path / "copy") == files_in(many.root)
    assert (len(plan.assets), tally.objects, tally.bytes) == (42, plan.objects, plan.bytes)
    assert damages(tmp_path / "copy") == left_in(tmp_path / "copy") == []
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "copy" / "assets").rglob("*.gif")} == {0o600}


def test_a_damaged_picture_is_named_and_all_others_come(many: Built, tmp_path: Path) -> None:
    longer, other, gone = (many.root / asset_name(MANY[number]) for number in (3, 17, 30))
    longer.write_bytes(MANY[3] + b"!")
    other.write_bytes(MANY[17].swapcase())
    store = FolderStore(many.root)
    listed = list(store.list())
    gone.unlink()
    store.list = lambda _prefix="": iter(listed)  # type: ignore[method-assign, assignment]  # before it is gone
    plan, _ = pulled(store, tmp_path / "copy")
    names = {asset_name(MANY[number]) for number in (3, 17, 30)}
    assert set(plan.damaged) == names
    assert files_in(tmp_path / "copy").keys() == files_in(many.root).keys() - names
    assert left_in(tmp_path / "copy") == []


def test_a_picture_has_its_name_only_when_it_is_durable(
    many: Built, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    durable: set[int] = set()
    moved: list[int] = []
    real_sync, real_move = atomic.sync_all, os.replace

    def sync_all(
        place: Path, files: Collection[Path | str], folders: Collection[Path | str] = (), handle: int | None = None
    ) -> None:
        real_sync(place, files, folders, handle)
        durable.update(Path(path).stat().st_ino for path in files)

    def replace(name: str, new_name: str, *, src_dir_fd: int | None = None, dst_dir_fd: int | None = None) -> None:
        if str(name).startswith("incoming"):
            moved.append(os.stat(name, dir_fd=src_dir_fd).st_ino)
            assert moved[-1] in durable
        real_move(name, new_name, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)

    monkeypatch.setattr(atomic, "sync_all", sync_all)
    monkeypatch.setattr(os, "replace", replace)
    pulled(FolderStore(many.root), tmp_path / "copy")
    assert len(moved) == 42


def test_a_full_disk_stops_the_sync_and_leaves_no_torn_picture(
    many: Built, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = 20

    def write_all(handle: int, data: bytes) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        os.write(handle, data)

    with monkeypatch.context() as full:
        full.setattr(atomic, "write_all", write_all)
        with pytest.raises(NoSpace):
            pulled(FolderStore(many.root), tmp_path / "copy")
    ours = files_in(many.root)
    there = {name: data for name, data in files_in(tmp_path / "copy").items() if name.startswith("assets/")}
    assert there == {name: ours[name] for name in there}
    pulled(FolderStore(many.root), tmp_path / "copy")
    assert files_in(tmp_path / "copy") == files_in(many.root)
    assert left_in(tmp_path / "copy") == []


def test_two_names_of_one_content_are_sent_once(many: Built, tmp_path: Path) -> None:
    first = many.root / asset_name(MANY[0])
    first.with_suffix(".bin").write_bytes(MANY[0])
    target = tmp_path / "copy"
    (sent,) = sync(str(many.root), str(target), SyncOptions(), lambda _: ignore)
    (again,) = sync(str(many.root), str(target), SyncOptions(), lambda _: ignore)
    assert (len(sent.assets), again.objects) == (43, 0)
