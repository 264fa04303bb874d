"""A service with any number of identical blogs that records the requests it receives, in a thread of the test."""

from __future__ import annotations

import asyncio
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Self, TypeVar

from benchmarks.content import BLOG_ID, BlogSize, Content
from benchmarks.service import _response

T = TypeVar("T")


def blog_ids(count: int) -> list[str]:
    """Return blog IDs as long as the content's own ID, so that the length of answers stays the same."""
    return [f"b{number:04}.blog.example.jp" for number in range(count)]


def write_list(path: Path, lines: Iterable[str]) -> Path:
    """Write a list of blogs, and return its path."""
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


_ID = re.compile(rb"([?&]id=)([^& ]+)")
_HEAD_ENDS = b"\r\n\r\n"


class _Record:
    """The received requests: the most at the same time, their start times, and their number for each address."""

    def __init__(self) -> None:
        self.under_way = self.connections = 0
        self.clear()

    def clear(self) -> None:
        """Clear the record."""
        self.peak = self.under_way
        self.starts: list[float] = []
        self.asked: Counter[bytes] = Counter()

    def document(self) -> dict[str, Any]:
        """Return a summary; ``again`` counts repeated requests for an entry."""
        starts, most, first = self.starts, 0, 0
        for number, moment in enumerate(starts):
            while starts[first] < moment - 1:
                first += 1
            most = max(most, number - first + 1)
        entries = {target: count for target, count in self.asked.items() if b"/entry/get" in target}
        return {
            "requests": len(starts),
            "peak": self.peak,
            "most_in_a_second": most,
            "seconds": starts[-1] - starts[0] if starts else 0.0,
            "starts": starts,
            "again": sum(count - 1 for count in entries.values()),
        }


class _Connection(asyncio.Protocol):
    def __init__(self, content: Content, latency: float, record: _Record) -> None:
        self._content = content
        self._latency = latency
        self._record = record
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._record.connections += 1

    def connection_lost(self, _: Exception | None) -> None:
        self._record.connections -= 1

    def data_received(self, data: bytes) -> None:
        self._received += data
        while (end := self._received.find(_HEAD_ENDS)) >= 0:
            head, self._received = self._received[:end], self._received[end + len(_HEAD_ENDS) :]
            record = self._record
            record.starts.append(time.monotonic())
            record.under_way += 1
            record.peak = max(record.peak, record.under_way)
            record.asked[head.split(b" ", 2)[1]] += 1
            found = _ID.search(head)
            answer = _response(self._content, _ID.sub(rb"\g<1>" + BLOG_ID.encode(), head, count=1))
            if found:
                answer = answer.replace(BLOG_ID.encode(), found[2])
            asyncio.get_running_loop().call_later(self._latency, self._answer, answer)

    def _answer(self, answer: bytes) -> None:
        self._record.under_way -= 1
        self._transport.write(answer)


class Platform:
    """Starts the service; use it in ``with``.

    Attributes:
        base_url: the base URL of the service.
    """

    def __init__(self, entries: int, latency: float) -> None:
        self._content = Content(BlogSize(entries, entries * 2, max(1, entries // 10)))
        self._latency = latency
        self._requests = _Record()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()))
        self._started: Future[str] = Future()

    def __enter__(self) -> Self:
        self._thread.start()
        self.base_url = self._started.result()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join()

    def record(self) -> dict[str, Any]:
        """Return the summary of the requests since the last call."""

        def taken() -> dict[str, Any]:
            document = self._requests.document()
            self._requests.clear()
            return document

        return self._in_thread(taken)

    def connections(self) -> int:
        """Return the number of open connections; when one is lost, all its requests have arrived."""
        return self._in_thread(lambda: self._requests.connections)

    def _in_thread(self, look: Callable[[], T]) -> T:
        async def looked() -> T:
            return look()

        return asyncio.run_coroutine_threadsafe(looked(), self._loop).result()

    async def _serve(self) -> None:
        self._loop, self._ended = asyncio.get_running_loop(), asyncio.Event()
        server = await self._loop.create_server(
            lambda: _Connection(self._content, self._latency, self._requests), "127.0.0.1", 0
        )
        async with server:
            self._started.set_result(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
            await self._ended.wait()
