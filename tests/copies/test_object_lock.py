"""Object locks of a copy are kept and extended with as few requests as possible."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from exporter.copies.object_lock import Locked, ObjectLock, read_locks
from exporter.copies.s3 import S3Store, is_mutable, is_of_a_prune
from exporter.copies.store import content_of
from exporter.errors import NotAuthorised, UsageError
from tests.copies.s3_servers import Service, count_requests

if TYPE_CHECKING:
    from types_boto3_s3 import S3Client

NOW = datetime.now(UTC).replace(microsecond=0)
KEEP = timedelta(days=90)
LONGER = timedelta(days=120)
NAMES = ("archive.json", "assets/ab/abc.png", "versions/000001/entries.jsonl", "versions/000001/manifest.json")


@pytest.fixture(scope="module")
def service(s3: Service) -> Service:
    return s3


@pytest.fixture(scope="module")
def client(service: Service) -> Iterator[S3Client]:
    made = service.client()
    yield made
    made.close()


@pytest.fixture
def address(service: Service) -> str:
    return f"s3://{service.bucket(locks=True)}/copy"


class Machine:
    """Syncs to a copy."""

    def __init__(self, root: Path, address: str, client: S3Client) -> None:
        self.root = root
        self.address = address
        self.client = client

    def sync(self, *names: str, now: datetime = NOW, keep: timedelta = KEEP) -> tuple[Locked, dict[str, int]]:
        """Send objects, lock the copy, and return the result and the number of requests of each kind."""
        requests = count_requests(self.client)
        store = S3Store(self.address, self.client)
        lock = ObjectLock(store, keep, self.root, now)
        for name in names:
            assert store.create(name, content_of(name.encode()))
        log = {each.name: each.tag for each in store.list("runs.jsonl")}
        before = b"".join(store.read("runs.jsonl")) if log else b""
        assert store.replace("runs.jsonl", before + b"run\n", log.get("runs.jsonl"))
        done = lock.finish()
        return done, dict(requests)


@pytest.fixture
def machine(tmp_path: Path, address: str, client: S3Client) -> Machine:
    return Machine(tmp_path, address, client)


class TestKeepingLocked:
    def test_an_object_is_locked_by_the_request_that_sends_it(self, machine: Machine) -> None:
        done, requests = machine.sync(*NAMES)
        assert done == Locked(NOW + LONGER, 5, renewed=1)
        assert requests["PutObject"] == 5
        assert requests["PutObjectRetention"] == 1  # the log of runs

    def test_an_object_that_is_locked_long_enough_is_left_alone(self, machine: Machine) -> None:
        machine.sync(*NAMES)
        time.sleep(1.1)  # the service's clock counts whole seconds
        machine.sync()
        done, requests = machine.sync("versions/000002/manifest.json", now=NOW + timedelta(days=29))
        assert done.until == NOW + LONGER
        assert done.renewed == requests["PutObjectRetention"] == 1
        assert requests.get("HeadObject", 0) <= 2

    def test_an_old_lock_is_extended_before_it_expires(self, machine: Machine) -> None:
        machine.sync(*NAMES)
        later = NOW + timedelta(days=31)
        done, requests = machine.sync("versions/000002/manifest.json", now=later)
        assert done == Locked(later + LONGER, 6, renewed=5)
        assert requests["PutObjectRetention"] == 5
        assert read_locks(S3Store(machine.address, machine.client)) == Locked(later + LONGER, 6)

    def test_another_machine_asks_each_object(self, machine: Machine, tmp_path: Path) -> None:
        machine.sync(*NAMES)
        other = Machine(tmp_path / "other", machine.address, machine.client)
        other.root.mkdir()
        done, requests = other.sync()
        assert done == Locked(NOW + LONGER, 5, renewed=1)
        assert requests["HeadObject"] == 5

    @pytest.mark.parametrize(
        "note",
        [
            '{"PLACE": {"before": "x", "until": 1}}',
            *(pytest.param(note, marks=pytest.mark.thorough) for note in ("", "[]", '{"x": 1}')),
        ],
    )
    def test_an_unreadable_note_is_ignored(self, machine: Machine, note: str) -> None:
        machine.sync(*NAMES)
        (machine.root / ".work" / "object-lock.json").write_text(note.replace("PLACE", machine.address))
        assert machine.sync()[1]["HeadObject"] == 5

    def test_notes_of_other_places_are_kept(self, machine: Machine, service: Service) -> None:
        machine.sync("archive.json")
        Machine(machine.root, f"s3://{service.bucket(locks=True)}", machine.client).sync("archive.json")
        assert len(json.loads((machine.root / ".work" / "object-lock.json").read_text())) == 2

    def test_an_object_sent_without_a_lock_gets_one(self, machine: Machine) -> None:
        store = S3Store(machine.address, machine.client)
        store.create("archive.json", content_of(b"x"))
        assert read_locks(store) == Locked(None, 1, unlocked=1)
        assert machine.sync()[0] == Locked(NOW + LONGER, 2, renewed=2)

    def test_a_lock_that_lasts_longer_is_left(self, machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
        machine.sync("archive.json", keep=KEEP * 2)
        (machine.root / ".work" / "object-lock.json").unlink()

        def refused(_store: S3Store, _found: object, _until: datetime) -> None:
            raise NotAuthorised("no")

        store = S3Store(machine.address, machine.client)
        lock = ObjectLock(store, KEEP, machine.root, NOW)
        monkeypatch.setattr(S3Store, "lock", refused)
        assert lock.finish().until == NOW + KEEP * 2 * 4 / 3
        (machine.root / ".work" / "object-lock.json").unlink()
        with pytest.raises(NotAuthorised):
            ObjectLock(store, KEEP * 3, machine.root, NOW).finish()

    def test_an_empty_copy_needs_no_locks(self, machine: Machine) -> None:
        lock = ObjectLock(S3Store(machine.address, machine.client), KEEP, machine.root, NOW)
        assert lock.finish() == Locked(None, 0)
        assert not (machine.root / ".work").exists()
        assert Locked(None, 0).document() == {"until": None, "objects": 0, "unlocked": 0, "renewed": 0}

    @pytest.mark.parametrize("versions", [False, True])
    def test_a_bucket_without_locks_is_refused(
        self, service: Service, client: S3Client, tmp_path: Path, versions: bool
    ) -> None:
        store = S3Store(f"s3://{service.bucket(versions=versions)}", client)
        with pytest.raises(UsageError, match="has no object lock"):
            ObjectLock(store, KEEP, tmp_path, NOW)


class TestAttacks:
    """Attacks with the writer's stolen keys on a copy whose objects are all locked."""

    def test_overwritten_and_deleted_objects_can_still_be_read(self, machine: Machine) -> None:
        machine.sync(*NAMES)
        bucket, _, prefix = machine.address.removeprefix("s3://").partition("/")
        for name in (*NAMES, "runs.jsonl"):
            machine.client.delete_object(Bucket=bucket, Key=f"{prefix}/{name}")
            machine.client.put_object(Bucket=bucket, Key=f"{prefix}/{name}", Body=b"run away with it")
        store = S3Store(machine.address, machine.client)
        assert {name: b"".join(store.read(name)) for name in NAMES} == {name: name.encode() for name in NAMES}
        assert b"".join(store.read("runs.jsonl")) == b"run\n"
        assert not any(store.create(name, content_of(b"other")) for name in NAMES)
        assert machine.sync()[0].until == NOW + LONGER
        assert b"".join(store.read("runs.jsonl")) == b"run\nrun\n"

    def test_a_prune_is_refused_and_a_forged_one_is_ignored(self, machine: Machine) -> None:
        machine.sync(*NAMES)
        bucket, _, prefix = machine.address.removeprefix("s3://").partition("/")
        machine.client.put_object(Bucket=bucket, Key=f"{prefix}/versions.new.json", Body=b'{"state":"built"}')
        store = S3Store(machine.address, machine.client)
        assert {found.name for found in store.list()} == {*NAMES, "runs.jsonl"}
        with pytest.raises(UsageError, match="no copy there can be pruned"):
            store.create("versions.new/000001/manifest.json", content_of(b"x"))
        store.remove(NAMES[0])
        assert b"".join(store.read(NAMES[0])) == NAMES[0].encode()


class TestNames:
    @pytest.mark.parametrize("name", ["runs.jsonl", "ab/blog/SHA256SUMS", "runs.jsonl.age", "versions.new.json"])
    def test_some_files_change(self, name: str) -> None:
        assert is_mutable(name)

    @pytest.mark.parametrize(
        "name", ["archive.json", "versions/000001/SHA256SUMS", "versions.new/000001/SHA256SUMS.age"]
    )
    def test_others_never_do(self, name: str) -> None:
        assert not is_mutable(name)

    def test_those_of_a_prune_are_known(self) -> None:
        names = ("versions.new.json", "versions.new/000001/manifest.json", "ab/blog/versions.new.json.age")
        assert all(map(is_of_a_prune, names))
        assert not is_of_a_prune("versions/000001/manifest.json")
