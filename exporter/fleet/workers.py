"""Work in several processes of this machine: functions of this program, called there with values that pickle.

Each process has its own Python, not a copy of this one, since threads run here. It reads calls from its standard input
and ends with it, so also when the process that started it is killed; it writes what they return to its standard output.
A process that dies takes nothing with it but the call that it had begun.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any, Final, Generic, NoReturn, TypeAlias, TypeVar, cast

import exporter
from exporter.errors import BlogExporterError
from exporter.message import message, said
from exporter.processors import keep_to_one

Argument = TypeVar("Argument")
Answer = TypeVar("Answer")
Lost: TypeAlias = Callable[[Argument, str], Answer]
"""Gives the answer for an argument with which two processes died, the second alone, and how the second did."""

_COMPLAINT: Final = 500
_AHEAD: Final = 2
"""So many calls a process is handed: the one it does, and one that lies ready when that is done."""
_SUSPECTS: Final = 100
"""So many arguments with which a process died wait for the end of all others, before they have their second turn."""
_FALSE_STARTS: Final = 3
_PATIENCE: Final = 1.0
_DIES_FIRST: Final = b"500"
"""A machine out of memory ends a process with this mark in ``/proc/self/oom_score_adj`` before those without."""


def each_done(
    work: Callable[[Argument], Answer],
    arguments: Iterable[Argument],
    workers: int,
    *,
    lost: Lost[Argument, Answer] | None = None,
) -> Iterator[Answer]:
    """Yield what a function returns for each argument, as they are done, in any order.

    Args:
        work: a function of a module, or a partial of one, called with one argument.
        arguments: taken one by one, by whichever process is free.
        workers: how many processes; with 1 and without ``lost`` there is none but this one.
        lost: where it is given, an argument with which a process died is tried once more while nothing else is done,
            and when that dies too, has the answer that this gives.

    Raises:
        BlogExporterError: what a call raised, or a process ended before it had answered and there is no ``lost``, or
            no process can be started.
    """
    if workers <= 1 and lost is None:
        yield from map(work, arguments)
        return
    crew = _Crew(work, iter(arguments), workers, lost)
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
        self._events: SimpleQueue[tuple[_Worker, Any]] = SimpleQueue()
        self._given_back: deque[Argument] = deque()
        self._suspects: deque[Argument] = deque()
        self._alone = False
        self._false_starts = 0
        self._number = workers
        self._workers: list[_Worker] = []

    def answers(self) -> Iterator[Answer]:
        """Start the processes, and yield the answers."""
        for _ in range(self._number):
            self._workers.append(_Worker(self._call, self._events))
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
        deadline = time.monotonic() + _PATIENCE
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

    def _hand_next(self, worker: _Worker) -> None:
        if self._given_back:
            worker.hand(self._given_back.popleft())
            return
        for argument in self._waiting:
            worker.hand(argument)
            return
        self._more = False

    def _after_death(self, worker: _Worker) -> Iterator[Answer]:
        """Put another in the place of a process that died, and see to what it had in hand."""
        how = worker.bury(_PATIENCE)
        begun = worker.in_hand.popleft() if worker.ready and worker.in_hand else None
        known = worker.ready and begun is not None
        self._given_back.extend(worker.in_hand)
        self._more = self._more or bool(self._given_back)
        if known and self._lost is None:
            raise _ended(how)
        if not worker.ready:
            self._false_starts += 1
            if self._false_starts >= _FALSE_STARTS:
                raise BlogExporterError(
                    message("No worker process can be started: {how}.", how=how or message("it ended at once"))
                )
        self._workers[self._workers.index(worker)] = _Worker(self._call, self._events)
        if not known:
            return
        if self._alone and self._lost is not None:
            self._alone = False
            yield self._lost(cast("Argument", begun), how)
        else:
            self._suspects.append(cast("Argument", begun))


def _ended(how: str) -> BlogExporterError:
    return BlogExporterError(
        message(
            "A worker process ended before its work was done{reason}; run the command again, "
            "with fewer --workers where memory is short.",
            reason=how and f" ({how})",
        )
    )


class _Worker:
    """One process.

    Attributes:
        in_hand: what it was handed and has not answered, in this order.
        ready: whether it has begun to listen.
    """

    def __init__(self, call: bytes, events: SimpleQueue[tuple[_Worker, Any]]) -> None:
        self.in_hand: deque[Any] = deque()
        self.ready = False
        folders = [str(Path(exporter.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
        self._complaints = tempfile.TemporaryFile()  # noqa: SIM115  closed by bury()
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "exporter.fleet.workers"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._complaints,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, folders))},
            start_new_session=True,  # who interrupts this process means it alone; it ends the others
        )
        self._send(call)
        self._listener = Thread(target=self._listen, args=(events,), daemon=True)
        self._listener.start()

    def hand(self, argument: Any) -> None:
        """Give it an argument."""
        self.in_hand.append(argument)
        self._send(pickle.dumps((argument,)))

    def _send(self, data: bytes) -> None:
        # That it died is heard from its standard output.
        with contextlib.suppress(OSError):
            into = cast("Any", self._process.stdin)
            into.write(data)
            into.flush()

    def _listen(self, events: SimpleQueue[tuple[_Worker, Any]]) -> None:
        out = cast("Any", self._process.stdout)
        with out:
            try:
                while True:
                    events.put((self, pickle.load(out)))  # noqa: S301  our own process writes it
            except Exception:  # noqa: BLE001  whatever is wrong with what it says, it is of no more use
                events.put((self, None))

    def end(self) -> None:
        """Ask it to end: at once where it has nothing in hand, else with whatever it has open put in order."""
        with contextlib.suppress(OSError):
            cast("Any", self._process.stdin).close()
        if self.in_hand:
            self._process.terminate()

    def bury(self, seconds: float) -> str:
        """End it for good, after waiting so long for it to do so; return how it ended, ``""`` where it did not say."""
        try:
            code = self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        self._listener.join(_PATIENCE)
        how = self._complaint(code)
        for stream in (self._process.stdin, self._complaints):
            with contextlib.suppress(OSError):
                cast("Any", stream).close()
        return how

    def _complaint(self, code: int) -> str:
        if code < 0:
            with contextlib.suppress(ValueError):
                return signal.Signals(-code).name
        with contextlib.suppress(OSError, ValueError):
            size = self._complaints.seek(0, os.SEEK_END)
            self._complaints.seek(max(0, size - _COMPLAINT))
            lines = self._complaints.read().decode("utf-8", "replace").strip().splitlines()
            if lines:
                return lines[-1]
        return ""


def main() -> None:
    """Answer calls until there are no more."""
    signal.signal(signal.SIGTERM, _leave)
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_bytes(_DIES_FIRST)
    keep_to_one()
    calls = sys.stdin.buffer
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever is printed is no answer
    with contextlib.suppress(EOFError, BrokenPipeError):
        work = pickle.load(calls)  # noqa: S301  our own process writes it
        pickle.dump(True, answers)
        answers.flush()
        while True:
            (argument,) = pickle.load(calls)  # noqa: S301  our own process writes it
            pickle.dump(_answer(work, argument), answers)
            answers.flush()


def _leave(_number: int, _frame: object) -> NoReturn:
    """End by an exception that no work takes for one of its own, so that it closes and removes what it must."""
    raise SystemExit(128 + signal.SIGTERM)


def _answer(work: Callable[[Any], Any], argument: Any) -> tuple[bool, Any]:
    try:
        return True, work(argument)
    except BlogExporterError as error:
        return False, error
    except Exception as error:  # noqa: BLE001 - the other process says it
        reason = message("{kind}: {reason}", kind=type(error).__name__, reason=said(error))
        return False, BlogExporterError(reason)


if __name__ == "__main__":
    main()
