"""The display of a command without events: one bar on a terminal. It imports nothing of a backup."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Self

from exporter.cli import events
from exporter.translation import translated

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress

    from exporter.cli.output import Output

LINE_SECONDS = 10.0


class LineTimer:
    """Tells when to print the next line of progress."""

    def __init__(self, seconds: float | None = None) -> None:
        self._seconds = LINE_SECONDS if seconds is None else seconds
        self._next = time.monotonic() + self._seconds

    def is_due(self) -> bool:
        """Return whether its seconds, ten by default, have passed since the last time that this was true."""
        due = time.monotonic() >= self._next
        if due:
            self._next = time.monotonic() + self._seconds
        return due


def has_terminal(out: Output) -> bool:
    """Return whether there is a terminal that shows bars."""
    return out.verbosity >= 0 and sys.stderr.isatty() and not events.wanted()


class ProgressBar:
    """One bar for a command without events; nothing without a terminal, unless a program asks for events."""

    def __init__(self, out: Output, name: str) -> None:
        self.out = out
        self.timer = LineTimer()
        self._name = name
        self._pace = events.Pace() if events.wanted() else None
        self._bars: RichProgress | None = None
        if has_terminal(out):
            from rich.console import Console
            from rich.progress import Progress

            self._bars = Progress(console=Console(stderr=True, highlight=False, markup=False), transient=True)
            self._task = self._bars.add_task(translated(name), total=None)

    @property
    def is_visible(self) -> bool:
        """Whether there is a terminal that shows it."""
        return self._bars is not None

    def update(self, done: int, total: int) -> None:
        """Show that ``done`` of ``total`` items are done."""
        if self._bars is not None:
            self._bars.update(self._task, completed=done, total=total)
        elif self._pace is not None and self._pace.is_due(ended=done == total):
            row = {"name": translated(self._name), "done": done, "total": total}
            events.tell("progress", rows=[row], seconds_left=self._pace.seconds_left(done, total))

    def __enter__(self) -> Self:
        if self._bars is not None:
            self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bars is not None:
            self._bars.stop()
