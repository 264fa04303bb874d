"""An event loop whose time jumps to the next event, so that minutes of waiting pass at once and times are exact."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from exporter.clock import SystemClock

T = TypeVar("T")

_START = datetime(2026, 1, 31, 12, 0, 0, tzinfo=UTC)


class _Leap(selectors.DefaultSelector):
    """Advances the time instead of waiting."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self.now += timeout or 0.0
        return super().select(0) if timeout is None else []


class VirtualLoop(asyncio.SelectorEventLoop):
    """For code without threads, signals and network."""

    def __init__(self) -> None:
        self._leap = _Leap()
        super().__init__(self._leap)

    def time(self) -> float:
        """Return the seconds that passed since the loop was made."""
        return self._leap.now


class LoopClock(SystemClock):
    """The time of the running loop."""

    def now(self) -> datetime:
        """Return the time of day; the loop was made at noon."""
        return _START + timedelta(seconds=self.monotonic())

    def monotonic(self) -> float:
        """Return the loop's seconds."""
        return asyncio.get_running_loop().time()


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in virtual time."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)
