"""A transport without a network, which does what a script says."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from exporter.http.body import BodyStream
from exporter.http.transport import HttpRequest, HttpResponse
from tests.http.clocks import JumpClock

Outcome = Exception | HttpResponse


class NoBody:
    """What a transport without a network never asks."""

    def headers(self) -> Mapping[str, str]:
        return {}

    async def receive(self, stream: BodyStream) -> bytes:
        raise AssertionError("there is no stream")


class Scripted:
    """A transport that does for each path what a list says, and its last element for ever; it notes when."""

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
