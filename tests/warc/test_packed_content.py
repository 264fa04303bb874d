"""Content that is compressed already is stored in its record; readers see no difference."""

from __future__ import annotations

import io
from datetime import UTC, datetime

import pytest
from warcio.archiveiterator import ArchiveIterator

from exporter.http.wire import WireExchange
from exporter.warc.records import RecordWriter, facts_of


@pytest.mark.parametrize(
    ("head", "size", "stored"),
    [
        (b"Content-Type: image/jpeg", 50_000, True),
        (b"Content-Type: video/mp4; codecs=x", 50_000, True),
        (b"Content-Type: text/html\r\nContent-Encoding: br", 50_000, True),
        (b"Content-Type: text/html", 50_000, False),
        (b"Content-Type: image/svg+xml", 50_000, False),
        (b"Content-Type: image/gif", 500, False),
    ],
)
def test_packed_content_is_stored(head: bytes, size: int, stored: bool) -> None:
    exchange = WireExchange("http://blog.example/1", datetime(2026, 1, 1, tzinfo=UTC), "192.0.2.1")
    exchange.request += b"GET /1 HTTP/1.1\r\nHost: blog.example\r\n\r\n"
    answer = b"HTTP/1.1 200 OK\r\n%b\r\nContent-Length: %d\r\n\r\n" % (head, size) + bytes(size)
    exchange.answer.write(answer)
    facts = facts_of(exchange)
    assert facts is not None
    file = io.BytesIO()
    length = RecordWriter(file).exchange(exchange, facts, "<urn:uuid:1>")
    assert (length > size) is stored
    file.seek(0)
    records = ArchiveIterator(file, check_digests=True)
    found = [(each.rec_type, each.raw_stream.read(), each.digest_checker.passed) for each in records]
    assert found == [("response", bytes(size), True), ("request", b"", True)]
    exchange.close()
