"""The resources that the clients and downloaders of one engine share, and those that they do not."""

from __future__ import annotations

import asyncio

import pytest
from aiohttp import web
from yarl import URL

from exporter.errors import NotPublic, RetryableStatus
from exporter.http.address_guard import AddressGuard
from exporter.http.credentials import Credentials
from exporter.http.engine import Client, Engine
from exporter.http.retry import RetryPolicy
from exporter.http.transport import HttpRequest
from exporter.model.exchange import Request, Response
from tests.http.clocks import JumpClock
from tests.http.service import Service, ok
from tests.http.sink import Memory

ANYWHERE = AddressGuard(allow_private=True)


async def ask(client: Client, path: str = "/x") -> int:
    def status(response: Response) -> int:
        return response.status

    return await client.fetch(Request("entry/get", path, {}, {}), status)


class Busy:
    """Answers after a moment, and records each client and connection and the highest concurrency."""

    def __init__(self, service: Service, clock: JumpClock | None = None) -> None:
        self.connections: set[object] = set()
        self.tokens: set[str | None] = set()
        self.now = self.most = 0
        self.arrivals: list[float] = []
        self.clock = clock
        service.handler = self.answer

    async def answer(self, request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        if self.clock is not None:
            self.arrivals.append(self.clock.monotonic())
        self.connections.add(request.transport.get_extra_info("peername"))
        self.tokens.add(request.headers.get("Authorization"))
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0.01)
        self.now -= 1
        return ok({})


async def test_two_blogs_share_connections_throttle_and_statistics_but_no_credentials(service: Service) -> None:
    busy = Busy(service)
    async with Engine() as engine:
        one = engine.client(service.url, Credentials("1st"), concurrency=3)
        other = engine.client(service.url + "/", Credentials("2nd"), concurrency=5)
        await asyncio.gather(*(ask(client, f"/{number}") for number in range(10) for client in (one, other)))
        assert (one.statistics.requests, other.statistics.requests, engine.statistics.requests) == (10, 10, 20)
        assert engine.statistics.bytes == one.statistics.bytes + other.statistics.bytes > 0
        assert one.budget is other.budget
    assert busy.most == 3, "the stricter limit must apply to both"
    assert len(busy.connections) == 3
    assert busy.tokens == {"Bearer 1st", "Bearer 2nd"}


async def test_no_representation_of_a_client_or_its_requests_shows_the_token() -> None:
    async with Engine() as engine:
        client = engine.client("http://h.example", Credentials("s3cret"))
        headers = (await client.credentials.credentials()).headers
        request = HttpRequest(URL("http://h.example"), client.origin, headers, client.body, client.sender)
        assert "s3cret" in str(headers)
        assert "s3cret" not in repr(client) + repr(request)


async def test_a_pause_for_one_blog_applies_to_the_other(service: Service, clock: JumpClock) -> None:
    service.answers(lambda: web.Response(status=429, headers={"Retry-After": "30"}), lambda: ok({}))
    async with Engine(clock=clock) as engine:
        one, other = engine.client(service.url), engine.client(service.url)
        waiting = asyncio.create_task(ask(one))
        await clock.sleep(1)
        assert await ask(other) == 200
        assert clock.monotonic() == 30.0
        await waiting


async def test_one_blog_is_given_up_and_the_other_is_not(service: Service, clock: JumpClock) -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        return web.Response(status=500) if request.path == "/broken" else ok({})

    service.handler = answer
    async with Engine(clock=clock) as engine:
        one, other = (engine.client(service.url, policy=RetryPolicy(retries=1)) for _ in range(2))
        with pytest.raises(RetryableStatus):
            await ask(one, "/broken")
        assert await ask(other) == 200


async def test_pictures_at_the_services_host_keep_its_pace(service: Service, clock: JumpClock) -> None:
    busy = Busy(service, clock)
    async with Engine(clock=clock) as engine:
        client, downloader = engine.client(service.url, concurrency=2, rate=2.0), engine.downloader(ANYWHERE)
        reads = [downloader.read(f"{service.url}/{number}.png", Memory()) for number in range(5)]
        await asyncio.gather(*reads, *(ask(client) for _ in range(5)))
        assert (engine.statistics.requests, downloader.statistics.requests) == (10, 5)
    assert clock.monotonic() >= 4.4
    assert all(later - earlier > 1 for earlier, later in zip(busy.arrivals, busy.arrivals[2:], strict=False))
    assert busy.most <= 2
    assert len(busy.connections) <= 2, "if all addresses are allowed, there must be one pool"


async def test_pictures_do_not_use_a_connection_that_their_guard_would_have_refused(service: Service) -> None:
    port = int(service.url.rpartition(":")[2])
    service.answers(lambda: ok({}))
    async with Engine() as engine:
        await ask(engine.client(service.url))
        with pytest.raises(NotPublic):
            await engine.downloader(AddressGuard(ports=frozenset({port}))).read(f"{service.url}/a.png", Memory())
    assert len(service.seen) == 1
