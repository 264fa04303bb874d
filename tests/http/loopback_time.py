"""Virtual time for a client and a server that share a loop: bytes on loopback arrive at once, and only waits take time."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _Leap(selectors.DefaultSelector):
    """Advances the time instead of waiting, once no bytes are under way."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            return super().select(None)
        ready = super().select(0)
        if not ready and timeout > 0:
            self.now += timeout
        return ready


class LoopbackLoop(asyncio.SelectorEventLoop):
    """For code without threads and signals, whose peers are in the same loop."""

    def __init__(self) -> None:
        self._leap = _Leap()
        super().__init__(self._leap)

    def time(self) -> float:
        """Return the seconds that passed since the loop was made."""
        return self._leap.now

    def stall(self, seconds: float) -> None:
        """Let time pass as if this loop were blocked."""
        self._leap.now += seconds


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in virtual time."""
    with asyncio.Runner(loop_factory=LoopbackLoop) as runner:
        return runner.run(main)
