"""Which entries to read: the listing against the archive. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

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
        """Tell whether an unchanged entry is to be read again.

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
