"""SIGINT and SIGTERM: the first ends the run with its checkpoint saved, a second one ends it at once.

Every instant is a safe one to die at, so the process never waits longer than two seconds for what will not end by
itself, such as a name lookup that hangs.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import click

from exporter.cli.output import PROGRAM
from exporter.errors import Interrupted, Terminated

_PATIENCE_SECONDS = 1.7
_KEPT = "what was read is kept, the same command goes on from there"


class Signals:
    """What the two signals do, for as long as :func:`caught` lasts."""

    def __init__(self) -> None:
        self._errors = {
            signal.SIGINT: Interrupted(f"Interrupted; {_KEPT}."),
            signal.SIGTERM: Terminated(f"Terminated; {_KEPT}."),
        }
        self._seen: Interrupted | None = None
        self._stop: Callable[[Interrupted], None] | None = None
        self._last_resort: threading.Timer | None = None

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
        self._last_resort = threading.Timer(_PATIENCE_SECONDS, _end_now, (error,))
        self._last_resort.daemon = True
        self._last_resort.start()
        if self._stop is None:
            raise error
        self._stop(error)

    def forget(self) -> None:
        """Call the last resort off."""
        if self._last_resort is not None:
            self._last_resort.cancel()


def _end_now(error: Interrupted) -> None:
    click.echo(f"{PROGRAM}: error: {error}", err=True)
    os._exit(error.exit_code)


@contextmanager
def caught() -> Iterator[Signals]:
    """Catch both signals; outside of the main thread, where Python has none, nothing is caught."""
    signals = Signals()
    if threading.current_thread() is not threading.main_thread():
        yield signals
        return
    before = {number: signal.signal(number, signals.handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield signals
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        signals.forget()
