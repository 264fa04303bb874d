"""A request that changes a service is sent once: after a failure, the client checks for it before a retry."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
from aiohttp import web

from exporter.errors import RedirectRefused, RetryableStatus
from exporter.http.engine import Engine
from exporter.http.retry import RetryPolicy
from exporter.model.exchange import Request, Response
from tests.http.clocks import JumpClock
from tests.http.service import Service, ok

POST = Request("records", "/records", {}, {"Content-Type": "application/json"}, "POST", b'{"a":1}')


class Kept:
    """A service that stores its requests, and loses a number of first responses on their way."""

    def __init__(self, service: Service, lost: int = 0, *, before: bool = False) -> None:
        self.records: list[bytes] = []
        self._lost = lost
        self._before = before
        service.handler = self.answer

    async def answer(self, request: web.Request) -> web.StreamResponse:
        content = await request.read()
        lost, self._lost = self._lost > 0, self._lost - 1
        if not (lost and self._before):
            self.records.append(content)
        if lost:
            assert request.transport is not None
            request.transport.abort()
        return web.Response(status=201, body=b"x" * 200_000)


def read(response: Response) -> tuple[int, int]:
    return response.status, len(response.body)


async def send(
    service: Service,
    clock: JumpClock,
    request: Request = POST,
    recover: Callable[[], Awaitable[tuple[int, int] | None]] | None = None,
) -> tuple[int, int]:
    async with Engine(clock=clock) as engine:
        return await engine.client(service.url, policy=RetryPolicy(retries=3)).fetch(request, read, recover=recover)


async def test_content_method_and_type_arrive_and_the_whole_answer_comes_back(
    service: Service, clock: JumpClock
) -> None:
    kept = Kept(service)
    assert await send(service, clock) == (201, 200_000)
    assert kept.records == [b'{"a":1}']
    assert (service.seen[0].method, service.seen[0].headers["Content-Type"]) == ("POST", "application/json")


async def test_a_request_that_arrived_without_a_response_is_not_repeated(service: Service, clock: JumpClock) -> None:
    kept = Kept(service, lost=1)

    async def recover() -> tuple[int, int] | None:
        return (200, len(kept.records)) if kept.records else None

    assert await send(service, clock, recover=recover) == (200, 1)
    assert len(kept.records) == 1


async def test_a_request_that_did_not_arrive_is_sent_again(service: Service, clock: JumpClock) -> None:
    kept = Kept(service, lost=2, before=True)
    asked = []

    async def recover() -> tuple[int, int] | None:
        asked.append(len(kept.records))
        return None

    assert await send(service, clock, recover=recover) == (201, 200_000)
    assert asked == [0, 0]
    assert len(kept.records) == 1


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_changing_request_follows_no_redirect(service: Service, clock: JumpClock, status: int) -> None:
    service.answers(lambda: web.Response(status=status, headers={"Location": "/other"}))
    with pytest.raises(RedirectRefused, match="redirects what is sent to it"):
        await send(service, clock)
    assert len(service.seen) == 1


async def test_a_status_may_be_final_for_one_operation(service: Service, clock: JumpClock) -> None:
    service.answers(lambda: web.Response(status=500, body=b"no"), lambda: ok({}))
    assert await send(service, clock, POST._replace(final=frozenset({500}))) == (500, 2)
    service.answers(lambda: web.Response(status=503))
    with pytest.raises(RetryableStatus):
        await send(service, clock, POST._replace(final=frozenset({500})))
