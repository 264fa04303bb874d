"""Captures in copies: they are sent, checked and restored like the rest, and nothing of them is lost silently."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from exporter.archive.archive import Archive
from exporter.archive.captures import captures
from exporter.copies.contents import SecondCopy
from exporter.copies.folder import FolderStore
from exporter.copies.hidden_names import plain_name, stored_name
from exporter.copies.s3 import is_mutable
from exporter.errors import ArchiveLocked, HistoriesDiffer
from tests.archive.builder import Built
from tests.cli.conftest import Program
from tests.copies.support import counts_all, damages, files_in, findings, pulled, pushed
from tests.copies.test_encrypted import owner
from tests.support.captures import captured
from tests.support.styled_blog import styled_blog

SEGMENT = "BLOG-20261126000000-00000.warc.gz"
SECRET = b"s" * 32


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an archive with a version and two captures."""
    root = tmp_path_factory.mktemp("captured") / "archive"
    built = Built(root)
    built.commit({})
    shoot(root, "/", "/css/style.css")
    shoot(root, "/css/style.css?again", hour=2)
    built.run(version=1, completeness={"complete": True})
    built.refresh()
    return root


def shoot(root: Path, *paths: str, hour: int = 1) -> None:
    blog = styled_blog(1)
    with blog.serving_in_thread():
        captured(root, blog, paths, moment=datetime(2026, 11, 26, hour, tzinfo=UTC))


@pytest.fixture
def source(pages: Path, tmp_path: Path) -> Built:
    shutil.copytree(pages, tmp_path / "source")
    return Built.reopen(tmp_path / "source")


@pytest.fixture
def store(tmp_path: Path) -> FolderStore:
    return FolderStore(tmp_path / "copy")


def test_they_are_copied_and_restored(source: Built, store: FolderStore, tmp_path: Path) -> None:
    plan, done = pushed(source.root, store)
    assert (plan.damaged, list(plan.captures)) == ([], [1, 2])
    assert files_in(Path(store.place)) == files_in(source.root)
    assert findings(store) == []
    assert counts_all(store, tmp_path / "back")
    assert files_in(tmp_path / "back") == files_in(source.root)
    assert damages(tmp_path / "back") == []
    again, nothing = pushed(source.root, store)
    assert (again.captures, nothing.objects) == ({}, 0)
    assert done.objects > 10


def test_a_new_capture_is_sent_and_fetched(source: Built, store: FolderStore, tmp_path: Path) -> None:
    pushed(source.root, store)
    pulled(store, tmp_path / "back")
    shoot(source.root, "/missing", hour=3)
    plan, _ = pushed(source.root, store)
    assert list(plan.captures) == [3]
    plan, _ = pulled(store, tmp_path / "back")
    assert list(plan.captures) == [3]
    assert files_in(tmp_path / "back") == files_in(source.root)


@pytest.mark.parametrize("name", ["index.cdxj", SEGMENT, "capture.json", "SHA256SUMS"])
def test_a_damaged_capture_is_not_sent(source: Built, store: FolderStore, name: str) -> None:
    path = source.root / "captures/000002" / name
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    plan, _ = pushed(source.root, store)
    assert f"captures/000002/{name}" in plan.damaged
    copy = SecondCopy(store)
    assert copy.capture_numbers() == [1]
    assert "SHA256SUMS" not in copy.objects


@pytest.mark.parametrize("name", ["index.cdxj", SEGMENT, "SHA256SUMS"])
def test_damage_in_the_copy_is_found_and_not_restored(
    source: Built, store: FolderStore, tmp_path: Path, name: str
) -> None:
    pushed(source.root, store)
    path = Path(store.place) / "captures/000002" / name
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    assert findings(store) == [f"capture-damaged captures/000002/{name}"]
    plan, _ = pulled(store, tmp_path / "back")
    numbers = [each.number for each in captures(Archive.open(tmp_path / "back").layout)]
    if name == "SHA256SUMS":  # it follows from capture.json
        assert (plan.damaged, numbers) == ([], [1, 2])
    else:
        assert (plan.damaged, numbers) == ([f"captures/000002/{name}"], [1])
        assert "capture-missing captures/000002" in damages(tmp_path / "back")


def test_missing_and_strange_objects_of_a_copy_are_named(source: Built, store: FolderStore) -> None:
    pushed(source.root, store)
    folder = Path(store.place) / "captures"
    (folder / "000002" / "pages.jsonl").unlink()
    (folder / "000002" / "notes.txt").write_bytes(b"")
    (folder / "000009").mkdir()
    (folder / "000009" / "index.cdxj").write_bytes(b"")
    assert findings(store) == [
        "strange-file captures/000002/notes.txt",
        "capture-damaged captures/000002/pages.jsonl",
        "unfinished captures/000009",
    ]
    shutil.rmtree(folder / "000002")
    assert "capture-missing captures/000002" in findings(store)


def test_a_file_missing_in_the_archive_comes_back_from_the_copy(source: Built, store: FolderStore) -> None:
    pushed(source.root, store)
    before = files_in(source.root)
    (source.root / "captures/000001" / SEGMENT).unlink()
    shutil.rmtree(source.root / "captures/000002")
    assert damages(source.root)
    pulled(store, source.root)
    assert files_in(source.root) == before
    assert damages(source.root) == []


def test_other_captures_of_the_same_number_are_refused(source: Built, store: FolderStore, tmp_path: Path) -> None:
    shutil.copytree(source.root, tmp_path / "other")
    shoot(source.root, "/missing", hour=3)
    shoot(tmp_path / "other", "/", hour=4)
    pushed(source.root, store)
    with pytest.raises(HistoriesDiffer, match="different captures of the number 3"):
        pushed(tmp_path / "other", store)
    with pytest.raises(HistoriesDiffer, match="different captures of the number 3"):
        pulled(store, tmp_path / "other")


def test_a_capture_that_another_machine_is_sending_is_refused(source: Built, store: FolderStore) -> None:
    folder = Path(store.place) / "captures/000001"
    pushed(source.root, store)
    (folder / "capture.json").unlink()
    (folder / "SHA256SUMS").write_bytes((folder / "SHA256SUMS").read_bytes().replace(b"0", b"1"))
    with pytest.raises(ArchiveLocked, match="another capture 1"):
        pushed(source.root, store)


def test_names_in_an_encrypted_copy_do_not_show_the_blog() -> None:
    for name in ("captures/000001/" + SEGMENT, "captures/000001/capture.json", "captures/runs.jsonl", "captures/1/x"):
        stored = stored_name(SECRET, name)
        assert "BLOG" not in stored
        assert plain_name(SECRET, stored) == name
        assert all(len(part) < 255 for part in stored.split("/"))
    assert plain_name(b"t" * 32, stored_name(SECRET, "captures/000001/" + SEGMENT)) is None
    moved = stored_name(SECRET, "captures/000001/" + SEGMENT).replace("000001", "000002")
    assert plain_name(SECRET, moved) is None
    assert len(stored_name(SECRET, "captures/4294967295/" + "x" * 112).rsplit("/", 1)[1]) < 255


def test_only_the_log_of_captures_is_replaced_in_a_bucket() -> None:
    assert is_mutable("captures/runs.jsonl")
    assert is_mutable("ab/blog.example/captures/runs.jsonl.age")
    assert not is_mutable("captures/000001/SHA256SUMS")


def test_an_encrypted_copy_has_them_and_shows_no_name(
    program: Program, source: Built, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    alice, copy, back = owner(tmp_path, "alice"), tmp_path / "copy", tmp_path / "back"
    for _ in range(2):
        done = program("sync", source.root, copy, "--encrypt-to", alice.recipient)
        assert done.code == 0, done.err
    assert "nothing is missing" in done.out
    names = [path.name for path in (copy / "captures").rglob("*") if path.is_file()]
    assert len(names) == 11
    assert not any("BLOG" in name for name in names)
    for key in ((), ("--identity", alice.file)):
        done = program("verify", copy, *key)
        assert done.code == 0, done.err + done.out
    done = program("sync", copy, back, "--identity", alice.file)
    assert done.code == 0, done.err
    assert files_in(back) == {name: data for name, data in files_in(source.root).items() if name in files_in(back)}
    assert damages(back) == []
    victim = max((copy / "captures/000001").iterdir(), key=lambda path: len(path.name))
    victim.write_bytes(victim.read_bytes()[:-500])
    assert program("verify", copy).code == 13
    done = program("verify", copy, "--identity", alice.file)
    assert done.code == 13
    assert "capture-damaged: captures/000001/" in done.out


def test_a_bag_has_them_and_only_if_they_are_intact(program: Program, source: Built, tmp_path: Path) -> None:
    done = program("export", "bagit", source.root, tmp_path / "bag", "--only", "all")
    assert done.code == 0, done.err
    for name, data in files_in(source.root).items():
        assert (tmp_path / "bag.NOT-PUBLIC/data" / name).read_bytes() == data
    assert f"data/captures/000001/{SEGMENT}" in (tmp_path / "bag.NOT-PUBLIC/manifest-sha256.txt").read_text()
    path = source.root / "captures/000001" / SEGMENT
    path.write_bytes(path.read_bytes()[:-1])
    done = program("export", "bagit", source.root, tmp_path / "second", "--only", "all")
    assert done.code == 13
    assert "captures/000001" in done.err


def test_a_bag_of_a_copy_has_them(
    program: Program, source: Built, store: FolderStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    alice, copy = owner(tmp_path, "alice"), tmp_path / "sealed"
    assert program("sync", source.root, copy, "--encrypt-to", alice.recipient).code == 0
    done = program("export", "bagit", copy, tmp_path / "bag", "--only", "all", "--identity", alice.file)
    assert done.code == 0, done.err
    assert (tmp_path / "bag.NOT-PUBLIC/data/captures/000001" / SEGMENT).is_file()
