"""Who does the work of a fleet: several processes of this machine, or whatever else can do what :class:`Hands` says.

A process that dies takes nothing with it but the call that it had begun.
"""

from __future__ import annotations

import pickle
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, Final, Generic, Protocol, TypeAlias, TypeVar, cast

from exporter.errors import BlogExporterError
from exporter.fleet.worker_process import PATIENCE, WorkerProcess
from exporter.message import message

Argument = TypeVar("Argument")
Answer = TypeVar("Answer")
Lost: TypeAlias = Callable[[Argument, str], Answer]
"""Gives the answer for an argument with which two processes died, the second alone, and how the second did."""

_AHEAD: Final = 2
"""So many calls a process is handed: the one it does, and one that lies ready when that is done."""
_SUSPECTS: Final = 100
"""So many arguments with which a process died wait for the end of all others, before they have their second turn."""
_FALSE_STARTS: Final = 3


class Hands(Protocol):
    """Who does work: functions of this program, called with values that pickle."""

    @property
    def workers(self) -> int:
        """How many calls they do at a time, as far as that is known."""

    def each_done(
        self,
        work: Callable[[Argument], Answer],
        arguments: Iterable[Argument],
        *,
        lost: Lost[Argument, Answer] | None = None,
    ) -> Generator[Answer]:
        """Yield what a function returns for each argument, as they are done, in any order.

        Args:
            work: a function of a module, or a partial of one, called with one argument; perhaps more than once, where
                who did it has died.
            arguments: taken one by one, in this thread, as they can be handed out.
            lost: where it is given, an argument with which a process died is tried once more while nothing else is
                done, and when that dies too, has the answer that this gives.

        Raises:
            BlogExporterError: what a call raised, or a process ended before it had answered and there is no ``lost``,
                or nobody can do the work.
        """


@dataclass(frozen=True, slots=True)
class LocalHands:
    """Processes of this machine; one alone is this process, unless it may die of what it does."""

    workers: int

    def each_done(
        self,
        work: Callable[[Argument], Answer],
        arguments: Iterable[Argument],
        *,
        lost: Lost[Argument, Answer] | None = None,
    ) -> Generator[Answer]:
        """Yield what is done; see :meth:`Hands.each_done`."""
        if self.workers <= 1 and lost is None:
            yield from map(work, arguments)
            return
        crew = _Crew(work, iter(arguments), self.workers, lost)
        try:
            yield from crew.answers()
        finally:
            crew.close()


class _Crew(Generic[Argument, Answer]):
    """All processes, and what is to be handed to them."""

    def __init__(
        self,
        work: Callable[[Argument], Answer],
        waiting: Iterator[Argument],
        workers: int,
        lost: Lost[Argument, Answer] | None,
    ) -> None:
        self._call = pickle.dumps(work)
        self._waiting = waiting
        self._more = True
        self._lost = lost
        self._events: SimpleQueue[tuple[WorkerProcess, Any]] = SimpleQueue()
        self._given_back: deque[Argument] = deque()
        self._suspects: deque[Argument] = deque()
        self._alone = False
        self._false_starts = 0
        self._number = workers
        self._workers: list[WorkerProcess] = []

    def answers(self) -> Iterator[Answer]:
        """Start the processes, and yield the answers."""
        for _ in range(self._number):
            self._workers.append(WorkerProcess(self._call, self._events.put))
        while self._hand_out():
            worker, event = self._events.get()
            if event is None:
                yield from self._after_death(worker)
            elif not worker.ready:
                worker.ready = True
                self._false_starts = 0
            else:
                worker.in_hand.popleft()
                self._alone = False
                good, answer = event
                if not good:
                    raise answer
                yield answer

    def close(self) -> None:
        """End all processes: those that are at work in order if they can do so within a second."""
        for worker in self._workers:
            worker.end()
        deadline = time.monotonic() + PATIENCE
        for worker in self._workers:
            worker.bury(max(0.0, deadline - time.monotonic()))

    def _hand_out(self) -> bool:
        """Give every process what it has room for; tell whether answers are to come."""
        busy = any(worker.in_hand for worker in self._workers)
        if self._alone:
            return busy
        if self._suspects and (len(self._suspects) >= _SUSPECTS or not (self._more or self._given_back)):
            if not busy:
                self._alone = True
                self._workers[0].hand(self._suspects.popleft())
            return True
        for _ in range(_AHEAD):
            for worker in sorted(self._workers, key=lambda each: len(each.in_hand)):
                if len(worker.in_hand) < _AHEAD and self._more:
                    self._hand_next(worker)
        return any(worker.in_hand for worker in self._workers) or (bool(self._suspects) and self._hand_out())

    def _hand_next(self, worker: WorkerProcess) -> None:
        if self._given_back:
            worker.hand(self._given_back.popleft())
            return
        for argument in self._waiting:
            worker.hand(argument)
            return
        self._more = False

    def _after_death(self, worker: WorkerProcess) -> Iterator[Answer]:
        """Put another in the place of a process that died, and see to what it had in hand."""
        how = worker.bury(PATIENCE)
        begun = worker.in_hand.popleft() if worker.ready and worker.in_hand else None
        known = worker.ready and begun is not None
        self._given_back.extend(worker.in_hand)
        self._more = self._more or bool(self._given_back)
        if known and self._lost is None:
            raise ended_early(how)
        if not worker.ready:
            self._false_starts += 1
            if self._false_starts >= _FALSE_STARTS:
                raise BlogExporterError(
                    message("No worker process can be started: {how}.", how=how or message("it ended at once"))
                )
        self._workers[self._workers.index(worker)] = WorkerProcess(self._call, self._events.put)
        if not known:
            return
        if self._alone and self._lost is not None:
            self._alone = False
            yield self._lost(cast("Argument", begun), how)
        else:
            self._suspects.append(cast("Argument", begun))


def ended_early(how: str) -> BlogExporterError:
    """Return the error for a process that ended before its work was done."""
    return BlogExporterError(
        message(
            "A worker process ended before its work was done{reason}; run the command again, "
            "with fewer --workers where memory is short.",
            reason=how and f" ({how})",
        )
    )
