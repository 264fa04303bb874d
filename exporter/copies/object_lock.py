"""Locks on a copy (S3 Object Lock, mode COMPLIANCE): until when nobody can delete what is there, whatever keys he has.

A version needs all versions before it and their pictures, so everything in the copy is locked together, and the lock of
what was sent long ago is made to last longer. To lock *every* object at *every* sync would cost a request each. So
locks last a third longer than was asked for, and are renewed when less than what was asked for is left: what is new is
locked by the request that sends it, what is old by one request each, once in that third. What was locked so far, and
until when, is noted in ``.work/`` of what was sent: by the newest time that the service's own clock gave to an object.
Without the note, on another machine, each object is asked.
"""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Final, TypeVar

from exporter.archive import atomic
from exporter.archive.safe_files import LARGEST_DOCUMENT, InnerPath
from exporter.clock import timestamp
from exporter.copies.s3_bucket import CONNECTIONS
from exporter.errors import NotAuthorised

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from exporter.copies.s3 import S3Store
    from exporter.copies.s3_bucket import BucketObject

_Result = TypeVar("_Result")
_NOTE: Final = "object-lock.json"
_WORK: Final = ".work"
_BATCH: Final = 1000
_LONGER: Final = 3
"""Locks last longer by this part of what was asked for."""


@dataclass(frozen=True, slots=True)
class Locked:
    """What is locked in a copy.

    Attributes:
        until: when the first lock ends; ``None`` where something has none, or nothing is there.
        objects: how many objects there are.
        unlocked: how many of them have no lock.
        renewed: how many were locked just now, besides those that were sent with their lock.
    """

    until: datetime | None
    objects: int
    unlocked: int = 0
    renewed: int = 0

    def document(self) -> dict[str, object]:
        """Return it as a JSON object."""
        until = None if self.until is None else timestamp(self.until)
        return {"until": until, "objects": self.objects, "unlocked": self.unlocked, "renewed": self.renewed}


@dataclass(frozen=True, slots=True)
class _Note:
    """What was locked by an earlier sync: all objects older than ``before``, until ``until``."""

    before: datetime
    until: datetime


class ObjectLock:
    """Keeps a copy locked.

    Args:
        store: where the copy is.
        keep: how long from now on everything is to be locked, at least.
        root: the archive or fleet that is sent.
        now: the time.

    Raises:
        UsageError: nothing can be locked in this bucket.
    """

    def __init__(self, store: S3Store, keep: timedelta, root: Path, now: datetime) -> None:
        self._store = store
        self._path = InnerPath.rooted(root) / _WORK / _NOTE
        self._wanted = (now + keep).replace(microsecond=0)
        self._notes = self._read()
        self._note = self._notes.get(store.place)
        kept = self._note is not None and self._note.until >= self._wanted
        self._until = self._note.until if kept and self._note else self._wanted + keep / _LONGER
        store.lock_new_objects(self._until)

    def finish(self) -> Locked:
        """Lock whatever is there and needs it, and note that."""
        newest: datetime | None = None
        ends: list[datetime] = []
        renewed = 0
        for each, (end, new) in _of_all(self._store, self._lock):
            newest = each.modified if newest is None else max(newest, each.modified)
            ends.append(end)
            renewed += new
        if newest is None:
            return Locked(None, 0)
        until = min(ends)
        self._write(_Note(newest, until))
        return Locked(until, len(ends), renewed=renewed)

    def _lock(self, each: BucketObject) -> tuple[datetime, bool]:
        """Return when an object's lock ends, and whether that is new."""
        noted = self._note.until if self._note is not None and each.modified < self._note.before else None
        if noted is None:
            noted = self._store.locked_until(each)
        if noted is not None and noted >= self._wanted:
            return noted, False
        try:
            self._store.lock(each, self._until)
        except NotAuthorised:
            # One that lasts longer already cannot be made shorter.
            found = self._store.locked_until(each, ask=True)
            if found is None or found < self._wanted:
                raise
            return found, False
        return self._until, True

    def _read(self) -> dict[str, _Note]:
        """Return the notes by their places; what cannot be read is none."""
        try:
            data = json.loads(self._path.read_bytes(LARGEST_DOCUMENT))
            return {
                place: _Note(datetime.fromisoformat(each["before"]), datetime.fromisoformat(each["until"]))
                for place, each in data.items()
            }
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return {}

    def _write(self, note: _Note) -> None:
        notes = {**self._notes, self._store.place: note}
        data = {
            place: {"before": each.before.isoformat(), "until": each.until.isoformat()} for place, each in notes.items()
        }
        atomic.make_folder(self._path.parent)
        atomic.write_file(self._path, json.dumps(data, indent=1).encode() + b"\n")


def look_at_locks(store: S3Store) -> Locked:
    """Ask each object of a copy until when it is locked; nothing that anybody noted is believed."""
    ends: list[datetime | None] = [end for _, end in _of_all(store, lambda each: store.locked_until(each, ask=True))]
    known = [end for end in ends if end is not None and end > datetime.now(UTC)]
    unlocked = len(ends) - len(known)
    return Locked(min(known) if known and not unlocked else None, len(ends), unlocked)


def _of_all(store: S3Store, work: Callable[[BucketObject], _Result]) -> Iterator[tuple[BucketObject, _Result]]:
    """Yield each object and what ``work`` returns for it, several at once."""
    objects = store.lockable()
    with ThreadPoolExecutor(CONNECTIONS) as pool:
        while batch := list(islice(objects, _BATCH)):
            yield from zip(batch, pool.map(work, batch), strict=True)
