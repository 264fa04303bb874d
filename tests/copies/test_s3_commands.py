"""``sync`` and ``verify`` with a copy in S3 on the command line."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from exporter.archive.archive import Archive
from tests.archive.builder import Built
from tests.cli.conftest import Program
from tests.copies.conftest import grow
from tests.copies.s3_servers import Service
from tests.copies.support import files_in
from tests.copies.test_encrypted import owner


@pytest.fixture
def address(s3: Service, monkeypatch: pytest.MonkeyPatch) -> str:
    for name, value in s3.variables.items():
        monkeypatch.setenv(name, value)
    return f"s3://{s3.bucket(locks=True)}/blogs/mine"


def document(printed: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(printed)
    return found


@pytest.mark.thorough
def test_a_locked_copy_comes_back_whole(program: Program, small: Built, address: str) -> None:
    sent = program("sync", small.root, address, "--object-lock", "90d", "--json")
    assert sent.code == 0, sent.err
    locked = document(sent.out)["locked"]
    assert locked["objects"] == len(files_in(small.root))
    wanted = datetime.now(UTC) + timedelta(days=119)
    assert datetime.fromisoformat(locked["until"]) > wanted

    grow(small)
    again = program("sync", small.root, address, "--object-lock", "90d")
    assert (again.code, again.out.count("Locked until ")) == (0, 1), again.out
    assert program("sync", small.root, address, "--object-lock", "90d", "-q").out == ""
    checked = program("verify", address, "--json")
    assert checked.code == 0, checked.err
    assert document(checked.out)["locked"] == {**locked, "objects": locked["objects"] + 8, "renewed": 0}

    back = small.root.parent / "back"
    assert program("sync", address, back).code == 0
    assert files_in(back).items() >= files_in(small.root).items()
    assert Archive.open(back).versions() == Archive.open(small.root).versions()


def test_objects_without_a_lock_are_counted(program: Program, small: Built, address: str) -> None:
    assert program("sync", small.root, address).code == 0
    checked = program("verify", address)
    assert checked.code == 0
    count = len(files_in(small.root))
    assert f"{count} of {count} files have no lock" in checked.out


def test_nothing_is_locked_if_nothing_is_sent(program: Program, small: Built, address: str) -> None:
    done = program("sync", small.root, address, "--object-lock", "90d", "--dry-run", "--json")
    assert (done.code, document(done.out)["locked"]) == (0, None)
    folder = small.root.parent / "copy"
    for arguments, words in (
        ((small.root, folder, "--object-lock", "90d"), "is not an s3://"),
        ((small.root, address, "--object-lock", "90d", "--prune"), "excludes --prune"),
        ((small.root, address, "--object-lock", "soon"), "option --object-lock is 'soon'"),
        ((small.root, "s3://no/../such", "--object-lock", "90d"), "not an address of a copy"),
    ):
        refused = program("sync", *arguments)
        assert refused.code == 2
        assert words in refused.err
    assert not folder.exists()


@pytest.mark.thorough
def test_an_encrypted_copy_is_locked_and_survives_an_attacker_with_the_keys(
    program: Program, source: Built, s3: Service, address: str
) -> None:
    alice = owner(source.root.parent, "alice")
    send = ("sync", source.root, address, "--object-lock", "90d", "--encrypt-to", alice.recipient)
    locked = program(*send, "--json").json["locked"]
    assert locked["objects"] == len(files_in(source.root)) + 3  # the marker file, the keys, and README.txt
    grow(source)
    assert program(*send).code == 0

    bucket, _, prefix = address.removeprefix("s3://").partition("/")
    client = s3.client()
    found = client.list_objects_v2(Bucket=bucket, Prefix=f"{prefix}/")["Contents"]
    older = client.list_object_versions(Bucket=bucket, Prefix=f"{prefix}/runs.jsonl.age")["Versions"][-1]
    for each in found:
        client.delete_object(Bucket=bucket, Key=each["Key"])
        client.put_object(Bucket=bucket, Key=each["Key"], Body=b"Nothing to see here.")
    for name in ("keys/0.age", f"keys/{'0' * 32}.age", "versions.new.json.age"):
        client.put_object(Bucket=bucket, Key=f"{prefix}/{name}", Body=b"age-encryption.org/v1\n")
    replayed = client.get_object(Bucket=bucket, Key=older["Key"], VersionId=older["VersionId"])["Body"].read()
    client.put_object(Bucket=bucket, Key=older["Key"], Body=replayed)
    client.close()

    back = source.root.parent / "back"
    done = program("sync", address, back, "--identity", alice.file)
    assert done.code == 0, done.err
    assert files_in(back).items() >= files_in(source.root).items()
    checked = program("verify", address, "--identity", alice.file, "--json").json
    assert (checked["intact"], checked["versions"]) == (True, len(Archive.open(source.root).versions()))
    grow(source)
    assert program(*send).code == 0
    assert program("sync", address, back, "--identity", alice.file).code == 0
    assert files_in(back).items() >= files_in(source.root).items()
