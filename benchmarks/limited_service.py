"""A service with a limit that it does not announce, in a separate process, with a real clock.

``python -m benchmarks.limited_service crowded`` answers 50 ms after each request, and later under load. ``at-once``
allows six requests at a time; it refuses others as late as it answers, and counts them as under way until then. Both
print their base URL and serve until standard input ends. After each line on it they print the number of refusals since
the line before.
"""

from __future__ import annotations

import asyncio
import random
import sys
from argparse import ArgumentParser
from typing import Final

from benchmarks.hidden_limits import Admit, Latency, anything, at_once, crowded, jittered

SECONDS: Final = 0.05
MOST_AT_ONCE: Final = 6
_KINDS: Final[dict[str, tuple[Admit, Latency]]] = {
    "crowded": (anything(), crowded(SECONDS, MOST_AT_ONCE, 2)),
    "at-once": (at_once(MOST_AT_ONCE), jittered(SECONDS)),
}
_ANSWER: Final = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
_REFUSAL: Final = b"HTTP/1.1 429 Too Many Requests\r\nContent-Length: 2\r\n\r\n{}"


class Load:
    """The requests of all connections: those under way, and the refusals that were not reported yet."""

    def __init__(self, kind: str) -> None:
        self._admit, self._latency = _KINDS[kind]
        self._chance = random.Random(1)
        self._under_way = 0
        self.refusals = 0

    def received(self, transport: asyncio.Transport) -> None:
        """Answer or refuse a request, after a while."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        refused = self._admit(now, self._under_way) is not None
        self.refusals += refused
        self._under_way += 1
        seconds = self._latency(self._chance, now, self._under_way)
        loop.call_later(seconds, self._send, transport, _REFUSAL if refused else _ANSWER)

    def _send(self, transport: asyncio.Transport, answer: bytes) -> None:
        self._under_way -= 1
        transport.write(answer)


class Connection(asyncio.Protocol):
    """A connection of a client that sends a request after the answer to the one before."""

    def __init__(self, load: Load) -> None:
        self._load = load
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin a connection."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Pass a complete request on."""
        self._received += data
        if self._received.endswith(b"\r\n\r\n"):
            self._received = b""
            self._load.received(self._transport)


async def _serve(load: Load) -> None:
    server = await asyncio.get_running_loop().create_server(lambda: Connection(load), "127.0.0.1", 0)
    async with server:
        print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
        while await asyncio.to_thread(sys.stdin.readline):
            print(load.refusals, flush=True)
            load.refusals = 0


def main() -> None:
    """Serve until standard input ends."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=list(_KINDS))
    asyncio.run(_serve(Load(parser.parse_args().kind)))


if __name__ == "__main__":
    main()
