"""The requests that arrive in any second, and the concurrency, as the service itself measures them.

All tests run in virtual time, in which the service shares the client's loop. The long form repeats those of the rate in
real time, with a service in a separate process. It asserts the upper limits alone, which hold under any load.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

import pytest

from benchmarks.virtual_time import LoopClock
from exporter.clock import Clock, SystemClock
from exporter.errors import RequestTimeout
from exporter.http.deadline import Timeouts
from exporter.http.engine import Engine
from exporter.http.retry import RetryPolicy
from exporter.http.throttle import RateWindow
from exporter.model.exchange import Request, Response
from tests.http import loopback_time
from tests.http.clocks import JumpClock
from tests.http.loopback_time import LoopbackLoop
from tests.support.measured_service import Connection, Measured, Notes, measured_service


@dataclass(frozen=True)
class Service:
    """A service that measures, and the time in which it runs.

    Attributes:
        url: its address.
        measured: returns what it measured so far.
        clock: the client's clock.
        stall: blocks the client.
        exact: whether requests take exactly the time that they wish.
    """

    url: str
    measured: Callable[[], Measured]
    clock: Clock
    stall: Callable[[float], None]
    exact: bool


Scenario = Callable[[Service], Coroutine[Any, Any, None]]


def in_virtual_time(scenario: Scenario) -> None:
    async def run() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, LoopbackLoop)
        notes = Notes(loop.stall)
        async with await loop.create_server(lambda: Connection(notes), "127.0.0.1", 0) as server:
            url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            await scenario(Service(url, notes.measured, LoopClock(), loop.stall, exact=True))

    loopback_time.run(run())


def in_real_time(scenario: Scenario) -> None:
    with measured_service() as service:
        asyncio.run(scenario(Service(service.url, service.measured, SystemClock(), time.sleep, exact=False)))


both_times = pytest.mark.parametrize(
    "run_in", [in_virtual_time, pytest.param(in_real_time, marks=pytest.mark.thorough)]
)


def request(**wish: str) -> Request:
    return Request("entry/get", "/", wish, {})


def read(response: Response) -> int:
    return response.status


async def ask_for(service: Service, seconds: float, wish: Callable[[], dict[str, str]], **limits: Any) -> Measured:
    """Send as many requests as the limits allow for some time."""

    async def one() -> None:
        while True:
            await client.fetch(request(**wish()), read)

    async with Engine(clock=service.clock) as engine:
        client = engine.client(service.url, **limits)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await asyncio.gather(*(one() for _ in range(2 * limits["concurrency"])))
    return service.measured()


@both_times
def test_arrivals_in_any_second_stay_below_the_rate_and_come_close_to_it(run_in: Callable[[Scenario], None]) -> None:
    async def scenario(service: Service) -> None:
        found = await ask_for(service, 3.2, lambda: {"seconds": "0.005"}, concurrency=8, rate=100.0)
        assert found.most_in_a_second <= 100
        assert found.most_at_once <= 8
        begin = found.arrivals[0] + 1
        assert not service.exact or found.between(begin, begin + 2) >= 170

    run_in(scenario)


@both_times
def test_the_rate_holds_when_service_and_client_are_often_delayed(run_in: Callable[[Scenario], None]) -> None:
    chance = random.Random(5)

    async def scenario(service: Service) -> None:
        def wish() -> dict[str, str]:
            if chance.random() < 0.02:
                service.stall(0.1)
            stall = 0.15 if chance.random() < 0.02 else 0.0
            return {"seconds": f"{chance.random() / 20}", "stall": f"{stall}"}

        found = await ask_for(service, 2.5, wish, concurrency=20, rate=60.0)
        assert not service.exact or len(found.arrivals) > 60
        assert found.most_in_a_second <= 60
        assert found.most_at_once <= 20

    run_in(scenario)


@both_times
@pytest.mark.parametrize(("rate", "most", "seconds"), [(2.5, 3, 1.2), (0.8, 1, 1.25)])
def test_a_fractional_rate_holds_over_its_own_period(
    rate: float, most: int, seconds: float, run_in: Callable[[Scenario], None]
) -> None:
    async def scenario(service: Service) -> None:
        found = await ask_for(service, 2.6, dict, concurrency=4, rate=rate)
        assert found.most_within(seconds) <= most
        assert found.most_in_a_second <= most
        if service.exact:
            assert found.most_within(seconds) == found.most_in_a_second == most
            assert len(found.arrivals) >= 2.6 * rate

    run_in(scenario)


def test_a_long_body_delays_no_other_request() -> None:
    async def scenario(service: Service) -> None:
        found = await ask_for(service, 1.3, lambda: {"seconds": "2.5", "head": "1"}, concurrency=8, rate=2.0)
        assert found.arrivals[2] - found.arrivals[0] < 1.5
        assert found.most_in_a_second == 2

    in_virtual_time(scenario)


def test_a_request_without_a_response_counts_until_it_is_given_up() -> None:
    async def scenario(service: Service) -> None:
        policy = RetryPolicy(retries=0)
        async with Engine(clock=service.clock) as engine:
            client = engine.client(service.url, rate=1.0, timeouts=Timeouts(read=0.5), policy=policy)
            with pytest.raises(RequestTimeout):
                await client.fetch(request(seconds="0.7"), read)
            await client.fetch(request(), read)
        first, second = service.measured().arrivals
        assert second - first >= 1.3

    in_virtual_time(scenario)


@pytest.mark.parametrize("way", ["a time-out", "a cancellation"])
def test_a_cancelled_request_counts_as_under_way_until_the_service_has_noticed(way: str) -> None:
    async def scenario(service: Service) -> None:
        async with Engine(clock=service.clock) as engine:
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

    in_virtual_time(scenario)


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
