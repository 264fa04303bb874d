"""A transport without a network, which follows a script, and the layers of a service over it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from yarl import URL

from exporter.errors import ServiceError
from exporter.http.body import BodyStream
from exporter.http.deadline import Timeouts
from exporter.http.retry import RetryEvent, Retrying, RetryPolicy, ServiceWatch
from exporter.http.throttle import Throttled, Throttles
from exporter.http.transport import HttpRequest, HttpResponse, Sender, Statistics
from tests.http.clocks import JumpClock

Outcome = Exception | HttpResponse


class NoBody:
    """A body that no caller reads, because there is no network."""

    def headers(self) -> Mapping[str, str]:
        return {}

    async def receive(self, stream: BodyStream) -> bytes:
        raise AssertionError("there is no stream")


class Scripted:
    """A transport with a list of results for each path, the last of which repeats; it records the times."""

    def __init__(self, clock: JumpClock, script: Mapping[str, list[Outcome | Callable[[], Outcome]]]) -> None:
        self._clock = clock
        self._script = script
        self.times: dict[str, list[float]] = {path: [] for path in script}
        self.patience: list[float] = []

    async def send(self, request: HttpRequest) -> HttpResponse:
        await asyncio.sleep(0)
        self.patience.append(request.patience)
        times, script = self.times[request.url.path], self._script[request.url.path]
        outcome = script[min(len(times), len(script) - 1)]
        times.append(self._clock.monotonic())
        if callable(outcome):
            outcome = outcome()
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


HOST = "http://api.example"


def status(number: int, body: bytes = b"", **headers: str) -> HttpResponse:
    fields = {name.replace("_", "-"): value for name, value in headers.items()}
    return HttpResponse(HOST, number, fields, body)


GOOD = status(200, b"good")


def read(response: HttpResponse) -> bytes:
    assert response.status == 200
    return response.body


def request(path: str, statistics: Statistics) -> HttpRequest:
    return HttpRequest(URL(HOST + path), HOST, {}, NoBody(), Sender(Timeouts(), statistics, "api.example"), "entry/get")


class Bench:
    """A service over scripted responses, in jumping time, without randomness."""

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
