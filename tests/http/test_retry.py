from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from yarl import URL

from exporter.errors import (
    ApiError,
    BadBody,
    BodyTooLarge,
    ConnectFailed,
    HtmlBody,
    NotAuthorised,
    RedirectRefused,
    RequestTimeout,
    RetryableStatus,
    ServiceError,
    TransportError,
    Unreachable,
)
from exporter.http.body import Timeouts
from exporter.http.credentials import Redactor
from exporter.http.give_up import ServiceWatch
from exporter.http.retry import RetryEvent, Retrying, RetryPolicy
from exporter.http.throttle import Throttled, Throttles
from exporter.http.transport import HttpRequest, HttpResponse, Sender, Statistics
from tests.http.clocks import JumpClock
from tests.http.scripted import NoBody, Outcome, Scripted

HOST = "http://api.example"


def status(number: int, body: bytes = b"", **headers: str) -> HttpResponse:
    fields = {name.replace("_", "-"): value for name, value in headers.items()}
    return HttpResponse(URL(HOST), number, fields, body)


GOOD = status(200, b"good")


def read(response: HttpResponse) -> bytes:
    assert response.status == 200
    return response.body


def request(path: str, statistics: Statistics) -> HttpRequest:
    return HttpRequest(URL(HOST + path), {}, NoBody(), Sender(Timeouts(), statistics, "api.example"), "entry/get")


class Bench:
    """A service over scripted answers, in jumping time, without chance."""

    def __init__(
        self,
        clock: JumpClock,
        script: Mapping[str, list[Any]],
        policy: RetryPolicy | None = None,
        *,
        rate: float | None = None,
        **more: Any,
    ) -> None:
        self.clock = clock
        self.events: list[RetryEvent] = []
        self.transport = Scripted(clock, script)
        self.statistics = Statistics()
        self.watch = ServiceWatch(self.transport, policy or RetryPolicy(), clock)
        throttles = Throttles(clock, 8)
        throttles.restrict(HOST, 8, rate)
        self.retrying = Retrying(
            Throttled(self.watch, throttles),
            policy or RetryPolicy(),
            self.watch,
            throttles,
            clock,
            **{"on_retry": self.events.append, "chance": lambda: 1.0, **more},
        )

    async def call(self, path: str = "/x") -> bytes:
        return await self.retrying.fetch(request(path, self.statistics), read)

    def probe(self, path: str = "/list") -> None:
        self.watch.probe_with(lambda: self.retrying.attempt(request(path, self.statistics), read))

    async def failure(self, path: str = "/x") -> ServiceError:
        with pytest.raises(ServiceError) as caught:
            await self.call(path)
        return caught.value

    def sent(self, path: str = "/x") -> int:
        return len(self.transport.times[path])


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
async def test_what_may_pass_is_tried_again(clock: JumpClock, failure: Outcome) -> None:
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
async def test_what_is_final_is_not(clock: JumpClock, failure: ServiceError) -> None:
    bench = Bench(clock, {"/x": [failure]})
    assert await bench.failure() is failure
    assert bench.sent() == 1
    assert bench.events == []


async def test_what_is_final_after_a_retry_ends_it(clock: JumpClock) -> None:
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


# When nobody ever answered


@pytest.mark.parametrize(
    "failure", [Unreachable("no such name"), RequestTimeout("nothing there"), HtmlBody("a page"), status(500)]
)
async def test_a_host_that_never_answers_well_fails_once_retries_are_used_up(
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
async def test_the_retries_are_as_many_as_were_set(clock: JumpClock, retries: int) -> None:
    bench = Bench(clock, {"/x": [Unreachable("no such name")]}, RetryPolicy(retries=retries))
    await bench.failure()
    assert bench.sent() == 1 + retries


# When the service lives and one thing fails


async def test_one_broken_thing_fails_while_a_probe_answers(clock: JumpClock) -> None:
    bench = Bench(clock, {"/list": [GOOD], "/x": [status(500)]})
    await bench.call("/list")
    bench.probe()
    error = await bench.failure()
    assert isinstance(error, RetryableStatus)
    assert (bench.sent(), bench.sent("/list")) == (9, 2)


async def test_one_broken_thing_fails_without_a_probe_while_others_are_answered(clock: JumpClock) -> None:
    bench = Bench(clock, {"/good": [GOOD], "/x": [status(500)]})
    await bench.call("/good")
    broken = asyncio.create_task(bench.failure())
    while not broken.done():
        await bench.call("/good")
        await clock.sleep(3)
    assert isinstance(broken.result(), RetryableStatus)
    assert bench.sent() == 9


# When the host as a whole is down


async def test_an_outage_is_outlasted(clock: JumpClock) -> None:
    def after_ten_minutes() -> Outcome:
        return GOOD if clock.monotonic() > 600 else ConnectFailed("down")

    bench = Bench(clock, {"/list": [GOOD, after_ten_minutes], "/x": [after_ten_minutes]})
    await bench.call("/list")
    bench.probe()
    assert await bench.call() == b"good"
    assert 600 < clock.monotonic() < 635
    assert max(clock.sleeps) == 30


async def test_a_good_answer_from_before_the_outage_does_not_count_as_life(clock: JumpClock) -> None:
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
    assert type(error) is ServiceError
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


# Retry-After


@pytest.mark.parametrize("number", [429, 503])
@pytest.mark.parametrize("wish", ["120", "Sat, 31 Jan 2026 12:02:00 GMT"])
async def test_retry_after_is_obeyed_by_everybody(clock: JumpClock, number: int, wish: str) -> None:
    busy = status(number, retry_after=wish)
    bench = Bench(clock, {"/x": [busy, GOOD], "/y": [GOOD]})
    waiting = asyncio.create_task(bench.call())
    await clock.sleep(1)
    await bench.call("/y")
    await waiting
    assert bench.transport.times["/x"] == [0.0, 120.0]
    assert bench.transport.times["/y"] == [120.0]
    assert bench.events[0].wait == 120.0


async def test_a_busy_service_that_names_no_time_pauses_everybody_for_the_backoff(clock: JumpClock) -> None:
    bench = Bench(clock, {"/x": [status(429), GOOD], "/y": [GOOD]})
    waiting = asyncio.create_task(bench.call())
    await clock.sleep(0.1)
    await bench.call("/y")
    await waiting
    assert bench.transport.times["/y"] == [0.25]


@pytest.mark.parametrize("wish", ["-5", "0", "soon", "", "Sat, 31 Jan 1970 12:02:00 GMT"])
async def test_a_senseless_wish_is_replaced_by_the_backoff(clock: JumpClock, wish: str) -> None:
    bench = Bench(clock, {"/x": [status(503, retry_after=wish), GOOD]})
    await bench.call()
    assert bench.transport.times["/x"] == [0.0, 0.25]


@pytest.mark.parametrize("wish", ["3601", "9" * 400, "Sat, 31 Jan 2099 12:02:00 GMT"])
async def test_a_wish_beyond_the_patience_ends_the_run_and_names_the_wait(clock: JumpClock, wish: str) -> None:
    bench = Bench(clock, {"/x": [status(503, retry_after=wish), GOOD]})
    error = await bench.failure()
    assert type(error) is ServiceError
    assert "asks to wait" in str(error)
    assert "longer than the 1800 s this run would (give_up_after)" in str(error)
    assert bench.sent() == 1
    assert clock.monotonic() == 0


async def test_a_wish_within_the_patience_is_obeyed(clock: JumpClock) -> None:
    policy = RetryPolicy(give_up_after=7200)
    bench = Bench(clock, {"/x": [status(503, retry_after="7000"), GOOD]}, policy)
    assert await bench.call() == b"good"
    assert clock.monotonic() == 7000


async def test_wishes_repeated_do_not_outlast_the_patience(clock: JumpClock) -> None:
    bench = Bench(clock, {"/x": [status(429, retry_after="3")]}, RetryPolicy(give_up_after=5))
    error = await bench.failure()
    assert "no good answer for 5 s, the longest this run waits (give_up_after)" in str(error)
    assert "Run again later, or check the base URL." in str(error)
    assert bench.transport.times["/x"] == [0.0, 3.0]
    assert clock.monotonic() == 5


async def test_one_thing_that_is_put_off_again_and_again_is_given_up_while_others_are_answered(
    clock: JumpClock,
) -> None:
    bench = Bench(clock, {"/good": [GOOD], "/x": [status(503, retry_after="1700")]})
    put_off = asyncio.create_task(bench.failure())
    while not put_off.done():
        await bench.call("/good")
        await clock.sleep(3)
    assert isinstance(put_off.result(), RetryableStatus)
    assert bench.transport.times["/x"] == [0.0, 1700.0, 3400.0]


async def test_a_request_carries_how_long_anybody_waits_for_it(clock: JumpClock) -> None:
    bench = Bench(clock, {"/x": [BadBody("cut"), BadBody("cut"), GOOD]}, RetryPolicy(give_up_after=60))
    await bench.call()
    assert bench.transport.patience == [60, 59.75, 59.25]


# The rest


async def test_retries_count_against_the_rate(clock: JumpClock) -> None:
    bench = Bench(clock, {"/x": [BadBody("cut"), BadBody("cut"), GOOD]}, rate=0.1)
    assert await bench.call() == b"good"
    assert bench.transport.times["/x"] == [0.0, 10.0, 20.0]


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
