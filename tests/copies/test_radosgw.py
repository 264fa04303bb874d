"""The S3 store with Ceph's service, which ignores conditions if a bucket has versions."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from exporter.copies.s3 import S3Store
from exporter.copies.store import Store
from tests.copies.contract import StoreContract
from tests.copies.radosgw import radosgw
from tests.copies.s3_servers import Service

pytestmark = [pytest.mark.importers, pytest.mark.no_cover]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with radosgw(tmp_path_factory.mktemp("ceph")) as running:
        yield running


class TestPlainBucket(StoreContract):
    @pytest.fixture
    def store(self, service: Service) -> Iterator[Store]:
        client = service.client()
        yield S3Store(f"s3://{service.bucket()}/some/prefix", client)
        client.close()


class TestBucketWithVersions(StoreContract):
    @pytest.fixture
    def store(self, service: Service) -> Iterator[Store]:
        client = service.client()
        yield S3Store(f"s3://{service.bucket(versions=True)}", client)
        client.close()


class TestBucketWithLocks(StoreContract):
    @pytest.fixture
    def store(self, service: Service) -> Iterator[Store]:
        client = service.client()
        yield S3Store(f"s3://{service.bucket(locks=True)}/x", client)
        client.close()
