"""Write a command's messages and progress as JSON lines on standard error, for programs that show them.

The variable ``BLOG_EXPORTER_PROGRESS=json`` asks for it. docs/json.md lists the events.
"""

from __future__ import annotations

import os
import time
from typing import Any, Final

import click

VARIABLE: Final = "BLOG_EXPORTER_PROGRESS"
_EVENT_SECONDS: Final = 0.25


def wanted() -> bool:
    """Return whether standard error is for a program."""
    return os.environ.get(VARIABLE) == "json"


def tell(event: str, **facts: Any) -> None:
    """Print an event in UTF-8, in every locale; ``facts`` are its members."""
    click.echo(line(event, **facts), err=True, nl=False)


def line(event: str, **facts: Any) -> bytes:
    """Return the line of an event."""
    from exporter import lossless_json

    return lossless_json.dumps({"event": event, **facts}) + b"\n"


class Pace:
    """Tells when the next event about progress is due: four in a second are enough for eyes."""

    def __init__(self) -> None:
        self._next = 0.0
        self.began = time.monotonic()

    def is_due(self, *, ended: bool = False) -> bool:
        """Return whether a quarter of a second has passed since the last time that this was true, or work ended."""
        now = time.monotonic()
        due = ended or now >= self._next
        if due:
            self._next = now + _EVENT_SECONDS
        return due

    def seconds_left(self, done: int, total: int | None) -> float | None:
        """Return the expected time to the end; ``None`` while it cannot be known."""
        if not done or total is None or done > total:
            return None
        return round((time.monotonic() - self.began) / done * (total - done), 1)
