"""requests: one Session for each thread, as many threads as requests at a time; bodies are read and dropped."""

from __future__ import annotations

import threading
from argparse import Namespace
from concurrent.futures import ThreadPoolExecutor

import requests

from benchmarks.blog_size import BlogSize, addresses
from benchmarks.client_options import client_options, report


def read_all(options: Namespace) -> tuple[int, int]:
    """Read every address; returns the number of requests and of bytes."""
    queue = iter(addresses(BlogSize.of(options)))
    lock = threading.Lock()

    def worker(_: int) -> tuple[int, int]:
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


if __name__ == "__main__":
    report(*read_all(client_options(__doc__)))
