"""Files named by their content."""

from __future__ import annotations

import hashlib
import os
import resource
import stat
from pathlib import Path
from typing import Any

import pytest

from exporter.archive import assets
from exporter.archive.assets import AssetStore, PartialFile, StoredFile
from exporter.archive.checks import ChecksumCache, FindingCode
from exporter.archive.layout import Layout
from exporter.errors import NoSpace
from exporter.model.asset import Asset, asset_path

BODY = b"a picture"
SHA = hashlib.sha256(BODY).hexdigest()
PATH = f"assets/{SHA[:2]}/{SHA}.png"


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return Layout(tmp_path / "archive")


def keep(store: AssetStore, body: bytes = BODY, kind: str = "image/png", address: str = "http://h/") -> StoredFile:
    part = store.part(address)
    part.write(body)
    return store.keep(part, kind)


def parts(layout: Layout) -> list[str]:
    return sorted(path.name for path in (layout.work / "assets").iterdir())


def test_a_file_is_named_by_its_content(layout: Layout) -> None:
    store = AssetStore(layout)
    assert store.find(SHA) is None
    assert keep(store) == StoredFile(PATH, len(BODY)) == store.find(SHA)
    store.sync()
    path = layout.root / PATH
    assert path.read_bytes() == BODY
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert parts(layout) == []
    assert AssetStore(layout).files() == {SHA: StoredFile(PATH, len(BODY))}


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="only Linux tells what a descriptor is of")
def test_content_is_durable_before_it_is_named(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[tuple[str, bytes]] = []

    def fsync(handle: int) -> None:
        path = Path(f"/proc/self/fd/{handle}").readlink()
        if path.is_file():
            synced.append((path.parent.name, path.read_bytes()))

    monkeypatch.setattr(os, "fsync", fsync)
    keep(AssetStore(layout))
    assert ("assets", BODY) in synced, "in the folder of parts"


def test_the_same_content_is_stored_once(layout: Layout) -> None:
    store = AssetStore(layout)
    keep(store)
    before = (layout.root / PATH).stat().st_ino
    keep(store, address="http://h/2")
    assert (layout.root / PATH).stat().st_ino == before
    assert parts(layout) == []


def test_a_file_of_the_same_name_that_is_torn_is_replaced(layout: Layout) -> None:
    keep(AssetStore(layout))
    (layout.root / PATH).write_bytes(b"torn")
    keep(AssetStore(layout))
    assert (layout.root / PATH).read_bytes() == BODY


def test_a_small_part_is_not_resumed(layout: Layout) -> None:
    store = AssetStore(layout)
    part = store.part("http://h/")
    part.restart('"e"', 100)
    part.write(b"half")
    part.close()
    assert parts(layout) == []
    again = store.part("http://h/")
    assert again.size == 0
    again.discard()


def test_a_large_part_is_resumed(layout: Layout) -> None:
    store = AssetStore(layout)
    part = store.part("http://h/")
    part.restart('"e"', 5_000_000)
    part.write(BODY[:4])
    part.close()
    again = AssetStore(layout).part("http://h/")
    assert (again.size, again.validator) == (4, '"e"')
    again.write(BODY[4:])
    assert again.sha256 == SHA
    store.keep(again, "image/png")
    assert parts(layout) == []


def test_a_part_left_by_a_kill_without_its_note_is_started_again(layout: Layout) -> None:
    store = AssetStore(layout)
    part = store.part("http://h/")
    part.restart('"e"', 5_000_000)
    part.write(b"x" * 9)
    part.file.flush()
    part.path.with_suffix(".json").write_bytes(b"torn")
    again = store.part("http://h/")
    assert (again.size, again.validator, again.path.stat().st_size) == (0, None, 0)
    part.discard()
    again.discard()


@pytest.mark.parametrize("damage", ["hole", "cut", "longer"])
def test_a_part_is_resumed_as_far_as_its_note_vouches_for_it(layout: Layout, damage: str) -> None:
    """After a power cut, the last bytes may be missing, or a hole may have their size."""
    body = bytes(range(256)) * 40_000
    store = AssetStore(layout)
    part = store.part("http://h/")
    part.restart('"e"', 50_000_000)
    for start in range(0, len(body), 1 << 20):
        part.write(body[start : start + (1 << 20)])
    part.file.close()
    with part.path.open("r+b") as file:
        if damage == "hole":
            file.seek(5_000_000)
            file.write(bytes(8192))
        elif damage == "cut":
            file.truncate(3_000_000)
    again = AssetStore(layout).part("http://h/")
    noted = 2 * (4 << 20)
    if damage == "longer":
        assert (again.size, again.validator) == (noted, '"e"')
        again.write(body[noted:])
    else:
        assert (again.size, again.validator, again.path.stat().st_size) == (0, None, 0)
        again.write(body)
    assert again.sha256 == hashlib.sha256(body).hexdigest()
    stored = store.keep(again, "image/png")
    assert (layout.root / stored.path).read_bytes() == body


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="only Linux tells what a descriptor is of")
def test_renames_of_a_killed_run_are_made_durable_before_they_are_trusted(
    layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(AssetStore(layout))
    synced: list[str] = []
    fsync = os.fsync

    def told(handle: int) -> None:
        synced.append(str(Path(f"/proc/self/fd/{handle}").readlink()))
        fsync(handle)

    monkeypatch.setattr(os, "fsync", told)
    shard = str((layout.root / PATH).parent)
    assert AssetStore(layout).forget_damaged() == []
    noted = next(place for place, path in enumerate(synced) if "checked.jsonl" in path)
    assert shard in synced[:noted]
    synced.clear()
    assert AssetStore(layout).forget_damaged() == []
    assert shard not in synced


def test_restarting_discards_the_old_content(layout: Layout) -> None:
    part = AssetStore(layout).part("http://h/")
    part.restart('"e"', 5_000_000)
    part.write(b"old")
    part.restart(None, None)
    part.write(BODY)
    assert (part.size, part.sha256, part.validator) == (len(BODY), SHA, None)
    part.discard()


def test_unused_parts_are_removed(layout: Layout) -> None:
    store = AssetStore(layout)
    assert store.sweep() == 0
    for name in "ab":
        part = store.part(f"http://h/{name}")
        part.restart('"e"', 5_000_000)
        part.close()
    assert store.sweep(["http://h/a"]) == 2
    assert len(parts(layout)) == 2
    assert store.sweep() == 2
    assert parts(layout) == []


def test_strange_files_are_no_assets(layout: Layout) -> None:
    store = AssetStore(layout)
    keep(store)
    for name in (
        f"assets/{SHA[:2]}/.{SHA}.tmp",
        f"assets/{SHA[:2]}/notes.txt",
        f"assets/zz/{SHA}.png",
        "assets/README",
    ):
        (layout.root / name).parent.mkdir(exist_ok=True)
        (layout.root / name).write_bytes(b"x")
    (layout.root / "assets" / SHA[:2] / (SHA[:2] + "0" * 62)).symlink_to("/etc/passwd")
    assert list(AssetStore(layout).files()) == [SHA]


def record(sha256: str | None = SHA, size: int | None = len(BODY)) -> tuple[str, dict[str, Any]]:
    return "http://h/", {"url": "http://h/", "sha256": sha256, "bytes": size, "content_type": "image/png"}


def findings(
    layout: Layout, *records: tuple[str, dict[str, Any]], quick: bool = False
) -> list[tuple[FindingCode, str, str]]:
    seen = ChecksumCache(layout, quick=quick)
    found = list(AssetStore(layout).verify(records, cache=seen))
    seen.save()
    return [(each.code, each.path, each.detail) for each in found]


@pytest.mark.parametrize("quick", [True, False])
def test_unchanged_files_have_no_findings(layout: Layout, quick: bool) -> None:
    keep(AssetStore(layout))
    assert findings(layout, record(), record(), record(None, None), quick=quick) == []
    assert findings(layout, quick=quick) == []


@pytest.mark.parametrize("quick", [True, False])
def test_a_missing_file_is_found(layout: Layout, quick: bool) -> None:
    assert findings(layout, record(), quick=quick) == [
        (FindingCode.ASSET_MISSING, PATH, "it is the content of http://h/")
    ]


@pytest.mark.parametrize("quick", [True, False])
def test_a_file_of_another_size_is_found(layout: Layout, quick: bool) -> None:
    keep(AssetStore(layout))
    (layout.root / PATH).write_bytes(b"torn")
    assert findings(layout, record(), quick=quick) == [(FindingCode.ASSET_DAMAGED, PATH, "it has 4 bytes, not 9")]


def test_a_file_of_another_content_is_found_also_by_a_quick_look_since_it_was_written_to(layout: Layout) -> None:
    store = AssetStore(layout)
    keep(store)
    assert findings(layout, record()) == []
    (layout.root / PATH).write_bytes(b"A PICTURE")
    wrong = (FindingCode.ASSET_DAMAGED, PATH, "its content is not what its name says")
    assert findings(layout, record(), quick=True) == [wrong]
    assert findings(layout, record()) == [wrong]
    assert findings(layout) == [wrong]
    assert store.forget_damaged() == [PATH]
    assert store.find(SHA) is None


def test_files_are_read_again_only_if_they_changed_or_a_verification_found_them_damaged(
    layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(handle: int) -> str:
        os.close(handle)
        raise ZeroDivisionError

    keep(AssetStore(layout))
    assert AssetStore(layout).forget_damaged() == []
    monkeypatch.setattr(assets, "descriptor_sha256", fail)
    store = AssetStore(layout)
    assert store.forget_damaged() == []
    cache = ChecksumCache(layout, quick=False)
    with pytest.raises(ZeroDivisionError):
        list(store.verify([], cache=cache))
    cache.save(complete=True)
    with pytest.raises(ZeroDivisionError):
        store.forget_damaged()


def test_a_file_that_cannot_be_read_is_found(layout: Layout) -> None:
    store = AssetStore(layout)
    keep(store)
    (layout.root / PATH).unlink()
    found = list(store.verify([record()]))
    assert [(each.code, each.detail) for each in found] == [
        (FindingCode.ASSET_DAMAGED, "it cannot be read: No such file or directory")
    ]


def test_a_full_disk_is_reported(tmp_path: Path) -> None:
    part = PartialFile(tmp_path / "x.part")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, before[1]))
    try:
        with pytest.raises(NoSpace):
            part.write(bytes(100_000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    part.discard()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "digest", ["", "../../docs/passwords", "/etc/passwd", SHA[:-1], SHA + "0", SHA.upper(), SHA + "\n", "０" * 64]
)
def test_an_invalid_hash_has_no_path(digest: str) -> None:
    with pytest.raises(ValueError, match="is not a SHA-256"):
        asset_path(digest, "image/png")
    assert Asset.from_raw({"url": "http://h/", "sha256": digest}).sha256 is None


@pytest.mark.parametrize("digest", ["../../docs/passwords", SHA.upper(), 5, ["x"]])
def test_a_record_that_names_no_file_is_found(layout: Layout, digest: object) -> None:
    found = list(AssetStore(layout).verify([("http://h/", {**record()[1], "sha256": digest})]))
    assert [(each.code, each.damage) for each in found] == [(FindingCode.ASSET_MISSING, True)]


def test_the_path_of_an_unknown_type() -> None:
    assert asset_path(SHA, "application/octet-stream") == f"assets/{SHA[:2]}/{SHA}.bin"
