"""The bytes in WARC records are those on the wire, and independent readers accept the files."""

from __future__ import annotations

import asyncio
import base64
import hashlib
from pathlib import Path

import pytest
from warcio.archiveiterator import ArchiveIterator

from exporter.archive.safe_files import InnerPath
from exporter.errors import TransportError
from exporter.http.address_guard import AddressGuard
from exporter.http.engine import Engine
from exporter.http.retry import RetryPolicy
from exporter.http.wire import WireExchange
from exporter.warc.cdxj import IndexLine
from exporter.warc.http_message import decoded
from exporter.warc.reading import read_record
from exporter.warc.records import facts_of
from exporter.warc.segments import SegmentWriter
from tests.warc.checking import warcio_check
from tests.warc.raw_server import CUT, KINDS, Heard, RawServer, content

ONCE = RetryPolicy(retries=0)


async def captured(folder: Path, number: int) -> tuple[list[Heard], list[IndexLine]]:
    """Record ``number`` exchanges of all kinds, six at a time."""
    lines: list[IndexLine] = []
    server = RawServer()
    with SegmentWriter(folder, "blog", {"software": "test"}, most_bytes=200_000) as segments:

        async def record(exchange: WireExchange) -> None:
            facts = facts_of(exchange)
            assert facts is not None
            lines.append(segments.write(exchange, facts))
            exchange.close()

        async with server.running(), Engine() as engine:
            capturer = engine.capturer(AddressGuard(allow_private=True), policy=ONCE)

            async def fetch(each: int) -> None:
                kind = KINDS[each % len(KINDS)]
                try:
                    await capturer.fetch(f"{server.url}/{kind}/{each}", record)
                except TransportError:
                    assert kind in CUT

            for start in range(0, number, 6):
                await asyncio.gather(*(fetch(each) for each in range(start, min(start + 6, number))))
    return server.heard, lines


@pytest.mark.parametrize("count", [120, pytest.param(1000, marks=pytest.mark.thorough)])
def test_bytes_in_records_are_those_on_the_wire(tmp_path: Path, count: int) -> None:
    heard, lines = asyncio.run(captured(tmp_path, count))
    assert len(heard) == len(lines) == count
    expected = {each.target: each for each in heard}
    requests, answers = {}, {}
    segments = sorted(tmp_path.glob("*.warc.gz"))
    assert len(segments) > 1
    for path in segments:
        with path.open("rb") as file:
            for record in ArchiveIterator(file, no_record_parse=True):
                url = record.rec_headers.get_header("WARC-Target-URI") or ""
                target = "/" + url.split("/", 3)[3] if url else ""
                if record.rec_type == "response":
                    answers[target] = record.content_stream().read(), record.rec_headers
                elif record.rec_type == "request":
                    requests[target] = record.content_stream().read()
    assert {target: data for target, (data, _) in answers.items()} == {
        target: each.answer for target, each in expected.items()
    }
    assert requests == {target: each.request for target, each in expected.items()}
    for target, (_, headers) in answers.items():
        kind, number = target.strip("/").split("/")
        assert headers.get_header("WARC-IP-Address") == "127.0.0.1"
        assert headers.get_header("WARC-Truncated") == ("disconnect" if kind in CUT else None)
        if kind == "length":
            hashed = hashlib.sha1(content(int(number)), usedforsecurity=False).digest()
            assert headers.get_header("WARC-Payload-Digest") == f"sha1:{base64.b32encode(hashed).decode()}"


def test_warcio_accepts_the_segments(tmp_path: Path) -> None:
    asyncio.run(captured(tmp_path, 4 * len(KINDS)))
    for path in tmp_path.glob("*.warc.gz"):
        code, said = warcio_check(path)
        assert (code, "failed" in said) == (0, False), said
        assert said.count("digest pass") > 2


def test_content_of_every_kind_is_read_back(tmp_path: Path) -> None:
    _, lines = asyncio.run(captured(tmp_path, 2 * len(KINDS)))
    root = InnerPath.rooted(tmp_path)
    seen = set()
    for line in lines:
        kind, number = line.url.rsplit("/", 2)[-2:]
        with read_record(root / line.filename, line.offset) as record:
            answer = record.answer()
            assert answer is not None
            head, payload = answer
            whole = decoded(payload, head.get("content-encoding"), 10_000_000)
            assert (line.status, payload.whole) == (head.status, kind not in CUT)
            if kind not in CUT | {"not-modified", "empty"}:
                assert whole == content(int(number)), kind
                seen.add(kind)
    assert len(seen) == len(KINDS) - 4
