"""Seals in copies: they are sent, checked and restored like the rest."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from exporter.copies.folder import FolderStore
from exporter.copies.s3 import is_mutable
from tests.archive.builder import Built
from tests.cli.conftest import Program
from tests.copies.support import counts_all, files_in, findings, pulled, pushed
from tests.copies.test_encrypted import owner
from tests.evidence.conftest import built, commit, key
from tests.support.ssh_signing import signing_here

__all__ = ["built", "key"]


@pytest.fixture(autouse=True)
def _signing_starts_no_process() -> Iterator[None]:
    with signing_here():
        yield


@pytest.fixture
def store(tmp_path: Path) -> FolderStore:
    return FolderStore(tmp_path / "copy")


def test_seals_are_copied_and_restored(
    built: Built, key: Path, program: Program, store: FolderStore, tmp_path: Path
) -> None:
    assert program("seal", built.root, "--seal-key", key).code == 0
    pushed(built.root, store)
    assert files_in(Path(store.place)) == files_in(built.root)
    assert findings(store) == []
    assert counts_all(store, tmp_path / "back")
    assert files_in(tmp_path / "back") == files_in(built.root)
    commit(built, 4)
    assert program("seal", built.root, "--seal-key", key).code == 0
    pushed(built.root, store)
    assert pushed(built.root, store)[1].objects == 0
    pulled(store, tmp_path / "back")
    assert files_in(tmp_path / "back") == files_in(built.root)
    for place in (tmp_path / "back", store.place):
        assert program("verify", place, "--evidence", "--signers", key.with_suffix(".pub")).code == 0


def test_a_damaged_seal_of_a_copy_is_not_restored(
    built: Built, key: Path, program: Program, store: FolderStore, tmp_path: Path
) -> None:
    assert program("seal", built.root, "--seal-key", key).code == 0
    pushed(built.root, store)
    (Path(store.place) / "evidence/000001/SHA256SUMS").write_bytes(b"x" * 100_000)
    plan, _ = pulled(store, tmp_path / "back")
    assert plan.damaged == ["evidence/000001/SHA256SUMS"]
    assert not (tmp_path / "back" / "evidence").exists()
    shutil.rmtree(built.root / "evidence" / "000001")
    (built.root / "evidence" / "000001").symlink_to("/etc")
    assert "evidence/000001/SHA256SUMS" in pushed(built.root, FolderStore(tmp_path / "other"))[0].damaged


def test_an_encrypted_copy_has_the_seals(built: Built, key: Path, program: Program, tmp_path: Path) -> None:
    assert program("seal", built.root, "--seal-key", key).code == 0
    me = owner(tmp_path, "me")
    assert program("sync", built.root, tmp_path / "copy", "--encrypt-to", me.recipient).code == 0
    assert "No file is missing" in program("verify", tmp_path / "copy").out
    checked = program("verify", tmp_path / "copy", "--evidence", "--identity", me.file)
    assert checked.code == 0, checked.out + checked.err
    assert "Seal 1: version 3" in checked.out


def test_a_statement_is_never_replaced_in_a_bucket() -> None:
    assert not is_mutable("evidence/000001/SHA256SUMS")
    assert is_mutable("SHA256SUMS")
