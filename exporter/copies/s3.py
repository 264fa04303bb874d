"""Store a copy in an S3 bucket, with or without versions, and find the genuine version of each object.

In a bucket without versions, an object is created on the condition that the name is free (``If-None-Match``). A bucket
with versions may ignore conditions, as Ceph does. There the order of versions decides: **an object's oldest
version is genuine**, even if an attacker with write access stored others over it or deleted it. A writer that finds an
older version has lost. These files are mutable:

- ``runs.jsonl``, ``forgotten.jsonl`` and the owner's records only grow, so the genuine version begins with all
  earlier genuine versions.
- ``SHA256SUMS`` is the newest version that agrees with ``archive.json`` and ``runs.jsonl``.

In an encrypted copy, versions without the writer's proof are ignored.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from itertools import groupby
from typing import TYPE_CHECKING, Final

from exporter.archive.layout import OWNER_RECORDS, is_inside
from exporter.archive.manifest import read_sums
from exporter.archive.safe_files import MAX_CACHE_BYTES
from exporter.copies.s3_bucket import ABSENT, MAX_SINGLE_BYTES, Bucket, BucketObject, Sent, connect, unchanged
from exporter.copies.store import S3_SCHEME, ObjectContent, Store, StoredObject, content_of
from exporter.errors import NoSuchObject, NotAuthorised, UsageError

if TYPE_CHECKING:
    from types_boto3_s3 import S3Client

_BUCKET_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,254}")
_NAMED_BY_CONTENT: Final = re.compile(r"(?:.*/)?assets/", re.DOTALL)
_LOG, _NOTES, _SEAL, _INFO = "runs.jsonl", "forgotten.jsonl", "SHA256SUMS", "archive.json"
_GROWING: Final = (_LOG, _NOTES, *OWNER_RECORDS)
_LOGS: Final = "|".join(map(re.escape, _GROWING))
_MUTABLE: Final = re.compile(
    rf"(?P<folder>(?:.*/)?)(?P<file>{_LOGS}|{_SEAL}|versions\.new\.json)(?P<ending>(?:\.age)?)",
    re.DOTALL,
)
_OF_A_PRUNE: Final = re.compile(r"(?:.*/)?versions\.new(?:/.*|\.json(?:\.age)?)", re.DOTALL)
_OF_A_VERSION: Final = re.compile(r"(?:.*/)?(?:versions(?:\.new)?|captures|evidence)/[0-9]+/", re.DOTALL)


def is_mutable(name: str) -> bool:
    """Return whether the object with this name can be replaced, in an archive or a fleet."""
    found = _MUTABLE.fullmatch(name)
    return found is not None and _OF_A_VERSION.fullmatch(found["folder"]) is None


def is_of_a_prune(name: str) -> bool:
    """Return whether an object with this name belongs to the prune of a copy."""
    return _OF_A_PRUNE.fullmatch(name) is not None


class S3Store(Store):
    """A store in a bucket, whose objects can be locked.

    Args:
        address: ``s3://bucket`` or ``s3://bucket/prefix``.
        client: the client; by default one with boto3's settings.
        single: the largest size, in bytes, that one request sends.

    Raises:
        UsageError: the address or the settings are invalid.
    """

    def __init__(self, address: str, client: S3Client | None = None, single: int = MAX_SINGLE_BYTES) -> None:
        name, _, prefix = address[len(S3_SCHEME) :].partition("/")
        prefix = prefix.rstrip("/")
        if not _BUCKET_NAME.fullmatch(name) or (prefix and not is_inside(prefix)):
            raise UsageError(
                "{address} is not an address of a copy: give one such as s3://bucket/prefix.", address=address
            )
        self._bucket = Bucket(client or connect(), name, prefix, single)
        self._guard = threading.Lock()
        self._genuine: dict[str, BucketObject] = {}
        self._judged: dict[str, tuple[str | None, int, BucketObject]] = {}
        self._decrypt: Callable[[str, bytes], bytes | None] = lambda _name, data: data
        self._lock_ends: dict[str | None, datetime] = {}
        self._lock_until: datetime | None = None
        self._obeys_conditions = False

    @property
    def place(self) -> str:
        """The address."""
        return self._bucket.place

    def list(self, prefix: str = "") -> Iterator[StoredObject]:
        """Yield the objects whose names start with ``prefix``."""
        if not self._bucket.is_versioned():
            for each in self._bucket.objects(prefix):
                yield StoredObject(each.name, each.size, each.etag)
            return
        for name, versions in self._by_name(prefix):
            if is_mutable(name):
                yield StoredObject(name, None, versions[0].version or "")
            else:
                self._note(versions[-1])
                yield StoredObject(name, versions[-1].size, versions[-1].version or "")

    def read(self, name: str) -> Iterator[bytes]:
        """Yield the content of an object."""
        yield from self._bucket.read(self._find(name))

    def read_start(self, name: str, length: int) -> bytes:
        """Request and return an object's first bytes."""
        return self._bucket.read_start(self._find(name), length)

    def create(self, name: str, content: ObjectContent) -> bool:
        """Store an object if the name is free, with a lock if :meth:`lock_new_objects` was called."""
        if self._is_hidden(name):
            raise UsageError(
                "{place} is in a bucket with object lock, so no copy there can be pruned.", place=self.place
            )
        versioned = self._bucket.is_versioned()
        until = None if is_mutable(name) else self._lock_until
        sent = self._bucket.put(name, content, until=until)
        if sent.taken:
            return self._stored_itself(name, sent)
        if versioned:
            created = bool(_NAMED_BY_CONTENT.match(name)) or self._is_first(name, sent)
        else:
            created = True
            self._test_condition(name, content)
        if until is not None and content.size <= self._bucket.single:
            with self._guard:
                self._lock_ends[sent.version] = until
        return created

    def replace(self, name: str, content: bytes, tag: str | None) -> bool:
        """Replace the object that has ``tag``."""
        if not self._bucket.is_versioned():
            sent = self._bucket.put(name, content_of(content), ABSENT if tag is None else unchanged(tag))
            return not sent.taken or self._stored_itself(name, sent)
        before = self._versions(name)
        if (before[0].version if before else None) != tag:
            return False
        sent = self._bucket.put(name, content_of(content), {})
        after = [each.version for each in self._versions(name)]
        position = after.index(sent.version)
        if after[position + 1 : position + 2] != ([] if tag is None else [tag]):
            self._undo(name, sent, before)
            return False
        self._forget(name)
        for each in before:
            self._delete_if_allowed(each)
        return True

    def remove(self, name: str) -> None:
        """Remove an object with all its versions; locked versions stay, and so does the object."""
        found = self._versions(name) if self._bucket.is_versioned() else [BucketObject(name, 0, "")]
        self._forget(name)
        for each in found:
            try:
                self._bucket.delete(each)
            except NotAuthorised:
                if each.version is None or self._bucket.locked_until(each) is None:
                    raise

    def lock_end(self, name: str) -> datetime | None:
        """Return when the last lock of a version of an object ends."""
        if not self._bucket.has_object_lock():
            return None
        ends = [end for each in self._versions(name) if (end := self._bucket.locked_until(each)) is not None]
        return max(ends, default=None)

    def decrypt_states_with(self, decrypt: Callable[[str, bytes], bytes | None]) -> None:
        """Set how the versions of mutable files are decrypted."""
        self._decrypt = decrypt

    def can_lock(self) -> bool:
        """Return whether this bucket has object lock."""
        return self._bucket.has_object_lock()

    def lock_new_objects(self, until: datetime) -> None:
        """Lock each object that is created from now on.

        Raises:
            UsageError: the bucket has no object lock.
        """
        if not self.can_lock():
            raise UsageError(
                "The bucket of {place} has no object lock: create one with it. Most services cannot add it later.",
                place=self.place,
            )
        self._lock_until = until

    def lockable(self) -> Iterator[BucketObject]:
        """Yield the genuine version of each object."""
        for name, versions in self._by_name(""):
            yield self._genuine_state(name, versions) if is_mutable(name) else versions[-1]

    def locked_until(self, found: BucketObject, *, ask: bool = False) -> datetime | None:
        """Return the end of a lock; ``None`` for an unlocked object.

        Args:
            found: the object.
            ask: ask the service also about locks that this store has set.

        Raises:
            NoSuchObject: the object does not exist.
        """
        known = None if ask else self._lock_ends.get(found.version)
        return self._bucket.locked_until(found) if known is None else known

    def lock(self, found: BucketObject, until: datetime) -> None:
        """Lock an object, or extend its lock.

        Raises:
            NoSuchObject: the object does not exist.
            NotAuthorised: the present lock ends later.
        """
        self._bucket.lock_version(found, until)

    def _by_name(self, prefix: str) -> Iterator[tuple[str, Sequence[BucketObject]]]:
        """Yield the name and the versions, newest first, of each object that is not hidden."""
        for name, group in groupby(self._bucket.versions(prefix), lambda each: each.name):
            versions = [*group]
            if not self._is_hidden(name):
                yield name, versions

    def _versions(self, name: str) -> Sequence[BucketObject]:
        """Return an object's versions, newest first."""
        found = []
        for each in self._bucket.versions(name):
            if each.name != name:
                # The list is sorted: longer names with this prefix follow.
                break
            found.append(each)
        return found

    def _find(self, name: str) -> BucketObject:
        """Return the genuine version of an object.

        Raises:
            NoSuchObject: the object does not exist.
        """
        if not self._bucket.is_versioned():
            return BucketObject(name, 0, "")
        if name in self._genuine:
            return self._genuine[name]
        versions = [] if self._is_hidden(name) else self._versions(name)
        if not versions:
            raise NoSuchObject(self.place, name)
        if is_mutable(name):
            return self._genuine_state(name, versions)
        self._note(versions[-1])
        return versions[-1]

    def _is_hidden(self, name: str) -> bool:
        """Return whether an object belongs to a prune, which a bucket with object lock never has."""
        return is_of_a_prune(name) and self._bucket.has_object_lock()

    def _genuine_state(self, name: str, versions: Sequence[BucketObject]) -> BucketObject:
        """Return the genuine version of a mutable file."""
        if len(versions) == 1:
            return versions[0]
        key = versions[0].version, len(versions)
        known = self._judged.get(name)
        if known is None or known[:2] != key:
            known = key[0], key[1], self._judge(name, versions)
            with self._guard:
                self._judged[name] = known
        return known[2]

    def _judge(self, name: str, versions: Sequence[BucketObject]) -> BucketObject:
        found = _MUTABLE.fullmatch(name)
        if found is not None and found["file"] in _GROWING:
            return self._judge_log(versions)
        if found is not None and found["file"] == _SEAL:
            others = {each: f"{found['folder']}{each}{found['ending']}" for each in (_LOG, _INFO)}
            with contextlib.suppress(NoSuchObject):
                contents = {each: self._content(self._find(other)) for each, other in others.items()}
                wanted = {each: hashlib.sha256(data).hexdigest() for each, data in contents.items() if data is not None}
                for version in versions if len(wanted) == len(contents) else ():
                    stated = read_sums(self._content(version) or b"")
                    if all(stated.get(each) == digest for each, digest in wanted.items()):
                        return version
        return versions[0]

    def _judge_log(self, versions: Sequence[BucketObject]) -> BucketObject:
        """Return the longest version that begins with all genuine versions before it."""
        content = self._content(versions[0])
        if content is not None and all(_begins_with(content, each) for each in versions[1:]):
            return versions[0]
        genuine, content = versions[0], None
        for each in reversed(versions):
            if content is not None and each.size <= len(content):
                continue
            later = self._content(each)
            if later is not None and (content is None or (len(later) > len(content) and later.startswith(content))):
                genuine, content = each, later
        return genuine

    def _content(self, found: BucketObject) -> bytes | None:
        """Return the decrypted content of a version; ``None`` if another writer made it."""
        return None if found.size > MAX_CACHE_BYTES else self._decrypt(found.name, self._whole(found))

    def _whole(self, found: BucketObject) -> bytes:
        return b"".join(self._bucket.read(found))

    def _stored_itself(self, name: str, sent: Sent) -> bool:
        """Return whether a repeated request was refused because of the object that it had stored itself."""
        if not sent.again:
            return False
        if self._bucket.is_versioned():
            return [each.etag for each in self._versions(name)[-1:]] == [sent.md5]
        found = self._bucket.head(name)
        return found is not None and found.etag == sent.md5

    def _is_first(self, name: str, sent: Sent) -> bool:
        """Return whether the sent version is the oldest one; otherwise delete it."""
        oldest = self._versions(name)[-1]
        if oldest.version == sent.version:
            self._note(oldest)
            return True
        self._delete_if_allowed(BucketObject(name, 0, "", sent.version))
        return sent.again and oldest.etag == sent.md5

    def _undo(self, name: str, sent: Sent, before: Sequence[BucketObject]) -> None:
        """Delete a replacement that came too late, or store the other writer's content over it."""
        self._delete_if_allowed(BucketObject(name, 0, "", sent.version))
        now = self._versions(name)
        if now and now[0].version == sent.version:
            others = [each for each in now[1:] if each not in before] or now[1:]
            for each in others[:1]:
                self._bucket.put(name, content_of(self._whole(each)), {})

    def _delete_if_allowed(self, found: BucketObject) -> None:
        with contextlib.suppress(NotAuthorised):
            self._bucket.delete(found)

    def _note(self, found: BucketObject) -> None:
        with self._guard:
            self._genuine[found.name] = found

    def _forget(self, name: str) -> None:
        with self._guard:
            self._genuine.pop(name, None)

    def _test_condition(self, name: str, content: ObjectContent) -> None:
        """Once, send an object again, which a service that obeys conditions refuses.

        Raises:
            UsageError: the service ignores the condition, so that two writers might overwrite each other.
        """
        if self._obeys_conditions or content.size > self._bucket.single:
            return
        self._obeys_conditions = self._bucket.put(name, content).taken
        if not self._obeys_conditions:
            raise UsageError(
                "The service of {place} ignores If-None-Match, so a copy could be overwritten there: use a bucket with "
                "versions.",
                place=self.place,
            )


def _begins_with(content: bytes, earlier: BucketObject) -> bool:
    """Return whether a content begins with a version, by its ETag, which is an MD5 in nearly all services."""
    beginning = memoryview(content)[: earlier.size]
    return len(beginning) == earlier.size and hashlib.md5(beginning, usedforsecurity=False).hexdigest() == earlier.etag
