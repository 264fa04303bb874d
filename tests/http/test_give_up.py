"""The pace of each host: retries, redirects hop by hop, Retry-After, and hosts that are left alone."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from aiohttp import web

from exporter.errors import (
    AddressRefused,
    BodyTooLarge,
    HostGivenUp,
    RedirectRefused,
    RequestTimeout,
    RetryableStatus,
    Unreachable,
)
from exporter.http.body import Timeouts
from exporter.http.engine import Download, Downloader
from exporter.http.retry import RetryPolicy
from tests.http.clocks import JumpClock
from tests.http.service import Service, raw_service, running_service, says
from tests.http.sink import Memory, downloading

POLICY = RetryPolicy(retries=2, base=1.0, max_retry_after=60.0)


async def using(work: Callable[[Downloader], Awaitable[Any]], clock: JumpClock, **given: Any) -> Downloader:
    async with downloading(clock=clock, **{"policy": POLICY, "timeouts": Timeouts(read=5.0), **given}) as downloader:
        await work(downloader)
        return downloader


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504, 599])
async def test_statuses_that_may_pass_are_tried_again(service: Service, clock: JumpClock, status: int) -> None:
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
async def test_other_statuses_are_an_answer(service: Service, clock: JumpClock, status: int) -> None:
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
async def test_what_is_refused_is_not_tried_again(
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


async def test_retry_after_holds_back_everybody_at_that_host(service: Service, clock: JumpClock) -> None:
    service.answers(lambda: web.Response(status=429, headers={"Retry-After": "30"}), lambda: web.Response(body=b"ok"))
    started: list[float] = []

    async def work(downloader: Downloader) -> None:
        async def one() -> None:
            await downloader.read(service.url, Memory())
            started.append(clock.monotonic())

        await asyncio.gather(one(), one())

    await using(work, clock, per_host=1)
    assert started == [30.0, 30.0]


async def test_a_longer_pause_than_obeyed_leaves_the_host_alone(service: Service, clock: JumpClock) -> None:
    service.answers(lambda: web.Response(status=503, headers={"Retry-After": "61"}))

    async def work(downloader: Downloader) -> None:
        with pytest.raises(RetryableStatus):
            await downloader.read(service.url + "/a", Memory())
        with pytest.raises(HostGivenUp, match=r"127\.0\.0\.1:[0-9]+ asks for a long pause"):
            await downloader.read(service.url + "/b", Memory())

    assert (await using(work, clock)).statistics.requests == 1
    assert clock.sleeps == []


async def test_a_silent_host_is_left_alone_after_three_addresses(clock: JumpClock) -> None:
    async def work(downloader: Downloader) -> None:
        for number in range(3):
            with pytest.raises(Unreachable):
                await downloader.read(f"http://127.0.0.1:1/{number}", Memory())
        with pytest.raises(HostGivenUp, match=r"127\.0\.0\.1:1 did not answer"):
            await downloader.read("http://127.0.0.1:1/3", Memory())

    assert (await using(work, clock)).statistics.requests == 9


async def test_a_host_that_hangs_is_left_alone_too(clock: JumpClock) -> None:
    async with raw_service(says(then="hang")) as url:

        async def work(downloader: Downloader) -> None:
            for number in range(3):
                with pytest.raises(RequestTimeout):
                    await downloader.read(f"{url}/{number}", Memory())
            with pytest.raises(HostGivenUp):
                await downloader.read(f"{url}/3", Memory())

        await using(work, clock, timeouts=Timeouts(connect=0.05, read=0.05), policy=RetryPolicy(retries=0))


def leading_to(target: str) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    """Redirect every address to the same path under ``target``."""

    async def answer(request: web.Request) -> web.StreamResponse:
        return web.Response(status=302, headers={"Location": target + request.path})

    return answer


async def test_a_pause_is_kept_by_the_host_that_asked_for_it_not_by_the_one_that_led_there(
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


async def test_a_dead_host_behind_redirects_is_left_alone_and_those_that_lead_there_are_not(
    service: Service, clock: JumpClock
) -> None:
    dead = "http://127.0.0.1:1"
    service.handler = leading_to(dead)
    async with running_service() as other:
        other.handler = leading_to(dead)

        async def work(downloader: Downloader) -> None:
            for number, leading in enumerate([service.url, other.url, service.url]):
                with pytest.raises(Unreachable):
                    await downloader.read(f"{leading}/{number}", Memory())
            for leading in (other.url, service.url, dead):
                with pytest.raises(HostGivenUp, match=r"127\.0\.0\.1:1 did not answer"):
                    await downloader.read(f"{leading}/3", Memory())
            service.answers(lambda: web.Response(body=b"ok"))
            assert (await downloader.read(f"{service.url}/own", Memory())).status == 200

        downloader = await using(work, clock)
    # Three addresses three times over both hops, one hop each of two that lead to it, and what the host itself has.
    assert downloader.statistics.requests == 3 * 3 * 2 + 2 + 1


async def test_a_host_behind_a_redirect_that_asks_for_a_long_pause_is_the_one_left_alone(
    service: Service, clock: JumpClock
) -> None:
    async with running_service() as there:
        there.answers(lambda: web.Response(status=503, headers={"Retry-After": "61"}))
        service.handler = leading_to(there.url)

        async def work(downloader: Downloader) -> None:
            with pytest.raises(RetryableStatus):
                await downloader.read(f"{service.url}/a", Memory())
            with pytest.raises(HostGivenUp, match=there.url.removeprefix("http://")):
                await downloader.read(f"{service.url}/b", Memory())
            service.answers(lambda: web.Response(body=b"ok"))
            assert (await downloader.read(f"{service.url}/c", Memory())).status == 200

        await using(work, clock)


async def test_what_is_no_address_is_refused(clock: JumpClock) -> None:
    async def work(downloader: Downloader) -> None:
        for address in ("http://[/", "http://h:port/"):
            with pytest.raises(AddressRefused):
                await downloader.read(address, Memory())

    await using(work, clock)


async def test_a_host_is_asked_by_so_many_at_a_time_only(service: Service, clock: JumpClock) -> None:
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

    await using(work, clock, per_host=3)
    assert most == 3
