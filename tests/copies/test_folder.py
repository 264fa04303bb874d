from __future__ import annotations

import errno
from pathlib import Path

import pytest

from exporter.archive.safe_files import InnerPath
from exporter.copies.folder import FolderStore
from exporter.copies.opening import StoreOptions, open_store
from exporter.copies.store import Store, content_of, is_address
from exporter.errors import ArchiveDamaged, BlogExporterError, UsageError
from tests.copies.contract import NAME, StoreContract


class TestFolder(StoreContract):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Store:
        return open_store(str(tmp_path / "copy"))


class TestFolderWithoutLinks(StoreContract):
    """A file system without hard links, such as FAT."""

    @pytest.fixture
    def store(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
        def refused(_path: InnerPath, _target: InnerPath) -> None:
            raise OSError(errno.EPERM, "no links here")

        monkeypatch.setattr(InnerPath, "add_name", refused)
        return FolderStore(tmp_path / "copy")


def test_no_temporary_file_is_left(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    store.create(NAME, content_of(b"x"))
    store.create(NAME, content_of(b"y"))
    assert list((tmp_path / ".work").iterdir()) == []
    store.remove(NAME)
    assert not (tmp_path / "versions").exists()


def test_files_that_are_not_part_of_a_copy_are_not_listed(tmp_path: Path) -> None:
    for name in ("latest/entries.jsonl", ".work/lock", ".runs.jsonl.tmp", "archive.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    assert [found.name for found in FolderStore(tmp_path).list()] == ["archive.json"]


@pytest.mark.parametrize("name", ["../outside", "a/../../outside", "/etc/passwd", "", "a//b", "a\\b", "./a"])
def test_no_name_leads_out(tmp_path: Path, name: str) -> None:
    (tmp_path / "outside").write_bytes(b"x")
    store = FolderStore(tmp_path / "copy")
    for use in (
        lambda: next(store.read(name)),
        lambda: store.read_start(name, 1),
        lambda: store.create(name, content_of(b"y")),
        lambda: store.replace(name, b"y", None),
        lambda: store.remove(name),
    ):
        with pytest.raises(ArchiveDamaged, match="has an object with the invalid name"):
            use()
    assert (tmp_path / "outside").read_bytes() == b"x"


def test_links_are_listed_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"secret")
    copy = tmp_path / "copy"
    copy.mkdir()
    (copy / "archive.json").symlink_to(tmp_path / "secret")
    (copy / "versions").symlink_to(tmp_path)
    store = FolderStore(copy)
    assert {found.name for found in store.list()} == {"archive.json", "versions"}
    for name in ("archive.json", "versions/secret"):
        with pytest.raises(ArchiveDamaged, match="a link"):
            next(store.read(name))
    with pytest.raises(ArchiveDamaged, match="a link"):
        store.create("versions/000001/manifest.json", content_of(b"x"))
    assert not (tmp_path / "000001").exists()


def test_a_file_of_endless_holes_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "archive.json").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(ArchiveDamaged, match="damaged"):
        next(FolderStore(tmp_path).read("archive.json"))


def test_a_folder_that_cannot_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "archive.json").write_bytes(b"x")

    def refused(*_arguments: object, **_options: object) -> int:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(InnerPath, "descriptor", refused)
    with pytest.raises(BlogExporterError, match=r"Cannot read .*archive\.json: Permission denied"):
        next(FolderStore(tmp_path).read("archive.json"))


def test_an_address_is_no_folder() -> None:
    assert is_address("s3://bucket/prefix")
    assert not is_address("/mnt/disk")
    with pytest.raises(UsageError, match="is not a supported age recipient"):
        open_store("copy", StoreOptions(encrypt_to=("age1x",)))


@pytest.mark.parametrize(
    "place", ["gs://b/x", "sftp://host/x", "https://host/x", "b2:x", "B2:x", "file:///tmp/x", "s3:/b"]
)
def test_an_address_of_another_kind_is_refused(place: str) -> None:
    with pytest.raises(UsageError, match="is not supported: a copy can be in a folder"):
        is_address(place)


def test_schemes_ignore_case_and_folders_may_contain_a_colon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_address("S3://bucket/prefix")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "b2:x").mkdir()
    for place in ("b2:x", "./gs:x", "D:\\copy", "c:/copy", "/mnt/gs://x", "日記:写し"):
        assert not is_address(place)
