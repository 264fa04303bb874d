"""A service that holds the blog as the last night left it.

``python -m benchmarks.history_service`` prints its base URL and serves until its standard input ends.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.history_blog import HistorySize, NightlyBlog, add_options
from benchmarks.measure import pinned
from exporter.demo.service import DemoService, ServiceOptions


@contextmanager
def running_service(size: HistorySize, core: int | None) -> Iterator[str]:
    """Run the service in its own process and yield its base URL."""
    command = [sys.executable, "-m", "benchmarks.history_service", *size.options()]
    with pinned(core), subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as service:
        assert service.stdin is not None
        assert service.stdout is not None
        yield service.stdout.readline().strip()
        service.stdin.close()


async def _serve(size: HistorySize) -> None:
    blog = NightlyBlog(size)
    for _ in blog.pass_nights(size.nights):
        pass
    async with DemoService(blog.blog, ServiceOptions(log_requests=False)) as service:
        print(service.base_url, flush=True)
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    parser = ArgumentParser(description=__doc__)
    add_options(parser)
    asyncio.run(_serve(HistorySize.of(parser.parse_args())))
