"""A second process that renders pages of views beside this one, where there are many.

It is handed what a page is made of, one page at a time, over its standard input, and gives the pages back over its
standard output; nothing else: it reads no archive and writes no file. It is a process of its own, not a fork, since
threads run when views are made. It ends when its input does, so also when the process that started it is killed.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any, BinaryIO, Final, cast

import exporter
from exporter.archive.latest import DerivedFile
from exporter.errors import BlogExporterError
from exporter.export.interface import RemotePage, ViewFile
from exporter.message import message
from exporter.processors import processors

ALONE: Final = 300
"""So many pages are made before a second process is started, which costs as much as some hundred of them."""
_AHEAD: Final = 16
"""So many pages it has to do: this process takes answers when Python lets its other thread run, so not at once."""
_PIPE: Final = 256 * 1024
_USUAL_PIPE: Final = 64 * 1024
"""Bytes; what does not fit waits for the other process to read, which this one then cannot help."""


def with_help(
    files: Iterable[DerivedFile], is_there: Callable[[DerivedFile], bool], alone: int = ALONE
) -> Iterator[DerivedFile]:
    """Yield the same files, though in another order: those a second process rendered when it has done so.

    Args:
        files: of a view.
        is_there: tells which of them will not have to be made.
        alone: how many are made before there is a second process.

    Raises:
        BlogExporterError: the second process failed.
    """
    helper: PageHelper | None = None
    handed: deque[tuple[ViewFile, RemotePage]] = deque()
    made = 0
    try:
        for file in files:
            while helper is not None and handed and helper.done:
                yield _rendered(*handed.popleft(), helper)
            if isinstance(file, ViewFile) and file.remote is not None and not is_there(file):
                made += 1
                if helper is None and made > alone and processors() > 1:
                    helper = PageHelper()
                if helper is not None and helper.has_room:
                    helper.hand(file.remote)
                    handed.append((file, file.remote))
                    continue
            yield file
        while helper is not None and handed:
            yield _rendered(*handed.popleft(), helper)
    finally:
        if helper is not None:
            helper.close()


def _rendered(file: ViewFile, page: RemotePage, helper: PageHelper) -> ViewFile:
    content = page.finish(helper.take())
    return replace(file, render=lambda: content)


def _widened(pipe: BinaryIO) -> int:
    """Have a pipe hold more, where the system can do that (Linux); return how many bytes it holds."""
    if sys.platform == "linux":
        import fcntl  # noqa: PLC0415 - not there on every system

        with contextlib.suppress(OSError):
            return fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE)
    return _USUAL_PIPE


class PageHelper:
    """The second process; its answers come in the order of what it was handed."""

    def __init__(self) -> None:
        folders = [str(Path(exporter.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
        self._complaints = tempfile.TemporaryFile()  # noqa: SIM115  closed by close()
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "exporter.library.page_helper"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._complaints,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, folders))},
            start_new_session=True,  # who interrupts this process means it alone; it ends the other
        )
        self._into = cast("BinaryIO", self._process.stdin)
        self._out = cast("BinaryIO", self._process.stdout)
        self._answers: SimpleQueue[Any] = SimpleQueue()
        self._around: Any = None
        self._sizes: deque[int] = deque()
        self._waiting = 0
        self._most_waiting = _widened(self._into) // 2
        # It always reads, so that neither process waits for the other to read first.
        self._reader = Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def done(self) -> int:
        """How many answers wait to be taken."""
        return self._answers.qsize()

    @property
    def has_room(self) -> bool:
        """Whether it can be handed one more page without waiting for it."""
        return len(self._sizes) - self.done < _AHEAD and self._waiting < self._most_waiting

    def hand(self, page: RemotePage) -> None:
        """Hand over a page, and before the first that has them, the things around it."""
        if page.around is not self._around:
            self._send((None, page.around))
            self._around = page.around
        size = self._send((page.call, page.parts()))
        self._sizes.append(size)
        self._waiting += size

    def take(self) -> Any:
        """Return what the call of the oldest page gave, when it has come.

        Raises:
            BlogExporterError: the process failed.
        """
        answer = self._answers.get()
        self._waiting -= self._sizes.popleft()
        if isinstance(answer, Exception):
            raise self._failed() from answer
        return answer

    def close(self) -> None:
        """End the process, whatever it is doing."""
        self._process.kill()
        self._process.wait()
        self._reader.join()
        for stream in (self._into, self._out, self._complaints):
            with contextlib.suppress(OSError):
                stream.close()

    def _send(self, message: tuple[Any, Any]) -> int:
        """Send something, and return its size in bytes."""
        data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
        try:
            self._into.write(data)
            self._into.flush()
        except OSError as error:
            raise self._failed() from error
        return len(data)

    def _read(self) -> None:
        try:
            while True:
                self._answers.put(pickle.load(self._out))  # noqa: S301  from the process that this one started
        except Exception as error:  # noqa: BLE001  whoever takes the next answer is told
            self._answers.put(error)

    def _failed(self) -> BlogExporterError:
        code = self._process.wait()
        self._complaints.seek(0)
        lines = self._complaints.read().decode("utf-8", "replace").strip().splitlines()
        reason = lines[-1][:200] if lines else message("it ended with {code}", code=code)
        return BlogExporterError(
            message("The process that renders pages beside this one failed: {reason}; run again.", reason=reason)
        )


def serve(source: BinaryIO, sink: BinaryIO) -> None:
    """Render what comes until it ends."""
    around: Any = None
    while True:
        try:
            call, parts = pickle.load(source)  # noqa: S301  from the process that started this one
        except EOFError:
            return
        if call is None:
            around = parts
        else:
            pickle.dump(call(around, *parts), sink, pickle.HIGHEST_PROTOCOL)
            sink.flush()


if __name__ == "__main__":
    serve(sys.stdin.buffer, sys.stdout.buffer)
