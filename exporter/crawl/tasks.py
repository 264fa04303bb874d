"""Running coroutines together, and blocking work beside the event loop, without ever leaving any of it behind."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, TypeVar

T = TypeVar("T")


async def together(coroutines: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Run all and return their results in order; the first failure cancels the others and is raised as it is."""
    tasks = [asyncio.create_task(coroutine) for coroutine in coroutines]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def in_thread(work: Callable[[], T]) -> T:
    """Do blocking work in another thread and wait for its end, also when cancelled meanwhile.

    The cancellation is forgotten then: what the work brought about is a fact, and whoever cancelled has to look at it.
    """
    task = asyncio.create_task(asyncio.to_thread(work))
    while True:
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            current = asyncio.current_task()
            if task.cancelled() or current is None:
                raise
            current.uncancel()
