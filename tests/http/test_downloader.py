"""Downloads from any host, against real sockets: requests sent, bytes received, failures, and retries."""

from __future__ import annotations

import asyncio
import zlib
from typing import Any

import pytest
from aiohttp import web
from aiohttp.abc import AbstractResolver, ResolveResult

from exporter.errors import (
    AddressRefused,
    BadBody,
    BodyTooLarge,
    ConnectFailed,
    RedirectRefused,
    RequestTimeout,
    RetryableStatus,
    TransportError,
    Unreachable,
)
from exporter.http.address_guard import AddressGuard
from exporter.http.deadline import Timeouts
from exporter.http.engine import Download, Downloader
from exporter.http.inflate import Inflate, decoder
from tests.http.clocks import JumpClock
from tests.http.service import Service, raw_service, running_service, says
from tests.http.sink import Memory, downloading, leading_to, using

BODY = b"0123456789" * 1000


async def fetch(url: str, sink: Memory | None = None, known: Download | None = None, **given: Any) -> Download:
    async with downloading(**given) as downloader:
        return await downloader.read(url, sink if sink is not None else Memory(), known=known)


async def test_a_file_goes_into_the_sink_and_the_answer_is_returned(service: Service) -> None:
    head = {"ETag": '"a"', "Last-Modified": "Sat, 31 Jan 2026 12:00:00 GMT", "Content-Type": "Image/PNG; charset=x"}
    service.answers(lambda: web.Response(body=BODY, headers=head))
    sink = Memory()
    found = await fetch(service.url + "/a%2Fb?q=%E6%B5%B7", sink)
    assert bytes(sink.data) == BODY
    assert (found.status, found.framed) == (200, True)
    assert (found.etag, found.last_modified) == ('"a"', head["Last-Modified"])
    assert sink.restarts == [('"a"', len(BODY))]
    assert service.seen[0].raw_path == "/a%2Fb?q=%E6%B5%B7"


async def test_a_foreign_host_learns_nothing_about_the_caller(service: Service) -> None:
    service.answers(lambda: web.Response(body=BODY, headers={"Set-Cookie": "a=b"}))
    async with downloading() as downloader:
        for _ in range(2):
            await downloader.read(service.url + "/", Memory())
    for request in service.seen:
        assert {"Authorization", "Cookie", "Referer"}.isdisjoint(request.headers)
        assert request.headers["Accept-Encoding"] == "identity"
        assert request.headers["User-Agent"].startswith("blog-exporter/")


async def test_a_proxy_in_the_environment_is_not_used(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    service.answers(lambda: web.Response(body=BODY))
    assert (await fetch(service.url)).status == 200


async def test_other_statuses_leave_the_sink_alone(service: Service) -> None:
    service.answers(lambda: web.Response(status=404, body=BODY), lambda: web.Response(status=206, body=BODY))
    sink = Memory(b"before")
    assert (await fetch(service.url, sink)).status == 404
    assert (await fetch(service.url, sink)).status == 206
    assert bytes(sink.data) == b"before"


async def test_a_redirect_to_nowhere_is_refused(service: Service) -> None:
    service.answers(lambda: web.Response(status=302, headers={"Location": "http://[::1"}))
    with pytest.raises(RedirectRefused, match="redirects to something"):
        await fetch(service.url)


async def test_a_redirect_without_a_target_is_no_redirect(service: Service) -> None:
    service.answers(lambda: web.Response(status=302))
    assert (await fetch(service.url)).status == 302


async def test_known_validators_are_sent(service: Service) -> None:
    service.answers(lambda: web.Response(status=304))
    sink = Memory()
    known = Download(200, etag='W/"a"', last_modified="Sat, 31 Jan 2026 12:00:00 GMT")
    assert (await fetch(service.url, sink, known)).status == 304
    assert service.seen[0].headers["If-None-Match"] == 'W/"a"'
    assert service.seen[0].headers["If-Modified-Since"] == known.last_modified
    await fetch(service.url, sink, Download(200))
    assert {"If-None-Match", "If-Modified-Since"}.isdisjoint(service.seen[1].headers)


async def test_a_file_cut_short_is_resumed(service: Service) -> None:
    head = {"Content-Range": f"bytes 4000-9999/{len(BODY)}", "ETag": '"a"'}
    service.answers(lambda: web.Response(status=206, body=BODY[4000:], headers=head))
    sink = Memory(BODY[:4000], '"a"')
    found = await fetch(service.url, sink)
    assert (found.status, found.etag, bytes(sink.data)) == (200, '"a"', BODY)
    assert service.seen[0].headers["Range"] == "bytes=4000-"
    assert service.seen[0].headers["If-Range"] == '"a"'


async def test_a_file_that_changed_meanwhile_is_read_again(service: Service) -> None:
    service.answers(lambda: web.Response(body=BODY, headers={"ETag": '"b"'}))
    sink = Memory(b"old", '"a"')
    await fetch(service.url, sink)
    assert (bytes(sink.data), sink.validator) == (BODY, '"b"')


async def test_a_beginning_without_a_validator_is_not_resumed(service: Service) -> None:
    service.answers(lambda: web.Response(body=BODY))
    sink = Memory(b"old")
    await fetch(service.url, sink)
    assert "Range" not in service.seen[0].headers
    assert bytes(sink.data) == BODY


@pytest.mark.parametrize(
    ("head", "validator"),
    [
        ({"ETag": 'W/"a"'}, None),
        ({"Last-Modified": "Sat, 31 Jan 2026 12:00:00 GMT"}, "Sat, 31 Jan 2026 12:00:00 GMT"),
        ({}, None),
        ({"ETag": '"a"', "Content-Encoding": "deflate"}, None),
    ],
)
async def test_validators_that_allow_a_resume(service: Service, head: dict[str, str], validator: str | None) -> None:
    body = zlib.compress(BODY) if "Content-Encoding" in head else BODY
    service.answers(lambda: web.Response(body=body, headers=head))
    sink = Memory()
    await fetch(service.url, sink)
    assert (sink.validator, bytes(sink.data)) == (validator, BODY)


@pytest.mark.parametrize(
    ("status", "headers"),
    [
        (206, {"Content-Range": f"bytes 3000-9999/{len(BODY)}"}),
        (206, {"Content-Range": "items 1-2/3"}),
        (206, {}),
        (206, {"Content-Range": f"bytes 4000-9999/{len(BODY)}", "Content-Encoding": "identity"}),
        (416, {}),
    ],
)
async def test_a_server_that_resumes_elsewhere_makes_it_start_anew(
    service: Service, status: int, headers: dict[str, str]
) -> None:
    service.answers(lambda: web.Response(status=status, body=BODY[4000:], headers=headers))
    sink = Memory(BODY[:4000], '"a"')
    with pytest.raises(BadBody):
        await fetch(service.url, sink)
    assert (sink.size, sink.validator) == (0, None)


async def test_a_rest_cut_short_is_an_error_and_kept(service: Service) -> None:
    head = {"Content-Range": f"bytes 4000-8999/{len(BODY)}"}
    service.answers(lambda: web.Response(status=206, body=BODY[4000:9000], headers=head))
    sink = Memory(BODY[:4000], '"a"')
    with pytest.raises(BadBody, match="cut short"):
        await fetch(service.url, sink)
    assert bytes(sink.data) == BODY[:9000]


async def test_the_framing_ends_a_rest_of_unknown_length(service: Service) -> None:
    service.answers(lambda: web.Response(status=206, body=BODY[4000:], headers={"Content-Range": "bytes 4000-9999/*"}))
    sink = Memory(BODY[:4000], '"a"')
    await fetch(service.url, sink)
    assert bytes(sink.data) == BODY


async def test_a_file_with_a_too_large_declared_size_is_not_read(service: Service) -> None:
    service.answers(lambda: web.Response(body=BODY))
    sink = Memory()
    with pytest.raises(BodyTooLarge, match="9999 bytes"):
        await fetch(service.url, sink, max_bytes=9999)
    assert sink.restarts == []


async def test_a_too_large_file_without_a_declared_size_is_cut() -> None:
    async with raw_service(says(b"HTTP/1.1 200 OK\r\n\r\n", BODY)) as url:
        sink = Memory()
        with pytest.raises(BodyTooLarge):
            await fetch(url, sink, max_bytes=9999)
        assert sink.size <= 9999


@pytest.mark.parametrize("wbits", [zlib.MAX_WBITS, -zlib.MAX_WBITS, 31])
async def test_an_unrequested_compression(service: Service, wbits: int) -> None:
    packed = zlib.compress(BODY, wbits=wbits)
    service.answers(
        lambda: web.Response(body=packed, headers={"Content-Encoding": "deflate" if wbits < 31 else "gzip"})
    )
    sink = Memory()
    await fetch(service.url, sink)
    assert bytes(sink.data) == BODY


async def test_a_bomb_is_cut_at_the_cap(service: Service) -> None:
    packed = zlib.compress(bytes(50_000_000), wbits=31)
    service.answers(lambda: web.Response(body=packed, headers={"Content-Encoding": "gzip"}))
    sink = Memory()
    with pytest.raises(BodyTooLarge):
        await fetch(service.url, sink, max_bytes=1_000_000)
    assert sink.size <= 1_000_000


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("gzip", zlib.compress(BODY, wbits=31)[:-20]),
        ("gzip", b"this is no gzip at all"),
        ("deflate", zlib.compress(BODY)[:10] + b"\xff" * 60),
        ("br", BODY),
        ("gzip, gzip", BODY),
    ],
)
async def test_a_body_not_in_its_encoding_is_bad(service: Service, encoding: str, body: bytes) -> None:
    service.answers(lambda: web.Response(body=body, headers={"Content-Encoding": encoding}))
    with pytest.raises(BadBody):
        await fetch(service.url)


def test_pieces_are_bounded_and_joined() -> None:
    packed = zlib.compress(bytes(3_000_000))
    inflate = decoder(" X-GZip ")
    assert isinstance(inflate, Inflate)
    pieces = []
    for at in range(0, len(packed), 7):
        inflate.feed(packed[at : at + 7])
        while piece := inflate.take():
            pieces.append(piece)
    inflate.end()
    assert max(map(len, pieces)) <= 256 * 1024
    assert b"".join(pieces) == bytes(3_000_000)


async def test_a_body_without_a_length_is_not_framed() -> None:
    async with raw_service(says(b"HTTP/1.1 200 OK\r\n\r\n", BODY)) as url:
        sink = Memory()
        assert (await fetch(url, sink)).framed is False
        assert bytes(sink.data) == BODY


async def test_a_body_shorter_than_its_length_is_bad_and_kept() -> None:
    async with raw_service(says(b'HTTP/1.1 200 OK\r\nETag: "a"\r\nContent-Length: 20000\r\n\r\n', BODY)) as url:
        sink = Memory()
        with pytest.raises(BadBody, match="cut short"):
            await fetch(url, sink)
        assert (bytes(sink.data), sink.validator) == (BODY, '"a"')


@pytest.mark.parametrize("garbage", [b"SSH-2.0-OpenSSH_9.2\r\n\r\n", b"HTTP/1.1 200 OK\r\nBad\x00: \x01\r\n\r\n"])
async def test_data_that_is_not_http_is_bad(garbage: bytes) -> None:
    async with raw_service(says(garbage)) as url:
        with pytest.raises(BadBody):
            await fetch(url)


async def test_a_connection_that_breaks_fails_once() -> None:
    connections = 0

    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        await reader.readuntil(b"\r\n\r\n")
        if connections > 1:
            return
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        await writer.drain()
        await reader.readuntil(b"\r\n\r\n")

    async with raw_service(hang_up) as url, downloading() as downloader:
        await downloader.read(url, Memory())
        with pytest.raises(ConnectFailed, match="broke"):
            await downloader.read(url, Memory())
    assert connections == 1


async def test_a_reset_in_the_middle_is_bad() -> None:
    async with raw_service(says(b"HTTP/1.1 200 OK\r\nContent-Length: 20000\r\n\r\n", BODY, then="reset")) as url:
        with pytest.raises(TransportError):
            await fetch(url)


async def test_nothing_listens() -> None:
    with pytest.raises(Unreachable, match="nothing answers there"):
        await fetch("http://127.0.0.1:1/")


class Silent(AbstractResolver):
    """Never answers."""

    async def resolve(self, host: str, port: int = 0, family: int = 0) -> list[ResolveResult]:
        await asyncio.sleep(30)
        return []

    async def close(self) -> None:
        return None


async def test_no_connection_in_time() -> None:
    async with downloading(timeouts=Timeouts(connect=0.05), resolver=Silent()) as downloader:
        with pytest.raises(Unreachable, match=r"cannot connect to its host: no answer within 0\.05 s"):
            await downloader.read("http://slow.example/", Memory())


async def test_a_name_that_does_not_resolve() -> None:
    with pytest.raises(Unreachable, match="does not resolve"):
        await fetch("http://nothing.invalid/")


async def test_a_host_without_tls(service: Service) -> None:
    with pytest.raises(Unreachable, match="TLS"):
        await fetch(service.url.replace("http:", "https:"))


async def test_silence_is_not_waited_for_ever() -> None:
    async with raw_service(says(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", b"x", then="hang")) as url:
        with pytest.raises(RequestTimeout, match=r"silent for 0\.1 s"):
            await fetch(url, timeouts=Timeouts(read=0.1))


async def test_dripping_is_not_waited_for_ever() -> None:
    drip = [b"HTTP/1.1 200 OK\r\n\r\n", *[b"x"] * 100]
    async with raw_service(says(*drip, pause=0.05)) as url:
        with pytest.raises(RequestTimeout, match=r"not done within 0\.3 s"):
            await fetch(url, timeouts=Timeouts(read=60.0, total=0.3))


async def test_a_host_that_is_no_canonical_number_is_refused(service: Service) -> None:
    port = service.url.rpartition(":")[2]
    async with downloading(AddressGuard(ports=frozenset({int(port)}))) as downloader:
        with pytest.raises(AddressRefused):
            await downloader.read(f"http://2130706433:{port}/", Memory())
    assert service.seen == []


# Retries, redirects hop by hop, and the pace of each host


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504, 599])
async def test_temporary_statuses_are_tried_again(service: Service, clock: JumpClock, status: int) -> None:
    service.answers(lambda: web.Response(status=status), lambda: web.Response(body=b"ok"))
    sink = Memory()

    async def work(downloader: Downloader) -> None:
        assert (await downloader.read(service.url, sink)).status == 200

    downloader = await using(work, clock)
    assert (downloader.statistics.requests, downloader.statistics.retries, downloader.statistics.bytes) == (2, 1, 2)
    assert clock.sleeps == [1.0]


async def test_the_last_failure_is_raised(service: Service, clock: JumpClock) -> None:
    service.answers(lambda: web.Response(status=500))

    async def work(downloader: Downloader) -> None:
        with pytest.raises(RetryableStatus, match="it answered 500"):
            await downloader.read(service.url, Memory())

    assert (await using(work, clock)).statistics.requests == 3
    assert clock.sleeps == [1.0, 2.0]


@pytest.mark.parametrize("status", [204, 304, 400, 401, 403, 404, 410])
async def test_other_statuses_are_returned(service: Service, clock: JumpClock, status: int) -> None:
    service.answers(lambda: web.Response(status=status))

    async def work(downloader: Downloader) -> None:
        assert (await downloader.read(service.url, Memory(), known=Download(200))).status == status

    assert (await using(work, clock)).statistics.requests == 1


async def test_redirects_are_followed_hop_by_hop(service: Service, clock: JumpClock) -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        left = int(request.path[1:])
        return web.Response(status=301, headers={"Location": f"/{left - 1}"}) if left else web.Response(body=b"end")

    service.handler = answer

    async def work(downloader: Downloader) -> None:
        sink = Memory()
        await downloader.read(f"{service.url}/5", sink)
        assert bytes(sink.data) == b"end"
        with pytest.raises(RedirectRefused, match="more than 5"):
            await downloader.read(f"{service.url}/6", Memory())

    assert (await using(work, clock)).statistics.requests == 12


@pytest.mark.parametrize(("target", "error"), [("ftp://h/", AddressRefused), ("http://u:p@h/", AddressRefused)])
async def test_a_refused_address_is_not_tried_again(
    service: Service, clock: JumpClock, target: str, error: type[Exception]
) -> None:
    service.answers(lambda: web.Response(status=302, headers={"Location": target}))

    async def work(downloader: Downloader) -> None:
        with pytest.raises(error):
            await downloader.read(service.url, Memory())

    await using(work, clock)
    assert clock.sleeps == []


async def test_too_large_is_not_tried_again(service: Service, clock: JumpClock) -> None:
    service.answers(lambda: web.Response(body=b"x" * 100))

    async def work(downloader: Downloader) -> None:
        with pytest.raises(BodyTooLarge):
            await downloader.read(service.url, Memory())

    assert (await using(work, clock, max_bytes=99)).statistics.requests == 1


async def test_a_file_cut_short_is_resumed_by_the_next_try(clock: JumpClock) -> None:
    asked: list[bytes] = []

    async def cut(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        asked.append(head)
        if b"Range: bytes=5-" in head:
            writer.write(
                b'HTTP/1.1 206 Partial\r\nETag: "a"\r\nContent-Range: bytes 5-9/10\r\nContent-Length: 5\r\n\r\n56789'
            )
        else:
            writer.write(b'HTTP/1.1 200 OK\r\nETag: "a"\r\nContent-Length: 10\r\n\r\n01234')
        await writer.drain()

    async with raw_service(cut) as url:
        sink = Memory()

        async def work(downloader: Downloader) -> None:
            assert (await downloader.read(url, sink)).status == 200

        downloader = await using(work, clock)
    assert bytes(sink.data) == b"0123456789"
    assert (len(asked), downloader.statistics.bytes) == (2, 10)


async def test_retry_after_delays_all_requests_to_that_host(service: Service, clock: JumpClock) -> None:
    service.answers(lambda: web.Response(status=429, headers={"Retry-After": "30"}), lambda: web.Response(body=b"ok"))
    started: list[float] = []

    async def work(downloader: Downloader) -> None:
        async def one() -> None:
            await downloader.read(service.url, Memory())
            started.append(clock.monotonic())

        await asyncio.gather(one(), one())

    await using(work, clock, concurrency=1)
    assert started == [30.0, 30.0]


async def test_a_pause_applies_to_the_host_that_requested_it_not_to_the_redirecting_one(
    service: Service, clock: JumpClock
) -> None:
    asked: dict[str, list[float]] = {"here": [], "there": []}
    async with running_service() as there:
        leading = leading_to(there.url)

        async def here(request: web.Request) -> web.StreamResponse:
            asked["here"].append(clock.monotonic())
            return web.Response(body=b"ok") if request.path == "/own" else await leading(request)

        async def busy(request: web.Request) -> web.StreamResponse:
            asked["there"].append(clock.monotonic())
            first = len(asked["there"]) == 1
            return web.Response(status=429, headers={"Retry-After": "30"}) if first else web.Response(body=b"ok")

        service.handler, there.handler = here, busy

        async def work(downloader: Downloader) -> None:
            led = asyncio.create_task(downloader.read(f"{service.url}/led", Memory()))
            await clock.sleep(1)
            await downloader.read(f"{service.url}/own", Memory())
            assert clock.monotonic() == 1.0
            await downloader.read(f"{there.url}/straight", Memory())
            assert clock.monotonic() == 30.0
            await led

        await using(work, clock)
    assert asked == {"here": [0.0, 1.0, 30.0], "there": [0.0, 30.0, 30.0]}


async def test_an_invalid_address_is_refused(clock: JumpClock) -> None:
    async def work(downloader: Downloader) -> None:
        for address in ("http://[/", "http://h:port/"):
            with pytest.raises(AddressRefused):
                await downloader.read(address, Memory())

    await using(work, clock)


async def test_concurrent_requests_to_a_host_are_limited(service: Service, clock: JumpClock) -> None:
    now = most = 0

    async def answer(_request: web.Request) -> web.StreamResponse:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.01)
        now -= 1
        return web.Response(body=b"ok")

    service.handler = answer

    async def work(downloader: Downloader) -> None:
        await asyncio.gather(*(downloader.read(f"{service.url}/{number}", Memory()) for number in range(12)))

    await using(work, clock, concurrency=3)
    assert most == 3
