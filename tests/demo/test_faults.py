"""Each fault as a client receives it on a real connection."""

from __future__ import annotations

import asyncio
import json
import zlib
from collections import Counter
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from unittest.mock import Mock

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request

from tests.support import faults
from tests.support.demo_service import DemoService
from tests.support.generated import generated_blog


@pytest.fixture
async def service() -> AsyncIterator[DemoService]:
    async with DemoService(generated_blog(5)) as running:
        yield running


async def raw(service: DemoService, path: str = "/blog/v1/entry/list") -> bytes:
    """Send one handwritten request and return all bytes until the service closes the connection."""
    port = int(service.base_url.rpartition(":")[2])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    query = "id=generated.blog.example.jp&entry_id=1"
    writer.write(f"GET {path}?{query} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
    try:
        return await reader.read()
    finally:
        writer.close()


def split(answer: bytes) -> tuple[str, bytes]:
    head, _, body = answer.partition(b"\r\n\r\n")
    return head.decode(), body


async def test_a_status_comes_with_or_without_retry_after(service: DemoService) -> None:
    moment = datetime(2030, 1, 31, 12, 0, 5, tzinfo=UTC)
    for fault, code, header in (
        (faults.status(500), 500, None),
        (faults.status(503, retry_after=2), 503, "2"),
        (faults.status(429, retry_after=0.5), 429, "0.5"),
        (faults.status(429, retry_after=moment), 429, "Thu, 31 Jan 2030 12:00:05 GMT"),
    ):
        service.before = fault
        head, _ = split(await raw(service))
        assert head.startswith(f"HTTP/1.1 {code} ")
        assert f"Retry-After: {header}" in head if header else "Retry-After" not in head


async def test_reset_sends_nothing_at_all(service: DemoService) -> None:
    service.before = faults.reset
    with pytest.raises(ConnectionResetError):
        await raw(service)


async def test_truncated_is_shorter_than_its_content_length(service: DemoService) -> None:
    service.before = faults.truncated
    head, body = split(await raw(service))
    promised = int(head.partition("Content-Length: ")[2].partition("\r\n")[0])
    assert 0 < len(body) < promised
    async with aiohttp.ClientSession() as session, session.get(service.base_url) as response:
        with pytest.raises(aiohttp.ClientPayloadError):
            await response.read()


async def test_truncated_chunks_end_inside_a_chunk(service: DemoService) -> None:
    service.before = faults.truncated_chunks
    head, body = split(await raw(service))
    assert "Transfer-Encoding: chunked" in head
    assert len(body) < 0xFFF
    async with aiohttp.ClientSession() as session, session.get(service.base_url) as response:
        with pytest.raises(aiohttp.ClientPayloadError):
            await response.read()


async def test_truncated_silently_looks_fine_to_a_client(service: DemoService) -> None:
    service.before = faults.truncated_silently
    async with aiohttp.ClientSession() as session, session.get(service.base_url) as response:
        body = await response.read()
        assert response.status == 200
        assert not {"Content-Length", "Transfer-Encoding"} & set(response.headers)
    assert body.startswith(b'{"json":')
    with pytest.raises(json.JSONDecodeError):
        json.loads(body)


async def test_empty_and_html_answer_200(service: DemoService) -> None:
    service.before = faults.empty
    head, body = split(await raw(service))
    assert head.startswith("HTTP/1.1 200")
    assert body == b""
    service.before = faults.html
    head, body = split(await raw(service))
    assert head.startswith("HTTP/1.1 200")
    assert body.startswith(b"<!DOCTYPE html>")


async def test_bad_and_cut_gzip_have_the_headers_of_complete_answers(service: DemoService) -> None:
    for fault in (faults.bad_gzip, faults.cut_gzip):
        service.before = fault
        head, body = split(await raw(service))
        assert "Content-Encoding: gzip" in head
        assert f"Content-Length: {len(body)}" in head
        unpacker = zlib.decompressobj(wbits=31)
        if fault is faults.bad_gzip:
            with pytest.raises(zlib.error):
                unpacker.decompress(body)
        else:
            unpacker.decompress(body)
            assert not unpacker.eof


async def test_a_drip_continues_until_the_client_disconnects(service: DemoService) -> None:
    finished = asyncio.Event()
    drip = faults.drip(0.001)

    async def watched(request: web.Request) -> web.StreamResponse | None:
        try:
            return await drip(request)
        finally:
            finished.set()

    service.before = watched
    async with aiohttp.ClientSession() as session, session.get(service.base_url) as response:
        assert await response.content.readexactly(5) == b"     "
        response.close()
    await asyncio.wait_for(finished.wait(), 5)


async def test_hang_is_ended_by_the_client(service: DemoService) -> None:
    service.before = faults.hang
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(raw(service), 0.05)


async def test_slow_only_delays_the_genuine_answer(service: DemoService) -> None:
    loop = asyncio.get_running_loop()
    service.before = faults.slow(0.03)
    start = loop.time()
    _, body = split(await raw(service, "/blog/v1/entry/get"))
    assert loop.time() - start >= 0.03
    assert json.loads(body)["json"]["data"]["entry_id"] == "1"


BARE = make_mocked_request("GET", "/", transport=Mock())


def asking(address: str) -> web.Request:
    """Return a mocked request for an address; one mock is reused, because making it takes milliseconds."""
    return BARE.clone(rel_url=address)


async def strike(fault: faults.Fault, path: str = "/x") -> int | None:
    response = await fault(asking(path))
    return None if response is None else response.status


async def test_faults_compose() -> None:
    teapot, gone = faults.status(418), faults.status(410)
    assert await strike(faults.first_of(faults.only("/y", gone), teapot)) == 418
    assert await strike(faults.first_of(faults.only("/x", gone), teapot)) == 410
    assert await strike(faults.first_of()) is None
    assert await strike(faults.only("a=1", gone), "/x?a=1") == 410
    twice = faults.times(2, gone)
    assert [await strike(twice) for _ in range(4)] == [410, 410, None, None]
    assert await strike(twice, "/other") == 410


async def test_the_log_counts_and_times_the_faults() -> None:
    ticks = iter(range(10))
    log = faults.Log(clock=lambda: next(ticks))
    fault = faults.first_of(
        faults.only("a", log.logged("gone", faults.status(410))), log.logged("busy", faults.status(503))
    )
    for path in ("/a", "/b", "/a?x=1"):
        await strike(fault, path)
    assert log.counts == {"gone": 2, "busy": 1}
    assert log.struck == [
        faults.Struck("gone", "/a", 0),
        faults.Struck("busy", "/b", 1),
        faults.Struck("gone", "/a?x=1", 2),
    ]


async def strikes(seed: int, addresses: list[str], share: float = 0.25, in_a_row: int = 3) -> list[tuple[str, str]]:
    log = faults.Log()
    fault = faults.quarter_faulty(seed, share, log=log, in_a_row=in_a_row)
    for address in addresses:
        await fault(asking(address))
    return [(each.path, each.kind) for each in log.struck]


async def test_a_quarter_is_faulty_with_all_eight_kinds() -> None:
    struck = await strikes(5, [f"/blog/v1/entry/get?entry_id={number}" for number in range(2000)])
    assert 430 < len(struck) < 570
    counts = Counter(kind for _, kind in struck)
    assert counts.keys() == faults.KINDS.keys()
    assert len(counts) == 8
    assert min(counts.values()) > 30


async def test_faults_do_not_depend_on_the_order_of_requests() -> None:
    addresses = [f"/{number}" for number in range(60)] * 3
    struck = await strikes(5, addresses)
    assert sorted(await strikes(5, sorted(addresses))) == sorted(struck)
    assert sorted(await strikes(6, addresses)) != sorted(struck)


async def test_no_address_fails_too_often_in_a_row() -> None:
    assert len(await strikes(1, ["/a"] * 8, share=1.0, in_a_row=3)) == 6
    fault = faults.quarter_faulty(1, 1.0, in_a_row=1)
    assert [(await fault(asking("/a"))) is None for _ in range(4)] == [False, True, False, True]


async def test_a_client_that_retries_reads_everything(service: DemoService) -> None:
    log = faults.Log()
    service.before = faults.quarter_faulty(3, share=0.5, log=log)
    async with aiohttp.ClientSession() as session:
        for entry_id in range(1, 6):
            for _ in range(8):
                try:
                    address = f"{service.base_url}/blog/v1/entry/get?id=generated.blog.example.jp&entry_id={entry_id}"
                    async with session.get(address) as response:
                        record = json.loads(await response.read())["json"]["data"]
                        break
                except (aiohttp.ClientError, ValueError):
                    continue
            else:
                pytest.fail(f"entry {entry_id} never arrived")
            assert record == next(iter(service.blogs.values())).entries[entry_id]
    assert log.counts.total() >= 3
