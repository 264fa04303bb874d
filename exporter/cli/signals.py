"""SIGINT and SIGTERM: the first ends the run with its checkpoint saved, a second one ends it at once.

Every instant is a safe one to die at, so the process never waits longer than two seconds for what will not end by
itself, such as a name lookup that hangs.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from exporter.cli.output import PROGRAM
from exporter.errors import Interrupted, Terminated

_PATIENCE_SECONDS = 1.7
_KEPT = "what was read is kept; run the same command again to resume"


class Signals:
    """What the two signals do, for as long as :func:`caught` lasts."""

    def __init__(self) -> None:
        self._errors = {
            signal.SIGINT: Interrupted(f"Interrupted; {_KEPT}."),
            signal.SIGTERM: Terminated(f"Terminated; {_KEPT}."),
        }
        self._seen: Interrupted | None = None
        self._stop: Callable[[Interrupted], None] | None = None
        self._told = False
        self._asked = threading.Event()
        self._over = threading.Event()

    @contextmanager
    def handed_to(self, stop: Callable[[Interrupted], None]) -> Iterator[None]:
        """Call ``stop`` in the running event loop, in place of raising an error wherever the program happens to be."""
        loop = asyncio.get_running_loop()

        def pass_on(error: Interrupted) -> None:
            loop.call_soon_threadsafe(stop, error)

        self._stop = pass_on
        try:
            if self._seen is not None:
                stop(self._seen)
            yield
        finally:
            self._stop = None

    def handle(self, number: int, _frame: FrameType | None) -> None:
        """Take in a signal, in the main thread.

        Raises:
            Interrupted: the program is not in an event loop that could be told.
        """
        error = self._errors[signal.Signals(number)]
        if self._seen is not None:
            os._exit(error.exit_code)
        self._seen = error
        self._asked.set()
        if self._stop is None:
            raise error
        self._told = True
        self._stop(error)

    def watch(self) -> None:
        """Start to wait for a signal, and to end the process where nothing else does.

        Beforehand: a thread that a signal starts may wait for a lock that the interrupted code holds.
        """
        threading.Thread(target=self._last_resort, name="last resort", daemon=True).start()

    def _last_resort(self) -> None:
        self._asked.wait()
        if not self._over.wait(_PATIENCE_SECONDS) and self._seen is not None:
            # Not through sys.stderr, whose lock the interrupted code may hold.
            with contextlib.suppress(OSError):
                os.write(2, f"{PROGRAM}: error: {self._seen}\n".encode())
            os._exit(self._seen.exit_code)

    def require_none(self) -> None:
        """Raise the error of a signal that was lost where the program happened to be.

        Code that is no Python, such as the sanitiser's, calls Python back and cannot pass on what is raised there.

        Raises:
            Interrupted: a signal came.
        """
        if self._seen is not None and not self._told:
            raise self._seen

    def end(self) -> None:
        """Call the last resort off."""
        self._over.set()
        self._asked.set()


@contextmanager
def caught() -> Iterator[Signals]:
    """Catch both signals; outside of the main thread, where Python has none, nothing is caught."""
    signals = Signals()
    if threading.current_thread() is not threading.main_thread():
        yield signals
        return
    signals.watch()
    hook = sys.unraisablehook
    sys.unraisablehook = lambda lost: None if isinstance(lost.exc_value, Interrupted) else hook(lost)
    before = {number: signal.signal(number, signals.handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield signals
        signals.require_none()
    finally:
        sys.unraisablehook = hook
        for number, handler in before.items():
            signal.signal(number, handler)
        signals.end()


@contextmanager
def ended_by_sigterm(kept: str) -> Iterator[None]:
    """Let SIGTERM end the work as Ctrl-C does, by an exception; ``kept`` ends its message."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(_number: int, _frame: FrameType | None) -> None:
        raise Terminated(f"Terminated; {kept}.")

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
