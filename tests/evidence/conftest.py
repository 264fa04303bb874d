"""An authority, keys, and a small archive with three versions."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from exporter.model.kinds import Kind
from tests.archive.builder import Built, entry, record
from tests.support.authority import Authority, Served, make_authority, serving_authority
from tests.support.local_authority import make_local_authority
from tests.support.ssh_signing import make_local_key, signing_here


@pytest.fixture(autouse=True)
def _signing_starts_no_process(request: pytest.FixtureRequest) -> Iterator[None]:
    with contextlib.nullcontext() if request.node.get_closest_marker("importers") else signing_here():
        yield


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return make_local_authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="session")
def openssl_authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return make_authority(tmp_path_factory.mktemp("openssl"))


@pytest.fixture
def openssl_tsa(openssl_authority: Authority) -> Iterator[Served]:
    with serving_authority(openssl_authority) as served:
        yield served


@pytest.fixture
def tsa(authority: Authority) -> Iterator[Served]:
    with serving_authority(authority) as served:
        yield served


def make_key(path: Path, kind: str = "ed25519", passphrase: str = "") -> Path:
    """Make a key with the real ``ssh-keygen``; a quick one of its kind."""
    bits = {"rsa": ("-b", "2048")}.get(kind, ())
    subprocess.run(["ssh-keygen", "-q", "-t", kind, *bits, "-N", passphrase, "-f", path], check=True)
    return path


@pytest.fixture(scope="session")
def key(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_local_key(tmp_path_factory.mktemp("keys") / "key")


@pytest.fixture(scope="session")
def other_key(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_local_key(tmp_path_factory.mktemp("keys") / "other")


def commit(built: Built, number: int) -> None:
    """Add a version with an entry and a picture's record."""
    built.commit(
        {
            Kind.ENTRIES: {str(number): entry(number, f"題{number}"), "1": entry(1, f"変{number}")},
            Kind.COMMENTS: {str(number): record(cm_id=str(number), entry_id="1", cm_text="コメント")},
        }
    )
    built.refresh()


@pytest.fixture
def built(tmp_path: Path) -> Built:
    made = Built(tmp_path / "archive")
    for number in (1, 2, 3):
        commit(made, number)
    return made
