"""Keep a copy locked with S3 Object Lock in COMPLIANCE mode, so that no key can delete it.

A version needs all earlier versions and their pictures, so the whole copy is locked, and old locks are extended. To
save requests, a lock lasts a third longer than requested, and is renewed when less than the requested time is left. New
objects are locked by the request that stores them. ``.work/object-lock.json`` in the archive notes which objects are
locked, by the newest time of the service's clock. Without this note, the service is asked about each object.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from exporter.archive import atomic
from exporter.archive.safe_files import MAX_DOCUMENT_BYTES, InnerPath
from exporter.clock import timestamp
from exporter.copies.s3 import S3Store
from exporter.copies.s3_bucket import CONNECTIONS, BucketObject
from exporter.copies.transfer import in_parallel
from exporter.errors import NotAuthorised

_Result = TypeVar("_Result")
_NOTE: Final = ".work/object-lock.json"
_EXTENSION_DIVISOR: Final = 3
"""Locks last longer by the requested time divided by this."""


@dataclass(frozen=True, slots=True)
class Locked:
    """The locks of a copy.

    Attributes:
        until: the end of the first lock; ``None`` if an object is unlocked, or the copy is empty.
        objects: the number of objects.
        unlocked: the number of unlocked objects.
        renewed: the number of locks set by separate requests.
    """

    until: datetime | None
    objects: int
    unlocked: int = 0
    renewed: int = 0

    def document(self) -> dict[str, object]:
        """Return the locks as a JSON object."""
        until = None if self.until is None else timestamp(self.until)
        return {"until": until, "objects": self.objects, "unlocked": self.unlocked, "renewed": self.renewed}


class ObjectLock:
    """Locks the objects that a sync stores, and then all others.

    Args:
        store: the store of the copy.
        keep: the shortest time that everything stays locked.
        root: the archive or fleet.
        now: the current time.

    Raises:
        UsageError: the bucket has no object lock.
    """

    def __init__(self, store: S3Store, keep: timedelta, root: Path, now: datetime) -> None:
        self._store = store
        self._path = _note_of(root)
        self._wanted = (now + keep).replace(microsecond=0)
        self._notes = noted_locks(root)
        self._before, noted_end = self._notes.get(store.place, (datetime.min.replace(tzinfo=UTC), self._wanted))
        self._noted_end = noted_end
        still_long = store.place in self._notes and noted_end >= self._wanted
        self._until = noted_end if still_long else self._wanted + keep / _EXTENSION_DIVISOR
        store.lock_new_objects(self._until)

    def finish(self) -> Locked:
        """Lock each object that needs it, and write the note."""
        ends: list[datetime] = []
        newest, renewed = None, 0
        for each, (end, is_new) in _for_all(self._store, self._lock):
            newest = each.modified if newest is None else max(newest, each.modified)
            ends.append(end)
            renewed += is_new
        if newest is None:
            return Locked(None, 0)
        until = min(ends)
        notes = {**self._notes, self._store.place: (newest, until)}
        data = {
            place: {"before": before.isoformat(), "until": end.isoformat()} for place, (before, end) in notes.items()
        }
        atomic.make_folder(self._path.parent)
        atomic.write_file(self._path, json.dumps(data, indent=1).encode() + b"\n")
        return Locked(until, len(ends), renewed=renewed)

    def _lock(self, each: BucketObject) -> tuple[datetime, bool]:
        """Return when an object's lock ends, and whether it was set now."""
        end = self._noted_end if each.modified < self._before else self._store.locked_until(each)
        if end is not None and end >= self._wanted:
            return end, False
        try:
            self._store.lock(each, self._until)
        except NotAuthorised:
            # A lock cannot be shortened.
            found = self._store.locked_until(each, ask=True)
            if found is None or found < self._wanted:
                raise
            return found, False
        return self._until, True


def noted_locks(root: Path) -> dict[str, tuple[datetime, datetime]]:
    """Return the noted time and end of the locks by place; an unreadable note counts as empty.

    Args:
        root: the archive.
    """
    try:
        data = json.loads(_note_of(root).read_bytes(MAX_DOCUMENT_BYTES))
        return {
            place: (datetime.fromisoformat(each["before"]), datetime.fromisoformat(each["until"]))
            for place, each in data.items()
        }
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return {}


def _note_of(root: Path) -> InnerPath:
    return InnerPath.rooted(root).joinpath(*_NOTE.split("/"))


def read_locks(store: S3Store) -> Locked:
    """Ask the service for the lock of each object, without the note."""
    ends: list[datetime | None] = [end for _, end in _for_all(store, lambda each: store.locked_until(each, ask=True))]
    known = [end for end in ends if end is not None and end > datetime.now(UTC)]
    unlocked = len(ends) - len(known)
    return Locked(min(known) if known and not unlocked else None, len(ends), unlocked)


def _for_all(store: S3Store, work: Callable[[BucketObject], _Result]) -> Iterator[tuple[BucketObject, _Result]]:
    """Yield each object with the result of ``work``, several at a time."""

    def done(each: BucketObject) -> tuple[BucketObject, _Result]:
        return each, work(each)

    return in_parallel((partial(done, each) for each in store.lockable()), CONNECTIONS)
