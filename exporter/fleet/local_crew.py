"""The crew of one process: every blog is a task of one event loop, and all share one engine."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from typing import Self

from exporter.errors import Interrupted
from exporter.fleet.ledger import BlogAttempt, DueBlog
from exporter.fleet.saving import Saver


class LocalCrew:
    """Saves up to ``at_once`` blogs at a time; see :class:`~exporter.fleet.run.Crew`.

    Leaving it ends what is under way.
    """

    dashboard: None = None

    def __init__(self, saver: Saver, at_once: int) -> None:
        self._saver = saver
        self._at_once = at_once
        self._tasks: set[asyncio.Task[BlogAttempt]] = set()
        self._ended: asyncio.Queue[BlogAttempt] = asyncio.Queue()

    @property
    def room(self) -> int:
        """How many more blogs it can take now."""
        return self._at_once - len(self._tasks)

    @property
    def under_way(self) -> Collection[int]:
        """For each blog that is being saved, how many requests were sent so far."""
        return self._saver.under_way

    @property
    def requests(self) -> int:
        """How many requests were sent so far."""
        return self._saver.requests

    def start(self, blogs: Sequence[DueBlog]) -> None:
        """Begin to save blogs."""
        for blog in blogs:
            task = asyncio.create_task(self._saver.save(blog))
            self._tasks.add(task)
            task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[BlogAttempt]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            self._ended.put_nowait(task.result())

    async def ended(self, seconds: float) -> list[BlogAttempt]:
        """Return all attempts that have ended, waiting up to so many seconds for the first."""
        try:
            async with asyncio.timeout(seconds):
                found = [await self._ended.get()]
        except TimeoutError:
            return []
        while not self._ended.empty():
            found.append(self._ended.get_nowait())
        return found

    def stop(self, error: Interrupted) -> None:
        """End all attempts soon and in order."""
        self._saver.stop(error)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
