"""Which failures are retried, after which delay, and that all requests wait for Retry-After."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.errors import (
    ApiError,
    BadBody,
    BodyTooLarge,
    ConnectFailed,
    LongPause,
    NotAuthorised,
    RedirectRefused,
    RequestTimeout,
    RetryableStatus,
    ServiceError,
    TransportError,
    Unreachable,
)
from exporter.http.credentials import Redactor
from exporter.http.retry import RetryPolicy
from exporter.http.transport import Statistics
from tests.http.clocks import JumpClock
from tests.http.scripted import GOOD, HOST, Bench, Outcome, status


async def test_a_good_answer_needs_one_request_and_no_wait(clock: JumpClock) -> None:
    bench = Bench(clock, {"/x": [GOOD]})
    assert await bench.call() == b"good"
    assert (bench.sent(), bench.statistics) == (1, Statistics())
    assert clock.sleeps == []


@pytest.mark.parametrize(
    "failure",
    [
        ConnectFailed("reset"),
        Unreachable("refused"),
        RequestTimeout("silent"),
        BadBody("cut"),
        status(408),
        status(425),
        status(500),
        status(502),
        status(503),
        status(504),
        status(599),
        status(429),
    ],
)
async def test_temporary_failures_are_tried_again(clock: JumpClock, failure: Outcome) -> None:
    bench = Bench(clock, {"/x": [failure, failure, GOOD]})
    assert await bench.call() == b"good"
    assert bench.sent() == 3
    assert [event.attempt for event in bench.events] == [1, 2]
    assert bench.events[0].operation == "entry/get"
    assert bench.events[0].reason
    assert bench.statistics.retries == 2
    assert clock.monotonic() == sum(event.wait for event in bench.events)


@pytest.mark.parametrize(
    "failure",
    [
        NotAuthorised("401"),
        ApiError("entry/get", {}, 404, "gone"),
        BodyTooLarge("bomb"),
        RedirectRefused("elsewhere"),
        ServiceError("anything else"),
    ],
)
async def test_final_failures_are_not_tried_again(clock: JumpClock, failure: ServiceError) -> None:
    bench = Bench(clock, {"/x": [failure]})
    assert await bench.failure() is failure
    assert bench.sent() == 1
    assert bench.events == []


async def test_a_final_failure_after_a_retry_ends_it(clock: JumpClock) -> None:
    gone = ApiError("entry/get", {}, 404, "gone")
    bench = Bench(clock, {"/x": [BadBody("cut"), gone, GOOD]})
    assert await bench.failure() is gone
    assert bench.sent() == 2


async def test_waits_double_up_to_the_ceiling(clock: JumpClock) -> None:
    bench = Bench(clock, {"/x": [BadBody("cut")] * 8 + [GOOD]})
    await bench.call()
    assert [event.wait for event in bench.events] == [0.25, 0.5, 1, 2, 4, 8, 16, 30]
    assert clock.sleeps == [event.wait for event in bench.events]


@given(st.integers(1, 10_000), st.floats(0, 1))
def test_each_wait_lies_between_half_and_all_of_its_step(failures: int, chance: float) -> None:
    policy = RetryPolicy()
    full = policy.backoff(failures, 1.0)
    assert full / 2 <= policy.backoff(failures, chance) <= full <= policy.ceiling


# Retry-After


@pytest.mark.parametrize("number", [429, 503])
@pytest.mark.parametrize("wish", ["120", "Sat, 31 Jan 2026 12:02:00 GMT"])
async def test_retry_after_delays_all_requests(clock: JumpClock, number: int, wish: str) -> None:
    busy = status(number, retry_after=wish)
    bench = Bench(clock, {"/x": [busy, GOOD], "/y": [GOOD]})
    waiting = asyncio.create_task(bench.call())
    await clock.sleep(1)
    await bench.call("/y")
    await waiting
    assert bench.transport.times["/x"] == [0.0, 120.0]
    assert bench.transport.times["/y"] == [120.0]
    assert bench.events[0].wait == 120.0


@pytest.mark.parametrize("retries", [0, 1])
async def test_retry_after_is_obeyed_even_if_the_request_is_not_repeated(clock: JumpClock, retries: int) -> None:
    busy = status(503, retry_after="120")
    bench = Bench(clock, {"/x": [busy], "/y": [GOOD]}, RetryPolicy(retries=retries))
    await bench.failure()
    await bench.call("/y")
    assert bench.transport.times["/y"] == [120.0 * (1 + retries)]


async def test_a_pause_from_another_response_is_waited_for_or_ends_the_run(clock: JumpClock) -> None:
    bench = Bench(clock, {"/x": [GOOD]})
    bench.retrying.throttles.of(HOST).pause_until(1801.0)
    error = await bench.failure()
    assert type(error) is LongPause
    assert "the service asks to wait 1801 s, longer than the 1800 s this run would (give_up_after)" in str(error)
    assert (bench.sent(), clock.monotonic()) == (0, 0.0)
    await clock.sleep(1.0)
    await bench.call()
    assert bench.transport.times["/x"] == [1801.0]


async def test_a_busy_service_without_retry_after_pauses_all_for_the_backoff(clock: JumpClock) -> None:
    bench = Bench(clock, {"/x": [status(429), GOOD], "/y": [GOOD]})
    waiting = asyncio.create_task(bench.call())
    await clock.sleep(0.1)
    await bench.call("/y")
    await waiting
    assert bench.transport.times["/y"] == [0.25]


@pytest.mark.parametrize("wish", ["-5", "0", "soon", "", "Sat, 31 Jan 1970 12:02:00 GMT"])
async def test_an_invalid_retry_after_is_replaced_by_the_backoff(clock: JumpClock, wish: str) -> None:
    bench = Bench(clock, {"/x": [status(503, retry_after=wish), GOOD]})
    await bench.call()
    assert bench.transport.times["/x"] == [0.0, 0.25]


@pytest.mark.parametrize("wish", ["3601", "9" * 400, "Sat, 31 Jan 2099 12:02:00 GMT"])
async def test_a_delay_over_the_limit_ends_the_run_and_names_the_wait(clock: JumpClock, wish: str) -> None:
    bench = Bench(clock, {"/x": [status(503, retry_after=wish), GOOD]})
    error = await bench.failure()
    assert type(error) is LongPause
    assert "asks to wait" in str(error)
    assert "longer than the 1800 s this run would (give_up_after)" in str(error)
    assert bench.sent() == 1
    assert clock.monotonic() == 0


async def test_a_delay_within_the_limit_is_obeyed(clock: JumpClock) -> None:
    policy = RetryPolicy(give_up_after=7200)
    bench = Bench(clock, {"/x": [status(503, retry_after="7000"), GOOD]}, policy)
    assert await bench.call() == b"good"
    assert clock.monotonic() == 7000


async def test_repeated_delays_do_not_exceed_the_limit(clock: JumpClock) -> None:
    bench = Bench(clock, {"/x": [status(429, retry_after="3")]}, RetryPolicy(give_up_after=5))
    error = await bench.failure()
    assert "no good answer for 5 s, the longest this run waits (give_up_after)" in str(error)
    assert "Run again later, or check the base URL." in str(error)
    assert bench.transport.times["/x"] == [0.0, 3.0]
    assert clock.monotonic() == 5


async def test_one_address_with_repeated_delays_is_given_up_while_others_succeed(
    clock: JumpClock,
) -> None:
    bench = Bench(clock, {"/good": [GOOD], "/x": [status(503, retry_after="1700")]})
    put_off = asyncio.create_task(bench.failure())
    while not put_off.done():
        await bench.call("/good")
        await clock.sleep(3)
    assert isinstance(put_off.result(), RetryableStatus)
    assert bench.transport.times["/x"] == [0.0, 1700.0, 3400.0]


async def test_every_try_is_limited_to_the_remaining_wait(clock: JumpClock) -> None:
    bench = Bench(clock, {"/x": [BadBody("cut"), BadBody("cut"), GOOD]}, RetryPolicy(give_up_after=60))
    await bench.call()
    assert bench.transport.patience == [60, 59.75, 59.25]


# The rest


async def test_retries_count_against_the_rate(clock: JumpClock) -> None:
    bench = Bench(clock, {"/x": [BadBody("cut"), BadBody("cut"), GOOD]}, rate=0.1)
    assert await bench.call() == b"good"
    assert bench.transport.times["/x"] == [0.0, 10.01, 20.02]


async def test_no_error_shows_the_token(clock: JumpClock) -> None:
    failures = [BadBody("got tok3n"), ApiError("entry/get", {}, 404, "no tok3n", "tok3n")]
    bench = Bench(clock, {"/x": failures}, redactor=Redactor(["tok3n"]))
    error = await bench.failure()
    assert isinstance(error, ApiError)
    assert "tok3n" not in str(error) + error.body + error.message
    assert bench.events[0].reason == "got ***"


async def test_being_cancelled_while_waiting_ends_at_once(clock: JumpClock) -> None:
    bench = Bench(clock, {"/x": [BadBody("cut")]})
    task = asyncio.create_task(bench.call())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@given(st.lists(st.sampled_from(["good", "cut", "500", "429", "reset", "refused"]), min_size=1, max_size=12))
def test_every_run_of_answers_ends_in_an_answer_or_a_transport_error(script: list[str]) -> None:
    outcomes: dict[str, Outcome] = {
        "good": GOOD,
        "cut": BadBody("cut"),
        "500": status(500),
        "429": status(429),
        "reset": ConnectFailed("reset"),
        "refused": Unreachable("refused"),
    }

    async def run() -> tuple[object, int]:
        bench = Bench(JumpClock(), {"/x": [outcomes[name] for name in script]})
        try:
            return await bench.call(), bench.sent()
        except TransportError as error:
            return error, bench.sent()

    result, sent = asyncio.run(run())
    assert (result == b"good") or isinstance(result, TransportError)
    assert sent <= 9
