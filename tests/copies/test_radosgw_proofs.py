"""A copy in a real S3 service survives kills, two concurrent writers, and an attacker with the writer's keys."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError

from exporter.copies.encrypted import open_encrypted
from exporter.copies.object_lock import read_locks
from exporter.copies.s3 import S3Store
from exporter.errors import HistoriesDiffer
from tests.archive.builder import Built
from tests.copies.conftest import add_pictures, grow
from tests.copies.radosgw import radosgw
from tests.copies.s3_servers import Service
from tests.copies.support import files_in
from tests.copies.test_encrypted import owner

if TYPE_CHECKING:
    from types_boto3_s3 import S3Client

pytestmark = [pytest.mark.importers, pytest.mark.no_cover]

FLOOD = 1000


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with radosgw(tmp_path_factory.mktemp("ceph")) as running:
        yield running


@pytest.fixture
def client(service: Service) -> Iterator[S3Client]:
    made = service.client()
    yield made
    made.close()


def started(service: Service, *arguments: object) -> subprocess.Popen[str]:
    """Start the program."""
    return subprocess.Popen(
        [sys.executable, "-m", "exporter", *map(str, arguments)],
        env={**os.environ, **service.variables}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip


def ran(service: Service, *arguments: object) -> tuple[int, str]:
    """Run the program, and return its exit code and its output."""
    process = started(service, *arguments)
    said, _ = process.communicate(timeout=300)
    return process.returncode, said


def is_whole(
    service: Service, client: S3Client, address: str, root: Path, back: Path, identity: Path | None = None
) -> None:
    """Compare every object in a copy with the archive, verify the copy, and restore it."""
    key = [] if identity is None else ["--identity", str(identity)]
    store = open_encrypted(S3Store(address, client), [], [] if identity is None else [identity], None)
    archive = {
        name: data
        for name, data in files_in(root).items()
        if name.startswith(("versions/", "assets/"))
        or name in {"archive.json", "README.txt", "FORMAT.md", "runs.jsonl"}
    }
    assert {found.name for found in store.list()} >= archive.keys()
    with ThreadPoolExecutor(8) as pool:
        there = dict(zip(archive, pool.map(lambda name: b"".join(store.read(name)), archive), strict=True))
    assert there == archive
    code, said = ran(service, "verify", address, *key)
    assert code == 0, said
    code, said = ran(service, "sync", address, back, *key)
    assert code == 0, said
    assert files_in(back).items() >= archive.items()
    code, said = ran(service, "verify", back)
    assert code == 0, said


@pytest.mark.parametrize("locks", [False, True])
@pytest.mark.parametrize("most", [5, pytest.param(50, marks=pytest.mark.slow)])
def test_killed_again_and_again_it_ends_well(
    service: Service, client: S3Client, source: Built, tmp_path: Path, locks: bool, most: int
) -> None:
    address = f"s3://{service.bucket(locks=locks)}/mine"
    chance = random.Random(locks)
    options = ["--object-lock", "1d"] if locks else []
    kills = 0
    while kills < most:
        add_pictures(source, *(chance.randbytes(3000) for _ in range(60)))
        for _ in range(5):
            process = started(service, "sync", source.root, address, *options)
            with suppress(subprocess.TimeoutExpired):
                process.wait(chance.uniform(0.6, 2.5))
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
                kills += 1
            said, _ = process.communicate()
            assert process.returncode in {0, -signal.SIGKILL}, said
    code, said = ran(service, "sync", source.root, address, *options)
    assert code == 0, said
    is_whole(service, client, address, source.root, tmp_path / "back")
    if locks:
        locked = read_locks(S3Store(address, client))
        assert locked.unlocked == 0
        assert locked.until is not None
        assert locked.until > datetime.now(UTC) + timedelta(hours=23)


@pytest.mark.parametrize("locks", [False, True])
@pytest.mark.parametrize("races", [3, pytest.param(10, marks=pytest.mark.slow)])
def test_one_of_two_concurrent_writers_wins(
    service: Service, client: S3Client, source: Built, tmp_path: Path, locks: bool, races: int
) -> None:
    bucket = service.bucket(locks=locks)
    for number in range(races):
        address = f"s3://{bucket}/race-{number}"
        code, said = ran(service, "sync", source.root, address)
        assert code == 0, said
        writers = []
        for name in ("one", "other"):
            root = tmp_path / f"{name}-{number}"
            shutil.copytree(source.root, root)
            grow(Built.reopen(root), f"{name} {number}")
            writers.append((root, started(service, "sync", root, address)))
        codes = []
        for _, process in writers:
            said, _ = process.communicate(timeout=120)
            codes.append(process.returncode)
        won = [root for (root, _), code in zip(writers, codes, strict=True) if code == 0]
        assert len(won) == 1, (codes, said)
        assert set(codes) - {0} <= {11, HistoriesDiffer.exit_code}, said
        is_whole(service, client, address, won[0], tmp_path / f"back-{number}")


@pytest.mark.long
@pytest.mark.parametrize("encrypted", [pytest.param(False, marks=pytest.mark.slow), True])
def test_a_thief_with_the_writers_keys_destroys_nothing(
    service: Service, client: S3Client, source: Built, tmp_path: Path, encrypted: bool
) -> None:
    bucket = service.bucket(locks=True)
    address = f"s3://{bucket}/mine"
    alice = owner(tmp_path, "alice")
    identity = alice.file if encrypted else None
    ending = ".age" if encrypted else ""
    wishes = ["--object-lock", "90d", *(["--encrypt-to", alice.recipient] if encrypted else [])]
    code, said = ran(service, "sync", source.root, address, *wishes)
    assert code == 0, said
    versions = [
        each
        for page in client.get_paginator("list_object_versions").paginate(Bucket=bucket)
        for each in page["Versions"]
    ]
    sooner = datetime.now(UTC) + timedelta(minutes=1)
    refused = 0
    for each in versions:
        where: dict[str, Any] = {"Bucket": bucket, "Key": each["Key"], "VersionId": each["VersionId"]}
        shorter: list[Any] = [{"Mode": mode, "RetainUntilDate": sooner} for mode in ("COMPLIANCE", "GOVERNANCE")]
        attacks: list[Callable[[], object]] = [
            partial(client.delete_object, **where),
            partial(client.delete_object, **where, BypassGovernanceRetention=True),
            *(
                partial(client.put_object_retention, **where, Retention=each_lock, BypassGovernanceRetention=True)
                for each_lock in shorter
            ),
        ]
        for attack in attacks:
            try:
                attack()
            except ClientError:
                refused += 1
    bulk = client.delete_objects(
        Bucket=bucket,
        Delete={"Objects": [{"Key": each["Key"], "VersionId": each["VersionId"]} for each in versions]},
    )
    with suppress(ClientError):
        client.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Suspended"})
    for each in versions:
        client.delete_object(Bucket=bucket, Key=each["Key"])
        client.put_object(Bucket=bucket, Key=each["Key"], Body=b"Nothing to see here.\n")
    manifest, log = f"mine/versions/000003/manifest.json{ending}", f"mine/runs.jsonl{ending}"

    def flood(number: int) -> None:
        for key in (manifest, log):
            if number % 3:
                client.put_object(Bucket=bucket, Key=key, Body=b"{}\n" * (number % 7 * 2000))
            else:
                client.delete_object(Bucket=bucket, Key=key)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(flood, range(FLOOD)))
    note = b'{"state":"built"}'
    client.put_object(Bucket=bucket, Key=f"mine/versions.new.json{ending}", Body=note)
    pruned = tmp_path / "pruned"
    shutil.copytree(source.root, pruned)
    assert ran(service, "prune", pruned, "--keep-last", "1")[0] == 0
    assert ran(service, "sync", pruned, address, "--prune", *wishes[2:])[0] != 0

    assert refused == 4 * len(versions)
    assert len(bulk.get("Errors", ())) == len(versions)
    begun = time.monotonic()
    is_whole(service, client, address, source.root, tmp_path / "back", identity)
    assert time.monotonic() - begun < 120
    grow(source)
    code, said = ran(service, "sync", source.root, address, *wishes)
    assert code == 0, said
    is_whole(service, client, address, source.root, tmp_path / "back again", identity)
