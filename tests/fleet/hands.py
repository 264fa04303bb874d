"""Hands for tests that want everything in this process."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from typing import Any


class OwnHands:
    """Does all calls itself, also those that may end a process."""

    workers = 1

    def each_done(self, work: Callable[[Any], Any], arguments: Iterable[Any], *, lost: Any = None) -> Generator[Any]:
        """Yield what is returned."""
        assert lost is None or callable(lost)
        yield from map(work, arguments)
