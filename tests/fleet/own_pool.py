"""A pool that does all work in this process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from exporter.fleet.pool import Outcome, Returned


class OwnPool:
    """Runs all calls in this process, including those that may kill a process."""

    slots = 1
    runs_here = True
    dashboard: str | None = None

    def __init__(self) -> None:
        self._done: list[tuple[int, Outcome]] = []

    def submit(self, number: int, work: Callable[[Any], Any], argument: Any) -> None:
        self._done.append((number, Returned(work(argument))))

    def done(self, seconds: float) -> list[tuple[int, Outcome]]:
        found, self._done = self._done, []
        return found

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._done.clear()
