from __future__ import annotations

import asyncio
import itertools
from typing import Self

import pytest
from yarl import URL

from exporter.errors import ConnectFailed, LongPause, ServiceError, UsageError
from exporter.http.address_guard import origin_of
from exporter.http.deadline import Timeouts
from exporter.http.retry import HostWatch
from exporter.http.throttle import Throttle, Throttled, Throttles
from exporter.http.transport import HttpRequest, HttpResponse, Sender, Statistics
from tests.http.clocks import JumpClock
from tests.http.scripted import NoBody


class Permit:
    """A permit for one request; a test sets ``status`` if there is a response."""

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


async def test_the_rate_spaces_requests_nearly_evenly(clock: JumpClock) -> None:
    throttle = Throttle(8, 4.0, clock)
    starts: list[float] = []

    async def one() -> None:
        async with Permit(throttle):
            starts.append(clock.monotonic())

    await asyncio.gather(*(one() for _ in range(9)))
    assert starts == pytest.approx([0.0, 0.225, 0.45, 0.675, 1.01, 1.235, 1.46, 1.685, 2.02])


async def test_an_unused_rate_is_not_saved_up(clock: JumpClock) -> None:
    throttle = Throttle(8, 1.0, clock)
    await use(throttle, clock)
    clock.advance(100)
    before = clock.monotonic()
    for _ in range(3):
        await use(throttle, clock)
    assert clock.monotonic() == pytest.approx(before + 2.02)


async def test_after_a_kill_the_first_request_waits_until_older_ones_no_longer_count(clock: JumpClock) -> None:
    throttles = Throttles(clock, 4, after_kill=True)
    throttles.restrict("http://h", 4, None)
    await use(throttles.of("http://h"), clock)
    assert clock.monotonic() == 0.0
    throttles.restrict("http://h", 4, 2.0)
    await use(throttles.of("http://h"), clock)
    assert clock.monotonic() == pytest.approx(1.01)
    throttles.restrict("http://slow", 4, 0.5)
    await use(throttles.of("http://slow"), clock)
    assert clock.monotonic() == pytest.approx(1.01 + 2.01)


async def test_a_pause_holds_all_requests(clock: JumpClock) -> None:
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
    assert starts == [0.0, 10.0, 11.01]


async def used(clock: JumpClock, max_concurrency: int = 8) -> Throttle:
    """A throttle that was refused once and has grown to its limit again."""
    throttle = Throttle(max_concurrency, None, clock)
    await use(throttle, clock, status=429)
    for _ in range(100):
        await use(throttle, clock)
    assert throttle.limit == max_concurrency
    return throttle


async def test_the_limit_begins_at_four_and_grows_with_each_answer(clock: JumpClock) -> None:
    throttle = Throttle(8, None, clock)
    limits = [throttle.limit]
    for _ in range(5):
        await use(throttle, clock)
        limits.append(throttle.limit)
    assert limits == [4, 5, 6, 7, 8, 8]


async def together(throttle: Throttle, refused: int, status: int) -> None:
    permits = [Permit(throttle) for _ in range(throttle.limit)]
    for permit in permits:
        await permit.__aenter__()
        permit.status = 200
    for permit in permits[len(permits) - refused :]:
        permit.status = status
    for permit in permits:
        await permit.__aexit__(None, None, None)


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize(("refused", "limit"), [(1, 7), (2, 6), (4, 4), (8, 4)])
async def test_each_refusal_among_concurrent_requests_lowers_the_limit_by_one_down_to_half(
    clock: JumpClock, status: int, refused: int, limit: int
) -> None:
    throttle = await used(clock)
    await together(throttle, refused, status)
    assert throttle.limit == limit


async def test_without_any_success_the_limit_falls_to_one(clock: JumpClock) -> None:
    throttle = await used(clock)
    await together(throttle, 8, 503)
    await together(throttle, 4, 503)
    assert throttle.limit == 1
    for _ in range(60):
        await use(throttle, clock)
    assert throttle.limit == 8


async def test_the_time_before_an_increase_grows_with_each_refusal(clock: JumpClock) -> None:
    throttle = await used(clock, 4)
    rests = []
    for _ in range(5):
        await together(throttle, 1, 429)
        assert throttle.limit == 3
        answers = 0
        while throttle.limit == 3:
            await use(throttle, clock)
            answers += 1
        rests.append(answers)
    assert rests == sorted(rests)
    assert rests[-1] > 4 * rests[0]


@pytest.mark.parametrize("status", [None, 404, 500])
async def test_other_failures_do_not_slow_it_down(clock: JumpClock, status: int | None) -> None:
    throttle = Throttle(4, None, clock)
    await use(throttle, clock, status=status)
    assert throttle.limit == 4


async def test_waiting_requests_obey_a_lower_limit(clock: JumpClock) -> None:
    throttle = Throttle(4, None, clock)
    now = 0
    seen: list[int] = []

    async def one(number: int) -> None:
        nonlocal now
        async with Permit(throttle) as permit:
            now += 1
            seen.append(now)
            await asyncio.sleep(0)
            now -= 1
            permit.status = 429 if number == 0 else None

    await asyncio.gather(*(one(number) for number in range(12)))
    assert max(seen[:4]) == 4
    assert max(seen[4:]) == 1


async def test_rising_latency_backs_off(clock: JumpClock) -> None:
    throttle = Throttle(8, None, clock)
    for _ in range(10):
        await use(throttle, clock, seconds=0.05)
    assert throttle.limit == 8
    for _ in range(3):
        await use(throttle, clock, seconds=3.0)
    assert throttle.limit < 8


async def test_small_and_steady_latencies_do_not_back_off(clock: JumpClock) -> None:
    quick, slow = Throttle(8, None, clock), Throttle(8, None, clock)
    for seconds in (0.001, 0.4) * 20:
        await use(quick, clock, seconds=seconds)
        await use(slow, clock, seconds=2 + seconds)
    assert (quick.limit, slow.limit) == (8, 8)


async def test_a_service_that_has_become_slow_for_good_is_used_in_full_again(clock: JumpClock) -> None:
    throttle = Throttle(8, None, clock)
    await use(throttle, clock, seconds=0.01)
    limits = []
    for _ in range(120):
        await use(throttle, clock, seconds=1.0)
        limits.append(throttle.limit)
    assert min(limits) == 1
    assert limits[-1] == 8


async def test_of_two_limits_the_stricter_one_applies(clock: JumpClock) -> None:
    throttles = Throttles(clock, 6)
    throttles.restrict("http://h", 8, 2.0)
    throttles.restrict("http://h", 4, None)
    throttles.restrict("http://h", 9, 4.0)
    throttle = throttles.of("http://h")
    assert throttle.limit == 4
    for _ in range(5):
        await use(throttle, clock)
    assert clock.monotonic() == pytest.approx(2.02)
    other = throttles.of("http://other")
    for _ in range(5):
        await use(other, clock)
    assert other.limit == 6


class Paced(HostWatch):
    """A transport whose answers of ``/busy`` take ten seconds, including those of the body; ``/broken`` has none."""

    def __init__(self, clock: JumpClock, body_seconds: float) -> None:
        self._clock = clock
        self._body_seconds = body_seconds

    async def send(self, request: HttpRequest) -> HttpResponse:
        busy = request.url.path == "/busy"
        self._clock.advance(10.0 if busy else 0.0)
        if request.url.path == "/broken":
            raise ConnectFailed("reset")
        return HttpResponse(request.origin, 200, {}, body_seconds=self._body_seconds if busy else 0.0)

    def longest_pause(self, _origin: str, /) -> float:
        return 60.0

    def left_alone(self, _origin: str, seconds: float, /) -> ServiceError:
        return ServiceError(f"{seconds:g} s")


def request(address: str) -> HttpRequest:
    return HttpRequest(URL(address), origin_of(URL(address)), {}, NoBody(), Sender(Timeouts(), Statistics()))


@pytest.mark.parametrize(("body_seconds", "limit"), [(10.0, 4), (0.0, 2)])
async def test_only_the_time_before_the_body_makes_a_host_look_busy(
    clock: JumpClock, body_seconds: float, limit: int
) -> None:
    throttles = Throttles(clock, 4)
    throttled = Throttled(Paced(clock, body_seconds), throttles)
    await throttled.send(request("http://h/quick"))
    await throttled.send(request("http://h/busy"))
    assert throttles.of("http://h").limit == limit


@pytest.mark.parametrize("rate", [None, 2.0])
@pytest.mark.parametrize("at_once", [1, 4])
async def test_a_pause_that_grows_over_the_limit_ends_the_wait(
    clock: JumpClock, rate: float | None, at_once: int
) -> None:
    throttles = Throttles(clock, at_once)
    throttles.restrict("http://h", at_once, rate)
    throttle = throttles.of("http://h")
    throttle.pause_until(50.0)
    waiting = [asyncio.create_task(throttle.enter(60.0)) for _ in range(3)]
    await clock.sleep(10.0)
    throttle.pause_until(200.0)
    ends = await asyncio.gather(*waiting, return_exceptions=True)
    assert [end.seconds for end in ends if isinstance(end, LongPause)] == [150.0] * 3
    assert clock.monotonic() == 50.0
    await clock.sleep(95.0)
    await use(throttle, clock)
    assert clock.monotonic() == 200.0


async def test_a_long_pause_ends_the_wait_for_a_permit(clock: JumpClock) -> None:
    throttle = Throttle(4, 0.1, clock)
    first = await throttle.enter()
    waiting = asyncio.create_task(throttle.enter(60.0))
    await clock.sleep(15.0)
    throttle.pause_until(200.0)
    throttle.leave(first, 503)
    with pytest.raises(LongPause):
        await waiting
    assert clock.monotonic() < 30.0
    await clock.sleep(125.0)
    await use(throttle, clock)
    assert clock.monotonic() == 200.0


async def test_a_failure_names_the_host_that_failed(clock: JumpClock) -> None:
    with pytest.raises(ConnectFailed) as caught:
        await Throttled(Paced(clock, 0.0), Throttles(clock, 4)).send(request("http://h:81/broken"))
    assert caught.value.origin == "http://h:81"
