"""The memory for all responses: bounded for all but the oldest, and no response waits for ever."""

from __future__ import annotations

import asyncio

import pytest

from exporter import lossless_json
from exporter.http.body import MemoryBudget
from exporter.lossless_json import TooHeavy


async def test_the_oldest_answer_continues_and_the_others_wait_for_it() -> None:
    budget = MemoryBudget(10)
    first, second, third = budget.share(), budget.share(), budget.share()
    assert first.take(1000)
    assert second.take(10)
    assert not third.take(1)
    waiting = asyncio.create_task(third.wait(1))
    await asyncio.sleep(0)
    assert not waiting.done()
    with first:
        assert first.take(1000)
    # The second is the oldest now, and its bytes no longer count as shared.
    await waiting
    assert second.take(1000)


async def test_waiting_data_is_held_only_if_it_fits() -> None:
    budget = MemoryBudget(10)
    assert budget.hold(8)
    assert not budget.hold(3)
    first, second = budget.share(), budget.share()
    assert first.take(100)
    assert not second.take(3)
    budget.release(8)
    assert second.take(3)


async def test_forty_answers_of_any_size_are_completed() -> None:
    budget = MemoryBudget(10)
    most = held = 0

    async def answer() -> None:
        nonlocal most, held
        mine = 0
        with budget.share() as share:
            for _ in range(20):
                await share.wait(5)
                mine += 5
                held += 5
                most = max(most, held)
                await asyncio.sleep(0)
        held -= mine

    async with asyncio.timeout(20):
        await asyncio.gather(*(answer() for _ in range(40)))
    assert most <= 100 + 10


@pytest.mark.parametrize(
    "text",
    [b"[" * 100_000 + b"]" * 100_000, b"[" + b"{}," * 100_000 + b"0]", b"[1.10" + b",0" * 100_000 + b"]"],
)
def test_a_text_of_many_objects_is_refused_before_it_is_parsed(text: bytes) -> None:
    lossless_json.loads(text)
    with pytest.raises(TooHeavy, match="MiB of memory"):
        lossless_json.loads(text, 10_000_000)


def test_prose_of_the_same_size_is_read() -> None:
    text = b'"' + "日記、".encode() * 20_000 + b'"'
    assert lossless_json.loads(text, 10_000_000) == "日記、" * 20_000
