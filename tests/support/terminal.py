"""A real terminal that runs the program: tests wait for its output and answer it as people do."""

from __future__ import annotations

import os
import pty
import select
import signal
import time
from collections.abc import Sequence
from pathlib import Path

from tests.support.runs import Runs

PATIENCE_SECONDS = 300
_AGAIN_SECONDS = 2.0


class Terminal:
    """The program on a pseudo-terminal.

    Args:
        runs: starts it.
        arguments: arguments of the program.
        cwd: its working directory.
        environment: variables in addition to those of this process.
        name: the path of the program, if it starts as the installed one.
        rehearsed: a folder that keeps its content, as in :meth:`tests.support.runs.Runs.start`.
    """

    def __init__(
        self,
        runs: Runs,
        arguments: Sequence[object],
        cwd: Path,
        environment: dict[str, str],
        name: str | None = None,
        rehearsed: Path | None = None,
    ) -> None:
        self._here, there = pty.openpty()
        self.shown = ""
        self._seen = 0
        self._data = b""
        try:
            self._run = runs.start(
                *arguments, environ={**os.environ, **environment}, folder=cwd, name=name,
                terminal=True, rehearsed=rehearsed, stdin=there, stdout=there, stderr=there,
            )  # fmt: skip
        finally:
            os.close(there)

    def answer(self, question: str, reply: str) -> None:
        """Wait for a question after the last answer, and type the reply."""
        self._wait(question)
        os.write(self._here, f"{reply}\r".encode())

    def interrupt(self, question: str) -> None:
        """Wait for a question and press Ctrl-C; press again if the program was not reading yet, as people do."""
        self._wait(question)
        until = time.monotonic() + PATIENCE_SECONDS
        while not self._run.is_over and time.monotonic() < until:
            os.write(self._here, b"\x03")
            again = time.monotonic() + _AGAIN_SECONDS
            while time.monotonic() < again and not self._run.is_over:
                self._read(time.monotonic() + 0.05, patient=True)

    def _wait(self, question: str) -> None:
        until = time.monotonic() + PATIENCE_SECONDS
        while question not in self.shown[self._seen :]:
            assert self._read(until), f"{question!r} did not appear:\n{self.shown[self._seen :]}"
        self._seen = len(self.shown)

    def end(self) -> int:
        """Read to the end and return the exit code."""
        until = time.monotonic() + PATIENCE_SECONDS
        while self._read(until):
            pass
        os.close(self._here)
        return self._run.wait(PATIENCE_SECONDS).code

    def _read(self, until: float, *, patient: bool = False) -> bool:
        waiting = select.poll()
        waiting.register(self._here, select.POLLIN)
        if not waiting.poll(max(0.0, until - time.monotonic()) * 1000):
            if not patient:
                self._run.signal(signal.SIGKILL)
            return False
        try:
            data = os.read(self._here, 65536)
        except OSError:
            return False  # Linux raises this after the other end is closed
        self._data += data
        self.shown = self._data.decode("utf-8", "ignore").replace("\r\n", "\n")
        return bool(data)
