"""What a worker of Dask does: a shard of blogs at a time, all of them in one event loop with one engine.

The loop has a thread of its own, so that the worker hears its scheduler meanwhile. Each attempt is reported as soon as
it ended, as an event of Dask; what the task returns says it all once more, should an event be lost.

A worker may outlive its driver, or its scheduler: by half a minute, and no other machine can end it. So it looks every
moment whether what it does is still wanted, and whether the driver still has the fleet. However it ends, unless it is
killed, it first ends what is under way and gives back its permits, which else are withheld for a long time.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import astuple, dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, Final

from exporter import __version__
from exporter.clock import SystemClock
from exporter.errors import ArchiveLocked, Interrupted
from exporter.fleet.dask_link import Refusal, folder_refusal, is_wanted, version_refusal
from exporter.fleet.ledger import BlogAttempt, DueBlog
from exporter.fleet.overview import fleet_lock
from exporter.fleet.saving import Saver, settings_for
from exporter.http.engine import Engine
from exporter.message import message
from exporter.permits.gate import connect
from exporter.settings import Settings

_LOOK_SECONDS: Final = 0.1
_REPORT_SECONDS: Final = 1.0
_IDLE_SECONDS: Final = 60.0
_PARTING_SECONDS: Final = 2.0
_ENDING_SECONDS: Final = 0.6
"""What blogs have of that to end in order; what was sent counts for a second more before it can be given back."""
_LOCKED_SECONDS: Final = 60.0
"""Longer than a worker lives whose scheduler died, and which may still hold archives."""
_numbers: Final = count(1)


@dataclass(frozen=True)
class FleetJob:
    """What all shards of a run have in common; it goes to every worker, so there is no secret in it.

    Attributes:
        run: names the run, and the topic of its events.
        permits: the folder where the owner of the hosts' budgets is found.
        root: the fleet's folder, the same on all machines.
        holder: who the fleet's lock names; a worker that reads anything else does not see the folder.
        options: settings of all blogs, as text.
        config: the settings file that was asked for, on each machine.
        version: of the program.
    """

    run: str
    permits: str
    root: str
    holder: Mapping[str, Any]
    options: Mapping[str, str]
    config: str | None = None
    version: str = field(default=__version__)


async def save_shard(job: FleetJob, shard: str, blogs: Sequence[DueBlog]) -> list[tuple[Any, ...]] | Refusal:
    """Save some blogs, and return how that ended, as :func:`decoded` reads it; the task of a worker.

    Args:
        job: what they are saved for.
        shard: the key of this task.
        blogs: what is saved.
    """
    from distributed import get_worker  # noqa: PLC0415 - an extra, and heavy

    worker = get_worker()
    reason = _refusal(job)
    if reason is not None:
        return Refusal(str(reason))
    key = (job.run, worker.address)
    office = _offices.get(key)
    if office is None or office.stopped:
        office = _offices[key] = _Office(job, lambda event: worker.log_event(job.run, event))
    office.shards += 1
    try:
        saver = await asyncio.wrap_future(office.saver)
        work = office.save(saver, shard, blogs, lambda: is_wanted(worker, shard))
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, office.loop))
    finally:
        office.shards -= 1
        delay = 0.0 if office.stopped else _IDLE_SECONDS
        asyncio.get_running_loop().call_later(delay, _close_idle, key, office)


async def close_offices(run: str) -> None:
    """Have what this process has of a run give back its permits, and close its connections."""
    offices = [_offices.pop(key) for key in list(_offices) if key[0] == run]
    for office in offices:
        office.end()
    await asyncio.gather(*(asyncio.to_thread(office.thread.join) for office in offices))


@atexit.register
def part() -> None:
    """End in order what this process has under way of any run, and give back its permits, within two seconds."""
    deadline = time.monotonic() + _PARTING_SECONDS
    offices = list(_living)
    for office in offices:
        office.end()
    for office in offices:
        office.thread.join(max(0.0, deadline - time.monotonic()))


def decoded(attempt: Sequence[Any]) -> BlogAttempt:
    """Return an attempt from what a worker sent."""
    return BlogAttempt(*attempt)


def _encoded(attempt: BlogAttempt) -> tuple[Any, ...]:
    clean = [each.encode("utf-8", "replace").decode() if isinstance(each, str) else each for each in astuple(attempt)]
    return tuple(clean)


def _refusal(job: FleetJob) -> str | None:
    return version_refusal(job.version) or (None if _has_the_fleet(job) else folder_refusal(job.root))


def _has_the_fleet(job: FleetJob) -> bool:
    return fleet_lock(Path(job.root)).holder() == job.holder


class _Office:
    """An event loop in a thread of its own, with the engine and the saver of a run.

    Attributes:
        saver: what saves, once it is there.
        loop: where :meth:`save` is to run.
        thread: where the loop runs.
        shards: how many tasks use it now.
        stopped: whether it takes no more.
    """

    def __init__(self, job: FleetJob, report: Callable[[dict[str, Any]], None]) -> None:
        self._job = job
        self._report = report
        self._name = f"{socket.gethostname()}:{os.getpid()}/{next(_numbers)}"
        self.saver: Future[Saver] = Future()
        self._end = asyncio.Event()
        self.loop = asyncio.new_event_loop()
        self.shards = 0
        self.stopped = False
        self._shards: set[asyncio.Task[list[tuple[Any, ...]]]] = set()
        self._unwanted: set[str] = set()
        self.thread = threading.Thread(target=self._run, name="blogs", daemon=True)
        _living.add(self)
        self.thread.start()

    def end(self) -> None:
        """End what is under way, close its connections, and end its thread."""
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self.loop.call_soon_threadsafe(self._end.set)

    async def save(
        self, saver: Saver, shard: str, blogs: Sequence[DueBlog], is_wanted: Callable[[], bool]
    ) -> list[tuple[Any, ...]]:
        """Save blogs, in :attr:`loop`, and return the attempts."""
        saving = asyncio.create_task(self._save_all(saver, shard, blogs))
        self._shards.add(saving)
        try:
            while not (await asyncio.wait([saving], timeout=_LOOK_SECONDS))[0]:
                if not is_wanted():  # of one shard that says nothing of others: Dask gives it to another worker
                    self._unwanted.add(shard)
                    saver.stop_some([blog.number for blog in blogs], _not_wanted())
        finally:
            saving.add_done_callback(self._shards.discard)
            self._unwanted.discard(shard)
        return saving.result()

    async def _save_all(self, saver: Saver, shard: str, blogs: Sequence[DueBlog]) -> list[tuple[Any, ...]]:
        return list(await asyncio.gather(*(self._save(saver, shard, blog) for blog in blogs)))

    async def _save(self, saver: Saver, shard: str, blog: DueBlog) -> tuple[Any, ...]:
        patience = self.loop.time() + _LOCKED_SECONDS
        attempt = await saver.save(blog)
        while attempt.exit_code == ArchiveLocked.exit_code and self._goes_on(shard) and self.loop.time() < patience:
            await asyncio.sleep(_REPORT_SECONDS)
            attempt = await saver.save(blog)
        sent = _encoded(attempt)
        self._report({"shard": shard, "attempt": sent})
        return sent

    def _goes_on(self, shard: str) -> bool:
        return not self.stopped and shard not in self._unwanted

    def _stop(self, saver: Saver) -> None:
        self.stopped = True
        saver.stop(_not_wanted())

    def _run(self) -> None:
        try:
            self.loop.run_until_complete(self._keep())
        except BaseException as error:
            self.stopped = True
            if self.saver.done():
                raise
            self.saver.set_exception(error)
        finally:
            self.loop.close()
            _living.discard(self)

    async def _keep(self) -> None:
        job = self._job
        config = None if job.config is None else Path(job.config)

        def settings_of(blog: DueBlog) -> Settings:
            return settings_for(blog, job.options, config)

        clock = SystemClock()
        async with connect(Path(job.permits), clock) as throttles, Engine(clock=clock, throttles=throttles) as engine:
            saver = Saver(Path(job.root), engine, settings_of, clock, self._name)
            self.saver.set_result(saver)
            while not self._end.is_set():
                try:
                    async with asyncio.timeout(_REPORT_SECONDS):
                        await self._end.wait()
                except TimeoutError:
                    self._look(saver)
            self._stop(saver)
            if self._shards:
                await asyncio.wait(self._shards, timeout=_ENDING_SECONDS)

    def _look(self, saver: Saver) -> None:
        if not self.shards:
            return
        if not self.stopped and not _has_the_fleet(self._job):
            self._stop(saver)
        sent = [[number, requests] for number, requests in saver.sent.items()]
        self._report({"name": self._name, "requests": saver.requests, "sent": sent})


def _not_wanted() -> Interrupted:
    return Interrupted(message("What the worker did is not wanted any more."))


_offices: Final[dict[tuple[str, str], _Office]] = {}
_living: Final[set[_Office]] = set()
"""Those too that take no more, and have yet to give back their permits."""


def _close_idle(key: tuple[str, str], office: _Office) -> None:
    if office.shards:
        return
    office.end()
    if _offices.get(key) is office:
        del _offices[key]
