"""The choice of entries to read, and the times and validators of earlier readings."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING

from exporter import lossless_json
from exporter.archive import atomic
from exporter.clock import timestamp
from exporter.frozen import frozen
from exporter.service.interface import Validators

if TYPE_CHECKING:
    from pathlib import Path

_NONE = Validators()
NEWEST_ALWAYS_READ = 20
"""The number of newest entries that ``auto`` always reads, because they are still being edited."""


class Refresh(StrEnum):
    """The archived entries that are read again."""

    ALL = "all"
    CHANGED = "changed"
    AUTO = "auto"


@frozen
class Age:
    """The criteria of ``auto``: the current time, the maximum age, and when each entry was last read."""

    now: datetime
    max_age: timedelta
    last_read: Mapping[str, datetime]

    def due(self, entry_id: str) -> bool:
        """Return whether to read an unchanged entry again.

        Each entry has a fixed day in the cycle of ``max_age``, derived from its id, so that the work is spread evenly.
        An entry that missed its day is read when it is older than ``max_age``.
        """
        read = self.last_read.get(entry_id)
        if read is None or self.now - read >= self.max_age:
            return True
        days = max(1, self.max_age.days)
        turn = int.from_bytes(hashlib.sha256(entry_id.encode("utf-8", "backslashreplace")).digest()[:4]) % days
        return self.now.toordinal() % days == turn and read.date() != self.now.date()


def grouped(ids: Iterable[str], list_of: Callable[[str], str], most: int) -> list[list[str]]:
    """Divide entries into groups that one request answers.

    The ids decide where a group ends, so that a new entry leaves the other groups unchanged. A service may number the
    galleries in an answer, and then an entry's text depends on its group.

    Args:
        ids: the entries.
        list_of: returns the name of an entry's list; a group is of one list.
        most: the most entries in a group.
    """
    groups: list[list[str]] = []
    filling: dict[str, list[str]] = {}
    for entry_id in ids:
        name = list_of(entry_id)
        group = filling.get(name)
        if group is None:
            group = filling[name] = []
            groups.append(group)
        group.append(entry_id)
        if len(group) >= most or zlib.crc32(entry_id.encode("utf-8", "backslashreplace")) % (most // 2) == 0:
            del filling[name]
    return groups


def entries_to_read(
    listed: Iterable[str], changed: Collection[str], refresh: Refresh, age: Age | None, first: Iterable[str] = ()
) -> Iterator[str]:
    """Yield the ids to read: those in ``first``, then the others from the newest on.

    Args:
        listed: the entries that the sweep saw, newest first.
        changed: those of them that the archive lacks, or whose list item has changed.
        refresh: the policy.
        age: required for ``Refresh.AUTO``.
        first: ids that an earlier run could not read.
    """
    urgent = dict.fromkeys(first)
    yield from urgent
    for position, entry_id in enumerate(listed):
        due = refresh is Refresh.AUTO and (position < NEWEST_ALWAYS_READ or age is None or age.due(entry_id))
        if entry_id not in urgent and (refresh is Refresh.ALL or entry_id in changed or due):
            yield entry_id


class Freshness:
    """The time of each entry's last reading, and its validators, kept between runs.

    The file is loaded when first used, and written if something changed. It is only valid for the archive's newest
    version: a validator must belong to that state, or a change could be missed.

    Args:
        path: the file.
        sealed: the SHA-256 of that version's manifest, ``None`` without a version.
    """

    def __init__(self, path: Path, sealed: str | None) -> None:
        self._path = path
        self._sealed = sealed
        self._noted = False

    @property
    def last_read(self) -> Mapping[str, datetime]:
        """The time of each entry's last reading."""
        return self._known[0]

    @property
    def validators(self) -> Mapping[str, Validators]:
        """The validators of the entries that had some."""
        return self._known[1]

    def note(self, entry_id: str, now: datetime, validators: Validators) -> None:
        """Record that an entry was read."""
        self._noted = True
        last_read, known = self._known
        last_read[entry_id] = now
        if any(validators):
            known[entry_id] = validators
        else:
            known.pop(entry_id, None)

    def save(self, sealed: str, keep: Iterable[str]) -> None:
        """Write the file for the entries in ``keep`` and the version whose manifest has the SHA-256 ``sealed``."""
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
