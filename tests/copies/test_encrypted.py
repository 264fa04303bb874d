"""Encrypted copies work like any store, and without a key no one can read them or change them unnoticed."""

from __future__ import annotations

import io
import json
import re
import sys
import tracemalloc
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyrage
import pytest

from exporter.copies.encrypted import EncryptedStore, open_encrypted
from exporter.copies.folder import FolderStore
from exporter.copies.hidden_names import proof, stored_name
from exporter.copies.memory import CopyKeys, KeyMemory
from exporter.copies.store import ObjectContent, Store, content_of, read_whole
from exporter.errors import ArchiveDamaged, BlogExporterError, NewerFormat, NoSuchObject, UsageError
from tests.copies.contract import NAME, StoreContract

DIARY = "誰にも言わない日記".encode()
SEGMENT = "versions/000001/entries.jsonl"
PICTURE = f"assets/ab/ab{'0' * 62}.jpg"


@dataclass
class Owner:
    """A person with an age identity in a file, and its recipient."""

    file: Path
    recipient: str


def owner(folder: Path, name: str) -> Owner:
    identity = pyrage.x25519.Identity.generate()
    file = folder / f"{name}.txt"
    file.write_text(f"# public key: {identity.to_public()}\n{identity}\n", encoding="utf-8")
    file.chmod(0o600)
    return Owner(file, str(identity.to_public()))


@pytest.fixture
def alice(tmp_path: Path) -> Owner:
    return owner(tmp_path, "alice")


@pytest.fixture
def bob(tmp_path: Path) -> Owner:
    return owner(tmp_path, "bob")


@pytest.fixture
def inner(tmp_path: Path) -> FolderStore:
    return FolderStore(tmp_path / "copy")


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    folder = tmp_path / "archive"
    folder.mkdir()
    (folder / "archive.json").write_bytes(b"{}")
    return folder


def writing(inner: Store, archive: Path, *owners: Owner) -> Store:
    """Return the store as a backup machine opens it: with the recipients only."""
    return open_encrypted(inner, [each.recipient for each in owners], [], archive)


def reading(inner: Store, *owners: Owner) -> Store:
    """Return the store as the owner opens it on another machine: with the identity only."""
    return open_encrypted(inner, [], [each.file for each in owners], None)


class TestEncrypted(StoreContract):
    @pytest.fixture
    def store(self, inner: FolderStore, alice: Owner, archive: Path) -> Store:
        return open_encrypted(inner, [alice.recipient], [alice.file], archive)


@pytest.fixture
def copy(inner: FolderStore, archive: Path, alice: Owner) -> FolderStore:
    """A copy with a document, a segment and a picture."""
    store = writing(inner, archive, alice)
    for name in (NAME, SEGMENT, PICTURE):
        assert store.create(name, content_of(DIARY))
    assert store.replace("runs.jsonl", b"{}\n", None)
    return inner


def stored_at(copy: FolderStore, archive: Path, name: str) -> Path:
    """Return the file that contains an object."""
    (keys,) = json.loads((archive / ".work/copies.json").read_bytes())["copies"].values()
    return Path(copy.place) / stored_name(bytes.fromhex(keys["secret"]), name)


def forged(recipients: list[str], line: str, content: bytes = b"forged") -> bytes:
    """Return an object forged by an attacker who knows the recipients."""
    made = io.BytesIO()
    data = f"{line}\n".encode() + content
    readers = [pyrage.x25519.Recipient.from_str(each) for each in recipients]
    pyrage.encrypt_io(io.BytesIO(data.ljust(4096, b"\0")), made, readers)
    return made.getvalue()


def test_stored_objects_reveal_nothing(copy: FolderStore) -> None:
    names = {found.name for found in copy.list()}
    assert all(name.endswith(".age") for name in names - {"encrypted-copy.json", "README.txt"})
    # Random names have five given letters now and then, but neither twelve nor a point.
    assert not any(f"ab{'0' * 10}" in name or ".jpg" in name for name in names)
    sizes = set()
    for name in names:
        data = b"".join(copy.read(name))
        assert DIARY not in data
        if name.startswith(("versions", "assets", "runs")):
            assert data.startswith(b"age-encryption.org/v1\n")
            sizes.add(len(data) // 1000)
    assert sizes == {4}


def test_the_owner_reads_everything_with_the_identity_alone(copy: FolderStore, alice: Owner) -> None:
    store = reading(copy, alice)
    assert {found.name for found in store.list()} == {NAME, SEGMENT, PICTURE, "runs.jsonl"}
    assert {found.name for found in store.list("assets/ab/")} == {PICTURE}
    assert list(store.list("assets/cd/")) == []
    for name in (NAME, SEGMENT, PICTURE):
        assert read_whole(store, name, 100) == DIARY
    with pytest.raises(UsageError, match="give its recipient with --encrypt-to"):
        store.create("archive.json", content_of(b"{}"))


def test_a_writer_can_read_documents_but_no_content(copy: FolderStore, archive: Path, alice: Owner) -> None:
    store = writing(copy, archive, alice)
    assert {found.name for found in store.list()} == {NAME, SEGMENT, PICTURE, "runs.jsonl"}
    assert read_whole(store, NAME, 100) == DIARY
    assert read_whole(store, "runs.jsonl", 100) == b"{}\n"
    for name in (SEGMENT, PICTURE):
        with pytest.raises(ArchiveDamaged, match="No given key decrypts"):
            read_whole(store, name, 100)
    assert not store.create(SEGMENT, content_of(b"other"))


def test_an_archive_restored_from_a_copy_can_be_synced_to_it(copy: FolderStore, tmp_path: Path, alice: Owner) -> None:
    other = tmp_path / "restored"
    other.mkdir()
    (other / "archive.json").write_bytes(b"{}")
    with pytest.raises(UsageError, match=r"run once with --identity"):
        writing(copy, other, alice)
    open_encrypted(copy, [alice.recipient], [alice.file], other)
    assert (other / ".work/copies.json").stat().st_mode & 0o777 == 0o600
    assert writing(copy, other, alice).create("archive.json", content_of(b"{}"))


def test_without_an_upload_nothing_is_written(inner: FolderStore, archive: Path, alice: Owner) -> None:
    store = writing(inner, archive, alice)
    assert list(store.list()) == []
    with pytest.raises(NoSuchObject):
        next(store.read("archive.json"))
    assert not Path(inner.place).exists()
    assert not (archive / ".work").exists()


def test_encryption_cannot_be_forgotten(copy: FolderStore, archive: Path, tmp_path: Path) -> None:
    for knowing in (archive, None):
        with pytest.raises(UsageError, match="is an encrypted copy: give --encrypt-to"):
            open_encrypted(copy, [], [], knowing)
    (Path(copy.place) / "encrypted-copy.json").unlink()
    with pytest.raises(UsageError, match="is an encrypted copy"):
        open_encrypted(copy, [], [], archive)
    assert open_encrypted(FolderStore(tmp_path / "plain"), [], [], archive).place == str(tmp_path / "plain")


def test_a_plain_copy_gets_no_encrypted_objects(inner: FolderStore, archive: Path, alice: Owner) -> None:
    inner.create("archive.json", content_of(b"{}"))
    for recipients, files in ([alice.recipient], []), ([], [alice.file]):
        with pytest.raises(UsageError, match="has no encrypted copy"):
            open_encrypted(inner, recipients, files, archive)


def test_another_s_identity_opens_nothing(copy: FolderStore, bob: Owner) -> None:
    with pytest.raises(UsageError, match="decrypts nothing in"):
        reading(copy, bob)


def test_recipients_may_change_and_the_change_is_reported(
    copy: FolderStore, archive: Path, alice: Owner, bob: Owner
) -> None:
    before = open_encrypted(copy, [alice.recipient], [], archive)
    assert isinstance(before, EncryptedStore)
    assert before.changed_readers().added == before.changed_readers().dropped == ()
    store = writing(copy, archive, bob)
    assert isinstance(store, EncryptedStore)
    changed = store.changed_readers()
    assert (changed.added, changed.dropped) == ((bob.recipient,), (alice.recipient,))
    store.create("versions/000002/entries.jsonl", content_of(b"newer"))
    assert len(list(copy.list("keys/"))) == 2
    for reader, name in ((bob, SEGMENT), (alice, "versions/000002/entries.jsonl")):
        with pytest.raises(ArchiveDamaged, match="No given key decrypts"):
            read_whole(reading(copy, reader), name, 100)
    assert read_whole(reading(copy, bob), "versions/000002/entries.jsonl", 100) == b"newer"
    both = reading(copy, alice, bob)
    assert read_whole(both, SEGMENT, 100) + read_whole(both, "versions/000002/entries.jsonl", 100) == DIARY + b"newer"


def test_each_of_several_recipients_reads(inner: FolderStore, archive: Path, alice: Owner, bob: Owner) -> None:
    writing(inner, archive, alice, bob, alice).create(SEGMENT, content_of(DIARY))
    for reader in (alice, bob):
        assert read_whole(reading(inner, reader), SEGMENT, 100) == DIARY


class TestAttacks:
    """Attacks by a host that stores the copy and knows only the recipients."""

    def test_objects_exchanged(self, copy: FolderStore, archive: Path, alice: Owner) -> None:
        one, other = stored_at(copy, archive, SEGMENT), stored_at(copy, archive, PICTURE)
        taken = one.read_bytes()
        one.write_bytes(other.read_bytes())
        other.write_bytes(taken)
        for name in (SEGMENT, PICTURE):
            with pytest.raises(ArchiveDamaged, match="has other content, from someone with write access"):
                read_whole(reading(copy, alice), name, 100)

    @pytest.mark.parametrize("proved", ["0" * 64, "", "é"])
    def test_objects_forged(self, copy: FolderStore, archive: Path, alice: Owner, proved: str) -> None:
        line = f"blog-exporter-copy 1 {proved} 6 {SEGMENT}"
        stored_at(copy, archive, SEGMENT).write_bytes(forged([alice.recipient], line))
        with pytest.raises(ArchiveDamaged, match="has other content, from someone with write access"):
            read_whole(reading(copy, alice), SEGMENT, 100)

    @pytest.mark.parametrize("line", ["", "blog-exporter-copy 2 {} 6 {}", "blog-exporter-copy 1 {} -6 {}", "no"])
    def test_files_of_age_that_are_no_objects(self, copy: FolderStore, archive: Path, alice: Owner, line: str) -> None:
        data = forged([alice.recipient], line.format("0" * 64, SEGMENT))
        stored_at(copy, archive, SEGMENT).write_bytes(data)
        with pytest.raises(ArchiveDamaged, match="is not what sync wrote"):
            read_whole(reading(copy, alice), SEGMENT, 100)

    def test_an_object_with_a_wrong_size(self, copy: FolderStore, archive: Path, alice: Owner) -> None:
        (keys,) = json.loads((archive / ".work/copies.json").read_bytes())["copies"].values()
        line = f"blog-exporter-copy 1 {proof(bytes.fromhex(keys['secret']), SEGMENT)} 99999 {SEGMENT}"
        stored_at(copy, archive, SEGMENT).write_bytes(forged([alice.recipient], line))
        with pytest.raises(ArchiveDamaged, match="is not what sync wrote"):
            read_whole(reading(copy, alice), SEGMENT, 100)

    def test_objects_added(self, copy: FolderStore, alice: Owner) -> None:
        for name in ("archive.json", f"assets/ab/ab{'1' * 62}.jpg", f"assets/ab/ab{'1' * 62}.age", "versions/x.age"):
            copy.create(name, content_of(b"forged"))
        found = {each.name for each in reading(copy, alice).list()} - {NAME, SEGMENT, PICTURE, "runs.jsonl"}
        assert found == {
            "archive.json (not of this copy)",
            f"assets/ab/ab{'1' * 62}.jpg (not of this copy)",
            f"assets/ab/ab{'1' * 62}.age (not of this copy)",
            "versions/x",
        }

    def test_the_whole_copy_forged(self, copy: FolderStore, archive: Path, alice: Owner, tmp_path: Path) -> None:
        """With the archive's keys the forgery is noticed; with the identity alone it cannot be, as the manual says."""
        (tmp_path / "theirs").mkdir()
        (tmp_path / "theirs/archive.json").write_bytes(b"{}")
        theirs = FolderStore(tmp_path / "forged")
        writing(theirs, tmp_path / "theirs", alice).create(SEGMENT, content_of(b"forged"))
        Path(copy.place).rename(tmp_path / "true")
        Path(theirs.place).rename(copy.place)
        for files in ([], [alice.file]):
            with pytest.raises(ArchiveDamaged, match="someone has replaced it"):
                open_encrypted(copy, [alice.recipient], files, archive)
        store = reading(copy, alice)
        assert isinstance(store, EncryptedStore)
        assert store.id != next(iter(json.loads((archive / ".work/copies.json").read_bytes())["copies"]))

    @pytest.mark.parametrize("size", [0, 10, 100, 200, 300, 4000])
    def test_objects_cut_short(self, copy: FolderStore, archive: Path, alice: Owner, size: int) -> None:
        path = stored_at(copy, archive, SEGMENT)
        path.write_bytes(path.read_bytes()[:size])
        with pytest.raises(ArchiveDamaged, match=r"entries\.jsonl is damaged: it is truncated"):
            read_whole(reading(copy, alice), SEGMENT, 100)

    def test_a_long_object_cut_at_the_end_of_a_piece(self, copy: FolderStore, archive: Path, alice: Owner) -> None:
        """The remaining pieces are complete and authentic, but the program returns none of them."""
        writing(copy, archive, alice).create("versions/000002/entries.jsonl", content_of(b"x" * 300_000))
        path = stored_at(copy, archive, "versions/000002/entries.jsonl")
        data = path.read_bytes()
        header = data.index(b"\n--- ") + 49
        path.write_bytes(data[: header + 16 + 65552 * 2])
        with pytest.raises(ArchiveDamaged, match="is damaged"):
            next(reading(copy, alice).read("versions/000002/entries.jsonl"))

    def test_any_bit_flipped(self, copy: FolderStore, archive: Path, alice: Owner) -> None:
        path = stored_at(copy, archive, SEGMENT)
        data, store = path.read_bytes(), reading(copy, alice)
        for place in (*range(0, 400, 9), *range(400, len(data), 301), len(data) - 1):
            path.write_bytes(data[:place] + bytes([data[place] ^ 4]) + data[place + 1 :])
            with pytest.raises(ArchiveDamaged, match=r"entries\.jsonl"):
                read_whole(store, SEGMENT, 100)
        path.write_bytes(data + b"x")
        with pytest.raises(ArchiveDamaged, match=r"entries\.jsonl"):
            read_whole(store, SEGMENT, 100)

    def test_a_header_without_an_end(self, copy: FolderStore, archive: Path, alice: Owner) -> None:
        path = stored_at(copy, archive, SEGMENT)
        path.write_bytes(b"age-encryption.org/v1\n" + b"-> X25519 abc\nAAAA\n" * 200_000)
        with pytest.raises(ArchiveDamaged, match="is damaged"):
            read_whole(reading(copy, alice), SEGMENT, 100)

    @pytest.mark.parametrize(
        "data", [b"", b"[]", b"{}", b'{"format":"x","format_version":1,"id":""}', b'{"format":"blog-exporter-encrypted-copy","format_version":"1","id":""}']
    )  # fmt: skip
    def test_a_marker_of_something_else(self, copy: FolderStore, alice: Owner, data: bytes) -> None:
        (Path(copy.place) / "encrypted-copy.json").write_bytes(data)
        with pytest.raises(ArchiveDamaged, match=r"encrypted-copy\.json is not what sync wrote"):
            reading(copy, alice)

    @pytest.mark.parametrize(
        "data", [b"[]", b"{}", b"x", b'{"secret":"00"}', json.dumps({"secret": "0" * 64}).encode()]
    )
    def test_keys_of_something_else(self, copy: FolderStore, alice: Owner, data: bytes) -> None:
        (path,) = (Path(copy.place) / "keys").iterdir()
        made = io.BytesIO()
        pyrage.encrypt_io(io.BytesIO(data), made, [pyrage.x25519.Recipient.from_str(alice.recipient)])
        path.write_bytes(made.getvalue())
        with pytest.raises(ArchiveDamaged, match=r"keys/.* is not what sync wrote"):
            reading(copy, alice)

    def test_keys_of_another_copy(self, copy: FolderStore, alice: Owner) -> None:
        (path,) = (Path(copy.place) / "keys").iterdir()
        made = io.BytesIO()
        data = json.dumps({**CopyKeys.new().as_json(), "recipients": []}).encode()
        pyrage.encrypt_io(io.BytesIO(data), made, [pyrage.x25519.Recipient.from_str(alice.recipient)])
        path.write_bytes(made.getvalue())
        with pytest.raises(ArchiveDamaged, match="keys/ is not what sync wrote"):
            reading(copy, alice)

    def test_keys_by_the_thousand_are_not_tried_for_ever(
        self, copy: FolderStore, alice: Owner, bob: Owner, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("exporter.copies.encrypted._MAX_KEYS", 3)
        foreign = forged([bob.recipient], "x")
        for number in range(5):
            copy.create(f"keys/0000{number}.age", content_of(foreign))
        with pytest.raises(UsageError, match="decrypts nothing in"):
            reading(copy, alice)

    def test_a_newer_format(self, copy: FolderStore, alice: Owner) -> None:
        path = Path(copy.place) / "encrypted-copy.json"
        path.write_bytes(json.dumps({**json.loads(path.read_bytes()), "format_version": 2}).encode())
        with pytest.raises(NewerFormat, match="newer blog-exporter"):
            reading(copy, alice)


def test_of_two_that_begin_a_copy_at_once_one_wins(
    inner: FolderStore, archive: Path, tmp_path: Path, alice: Owner
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "archive.json").write_bytes(b"{}")
    first, second = writing(inner, archive, alice), writing(inner, other, alice)
    assert first.create(NAME, content_of(b"first"))
    with pytest.raises(UsageError, match="Another machine just began an encrypted copy"):
        second.create(NAME, content_of(b"second"))
    assert read_whole(reading(inner, alice), NAME, 100) == b"first"


@pytest.mark.parametrize("calls", range(4))
def test_an_interrupted_new_copy_is_continued(
    inner: FolderStore, archive: Path, alice: Owner, monkeypatch: pytest.MonkeyPatch, calls: int
) -> None:
    left = calls
    create = FolderStore.create

    def dying(store: FolderStore, name: str, content: ObjectContent) -> bool:
        nonlocal left
        left -= 1
        if left < 0:
            raise KeyboardInterrupt
        return create(store, name, content)

    with monkeypatch.context() as patch:
        patch.setattr(FolderStore, "create", dying)
        with pytest.raises(KeyboardInterrupt):
            writing(inner, archive, alice).create(NAME, content_of(DIARY))
    assert writing(inner, archive, alice).create(NAME, content_of(DIARY))
    assert read_whole(reading(inner, alice), NAME, 100) == DIARY


def test_a_stored_key_file_that_cannot_be_read_is_refused(copy: FolderStore, archive: Path, alice: Owner) -> None:
    path = archive / ".work/copies.json"
    path.write_bytes(b'{"copies": 1}')
    with pytest.raises(UsageError, match=r"Cannot read .*copies\.json, which has the keys"):
        writing(copy, archive, alice)
    path.unlink()
    open_encrypted(copy, [], [alice.file], archive)
    assert writing(copy, archive, alice).create("archive.json", content_of(b"{}"))


def test_stored_keys_belong_to_one_place(archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = KeyMemory(archive)
    one, other = CopyKeys.new(), CopyKeys.new()
    monkeypatch.chdir(tmp_path)
    memory.keep("copy", one)
    memory.keep("s3://bucket/copy", other)
    again = KeyMemory(archive)
    assert again.id_at(str(tmp_path / "copy")) == one.id
    assert again.keys(again.id_at("s3://bucket/copy") or "") == other
    assert again.keys("0" * 32) is None
    assert one.secret.hex() not in repr(one)
    assert one.identity not in repr(one)


def test_a_gigabyte_takes_little_memory(inner: FolderStore, archive: Path, alice: Owner) -> None:
    """The limit is a measured 64 MiB: memory depends on the piece size and not on the object's length."""
    size = 64 << 20
    piece = bytes(1 << 20)

    def pieces() -> Iterator[bytes]:
        for _ in range(size >> 20):
            yield piece

    store = open_encrypted(inner, [alice.recipient], [alice.file], archive)
    tracemalloc.start()
    try:
        assert store.create(PICTURE, ObjectContent(size, pieces))
        assert sum(map(len, store.read(PICTURE))) == size
        assert tracemalloc.get_traced_memory()[1] < 24 << 20
    finally:
        tracemalloc.stop()


def test_errors_of_the_inner_store_are_passed_on(inner: FolderStore, archive: Path, alice: Owner) -> None:
    store = open_encrypted(inner, [alice.recipient], [alice.file], archive)
    store.create(SEGMENT, content_of(DIARY))

    class Broken(FolderStore):
        def read(self, name: str) -> Iterator[bytes]:
            if name == f"{SEGMENT}.age":
                raise BlogExporterError("the line is cut")
            yield from super().read(name)

    with pytest.raises(BlogExporterError, match="the line is cut"):
        read_whole(reading(Broken(Path(inner.place)), alice), SEGMENT, 100)


def test_the_library_is_needed_only_for_encryption(
    inner: FolderStore, archive: Path, monkeypatch: pytest.MonkeyPatch, alice: Owner
) -> None:
    monkeypatch.setitem(sys.modules, "pyrage", None)
    assert open_encrypted(inner, [], [], archive) is inner
    with pytest.raises(UsageError, match=re.escape("pip install 'blog-exporter[age]'")):
        writing(inner, archive, alice)
