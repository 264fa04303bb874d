"""A fork server: it starts the real command many times in separate processes, without repeating the imports.

Run as ``python -m tests.support.zygote SOCKET``, with the descriptor of a Unix socket. Each message on it asks for one
run, and brings the run's standard input, output and error, and a pipe for the process id and the result; see
:class:`tests.support.runs.Runs`. Runs may overlap.
On request the forked process sends itself SIGKILL, or another signal, right before its n-th call that changes the file
system. So tests reach every instant of a commit without a hook in the program.
"""

from __future__ import annotations

import fcntl
import gc
import importlib
import inspect
import json
import os
import pkgutil
import resource
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import termios
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import coverage

import exporter
from exporter.cli import signals
from exporter.cli.main import main, run
from exporter.clock import SystemClock
from exporter.schedule import cron, programs
from exporter.worker import Worker
from tests.support import printed
from tests.support.disks import without_waiting
from tests.support.overlay import keep_unchanged
from tests.support.trace import Trace
from tests.support.workers import call_here

CALLS = ("fsync", "rename", "replace", "link", "unlink", "mkdir", "rmdir", "truncate", "ftruncate")
"""The functions of :mod:`os` whose calls are counted, together with ``open`` for writing."""

MOST_BYTES = 1 << 20
"""The size of the longest order, a message of JSON."""


def only_of_tests(
    run: Callable[..., subprocess.CompletedProcess[bytes] | None], path: str
) -> Callable[..., subprocess.CompletedProcess[bytes] | None]:
    """Let a run find the schedulers of a test, but not those of the person who runs the tests, which are in ``path``."""

    def run_of_test(*words: str, given: bytes | None = None) -> subprocess.CompletedProcess[bytes] | None:
        found, own = shutil.which(words[0]), shutil.which(words[0], path=path)
        if found is None or (own is not None and Path(found).samefile(own)):
            return None
        return run(*words, given=given)

    return run_of_test


class Countdown:
    """Counts calls, and sends the process a signal before the chosen one, or before the first one after an event."""

    def __init__(self, kill_at: int | None, kill_after: str | None, number: int) -> None:
        self.calls = 0
        self._kill_at = kill_at
        self._kill_after = kill_after
        self._number = number
        for name in CALLS:
            setattr(os, name, self._counted(getattr(os, name)))
        os.open = self._counted_open(os.open)

    def step(self) -> None:
        self.calls += 1
        if self.calls == self._kill_at or self._happened():
            os.kill(os.getpid(), self._number)

    def _happened(self) -> bool:
        try:
            return self._kill_after is not None and os.stat(self._kill_after).st_size > 0  # noqa: PTH116 - it is fast
        except FileNotFoundError:
            return False

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


def child(order: dict[str, Any], streams: Sequence[int]) -> None:
    """Run the command in the forked process."""
    for number, handle in enumerate(streams):
        os.dup2(handle, number)
        os.close(handle)
    if order["terminal"]:
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - they stay open until the process ends
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)  # noqa: SIM115
    for number in order["closed"]:
        os.close(number)
        # Python begins so without a stream.
        setattr(sys, ("stdin", "stdout", "stderr")[number], None)
    if order["frozen"]:
        sys.frozen = True  # type: ignore[attr-defined]  # as in the built program
    os.environ.update(order["environ"])
    for name in order["without"]:
        os.environ.pop(name, None)
    if order["rehearsed"] is not None:
        keep_unchanged(Path(order["rehearsed"]))
    time.tzset()
    tempfile.tempdir = None
    os.chdir(order["folder"])
    if order["now"] is not None:
        moment = datetime.fromisoformat(order["now"])
        SystemClock.now = lambda _: moment  # type: ignore[method-assign, assignment]
    # On a loaded machine a run may need long to end after a signal.
    signals._PATIENCE_SECONDS = 120.0
    if order["processes"] is not None:
        cron.PROC = Path(order["processes"])  # type: ignore[misc]  # final for all but the forks of tests
    programs.PLATFORM = order["platform"]  # type: ignore[misc]  # a test may choose that of its forks
    if order["file_size"] is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (order["file_size"], order["file_size"]))
    if not order["workers"]:
        Worker.submit = call_here  # type: ignore[method-assign, assignment]
    if not order["durable"]:
        os.fsync = without_waiting  # type: ignore[assignment]  # only descriptors are given
    measured = _measured(order)
    trace = Trace() if order["trace"] is not None else None
    countdown = Countdown(order["kill_at"], order["kill_after"], order["kill_with"])
    code = 70
    try:
        code = _result(order)
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
        calls = countdown.calls
        if order["printed"] is not None:
            Path(order["printed"]).write_text(json.dumps(printed.made()), encoding="utf-8")
        if trace is not None:
            trace.save(order["trace"])
        Path(order["calls"]).write_text(str(calls), encoding="ascii")
    except BaseException:  # noqa: BLE001 - the test sees it in the run's messages
        traceback.print_exc()
    finally:
        if measured is not None:
            # The command has ended: a signal that arrives now must not end the measuring.
            for late in (signal.SIGINT, signal.SIGTERM):
                signal.signal(late, signal.SIG_IGN)
            measured.stop()
            measured.save()
        os._exit(code)


def _measured(order: dict[str, Any]) -> coverage.Coverage | None:
    """Begin to measure coverage if the tests do. A run that is killed, traced or limited is not measured."""
    special = (order["kill_at"], order["kill_after"], order["trace"], order["file_size"])
    if not order["coverage"] or special != (None, None, None, None):
        return None
    measured = coverage.Coverage(config_file=f":data:{order['coverage']}")
    # With a source in place of patterns, each run would also look for all files that it did not use.
    measured.set_option("run:source", None)
    measured.set_option("run:include", [f"{exporter.__path__[0]}/*"])
    measured.start()
    # Now it has these changes, which are not for the processes that the run starts.
    os.environ["COVERAGE_PROCESS_CONFIG"] = order["coverage"]
    return measured


def _result(order: dict[str, Any]) -> int:
    """Return the exit code. A run with a name starts as the installed program does."""
    if order["name"] is None:
        return main(order["arguments"])
    sys.argv = [order["name"], *order["arguments"]]
    try:
        run()
    except SystemExit as end:
        return int(end.code or 0)


def serve(orders: socket.socket) -> None:
    """Fork for each order, and write the process id, then the result.

    It is the exit code, or minus the signal, and the seconds of CPU time.
    """
    results: dict[int, int] = {}
    ended, end = os.pipe()
    os.set_blocking(end, False)
    signal.set_wakeup_fd(end)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    while True:
        ready, _, _ = select.select([orders.fileno(), ended], [], [])
        if ended in ready:
            os.read(ended, 4096)
            _report(results)
        if orders.fileno() not in ready:
            continue
        message, handles, _, _ = socket.recv_fds(orders, MOST_BYTES, 4)
        if not message:
            return
        pid = os.fork()
        if pid == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            # A run that outlives its test must not keep the socket or the result of another one open.
            for handle in (orders.fileno(), ended, end, handles[3], *results.values()):
                os.close(handle)
            child(json.loads(message), handles[:3])
        for handle in handles[:3]:
            os.close(handle)
        os.write(handles[3], f"{pid}\n".encode())
        results[pid] = handles[3]
        _report(results)


def _report(results: dict[int, int]) -> None:
    """Write the results of ended runs."""
    for pid, pipe in list(results.items()):
        found, status, used = os.wait4(pid, os.WNOHANG)
        if found:
            with suppress(BrokenPipeError):
                os.write(pipe, f"{os.waitstatus_to_exitcode(status)} {used.ru_utime + used.ru_stime}\n".encode())
            os.close(pipe)
            del results[pid]


if __name__ == "__main__":
    for module in pkgutil.walk_packages(exporter.__path__, "exporter."):
        if module.name != "exporter.__main__":
            importlib.import_module(module.name)
    printed.record()
    programs.run = only_of_tests(programs.run, os.environ["PATH"])
    # Coverage asks for the stack in each run, and Python first resolves the path of every module for it.
    inspect.stack()
    gc.freeze()
    with socket.socket(fileno=int(sys.argv[1])) as given:
        serve(given)
