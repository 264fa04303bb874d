"""A crawler in a process of its own that asks a service as much as its permits allow, until its input ends."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from pathlib import Path

from exporter.errors import ServiceError
from exporter.http.deadline import Timeouts
from exporter.http.engine import Engine
from exporter.http.retry import RetryPolicy
from exporter.model.exchange import Request
from exporter.permits.gate import connect

TIMEOUTS = Timeouts(connect=1.0, read=1.0, total=1.5)


async def ask_for_ever(folder: Path, url: str, seconds: str, tasks: int = 16) -> None:
    async def one() -> None:
        while True:
            with contextlib.suppress(ServiceError):
                await client.fetch(Request("entry/get", "/", {"seconds": seconds}, {}), lambda answer: answer.status)

    async with connect(folder) as gate, Engine(throttles=gate) as engine:
        client = engine.client(url, timeouts=TIMEOUTS, policy=RetryPolicy(retries=1))
        await asyncio.gather(*(one() for _ in range(tasks)))


async def main(folder: str, url: str, seconds: str) -> None:
    asking = asyncio.create_task(ask_for_ever(Path(folder), url, seconds))
    loop = asyncio.get_running_loop()

    def end() -> None:
        loop.remove_reader(sys.stdin)
        asking.cancel()

    loop.add_reader(sys.stdin, end)
    with contextlib.suppress(asyncio.CancelledError):
        await asking


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
