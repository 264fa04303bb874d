"""A service in a separate process that records by its own clock when each request arrives and when it is finished.

``GET /?seconds=0.02`` is answered after that time, and finished even if the client has disconnected. With ``&head=1``
only the last bytes of the body wait that long. ``&stall=0.2`` blocks the whole service for that time. ``GET /measured``
returns the records, and ``GET /refuse?seconds=5`` lets all requests fail with 429 for that time.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlsplit
from urllib.request import urlopen


class Notes:
    """The requests so far; ``stall`` blocks the service."""

    def __init__(self, stall: Callable[[float], None] = time.sleep) -> None:
        self.requests: list[list[float]] = []
        self.refused_until = 0.0
        self.stall = stall

    def measured(self) -> Measured:
        """Return the times of the requests so far."""
        return _measured(self.requests)


class Connection(asyncio.Protocol):
    """A client's connection; its times are those of its loop."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._read = b""

    def data_received(self, data: bytes) -> None:
        now = asyncio.get_running_loop().time()
        self._read += data
        if not self._read.endswith(b"\r\n\r\n"):
            return
        address = urlsplit(self._read.split(b" ", 2)[1].decode())
        wish = {name: float(value) for name, value in parse_qsl(address.query)}
        self._read = b""
        if address.path == "/measured":
            self._transport.write(_answer(json.dumps(self._notes.requests).encode()))
            return
        if address.path == "/refuse":
            self._notes.refused_until = now + wish["seconds"]
            self._transport.write(_answer(b"{}"))
            return
        noted = [now, float("inf")]
        self._notes.requests.append(noted)
        self._notes.stall(wish.get("stall", 0.0))
        head = b""
        if now < self._notes.refused_until:
            answer = _answer(b"{}", "429 Too Many Requests", f"Retry-After: {wish.get('pause', 0):.0f}\r\n")
        else:
            answer = _answer(b"{}")
        if "head" in wish:
            head, answer = answer[:-2], answer[-2:]
            self._transport.write(head)
        asyncio.get_running_loop().call_later(wish.get("seconds", 0.0), self._done, noted, answer)

    def _done(self, noted: list[float], answer: bytes) -> None:
        noted[1] = asyncio.get_running_loop().time()
        if not self._transport.is_closing():
            self._transport.write(answer)


def _answer(body: bytes, status: str = "200 OK", more: str = "") -> bytes:
    return f"HTTP/1.1 {status}\r\n{more}Content-Length: {len(body)}\r\n\r\n".encode() + body


@dataclass(frozen=True)
class Measured:
    """The times when requests arrived and were finished, in seconds of the service's clock; sorted."""

    arrivals: list[float]
    ends: list[float]

    @property
    def most_in_a_second(self) -> int:
        """The most requests that arrived in any second, including both ends."""
        return self.most_within(1.0)

    def most_within(self, seconds: float) -> int:
        return max(
            (bisect_left(self.arrivals, begin + seconds + 1e-9) - number for number, begin in enumerate(self.arrivals)),
            default=0,
        )

    @property
    def most_at_once(self) -> int:
        """The most concurrent requests at any instant."""
        now = most = 0
        for _, step in sorted([(each, 1) for each in self.arrivals] + [(each, -1) for each in self.ends]):
            now += step
            most = max(most, now)
        return most

    def between(self, begin: float, end: float) -> int:
        return bisect_left(self.arrivals, end) - bisect_left(self.arrivals, begin)


def _measured(noted: list[list[float]]) -> Measured:
    return Measured(sorted(each[0] for each in noted), sorted(each[1] for each in noted))


@dataclass(frozen=True)
class MeasuredService:
    """A running service, by its address."""

    url: str

    def measured(self) -> Measured:
        with urlopen(f"{self.url}/measured") as answer:
            noted = json.load(answer)
        return _measured(noted)

    def refuse(self, seconds: float) -> None:
        urlopen(f"{self.url}/refuse?seconds={seconds}").close()


@contextmanager
def measured_service() -> Iterator[MeasuredService]:
    command = [sys.executable, "-m", "tests.support.measured_service"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield MeasuredService(process.stdout.readline().strip())
        finally:
            process.kill()


async def _serve() -> None:
    notes = Notes()
    server = await asyncio.get_running_loop().create_server(lambda: Connection(notes), "127.0.0.1", 0)
    sys.stdout.write(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve())
