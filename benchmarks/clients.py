"""The other clients: ``python -m benchmarks.clients bare URL --entries …`` sends a backup's requests and does less.

Each prints a JSON object with the number of requests that it sent and the bytes that it received. Each imports only the
modules that it needs.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from benchmarks import public_pages
from benchmarks.content import BlogSize, add_options, addresses, pictures

Count = tuple[int, int]
_KEYS = ("cm_id", "file_id", "entry_id", "id")


def _drop(_address: str, _body: bytes) -> None:
    """Ignore a response."""


async def read_all(options: Namespace, take: Callable[[str, bytes], None] = _drop) -> Count:
    """Read every address with aiohttp alone, with one worker per concurrent request, and pass each body to ``take``."""
    import aiohttp
    from yarl import URL

    queue = _queue(options)
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


def bare(options: Namespace) -> Count:
    """Read and drop: the least that any client can take."""
    return asyncio.run(read_all(options))


def tight(options: Namespace) -> Count:
    """Read, and parse, hash and write each record once, without any checks: the best that a short script can reach."""
    with Path(options.out).open("wb", buffering=1 << 20) as file:
        done = asyncio.run(read_all(options, _keeper(file)))
        file.flush()
        os.fsync(file.fileno())
    return done


def _keeper(file: BinaryIO) -> Callable[[str, bytes], None]:
    import orjson

    known: dict[tuple[str, str], bytes] = {}

    def keep(address: str, body: bytes) -> None:
        answer = orjson.loads(body)
        data = answer["json"]["data"] if "json" in answer else answer
        kind = address.partition("?")[0]
        for record in data.get("list", (data,)):
            text = orjson.dumps(record, option=orjson.OPT_SORT_KEYS)
            digest = hashlib.sha256(text)
            key = (kind, next(record[name] for name in _KEYS if name in record))
            if known.get(key) != digest.digest():
                known[key] = digest.digest()
                file.write(b'{"id":"%b","sha256":"%b","data":' % (key[1].encode(), digest.hexdigest().encode()))
                file.write(text + b"}\n")

    return keep


def threads(options: Namespace) -> Count:
    """Read and drop with requests: one ``Session`` in each of as many threads as concurrent requests."""
    import threading
    from concurrent.futures import ThreadPoolExecutor

    import requests

    queue = _queue(options)
    lock = threading.Lock()

    def worker(_: int) -> Count:
        count = received = 0
        with requests.Session() as session:
            while True:
                with lock:
                    address = next(queue, None)
                if address is None:
                    return count, received
                answer = session.get(options.base_url + address, timeout=30)
                answer.raise_for_status()
                received += len(answer.content)
                count += 1

    with ThreadPoolExecutor(options.concurrency) as pool:
        done = list(pool.map(worker, range(options.concurrency)))
    return sum(count for count, _ in done), sum(received for _, received in done)


def _queue(options: Namespace) -> Iterator[str]:
    if options.posts:
        yield from public_pages.addresses(options.posts)
        return
    size = BlogSize.of(options)
    yield from addresses(size, entries=not options.lists)
    if options.pictures:
        yield from pictures(size)


WAYS = {"bare": bare, "tight": tight, "requests": threads}


def main() -> None:
    """Read the command line, then the blog."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("way", choices=WAYS)
    parser.add_argument("base_url")
    parser.add_argument("--concurrency", type=int, default=8, help="requests at a time (%(default)s)")
    parser.add_argument("--lists", action="store_true", help="read the lists alone")
    parser.add_argument("--pictures", action="store_true", help="read the pictures too")
    parser.add_argument("--posts", type=int, default=0, help="read the public pages of so many posts instead")
    parser.add_argument("--out", help="file to write the records to, for clients that keep them")
    add_options(parser)
    options = parser.parse_args()
    requests, received = WAYS[options.way](options)
    print(json.dumps({"requests": requests, "bytes": received}))


if __name__ == "__main__":
    main()
