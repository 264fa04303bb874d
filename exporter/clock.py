"""Time as a thing that is handed in, so that tests, samples and benchmarks can hand in another."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final, Protocol


class Clock(Protocol):
    """Where the program gets its time from."""

    def now(self) -> datetime:
        """Return the time of day in UTC, for what is written down."""

    def monotonic(self) -> float:
        """Return seconds that never go back, for measuring."""

    async def sleep(self, seconds: float) -> None:
        """Wait."""


class SystemClock:
    """The machine's own clock."""

    def now(self) -> datetime:
        """Return the time of day in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Return the event loop's kind of seconds."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait on the event loop."""
        import asyncio  # noqa: PLC0415 - whoever waits has it, and who only asks for the time pays nothing for it

        await asyncio.sleep(seconds)


def timestamp(moment: datetime) -> str:
    """Write a time as the archive does: UTC, whole seconds, ``2026-01-31T12:34:56Z`` (RFC 3339)."""
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="seconds") + "Z"


CLOCK_TOLERANCE: Final = timedelta(days=1)
"""A clock that is wrong by less is slow or fast; by more, it was never set or its battery is empty."""


def differs(now: datetime, other: datetime | None) -> bool:
    """Return whether another clock shows a time that is more than a day away."""
    return other is not None and abs(now - other) > CLOCK_TOLERANCE


_WRITTEN: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")


def at_home(written: str, zone: tzinfo) -> datetime | None:
    """Return a time that :func:`timestamp` wrote as the clocks of a zone had it; ``None`` where it is no such time."""
    try:
        return datetime.fromisoformat(written).astimezone(zone) if _WRITTEN.fullmatch(written) else None
    except (ValueError, OverflowError):
        return None


def for_people(text: str, zone: tzinfo) -> str:
    """Return a text with each time that :func:`timestamp` wrote as a zone's: ``2026-01-31T21:34:56+09:00``.

    What comes out still says its offset, and ``--at`` takes it back.
    """

    def moved(found: re.Match[str]) -> str:
        moment = at_home(found[0], zone)
        return found[0] if moment is None else moment.isoformat(timespec="seconds")

    return _WRITTEN.sub(moved, text)


class FixedClock(SystemClock):
    """A clock whose time of day stands still, for samples that must not depend on the hour; it waits as usual."""

    def __init__(self, moment: datetime) -> None:
        self._moment = moment

    def now(self) -> datetime:
        """Return the one moment."""
        return self._moment
