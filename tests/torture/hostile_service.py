"""A service whose responses cost as much memory as possible. Run as ``python -m tests.torture.hostile_service CASE``.

It is a separate process, so that its own memory does not count, and prints its port. It uses only the standard library,
because an aiohttp server would follow rules that this one breaks.
"""

from __future__ import annotations

import gzip
import json
import socketserver
import sys
import zlib
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

BLOG_ID = "hostile.example.jp"
_BEGIN = b'{"json":{"result":"ok","message":"","data":'
_MB = 1_000_000

Answer = tuple[int, dict[str, str], Iterator[bytes]]


def bomb(beginning: bytes, megabytes: int) -> bytes:
    """Return gzip bytes of a text followed by this number of megabytes of spaces."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    pieces = [packer.compress(beginning), *(packer.compress(b" " * _MB) for _ in range(megabytes))]
    return b"".join(pieces) + packer.flush()


def page(items: bytes, number: int = 1, pages: int = 1) -> bytes:
    """Return a page that fits any of the three lists."""
    following = b"%d" % (number + 1) if number < pages else b"null"
    paging = b'{"prev_no":null,"next_no":%s,"page_no":%d,"all_page":%d}' % (following, number, pages)
    summary = b'{"filenum":"%d"}' % (pages if items else 0)
    return _BEGIN + b'{"list":[%s],"paging":%s,"page":%d,"limit":1,"summary":%s}}}' % (items, paging, number, summary)


def entry(entry_id: str, value: bytes) -> bytes:
    """Return an entry with any JSON in one field."""
    return _BEGIN + b'{"entry_id":"%s","x":%s}}}' % (entry_id.encode(), value)


def endlessly(piece: bytes) -> Iterator[bytes]:
    """Yield a piece for ever."""
    while True:
        yield piece


GZIPPED = {"Content-Encoding": "gzip"}
BOMB = bomb(b'{"json":', 64)
PAGE = b"<html>" + b"x" * 200_000
TEXTS: list[Callable[[str], bytes]] = [
    lambda key: entry(key, b"[" * 15 * _MB + b"]" * 15 * _MB),
    lambda key: entry(key, b"[" + b"0," * 15 * _MB + b"0]"),
    lambda key: entry(key, b"[" + b'{"a":{}},' * 3 * _MB + b"1.10]"),
    lambda key: entry(key, b'[1.10,"' + b"a" * 30 * _MB + "😀".encode() + b'"]'),
    lambda key: entry(key, b'"' + b"\x01" * 30 * _MB + b'"'),
    lambda key: entry(key, b'"' + b"a" * 30 * _MB + b'"'),
]
ENTRIES: dict[str, tuple[int, Callable[[str], Answer]]] = {
    "gzip bombs": (40, lambda _: (200, GZIPPED, iter([BOMB]))),
    "pages of 404": (1500, lambda _: (404, {"Content-Type": "text/html"}, iter([PAGE]))),
    "endless": (16, lambda _: (200, {}, endlessly(b" " * _MB))),
    "endless refusal": (16, lambda _: (404, {}, endlessly(b" " * _MB))),
    "long message": (
        16,
        lambda _: (200, {}, iter([b'{"json":{"result":"no","message":"', *([b"m" * _MB] * 60), b'"}}'])),
    ),
    "heavy JSON": (12, lambda key: (200, {}, iter([TEXTS[int(key) % len(TEXTS)](key)]))),
    "heavy pages": (0, lambda _: (404, {}, iter(()))),
    "many refusals": (10_000, lambda _: (404, {}, iter([b'{"json":{"message":"%s"}}' % (b"m" * 900)]))),
}
"""For each case, the number of entries and the response for each."""


class Handler(socketserver.StreamRequestHandler):
    """Answers the requests of one connection; an endless body ends when the client disconnects."""

    disable_nagle_algorithm = True

    def handle(self) -> None:
        try:
            while line := self.rfile.readline():
                while self.rfile.readline().strip():
                    pass
                self._answer(line.split()[1].decode())
        except OSError:
            return

    def _answer(self, target: str) -> None:
        address = urlsplit(target)
        status, headers, body = answer(sys.argv[1], address.path, parse_qs(address.query))
        lines = [f"HTTP/1.1 {status} X", "Transfer-Encoding: chunked", *(f"{key}: {headers[key]}" for key in headers)]
        self.wfile.write("\r\n".join([*lines, "", ""]).encode())
        for piece in body:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        self.wfile.write(b"0\r\n\r\n")


def answer(case: str, path: str, query: dict[str, Any]) -> Answer:
    """Return status, headers and body for a request."""
    count, of_entry = ENTRIES[case]
    if path == "/v1/user":
        return 200, {}, iter([b'{"id":"u","nickname":"n"}'])
    if path == "/blog/v1/entry/get":
        return of_entry(query["entry_id"][0])
    if case == "heavy pages":
        number = int(query["page"][0])
        item = b'{"entry_id":"%d","cm_id":"%d","file_id":"%d"}' % (number, number, number)
        filler = b"{}," * 200_000
        return 200, {}, iter([page(item + b',{"x":[' + filler + b"0]}", number, 12)])
    if path == "/blog/v1/entry/list":
        return 200, {}, iter([page(json.dumps([{"entry_id": str(n + 1)} for n in range(count)])[1:-1].encode())])
    return 200, {}, iter([page(b"")])


class Server(socketserver.ThreadingTCPServer):
    """A thread for each connection."""

    daemon_threads = True
    request_queue_size = 100


if __name__ == "__main__":
    assert len(gzip.compress(b"")) < len(BOMB) < 70_000
    with Server(("127.0.0.1", 0), Handler) as server:
        sys.stdout.write(f"{server.server_address[1]}\n")
        sys.stdout.flush()
        server.serve_forever()
