"""What a worker of Dask does for work over a fleet: each call in a process beside it, one process for each slot.

So a worker with as many threads as its machine has processors keeps all of them busy, hears its scheduler meanwhile,
and loses nothing but a call when a process dies of what it does. What is not wanted any more, since the scheduler died
or whoever asked for it has ended, is ended within a second: nobody does the same beside whoever is asked for it next.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import pickle
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

from exporter import __version__
from exporter.fleet.dask_link import Refusal, folder_refusal, is_wanted, version_refusal
from exporter.fleet.worker_process import WorkerProcess
from exporter.message import message

_LOOK_SECONDS: Final = 0.1
_IDLE_SECONDS: Final = 60.0
_ENDING_SECONDS: Final = 0.6
_FALSE_STARTS: Final = 10
"""So many processes in a row may end before they have begun, of too little memory perhaps."""


class Sign(NamedTuple):
    """How a worker knows that it sees a place as whoever asks does: by a file, and what is in it."""

    place: Path
    path: Path
    text: str


@dataclass(frozen=True)
class WorkJob:
    """What all calls of a command have in common; it goes to every worker, so there is no secret in it.

    Attributes:
        run: names the command's run.
        signs: are seen where the folders are that it is about.
        call: the function, pickled.
        environ: the settings of its environment.
        version: of the program.
    """

    run: str
    signs: tuple[Sign, ...]
    call: bytes
    environ: Mapping[str, str]
    version: str = field(default=__version__)


class Died(NamedTuple):
    """In place of what a call returned: the process died with it; how, as far as it said."""

    how: str


class Answers(NamedTuple):
    """What came of some calls.

    Attributes:
        each: for each whether it went well, and what it returned or raised; or that its process died.
        seconds: how long all of them took.
    """

    each: list[tuple[bool, Any] | Died]
    seconds: float


async def do_calls(job: WorkJob, name: str, arguments: bytes) -> bytes | Refusal | None:
    """Do some calls, and return the pickled :class:`Answers`; the task of a worker.

    Args:
        job: what they are for.
        name: the key of this task.
        arguments: their list, pickled.

    Returns:
        ``None`` where they were not wanted any more.
    """
    from distributed import get_worker  # noqa: PLC0415 - an extra, and heavy

    worker = get_worker()
    reason = version_refusal(job.version) or next(filter(None, map(_unseen, job.signs)), None)
    if reason is not None:
        return Refusal(str(reason))

    def wanted() -> bool:
        return is_wanted(worker, name)

    begun = time.monotonic()
    each: list[tuple[bool, Any] | Died] = []
    helper: _Helper | None = None
    _tasks.add((job.run, name))
    try:
        for argument in pickle.loads(arguments):  # noqa: S301  who reaches a scheduler can have anything run anyway
            helper = helper or await _helper_for(job, wanted)
            answer = None if helper is None else await helper.answer(argument, wanted)
            if answer is None:
                return None
            each.append(answer)
            if isinstance(answer, Died):
                helper = None
        if helper is not None:
            helper.rest()
            helper = None
    except _FalseStart as error:
        return Refusal(str(error))
    finally:
        if helper is not None:
            await helper.end()
        _tasks.discard((job.run, name))
    return pickle.dumps(Answers(each, time.monotonic() - begun))


async def end_helpers(run: str) -> None:
    """End the processes that this one has for a command's run, and wait for the end of its tasks, which start none."""
    tasks = {task for task in _tasks if task[0] == run}
    await asyncio.gather(*(helper.end() for helper in list(_living) if helper.run == run))
    while tasks & _tasks:  # noqa: ASYNC110 - tasks tell nobody of their end
        await asyncio.sleep(_LOOK_SECONDS / 10)


@atexit.register
def part() -> None:
    """End all those processes, those at work in order if they can do so at once."""
    helpers = list(_living)
    for helper in helpers:
        helper.process.end()
    deadline = time.monotonic() + _ENDING_SECONDS
    for helper in helpers:
        helper.process.bury(max(0.0, deadline - time.monotonic()))


def _unseen(sign: Sign) -> str | None:
    with contextlib.suppress(OSError):
        if sign.path.read_text(encoding="ascii") == sign.text:
            return None
    return folder_refusal(str(sign.place))


class _FalseStart(Exception):
    """No process can be started."""


async def _helper_for(job: WorkJob, is_wanted: Callable[[], bool]) -> _Helper | None:
    """Return a process that has nothing to do; ``None`` where none is wanted any more.

    Raises:
        _FalseStart: there can be none.
    """
    for helper in [each for each in _living if each.run == job.run and each.resting is not None]:
        if helper.wake().is_alive:
            return helper
        await helper.end()
    how = ""
    for _ in range(_FALSE_STARTS):
        if not is_wanted():
            return None
        try:
            helper = _Helper(job)
        except OSError as error:
            how = str(error)
            continue
        if await helper.heard() is not None:
            return helper
        how = await helper.end()
    raise _FalseStart(message("No worker process can be started: {how}.", how=how or message("it ended at once")))


class _Helper:
    """A process, and what it says in this event loop.

    Attributes:
        run: whose calls it does.
        process: the process.
        resting: what ends it when it has nothing to do for long; ``None`` while it has.
    """

    def __init__(self, job: WorkJob) -> None:
        self.run = job.run
        self._loop = asyncio.get_running_loop()
        self._said: asyncio.Queue[Any] = asyncio.Queue()
        self.resting: asyncio.TimerHandle | None = None
        self.process = WorkerProcess(job.call, self._hear, job.environ)
        _living.add(self)

    def _hear(self, event: tuple[WorkerProcess, Any]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._said.put_nowait, event[1])

    @property
    def is_alive(self) -> bool:
        """Whether it has not died while it rested, when it has nothing else to say."""
        return self._said.empty()

    async def heard(self) -> Any:
        """Return what it says next; ``None`` when it has died."""
        return await self._said.get()

    async def answer(self, argument: Any, is_wanted: Callable[[], bool]) -> tuple[bool, Any] | Died | None:
        """Have it do a call; ``None`` where that is not wanted any more."""
        if not is_wanted():
            return None
        self.process.hand(argument)
        while is_wanted():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_LOOK_SECONDS):
                    said: tuple[bool, Any] | None = await self.heard()
                if said is None:
                    return Died(await self.end())
                self.process.in_hand.clear()
                return said
        return None

    def rest(self) -> None:
        """Let it wait for more, though not for ever."""
        self.resting = self._loop.call_later(_IDLE_SECONDS, lambda: asyncio.ensure_future(self.end()))

    def wake(self) -> _Helper:
        """Return it, for another call."""
        if self.resting is not None:
            self.resting.cancel()
            self.resting = None
        return self

    async def end(self) -> str:
        """End it, and return how it ended."""
        self.wake()
        self.process.end()
        how = await asyncio.to_thread(self.process.bury, _ENDING_SECONDS)
        _living.discard(self)
        return how


_living: Final[set[_Helper]] = set()
_tasks: Final[set[tuple[str, str]]] = set()
"""The tasks under way: of which command's run, and their keys."""
