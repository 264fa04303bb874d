"""SIGINT and SIGTERM: the first ends the run with its checkpoint saved, a second one ends it at once.

The process may end safely at any moment. So it never waits longer than two seconds for a blocked call, such as a name
lookup.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final, TypeVar

from exporter.cli import events
from exporter.errors import Interrupted, Terminated
from exporter.message import PROGRAM, filled, message, message_template

T = TypeVar("T")

_PATIENCE_SECONDS = 1.7
_KEPT: Final = message("what was read is kept; run the same command again to resume")
_ERRORS: Final = {
    signal.SIGINT: (Interrupted, message_template("Interrupted; {kept}.")),
    signal.SIGTERM: (Terminated, message_template("Terminated; {kept}.")),
}


class Signals:
    """The handler of both signals inside :func:`catch_signals`; ``kept`` returns the end of their messages."""

    def __init__(self, kept: Callable[[], str]) -> None:
        self._kept = kept
        self._error: Interrupted | None = None
        self._stop: Callable[[Interrupted], None] | None = None
        self._passed_on = False
        self._signalled = threading.Event()
        self._over = threading.Event()
        self._watchdog: threading.Thread | None = None

    @contextmanager
    def passed_to(self, stop: Callable[[Interrupted], None]) -> Iterator[None]:
        """Call ``stop`` in the running event loop instead of raising an error at the current line."""
        import asyncio

        loop = asyncio.get_running_loop()

        def pass_on(error: Interrupted) -> None:
            loop.call_soon_threadsafe(stop, error)

        self._stop = pass_on
        try:
            if self._error is not None:
                stop(self._error)
            yield
        finally:
            self._stop = None

    async def cancelling(self, work: Coroutine[Any, Any, T]) -> T:
        """Run work in the running event loop until it ends or a signal cancels it.

        Raises:
            Interrupted: a signal cancelled the work.
        """
        import asyncio

        task, ended = asyncio.ensure_future(work), list[Interrupted]()

        def stop(error: Interrupted) -> None:
            ended.append(error)
            task.cancel()

        with self.passed_to(stop):
            try:
                return await task
            except asyncio.CancelledError:
                raise ended[0] if ended else Interrupted(message("Cancelled.")) from None

    def handle(self, number: int, _frame: FrameType | None) -> None:
        """Handle a signal, in the main thread.

        Raises:
            Interrupted: no event loop is running to receive it.
        """
        kind, template = _ERRORS[signal.Signals(number)]
        if self._error is not None:
            os._exit(kind.exit_code)
        self._error = error = kind(filled(template, kept=self._kept()))
        self._signalled.set()
        if self._stop is None:
            raise error
        self._passed_on = True
        self._stop(error)

    def start_watchdog(self) -> None:
        """Start the thread that ends a blocked process after a signal.

        It starts before any signal: a thread started by the handler could wait for a lock of the interrupted code.
        """
        self._watchdog = threading.Thread(target=self._end_late, name="signal watchdog", daemon=True)
        self._watchdog.start()

    def _end_late(self) -> None:
        self._signalled.wait()
        if not self._over.wait(_PATIENCE_SECONDS) and self._error is not None:
            # Not through sys.stderr, whose lock the interrupted code may hold.
            with contextlib.suppress(OSError):
                os.write(2, self._last_words(self._error))
            os._exit(self._error.exit_code)

    def _last_words(self, error: Interrupted) -> bytes:
        if events.wanted():
            return events.line("error", type=type(error).__name__, text=str(error), exit_code=error.exit_code)
        return f"{PROGRAM}: error: {error}\n".encode()

    def raise_if_signalled(self) -> None:
        """Raise the error of a signal that was lost.

        Native code that calls back into Python, such as the sanitiser, cannot pass on an exception.

        Raises:
            Interrupted: a signal came.
        """
        if self._error is not None and not self._passed_on:
            raise self._error

    def end(self) -> None:
        """Stop the watchdog."""
        self._over.set()
        self._signalled.set()
        if self._watchdog is not None:
            # Without this join, Python stops the thread at exit, which aborts if memory has run out.
            self._watchdog.join()


@contextmanager
def catch_signals(kept: Callable[[], str] = lambda: _KEPT) -> Iterator[Signals]:
    """Catch both signals; other threads than the main one receive none.

    Args:
        kept: returns the end of their messages when one arrives.
    """
    signals = Signals(kept)
    if threading.current_thread() is not threading.main_thread():
        yield signals
        return
    signals.start_watchdog()
    hook = sys.unraisablehook
    sys.unraisablehook = lambda lost: None if isinstance(lost.exc_value, Interrupted) else hook(lost)
    before = {number: signal.signal(number, signals.handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield signals
        signals.raise_if_signalled()
    finally:
        sys.unraisablehook = hook
        for number, handler in before.items():
            signal.signal(number, handler)
        signals.end()


@contextmanager
def ended_by_sigterm(kept: str) -> Iterator[None]:
    """Let SIGTERM raise an exception, as Ctrl-C does; ``kept`` is the end of its message."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(_number: int, _frame: FrameType | None) -> None:
        raise Terminated("Terminated; {kept}.", kept=kept)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def ended_at_a_question() -> Iterator[None]:
    """Let both signals end a question by an exception, so that the terminal echoes again.

    In an event loop, Ctrl-C would only cancel the task, which cannot be cancelled while it asks.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with ended_by_sigterm(message("nothing was written")):
            yield
    finally:
        signal.signal(signal.SIGINT, before)
