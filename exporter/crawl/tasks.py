"""Groups of tasks that end together, and blocking work in a thread that a cancellation waits for."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Iterable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

T = TypeVar("T")
Item = TypeVar("Item")


@asynccontextmanager
async def task_group() -> AsyncIterator[asyncio.TaskGroup]:
    """Open a task group that raises its first failure directly, because callers distinguish error classes."""
    try:
        async with asyncio.TaskGroup() as group:
            yield group
    except BaseExceptionGroup as failed:
        raise failed.exceptions[0] from None


async def run_together(coroutines: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Run all coroutines and return their results in order; the first failure cancels the others and is raised."""
    async with task_group() as group:
        tasks = [group.create_task(coroutine) for coroutine in coroutines]
    return [task.result() for task in tasks]


async def for_each(
    items: Collection[Item], work: Callable[[Item], Coroutine[Any, Any, None]], concurrency: int
) -> None:
    """Process items in order, up to ``concurrency`` at a time, without a task for each; the first failure ends all."""
    queue = iter(items)

    async def worker() -> None:
        for item in queue:
            await work(item)

    await run_together(worker() for _ in range(min(concurrency, len(items))))


async def finish_in_thread(
    work: Callable[[], T], *, stop: Callable[[], None] = lambda: None, close: Callable[[T], None] = lambda _: None
) -> T:
    """Do blocking work in a thread; a cancellation is raised only after the work has ended.

    Args:
        work: never left running, because it may write under a lock.
        stop: is called at a cancellation to end the work soon.
        close: is called with the result if a cancellation prevents its return.
    """
    thread = asyncio.create_task(asyncio.to_thread(work))
    try:
        return await asyncio.shield(thread)
    except asyncio.CancelledError:
        stop()
        while not thread.done():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait([thread])
        if thread.exception() is None:
            close(thread.result())
        raise
