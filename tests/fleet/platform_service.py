"""A service with any number of identical blogs that records the requests it receives.

``python -m tests.fleet.platform_service ENTRIES LATENCY`` prints its base URL. For each line on its standard input, it
prints a JSON line about the requests since the line before. It serves until its standard input ends.
"""

from __future__ import annotations

import asyncio
import json
import re
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

from benchmarks.content import BLOG_ID, BlogSize, Content
from benchmarks.service import _response
from tests.support.runs import ROOT


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
        self.under_way = 0
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


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


async def _serve(entries: int, latency: float) -> None:
    listening = socket.create_server(("127.0.0.1", 0))
    content = Content(BlogSize(entries, entries * 2, max(1, entries // 10)))
    record = _Record()
    server = await asyncio.get_running_loop().create_server(
        lambda: _Connection(content, latency, record), sock=listening
    )
    async with server:
        _say(f"http://127.0.0.1:{listening.getsockname()[1]}")
        while await asyncio.to_thread(sys.stdin.readline):
            _say(json.dumps(record.document()))
            record.clear()


class Platform:
    """Starts the service; use it in ``with``.

    Attributes:
        base_url: the base URL of the service.
    """

    def __init__(self, entries: int, latency: float) -> None:
        self._options = [str(entries), str(latency)]

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.fleet.platform_service", *self._options],
            cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.base_url = self._line().strip()
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def record(self) -> dict[str, Any]:
        """Return the summary of the requests since the last call."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        document: dict[str, Any] = json.loads(self._line())
        return document

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1]), float(sys.argv[2])))
