"""Copies in a bucket of an S3 service, of Amazon or any other.

What is to be there once only is written on the condition that there is none (``If-None-Match``). A service that keeps
versions may take no notice of conditions, as Ceph does where a bucket has versions or object lock. There the order of
versions decides, on which everybody agrees: **the oldest version of an object is the object**, whatever was written
over it and however often it was deleted; whoever finds an older one than his own has lost. So what is locked cannot be
replaced by anything, and a flood of newer versions hides nothing. Of the two files that change, the log of runs and the
seal, :mod:`exporter.copies.true_states` finds the version that counts.
"""

from __future__ import annotations

import contextlib
import re
import threading
from datetime import datetime
from itertools import groupby
from typing import TYPE_CHECKING, Final

from exporter.archive.layout import is_inside
from exporter.archive.safe_files import LARGEST_CACHE
from exporter.copies.address import S3_SCHEME
from exporter.copies.s3_bucket import ABSENT, SINGLE, Bucket, BucketObject, Sent, Taken, connect, unchanged
from exporter.copies.store import ObjectContent, StoredObject, content_of
from exporter.copies.true_states import LOG, SEAL, beside, changes, is_of_a_prune, true_log, true_seal
from exporter.errors import NoSuchObject, NotAuthorised, UsageError
from exporter.message import message

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from types_boto3_s3 import S3Client

_BUCKET_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,254}")
_NAMED_BY_CONTENT: Final = re.compile(r"(?:.*/)?assets/", re.DOTALL)


class S3Store:
    """A :class:`~exporter.copies.store.Store` in a bucket, and one whose objects can be locked.

    Args:
        address: ``s3://bucket`` or ``s3://bucket/prefix``.
        client: how to speak to the service; by default as boto3's settings say.
        single: up to how many bytes an object is sent by one request.

    Raises:
        UsageError: the address or the settings cannot be right.
    """

    def __init__(self, address: str, client: S3Client | None = None, single: int = SINGLE) -> None:
        name, _, prefix = address[len(S3_SCHEME) :].partition("/")
        prefix = prefix.rstrip("/")
        if not _BUCKET_NAME.fullmatch(name) or (prefix and not is_inside(prefix)):
            raise UsageError(
                message("{address} is no address of a copy; it looks like s3://bucket/prefix.", address=address)
            )
        self._bucket = Bucket(client or connect(), name, prefix, single)
        self._guard = threading.Lock()
        self._current: dict[str, BucketObject] = {}
        self._judged: dict[str, tuple[str | None, int, BucketObject]] = {}
        self._reveal: Callable[[str, bytes], bytes | None] = lambda _name, data: data
        self._ends: dict[str | None, datetime] = {}
        self._lock_until: datetime | None = None
        self._obeys = False

    @property
    def place(self) -> str:
        """The address."""
        return self._bucket.place

    @property
    def requests(self) -> Mapping[str, int]:
        """How many requests of each operation were sent so far."""
        return self._bucket.requests

    def list(self, prefix: str = "") -> Iterator[StoredObject]:
        """Yield the objects whose names begin with ``prefix``."""
        if not self._bucket.is_versioned():
            for each in self._bucket.objects(prefix):
                yield StoredObject(each.name, each.size, each.etag)
            return
        for name, group in groupby(self._bucket.versions(prefix), lambda each: each.name):
            versions = tuple(group)
            if self._hides(name):
                continue
            if changes(name):
                yield StoredObject(name, None, versions[0].version or "")
            else:
                self._note(versions[-1])
                yield StoredObject(name, versions[-1].size, versions[-1].version or "")

    def read(self, name: str) -> Iterator[bytes]:
        """Yield the content of an object in pieces."""
        yield from self._bucket.read(self._found(name))

    def read_range(self, name: str, start: int, length: int) -> bytes:
        """Return a part of an object."""
        return self._bucket.read_range(self._found(name), start, length)

    def create(self, name: str, content: ObjectContent) -> bool:
        """Store an object unless there is one of this name; with its lock, where new objects get one."""
        self._refuse_a_prune(name)
        versioned = self._bucket.is_versioned()
        until = None if changes(name) else self._lock_until
        try:
            sent = self._bucket.put(name, content, until=until)
        except Taken as taken:
            # A request that was repeated may have met what it has stored itself.
            return taken.again and self._is(name, taken.md5)
        if versioned:
            created = bool(_NAMED_BY_CONTENT.match(name)) or self._is_first(name, sent)
        else:
            created = True
            self._try_the_condition(name, content)
        if until is not None and content.size <= self._bucket.single:
            with self._guard:
                self._ends[sent.version] = until
        return created

    def replace(self, name: str, content: bytes, tag: str | None) -> bool:
        """Store an object in the place of the one that has ``tag``."""
        if not self._bucket.is_versioned():
            try:
                self._bucket.put(name, content_of(content), ABSENT if tag is None else unchanged(tag))
            except Taken as taken:
                return taken.again and self._is(name, taken.md5)
            return True
        before = self._versions(name)
        if (before[0].version if before else None) != tag:
            return False
        sent = self._bucket.put(name, content_of(content), {})
        after = [each.version for each in self._versions(name)]
        place = after.index(sent.version)
        if after[place + 1 : place + 2] != ([] if tag is None else [tag]):
            self._take_back(name, sent, before)
            return False
        self._forget(name)
        for each in before:
            self._discard(each)
        return True

    def remove(self, name: str) -> None:
        """Remove an object with all its versions; those that are locked stay, and the object with them."""
        found = self._versions(name) if self._bucket.is_versioned() else [BucketObject(name, 0, "")]
        self._forget(name)
        for each in found:
            self._delete(each)

    def read_states_by(self, reveal: Callable[[str, bytes], bytes | None]) -> None:
        """Have the versions of a file that changes told apart by what is encrypted in them."""
        self._reveal = reveal

    def can_lock(self) -> bool:
        """Tell whether objects can be locked in this bucket."""
        return self._bucket.has_object_lock()

    def lock_new_objects(self, until: datetime) -> None:
        """Lock what is created from now on.

        Args:
            until: when the locks end.

        Raises:
            UsageError: nothing can be locked in this bucket.
        """
        if not self.can_lock():
            raise UsageError(
                message(
                    "Nothing can be locked in the bucket of {place}: make one with object lock, which most services "
                    "allow only while a bucket is made.",
                    place=self.place,
                )
            )
        self._lock_until = until

    def lockable(self) -> Iterator[BucketObject]:
        """Yield of every object that is there for good the version that counts."""
        for name, group in groupby(self._bucket.versions(""), lambda each: each.name):
            versions = tuple(group)
            if not self._hides(name):
                yield self._true_state(name, versions) if changes(name) else versions[-1]

    def locked_until(self, found: BucketObject, *, ask: bool = False) -> datetime | None:
        """Return when the lock of an object ends, ``None`` where it has none.

        Args:
            found: the object.
            ask: ask the service, also about what this store has locked itself.

        Raises:
            NoSuchObject: it is gone.
        """
        known = None if ask else self._ends.get(found.version)
        return self._bucket.locked_until(found) if known is None else known

    def lock(self, found: BucketObject, until: datetime) -> None:
        """Lock an object, or have its lock end later.

        Raises:
            NoSuchObject: it is gone.
            NotAuthorised: the lock would end earlier than it does.
        """
        self._bucket.lock_version(found, until)

    def _versions(self, name: str) -> Sequence[BucketObject]:
        """Return the versions of one object, the newest first."""
        found = []
        for each in self._bucket.versions(name):
            if each.name != name:
                # The list is in order: what else begins so comes behind it.
                break
            found.append(each)
        return found

    def _found(self, name: str) -> BucketObject:
        """Return what is to be read under a name.

        Raises:
            NoSuchObject: there is none of this name.
        """
        if not self._bucket.is_versioned():
            return BucketObject(name, 0, "")
        known = self._current.get(name)
        if known is not None:
            return known
        versions = () if self._hides(name) else self._versions(name)
        if not versions:
            raise NoSuchObject(self.place, name)
        if not changes(name):
            self._note(versions[-1])
            return versions[-1]
        return self._true_state(name, versions)

    def _hides(self, name: str) -> bool:
        """Tell whether an object is of a prune, which there is none of where things are locked, whatever lies there."""
        return is_of_a_prune(name) and self._bucket.has_object_lock()

    def _refuse_a_prune(self, name: str) -> None:
        if self._hides(name):
            raise UsageError(
                message(
                    "{place} is in a bucket with object lock, where nothing is forgotten: no copy there can be pruned.",
                    place=self.place,
                )
            )

    def _true_state(self, name: str, versions: Sequence[BucketObject]) -> BucketObject:
        """Return the version that counts of a file that changes."""
        if len(versions) == 1:
            return versions[0]
        known = self._judged.get(name)
        if known is not None and known[:2] == (versions[0].version, len(versions)):
            return known[2]
        found = self._judge(name, versions)
        with self._guard:
            self._judged[name] = versions[0].version, len(versions), found
        return found

    def _judge(self, name: str, versions: Sequence[BucketObject]) -> BucketObject:
        file, *others = beside(name)
        if file == LOG:
            return true_log(versions, self._revealed)
        if file == SEAL:
            with contextlib.suppress(NoSuchObject):
                log, info = (self._revealed(self._found(each)) for each in others)
                if log is not None and info is not None:
                    return true_seal(versions, self._revealed, log, info)
        return versions[0]

    def _revealed(self, found: BucketObject) -> bytes | None:
        """Return what is in a version; ``None`` for what the writer of the copy did not write."""
        return None if found.size > LARGEST_CACHE else self._reveal(found.name, self._whole(found))

    def _whole(self, found: BucketObject) -> bytes:
        return b"".join(self._bucket.read(found))

    def _is(self, name: str, md5: str) -> bool:
        """Tell whether an object has a content."""
        if self._bucket.is_versioned():
            return [each.etag for each in self._versions(name)[-1:]] == [md5]
        found = self._bucket.head(name)
        return found is not None and found.etag == md5

    def _is_first(self, name: str, sent: Sent) -> bool:
        """Tell whether what was sent is the object now; else it is taken away again."""
        oldest = self._versions(name)[-1]
        if oldest.version == sent.version:
            self._note(oldest)
            return True
        self._discard(BucketObject(name, 0, "", sent.version))
        return sent.again and oldest.etag == sent.md5

    def _take_back(self, name: str, sent: Sent, before: Sequence[BucketObject]) -> None:
        """Undo a replacement that came too late; where it cannot be deleted, put over it what it was to replace."""
        self._discard(BucketObject(name, 0, "", sent.version))
        now = self._versions(name)
        if now and now[0].version == sent.version:
            rightful = [each for each in now[1:] if each not in before] or now[1:]
            for each in rightful[:1]:
                self._bucket.put(name, content_of(self._whole(each)), {})

    def _discard(self, found: BucketObject) -> None:
        """Delete what is of no use any more, for good; where that is not allowed, it stays."""
        with contextlib.suppress(NotAuthorised):
            self._bucket.delete(found)

    def _delete(self, found: BucketObject) -> None:
        """Delete for good, unless there is a lock on it."""
        try:
            self._bucket.delete(found)
        except NotAuthorised:
            if found.version is None or self._bucket.locked_until(found) is None:
                raise

    def _note(self, found: BucketObject) -> None:
        with self._guard:
            self._current[found.name] = found

    def _forget(self, name: str) -> None:
        with self._guard:
            self._current.pop(name, None)

    def _try_the_condition(self, name: str, content: ObjectContent) -> None:
        """See once that the service does not create what is there already: it would have replaced it by the same.

        Raises:
            UsageError: it does, so that two writers might overwrite each other.
        """
        if self._obeys or content.size > self._bucket.single:
            return
        try:
            self._bucket.put(name, content)
        except Taken:
            self._obeys = True
            return
        raise UsageError(
            message(
                "The service of {place} takes no notice of If-None-Match, so a copy could be overwritten there: give a "
                "bucket with versions.",
                place=self.place,
            )
        )
