"""How many bytes of answers are in memory at a time, over all requests.

A cap on each answer alone bounds nothing: forty answers just below it are forty times as much.
"""

from __future__ import annotations

import asyncio
import ctypes
import sys
from typing import Self

_M_MMAP_THRESHOLD = -3
_M_ARENA_MAX = -8
_MIB = 1024 * 1024


def prepare_memory() -> None:
    """Make sure that there is some memory to read answers into, and have what is freed go back to the system at once.

    Close to a limit on memory the libraries in C end the process without a word, so one that has hardly any is refused.
    Left to itself glibc takes the first large block that is freed as a sign to keep all up to 32 MiB, between which
    others are stuck: answers of 30 MB one after another then take twice the memory that they need. And it gives each
    thread a heap of its own, although only one thread at a time makes objects.

    Raises:
        MemoryError: there is not even room for an answer of 32 MiB.
    """
    bytes(32 * _MIB)  # never touched, so it takes room and no memory
    if sys.platform == "linux":
        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
        if mallopt is not None:
            mallopt(_M_MMAP_THRESHOLD, _MIB)
            mallopt(_M_ARENA_MAX, 1)


class MemoryBudget:
    """Bytes of answers under way: the oldest has whatever one answer may have, all others have ``shared`` together.

    The oldest one always goes on, and it needs nothing but its own connection to come to its end, so that nobody waits
    for ever. What has come to its end and waits for its turn, such as a list page read ahead, is held out of
    ``shared`` too, and has to be let go where it does not fit: an answer under way never waits for it.
    """

    def __init__(self, shared: int) -> None:
        self._shared = shared
        self._shares: dict[Share, int] = {}
        self._sum = 0
        self._held = 0
        self._waiting: list[asyncio.Future[None]] = []

    def share(self) -> Share:
        """Return the share of one answer, to be used in ``with``."""
        return Share(self)

    def hold(self, size: int) -> bool:
        """Hold so many bytes until :meth:`release`, if they fit; return whether they do."""
        if self._held + size > self._shared:
            return False
        self._held += size
        return True

    def release(self, size: int) -> None:
        """Give back what was held."""
        self._held -= size
        self._wake()

    def _take(self, share: Share, size: int) -> bool:
        taken = self._shares.setdefault(share, 0)
        oldest = next(iter(self._shares))
        if share is not oldest and self._sum - self._shares[oldest] + self._held + size > self._shared:
            return False
        self._shares[share] = taken + size
        self._sum += size
        return True

    def _leave(self, share: Share) -> None:
        self._sum -= self._shares.pop(share, 0)
        self._wake()

    async def _change(self) -> None:
        """Wait until something is given back."""
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        await turn

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for turn in waiting:
            if not turn.done():
                turn.set_result(None)


class Share:
    """What one answer has of the budget, from its first bytes until it is left."""

    __slots__ = ("_budget",)

    def __init__(self, budget: MemoryBudget) -> None:
        self._budget = budget

    def take(self, size: int) -> bool:
        """Count so many bytes more, where they fit at once; where not, :meth:`wait` for them."""
        return self._budget._take(self, size)

    async def wait(self, size: int) -> None:
        """Count so many bytes more as soon as they fit."""
        while not self.take(size):
            await self._budget._change()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._budget._leave(self)
