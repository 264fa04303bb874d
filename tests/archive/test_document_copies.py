"""Copies of the documents: made when the archive is sealed, checked by hash, and never made from damaged documents."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from exporter.archive.documents import intact_document
from exporter.archive.layout import manifest_name
from exporter.archive.prune import KeptVersion, PrunePlan, prune
from exporter.model.kinds import Kind
from tests.archive.builder import Built, entry


@pytest.fixture
def built(tmp_path: Path) -> Built:
    """An archive of three versions, sealed after each."""
    made = Built(tmp_path / "archive")
    for title in ("海", "山", "川"):
        made.commit({Kind.ENTRIES: {"1": entry(1, title)}})
    return made


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def names(built: Built) -> list[str]:
    """Return the copied documents' names in order."""
    lines = built.layout.documents_copy.read_bytes().splitlines()
    return [json.loads(line)[0] for line in lines]


def is_copied(built: Built, name: str) -> bool:
    """Return whether the copy of a document is equal to the document."""
    data = (built.root / name).read_bytes()
    return intact_document(built.layout, name, sha256(data)) == data


def test_each_seal_adds_the_new_documents(built: Built) -> None:
    expected = ["archive.json", *map(manifest_name, (1, 2, 3))]
    assert names(built) == expected
    assert all(is_copied(built, name) for name in expected)
    assert built.layout.runs_copy.read_bytes() == built.layout.runs.read_bytes()
    before = built.layout.documents_copy.read_bytes()
    built.run(outcome="unchanged")
    assert built.layout.documents_copy.read_bytes() == before
    assert built.layout.runs_copy.read_bytes() == built.layout.runs.read_bytes()


def test_a_prune_changes_the_manifests_and_so_the_copies(built: Built) -> None:
    prune(built.layout, PrunePlan((KeptVersion(2, ("daily",), (1,)), KeptVersion(3, ("newest",), ()))))
    assert names(built) == ["archive.json", *map(manifest_name, (2, 3))]
    assert all(is_copied(built, name) for name in names(built))


@pytest.mark.parametrize("gone", [True, False])
def test_damage_is_not_copied(built: Built, *, gone: bool) -> None:
    """Damaged documents are not copied, even if all copies are written again."""
    path = built.layout.manifest(1)
    right = path.read_bytes()
    runs = built.layout.runs.read_bytes()
    path.write_bytes(right.replace(b'"new": 1', b'"new": 7'))
    built.layout.runs.write_bytes(runs.replace(b"saved", b"sunk!"))
    if gone:
        built.layout.documents_copy.write_bytes(b"no copies\n")
    built.run(outcome="unchanged")
    assert (intact_document(built.layout, manifest_name(1), sha256(right)) == right) is not gone
    assert intact_document(built.layout, manifest_name(1), sha256(path.read_bytes())) is None
    assert built.layout.runs_copy.read_bytes() == runs


@pytest.mark.parametrize("text", [b"[]", b"5", b"{", b"\xff", b'{"parent":5}', b'{"parent":{"sha256":[]}}'])
def test_an_invalid_manifest_does_not_stop_the_copies(built: Built, text: bytes) -> None:
    path = built.layout.manifest(3)
    path.write_bytes(text)
    sums = built.layout.sums.read_text("utf-8").splitlines()
    built.layout.sums.write_text(
        "".join(f"{sha256(text) if row.endswith(manifest_name(3)) else row[:64]}{row[64:]}\n" for row in sums), "utf-8"
    )
    built.layout.documents_copy.unlink()
    built.run(outcome="unchanged")
    assert intact_document(built.layout, manifest_name(1), sha256(built.layout.manifest(1).read_bytes())) is None
