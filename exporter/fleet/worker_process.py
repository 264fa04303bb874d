"""A process that does calls for another one: functions of this program, with values that pickle.

It has its own Python, not a copy of its starter's, since threads run there. It reads calls from its standard input, and
writes what they return to its standard output. When its starter ends, however that does, it ends as well: without a
call at once in order, else by a signal that nothing can delay, so that nobody does the same work beside it.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any, BinaryIO, Final, NoReturn, TypeAlias, cast

import exporter
from exporter.errors import BlogExporterError
from exporter.message import message, said
from exporter.processors import keep_to_one

PATIENCE: Final = 1.0
"""Seconds that a process has to end in order, which takes it less."""
_COMPLAINT: Final = 500
_DIES_FIRST: Final = b"500"
"""A machine out of memory ends a process with this mark in ``/proc/self/oom_score_adj`` before those without."""

Hear: TypeAlias = Callable[[tuple["WorkerProcess", Any]], None]
"""Is told, in another thread, what a process says: ``True`` when it listens, then for each call whether it went well,
and what it returned or raised; at last ``None``."""


class WorkerProcess:
    """One process, which is started.

    Args:
        call: the function, pickled.
        hear: hears what it says.
        environ: variables that it has besides those of this process.

    Attributes:
        in_hand: what it was handed and has not answered, in this order.
        ready: whether it has begun to listen.
    """

    def __init__(self, call: bytes, hear: Hear, environ: Mapping[str, str] | None = None) -> None:
        self.in_hand: deque[Any] = deque()
        self.ready = False
        self._complaints = tempfile.TemporaryFile()  # noqa: SIM115  closed by bury()
        try:
            self._process = self._started(environ or {})
        except OSError:
            self._complaints.close()
            raise
        self._send(call)
        self._listener = Thread(target=self._listen, args=(hear,), daemon=True)
        self._listener.start()

    def _started(self, environ: Mapping[str, str]) -> subprocess.Popen[bytes]:
        folders = [str(Path(exporter.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "exporter.fleet.worker_process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._complaints,
            env={**os.environ, **environ, "PYTHONPATH": os.pathsep.join(filter(None, folders))},
            start_new_session=True,  # who interrupts this process means it alone; it ends the others
        )

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

    def _listen(self, hear: Hear) -> None:
        out = cast("Any", self._process.stdout)
        with out:
            try:
                while True:
                    hear((self, pickle.load(out)))  # noqa: S301  our own process writes it
            except Exception:  # noqa: BLE001  whatever is wrong with what it says, it is of no more use
                hear((self, None))

    def end(self) -> None:
        """Ask it to end: at once where it has nothing in hand, else with whatever it has open put in order."""
        if self.in_hand:
            self._process.terminate()
        else:
            self._close(self._process.stdin)

    def bury(self, seconds: float) -> str:
        """End it for good, after waiting so long for it to do so; return how it ended, ``""`` where it did not say."""
        try:
            code = self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        self._listener.join(PATIENCE)
        how = self._complaint(code)
        self._close(self._process.stdin)
        self._close(self._complaints)
        return how

    def _close(self, stream: Any) -> None:
        with contextlib.suppress(OSError):
            stream.close()

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
    calls = os.fdopen(os.dup(0), "rb")  # the thread's own, so that Python can end while it reads
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever is printed is no answer
    with contextlib.suppress(EOFError, BrokenPipeError):
        work = pickle.load(calls)  # noqa: S301  our own process writes it
        pickle.dump(True, answers)
        answers.flush()
        inbox = _Inbox(calls)
        for argument in inbox:
            answer = pickle.dumps(_answer(work, argument))
            inbox.answered()
            answers.write(answer)
            answers.flush()


class _Inbox:
    """The arguments of calls, as they come; where no more can come before all are answered, it ends the process."""

    def __init__(self, calls: BinaryIO) -> None:
        self._come = self._answered = 0
        self._waiting: SimpleQueue[tuple[Any] | None] = SimpleQueue()
        Thread(target=self._read, args=(calls,), daemon=True).start()

    def __iter__(self) -> Iterator[Any]:
        while (call := self._waiting.get()) is not None:
            yield call[0]

    def answered(self) -> None:
        """Take note of an answer that is about to be sent."""
        self._answered += 1

    def _read(self, calls: BinaryIO) -> None:
        try:
            with contextlib.suppress(EOFError):
                while True:
                    call = pickle.load(calls)  # noqa: S301  our own process writes it
                    self._come += 1
                    self._waiting.put(call)
        finally:
            if self._come > self._answered:
                os.kill(os.getpid(), signal.SIGKILL)
            self._waiting.put(None)


def _leave(_number: int, _frame: object) -> NoReturn:
    """End by an exception that no work takes for one of its own, so that it closes and removes what it must."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # several may ask
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
