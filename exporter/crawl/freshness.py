"""Which entries to read: the listing against the archive. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
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


@dataclass(slots=True)
class Freshness:
    """What is remembered: for each entry id the time it was last read, and its validators where it had some."""

    last_read: dict[str, datetime] = field(default_factory=dict)
    validators: dict[str, Validators] = field(default_factory=dict)

    def note(self, entry_id: str, now: datetime, validators: Validators) -> None:
        """Remember that an entry was read just now."""
        self.last_read[entry_id] = now
        if any(validators):
            self.validators[entry_id] = validators
        else:
            self.validators.pop(entry_id, None)

    @classmethod
    def load(cls, path: Path, sealed: str | None) -> Freshness:
        """Read what an earlier run remembered.

        Nothing when it is not there, damaged, or not about the version whose manifest has the SHA-256 ``sealed``:
        a validator must belong to the very state the archive holds, or a change would pass unnoticed.
        """
        found = cls()
        try:
            with path.open("rb") as lines:
                if sealed is None or lossless_json.loads(next(lines, b"null")) != {"manifest_sha256": sealed}:
                    return found
                for line in lines:
                    entry_id, read, etag, last_modified = lossless_json.loads(line)
                    found.last_read[entry_id] = datetime.fromisoformat(read)
                    if etag is not None or last_modified is not None:
                        found.validators[entry_id] = Validators(etag, last_modified)
        except (OSError, lossless_json.NotJson, TypeError, ValueError):
            return cls()
        return found

    def save(self, path: Path, sealed: str, keep: Iterable[str]) -> None:
        """Write it for the entries in ``keep``, as part of the version whose manifest has the SHA-256 ``sealed``."""
        with atomic.translated(path):
            atomic.write_lines(path, self._lines(sealed, keep))

    def _lines(self, sealed: str, keep: Iterable[str]) -> Iterator[bytes]:
        yield lossless_json.dumps({"manifest_sha256": sealed}) + b"\n"
        for entry_id in keep:
            read = self.last_read.get(entry_id)
            if read is not None:
                validators = self.validators.get(entry_id, _NONE)
                yield (
                    lossless_json.dumps([entry_id, timestamp(read), validators.etag, validators.last_modified]) + b"\n"
                )


_NONE = Validators()
