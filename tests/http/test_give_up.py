"""When a host is given up, and when the program waits for a service, trusts it, or gives it up."""

from __future__ import annotations

import asyncio

import pytest
from aiohttp import web

from exporter.errors import (
    ApiError,
    BadBody,
    ConnectFailed,
    HostGivenUp,
    HtmlBody,
    NotAuthorised,
    RequestTimeout,
    RetryableStatus,
    ServiceSilent,
    TransportError,
    Unreachable,
)
from exporter.http.address_guard import AddressGuard
from exporter.http.deadline import Timeouts
from exporter.http.engine import Downloader, Engine
from exporter.http.retry import RetryPolicy
from exporter.model.exchange import Request
from tests.http.clocks import JumpClock
from tests.http.scripted import GOOD, Bench, Outcome, status
from tests.http.service import Service, raw_service, running_service, says
from tests.http.sink import POLICY, Memory, leading_to, using


async def test_a_pause_over_the_limit_gives_up_the_host(service: Service, clock: JumpClock) -> None:
    service.answers(lambda: web.Response(status=503, headers={"Retry-After": "61"}))

    async def work(downloader: Downloader) -> None:
        with pytest.raises(RetryableStatus):
            await downloader.read(service.url + "/a", Memory())
        with pytest.raises(HostGivenUp, match=r"127\.0\.0\.1:[0-9]+ asks for a long pause"):
            await downloader.read(service.url + "/b", Memory())

    assert (await using(work, clock)).statistics.requests == 1
    assert clock.sleeps == []


async def test_a_long_pause_for_the_pictures_of_one_blog_gives_up_the_host_for_all(
    service: Service, clock: JumpClock
) -> None:
    service.answers(lambda: web.Response(status=503, headers={"Retry-After": "61"}))
    async with Engine(clock=clock) as engine:
        one, other = (engine.downloader(AddressGuard(allow_private=True), policy=POLICY) for _ in range(2))
        with pytest.raises(RetryableStatus):
            await one.read(service.url + "/a", Memory())
        for name in ("/b", "/c"):
            with pytest.raises(HostGivenUp, match=r"127\.0\.0\.1:[0-9]+ asks for a long pause"):
                await other.read(service.url + name, Memory())
        assert engine.statistics.requests == 1
    assert clock.sleeps == []


async def test_a_pause_that_the_service_requested_applies_to_its_own_pictures(
    service: Service, clock: JumpClock
) -> None:
    async def busy(_: web.Request) -> web.StreamResponse:
        if clock.monotonic() < 300:
            return web.Response(status=503, headers={"Retry-After": "300"})
        return web.Response(body=b"ok")

    service.handler = busy
    async with Engine(clock=clock) as engine:
        engine.client(service.url)
        downloader = engine.downloader(AddressGuard(allow_private=True), policy=POLICY)
        assert (await downloader.read(service.url + "/a", Memory())).status == 200
    assert clock.monotonic() == 300


async def test_a_silent_host_is_given_up_after_three_addresses(clock: JumpClock) -> None:
    async def work(downloader: Downloader) -> None:
        for number in range(3):
            with pytest.raises(Unreachable):
                await downloader.read(f"http://127.0.0.1:1/{number}", Memory())
        with pytest.raises(HostGivenUp, match=r"127\.0\.0\.1:1 did not answer"):
            await downloader.read("http://127.0.0.1:1/3", Memory())

    assert (await using(work, clock)).statistics.requests == 9


async def test_a_host_that_hangs_is_given_up(clock: JumpClock) -> None:
    async with raw_service(says(then="hang")) as url:

        async def work(downloader: Downloader) -> None:
            for number in range(3):
                with pytest.raises(RequestTimeout):
                    await downloader.read(f"{url}/{number}", Memory())
            with pytest.raises(HostGivenUp):
                await downloader.read(f"{url}/3", Memory())

        await using(work, clock, timeouts=Timeouts(connect=0.05, read=0.05), policy=RetryPolicy(retries=0))


async def test_a_dead_host_behind_redirects_is_given_up_and_the_redirecting_hosts_are_not(
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
    # Three addresses, tried three times over both hops; one hop for each of two redirects; and the host's own address.
    assert downloader.statistics.requests == 3 * 3 * 2 + 2 + 1


async def test_a_host_behind_a_redirect_that_requests_a_long_pause_is_the_one_given_up(
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


# When the service never answered


@pytest.mark.parametrize(
    "failure", [Unreachable("no such name"), RequestTimeout("nothing there"), HtmlBody("a page"), status(500)]
)
async def test_a_host_without_any_good_response_fails_once_all_retries_are_used(
    clock: JumpClock, failure: Outcome
) -> None:
    bench = Bench(clock, {"/x": [failure]})
    assert isinstance(await bench.failure(), TransportError)
    assert bench.sent() == 9
    assert clock.monotonic() == 61.75


async def test_a_network_that_comes_up_half_a_minute_late_is_waited_for(clock: JumpClock) -> None:
    def later() -> Outcome:
        return GOOD if clock.monotonic() >= 30 else Unreachable("no such name")

    bench = Bench(clock, {"/x": [later]}, chance=lambda: 0.0)
    assert await bench.call() == b"good"
    assert clock.monotonic() < 31


@pytest.mark.parametrize("retries", [0, 1, 3])
async def test_the_number_of_retries_is_as_set(clock: JumpClock, retries: int) -> None:
    bench = Bench(clock, {"/x": [Unreachable("no such name")]}, RetryPolicy(retries=retries))
    await bench.failure()
    assert bench.sent() == 1 + retries


# When the service works and one request fails


async def test_one_broken_address_fails_while_a_probe_succeeds(clock: JumpClock) -> None:
    bench = Bench(clock, {"/list": [GOOD], "/x": [status(500)]})
    await bench.call("/list")
    bench.probe()
    error = await bench.failure()
    assert isinstance(error, RetryableStatus)
    assert (bench.sent(), bench.sent("/list")) == (9, 2)


@pytest.mark.parametrize("refused", [False, True])
async def test_one_broken_address_fails_without_a_probe_while_others_succeed(clock: JumpClock, refused: bool) -> None:
    outcomes: list[Outcome] = [_refused() if refused else status(500)]
    bench = Bench(clock, {"/good": [GOOD], "/x": outcomes}, RetryPolicy(refused_retries=3))
    await bench.call("/good")
    broken = asyncio.create_task(bench.failure())
    while not broken.done():
        await bench.call("/good")
        await clock.sleep(3)
    assert isinstance(broken.result(), Unreachable if refused else RetryableStatus)
    assert bench.sent() == 9


# When the whole host is down


async def test_an_outage_is_outlasted(clock: JumpClock) -> None:
    def after_ten_minutes() -> Outcome:
        return GOOD if clock.monotonic() > 600 else ConnectFailed("down")

    bench = Bench(clock, {"/list": [GOOD, after_ten_minutes], "/x": [after_ten_minutes]})
    await bench.call("/list")
    bench.probe()
    assert await bench.call() == b"good"
    assert 600 < clock.monotonic() < 635
    assert max(clock.sleeps) == 30


async def test_a_good_response_from_before_the_outage_does_not_count(clock: JumpClock) -> None:
    bench = Bench(clock, {"/list": [GOOD, GOOD, ConnectFailed("down")], "/x": [ConnectFailed("down")] * 20 + [GOOD]})
    await bench.call("/list")
    failing = asyncio.create_task(bench.call())
    await clock.sleep(0.01)
    await bench.call("/list")
    bench.probe()
    assert await failing == b"good"


async def test_an_outage_without_end_ends_the_run(clock: JumpClock) -> None:
    bench = Bench(clock, {"/list": [GOOD, BadBody("down")], "/x": [ConnectFailed("down")]})
    await bench.call("/list")
    bench.probe()
    error = await bench.failure()
    assert type(error) is ServiceSilent
    assert "no good answer for 1800 s" in str(error)
    assert "the last failure: down. Run again later: what was read so far is kept." in str(error)
    assert clock.monotonic() == 1800


async def test_an_outage_is_waited_for_even_without_a_probe(clock: JumpClock) -> None:
    bench = Bench(clock, {"/list": [GOOD], "/x": [ConnectFailed("down")]}, RetryPolicy(give_up_after=100))
    await bench.call("/list")
    assert "no good answer" in str(await bench.failure())


async def test_without_retries_an_outage_ends_the_run_at_once(clock: JumpClock) -> None:
    bench = Bench(clock, {"/list": [GOOD], "/x": [ConnectFailed("down")]}, RetryPolicy(retries=0))
    await bench.call("/list")
    error = await bench.failure()
    assert "has stopped answering, and retries is 0" in str(error)
    assert clock.monotonic() == 0


async def test_a_run_that_was_busy_elsewhere_has_not_waited_for_the_service(clock: JumpClock) -> None:
    bench = Bench(clock, {"/x": [GOOD, ConnectFailed("reset"), GOOD]})
    await bench.call()
    clock.advance(10_000)
    assert await bench.call() == b"good"
    assert clock.sleeps == [0.25]


async def test_a_service_that_refuses_is_not_silent(clock: JumpClock) -> None:
    refusals = [ApiError("entry/get", {}, 404, "gone") for _ in range(50)]
    bench = Bench(clock, {"/x": [GOOD, *refusals, BadBody("cut"), GOOD]}, RetryPolicy(give_up_after=60))
    await bench.call()
    for _ in refusals:
        await bench.failure()
        clock.advance(10)
    assert await bench.call() == b"good"


async def test_losing_the_permission_during_an_outage_ends_it(clock: JumpClock) -> None:
    bench = Bench(clock, {"/list": [GOOD, NotAuthorised("token expired")], "/x": [status(500)]})
    await bench.call("/list")
    bench.probe()
    assert isinstance(await bench.failure(), NotAuthorised)


async def test_another_requests_answer_during_a_failing_probe_counts(clock: JumpClock) -> None:
    bench = Bench(clock, {"/list": [GOOD], "/x": [status(500)]}, RetryPolicy(retries=0))
    await bench.call("/list")

    async def probe() -> None:
        bench.watch.note(None)
        raise BadBody("down")

    bench.watch.probe_with(probe)
    assert isinstance(await bench.failure(), RetryableStatus)


# When the first connection is refused


def _refused() -> Unreachable:
    refused = Unreachable("nothing answers there")
    refused.refused = True
    return refused


@pytest.mark.parametrize(
    ("refused_retries", "answers", "sent", "seconds"),
    [(3, [], 4, 1.75), (None, [], 9, 61.75), (3, [GOOD], 10, 100)],
    ids=["an unknown service", "a known service", "a service that has answered"],
)
async def test_a_refused_connection_to_an_unknown_service_is_most_likely_a_wrong_address(
    clock: JumpClock, refused_retries: int | None, answers: list[Outcome], sent: int, seconds: float
) -> None:
    policy = RetryPolicy(refused_retries=refused_retries, give_up_after=100)
    bench = Bench(clock, {"/list": [GOOD], "/x": [_refused()]}, policy)
    for _ in answers:
        await bench.call("/list")
    await bench.failure()
    assert (bench.sent(), clock.monotonic()) == (sent, seconds)


async def test_a_service_that_opens_its_port_late_is_no_wrong_address(clock: JumpClock) -> None:
    bench = Bench(clock, {"/x": [_refused(), _refused(), GOOD]}, RetryPolicy(refused_retries=3))
    assert await bench.call() == b"good"


async def test_a_closed_port_refuses_the_connection(clock: JumpClock) -> None:
    async with Engine(clock=clock) as engine:
        client = engine.client("http://127.0.0.1:1", policy=RetryPolicy(refused_retries=3))
        with pytest.raises(Unreachable, match="check the address") as raised:
            await client.fetch(Request("user", "/user", {}, {}), lambda answer: answer)
    assert raised.value.refused
    assert clock.monotonic() < 2
