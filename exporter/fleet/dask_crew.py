"""The crew of many processes, perhaps on many machines: shards of blogs are tasks of Dask.

As many blogs as may be under way are handed out, a few in each task, and more only as these end: so Dask knows of a
window of a fleet, however large that is. What its scheduler knows is lost when it dies; the ledger carries on. Blogs
whose worker or scheduler died are handed out again, less those whose end was heard of. What was read of them is in
their archives, under a lock that dies with the worker.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
from collections import Counter, deque
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from exporter.clock import Clock
from exporter.errors import BlogExporterError, Interrupted, Terminated, UsageError
from exporter.fleet import dask_link
from exporter.fleet.dask_link import Refusal
from exporter.fleet.dask_task import FleetJob, close_offices, decoded, save_shard
from exporter.fleet.ledger import BlogAttempt, DueBlog
from exporter.fleet.overview import fleet_lock
from exporter.message import message, message_n
from exporter.permits.meeting_place import Terms
from exporter.permits.owner import start_owner

if TYPE_CHECKING:
    from distributed import Future

_SHARDS: Final = 16
_LARGEST_SHARD: Final = 50
_PARTING_SECONDS: Final = 2.0
"""What workers of others have to give back their permits; else these are withheld for the longest time of a request."""
_LOOK_SECONDS: Final = 0.1
_GRACE_SECONDS: Final = 0.8
"""What blogs have to end in order when the run is stopped; the process itself ends within two seconds."""
_MOST_LOSSES: Final = 10
_STOPPED: Final = frozenset({Interrupted.exit_code, Terminated.exit_code})


class DaskCrew:
    """Saves up to ``at_once`` blogs at a time in workers; see :class:`~exporter.fleet.run.Crew`.

    Entering it waits for workers; leaving it ends what is under way, and the workers that it started.

    Args:
        root: the fleet's folder, under the lock of this process.
        options: settings of all blogs, as text, without secrets.
        config: the settings file that was asked for.
        at_once: the most blogs at a time.
        terms: what all workers together may ask of each host.
        clock: the time of day.
        workers: how many processes to start on this machine.
        scheduler: the address of a scheduler that is there; no process is started then.

    Attributes:
        dashboard: where Dask shows what it does, ``None`` where it does not.

    Raises:
        UsageError: the workers cannot do the work.
        ServiceError: there are no workers.
    """

    def __init__(
        self,
        root: Path,
        options: Mapping[str, str],
        config: Path | None,
        at_once: int,
        terms: Terms,
        clock: Clock,
        *,
        workers: int | None = None,
        scheduler: str | None = None,
    ) -> None:
        holder = fleet_lock(root).holder()
        place = None if config is None else str(config.absolute())
        self._permits = root.absolute() / ".work" / "permits"
        run = f"blog-exporter-{secrets.token_hex(8)}"
        self._job = FleetJob(run, str(self._permits), str(root.absolute()), holder, dict(options), place)
        self._terms = terms
        self._folder = root / ".work" / "dask"
        self._workers = min(workers or os.cpu_count() or 1, at_once)
        self._scheduler = scheduler
        self._at_once = at_once
        self._size = max(1, min(_LARGEST_SHARD, at_once // _SHARDS))
        self._clock = clock
        self.dashboard: str | None = None
        self._blogs: dict[int, DueBlog] = {}
        self._begun: dict[int, float] = {}
        self._pending: deque[DueBlog] = deque()
        self._open: dict[str, set[int]] = {}
        self._futures: dict[str, Future[Any]] = {}
        self._losses: Counter[int] = Counter()
        self._sent: dict[int, int] = {}
        self._reported: Counter[str] = Counter()
        self._counted: Counter[str] = Counter()
        self._names = 0
        self._ended: asyncio.Queue[BlogAttempt] = asyncio.Queue()
        self._changed = asyncio.Event()
        self._error: BlogExporterError | None = None
        self._stop: Interrupted | None = None
        self._deadline = 0.0

    async def __aenter__(self) -> Self:
        ready = asyncio.get_running_loop().create_future()
        self._work = asyncio.create_task(self._run(ready))
        await asyncio.wait([ready, self._work], return_when=asyncio.FIRST_COMPLETED)
        if self._work.done():
            self._work.result()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._work.cancel()
        with contextlib.suppress(asyncio.CancelledError, BlogExporterError):
            await self._work

    @property
    def room(self) -> int:
        """How many more blogs it can take now: whole shards, unless hardly anything is under way."""
        free = self._at_once - len(self._blogs)
        return free - free % self._size

    @property
    def under_way(self) -> Collection[int]:
        """For each blog that is under way, how many requests were sent so far, as of a second ago."""
        return [self._sent.get(number, 0) for number in self._blogs]

    @property
    def requests(self) -> int:
        """How many requests were sent so far, as of a second ago."""
        return sum((self._reported | self._counted).values())

    def start(self, blogs: Sequence[DueBlog]) -> None:
        """Begin to save blogs."""
        now = self._clock.now().timestamp()
        self._blogs.update({blog.number: blog for blog in blogs})
        self._begun.update(dict.fromkeys((blog.number for blog in blogs), now))
        self._pending.extend(blogs)
        self._changed.set()

    def stop(self, error: Interrupted) -> None:
        """End all attempts soon and in order; of those that do not end, nobody hears."""
        if self._stop is None:
            self._stop = error
            self._deadline = self._clock.monotonic() + _GRACE_SECONDS
            self._changed.set()

    async def ended(self, seconds: float) -> list[BlogAttempt]:
        """Return all attempts that have ended, waiting up to so many seconds for the first.

        Raises:
            UsageError: no worker can do anything for this run.
            ServiceError: the scheduler does not answer, or cannot be started.
        """
        if self._stop is not None:
            seconds = min(seconds, max(0.0, self._deadline - self._clock.monotonic()))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                self._ended.put_nowait(await self._ended.get())
        if self._work.done() and self._stop is None:
            self._work.result()
        if self._stop is not None and self._clock.monotonic() >= self._deadline:
            for blog in list(self._blogs.values()):
                self._end(self._failed(blog, self._stop.exit_code, type(self._stop).__name__, str(self._stop)))
        return [self._ended.get_nowait() for _ in range(self._ended.qsize())]

    async def _run(self, ready: asyncio.Future[None]) -> None:
        listen = "127.0.0.1" if self._scheduler is None else "0.0.0.0"  # noqa: S104 - workers may be anywhere
        async with start_owner(self._permits, self._terms, listen=listen):
            await self._work_on(ready)

    async def _work_on(self, ready: asyncio.Future[None]) -> None:
        """Work with one scheduler after another; each is used until it is lost."""
        shards = -(-self._at_once // self._size)
        slots = 2 * -(-shards // self._workers) + 2
        patience = self._clock.monotonic() + dask_link.START_SECONDS
        while True:
            try:
                async with dask_link.connected(self._folder, self._workers, slots, self._scheduler) as link:
                    self.dashboard = link.dashboard
                    if not ready.done():
                        ready.set_result(None)
                    await self._serve(link.client, link.lost)
                    patience = self._clock.monotonic() + dask_link.PATIENCE_SECONDS
            except OSError as error:  # a TimeoutError too
                if self._clock.monotonic() > patience:
                    raise dask_link.absent(error, self._folder, self._scheduler) from error
            self._give_back({number for numbers in self._open.values() for number in numbers})
            self._open.clear()
            self._futures.clear()
            await self._clock.sleep(dask_link.PAUSE_SECONDS if self._scheduler else 0.0)

    async def _serve(self, client: Any, lost: asyncio.Event) -> None:
        """Hand out blogs until the scheduler is lost."""
        client.subscribe_topic(self._job.run, self._heard)
        followers: set[asyncio.Task[None]] = set()
        try:
            while not lost.is_set() and client.status == "running":
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_LOOK_SECONDS):
                        await self._changed.wait()
                self._changed.clear()
                if self._error is not None:
                    raise self._error
                if self._stop is not None:
                    await self._recall(client)
                while self._pending and self._stop is None:
                    name = self._hand_out(client)
                    follower = asyncio.create_task(self._follow(name, lost))
                    followers.add(follower)
                    follower.add_done_callback(followers.discard)
        finally:
            for follower in followers:
                follower.cancel()
            if self._scheduler is not None and client.status == "running":  # our own end with their pipes
                with contextlib.suppress(OSError):  # a TimeoutError too
                    async with asyncio.timeout(dask_link.CLOSE_SECONDS if lost.is_set() else _PARTING_SECONDS):
                        await client.run(close_offices, self._job.run)

    async def _recall(self, client: Any) -> None:
        """Tell the workers that nothing is wanted any more; what ends in order they still report."""
        self._pending.clear()
        if self._futures:
            futures, self._futures = list(self._futures.values()), {}
            await client.cancel(futures, force=True)

    def _hand_out(self, client: Any) -> str:
        """Make a task of the next blogs, and return its name."""
        blogs = [self._pending.popleft() for _ in range(min(self._size, len(self._pending)))]
        self._names += 1
        name = f"{self._job.run}-{self._names}"
        self._open[name] = {blog.number for blog in blogs}
        self._futures[name] = client.submit(save_shard, self._job, name, blogs, key=name, pure=False)
        return name

    async def _follow(self, name: str, lost: asyncio.Event) -> None:
        """See a task to its end."""
        from distributed import KilledWorker  # noqa: PLC0415 - an extra, and heavy
        from distributed.client import FutureCancelledError  # noqa: PLC0415

        try:
            answer = await self._futures[name]
        except KilledWorker:
            self._losses.update(self._open[name])
            self._give_back(self._open[name])
        except OSError:  # the connection by which its result was to come broke
            self._give_back(self._open[name])
        except FutureCancelledError:
            if self._stop is None:
                lost.set()
            return
        except Exception as error:  # noqa: BLE001 - attempts fail in what they return; this is the worker itself
            kind = type(error).__name__
            self._refuse(message("A worker of Dask cannot save blogs: {kind}: {reason}.", kind=kind, reason=str(error)))
        else:
            if isinstance(answer, Refusal):
                self._refuse(answer.reason)
            else:
                for attempt in answer:
                    self._ended_in(name, decoded(attempt))
        self._futures.pop(name, None)
        self._open.pop(name, None)

    def _refuse(self, reason: str) -> None:
        self._error = self._error or UsageError(reason)
        self._changed.set()

    def _heard(self, event: tuple[float, Mapping[str, Any]]) -> None:
        """Take in what a worker reports."""
        report = event[1]
        if "attempt" in report:
            attempt = decoded(report["attempt"])
            if attempt.exit_code not in _STOPPED or self._stop is not None:
                self._ended_in(report["shard"], attempt)
            return  # what a worker gave up, Dask has done elsewhere, or tells what became of the task
        name = report["name"]  # Dask adds an address as "worker"
        self._reported[name] = max(self._reported[name], report["requests"])
        self._sent.update((number, requests) for number, requests in report["sent"] if number in self._blogs)

    def _ended_in(self, name: str, attempt: BlogAttempt) -> None:
        """Take an attempt in where nobody did yet."""
        numbers = self._open.get(name, set())
        if attempt.blog not in numbers:
            return
        numbers.discard(attempt.blog)
        self._counted[attempt.worker] += attempt.requests
        if attempt.exit_code in _STOPPED and self._stop is None:
            self._give_back({attempt.blog})  # its worker ends
        else:
            self._end(attempt)

    def _end(self, attempt: BlogAttempt) -> None:
        for each in (self._blogs, self._begun, self._sent, self._losses):
            each.pop(attempt.blog, None)
        self._ended.put_nowait(attempt)

    def _give_back(self, numbers: Collection[int]) -> None:
        """Have blogs handed out again; one whose worker dies again and again may be why, and is left for later."""
        for number in numbers:
            blog = self._blogs.get(number)
            if blog is None:
                continue
            if self._losses[number] >= _MOST_LOSSES:
                reason = message_n(
                    "{n} worker died while it saved this blog; see {log}.",
                    "{n} workers died while they saved this blog; see {log}.",
                    _MOST_LOSSES,
                    log=self._folder / "dask.log",
                )
                self._end(self._failed(blog, BlogExporterError.exit_code, "WorkerDied", reason))
            else:
                self._pending.appendleft(blog)
        self._changed.set()

    def _failed(self, blog: DueBlog, exit_code: int, kind: str, reason: str) -> BlogAttempt:
        now = self._clock.now().timestamp()
        return BlogAttempt(blog.number, self._begun[blog.number], now, exit_code, kind, reason)
