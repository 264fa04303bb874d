"""The requests that arrive in any second, and the concurrency, as the service itself measures them."""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from exporter.errors import RequestTimeout
from exporter.http.deadline import Timeouts
from exporter.http.engine import Engine
from exporter.http.retry import RetryPolicy
from exporter.http.throttle import RateWindow
from exporter.model.exchange import Request, Response
from tests.http.clocks import JumpClock
from tests.support.measured_service import MeasuredService, measured_service


@pytest.fixture
def service() -> Iterator[MeasuredService]:
    with measured_service() as running:
        yield running


def request(**wish: str) -> Request:
    return Request("entry/get", "/", wish, {})


def read(response: Response) -> int:
    return response.status


async def ask_for(service: MeasuredService, seconds: float, wish: Callable[[], dict[str, str]], **limits: Any) -> None:
    """Send as many requests as the limits allow for some time."""

    async def one() -> None:
        while True:
            await client.fetch(request(**wish()), read)

    async with Engine() as engine:
        client = engine.client(service.url, **limits)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await asyncio.gather(*(one() for _ in range(2 * limits["concurrency"])))


async def test_arrivals_in_any_second_stay_below_the_rate_and_come_close_to_it(service: MeasuredService) -> None:
    await ask_for(service, 3.2, lambda: {"seconds": "0.005"}, concurrency=8, rate=100.0)
    found = service.measured()
    assert found.most_in_a_second <= 100
    assert found.most_at_once <= 8
    begin = found.arrivals[0] + 1
    assert found.between(begin, begin + 2) >= 170


async def test_the_rate_holds_when_service_and_client_are_often_delayed(service: MeasuredService) -> None:
    chance = random.Random(5)

    def wish() -> dict[str, str]:
        if chance.random() < 0.02:
            time.sleep(0.1)
        stall = 0.15 if chance.random() < 0.02 else 0.0
        return {"seconds": f"{chance.random() / 20}", "stall": f"{stall}"}

    await ask_for(service, 2.5, wish, concurrency=20, rate=60.0)
    found = service.measured()
    assert len(found.arrivals) > 60
    assert found.most_in_a_second <= 60
    assert found.most_at_once <= 20


@pytest.mark.parametrize(("rate", "most", "seconds"), [(2.5, 3, 1.2), (0.8, 1, 1.25)])
async def test_a_fractional_rate_holds_over_its_own_period(
    service: MeasuredService, rate: float, most: int, seconds: float
) -> None:
    await ask_for(service, 2.6, dict, concurrency=4, rate=rate)
    found = service.measured()
    assert found.most_within(seconds) == most
    assert found.most_in_a_second == most
    assert len(found.arrivals) >= 2.6 * rate


async def test_a_long_body_delays_no_other_request(service: MeasuredService) -> None:
    await ask_for(service, 1.3, lambda: {"seconds": "2.5", "head": "1"}, concurrency=8, rate=2.0)
    found = service.measured()
    assert found.arrivals[2] - found.arrivals[0] < 1.5
    assert found.most_in_a_second == 2


async def test_a_request_without_a_response_counts_until_it_is_given_up(service: MeasuredService) -> None:
    policy = RetryPolicy(retries=0)
    async with Engine() as engine:
        client = engine.client(service.url, rate=1.0, timeouts=Timeouts(read=0.5), policy=policy)
        with pytest.raises(RequestTimeout):
            await client.fetch(request(seconds="0.7"), read)
        await client.fetch(request(), read)
    first, second = service.measured().arrivals
    assert second - first >= 1.3


@pytest.mark.parametrize("way", ["a time-out", "a cancellation"])
async def test_a_cancelled_request_counts_as_under_way_until_the_service_has_noticed(
    service: MeasuredService, way: str
) -> None:
    async with Engine() as engine:
        timeouts, policy = Timeouts(read=0.3 if way == "a time-out" else 9), RetryPolicy(retries=0)
        client = engine.client(service.url, timeouts=timeouts, policy=policy, concurrency=2)
        asked = [asyncio.create_task(client.fetch(request(seconds="0.9"), read)) for _ in range(2)]
        await asyncio.sleep(0.3)
        if way == "a cancellation":
            for each in asked:
                each.cancel()
        await asyncio.gather(*asked, return_exceptions=True)
        await asyncio.gather(*(client.fetch(request(), read) for _ in range(2)))
    assert service.measured().most_at_once == 2


async def test_a_request_waits_when_all_permits_are_taken(clock: JumpClock) -> None:
    window = RateWindow(1.0, clock)
    await window.take(1)
    waiting = asyncio.create_task(window.take(2))
    await asyncio.sleep(0)
    clock.advance(5.0)
    window.heard(1)
    window.heard(1)
    await waiting
    assert clock.monotonic() == pytest.approx(6.01)
