from __future__ import annotations

import asyncio
import itertools
from typing import Any, Self

import pytest
from yarl import URL

from exporter.errors import ConnectFailed, UsageError
from exporter.http.address_guard import origin_of
from exporter.http.deadline import Timeouts
from exporter.http.throttle import Throttle, Throttled, Throttles
from exporter.http.transport import HttpRequest, HttpResponse, Sender, Statistics
from tests.http.clocks import JumpClock
from tests.http.scripted import NoBody


class Permit:
    """The turn of one request; a test sets ``status`` where there is an answer."""

    def __init__(self, throttle: Throttle) -> None:
        self._throttle = throttle
        self.status: int | None = None

    async def __aenter__(self) -> Self:
        self._turn = await self._throttle.enter()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._throttle.leave(self._turn, self.status)


async def use(throttle: Throttle, clock: JumpClock, *, status: int | None = 200, seconds: float = 0.0) -> None:
    async with Permit(throttle) as permit:
        clock.advance(seconds)
        permit.status = status


@pytest.mark.parametrize("concurrency", [0, -1])
def test_a_concurrency_that_lets_nothing_through_is_refused(concurrency: int, clock: JumpClock) -> None:
    with pytest.raises(UsageError, match="at least 1"):
        Throttle(concurrency, None, clock)


@pytest.mark.parametrize("rate", [0.0, -2.0, float("inf"), float("nan")])
def test_an_impossible_rate_is_refused(rate: float, clock: JumpClock) -> None:
    with pytest.raises(UsageError, match="requests per second"):
        Throttle(1, rate, clock)


async def test_never_more_than_the_limit_are_under_way(clock: JumpClock) -> None:
    throttle = Throttle(3, None, clock)
    now = most = done = 0

    async def one() -> None:
        nonlocal now, most, done
        async with Permit(throttle) as permit:
            now += 1
            most = max(most, now)
            await asyncio.sleep(0)
            now -= 1
            done += 1
            permit.status = 200

    await asyncio.gather(*(one() for _ in range(20)))
    assert (most, done) == (3, 20)


async def test_turns_are_given_in_order(clock: JumpClock) -> None:
    throttle = Throttle(1, None, clock)
    order: list[int] = []

    async def one(number: int) -> None:
        async with Permit(throttle):
            order.append(number)
            await asyncio.sleep(0)

    await asyncio.gather(*(one(number) for number in range(6)))
    assert order == list(range(6))


async def test_an_idle_throttle_lets_through_without_waiting(clock: JumpClock) -> None:
    step = Permit(Throttle(1, None, clock)).__aenter__()
    with pytest.raises(StopIteration):
        step.send(None)
    assert clock.sleeps == []


async def test_a_cancelled_waiter_gives_up_its_turn(clock: JumpClock) -> None:
    throttle = Throttle(1, None, clock)
    first = Permit(throttle)
    await first.__aenter__()
    waiting = [asyncio.create_task(use(throttle, clock)) for _ in range(3)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    await asyncio.sleep(0)
    await first.__aexit__(None, None, None)
    await asyncio.sleep(0)
    results = await asyncio.gather(*waiting, return_exceptions=True)
    assert isinstance(results[0], asyncio.CancelledError)
    assert results[1:] == [None, None]


async def test_a_waiter_that_is_being_cancelled_is_passed_over(clock: JumpClock) -> None:
    throttle = Throttle(1, None, clock)
    first = Permit(throttle)
    await first.__aenter__()
    waiting = [asyncio.create_task(use(throttle, clock)) for _ in range(2)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    await first.__aexit__(None, None, None)
    results = await asyncio.gather(*waiting, return_exceptions=True)
    assert isinstance(results[0], asyncio.CancelledError)
    assert results[1] is None


async def test_a_waiter_cancelled_just_as_its_turn_comes_passes_it_on(clock: JumpClock) -> None:
    throttle = Throttle(1, None, clock)
    first = Permit(throttle)
    await first.__aenter__()
    waiting = [asyncio.create_task(use(throttle, clock)) for _ in range(2)]
    await asyncio.sleep(0)
    await first.__aexit__(None, None, None)
    waiting[0].cancel()
    results = await asyncio.gather(*waiting, return_exceptions=True)
    assert isinstance(results[0], asyncio.CancelledError)
    assert results[1] is None


async def test_a_request_cancelled_during_a_pause_gives_its_permit_back(clock: JumpClock) -> None:
    throttle = Throttle(1, None, clock)
    throttle.pause_until(5.0)
    waiting = asyncio.create_task(use(throttle, clock))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    await asyncio.wait_for(use(throttle, clock), 5)
    assert clock.monotonic() == 5.0


async def test_the_rate_spaces_requests_evenly(clock: JumpClock) -> None:
    throttle = Throttle(8, 4.0, clock)
    starts: list[float] = []

    async def one() -> None:
        async with Permit(throttle):
            starts.append(clock.monotonic())

    await asyncio.gather(*(one() for _ in range(9)))
    assert starts == pytest.approx([0.25 * number for number in range(9)])


async def test_an_unused_rate_is_not_saved_up(clock: JumpClock) -> None:
    throttle = Throttle(8, 1.0, clock)
    await use(throttle, clock)
    clock.advance(100)
    before = clock.monotonic()
    for _ in range(3):
        await use(throttle, clock)
    assert clock.monotonic() == before + 2


async def test_a_pause_holds_everybody(clock: JumpClock) -> None:
    throttle = Throttle(4, None, clock)
    throttle.pause_until(30.0)
    throttle.pause_until(10.0)
    starts: list[float] = []

    async def one() -> None:
        async with Permit(throttle):
            starts.append(clock.monotonic())

    await asyncio.gather(*(one() for _ in range(6)))
    assert starts == [30.0] * 6


async def test_after_a_pause_the_rate_still_holds(clock: JumpClock) -> None:
    throttle = Throttle(4, 1.0, clock)
    starts: list[float] = []

    async def one(number: int) -> None:
        async with Permit(throttle):
            starts.append(clock.monotonic())
            if number == 0:
                throttle.pause_until(10.5)

    await asyncio.gather(*(one(number) for number in range(4)))
    assert starts[0] == 0.0
    assert min(starts[1:]) >= 10.5
    assert all(later - earlier >= 1.0 for earlier, later in itertools.pairwise(starts[1:]))


async def test_a_pause_that_begins_while_waiting_for_the_rate_holds_too(clock: JumpClock) -> None:
    throttle = Throttle(4, 1.0, clock)
    starts: list[float] = []

    async def one() -> None:
        async with Permit(throttle):
            starts.append(clock.monotonic())

    tasks = [asyncio.create_task(one()) for _ in range(3)]
    await clock.sleep(0.5)
    throttle.pause_until(10.0)
    await asyncio.gather(*tasks)
    assert starts == [0.0, 10.0, 11.0]


async def ask_in_turns(throttle: Throttle, clock: JumpClock, statuses: list[int | None]) -> list[int]:
    """Have eight ask so often; return the most that were under way with each."""
    left = iter(statuses)
    together: list[int] = []
    under_way = 0

    async def worker() -> None:
        nonlocal under_way
        for status in left:
            async with Permit(throttle) as permit:
                under_way += 1
                together.append(under_way)
                await clock.sleep(0.05)
                under_way -= 1
                permit.status = status

    await asyncio.gather(*(worker() for _ in range(8)))
    return together


async def test_it_begins_with_four_and_goes_on_to_the_ceiling(clock: JumpClock) -> None:
    throttle = Throttle(8, None, clock)
    together = await ask_in_turns(throttle, clock, [200] * 40)
    assert max(together[:4]) == 4
    assert max(together[4:]) == throttle.limit == 8


async def test_a_small_ceiling_is_never_passed(clock: JumpClock) -> None:
    throttle = Throttle(3, None, clock)
    assert max(await ask_in_turns(throttle, clock, [200] * 40)) == throttle.limit == 3


async def test_without_answers_it_stays_as_it_is(clock: JumpClock) -> None:
    throttle = Throttle(8, None, clock)
    await ask_in_turns(throttle, clock, [None] * 40)
    assert throttle.limit == 4


@pytest.mark.parametrize("status", [404, 500])
async def test_other_failures_do_not_slow_it_down(clock: JumpClock, status: int) -> None:
    throttle = Throttle(8, None, clock)
    await ask_in_turns(throttle, clock, [status] * 40)
    assert throttle.limit == 8


@pytest.mark.parametrize("status", [429, 503])
async def test_after_a_refusal_one_request_goes_first_and_a_good_answer_lets_others_follow(
    clock: JumpClock, status: int
) -> None:
    throttle = Throttle(8, None, clock)
    await ask_in_turns(throttle, clock, [200] * 40)
    await use(throttle, clock, status=status)
    assert throttle.limit == 1
    await use(throttle, clock, status=None)
    assert throttle.limit == 1
    await use(throttle, clock)
    assert throttle.limit > 1
    await ask_in_turns(throttle, clock, [200] * 4000)
    assert throttle.limit == 8


async def test_each_further_refusal_doubles_the_pause(clock: JumpClock) -> None:
    throttle = Throttle(8, None, clock)
    starts = []
    for _ in range(10):
        turn = await throttle.enter()
        starts.append(clock.monotonic())
        throttle.leave(turn, 429)
    assert [later - earlier for earlier, later in itertools.pairwise(starts)] == [
        0, 0.25, 0.5, 1, 2, 4, 8, 16, 30,
    ]  # fmt: skip
    await use(throttle, clock)
    begun = clock.monotonic()
    await use(throttle, clock, status=429)
    await use(throttle, clock, status=429)
    assert clock.monotonic() - begun < 1


async def test_of_requests_that_were_under_way_together_those_that_were_not_refused_are_the_limit(
    clock: JumpClock,
) -> None:
    throttle = Throttle(8, None, clock)
    await ask_in_turns(throttle, clock, [200] * 40)
    together: list[Any] = [Permit(throttle) for _ in range(8)]
    for permit in together:
        await permit.__aenter__()
        permit.status = 200
    together[6].status = together[7].status = 429
    for permit in reversed(together):
        await permit.__aexit__(None, None, None)
    await use(throttle, clock)
    assert throttle.limit == 6


async def test_a_smaller_limit_is_kept_by_those_who_wait(clock: JumpClock) -> None:
    throttle = Throttle(4, None, clock)
    together = await ask_in_turns(throttle, clock, [429] + [None] * 12)
    assert max(together[:4]) == 4
    assert max(together[7:]) == 1


async def test_less_allowed_while_one_is_at_the_door_sends_it_back_to_the_head_of_the_line(clock: JumpClock) -> None:
    throttle = Throttle(4, 1.0, clock)
    first = await throttle.enter()
    second = await throttle.enter()
    order: list[int] = []

    async def one(number: int) -> None:
        async with Permit(throttle):
            order.append(number)

    waiting = [asyncio.create_task(one(number)) for number in range(3)]
    await asyncio.sleep(0)
    throttle.leave(first, 429)
    assert throttle.limit == 1
    await clock.sleep(5)
    assert order == []
    throttle.leave(second, None)
    await asyncio.gather(*waiting)
    assert order == [0, 1, 2]


async def test_of_limits_set_twice_the_strictest_hold(clock: JumpClock) -> None:
    throttles = Throttles(clock, 6)
    throttles.restrict("http://h", 8, 2.0)
    throttles.restrict("http://h", 4, None)
    throttles.restrict("http://h", 9, 4.0)
    throttle = throttles.of("http://h")
    for _ in range(5):
        await use(throttle, clock)
    assert clock.monotonic() == 2.0
    assert (throttle.allowance.ceiling, throttles.of("http://other").allowance.ceiling) == (4, 6)


class Paced:
    """A transport whose answers take the longer the more there are under way, the body that share of it."""

    def __init__(self, clock: JumpClock, share: float) -> None:
        self._clock = clock
        self._share = share
        self._under_way = 0

    async def send(self, request: HttpRequest) -> HttpResponse:
        if request.url.path == "/broken":
            raise ConnectFailed("reset")
        self._under_way += 1
        seconds = 0.05 * self._under_way**2
        await self._clock.sleep(seconds)
        self._under_way -= 1
        return HttpResponse(request.origin, 200, {}, body_seconds=self._share * seconds)


def request(address: str) -> HttpRequest:
    return HttpRequest(URL(address), origin_of(URL(address)), {}, NoBody(), Sender(Timeouts(), Statistics()))


@pytest.mark.parametrize(("share", "limit"), [(0.999, 8), (0.0, 1)])
async def test_only_the_time_before_the_body_makes_a_host_look_busy(clock: JumpClock, share: float, limit: int) -> None:
    throttles = Throttles(clock, 8)
    throttled = Throttled(Paced(clock, share), throttles)
    things = iter(range(300))

    async def worker() -> None:
        for _ in things:
            await throttled.send(request("http://h/"))

    await asyncio.gather(*(worker() for _ in range(8)))
    assert throttles.of("http://h").limit == limit


async def test_a_failure_names_the_host_that_failed(clock: JumpClock) -> None:
    with pytest.raises(ConnectFailed) as caught:
        await Throttled(Paced(clock, 0.0), Throttles(clock, 4)).send(request("http://h:81/broken"))
    assert caught.value.origin == "http://h:81"
