"""Which entries to read: the listing against the archive. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING

from exporter import lossless_json
from exporter.archive import atomic
from exporter.clock import timestamp
from exporter.service.interface import Validators

if TYPE_CHECKING:
    from pathlib import Path

NEWEST_ALWAYS_READ = 20
"""``auto`` reads this many of the newest entries every time: they are the ones still being worked on."""


class Refresh(StrEnum):
    """How much of what the archive already has is read again."""

    ALL = "all"
    CHANGED = "changed"
    AUTO = "auto"


@dataclass(frozen=True, slots=True)
class Listed:
    """A listed entry: whether the archive has its record, and whether its list item differs from the archive's."""

    entry_id: str
    archived: bool
    changed: bool


@dataclass(frozen=True, slots=True)
class Age:
    """What ``auto`` judges by: the time, the age nothing may exceed, and when each entry was last read."""

    now: datetime
    max_age: timedelta
    last_read: Mapping[str, datetime]

    def due(self, entry_id: str) -> bool:
        """Return whether an unchanged entry is to be read again.

        Each entry has its own day in the cycle of ``max_age``, given by its id, so that the reading is spread evenly;
        one that missed its day is read once it is older than ``max_age``.
        """
        read = self.last_read.get(entry_id)
        if read is None or self.now - read >= self.max_age:
            return True
        days = max(1, self.max_age.days)
        turn = int.from_bytes(hashlib.sha256(entry_id.encode("utf-8", "backslashreplace")).digest()[:4]) % days
        return self.now.toordinal() % days == turn and read.date() != self.now.date()


def entries_to_read(
    listed: Iterable[Listed], refresh: Refresh, age: Age | None, first: Iterable[str] = ()
) -> Iterator[str]:
    """Yield the ids of the entries to read, newest last id first, those in ``first`` before all others.

    Args:
        listed: what the sweep saw, newest first.
        refresh: the policy.
        age: needed for ``Refresh.AUTO``.
        first: ids that an earlier run could not read.
    """
    urgent = list(dict.fromkeys(first))
    yield from urgent
    done = set(urgent)
    for position, entry in enumerate(listed):
        if entry.entry_id in done:
            continue
        if (
            refresh is Refresh.ALL
            or not entry.archived
            or entry.changed
            or (refresh is Refresh.AUTO and (position < NEWEST_ALWAYS_READ or age is None or age.due(entry.entry_id)))
        ):
            yield entry.entry_id


class Freshness:
    """What is remembered: for each entry id the time it was last read, and its validators where it had some.

    It is read when it is first asked for, and written where it changed: a run that reads no entry needs none of it.
    What an earlier run remembered counts only where it is whole, and about the very version that the archive has: a
    validator must belong to that state, or a change would pass unnoticed.

    Args:
        path: where it is kept.
        sealed: the SHA-256 of the manifest of that version, ``None`` where there is none.
    """

    def __init__(self, path: Path, sealed: str | None) -> None:
        self._path = path
        self._sealed = sealed
        self._noted = False

    @property
    def last_read(self) -> Mapping[str, datetime]:
        """When each entry was last read."""
        return self._known[0]

    @property
    def validators(self) -> Mapping[str, Validators]:
        """The validators of those that had some then."""
        return self._known[1]

    def note(self, entry_id: str, now: datetime, validators: Validators) -> None:
        """Remember that an entry was read just now."""
        self._noted = True
        last_read, known = self._known
        last_read[entry_id] = now
        if any(validators):
            known[entry_id] = validators
        else:
            known.pop(entry_id, None)

    def save(self, sealed: str, keep: Iterable[str]) -> None:
        """Write it for the entries in ``keep``, as part of the version whose manifest has the SHA-256 ``sealed``."""
        if self._noted or sealed != self._sealed:
            with atomic.translated(self._path):
                atomic.write_lines(self._path, self._lines(sealed, keep))

    @cached_property
    def _known(self) -> tuple[dict[str, datetime], dict[str, Validators]]:
        last_read: dict[str, datetime] = {}
        validators: dict[str, Validators] = {}
        try:
            with self._path.open("rb") as lines:
                head = {"manifest_sha256": self._sealed}
                if self._sealed is None or lossless_json.loads(next(lines, b"null")) != head:
                    return {}, {}
                for line in lines:
                    entry_id, read, etag, last_modified = lossless_json.loads(line)
                    last_read[entry_id] = datetime.fromisoformat(read)
                    if etag is not None or last_modified is not None:
                        validators[entry_id] = Validators(etag, last_modified)
        except (OSError, lossless_json.NotJson, TypeError, ValueError):
            return {}, {}
        return last_read, validators

    def _lines(self, sealed: str, keep: Iterable[str]) -> Iterator[bytes]:
        yield lossless_json.dumps({"manifest_sha256": sealed}) + b"\n"
        for entry_id in keep:
            read = self.last_read.get(entry_id)
            if read is not None:
                etag, last_modified = self.validators.get(entry_id, _NONE)
                yield lossless_json.dumps([entry_id, timestamp(read), etag, last_modified]) + b"\n"


_NONE = Validators()
