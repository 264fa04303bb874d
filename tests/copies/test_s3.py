"""The S3 store with a service that answers like Amazon's."""

from __future__ import annotations

import hashlib
import os
import random
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from exporter.archive.layout import Layout
from exporter.copies.opening import open_store
from exporter.copies.s3 import S3Store
from exporter.copies.store import PIECE_BYTES, ObjectContent, Store, content_of, content_of_file, read_whole
from exporter.errors import ArchiveDamaged, UsageError
from tests.copies.contract import NAME, StoreContract
from tests.copies.s3_servers import Service, count_requests

if TYPE_CHECKING:
    from types_boto3_s3 import S3Client

UNTIL = datetime.now(UTC).replace(microsecond=0) + timedelta(days=30)


@pytest.fixture(scope="module")
def service(s3: Service) -> Service:
    return s3


@pytest.fixture(scope="module")
def client(service: Service) -> Iterator[S3Client]:
    made = service.client()
    yield made
    made.close()


class TestPlainBucket(StoreContract):
    @pytest.fixture
    def store(self, service: Service, client: S3Client) -> Store:
        return S3Store(f"s3://{service.bucket()}/some/prefix", client)


class TestBucketWithLocks(StoreContract):
    @pytest.fixture
    def store(self, service: Service, client: S3Client) -> Store:
        return S3Store(f"s3://{service.bucket(locks=True)}/x", client)


class TestLargeObjects:
    """Objects that are large enough in these tests to be sent in parts."""

    @pytest.mark.parametrize("locks", [False, True])
    def test_they_arrive_in_parts(self, service: Service, client: S3Client, locks: bool) -> None:
        requests = count_requests(client)
        store = S3Store(f"s3://{service.bucket(locks=locks)}", client, single=10)
        if locks:
            store.lock_new_objects(UNTIL)
        data = bytes(range(256)) * (PIECE_BYTES // 100)
        assert store.create(NAME, content_of(data))
        assert requests["UploadPart"] == 1
        assert not store.create(NAME, content_of(data[::-1]))
        assert read_whole(store, NAME, len(data)) == data
        assert store.create("archive.json", content_of(b"small"))
        if locks:
            ends = {found.name: store.locked_until(found) for found in store.lockable()}
            assert ends == {NAME: None, "archive.json": UNTIL}

    def test_a_failure_half_way_leaves_no_parts(self, service: Service, client: S3Client) -> None:
        bucket = service.bucket()

        def pieces() -> Iterator[bytes]:
            yield b"half"
            raise ArchiveDamaged("the rest is gone")

        with pytest.raises(ArchiveDamaged, match="the rest is gone"):
            S3Store(f"s3://{bucket}", client, single=3).create(NAME, ObjectContent(8, pieces))
        assert "Uploads" not in client.list_multipart_uploads(Bucket=bucket)

    def test_an_object_larger_than_memory_is_read_from_the_disk(
        self, service: Service, client: S3Client, tmp_path: Path
    ) -> None:
        data = random.Random(1).randbytes(9 << 20)
        path = Layout(tmp_path).root / "asset"
        path.write_bytes(data)
        store = S3Store(f"s3://{service.bucket()}", client)
        assert store.create("assets/ab/abc", content_of_file(path, len(data), hashlib.sha256(data).hexdigest()))
        assert read_whole(store, "assets/ab/abc", len(data)) == data


class TestTheAddress:
    @pytest.mark.parametrize(
        "address", ["s3://", "s3://a", "s3:///x", "s3://key:secret@host/x", "s3://bucket/../x", "s3://bucket//x"]
    )
    def test_an_invalid_address_is_refused(self, address: str) -> None:
        with pytest.raises(UsageError, match="is not an address of a copy"):
            open_store(address)

    def test_the_settings_are_those_of_boto3(self, service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
        bucket = service.bucket()
        for name, value in service.variables.items():
            monkeypatch.setenv(name, value)
        store = open_store(f"s3://{bucket}/a/")
        assert store.place == f"s3://{bucket}/a"
        assert store.create(NAME, content_of(b"x"))
        client = service.client()
        assert client.get_object(Bucket=bucket, Key=f"a/{NAME}")["Body"].read() == b"x"
        client.close()

    def test_settings_that_cannot_be_right_are_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("AWS_PROFILE", "nobody")
        monkeypatch.setenv("AWS_CONFIG_FILE", os.devnull)
        with pytest.raises(UsageError, match=r"are wrong: .*nobody"):
            open_store("s3://bucket")

    def test_a_missing_library_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "exporter.copies.s3", None)
        with pytest.raises(UsageError, match=r"blog-exporter\[s3\]"):
            open_store("s3://bucket")
