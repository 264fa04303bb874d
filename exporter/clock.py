"""The clock as a dependency, so that tests, samples and benchmarks can replace it."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final, Protocol


class Clock(Protocol):
    """The program's source of time."""

    def now(self) -> datetime:
        """Return the current date and time in UTC, for records."""

    def monotonic(self) -> float:
        """Return seconds that never decrease, for measurements."""

    async def sleep(self, seconds: float) -> None:
        """Wait."""


class SystemClock:
    """The clock of this machine."""

    def now(self) -> datetime:
        """Return the current date and time in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Return the seconds of ``time.monotonic``, as the event loop does."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait on the event loop."""
        import asyncio  # noqa: PLC0415 - commands that only need the time start faster

        await asyncio.sleep(seconds)


def timestamp(moment: datetime) -> str:
    """Format a time as in the archive: UTC, whole seconds, ``2026-01-31T12:34:56Z`` (RFC 3339)."""
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="seconds") + "Z"


CLOCK_TOLERANCE: Final = timedelta(days=1)
"""A clock with a smaller error is slow or fast; with a larger one it was never set or its battery is empty."""


def differs(now: datetime, other: datetime | None) -> bool:
    """Return whether another clock differs by more than a day."""
    return other is not None and abs(now - other) > CLOCK_TOLERANCE


_WRITTEN: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")


def at_home(written: str, zone: tzinfo) -> datetime | None:
    """Return the local time in a zone for a text written by :func:`timestamp`, or ``None`` for any other text."""
    try:
        return datetime.fromisoformat(written).astimezone(zone) if _WRITTEN.fullmatch(written) else None
    except (ValueError, OverflowError):
        return None


def for_people(text: str, zone: tzinfo) -> str:
    """Return a text with each time written by :func:`timestamp` in a zone: ``2026-01-31T21:34:56+09:00``.

    The result includes the offset, so ``--at`` accepts it.
    """

    def moved(found: re.Match[str]) -> str:
        moment = at_home(found[0], zone)
        return found[0] if moment is None else moment.isoformat(timespec="seconds")

    return _WRITTEN.sub(moved, text)


class FixedClock(SystemClock):
    """A clock whose date and time never change, for reproducible samples; it waits as usual."""

    def __init__(self, moment: datetime) -> None:
        self._moment = moment

    def now(self) -> datetime:
        """Return the fixed time."""
        return self._moment
