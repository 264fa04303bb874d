"""Work over a fleet by a cluster of Dask: of processes that are started for it, or of many machines that share a disk.

What is to be done is handed out a few calls at a time, some tasks for each slot of the cluster, and more only as these
end: Dask knows of a window of a fleet, however large that is. Calls that take long are tasks of their own; of short
ones a task has as many as take half a second. Who hands out is the thread of the caller; a thread of its own holds on
to the scheduler. What was not answered when a worker or the scheduler died is handed out again, so a call may be done
twice; who was at it first ends within a second of knowing.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import pickle
import secrets
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from exporter.archive.atomic import FILE_MODE, make_folder, translated
from exporter.clock import Clock
from exporter.errors import BlogExporterError, UsageError
from exporter.fleet import dask_link
from exporter.fleet.dask_link import DaskLink, Refusal
from exporter.fleet.dask_work import Answers, Died, Sign, WorkJob, do_calls, end_helpers
from exporter.fleet.workers import Lost, ended_early
from exporter.message import message
from exporter.processors import processors

if TYPE_CHECKING:
    from distributed import Future

Argument = TypeVar("Argument")
Answer = TypeVar("Answer")

_AHEAD: Final = 2
"""So many tasks a slot: the one it does, and one that lies ready when that is done."""
_TASK_SECONDS: Final = 0.5
_MOST_CALLS: Final = 50
_SUSPECTS: Final = 100
"""So many arguments with which a process died wait for the end of all others, before they have their second turn."""
_MOST_FALLS: Final = 3
"""After so many deaths of workers with it, an argument is under suspicion: a call has a process of its own."""
_LOOK_SECONDS: Final = 0.1
_COUNT_SECONDS: Final = 1.0
_PARTING_SECONDS: Final = 1.0


class DaskHands:
    """The workers of a cluster; see :class:`~exporter.fleet.workers.Hands`.

    Args:
        root: the fleet's folder.
        places: other folders that work writes into, there or not yet; all machines are to see them too.
        environ: settings for the workers, besides those of their own machines; no secrets.
        clock: for waiting.
        workers: how many processes to start on this machine; ``None`` for one for each processor.
        scheduler: the address of a scheduler that is there; no process is started then.

    Attributes:
        workers: how many calls are done at a time, as last heard.
    """

    def __init__(
        self,
        root: Path,
        places: Sequence[Path],
        environ: Mapping[str, str],
        clock: Clock,
        *,
        workers: int | None = None,
        scheduler: str | None = None,
    ) -> None:
        self._root = root
        self._folder = root / ".work" / "dask"
        self._places = places
        self._environ = environ
        self._clock = clock
        self._scheduler = scheduler
        self._started = workers or processors()
        self.workers = 1 if scheduler else self._started

    def each_done(
        self,
        work: Callable[[Argument], Answer],
        arguments: Iterable[Argument],
        *,
        lost: Lost[Argument, Answer] | None = None,
    ) -> Generator[Answer]:
        """Yield what is done; see :meth:`~exporter.fleet.workers.Hands.each_done`.

        Raises:
            UsageError: the workers cannot do the work.
            ServiceError: there are no workers.
        """
        run = f"blog-exporter-{secrets.token_hex(8)}"
        with contextlib.ExitStack() as stack:
            with translated(self._folder):
                make_folder(self._folder)
            folders = {self._root: self._folder, **{place: _nearest(place) for place in self._places}}
            signs = [stack.enter_context(_signed(place, folder / f".{run}")) for place, folder in folders.items()]
            job = WorkJob(run, tuple(signs), pickle.dumps(work), dict(self._environ))
            events: SimpleQueue[Any] = SimpleQueue()
            holder = _Holder(job, self._folder, self._started, self._scheduler, self._clock, events.put)
            stack.callback(holder.close)
            for answer in _Turns(arguments, lost, holder.submit, events).answers():
                self.workers = holder.slots or self.workers
                yield answer


def _nearest(place: Path) -> Path:
    """Return a folder, or the nearest one above it that is there."""
    return next(each for each in (place, *place.parents) if each.is_dir())


@contextlib.contextmanager
def _signed(place: Path, path: Path) -> Iterator[Sign]:
    """Have a file by which workers know a place."""
    sign = Sign(place, path, secrets.token_hex(16))
    with translated(path):
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE)
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(sign.text)
    try:
        yield sign
    finally:
        with contextlib.suppress(OSError):
            path.unlink()


@dataclass(frozen=True, slots=True)
class _Ready:
    """A scheduler is there; so many calls can be done at a time."""

    number: int
    slots: int


@dataclass(frozen=True, slots=True)
class _Ended:
    """A task has ended: with answers, or ``None`` for the death of its worker."""

    name: str
    answers: Answers | None


@dataclass(frozen=True, slots=True)
class _Untouched:
    """A task was given up before it had ended, through no fault of its own."""

    name: str


@dataclass(frozen=True, slots=True)
class _Gone:
    """The scheduler is lost, and all that it had."""


@dataclass(frozen=True, slots=True)
class _Broken:
    """Nothing more can be done."""

    error: BlogExporterError


class _Turn(Generic[Argument]):
    """An argument that is to be answered.

    Attributes:
        falls: how many workers died that had it.
        is_suspect: whether a process died of it.
    """

    __slots__ = ("argument", "falls", "is_suspect")

    def __init__(self, argument: Argument) -> None:
        self.argument = argument
        self.falls = 0
        self.is_suspect = False


class _Turns(Generic[Argument, Answer]):
    """What is to be handed out, and what is under way."""

    def __init__(
        self,
        arguments: Iterable[Argument],
        lost: Lost[Argument, Answer] | None,
        submit: Callable[[int, str, bytes], None],
        events: SimpleQueue[Any],
    ) -> None:
        self._waiting = map(_Turn[Argument], arguments)
        self._more = True
        self._lost = lost
        self._submit = submit
        self._events = events
        self._again: deque[_Turn[Argument]] = deque()
        self._suspects: deque[_Turn[Argument]] = deque()
        self._open: dict[str, list[_Turn[Argument]]] = {}
        self._alone = False
        self._scheduler = self._slots = 0
        self._size = 1
        self._names = count(1)

    def answers(self) -> Iterator[Answer]:
        """Hand out, and yield the answers."""
        while self._hand_out():
            event = self._events.get()
            if isinstance(event, _Broken):
                raise event.error
            if isinstance(event, _Ready):
                self._scheduler, self._slots = event.number, event.slots
            elif isinstance(event, _Gone):
                self._slots = 0
                for name in list(self._open):
                    self._give_back(name)
            elif event.name not in self._open:  # it was given back meanwhile
                continue
            elif isinstance(event, _Untouched):
                self._give_back(event.name)
            else:
                self._alone = False
                yield from self._taken(self._open.pop(event.name), event.answers)

    def _hand_out(self) -> bool:
        """Give the cluster what it has room for; tell whether answers are to come."""
        while not self._alone and len(self._open) < _AHEAD * self._slots and (turns := self._next()):
            name = str(next(self._names))
            self._open[name] = turns
            self._submit(self._scheduler, name, pickle.dumps([turn.argument for turn in turns]))
        return self._more or bool(self._open or self._again or self._suspects)

    def _next(self) -> list[_Turn[Argument]]:
        if len(self._suspects) < _SUSPECTS:
            if self._again:
                return [self._again.popleft()]
            if self._more and (turns := list(islice(self._waiting, self._size))):
                return turns
            self._more = False
        if self._suspects and not self._open:
            self._alone = True
            return [self._suspects.popleft()]
        return []

    def _give_back(self, name: str) -> None:
        for turn in self._open.pop(name):
            (self._suspects if turn.is_suspect else self._again).append(turn)
        self._alone = False

    def _taken(self, turns: list[_Turn[Argument]], answers: Answers | None) -> Iterator[Answer]:
        """Yield the answers of a task, and see to those that have none."""
        if answers is None:
            for turn in turns:
                turn.falls += 1
                if turn.is_suspect or turn.falls >= _MOST_FALLS:
                    yield from self._died(turn, message("its worker died"))
                else:
                    self._again.append(turn)
            return
        fitting = int(_TASK_SECONDS * len(turns) / max(answers.seconds, 1e-6))
        self._size = max(1, min(fitting, 2 * self._size, _MOST_CALLS))
        for turn, answer in zip(turns, answers.each, strict=True):
            if isinstance(answer, Died):
                yield from self._died(turn, answer.how)
                continue
            good, value = answer
            if not good:
                raise value
            yield value

    def _died(self, turn: _Turn[Argument], how: str) -> Iterator[Answer]:
        if self._lost is None:
            raise ended_early(how)
        if turn.is_suspect:
            yield self._lost(turn.argument, how)
        else:
            turn.is_suspect = True
            self._suspects.append(turn)


class _Holder:
    """Holds on to one scheduler after another, in a thread of its own; what it tells are the events above.

    Attributes:
        slots: how many calls can be done at a time; 0 where there is no scheduler.
    """

    def __init__(
        self,
        job: WorkJob,
        folder: Path,
        workers: int,
        scheduler: str | None,
        clock: Clock,
        tell: Callable[[Any], None],
    ) -> None:
        self._job = job
        self._folder = folder
        self._workers = workers
        self._scheduler = scheduler
        self._clock = clock
        self._tell = tell
        self.slots = 0
        self._number = 0
        self._link: DaskLink | None = None
        self._futures: dict[str, Future[Any]] = {}
        self._followers: set[asyncio.Task[None]] = set()
        self._loop = asyncio.new_event_loop()
        self._end = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="scheduler of Dask", daemon=True)
        self._thread.start()

    def submit(self, number: int, name: str, arguments: bytes) -> None:
        """Hand a task to the scheduler of a number; nothing comes of it where that is lost."""
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._hand, number, name, arguments)

    def close(self) -> None:
        """End what is under way, and the processes that were started."""
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join()

    def _run(self) -> None:
        try:
            self._loop.run_until_complete(self._hold())
        except BlogExporterError as error:
            self._tell(_Broken(error))
        except Exception as error:  # noqa: BLE001 - whoever waits for answers says it
            reason = message("Dask failed: {kind}: {reason}", kind=type(error).__name__, reason=str(error))
            self._tell(_Broken(BlogExporterError(reason)))
        finally:
            self._loop.close()

    async def _hold(self) -> None:
        ended = asyncio.create_task(self._end.wait())
        working = asyncio.create_task(self._work())
        await asyncio.wait([ended, working], return_when=asyncio.FIRST_COMPLETED)
        for each in (ended, working):
            each.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await working

    async def _work(self) -> None:
        patience = self._clock.monotonic() + dask_link.START_SECONDS
        while True:
            try:
                async with dask_link.connected(self._folder, self._workers, 1, self._scheduler) as link:
                    try:
                        await self._serve(link)
                    finally:
                        await self._leave(link)
                    patience = self._clock.monotonic() + dask_link.PATIENCE_SECONDS
            except OSError as error:  # a TimeoutError too
                if self._clock.monotonic() > patience:
                    raise dask_link.absent(error, self._folder, self._scheduler) from error
            await self._clock.sleep(dask_link.PAUSE_SECONDS if self._scheduler else 0.0)

    async def _serve(self, link: DaskLink) -> None:
        """Tell how many calls can be done at a time, until the scheduler is lost.

        Raises:
            OSError: it has had no workers for too long.
        """
        self._number += 1
        self._link = link
        seen = then = self._clock.monotonic()
        while not link.lost.is_set() and link.client.status == "running":
            now = self._clock.monotonic()
            if now >= then:
                then = now + _COUNT_SECONDS
                slots = sum((await link.client.nthreads()).values())
                if slots != self.slots:
                    self.slots = slots
                    self._tell(_Ready(self._number, slots))
                seen = now if slots else seen
                if now - seen > dask_link.PATIENCE_SECONDS:
                    raise dask_link.absent(TimeoutError(), self._folder, self._scheduler)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_LOOK_SECONDS):
                    await link.lost.wait()

    async def _leave(self, link: DaskLink) -> None:
        """Give up what a scheduler has, and have the workers of others end what they do."""
        self._link = None
        self.slots = 0
        for follower in self._followers:
            follower.cancel()
        futures, self._futures = list(self._futures.values()), {}
        self._tell(_Gone())
        if self._scheduler is not None and link.client.status == "running":  # our own end with their pipes
            with contextlib.suppress(OSError):  # a TimeoutError too
                async with asyncio.timeout(_PARTING_SECONDS):
                    await link.client.cancel(futures, force=True)
                    await link.client.run(end_helpers, self._job.run)

    def _hand(self, number: int, name: str, arguments: bytes) -> None:
        if self._link is not None and number == self._number:
            follower = asyncio.create_task(self._follow(self._link, name, arguments))
            self._followers.add(follower)
            follower.add_done_callback(self._followers.discard)

    async def _follow(self, link: DaskLink, name: str, arguments: bytes) -> None:
        """See a task to its end."""
        from distributed import KilledWorker  # noqa: PLC0415 - an extra, and heavy
        from distributed.client import FutureCancelledError  # noqa: PLC0415

        key = f"{self._job.run}-{name}"
        future = link.client.submit(do_calls, self._job, key, arguments, key=key, pure=False)
        self._futures[name] = future
        try:
            answer = await future
        except KilledWorker:
            self._tell(_Ended(name, None))
        except FutureCancelledError:
            link.lost.set()
        except OSError:  # the connection by which its result was to come broke
            self._tell(_Untouched(name))
        except Exception as error:  # noqa: BLE001 - calls fail in what they answer; this is the worker itself
            kind, reason = type(error).__name__, str(error)
            text = message("A worker of Dask cannot do the work: {kind}: {reason}.", kind=kind, reason=reason)
            self._tell(_Broken(UsageError(text)))
        else:
            if isinstance(answer, Refusal):
                self._tell(_Broken(UsageError(answer.reason)))
            elif answer is None:
                self._tell(_Untouched(name))
            else:
                self._tell(_Ended(name, pickle.loads(answer)))  # noqa: S301  who has the workers has this as well
        self._futures.pop(name, None)
