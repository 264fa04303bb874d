"""Blocking work is never left running, even if its task is cancelled repeatedly."""

from __future__ import annotations

import asyncio
import threading

import pytest

from exporter.crawl.tasks import finish_in_thread


async def test_a_second_cancellation_does_not_leave_the_work_running() -> None:
    begun, stopped, may_end, ended = (threading.Event() for _ in range(4))
    closed: list[str] = []

    def work() -> str:
        begun.set()
        may_end.wait(10)
        ended.set()
        return "opened"

    task = asyncio.create_task(finish_in_thread(work, stop=stopped.set, close=closed.append))
    await asyncio.to_thread(begun.wait, 10)
    for _ in range(2):
        task.cancel()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    assert stopped.is_set()
    assert not task.done()
    may_end.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended.is_set()
    assert closed == ["opened"]


async def test_an_exception_in_the_work_is_raised() -> None:
    def work() -> None:
        raise ValueError("it")

    with pytest.raises(ValueError, match="it"):
        await finish_in_thread(work)
