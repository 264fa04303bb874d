"""Crawlers that share a host's budget, an owner of it, and what each makes of the other's failings; over real sockets."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from exporter.clock import SystemClock
from exporter.errors import LongPause, UsageError
from exporter.http.engine import Engine
from exporter.http.retry import RetryPolicy
from exporter.model.exchange import Request
from exporter.permits import gate, owner, wire
from exporter.permits.budget import HostLimits
from exporter.permits.gate import connect
from exporter.permits.meeting_place import MeetingPlace, Owner, Terms
from exporter.permits.owner import PermitOwner, start_owner
from tests.permits.conftest import owner_of, terms
from tests.support.measured_service import MeasuredService

TERMS = Terms({"http://h": HostLimits(6)}, lease=1.0, longest=1.5)


@pytest.fixture(autouse=True)
def _soon_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The measured service is done with each request within a twentieth of a second, whoever waits for it."""
    monkeypatch.setattr("exporter.http.throttle._CUT_OFF_SECONDS", 0.2)


async def ask_for(
    folder: Path, url: str, duration: float, tasks: int = 8, over: Callable[[], bool] = lambda: False, **wish: str
) -> int:
    """Ask as much as the permits allow until it is over, for some time at most; return how often that was answered."""
    answered = 0

    async def one() -> None:
        nonlocal answered
        while not over():
            await client.fetch(Request("entry/get", "/", wish, {}), lambda answer: answer.status)
            answered += 1

    async with connect(folder) as shared, Engine(throttles=shared) as engine:
        client = engine.client(url, policy=RetryPolicy(base=0.01))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(duration):
                await asyncio.gather(*(one() for _ in range(tasks)))
    return answered


async def test_crawlers_together_keep_the_budget_and_use_most_of_it(folder: Path, service: MeasuredService) -> None:
    async with start_owner(folder, terms(service, 8, 100.0)) as place:
        found = await asyncio.gather(*(ask_for(folder, service.url, 4.0, seconds="0.005") for _ in range(3)))
        assert min(found) > 80
    measured = service.measured()
    assert measured.most_in_a_second <= 100
    assert measured.most_at_once <= 8
    assert measured.between(measured.arrivals[0] + 1.2, measured.arrivals[0] + 3.2) >= 165
    last = place.owner()
    assert last is not None
    assert not last.host, "all was given back, so the next owner need not wait"


async def test_without_a_rate_the_slots_are_shared(folder: Path, service: MeasuredService) -> None:
    async with owner_of(MeetingPlace(folder).make(terms(service, 5, None))):
        found = await asyncio.gather(*(ask_for(folder, service.url, 1.0, seconds="0.02") for _ in range(2)))
    assert min(found) > 30
    assert service.measured().most_at_once == 5


@pytest.mark.parametrize("rate", [None, 20.0])
async def test_where_there_is_less_than_there_are_crawlers_they_take_turns(
    folder: Path, service: MeasuredService, monkeypatch: pytest.MonkeyPatch, rate: float | None
) -> None:
    monkeypatch.setattr("exporter.permits.budget._TURN", 0.5)
    # Those that wait for their first turn are no answers.
    answered = [-8, -8]

    async def ask(number: int) -> None:
        def over() -> bool:
            answered[number] += 1
            return min(answered) > 10

        await ask_for(folder, service.url, 20.0, tasks=8, over=over, seconds="0.02")

    # However slow the machine is, so that a turn is over before much was asked: none has all of them.
    async with owner_of(MeetingPlace(folder).make(terms(service, 1, rate))):
        await asyncio.gather(ask(0), ask(1))
    assert min(answered) > 10
    assert max(answered) < 100
    assert service.measured().most_at_once == 1


async def test_one_crawlers_pause_is_everybodys(folder: Path, service: MeasuredService) -> None:
    async with owner_of(MeetingPlace(folder).make(terms(service, 8, 50.0))):
        asking = [asyncio.create_task(ask_for(folder, service.url, 2.5, seconds="0.02", pause="1")) for _ in range(2)]
        await asyncio.sleep(0.6)
        await asyncio.to_thread(service.refuse, 0.1)
        refused_at = time.monotonic()
        await asyncio.gather(*asking)
    measured = service.measured()
    after = next(each for each in measured.arrivals if each > refused_at + 0.5)
    assert measured.between(refused_at + 0.25, after) == 0
    assert 0.8 < after - refused_at < 1.8


async def test_a_pause_outlasts_the_owner_though_its_crawler_asks_nothing_any_more(
    folder: Path, service: MeasuredService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate, "_IDLE", 0.2)
    async with (
        start_owner(folder, terms(service, 8, 50.0, lease=0.3, longest=0.3)),
        connect(folder) as shared,
        Engine(throttles=shared) as engine,
    ):
        client = engine.client(service.url)
        await asyncio.to_thread(service.refuse, 60.0)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1.0):
                await client.fetch(Request("entry/get", "/", {"pause": "7"}, {}), lambda answer: answer.status)
        await asyncio.to_thread(service.refuse, 0.0)
        await asyncio.sleep(1.2)  # what it has asked counts no more
        refused_at = service.measured().arrivals[-1]
        os.kill(json.loads((folder / "lock").read_bytes())["pid"], signal.SIGKILL)
        assert await ask_for(folder, service.url, refused_at + 8.5 - time.monotonic(), seconds="0.01") > 0
    measured = service.measured()
    after = next(each for each in measured.arrivals if each > refused_at)
    assert 6.9 < after - refused_at < 8.5


async def test_a_pause_is_told_of_once_and_kept_by_an_owner(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "_IDLE", 0.2)
    async with start_owner(folder, Terms({}, lease=0.3, longest=0.3)), connect(folder) as one:
        throttles = [one.of(f"http://h{number}") for number in range(1200)]
        for each in throttles:
            each.pause_until(SystemClock().monotonic() + 60.0)
        await asyncio.sleep(4.0)
        assert [
            each for each in one._leased.values() if each.report(one._epoch, lasts=True, idle=True) is not None
        ] == []
        async with connect(folder) as other:
            for number in (0, 1199):
                with pytest.raises(LongPause):
                    async with asyncio.timeout(5):
                        await other.of(f"http://h{number}").enter(50.0)


async def test_an_owner_keeps_the_longest_of_very_many_pauses(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(owner, "_MOST_PAUSED", 2)
    place = MeetingPlace(folder).make(TERMS)
    async with owner_of(place), AsyncExitStack() as stack:
        crawler = Crawler()
        await crawler.open(place, stack)
        hosts = {f"http://h{number}": report(pause=60 + number)["hosts"]["http://h"] for number in range(4)}
        assert await crawler.say({"sequence": 1, "hosts": hosts}) is not None
        assert await crawler.say({"sequence": 2, "hosts": {}}) is not None
        await asyncio.sleep(1.2)
        hosts = dict.fromkeys(hosts, report()["hosts"]["http://h"])
        answer = await crawler.say({"sequence": 3, "hosts": hosts})
    assert answer is not None
    assert [round(each["pause"], -1) for each in answer["hosts"].values()] == [0, 0, 60, 60]


async def test_the_next_owner_lets_living_crawlers_go_on_at_once(folder: Path, service: MeasuredService) -> None:
    async with start_owner(folder, terms(service, 8, 60.0, longest=30.0)) as place:
        asking = [asyncio.create_task(ask_for(folder, service.url, 3.7, seconds="0.01")) for _ in range(2)]
        await asyncio.sleep(1.6)
        os.kill(json.loads((folder / "lock").read_bytes())["pid"], signal.SIGKILL)
        killed_at = time.monotonic()
        await asyncio.gather(*asking)
        assert place.owner() is not None
    measured = service.measured()
    assert measured.most_in_a_second <= 60
    assert measured.most_at_once <= 8
    assert measured.between(killed_at, killed_at + 2.0) >= 0.75 * 120


async def test_what_a_dead_owner_gave_is_withheld_from_new_crawlers(folder: Path, service: MeasuredService) -> None:
    place = MeetingPlace(folder).make(terms(service, 4, 20.0, lease=0.3, longest=0.3))
    place.publish(Owner(6, "127.0.0.1", 1))
    async with owner_of(place):
        began = time.monotonic()
        await ask_for(folder, service.url, 5.0, tasks=1, over=lambda: bool(service.measured().arrivals), seconds="0.01")
    assert place.owner() == Owner(7, "", 0)
    assert 3.0 < service.measured().arrivals[0] - began < 5.0


async def test_an_owner_ends_where_there_is_a_newer_one(folder: Path, service: MeasuredService) -> None:
    place = MeetingPlace(folder).make(terms(service, 4, 20.0))
    async with owner_of(place) as owner:
        place.publish(Owner(2, "127.0.0.1", 1))
        await asyncio.wait_for(owner._over.wait(), 2)
    assert place.owner() == Owner(2, "127.0.0.1", 1)


async def test_an_owner_that_waits_ends_when_it_is_told_to(folder: Path, service: MeasuredService) -> None:
    place = MeetingPlace(folder).make(terms(service, 4, 20.0))
    lock = place.lock()
    lock.acquire(SystemClock().now())
    owner = PermitOwner(place)
    waiting = asyncio.create_task(owner.run())
    await asyncio.sleep(0.3)
    owner.stop()
    await waiting
    lock.release()
    assert place.owner() is None


async def test_hosts_without_terms_have_those_of_others_and_are_forgotten(
    folder: Path, service: MeasuredService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate, "_IDLE", 0.2)
    place = MeetingPlace(folder).make(Terms({}, HostLimits(2), lease=1.0, longest=1.0))
    async with owner_of(place) as owner, connect(folder) as shared, Engine(throttles=shared) as engine:
        client = engine.client(service.url)
        wish = Request("entry/get", "/", {"seconds": "0.05"}, {})
        await asyncio.gather(*(client.fetch(wish, lambda answer: answer.status) for _ in range(6)))
        assert list(owner._budgets) == [client.origin]
        async with asyncio.timeout(3):
            while owner._budgets:  # noqa: ASYNC110 - that is what it does
                await asyncio.sleep(0.05)
    assert service.measured().most_at_once == 2


async def test_what_is_not_renewed_by_the_time_of_the_write_is_not_sent(
    folder: Path, service: MeasuredService, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[bool] = []

    class Slow(gate.LeasedThrottle):
        def before_sending(self) -> None:
            if not ended:
                ended.append(True)
                time.sleep(0.5)
            super().before_sending()

    monkeypatch.setattr(gate, "LeasedThrottle", Slow)
    place = MeetingPlace(folder).make(terms(service, 2, None, lease=0.4))
    async with owner_of(place), connect(folder) as shared, Engine(throttles=shared) as engine:
        client = engine.client(service.url)
        begun = time.monotonic()
        await client.fetch(Request("entry/get", "/", {}, {}), lambda answer: answer.status)
    (arrived,) = service.measured().arrivals
    assert ended
    assert arrived - begun > 0.5


async def test_a_crawler_asks_nothing_while_there_is_no_owner(
    folder: Path, service: MeasuredService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate, "_PARTING", 0.1)
    MeetingPlace(folder).make(terms(service, 2, None))
    assert await ask_for(folder, service.url, 0.5) == 0


# Hostile and broken company


async def talk(place: MeetingPlace, *lines: bytes) -> bytes:
    """Say something to the owner after its greeting, and return all that it answers."""
    owner = place.owner()
    assert owner is not None
    reader, writer = await asyncio.open_connection(owner.host, owner.port)
    await reader.readline()
    writer.writelines(lines)
    writer.write_eof()
    try:
        return await asyncio.wait_for(reader.read(), 5)
    except ConnectionError:
        return b""
    finally:
        writer.close()


class Crawler:
    """One that says what a test tells it to."""

    async def open(self, place: MeetingPlace, stack: AsyncExitStack, name: str = "me") -> None:
        owner = place.owner()
        assert owner is not None
        self.reader, self.writer = await asyncio.open_connection(owner.host, owner.port)
        stack.callback(self.writer.close)
        challenge = (await wire.read(self.reader))["challenge"]
        proof = place.proof("crawler", challenge, name)
        self.writer.write(wire.line({"name": name, "challenge": "x", "proof": proof}))
        assert (await wire.read(self.reader))["proof"] == place.proof("owner", "x", name)

    async def say(self, value: Any) -> dict[str, Any] | None:
        self.writer.write(json.dumps(value).encode() + b"\n")
        try:
            return await wire.read(self.reader)
        except ConnectionError:
            return None


def report(sequence: int = 1, **more: Any) -> dict[str, Any]:
    told = {"held": [0, 0], "wanted": [9, 9], "under_way": 0, "lasts": False, "pause": 0, "heard": []}
    return {"sequence": sequence, "hosts": {"http://h": told | more}}


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"GET / HTTP/1.1\r\n\r\n",
        b"\xff" * 100 + b"\n",
        b"[" * 100_000 + b"\n",
        b'{"name":"x"',
        b"x" * (wire.LONGEST_LINE + 10) + b"\n",
        b'{"name":"x","challenge":"y","proof":"z"}\n',
        b'{"name":["x"],"challenge":{},"proof":7}\n',
        b"[]\n",
        b'{"a":' + b'{"a":' * 5000 + b"1" + b"}" * 5001 + b"\n",
    ],
)
async def test_who_does_not_know_the_secret_hears_nothing(folder: Path, said: bytes) -> None:
    place = MeetingPlace(folder).make(TERMS)
    async with owner_of(place):
        assert await talk(place, said) == b""
        async with AsyncExitStack() as stack:
            other = Crawler()
            await other.open(place, stack)
            assert await other.say(report()) is not None


@pytest.mark.parametrize(
    "said",
    [
        {},
        {"sequence": 1},
        {"sequence": "1", "hosts": {}},
        {"sequence": True, "hosts": {}},
        {"sequence": -1, "hosts": {}},
        {"sequence": 1, "hosts": {"h": 1}},
        {"sequence": 1, "hosts": {"h" * 1000: report()["hosts"]["http://h"]}},
        {"sequence": 1, "hosts": {str(each): {} for each in range(1001)}},
        report(held=[-1, 0]),
        report(held=[1.5, 0]),
        report(held=[10**9, 0]),
        report(held=[1]),
        report(held={}),
        report(pause=-1),
        report(pause="1"),
        report(pause=None),
        report(under_way=None),
        report(heard={}),
        report(heard=[[]]),
        report(heard=[7]),
        report(heard=[[1, 2, 3]]),
        report(heard=[[1, 1e300, 0, True]]),
    ],
)
async def test_a_report_that_makes_no_sense_is_not_answered(folder: Path, said: Any) -> None:
    place = MeetingPlace(folder).make(TERMS)
    async with owner_of(place), AsyncExitStack() as stack:
        one, other = Crawler(), Crawler()
        await one.open(place, stack, "one")
        assert await one.say(said) is None
        await other.open(place, stack, "other")
        assert await other.say(report()) is not None


async def test_a_crawler_that_has_reported_for_months_is_still_answered(folder: Path, service: MeasuredService) -> None:
    place = MeetingPlace(folder).make(terms(service, 2, None))
    async with owner_of(place), connect(folder) as shared, Engine(throttles=shared) as engine:
        shared._sequence = 10 * 86_400 * 365
        client = engine.client(service.url)
        async with asyncio.timeout(5):
            assert await client.fetch(Request("entry/get", "/", {}, {}), lambda answer: answer.status) == 200


async def test_a_report_that_comes_late_over_an_older_connection_changes_nothing(folder: Path) -> None:
    place = MeetingPlace(folder).make(TERMS)
    async with owner_of(place), AsyncExitStack() as stack:
        old, new = Crawler(), Crawler()
        await old.open(place, stack)
        await new.open(place, stack)
        answer = await new.say(report(2))
        assert answer is not None
        assert answer["hosts"]["http://h"]["share"] == [4, 0]
        assert await old.say(report(1)) is None
        other = Crawler()
        await other.open(place, stack, "other")
        answer = await other.say(report(1))
        assert answer is not None
        assert answer["hosts"]["http://h"]["share"] == [0, 0]


@pytest.mark.parametrize(
    "answers",
    [
        {"proof": "wrong"},
        {"epoch": 2},
        {"epoch": "3"},
        {"sequence": 7},
        {"answer_epoch": 4},
        {"hosts": []},
        {"lease": -1},
        {"hosts": {}},
        {"share": [9]},
    ],
)
async def test_a_crawler_believes_no_impostor_and_no_older_owner(folder: Path, answers: dict[str, Any]) -> None:
    place = MeetingPlace(folder).make(TERMS)
    shared = gate.RemoteGate(place, SystemClock())
    shared._epoch = 3
    throttle = shared.of("http://h")

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.closing(writer), contextlib.suppress(ConnectionError):
            writer.write(wire.line({"challenge": "c"}))
            said = await wire.read(reader)
            proof = answers.get("proof", place.proof("owner", said["challenge"], said["name"]))
            writer.write(wire.line({"proof": proof, "epoch": answers.get("epoch", 3)}))
            while True:
                said = await wire.read(reader)
                told = {"share": answers.get("share", [2, 0]), "aim": [2, 0], "pause": 0, "cuts": 0, "interval": 0}
                answer = {"sequence": said["sequence"], "epoch": answers.get("answer_epoch", 3), "lease": 9.0}
                hosts = {"hosts": {"http://h": told}}
                writer.write(
                    wire.line(
                        answer | hosts | {key: answers[key] for key in answers if key in {"sequence", "hosts", "lease"}}
                    )
                )

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    place.publish(Owner(3, "127.0.0.1", server.sockets[0].getsockname()[1]))
    keeping = asyncio.create_task(shared.keep())
    await asyncio.sleep(0.25)
    assert throttle.limit == 0
    assert not keeping.done()
    keeping.cancel()
    await asyncio.gather(keeping, return_exceptions=True)
    server.close()


async def test_more_hosts_than_can_be_told_of_wait_and_their_names_may_be_long(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wire, "MOST_HOSTS", 2)
    monkeypatch.setattr(gate, "_IDLE", 0.3)
    async with owner_of(MeetingPlace(folder).make(TERMS)), connect(folder) as shared:
        throttles = [shared.of(f"http://{'h' * 290}{number}.{'long' * 9}") for number in range(5)]
        turns = [asyncio.create_task(each.enter()) for each in throttles]
        for each, turn in zip(throttles, turns, strict=True):
            each.leave(await asyncio.wait_for(turn, 5), 200)


async def test_a_folder_that_no_owner_made_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"terms\.json"):
        async with connect(tmp_path):
            pass


async def test_an_owner_of_a_folder_that_is_damaged_says_so(folder: Path) -> None:
    MeetingPlace(folder).make(TERMS)
    (folder / "terms.json").write_text("{", "utf-8")
    command = (sys.executable, "-m", "exporter.permits.owner", str(folder))
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stderr=pipe)
    _, said = await process.communicate()
    assert process.returncode == 1
    assert b"terms.json is not readable" in said
    assert said.count(b"\n") == 1


async def test_a_crawler_knows_an_owner_older_than_one_it_has_seen(folder: Path) -> None:
    place = MeetingPlace(folder).make(TERMS)
    shared = gate.RemoteGate(place, SystemClock())
    async with owner_of(place):
        shared._epoch = 2
        keeping = asyncio.create_task(shared.keep())
        await asyncio.sleep(0.3)
        assert not shared.lasts()
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)


@pytest.mark.parametrize("name", ["terms.json", "owner.json"])
@pytest.mark.parametrize("text", ["", "[]", "{}", "{", '{"epoch":"x","hosts":7}'])
def test_a_folder_that_is_not_as_an_owner_left_it_is_named(folder: Path, name: str, text: str) -> None:
    place = MeetingPlace(folder).make(TERMS)
    (folder / name).write_text(text, "utf-8")
    with pytest.raises(UsageError, match=name):
        place.terms() if name == "terms.json" else place.owner()


def test_the_folder_is_for_its_owner_alone_and_the_secret_stays(folder: Path) -> None:
    wished = TERMS._replace(hosts={"http://h": HostLimits(2, 0.5)})
    place = MeetingPlace(folder).make(wished)
    secret = (folder / "token").read_bytes()
    assert MeetingPlace(folder).make(wished).terms() == wished
    assert (folder / "token").read_bytes() == secret
    assert {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()} == {
        "token": 0o600,
        "terms.json": 0o600,
    }
    assert folder.stat().st_mode & 0o777 == 0o700
    assert place.proof("a", "b") != place.proof("a\nb", "")
