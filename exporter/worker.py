"""Run functions of this program in a child process that can be killed.

A regular expression or a picture from a stranger can run for ever, exhaust the memory or crash its decoder. In a child
process it costs one result and nothing else.

The parent sends pickled calls to the child's standard input. The child sends pickled results to its standard output.
Results hold only plain values (numbers, text, bytes, lists, tuples, dictionaries). The parent refuses everything else,
so a child that a hostile picture took over cannot run code in the parent. The child is a new process and no fork,
because the parent may run threads. It ends when its input ends, so also when the parent is killed.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import pkgutil
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, BinaryIO, Final, Self, cast

import exporter
from exporter.message import message

_CALLS_AHEAD: Final = 16
_WIDE_PIPE_BYTES: Final = 256 * 1024
_PIPE_BYTES: Final = 64 * 1024
"""The default capacity of a pipe. The parent waits in ``submit`` while it is full."""
_EXIT_SECONDS: Final = 5.0


_one_processor = False


def processors() -> int:
    """Return how many processors this process and its children may keep busy: all that the system gives it, or one."""
    if _one_processor:
        return 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def keep_to_one() -> None:
    """Let this process use one processor from now on, since many processes share the machine."""
    global _one_processor  # noqa: PLW0603 - it holds for the process
    _one_processor = True


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a process that leads a session of its own, with the processes that it started, and wait for its end."""
    with contextlib.suppress(ProcessLookupError):
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.wait()


_KILLED: Final = frozenset(-each for each in (signal.SIGTERM, getattr(signal, "SIGKILL", signal.SIGTERM)))
"""The return codes of a process that something outside it ended, such as a system without memory."""


class WorkerFailed(Exception):
    """The child process did not start or crashed, or its function raised an error. The message says why."""


class WorkerGone(WorkerFailed):
    """The child process could not start, or something outside it killed it: the call itself may be right."""


class Worker:
    """A child process for calls, which it does one after another. It starts with the first call; use it in ``with``.

    After a crash or a time-out, the next call starts a new process.

    Args:
        shared: sent once for each process, and passed to each function as its first argument; ``None`` for none.
        memory: the bytes of data that the system lets the process have, on systems that can limit it.
    """

    def __init__(self, shared: Any = None, memory: int | None = None) -> None:
        self._shared = shared
        self._memory = memory
        self._process: subprocess.Popen[bytes] | None = None
        self._answers: SimpleQueue[Any] = SimpleQueue()
        self._sizes: deque[int] = deque()
        self._pipe_bytes = _PIPE_BYTES

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def done(self) -> int:
        """How many results can be taken without waiting."""
        return self._answers.qsize()

    @property
    def has_room(self) -> bool:
        """Whether the process can take one more call at once."""
        return len(self._sizes) - self.done < _CALLS_AHEAD and sum(self._sizes) < self._pipe_bytes // 2

    def call(self, function: Callable[..., Any] | str, *args: Any, seconds: float | None = None) -> Any:
        """Call a function and return its result; arguments and errors as for :meth:`submit` and :meth:`result`.

        A process that was killed is replaced once, and the call is sent again.
        """
        try:
            self.submit(function, *args)
            return self.result(seconds)
        except WorkerGone:
            self.submit(function, *args)
            return self.result(seconds)

    def submit(self, function: Callable[..., Any] | str, *args: Any) -> None:
        """Send a call without waiting for its result.

        Args:
            function: of a module, or its name (``exporter.module:function``), which saves the parent the import.
            args: can be pickled.

        Raises:
            WorkerGone: the process did not start, or was killed.
            WorkerFailed: it crashed.
        """
        if self._process is None:
            self._start()
        self._sizes.append(self._send((function, args)))

    def result(self, seconds: float | None = None) -> Any:
        """Return the result of the oldest call.

        Args:
            seconds: how long to wait for it; the process is killed then.

        Raises:
            TimeoutError: it took longer.
            WorkerGone: the process was killed.
            WorkerFailed: it crashed, or the function raised an error.
        """
        try:
            answer = self._answers.get(timeout=seconds)
        except Empty:
            self.close()
            raise TimeoutError from None
        if isinstance(answer, Exception):
            raise self._failed() from answer
        self._sizes.popleft()
        succeeded, value = answer
        if not succeeded:
            raise WorkerFailed(value)
        return value

    def close(self) -> None:
        """Kill the process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            if self._reader.ident is not None:
                self._reader.join()
            for stream in (self._process.stdin, self._process.stdout):
                with contextlib.suppress(OSError):
                    cast("BinaryIO", stream).close()
            self._process = None
            self._answers = SimpleQueue()
            self._sizes.clear()

    def _start(self) -> None:
        folders = [str(Path(exporter.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "exporter.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, folders))},
                start_new_session=True,  # an interrupt from the terminal reaches the parent alone, which ends the child
            )
        except OSError as error:
            raise WorkerGone(error.strerror) from error
        self._pipe_bytes = _widened(cast("BinaryIO", self._process.stdin))
        # A thread always reads, so that the child never waits to write while the parent waits to write.
        self._reader = Thread(target=_read, args=(self._process.stdout, self._answers), daemon=True)
        try:
            self._reader.start()
        except RuntimeError as error:  # the system lets the process have no more threads
            self.close()
            raise WorkerGone(str(error)) from error
        self._send((self._memory, self._shared))

    def _send(self, value: Any) -> int:
        """Send a value to the process; return its size in bytes."""
        data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
        into = cast("BinaryIO", cast("subprocess.Popen[bytes]", self._process).stdin)
        try:
            into.write(data)
            into.flush()
        except OSError as error:
            raise self._failed() from error
        return len(data)

    def _failed(self) -> WorkerFailed:
        process = cast("subprocess.Popen[bytes]", self._process)
        with contextlib.suppress(subprocess.TimeoutExpired):  # it still runs if it sent an invalid result
            process.wait(_EXIT_SECONDS)
        self.close()
        kind = WorkerGone if process.returncode in _KILLED else WorkerFailed
        return kind(message("it ended with {code}", code=process.returncode))


class _PlainResults(pickle.Unpickler):
    """Reads a result and refuses to import anything."""

    def find_class(self, module_name: str, global_name: str) -> Any:
        raise pickle.UnpicklingError(f"{module_name}.{global_name}")


def _read(source: BinaryIO, answers: SimpleQueue[Any]) -> None:
    try:
        while True:
            answers.put(_PlainResults(source).load())
    except Exception as error:  # noqa: BLE001 - the caller receives it with the next result
        answers.put(error)


def _widened(pipe: BinaryIO) -> int:
    """Let a pipe hold more bytes, on Linux; return how many it holds."""
    if sys.platform == "linux":
        import fcntl  # noqa: PLC0415 - not on every system

        with contextlib.suppress(OSError):
            return fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _WIDE_PIPE_BYTES)
    return _PIPE_BYTES


def serve(source: BinaryIO, sink: BinaryIO) -> None:
    """Do the calls that come until there are no more: the child's side."""
    memory, shared = pickle.load(source)  # noqa: S301 - from the parent
    if memory is not None:
        _limit_memory(memory)
    first = () if shared is None else (shared,)
    while True:
        try:
            function, args = pickle.load(source)  # noqa: S301 - from the parent
        except EOFError:
            return
        answer: tuple[bool, Any]
        try:
            call = pkgutil.resolve_name(function) if isinstance(function, str) else function
            answer = True, call(*first, *args)
        except Exception as error:  # noqa: BLE001 - the parent decides what to do
            answer = False, f"{type(error).__name__}: {error}"[:200]
        pickle.dump(answer, sink, pickle.HIGHEST_PROTOCOL)
        sink.flush()


def _limit_memory(most: int) -> None:
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource  # noqa: PLC0415 - not on every system

        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (most, hard))


if __name__ == "__main__":
    serve(sys.stdin.buffer, sys.stdout.buffer)
