"""The crew of one process: every blog is a task of one event loop, and all share one engine."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self

from exporter.clock import Clock
from exporter.errors import Interrupted
from exporter.fleet.ledger import Attempt, DueBlog
from exporter.fleet.saving import Saver
from exporter.http.engine import Engine
from exporter.settings import Settings


class LocalCrew:
    """Saves up to ``at_once`` blogs at a time; see :class:`~exporter.fleet.run.Crew`."""

    def __init__(
        self, root: Path, settings_of: Callable[[DueBlog], Settings], clock: Clock, *, at_once: int, engine: Engine
    ) -> None:
        self._engine = engine
        self._saver = Saver(root, engine, settings_of, clock)
        self._at_once = at_once
        self._tasks: set[asyncio.Task[None]] = set()
        self._ended: asyncio.Queue[Attempt] = asyncio.Queue()

    @property
    def room(self) -> int:
        """How many more blogs it can take."""
        return self._at_once - len(self._tasks) - self._ended.qsize()

    @property
    def requests(self) -> int:
        """How many requests were sent so far."""
        return self._engine.statistics.requests

    def start(self, blogs: Sequence[DueBlog]) -> None:
        """Begin to save blogs."""
        for blog in blogs:
            task = asyncio.create_task(self._save(blog))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _save(self, blog: DueBlog) -> None:
        self._ended.put_nowait(await self._saver.save(blog))

    async def ended(self, seconds: float) -> list[Attempt]:
        """Return all attempts that have ended, waiting up to so many seconds for the first."""
        found: list[Attempt] = []
        try:
            async with asyncio.timeout(seconds):
                found.append(await self._ended.get())
        except TimeoutError:
            return found
        while not self._ended.empty():
            found.append(self._ended.get_nowait())
        return found

    def stop(self, error: Interrupted) -> None:
        """End all attempts soon and in order."""
        self._saver.stop(error)

    async def __aenter__(self) -> Self:
        await self._engine.__aenter__()
        return self

    async def __aexit__(self, *failure: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._engine.__aexit__(*failure)
