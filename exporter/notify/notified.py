"""What was notified already: the same trouble once, again when it changes or has lasted, and its end once.

It is kept in ``.work/notified.json`` of the archive. An archive that is not there yet remembers nothing, so that
a first backup that never succeeds is notified every time. Nothing of it is ever shown.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from exporter import lossless_json
from exporter.archive.atomic import FILE_MODE
from exporter.clock import timestamp

if TYPE_CHECKING:
    from exporter.archive.safe_files import InnerPath

_MOST_BYTES: Final = 256 * 1024
_MOST_TROUBLES: Final = 500
_ROOM: Final = 2048
"""Bytes that the file has at least, so that a disk that is full by then still has room for a trouble or two."""


class Event(StrEnum):
    """Why somebody is notified."""

    FAILED = "failed"
    """Something is wrong that is news."""
    REMINDER = "reminder"
    """What was notified long ago is still wrong."""
    HEALED = "healed"
    """Nothing is wrong any more."""


@dataclass(frozen=True, slots=True)
class Notified:
    """What was notified since all was well.

    Attributes:
        since: when the first run failed; ``None`` while all is well.
        times: when each trouble was notified last, by the hash of its name.
    """

    since: datetime | None = None
    times: Mapping[str, datetime] = field(default_factory=dict)

    def after(self, troubles: Collection[str], now: datetime, remind_after: timedelta) -> tuple[Event | None, Notified]:
        """Return what to notify after a run with these troubles, and what was notified then.

        Troubles that come and go before all is well are notified once: all is forgotten when nothing is wrong.
        """
        if not troubles:
            return (Event.HEALED if self.since is not None else None), Notified()
        names = sorted({hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:16] for name in troubles})
        kept = names[:_MOST_TROUBLES]
        since = self.since or now
        if not self.times.keys() >= set(kept):
            return Event.FAILED, Notified(since, {**self._newest(), **dict.fromkeys(kept, now)})
        if all(abs(now - self.times[name]) >= remind_after for name in kept):
            return Event.REMINDER, Notified(since, {**self.times, **dict.fromkeys(kept, now)})
        return None, self

    def _newest(self) -> dict[str, datetime]:
        by_time = sorted(self.times.items(), key=lambda each: each[1], reverse=True)
        return dict(by_time[:_MOST_TROUBLES])

    def encode(self) -> bytes:
        """Return the content of its file."""
        times = {name: timestamp(moment) for name, moment in self.times.items()}
        document = {"since": None if self.since is None else timestamp(self.since), "notified": times}
        return lossless_json.dumps(document).ljust(_ROOM) + b"\n"

    @classmethod
    def decode(cls, data: bytes) -> Notified:
        """Read it back.

        Raises:
            ValueError, OverflowError, TypeError, KeyError, NotJson: it is not what was written.
        """
        document: Any = lossless_json.loads(data)
        times = {str(name): _moment(text) for name, text in document["notified"].items()}
        return cls(None if document["since"] is None else _moment(document["since"]), times)


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError("a time without a zone")
    return moment.astimezone(UTC)  # at the ends of time some zones have moments that no other has


def load(path: InnerPath) -> Notified:
    """Return what was notified; nothing where that cannot be read."""
    try:
        return Notified.decode(path.read_bytes(_MOST_BYTES))
    except (OSError, lossless_json.NotJson, ValueError, OverflowError, TypeError, KeyError, AttributeError):
        return Notified()


def save(path: InnerPath, notified: Notified) -> None:
    """Write it down, over what is there: a full disk has no room for a second file.

    What cannot be written, or is torn, costs only that somebody is notified twice.
    """
    with (
        contextlib.suppress(OSError),
        os.fdopen(path.descriptor(os.O_WRONLY | os.O_CREAT, FILE_MODE), "wb", 0) as file,
    ):
        file.write(notified.encode())
        file.truncate()
