"""Remember the troubles that were reported, to report each once, again after some days, and its end once.

The memory is ``.work/notified.json`` of the archive. Without an archive there is no memory, so a first backup that
fails every night is reported every night.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Collection, Mapping
from dataclasses import field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, Final

from exporter import lossless_json
from exporter.archive.atomic import FILE_MODE
from exporter.archive.safe_files import InnerPath
from exporter.clock import timestamp
from exporter.frozen import frozen

_MAX_BYTES: Final = 256 * 1024
_MAX_TROUBLES: Final = 500
_MIN_BYTES: Final = 2048
"""The file's minimum size, so that it has room for a trouble even on a full disk."""


class Event(StrEnum):
    """The reason for a notification."""

    FAILED = "failed"
    """A new trouble."""
    REMINDER = "reminder"
    """An old trouble that continues."""
    HEALED = "healed"
    """The end of all troubles."""


@frozen
class Notified:
    """The troubles that were reported since the last success.

    Attributes:
        since: the time of the first failed run; ``None`` after a success.
        times: when each trouble was last reported, by the hash of its name.
    """

    since: datetime | None = None
    times: Mapping[str, datetime] = field(default_factory=dict)

    def after(self, troubles: Collection[str], now: datetime, remind_after: timedelta) -> tuple[Event | None, Notified]:
        """Return the notification to send after a run with these troubles, and the memory after it.

        A trouble that comes and goes is reported once, because only a success clears the memory.
        """
        if not troubles:
            return (Event.HEALED if self.since is not None else None), Notified()
        names = sorted({hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:16] for name in troubles})
        kept = names[:_MAX_TROUBLES]
        since = self.since or now
        if not self.times.keys() >= set(kept):
            return Event.FAILED, Notified(since, {**self._newest(), **dict.fromkeys(kept, now)})
        if all(abs(now - self.times[name]) >= remind_after for name in kept):
            return Event.REMINDER, Notified(since, {**self.times, **dict.fromkeys(kept, now)})
        return None, self

    def _newest(self) -> dict[str, datetime]:
        by_time = sorted(self.times.items(), key=lambda each: each[1], reverse=True)
        return dict(by_time[:_MAX_TROUBLES])

    def encode(self) -> bytes:
        """Return the content of the file."""
        times = {name: timestamp(moment) for name, moment in self.times.items()}
        document = {"since": None if self.since is None else timestamp(self.since), "notified": times}
        return lossless_json.dumps(document).ljust(_MIN_BYTES) + b"\n"

    @classmethod
    def decode(cls, data: bytes) -> Notified:
        """Read the content of the file.

        Raises:
            ValueError, OverflowError, TypeError, KeyError, NotJson: the content is invalid.
        """
        document: Any = lossless_json.loads(data)
        times = {str(name): _moment(text) for name, text in document["notified"].items()}
        return cls(None if document["since"] is None else _moment(document["since"]), times)


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError("a time without a zone")
    return moment.astimezone(UTC)  # near the first and last year, a local time may have no UTC time


def load(path: InnerPath) -> Notified:
    """Return the memory; an unreadable file counts as empty."""
    try:
        return Notified.decode(path.read_bytes(_MAX_BYTES))
    except (OSError, lossless_json.NotJson, ValueError, OverflowError, TypeError, KeyError, AttributeError):
        return Notified()


def save(path: InnerPath, notified: Notified) -> None:
    """Write the memory over the old one, because a full disk has no room for a second file.

    A failed or partial write only causes a second notification.
    """
    with contextlib.suppress(OSError), os.fdopen(path.descriptor(os.O_WRONLY | os.O_CREAT, FILE_MODE), "wb", 0) as file:
        file.write(notified.encode())
        file.truncate()
