"""``sync`` and ``verify`` with a copy in S3, as they are typed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from exporter.archive.archive import Archive
from tests.archive.builder import Built
from tests.cli.conftest import Program
from tests.copies.conftest import grow
from tests.copies.s3_servers import Service, moto
from tests.copies.support import files_in


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    with moto() as running:
        yield running


@pytest.fixture
def address(service: Service, monkeypatch: pytest.MonkeyPatch) -> str:
    for name, value in service.variables.items():
        monkeypatch.setenv(name, value)
    return f"s3://{service.bucket(locks=True)}/blogs/mine"


def document(printed: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(printed)
    return found


def test_a_locked_copy_comes_back_whole(program: Program, source: Built, address: str) -> None:
    sent = program("sync", source.root, address, "--object-lock", "90d", "--json")
    assert sent.code == 0, sent.err
    locked = document(sent.out)["locked"]
    assert locked["objects"] == len(files_in(source.root))
    wanted = datetime.now(UTC) + timedelta(days=119)
    assert datetime.fromisoformat(locked["until"]) > wanted

    grow(source)
    again = program("sync", source.root, address, "--object-lock", "90d")
    assert (again.code, again.out.count("Locked until ")) == (0, 1), again.out
    checked = program("verify", address, "--json")
    assert checked.code == 0, checked.err
    assert document(checked.out)["locked"] == {**locked, "objects": locked["objects"] + 8, "renewed": 0}

    back = source.root.parent / "back"
    assert program("sync", address, back).code == 0
    assert files_in(back).items() >= files_in(source.root).items()
    assert Archive.open(back).versions() == Archive.open(source.root).versions()


def test_what_has_no_lock_is_counted(program: Program, source: Built, address: str) -> None:
    assert program("sync", source.root, address).code == 0
    checked = program("verify", address)
    assert checked.code == 0
    count = len(files_in(source.root))
    assert f"{count} of {count} files have no lock" in checked.out


def test_nothing_is_locked_where_nothing_is_sent(program: Program, source: Built, address: str) -> None:
    done = program("sync", source.root, address, "--object-lock", "90d", "--dry-run", "--json")
    assert (done.code, document(done.out)["locked"]) == (0, None)
    folder = source.root.parent / "copy"
    for arguments, words in (
        ((source.root, folder, "--object-lock", "90d"), "is not there"),
        ((source.root, address, "--object-lock", "90d", "--prune"), "without --prune"),
        ((source.root, address, "--object-lock", "soon"), "option --object-lock is 'soon'"),
        ((source.root, "s3://no/../such", "--object-lock", "90d"), "no address of a copy"),
    ):
        refused = program("sync", *arguments)
        assert refused.code == 2
        assert words in refused.err
    assert not folder.exists()
