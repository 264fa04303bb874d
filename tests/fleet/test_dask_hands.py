"""Work by a cluster of Dask: one in threads of this process, whose calls have processes of their own as everywhere."""

from __future__ import annotations

import asyncio
import os
import pickle
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, asynccontextmanager, closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import distributed
import psutil
import pytest

from exporter.clock import SystemClock
from exporter.errors import BlogExporterError, ServiceError, UsageError
from exporter.fleet import dask_hands, dask_link, dask_work
from exporter.fleet.dask_hands import DaskHands
from exporter.fleet.dask_work import Answers, Died, WorkJob
from exporter.fleet.work import work_over
from tests.fleet.building import blog_name, build_blog, entry
from tests.fleet.calls import buried, deadly, doubled, first_quick, killed_by, refused, waiting
from tests.fleet.test_dask import wait_until


@contextmanager
def cluster(workers: int = 2, threads: int = 2, port: int = 0) -> Iterator[str]:
    """Run a scheduler and workers in threads, as machines elsewhere have them in processes; give its address."""
    kind: Any = distributed.LocalCluster  # it has no types
    options = {"n_workers": workers, "threads_per_worker": threads, "processes": False, "protocol": "tcp"}
    quiet = {"dashboard_address": "127.0.0.1:0", "worker_dashboard_address": "127.0.0.1:0", "silence_logs": 50}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Creating scratch directories")  # a busy machine is slow
        with kind(host="127.0.0.1", scheduler_port=port, memory_limit=0, **options, **quiet) as started:
            yield started.scheduler_address


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with cluster() as found:
        yield found


@pytest.fixture
def hands(address: str, tmp_path: Path) -> Iterator[DaskHands]:
    """Give hands; when they are done nothing of them is left, neither processes nor signs."""
    (tmp_path / "fleet").mkdir()
    yield DaskHands(tmp_path / "fleet", [tmp_path / "out" / "deep"], {}, SystemClock(), scheduler=address)
    assert helpers() == []
    assert [path.name for path in tmp_path.rglob(".blog-exporter-*")] == []


def helpers() -> list[psutil.Process]:
    return [each for each in psutil.Process().children() if is_helper(each)]


def is_helper(process: psutil.Process) -> bool:
    with suppress(psutil.Error):  # it has died
        return "exporter.fleet.worker_process" in process.cmdline()
    return False


def test_every_argument_is_answered_once_in_processes_beside_the_workers(hands: DaskHands) -> None:
    found = list(hands.each_done(doubled, iter(range(60))))
    assert sorted(answer for answer, _, _ in found) == list(range(0, 120, 2))
    assert os.getpid() not in {process for _, process, _ in found}
    assert {processors for _, _, processors in found} == {1}
    assert hands.workers == 4


def test_a_process_that_rests_for_long_is_ended_and_one_that_died_is_not_asked(
    hands: DaskHands, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask_work, "_IDLE_SECONDS", 0.2)

    def slowly() -> Iterator[int]:
        yield 1
        wait_until(lambda: not helpers())
        monkeypatch.setattr(dask_work, "_IDLE_SECONDS", 60.0)
        yield 2
        yield 3
        (helper,) = helpers()
        helper.kill()
        helper.wait()
        time.sleep(0.2)
        yield 4

    monkeypatch.setattr(dask_hands, "_AHEAD", 0.25)  # of four slots
    monkeypatch.setattr(dask_hands, "_MOST_CALLS", 1)
    assert [answer for answer, _, _ in hands.each_done(doubled, slowly())] == [2, 4, 6, 8]


async def test_no_process_takes_the_place_of_one_that_was_killed_with_its_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(dask_work, "_ENDING_SECONDS", 0.0)
    wanted = True
    job = WorkJob("run", (), pickle.dumps(doubled), {})
    starting = asyncio.create_task(dask_work._helper_for(job, lambda: wanted))
    await asyncio.sleep(0)
    assert len(helpers()) == 1
    wanted = False
    await dask_work.end_helpers("run")
    assert await starting is None
    assert helpers() == []


async def test_nothing_is_begun_that_is_not_wanted() -> None:
    job = WorkJob("run", (), pickle.dumps(doubled), {})
    assert await dask_work._helper_for(job, lambda: False) is None
    helper = await dask_work._helper_for(job, lambda: True)
    assert helper is not None
    assert await helper.answer(1, lambda: False) is None
    assert not helper.process.in_hand
    await dask_work.end_helpers("run")


def test_what_a_call_raises_ends_the_work(hands: DaskHands) -> None:
    with pytest.raises(BlogExporterError, match="ValueError: no threes"):
        list(hands.each_done(refused, range(9)))


def test_an_argument_that_a_process_dies_of_is_tried_once_more_alone(hands: DaskHands, tmp_path: Path) -> None:
    found = list(hands.each_done(partial(deadly, tmp_path), range(1, 31), lost=buried))
    assert sorted(found) == sorted([*(number for number in range(1, 31) if number % 7), 14, -7, -21, -28])
    with pytest.raises(BlogExporterError, match=r"ended before its work was done \(SIGKILL\)"):
        list(hands.each_done(partial(deadly, tmp_path), [1, 7, 2]))


def test_an_archive_that_kills_twice_is_named_and_all_others_are_done(hands: DaskHands, tmp_path: Path) -> None:
    for number in range(4):
        build_blog(tmp_path / "fleet", blog_name(number), [entry(1)])
    found = list(work_over(tmp_path / "fleet", partial(killed_by, blog_name(2)), None, hands))
    assert {result.blog_id: result.state for result in found} == {
        blog_name(number): "failed" if number == 2 else "made" for number in range(4)
    }
    assert "died twice, the second time with no other beside it (SIGKILL)" in str(found[-1].reason)


def test_leaving_ends_what_is_under_way_in_order(hands: DaskHands, tmp_path: Path) -> None:
    begun = time.monotonic()
    with closing(hands.each_done(partial(first_quick, tmp_path), range(9))) as found:
        assert next(found) == 0
        while len(list(tmp_path.glob("begun-*"))) < 4:
            time.sleep(0.02)
        begun = time.monotonic()
    assert time.monotonic() - begun < 2.0
    assert len(list(tmp_path.glob("tidied-*"))) >= 4


def test_workers_of_another_version_are_refused(hands: DaskHands, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask_link, "__version__", "0.1")
    with pytest.raises(UsageError, match=r"has version 0\.1 of blog-exporter, this is"):
        list(hands.each_done(doubled, range(3)))


def test_workers_that_do_not_see_where_is_written_are_refused(hands: DaskHands, tmp_path: Path) -> None:
    def elsewhere() -> Iterator[int]:
        """Have the files say something else before anything is asked for."""
        for sign in tmp_path.glob(".blog-exporter-*"):
            sign.write_text("of another machine", encoding="ascii")
        yield 1

    with pytest.raises(UsageError, match=f"does not see the folder {tmp_path / 'out' / 'deep'} as this machine does"):
        list(hands.each_done(doubled, elsewhere()))


def test_a_worker_that_can_start_no_process_says_why(hands: DaskHands, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(UsageError, match="No worker process can be started: it ended at once"):
        list(hands.each_done(doubled, range(3)))
    monkeypatch.setattr(sys, "executable", "/nowhere")
    with pytest.raises(UsageError, match=r"No worker process can be started: .*No such file"):
        list(hands.each_done(doubled, range(3)))


def test_a_worker_that_fails_itself_is_told_of(hands: DaskHands, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask_work, "_unseen", lambda _sign: 1 / 0)
    with pytest.raises(UsageError, match="cannot do the work: ZeroDivisionError"):
        list(hands.each_done(doubled, range(3)))


def test_a_failure_of_the_thread_that_holds_on_is_told_of(hands: DaskHands, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask_link, "connected", lambda *_: 1 / 0)
    with pytest.raises(BlogExporterError, match="Dask failed: ZeroDivisionError"):
        list(hands.each_done(doubled, range(3)))


def test_a_scheduler_that_is_not_there_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask_link, "START_SECONDS", 0.1)
    monkeypatch.setattr(dask_link, "TRY_SECONDS", 0.3)
    absent = DaskHands(tmp_path, [], {}, SystemClock(), scheduler="tcp://127.0.0.1:9")
    with pytest.raises(ServiceError, match=r"The scheduler tcp://127\.0\.0\.1:9 does not answer, or has no workers"):
        list(absent.each_done(doubled, range(3)))


def test_what_a_lost_scheduler_had_is_handed_to_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next one has the same address; what the first did not answer is done by the second."""
    monkeypatch.setattr(dask_link, "PAUSE_SECONDS", 0.1)
    with ExitStack() as first, ExitStack() as second:
        place = first.enter_context(cluster())
        hands = DaskHands(tmp_path, [], {}, SystemClock(), scheduler=place)
        found = []
        with closing(hands.each_done(partial(waiting, tmp_path / "go on"), range(12))) as answers:
            for answer in answers:
                found.append(answer)
                if len(found) == 1:
                    first.close()
                    (tmp_path / "go on").touch()
                    second.enter_context(cluster(port=int(place.rpartition(":")[2])))
    assert sorted(found) == list(range(12))
    assert helpers() == []


def test_workers_that_die_again_and_again_put_an_argument_under_suspicion() -> None:
    """A worker that dies takes a task with it; its arguments are handed out one by one, and at last alone."""
    events: Any = SimpleQueue()
    tasks: list[list[int]] = []

    def submit(_scheduler: int, name: str, arguments: bytes) -> None:
        asked: list[int] = pickle.loads(arguments)
        tasks.append(asked)
        each: list[tuple[bool, int] | Died] = [(True, number) for number in asked]
        events.put(dask_hands._Ended(name, None if 5 in asked else Answers(each, 0.001)))

    events.put(dask_hands._Ready(1, 1))
    turns = dask_hands._Turns(range(12), lambda number, how: (number, how), submit, events)
    found: list[Any] = list(turns.answers())
    assert found[-1] == (5, "its worker died")
    assert found[:-1] == [number for number in found if number != 5][:-1]
    assert sorted(found[:-1]) == [number for number in range(12) if number != 5]
    assert [tasks.count([5]), len(tasks[-1])] == [3, 1]


def test_workers_that_leave_are_waited_for_but_not_for_ever(
    hands: DaskHands, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    class NoWorkers:
        status = "running"

        async def nthreads(self) -> dict[str, int]:
            return {}

    @asynccontextmanager
    async def connected(*_: object) -> Any:
        yield dask_link.DaskLink(NoWorkers(), asyncio.Event(), None)

    monkeypatch.setattr(dask_link, "connected", connected)
    monkeypatch.setattr(dask_link, "PATIENCE_SECONDS", 0.1)
    monkeypatch.setattr(dask_hands, "_COUNT_SECONDS", 0.05)
    monkeypatch.setattr(NoWorkers, "run", None, raising=False)
    monkeypatch.setattr(dask_link, "START_SECONDS", 0.1)
    hands._scheduler = None
    with pytest.raises(ServiceError, match="processes of Dask do not start"):
        list(hands.each_done(doubled, range(3)))
