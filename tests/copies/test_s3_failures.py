"""The S3 store's messages and recovery when the service refuses, fails, repeats answers or ignores conditions."""

from __future__ import annotations

import hashlib
import io
import socket
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError, ConnectTimeoutError, NoCredentialsError, ReadTimeoutError

from exporter.copies.s3 import S3Store
from exporter.copies.store import PIECE_BYTES, content_of
from exporter.errors import BlogExporterError, NoSpace, NotAuthorised, ServiceError, Unreachable, UsageError
from tests.copies.contract import NAME
from tests.copies.s3_servers import Service

if TYPE_CHECKING:
    from types_boto3_s3 import S3Client


@pytest.fixture(scope="module")
def service(s3: Service) -> Service:
    return s3


@pytest.fixture
def client(service: Service) -> Iterator[S3Client]:
    made = service.client()
    yield made
    made.close()


def refusal(code: str, operation: str = "PutObject", attempts: int = 0) -> ClientError:
    answer: Any = {
        "Error": {"Code": code, "Message": "the service\n says so"},
        "ResponseMetadata": {"RetryAttempts": attempts},
    }
    return ClientError(answer, operation)


def always(error: Exception) -> Callable[..., Any]:
    def call(**_arguments: object) -> Any:
        raise error

    return call


def has(client: S3Client, **methods: Callable[..., Any]) -> None:
    """Replace methods of a client."""
    for name, method in methods.items():
        setattr(client, name, method)


class TestWords:
    @pytest.mark.parametrize(
        ("error", "kind", "words"),
        [
            (refusal("AccessDenied"), NotAuthorised, "refuses PutObject (AccessDenied: the service says so)"),
            (refusal("QuotaExceeded"), NoSpace, "failed at PutObject (QuotaExceeded"),
            (refusal("SlowDown"), ServiceError, "failed at PutObject (SlowDown"),
            (NoCredentialsError(), NotAuthorised, "There is no key for s3://bucket"),
            (ConnectTimeoutError(endpoint_url="http://x"), Unreachable, "Cannot reach s3://bucket"),
        ],
    )
    def test_a_failure_is_one_line(
        self, service: Service, client: S3Client, error: Exception, kind: type[BlogExporterError], words: str
    ) -> None:
        has(client, put_object=always(error))
        with pytest.raises(kind) as raised:
            S3Store(f"s3://{service.bucket()}", client).create(NAME, content_of(b"x"))
        assert words in str(raised.value)
        assert "\n" not in str(raised.value)

    def test_a_missing_bucket_is_named(self, client: S3Client) -> None:
        with pytest.raises(UsageError, match="There is no bucket no-such-bucket"):
            list(S3Store("s3://no-such-bucket", client).list())

    def test_an_unreachable_service_is_named(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
        client = boto3.client(
            "s3", endpoint_url=f"http://127.0.0.1:{port}", aws_access_key_id="KEY", aws_secret_access_key="secret",
            region_name="us-east-1", config=Config(retries={"max_attempts": 1}),
        )  # fmt: skip
        with pytest.raises(Unreachable, match="Cannot reach s3://bucket") as raised:
            list(S3Store("s3://bucket", client).list())
        assert "secret" not in str(raised.value)
        client.close()

    def test_suspended_versions_are_refused(self, service: Service, client: S3Client) -> None:
        bucket = service.bucket(versions=True)
        client.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Suspended"})
        with pytest.raises(UsageError, match="is suspended"):
            S3Store(f"s3://{bucket}", client).create(NAME, content_of(b"x"))

    def test_a_service_that_has_no_versions_need_not_know_of_them(self, service: Service, client: S3Client) -> None:
        has(client, get_bucket_versioning=always(refusal("NotImplemented")))
        store = S3Store(f"s3://{service.bucket()}", client)
        assert store.create(NAME, content_of(b"x"))
        assert not store.create(NAME, content_of(b"y"))


class TestConditions:
    def test_a_service_that_ignores_conditions_is_refused(self, service: Service, client: S3Client) -> None:
        put = client.put_object

        def careless(**arguments: Any) -> Any:
            arguments.pop("IfNoneMatch", None)
            return put(**arguments)

        has(client, put_object=careless)
        with pytest.raises(UsageError, match="ignores If-None-Match"):
            S3Store(f"s3://{service.bucket()}", client).create(NAME, content_of(b"x"))

    @pytest.mark.parametrize("locks", [False, True])
    def test_a_repeated_request_does_not_lose_against_itself(
        self, service: Service, client: S3Client, locks: bool
    ) -> None:
        store = S3Store(f"s3://{service.bucket(locks=locks)}", client)
        assert store.create(NAME, content_of(b"x"))
        has(client, put_object=always(refusal("PreconditionFailed", attempts=1)))
        assert store.create(NAME, content_of(b"x"))
        assert not store.create(NAME, content_of(b"y"))
        if not locks:
            (found,) = store.list()
            assert store.replace(NAME, b"x", found.tag)
            assert not store.replace(NAME, b"y", found.tag)

    def test_if_conditions_are_ignored_the_oldest_version_wins(self, service: Service, client: S3Client) -> None:
        store = S3Store(f"s3://{service.bucket(versions=True)}", client)
        assert store.create(NAME, content_of(b"first"))
        put = client.put_object
        has(client, put_object=lambda **arguments: put(**{**arguments, "IfNoneMatch": ""}))
        assert not store.create(NAME, content_of(b"second"))
        assert b"".join(store.read(NAME)) == b"first"

    @pytest.mark.parametrize("undeletable", [False, True])
    def test_one_of_two_concurrent_replacements_counts(
        self, service: Service, client: S3Client, monkeypatch: pytest.MonkeyPatch, undeletable: bool
    ) -> None:
        bucket = service.bucket(versions=True)
        store = S3Store(f"s3://{bucket}", client)
        assert store.replace("SHA256SUMS", b"first", None)
        (found,) = store.list()
        put, delete = client.put_object, client.delete_object

        def overtaken(**arguments: Any) -> Any:
            has(client, put_object=put)
            assert S3Store(f"s3://{bucket}", client).replace("SHA256SUMS", b"theirs", found.tag)
            if undeletable:
                has(client, delete_object=always(refusal("AccessDenied")))
            return put(**arguments)

        has(client, put_object=overtaken)
        assert not store.replace("SHA256SUMS", b"mine", found.tag)
        assert b"".join(store.read("SHA256SUMS")) == b"theirs"
        has(client, delete_object=delete)

    def test_an_object_that_cannot_be_deleted_or_locked_is_reported(self, service: Service, client: S3Client) -> None:
        store = S3Store(f"s3://{service.bucket(versions=True)}", client)
        assert store.create(NAME, content_of(b"x"))
        has(client, delete_object=always(refusal("AccessDenied", "DeleteObject")))
        with pytest.raises(NotAuthorised, match="refuses DeleteObject"):
            store.remove(NAME)


class TestReading:
    def test_a_broken_connection_is_resumed(self, service: Service, client: S3Client) -> None:
        data = b"".join(hashlib.sha256(b"%d" % number).digest() for number in range(PIECE_BYTES // 10))
        store = S3Store(f"s3://{service.bucket()}", client)
        store.create(NAME, content_of(data))
        get = client.get_object
        asked = []

        def breaking(**arguments: Any) -> Any:
            asked.append(arguments.get("Range"))
            return {"Body": Breaking(get(**arguments)["Body"], after=2 if len(asked) < 3 else 100)}

        has(client, get_object=breaking)
        assert b"".join(store.read(NAME)) == data
        assert asked == [None, f"bytes={2 * PIECE_BYTES}-", f"bytes={len(data)}-"]

    def test_one_that_always_breaks_is_an_error(self, service: Service, client: S3Client) -> None:
        store = S3Store(f"s3://{service.bucket()}", client)
        store.create(NAME, content_of(b"x"))
        has(client, get_object=lambda **_: {"Body": Breaking(io.BytesIO(), after=0)})
        with pytest.raises(Unreachable):
            list(store.read(NAME))


class Breaking(io.RawIOBase):
    """A response body whose connection breaks after some pieces."""

    def __init__(self, body: Any, after: int) -> None:
        self._body = body
        self._left = after

    def read(self, size: int = -1) -> bytes:
        if not self._left:
            raise ReadTimeoutError(endpoint_url="http://service")
        self._left -= 1
        data: bytes = self._body.read(size)
        return data

    def close(self) -> None:
        self._body.close()
