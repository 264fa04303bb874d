"""A bucket of an S3 service below a prefix: the requests that copies need, in this program's words and errors.

Everything about signing, credentials, endpoints and retries is boto3's; so are its settings, by variables
(``AWS_ACCESS_KEY_ID``, ``AWS_PROFILE``, ``AWS_ENDPOINT_URL``, …) and in ``~/.aws/config``.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import io
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import boto3
from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    HTTPClientError,
    NoCredentialsError,
    PartialCredentialsError,
)
from botocore.exceptions import (
    ConnectionError as ConnectionFailed,
)

from exporter.copies.store import PIECE, ObjectContent, content_of
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
"""How many requests may be under way at once."""
SINGLE: Final = 1 << 30
"""Up to how many bytes an object is sent by one request; S3 allows 5 GiB."""
_IN_MEMORY: Final = 8 << 20
_PART: Final = 64 << 20
_MOST_PARTS: Final = 10_000
_ATTEMPTS: Final = 6
_GONE: Final = frozenset({"NoSuchKey", "NoSuchVersion", "404", "NotFound", "MethodNotAllowed", "405"})
_BEYOND_ITS_END: Final = frozenset({"InvalidRange", "416"})
_TAKEN: Final = frozenset({"PreconditionFailed", "412", "ConditionalRequestConflict"})
_NOT_FOR_YOU: Final = frozenset(
    {
        "AccessDenied", "AllAccessDisabled", "AuthorizationHeaderMalformed", "ExpiredToken", "InvalidAccessKeyId",
        "InvalidToken", "RequestTimeTooSkewed", "SignatureDoesNotMatch", "401", "403",
    }
)  # fmt: skip
_FULL: Final = frozenset({"QuotaExceeded", "InsufficientStorage", "507", "XMinioStorageFull"})

ABSENT: Final[Mapping[str, Any]] = {"IfNoneMatch": "*"}
"""The condition that there is no such object yet."""
_UNKNOWN: Final = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class BucketObject:
    """An object, or one version of it.

    Attributes:
        name: its name below the prefix.
        size: its bytes.
        etag: without its quotation marks.
        version: the version's id, ``None`` in a bucket without versions.
        modified: when it was stored, by the service's clock; in a list of versions.
    """

    name: str
    size: int
    etag: str
    version: str | None = None
    modified: datetime = _UNKNOWN


@dataclass(frozen=True, slots=True)
class Sent:
    """What became of an object that was sent.

    Attributes:
        version: the version's id, ``None`` in a bucket without versions.
        md5: of what was sent, in hexadecimal digits, as an ETag has it; ``""`` where it was sent in parts.
        again: whether the request was repeated, so that an earlier one may have arrived as well.
    """

    version: str | None
    md5: str
    again: bool


class Taken(Exception):
    """What was sent was refused, as its condition does not hold.

    Attributes:
        md5: as in :class:`Sent`.
        again: as in :class:`Sent`.
    """

    def __init__(self, md5: str, *, again: bool) -> None:
        self.md5 = md5
        self.again = again
        super().__init__(md5)


def unchanged(etag: str) -> Mapping[str, Any]:
    """Return the condition that an object is still the one with this ETag."""
    # Without quotation marks, as Amazon's documents show it; with them Ceph finds it to be another.
    return {"IfMatch": etag}


def connect() -> S3Client:
    """Return a client of the service that boto3's own settings name.

    Raises:
        UsageError: these settings cannot be right.
    """
    config = Config(
        retries={"mode": "standard", "max_attempts": _ATTEMPTS},
        connect_timeout=20,
        read_timeout=120,
        max_pool_connections=CONNECTIONS,
        # Sums are sent with the objects; where they are not, older services know no other than MD5.
        request_checksum_calculation="when_required",
    )
    try:
        return boto3.session.Session().client("s3", config=config)
    except (BotoCoreError, ValueError) as error:
        raise UsageError(
            message("The settings of S3 (variables AWS_…, ~/.aws/config) cannot be right: {reason}", reason=str(error))
        ) from error


class Bucket:
    """What a bucket holds below a prefix. Its methods may be called from several threads at once.

    Args:
        client: of its service.
        name: the bucket's name.
        prefix: what all keys begin with, without the ``/`` behind it; ``""`` for none.
        single: up to how many bytes are sent by one request.

    Attributes:
        place: what to call it in messages.
        single: as given.
        requests: how many requests of each operation were sent, repeated ones included.
    """

    def __init__(self, client: S3Client, name: str, prefix: str, single: int = SINGLE) -> None:
        self._client = client
        self._name = name
        self.single = single
        self._versioned: bool | None = None
        self._lockable: bool | None = None
        self._counting = threading.Lock()
        self._asking = threading.Lock()
        self._prefix = f"{prefix}/" if prefix else ""
        self.place = f"s3://{name}/{prefix}" if prefix else f"s3://{name}"
        self.requests: Counter[str] = Counter()
        client.meta.events.register("before-send.s3", self._count)

    def is_versioned(self) -> bool:
        """Tell whether the bucket keeps every version of an object.

        Raises:
            UsageError: it did, and does no more: a new object would replace an old one.
        """
        with self._asking:
            if self._versioned is None:
                status = None
                with self._translated(), _unless("NotImplemented", "501"):
                    status = self._client.get_bucket_versioning(Bucket=self._name).get("Status")
                if status == "Suspended":
                    raise UsageError(
                        message("Versioning of the bucket of {place} is suspended: switch it on.", place=self.place)
                    )
                self._versioned = status == "Enabled"
            return self._versioned

    def has_object_lock(self) -> bool:
        """Tell whether versions of objects can be locked."""
        versioned = self.is_versioned()
        with self._asking:
            if self._lockable is None:
                self._lockable = False
                no_lock = ("ObjectLockConfigurationNotFoundError", "NotImplemented", "404", "501")
                with self._translated(), _unless(*no_lock):
                    if versioned:
                        answer = self._client.get_object_lock_configuration(Bucket=self._name)
                        self._lockable = answer["ObjectLockConfiguration"].get("ObjectLockEnabled") == "Enabled"
            return self._lockable

    def objects(self, prefix: str) -> Iterator[BucketObject]:
        """Yield the objects whose names begin with ``prefix``, in a bucket without versions."""
        with self._translated():
            for page in self._client.get_paginator("list_objects_v2").paginate(
                Bucket=self._name, Prefix=self._prefix + prefix
            ):
                for each in page.get("Contents", ()):
                    yield BucketObject(self._name_of(each["Key"]), each["Size"], each["ETag"].strip('"'))

    def versions(self, prefix: str) -> Iterator[BucketObject]:
        """Yield the versions of all objects whose names begin with ``prefix``: name by name, the newest first.

        Markers that say that an object was deleted are left out.
        """
        with self._translated():
            for page in self._client.get_paginator("list_object_versions").paginate(
                Bucket=self._name, Prefix=self._prefix + prefix
            ):
                for each in page.get("Versions", ()):
                    yield BucketObject(
                        self._name_of(each["Key"]),
                        each["Size"],
                        each["ETag"].strip('"'),
                        each["VersionId"],
                        each["LastModified"].astimezone(UTC),
                    )

    def head(self, name: str) -> BucketObject | None:
        """Return the object of this name in a bucket without versions, ``None`` where there is none."""
        with self._translated(), _unless(*_GONE):
            answer = self._client.head_object(Bucket=self._name, Key=self._prefix + name)
            return BucketObject(name, answer["ContentLength"], answer["ETag"].strip('"'))
        return None

    def read(self, found: BucketObject) -> Iterator[bytes]:
        """Yield an object's content in pieces; where the connection breaks, it is taken up again.

        Raises:
            NoSuchObject: it is not there.
        """
        done = 0
        for left in reversed(range(_ATTEMPTS)):
            try:
                with self._get(found, f"bytes={done}-" if done else None) as body:
                    while piece := body.read(PIECE):
                        done += len(piece)
                        yield piece
            except (ClientError, BotoCoreError) as error:
                if done and isinstance(error, ClientError) and _code(error) in _BEYOND_ITS_END:
                    # It broke behind the last byte.
                    return
                if not left or not isinstance(error, ConnectionFailed | HTTPClientError):
                    raise self._translate(error) from error
            else:
                return

    def read_range(self, found: BucketObject, start: int, length: int) -> bytes:
        """Return a part of an object; empty beyond its end.

        Raises:
            NoSuchObject: it is not there.
        """
        if not length:
            return b""
        part = f"bytes={start}-{start + length - 1}"
        with self._translated(), _unless(*_BEYOND_ITS_END), self._get(found, part) as body:
            data: bytes = body.read()
            return data
        return b""

    def put(
        self, name: str, content: ObjectContent, condition: Mapping[str, Any] = ABSENT, until: datetime | None = None
    ) -> Sent:
        """Send an object, whole or not at all.

        Args:
            name: its name.
            content: what to send. SHA-256 and MD5 go with it, so that the service compares what arrives.
            condition: :data:`ABSENT`, :func:`unchanged`, or none. Services that keep versions may take no notice.
            until: when the lock of the new version ends, where it gets one.

        Raises:
            Taken: the condition does not hold.
            ArchiveDamaged: the content is not what was vouched for; nothing was sent.
        """
        if content.size > self.single:
            return self._put_parts(name, content, condition)
        sent = _Sums(content)
        lock: dict[str, Any] = (
            {} if until is None else {"ObjectLockMode": "COMPLIANCE", "ObjectLockRetainUntilDate": until}
        )
        with self._translated(), sent.body() as body:
            try:
                answer = self._client.put_object(
                    Bucket=self._name, Key=self._prefix + name, Body=body, ContentLength=content.size,
                    ContentMD5=sent.md5, ChecksumSHA256=sent.sha256, **condition, **lock,
                )  # fmt: skip
            except ClientError as error:
                if _code(error) in _TAKEN or ("IfMatch" in condition and _code(error) in _GONE):
                    raise Taken(sent.etag, again=_repeated(error.response)) from error
                raise
        return Sent(answer.get("VersionId"), sent.etag, _repeated(answer))

    def delete(self, found: BucketObject) -> None:
        """Delete an object, or one version of it for good."""
        with self._translated(), _unless(*_GONE):
            self._client.delete_object(Bucket=self._name, Key=self._prefix + found.name, **_version(found))

    def locked_until(self, found: BucketObject) -> datetime | None:
        """Return when the lock of a version ends that nobody can take off; ``None`` where it has none.

        Raises:
            NoSuchObject: it is not there.
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
        """Lock a version, or have its lock end later."""
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
        """Send a large object in parts, each with its sums; it appears when all are there."""
        where: dict[str, Any] = {"Bucket": self._name, "Key": self._prefix + name}
        with self._translated():
            if "IfNoneMatch" in condition and self.head(name) is not None:
                # Not every service asks so when the parts become an object.
                raise Taken("", again=False)
            upload = {**where, "UploadId": self._client.create_multipart_upload(**where)["UploadId"]}
            try:
                parts: list[CompletedPartTypeDef] = []
                for number, part in enumerate(_parts(content, max(_PART, -(-content.size // _MOST_PARTS))), 1):
                    sums = _Sums(content_of(part))
                    answer = self._client.upload_part(
                        PartNumber=number, Body=part, ContentMD5=sums.md5, **upload
                    )  # fmt: skip
                    parts.append({"PartNumber": number, "ETag": answer["ETag"]})
                done = self._client.complete_multipart_upload(
                    MultipartUpload={"Parts": parts}, **upload, **condition
                )  # fmt: skip
            except BaseException as error:
                with contextlib.suppress(ClientError, BotoCoreError):
                    self._client.abort_multipart_upload(**upload)
                if isinstance(error, ClientError) and _code(error) in _TAKEN:
                    raise Taken("", again=_repeated(error.response)) from error
                raise
        return Sent(done.get("VersionId"), "", _repeated(done))

    def _name_of(self, key: str) -> str:
        return key.removeprefix(self._prefix)

    def _count(self, event_name: str = "", **_: object) -> None:
        with self._counting:
            self.requests[event_name.rpartition(".")[2]] += 1

    def _missing(self, error: ClientError, found: BucketObject) -> Exception:
        return NoSuchObject(self.place, found.name) if _code(error) in _GONE else error

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (ClientError, BotoCoreError) as error:
            raise self._translate(error) from error

    def _translate(self, error: ClientError | BotoCoreError) -> BlogExporterError:
        if isinstance(error, NoCredentialsError | PartialCredentialsError):
            return NotAuthorised(
                message(
                    "There is no key for {place}: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE.",
                    place=self.place,
                )
            )
        if not isinstance(error, ClientError):
            cause = getattr(error, "kwargs", {}).get("error")
            if isinstance(cause, BlogExporterError):
                return cause
            return Unreachable(
                message("{place} cannot be reached: {reason}", place=self.place, reason=" ".join(str(error).split()))
            )
        code = _code(error)
        answer = error.response.get("Error", {})
        said = " ".join(str(answer.get("Message") or code).split())
        if code == "NoSuchBucket":
            return UsageError(
                message("There is no bucket {bucket}; make it first, or give another.", bucket=self._name)
            )
        if code in _NOT_FOR_YOU:
            return NotAuthorised(
                message(
                    "{place} refuses {operation} ({code}: {said}): check the key, and what it is allowed to do.",
                    place=self.place,
                    operation=error.operation_name,
                    code=code,
                    said=said,
                )
            )
        kind = NoSpace if code in _FULL else ServiceError
        return kind(
            message(
                "{place} failed at {operation} ({code}: {said}); run it again.",
                place=self.place,
                operation=error.operation_name,
                code=code,
                said=said,
            )
        )


class _Sums:
    """ObjectContent with its sums, which take a first reading; what is small stays in memory for the second."""

    def __init__(self, content: ObjectContent) -> None:
        sha256 = hashlib.sha256()
        md5 = hashlib.md5(usedforsecurity=False)
        kept = io.BytesIO() if content.size <= _IN_MEMORY else None
        for piece in content.pieces():
            sha256.update(piece)
            md5.update(piece)
            if kept is not None:
                kept.write(piece)
        self._content = content
        self._kept = kept
        self.sha256 = base64.b64encode(sha256.digest()).decode()
        self.md5 = base64.b64encode(md5.digest()).decode()
        self.etag = md5.hexdigest()

    def body(self) -> contextlib.closing[Any]:
        """Return what boto3 reads, and reads again where it repeats a request."""
        if self._kept is None:
            return contextlib.closing(_Body(self._content))
        self._kept.seek(0)
        return contextlib.closing(self._kept)


class _Body(io.RawIOBase):
    """ObjectContent as a file that can be gone back in: to its beginning, or to where it has been read to."""

    def __init__(self, content: ObjectContent) -> None:
        self._content = content
        self._at = 0
        self._start()

    def _start(self) -> None:
        self._pieces = self._content.pieces()
        self._left = memoryview(b"")

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move: reading from another place than the beginning or the last one is not asked for, and gives nothing."""
        self._at = offset + (self._content.size if whence == io.SEEK_END else self._at if whence == io.SEEK_CUR else 0)
        if not self._at:
            self._start()
        return self._at

    def readinto(self, buffer: Any) -> int:
        """Read on."""
        if not self._left and self._at < self._content.size:
            self._left = memoryview(next(self._pieces, b""))
        taken = self._left[: len(buffer)]
        buffer[: len(taken)] = taken
        self._left = self._left[len(taken) :]
        self._at += len(taken)
        return len(taken)


def _parts(content: ObjectContent, size: int) -> Iterator[bytes]:
    """Yield content in parts of ``size`` bytes, the last perhaps smaller."""
    part = bytearray()
    for piece in content.pieces():
        part += piece
        while len(part) >= size:
            yield bytes(part[:size])
            del part[:size]
    if part:
        yield bytes(part)


def _version(found: BucketObject) -> dict[str, Any]:
    return {} if found.version is None else {"VersionId": found.version}


def _code(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))


def _repeated(answer: Any) -> bool:
    return bool(answer.get("ResponseMetadata", {}).get("RetryAttempts", 0))


class _unless:  # noqa: N801 - read as a word of its block
    """Go on behind the block where the service answers with one of these."""

    def __init__(self, *codes: str) -> None:
        self._codes = codes

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> bool:
        """Swallow what was named."""
        return isinstance(error, ClientError) and _code(error) in self._codes
