"""A worker pool of processes on this machine.

Each worker is a fresh Python, not a fork, because threads run here. It reads calls from a pipe and answers through it.
When this process ends in any way, the pipe closes, and the worker exits.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import signal
import time
from collections import deque
from collections.abc import Callable
from multiprocessing.connection import Connection, wait
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any, Final, NoReturn, Self

from exporter.errors import BlogExporterError
from exporter.fleet.pool import Died, Outcome, called
from exporter.message import message
from exporter.worker import keep_to_one

STOP_SECONDS: Final = 1.0
"""Time that a busy worker has to clean up after SIGTERM, before it is killed."""
_ORPHAN_SECONDS: Final = 0.2
"""Time that an idle worker has to exit after its pipe closed; a busy one is killed then."""
_MAX_FALSE_STARTS: Final = 3
_OOM_SCORE: Final = b"500"
"""If memory runs out, the system kills a process with this score before the process that started it."""
_CONTEXT: Final = multiprocessing.get_context("spawn")


class _Worker:
    """One process.

    Attributes:
        connection: carries calls to it and outcomes back.
        unfinished: numbers and pickles of unanswered calls, in order.
        ready: whether it has started.
    """

    def __init__(self) -> None:
        self.connection, theirs = _CONTEXT.Pipe()
        self.unfinished: deque[tuple[int, bytes]] = deque()
        self.ready = False
        self._process = _CONTEXT.Process(target=_serve, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()

    def send(self, number: int, call: bytes) -> None:
        self.unfinished.append((number, call))
        with contextlib.suppress(OSError):  # it has died: reading from the pipe reports that
            self.connection.send_bytes(call)

    def stop(self) -> None:
        """Ask it to exit."""
        if self.unfinished:
            self._process.terminate()
        else:
            self.connection.close()

    def join(self, seconds: float) -> str:
        """Wait for its end, killing it after ``seconds``; return the name of a fatal signal, or ``""``."""
        self._process.join(seconds)
        if self._process.exitcode is None:
            self._process.kill()
            self._process.join()
        self.connection.close()
        code = self._process.exitcode or 0
        with contextlib.suppress(ValueError):
            return signal.Signals(-code).name if code < 0 else ""
        return ""


class LocalPool:
    """Implements :class:`~exporter.fleet.pool.WorkerPool` with ``slots`` processes on this machine."""

    dashboard: str | None = None

    def __init__(self, slots: int) -> None:
        self.slots = slots
        self.runs_here = slots == 1
        self._workers: list[_Worker] = []
        self._false_starts = 0

    def __enter__(self) -> Self:
        self._workers = [_Worker() for _ in range(self.slots)]
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers:
            worker.stop()
        deadline = time.monotonic() + STOP_SECONDS
        for worker in self._workers:
            worker.join(max(0.0, deadline - time.monotonic()))
        self._workers.clear()

    def submit(self, number: int, work: Callable[[Any], Any], argument: Any) -> None:
        """Send a call to the worker with the fewest unfinished calls."""
        self._send(number, pickle.dumps((work, argument)))

    def _send(self, number: int, call: bytes) -> None:
        min(self._workers, key=lambda each: len(each.unfinished)).send(number, call)

    def done(self, seconds: float) -> list[tuple[int, Outcome]]:
        """Return the calls that ended; see :meth:`~exporter.fleet.pool.WorkerPool.done`."""
        found: list[tuple[int, Outcome]] = []
        ready = wait([worker.connection for worker in self._workers], seconds)
        for worker in [each for each in self._workers if each.connection in ready]:
            try:
                outcome = worker.connection.recv()
            except (EOFError, OSError):
                found += self._replaced(worker)
                continue
            if worker.ready:
                found.append((worker.unfinished.popleft()[0], outcome))
            worker.ready = True
            self._false_starts = 0
        return found

    def _replaced(self, worker: _Worker) -> list[tuple[int, Outcome]]:
        """Replace a dead worker, and send its other calls to live workers."""
        how = worker.join(STOP_SECONDS)
        died: list[tuple[int, Outcome]] = []
        if worker.ready and worker.unfinished:
            died.append((worker.unfinished.popleft()[0], Died(how)))
        elif not worker.ready:
            self._false_starts += 1
            if self._false_starts >= _MAX_FALSE_STARTS:
                reason = how or message("it ended at once")
                raise BlogExporterError("No worker process can be started: {how}.", how=reason)
        self._workers[self._workers.index(worker)] = _Worker()
        for number, call in worker.unfinished:
            self._send(number, call)
        return died


def _serve(connection: Connection) -> None:
    """Answer calls until the pipe closes; the main function of a worker."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes of a terminal: the starting one decides
    signal.signal(signal.SIGTERM, _leave)
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_bytes(_OOM_SCORE)
    keep_to_one()
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
    calls: SimpleQueue[bytes | None] = SimpleQueue()
    Thread(target=_receive, args=(connection, calls), daemon=True).start()
    with contextlib.suppress(OSError):  # the starting process has ended
        connection.send(None)
        while (call := calls.get()) is not None:
            connection.send(called(call))


def _receive(connection: Connection, calls: SimpleQueue[bytes | None]) -> None:
    with contextlib.suppress(EOFError, OSError):
        while True:
            calls.put(connection.recv_bytes())
    calls.put(None)
    time.sleep(_ORPHAN_SECONDS)
    os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))


def _leave(_number: int, _frame: object) -> NoReturn:
    """Exit by an exception that no call catches as its own, so that the call cleans up."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # several processes may send it
    raise SystemExit(128 + signal.SIGTERM)
