"""Starts the real command many times in separate processes, without repeating the imports.

Run as ``python -m tests.support.zygote``. Each line of standard input asks for one run; see
:class:`tests.support.runs.Runs`.
On request the forked process kills itself with SIGKILL right before its n-th call that changes the file system. So
tests reach every instant of a commit without a hook in the program.
"""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import resource
import signal
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import exporter
from exporter.cli.main import main
from exporter.clock import SystemClock
from tests.support.disks import without_waiting
from tests.support.trace import Trace

CALLS = ("fsync", "rename", "replace", "link", "unlink", "mkdir", "rmdir", "truncate", "ftruncate")
"""The functions of :mod:`os` whose calls are counted, together with ``open`` for writing."""


class Countdown:
    """Counts calls, and kills the process before the chosen one."""

    def __init__(self, kill_at: int | None) -> None:
        self.calls = 0
        self._kill_at = kill_at
        for name in CALLS:
            setattr(os, name, self._counted(getattr(os, name)))
        os.open = self._counted_open(os.open)

    def step(self) -> None:
        self.calls += 1
        if self.calls == self._kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    def _counted(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any, **options: Any) -> Any:
            self.step()
            return call(*args, **options)

        return counted

    def _counted_open(self, call: Callable[..., int]) -> Callable[..., int]:
        def counted(path: Any, flags: int, *args: Any, **options: Any) -> int:
            if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
                self.step()
            return call(path, flags, *args, **options)

        return counted


def child(order: dict[str, Any]) -> None:
    """Run the command in the forked process."""
    for number, name in ((1, "stdout"), (2, "stderr")):
        handle = os.open(order[name], os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
        os.dup2(handle, number)
        os.close(handle)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.environ.update(order["environ"])
    os.chdir(order["folder"])
    if order["now"] is not None:
        moment = datetime.fromisoformat(order["now"])
        SystemClock.now = lambda _: moment  # type: ignore[method-assign, assignment]
    if order["file_size"] is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (order["file_size"], order["file_size"]))
    if not order["durable"]:
        os.fsync = without_waiting  # type: ignore[assignment]  # only descriptors are given
    trace = Trace() if order["trace"] is not None else None
    countdown = Countdown(order["kill_at"])
    code = 70
    try:
        code = main(order["arguments"])
        sys.stdout.flush()
        sys.stderr.flush()
        calls = countdown.calls
        if trace is not None:
            trace.save(order["trace"])
        Path(order["calls"]).write_text(str(calls), encoding="ascii")
    finally:
        os._exit(code)


def tell(number: int) -> None:
    """Send a line to the parent process."""
    sys.stdout.write(f"{number}\n")
    sys.stdout.flush()


def serve() -> None:
    """Fork for each order, and send the process id, then the result: the exit code, or minus the signal."""
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            child(json.loads(line))
        tell(pid)
        _, status = os.waitpid(pid, 0)
        tell(os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    for module in pkgutil.walk_packages(exporter.__path__, "exporter."):
        if module.name != "exporter.__main__":
            importlib.import_module(module.name)
    serve()
