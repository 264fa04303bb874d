"""Pings as healthchecks.io understands them, and monitors that are slow, wrong or gone."""

from __future__ import annotations

import asyncio
import socket
import uuid

import pytest

from exporter.errors import ApiError, ConnectFailed, Interrupted, RedirectRefused, UsageError
from exporter.notify.delivery import MAX_BODY_BYTES, Monitor, Signal
from tests.notify.conftest import FakeMonitor


def test_a_run_has_one_id_from_start_to_end(monitor: FakeMonitor) -> None:
    signals = Monitor(monitor.url + "?create=1")

    async def run() -> None:
        async with signals.started():
            await asyncio.sleep(0)
        await signals.send(Signal.SUCCESS, "exit 0: saved 猫")

    asyncio.run(run())
    start, end = monitor.pings
    assert (start.path, start.body) == ("/start", "")
    assert (end.path, end.body) == ("", "exit 0: saved 猫")
    assert start.query == end.query
    assert start.query["create"] == ["1"]
    assert str(uuid.UUID(start.query["rid"][0])) == start.query["rid"][0]
    assert not {"authorization", "cookie", "referer"} & (start.headers.keys() | end.headers.keys())
    assert signals.trouble is None


def test_the_end_of_a_long_body_is_sent(monitor: FakeMonitor) -> None:
    asyncio.run(Monitor(monitor.url).send(Signal.FAIL, "x" * MAX_BODY_BYTES + "the end"))
    assert len(monitor.pings[0].body) == MAX_BODY_BYTES
    assert monitor.pings[0].body.endswith("the end")


def test_two_failures_are_tried_again(monitor: FakeMonitor) -> None:
    monitor.statuses = [503, 500]
    signals = Monitor(monitor.url)
    asyncio.run(signals.send(Signal.LOG))
    assert monitor.paths == ["/log"] * 3
    assert signals.trouble is None


def test_permanent_failures_are_not_tried_again(monitor: FakeMonitor) -> None:
    monitor.statuses = [404]
    signals = Monitor(monitor.url)
    asyncio.run(signals.send(Signal.SUCCESS))
    assert monitor.paths == [""]
    assert isinstance(signals.trouble, ApiError)


def test_no_redirect_is_followed(monitor: FakeMonitor) -> None:
    monitor.statuses, monitor.location = [302], "http://127.0.0.1:1/elsewhere"
    signals = Monitor(monitor.url)
    asyncio.run(signals.send(Signal.SUCCESS))
    assert monitor.paths == [""]
    assert isinstance(signals.trouble, RedirectRefused)


def test_a_monitor_that_is_gone_costs_seconds_at_most() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    signals = Monitor(f"http://127.0.0.1:{port}/check")
    asyncio.run(signals.send(Signal.SUCCESS))
    assert isinstance(signals.trouble, ConnectFailed)


def test_a_monitor_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch, monitor: FakeMonitor) -> None:
    monkeypatch.setattr("exporter.notify.delivery.PING_SECONDS", 0.2)
    monitor.may_answer.clear()
    signals = Monitor(monitor.url)
    asyncio.run(signals.send(Signal.SUCCESS))
    assert monitor.answered == 0
    assert "did not answer in time" in str(signals.trouble)


def test_an_interrupted_run_does_not_wait_for_its_start(monkeypatch: pytest.MonkeyPatch, monitor: FakeMonitor) -> None:
    monkeypatch.setattr("exporter.notify.delivery.PING_SECONDS", 600.0)
    monitor.may_answer.clear()

    async def run() -> None:
        async with Monitor(monitor.url).started():
            await asyncio.to_thread(monitor.asked.wait, 600)
            raise Interrupted("Interrupted.")

    with pytest.raises(Interrupted):
        asyncio.run(run())
    assert monitor.answered == 0


@pytest.mark.parametrize(
    "url", ["", "hc-ping.com/x", "ftp://hc-ping.com/x", "https://u:p@hc-ping.com/x", "https://h/#x"]
)
def test_an_invalid_address_is_refused_at_once(url: str) -> None:
    with pytest.raises(UsageError):
        Monitor(url)
