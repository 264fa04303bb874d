"""Work in several processes of this machine: functions of this program, called there with values that pickle.

Each process has its own Python, not a copy of this one, since threads run here. It reads calls from its standard input
and ends with it, so also when the process that started it is killed; it writes what they return to its standard output.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any, Final, TypeVar, cast

import exporter
from exporter.errors import BlogExporterError
from exporter.message import message, said

Argument = TypeVar("Argument")
Answer = TypeVar("Answer")

_COMPLAINT: Final = 500


def processors() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def each_done(work: Callable[[Argument], Answer], arguments: Iterable[Argument], workers: int) -> Iterator[Answer]:
    """Yield what a function returns for each argument, as they are done, in any order.

    Args:
        work: a function of a module, called with one argument.
        arguments: taken one by one, by whichever process is free.
        workers: how many processes; 1 for none but this one.

    Raises:
        BlogExporterError: what a call raised, or a process ended before it had answered.
    """
    if workers <= 1:
        yield from map(work, arguments)
        return
    answers: SimpleQueue[tuple[_Worker, bool, Any]] = SimpleQueue()
    waiting = iter(arguments)
    crew = [_Worker(work, answers) for _ in range(workers)]
    try:
        # The arguments are taken here alone, each when a process is free for it.
        busy = sum(worker.hand(waiting) for worker in crew)
        while busy:
            worker, good, answer = answers.get()
            if not good:
                raise answer
            busy -= not worker.hand(waiting)
            yield answer
    finally:
        for worker in crew:
            worker.close()


class _Worker:
    """One process; close it."""

    def __init__(self, work: Callable[[Any], Any], answers: SimpleQueue[tuple[_Worker, bool, Any]]) -> None:
        folders = [str(Path(exporter.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
        self._complaints = tempfile.TemporaryFile()  # noqa: SIM115  closed by close()
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "exporter.fleet.workers"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._complaints,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, folders))},
            start_new_session=True,  # who interrupts this process means it alone; it ends the others
        )
        self._arguments: SimpleQueue[Any] = SimpleQueue()
        Thread(target=self._attend, args=(work, answers), daemon=True).start()

    def hand(self, waiting: Iterator[Any]) -> bool:
        """Give it the next argument; false where there is none."""
        for argument in waiting:
            self._arguments.put((argument,))
            return True
        return False

    def _attend(self, work: Callable[[Any], Any], answers: SimpleQueue[tuple[_Worker, bool, Any]]) -> None:
        while (call := self._arguments.get()) is not None:
            answers.put((self, *self._called(work, call[0])))

    def _called(self, work: Callable[[Any], Any], argument: Any) -> tuple[bool, Any]:
        into, out = cast("Any", self._process.stdin), cast("Any", self._process.stdout)
        try:
            pickle.dump((work, argument), into)
            into.flush()
            answer: tuple[bool, Any] = pickle.load(out)  # noqa: S301  our own process writes it
        except (OSError, EOFError, ValueError, pickle.UnpicklingError):
            text = message(
                "A worker process ended before its work was done{reason}; run the command again, "
                "with fewer --workers where memory is short.",
                reason=self._complaint(),
            )
            return False, BlogExporterError(text)
        return answer

    def _complaint(self) -> str:
        with contextlib.suppress(OSError, ValueError):
            self._complaints.seek(0)
            lines = self._complaints.read().decode("utf-8", "replace").strip().splitlines()
            if lines:
                return f" ({lines[-1][:_COMPLAINT]})"
        return ""

    def close(self) -> None:
        """End the process, whatever it is doing."""
        self._arguments.put(None)
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._complaints):
            with contextlib.suppress(OSError):
                cast("Any", stream).close()


def main() -> None:
    """Answer calls until there are no more."""
    calls = sys.stdin.buffer
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever is printed is no answer
    while True:
        try:
            work, argument = pickle.load(calls)  # noqa: S301  our own process writes it
        except EOFError:
            return
        try:
            answer: tuple[bool, Any] = (True, work(argument))
        except BlogExporterError as error:
            answer = (False, error)
        except Exception as error:  # noqa: BLE001 - the other process says it
            reason = message("{kind}: {reason}", kind=type(error).__name__, reason=said(error))
            answer = (False, BlogExporterError(reason))
        pickle.dump(answer, answers)
        answers.flush()


if __name__ == "__main__":
    main()
