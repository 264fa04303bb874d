"""Doing many transfers at once, a few at a time, and counting them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final, TypeVar

_Result = TypeVar("_Result")
WORKERS: Final = 8
"""How many objects travel at once: enough to hide the way to a distant place, few enough for a disk."""

OnProgress = Callable[[int, int], None]
"""Called with how many of how many bytes have been dealt with."""


def in_parallel(jobs: Iterable[Callable[[], _Result]], workers: int = WORKERS) -> Iterator[_Result]:
    """Do jobs in a few threads and yield their results in order; what one raises ends it, and no other is begun.

    No more jobs are taken than are done soon, so there may be any number of them.
    """
    waiting: deque[Future[_Result]] = deque()
    pool = ThreadPoolExecutor(workers)
    try:
        for job in jobs:
            waiting.append(pool.submit(job))
            if len(waiting) >= 2 * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


class TransferCount:
    """How much of a transfer is done, told to whoever wants to know.

    Args:
        total: bytes in all.
        progress: who wants to know.

    Attributes:
        objects: how many objects were stored.
        bytes: how many bytes they have.
    """

    def __init__(self, total: int, progress: OnProgress) -> None:
        self._total = total
        self._progress = progress
        self._seen = 0
        self.objects = 0
        self.bytes = 0

    def add(self, size: int, *, stored: bool, objects: int = 1) -> None:
        """Count objects, which were there already where they were not stored."""
        self._seen += size
        self.objects += objects if stored else 0
        self.bytes += size if stored else 0
        self._progress(self._seen, self._total)
