"""The floor: aiohttp alone, one session, so many workers over the addresses; bodies are read and dropped."""

from __future__ import annotations

import asyncio
from argparse import Namespace
from collections.abc import Callable

import aiohttp
from yarl import URL

from benchmarks.blog_size import BlogSize, addresses
from benchmarks.client_options import client_options, report


def drop(_address: str, _body: bytes) -> None:
    """Do nothing with an answer."""


async def read_all(options: Namespace, take: Callable[[str, bytes], None] = drop) -> tuple[int, int]:
    """Read every address and hand each body to ``take``; returns the number of requests and of bytes."""
    queue = iter(addresses(BlogSize.of(options)))
    requests = received = 0
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0),
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=None),
        raise_for_status=True,
    ) as session:

        async def worker() -> None:
            nonlocal requests, received
            for address in queue:
                async with session.get(URL(options.base_url + address, encoded=True)) as answer:
                    body = await answer.read()
                take(address, body)
                received += len(body)
                requests += 1

        await asyncio.gather(*[worker() for _ in range(options.concurrency)])
    return requests, received


if __name__ == "__main__":
    report(*asyncio.run(read_all(client_options(__doc__))))
