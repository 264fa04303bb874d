"""Time as a thing that is handed in, so that tests, samples and benchmarks can hand in another."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol


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


class FixedClock(SystemClock):
    """A clock whose time of day stands still, for samples that must not depend on the hour; it waits as usual."""

    def __init__(self, moment: datetime) -> None:
        self._moment = moment

    def now(self) -> datetime:
        """Return the one moment."""
        return self._moment
