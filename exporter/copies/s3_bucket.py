"""The S3 requests that copies need, for a bucket below a prefix, with this program's errors.

boto3 signs requests, finds credentials and endpoints, and retries. Its settings apply: the variables
(``AWS_ACCESS_KEY_ID``, ``AWS_PROFILE``, ``AWS_ENDPOINT_URL``, …) and ``~/.aws/config``.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import tempfile
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError, NoCredentialsError, PartialCredentialsError
from botocore.exceptions import ConnectionError as ConnectionFailed

from exporter.archive import atomic
from exporter.copies.store import PIECE_BYTES, ObjectContent
from exporter.errors import (
    BlogExporterError,
    NoSpace,
    NoSuchObject,
    NotAuthorised,
    ServiceError,
    Unreachable,
    UsageError,
)
from exporter.message import message

if TYPE_CHECKING:
    from types_boto3_s3 import S3Client
    from types_boto3_s3.type_defs import CompletedPartTypeDef

CONNECTIONS: Final = 16
"""The limit of requests at the same time."""
MAX_SINGLE_BYTES: Final = 1 << 30
"""The largest size, in bytes, that one request sends; S3 allows 5 GiB."""
_IN_MEMORY_BYTES: Final = 8 << 20
_PART_BYTES: Final = 64 << 20
_MAX_PARTS: Final = 10_000
_ATTEMPTS: Final = 6
_GONE: Final = frozenset({"NoSuchKey", "NoSuchVersion", "404", "NotFound", "MethodNotAllowed", "405"})
_BEYOND_THE_END: Final = frozenset({"InvalidRange", "416"})
_TAKEN: Final = frozenset({"PreconditionFailed", "412", "ConditionalRequestConflict"})
_REFUSED: Final = frozenset(
    {
        "AccessDenied", "AllAccessDisabled", "AuthorizationHeaderMalformed", "ExpiredToken", "InvalidAccessKeyId",
        "InvalidToken", "RequestTimeTooSkewed", "SignatureDoesNotMatch", "401", "403",
    }
)  # fmt: skip
_FULL: Final = frozenset({"QuotaExceeded", "InsufficientStorage", "507", "XMinioStorageFull"})

ABSENT: Final[Mapping[str, Any]] = {"IfNoneMatch": "*"}
"""The condition that the name is free."""
_UNKNOWN: Final = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class BucketObject:
    """An object, or one version of it.

    Attributes:
        name: the name below the prefix.
        size: the number of bytes.
        etag: the ETag without quotation marks.
        version: the version's id; ``None`` in a bucket without versions.
        modified: the time of storing by the service's clock, if the object comes from a list of versions.
    """

    name: str
    size: int
    etag: str
    version: str | None = None
    modified: datetime = _UNKNOWN


@dataclass(frozen=True, slots=True)
class Sent:
    """The answer to an object that was sent.

    Attributes:
        version: the version's id; ``None`` in a bucket without versions.
        md5: the content's MD5 in hexadecimal digits, as an ETag has it; empty if it was sent in parts.
        again: whether boto3 repeated the request, so that an earlier one may have succeeded.
        taken: whether the service refused the object, because its condition does not hold.
    """

    version: str | None
    md5: str
    again: bool
    taken: bool = False


def unchanged(etag: str) -> Mapping[str, Any]:
    """Return the condition that an object still has this ETag."""
    # Amazon's documents show the ETag without quotation marks, and Ceph accepts no other form.
    return {"IfMatch": etag}


def connect() -> S3Client:
    """Return a client with boto3's settings.

    Raises:
        UsageError: the settings are invalid.
    """
    config = Config(
        retries={"mode": "standard", "max_attempts": _ATTEMPTS},
        connect_timeout=20,
        read_timeout=120,
        max_pool_connections=CONNECTIONS,
        # This program sends its own hashes; older services support no hash but MD5.
        request_checksum_calculation="when_required",
    )
    try:
        return boto3.session.Session().client("s3", config=config)
    except (BotoCoreError, ValueError) as error:
        raise UsageError(
            "The settings of S3 (variables AWS_…, ~/.aws/config) are wrong: {reason}", reason=str(error)
        ) from error


class Bucket:
    """A bucket below a prefix. Several threads may call its methods at once.

    Args:
        client: the client of the service.
        name: the bucket's name.
        prefix: the start of all keys without the last ``/``; empty for the whole bucket.
        single: the largest size, in bytes, that one request sends.

    Attributes:
        place: the address, for messages.
        single: as given.
    """

    def __init__(self, client: S3Client, name: str, prefix: str, single: int = MAX_SINGLE_BYTES) -> None:
        self._client = client
        self._name = name
        self.single = single
        self._versioned: bool | None = None
        self._lockable: bool | None = None
        self._asking = threading.Lock()
        self._prefix = f"{prefix}/" if prefix else ""
        self.place = f"s3://{name}/{prefix}" if prefix else f"s3://{name}"

    def is_versioned(self) -> bool:
        """Return whether the bucket keeps every version of an object.

        Raises:
            UsageError: versioning is suspended, so a new object would replace an old one.
        """
        with self._asking:
            if self._versioned is None:
                status = None
                with self._translated(), _ignored("NotImplemented", "501"):
                    status = self._client.get_bucket_versioning(Bucket=self._name).get("Status")
                if status == "Suspended":
                    raise UsageError(
                        "Versioning of the bucket of {place} is suspended: switch it on.", place=self.place
                    )
                self._versioned = status == "Enabled"
            return self._versioned

    def has_object_lock(self) -> bool:
        """Return whether objects can be locked."""
        versioned = self.is_versioned()
        with self._asking:
            if self._lockable is None:
                self._lockable = False
                no_lock = ("ObjectLockConfigurationNotFoundError", "NotImplemented", "404", "501")
                with self._translated(), _ignored(*no_lock):
                    if versioned:
                        answer = self._client.get_object_lock_configuration(Bucket=self._name)
                        self._lockable = answer["ObjectLockConfiguration"].get("ObjectLockEnabled") == "Enabled"
            return self._lockable

    def objects(self, prefix: str) -> Iterator[BucketObject]:
        """Yield the objects whose names start with ``prefix``, in a bucket without versions."""
        with self._translated():
            pages = self._client.get_paginator("list_objects_v2")
            for page in pages.paginate(Bucket=self._name, Prefix=self._prefix + prefix):
                for each in page.get("Contents", ()):
                    yield BucketObject(self._name_of(each["Key"]), each["Size"], each["ETag"].strip('"'))

    def versions(self, prefix: str) -> Iterator[BucketObject]:
        """Yield the versions of all objects whose names start with ``prefix``: name by name, newest first.

        Delete markers are omitted.
        """
        with self._translated():
            pages = self._client.get_paginator("list_object_versions")
            for page in pages.paginate(Bucket=self._name, Prefix=self._prefix + prefix):
                for each in page.get("Versions", ()):
                    yield BucketObject(
                        self._name_of(each["Key"]),
                        each["Size"],
                        each["ETag"].strip('"'),
                        each["VersionId"],
                        each["LastModified"].astimezone(UTC),
                    )

    def head(self, name: str) -> BucketObject | None:
        """Return an object in a bucket without versions; ``None`` if it does not exist."""
        with self._translated(), _ignored(*_GONE):
            answer = self._client.head_object(Bucket=self._name, Key=self._prefix + name)
            return BucketObject(name, answer["ContentLength"], answer["ETag"].strip('"'))
        return None

    def read(self, found: BucketObject) -> Iterator[bytes]:
        """Yield an object's content in pieces, and resume after a broken connection.

        Raises:
            NoSuchObject: the object does not exist.
        """
        done = 0
        for left in reversed(range(_ATTEMPTS)):
            try:
                with self._get(found, f"bytes={done}-" if done else None) as body:
                    while piece := body.read(PIECE_BYTES):
                        done += len(piece)
                        yield piece
            except (ClientError, BotoCoreError) as error:
                if done and isinstance(error, ClientError) and _code(error) in _BEYOND_THE_END:
                    # The connection broke after the last byte.
                    return
                if not left or not isinstance(error, ConnectionFailed | HTTPClientError):
                    raise self._translate(error) from error
            else:
                return

    def read_start(self, found: BucketObject, length: int) -> bytes:
        """Return the first bytes of an object.

        Raises:
            NoSuchObject: the object does not exist.
        """
        with self._translated(), _ignored(*_BEYOND_THE_END), self._get(found, f"bytes=0-{length - 1}") as body:
            data: bytes = body.read()
            return data
        return b""

    def put(
        self, name: str, content: ObjectContent, condition: Mapping[str, Any] = ABSENT, until: datetime | None = None
    ) -> Sent:
        """Store an object completely or not at all, unless the condition does not hold.

        Args:
            name: the name.
            content: the content. The service verifies it by SHA-256 and MD5.
            condition: :data:`ABSENT`, :func:`unchanged`, or none. Services with versions may ignore it.
            until: the end of the new version's lock.

        Raises:
            ArchiveDamaged: the content failed its check; nothing was stored.
        """
        if content.size > self.single:
            return self._put_parts(name, content, condition)
        lock: dict[str, Any] = {}
        if until is not None:
            lock = {"ObjectLockMode": "COMPLIANCE", "ObjectLockRetainUntilDate": until}
        with _spooled(content.pieces()) as (body, sha256, md5), self._translated():
            etag = md5.hex()
            try:
                answer = self._client.put_object(
                    Bucket=self._name, Key=self._prefix + name, Body=body, ContentLength=content.size,
                    ContentMD5=_base64(md5), ChecksumSHA256=_base64(sha256), **condition, **lock,
                )  # fmt: skip
            except ClientError as error:
                if _code(error) in _TAKEN or ("IfMatch" in condition and _code(error) in _GONE):
                    return Sent(None, etag, _repeated(error.response), taken=True)
                raise
        return Sent(answer.get("VersionId"), etag, _repeated(answer))

    def delete(self, found: BucketObject) -> None:
        """Delete an object, or one version of it permanently."""
        with self._translated(), _ignored(*_GONE):
            self._client.delete_object(Bucket=self._name, Key=self._prefix + found.name, **_version(found))

    def locked_until(self, found: BucketObject) -> datetime | None:
        """Return the end of a version's lock in COMPLIANCE mode; ``None`` without such a lock.

        Raises:
            NoSuchObject: the version does not exist.
        """
        with self._translated():
            try:
                answer = self._client.head_object(Bucket=self._name, Key=self._prefix + found.name, **_version(found))
            except ClientError as error:
                raise self._missing(error, found) from error
        if answer.get("ObjectLockMode") != "COMPLIANCE":
            return None
        return answer["ObjectLockRetainUntilDate"].astimezone(UTC)

    def lock_version(self, found: BucketObject, until: datetime) -> None:
        """Lock a version, or extend its lock."""
        with self._translated():
            self._client.put_object_retention(
                Bucket=self._name,
                Key=self._prefix + found.name,
                Retention={"Mode": "COMPLIANCE", "RetainUntilDate": until},
                **_version(found),
            )

    def _get(self, found: BucketObject, part: str | None) -> contextlib.closing[Any]:
        asked: dict[str, Any] = {} if part is None else {"Range": part}
        try:
            answer = self._client.get_object(
                Bucket=self._name, Key=self._prefix + found.name, **asked, **_version(found)
            )
        except ClientError as error:
            raise self._missing(error, found) from error
        return contextlib.closing(answer["Body"])

    def _put_parts(self, name: str, content: ObjectContent, condition: Mapping[str, Any]) -> Sent:
        """Store a large object in parts; it appears when all parts are complete."""
        where: dict[str, Any] = {"Bucket": self._name, "Key": self._prefix + name}
        with self._translated():
            if "IfNoneMatch" in condition and self.head(name) is not None:
                # Some services do not check the condition when they join the parts.
                return Sent(None, "", again=False, taken=True)
            upload = {**where, "UploadId": self._client.create_multipart_upload(**where)["UploadId"]}
            try:
                parts: list[CompletedPartTypeDef] = []
                for number, part in enumerate(_parts(content, max(_PART_BYTES, -(-content.size // _MAX_PARTS))), 1):
                    md5 = _base64(hashlib.md5(part, usedforsecurity=False).digest())
                    answer = self._client.upload_part(PartNumber=number, Body=part, ContentMD5=md5, **upload)
                    parts.append({"PartNumber": number, "ETag": answer["ETag"]})
                done = self._client.complete_multipart_upload(
                    MultipartUpload={"Parts": parts}, **upload, **condition
                )  # fmt: skip
            except BaseException as error:
                with contextlib.suppress(ClientError, BotoCoreError):
                    self._client.abort_multipart_upload(**upload)
                if isinstance(error, ClientError) and _code(error) in _TAKEN:
                    return Sent(None, "", _repeated(error.response), taken=True)
                raise
        return Sent(done.get("VersionId"), "", _repeated(done))

    def _name_of(self, key: str) -> str:
        return key.removeprefix(self._prefix)

    def _missing(self, error: ClientError, found: BucketObject) -> Exception:
        return NoSuchObject(self.place, found.name) if _code(error) in _GONE else error

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (ClientError, BotoCoreError) as error:
            raise self._translate(error) from error

    def _translate(self, error: ClientError | BotoCoreError) -> BlogExporterError:
        place = self.place
        if isinstance(error, NoCredentialsError | PartialCredentialsError):
            return NotAuthorised(
                "There is no key for {place}: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE.",
                place=place,
            )
        if not isinstance(error, ClientError):
            return Unreachable("Cannot reach {place}: {reason}", place=place, reason=_line(error))
        code = _code(error)
        said = _line(error.response.get("Error", {}).get("Message") or code)
        values = {"place": place, "operation": error.operation_name, "code": code, "said": said}
        if code == "NoSuchBucket":
            return UsageError("There is no bucket {bucket}; make it first, or give another.", bucket=self._name)
        if code in _REFUSED:
            return NotAuthorised(
                "{place} refuses {operation} ({code}: {said}): check the key and its permissions.", **values
            )
        kind = NoSpace if code in _FULL else ServiceError
        return kind(message("{place} failed at {operation} ({code}: {said}); run it again.", **values))


@contextlib.contextmanager
def _spooled(pieces: Iterator[bytes]) -> Iterator[tuple[IO[bytes], bytes, bytes]]:
    """Yield a temporary file with a content, in memory if it is small, and its SHA-256 and MD5."""
    sha256 = hashlib.sha256()
    md5 = hashlib.md5(usedforsecurity=False)
    with tempfile.SpooledTemporaryFile(_IN_MEMORY_BYTES) as file:
        for piece in pieces:
            sha256.update(piece)
            md5.update(piece)
            with atomic.translated(Path(tempfile.gettempdir())):
                file.write(piece)
        file.seek(0)
        yield file, sha256.digest(), md5.digest()


def _parts(content: ObjectContent, size: int) -> Iterator[bytes]:
    """Yield content in parts of ``size`` bytes; the last may be smaller."""
    part = bytearray()
    for piece in content.pieces():
        part += piece
        while len(part) >= size:
            yield bytes(part[:size])
            del part[:size]
    if part:
        yield bytes(part)


def _base64(digest: bytes) -> str:
    return base64.b64encode(digest).decode()


def _line(text: object) -> str:
    return " ".join(str(text).split())


def _version(found: BucketObject) -> dict[str, Any]:
    return {} if found.version is None else {"VersionId": found.version}


def _code(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))


def _repeated(answer: Any) -> bool:
    return bool(answer.get("ResponseMetadata", {}).get("RetryAttempts", 0))


class _ignored:  # noqa: N801 - used like a function
    """Suppress the service's errors with these codes."""

    def __init__(self, *codes: str) -> None:
        self._codes = codes

    def __enter__(self) -> None: ...

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> bool:
        return isinstance(error, ClientError) and _code(error) in self._codes
