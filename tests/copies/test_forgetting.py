"""Forgotten records leave an archive's copies at the next sync, in folders and stores, also after kills."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from exporter.archive.archive import Archive
from exporter.archive.layout import Layout
from exporter.archive.prune import KeptVersion, PrunePlan
from exporter.copies.folder import FolderStore
from exporter.copies.forgetting import remove_forgotten
from exporter.copies.s3 import S3Store
from exporter.copies.store import Store
from exporter.errors import ArchiveLocked, HistoriesDiffer
from exporter.library.forget import ForgettingRequest, forget
from exporter.settings import resolve
from tests.cli.conftest import Program
from tests.copies.s3_servers import Service
from tests.copies.support import damages, files_in, findings, pruned, pulled, pushed
from tests.copies.test_encrypted import owner
from tests.library.test_forget import DIGESTS, NAME, TEXT, URL, made, places_with

GONE = (TEXT, URL, "別の文")


PLAIN = {"site": "no", "markdown": "no"}
"""Copies have no views, so the archive needs none."""


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    layout = made(tmp_path_factory.mktemp("forgetting"), PLAIN)
    # A sync that removes versions also removes the files that no version names.
    (layout.assets / DIGESTS[2][:2] / f"{DIGESTS[2]}.jpg").unlink()
    return Path(layout.root)


@pytest.fixture
def root(template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return Path(shutil.copytree(template, tmp_path / "archive"))


def forgotten(root: Path) -> None:
    forget(Archive.open(root), resolve(PLAIN), ForgettingRequest(authors=(NAME,)))


def sent(root: Path) -> dict[str, bytes]:
    left_out = {"settings.toml", "index.html", "最初にお読みください.txt"}
    return {name: data for name, data in files_in(root).items() if name not in left_out}


def test_a_copy_in_a_folder_follows(root: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    pulled(FolderStore(root), copy)
    (copy / "latest").mkdir()
    (copy / "latest/entries.jsonl").write_text(TEXT)
    forgotten(root)
    pulled(FolderStore(root), copy)
    assert places_with([copy], *GONE) == []
    assert sent(copy) == sent(root)
    assert damages(copy) == []
    plan, _ = pulled(FolderStore(root), copy)
    assert (plan.versions, plan.replaced) == ({}, {})


def test_an_archive_is_not_filled_again_from_an_older_copy(root: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    pulled(FolderStore(root), copy)
    forgotten(root)
    with pytest.raises(HistoriesDiffer):
        pulled(FolderStore(copy), root)
    assert places_with([root], *GONE) == []


def test_a_store_follows_and_keeps_what_is_the_same(root: Path, tmp_path: Path) -> None:
    store = FolderStore(tmp_path / "store")
    pushed(root, store)
    before = sent(store_root := tmp_path / "store")
    forgotten(root)
    removed = remove_forgotten(Archive.open(root), store)
    assert "versions/000001/entries.jsonl" not in removed
    assert "versions/000001/comments.jsonl" in removed
    pushed(root, store)
    assert places_with([store_root], *GONE) == []
    assert sent(store_root) == sent(root)
    assert findings(store) == []
    assert sent(store_root) != before
    assert remove_forgotten(Archive.open(root), store) == []


def test_the_pictures_of_a_removed_entry_leave_a_store(root: Path, tmp_path: Path) -> None:
    store, picture = FolderStore(tmp_path / "store"), f"assets/{DIGESTS[0][:2]}/{DIGESTS[0]}.jpg"
    pushed(root, store)
    assert picture in sent(tmp_path / "store")
    forget(Archive.open(root), resolve(PLAIN), ForgettingRequest(entries=("2",)))
    assert picture in remove_forgotten(Archive.open(root), store)
    assert picture not in sent(tmp_path / "store")


def test_copies_follow_a_removal_and_a_prune_after_it(root: Path, tmp_path: Path) -> None:
    folder, place = tmp_path / "copy", tmp_path / "store"
    pulled(FolderStore(root), folder)
    pushed(root, FolderStore(place))
    forgotten(root)
    archive = Archive.open(root)
    archive.prune(PrunePlan((KeptVersion(4, ("last",), (1, 2, 3)),)))
    with pytest.raises(HistoriesDiffer, match="--prune"):
        pulled(FolderStore(root), folder)
    pulled(FolderStore(root), folder, prune=True)
    assert sent(folder) == sent(root)
    remove_forgotten(archive, FolderStore(place))
    assert places_with([place], *GONE) == []
    pruned(root, FolderStore(place))
    assert sent(place) == sent(root)
    assert findings(FolderStore(place)) == []


class Killed(Exception):
    pass


class Dying(FolderStore):
    """A store that fails before its ``number``-th change."""

    def __init__(self, root: Path, number: int) -> None:
        super().__init__(root)
        self.left = number

    def remove(self, name: str) -> None:
        self._count()
        super().remove(name)

    def create(self, name: str, content: object) -> bool:
        self._count()
        return super().create(name, content)  # type: ignore[arg-type]

    def _count(self) -> None:
        self.left -= 1
        if self.left == 0:
            raise Killed


@pytest.mark.no_cover
def test_a_store_follows_after_a_kill_at_any_change(root: Path, tmp_path: Path) -> None:
    place, template = tmp_path / "store", tmp_path / "template"
    pushed(root, FolderStore(template))
    forgotten(root)
    expected = sent(root)
    number = 0
    while True:
        number += 1
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(template, place)
        try:
            dying = Dying(place, number)
            remove_forgotten(Archive.open(root), dying)
            pushed(root, dying)
            break
        except Killed:
            pass
        store = FolderStore(place)
        remove_forgotten(Archive.open(root), store)
        pushed(root, store)
        assert sent(place) == expected, number
    assert number > 25


def test_an_encrypted_copy_follows_without_its_readers_key(program: Program, root: Path, tmp_path: Path) -> None:
    alice = owner(tmp_path, "alice")
    copy, back = tmp_path / "copy", tmp_path / "back"
    assert program("sync", root, copy, "--encrypt-to", alice.recipient).code == 0
    forgotten(root)
    done = program("sync", root, copy, "--encrypt-to", alice.recipient)
    assert done.code == 0, done.err
    assert program("verify", copy, "--identity", alice.file).code in {0, 3}
    assert program("sync", copy, back, "--identity", alice.file).code == 0
    assert places_with([back], *GONE) == []
    assert sent(back) == sent(root)


@pytest.fixture(params=["versions", "locks", pytest.param("plain", marks=pytest.mark.thorough)])
def bucket(request: pytest.FixtureRequest, s3: Service) -> Iterator[tuple[Store, str]]:
    name = s3.bucket(versions=request.param == "versions", locks=request.param == "locks")
    client = s3.client()
    yield S3Store(f"s3://{name}/copy", client), request.param
    client.close()


@pytest.mark.thorough
def test_a_bucket_follows_when_its_locks_have_ended(root: Path, bucket: tuple[Store, str]) -> None:
    store, kind = bucket
    assert isinstance(store, S3Store)
    until = datetime.now(UTC).replace(microsecond=0) + timedelta(days=90)
    if kind == "locks":
        store.lock_new_objects(until)
    pushed(root, store)
    forgotten(root)
    if kind == "locks":
        with pytest.raises(ArchiveLocked, match=f"{until:%Y-%m-%d}"):
            remove_forgotten(Archive.open(root), store)
        return
    assert remove_forgotten(Archive.open(root), store)
    pushed(root, store)
    assert findings(store) == []
    held = b"".join(b"".join(store.read(each.name)) for each in store.list())
    assert TEXT.encode() not in held
    if kind == "versions":
        bucket_versions = list(store._bucket.versions("versions/000001/"))
        assert len(bucket_versions) == len({each.name for each in bucket_versions})
    assert Layout(root).forgotten.read_bytes() == b"".join(store.read("forgotten.jsonl"))
