"""The programs of schedulers on this machine, and the facts that a scheduler reports."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from datetime import datetime, time
from pathlib import Path
from typing import Final, Protocol

from exporter.archive.atomic import translated
from exporter.errors import UsageError
from exporter.schedule.formats import MADE
from exporter.schedule.plan import NightPlan, next_time
from exporter.text import printable

PLATFORM: Final = sys.platform
"""``darwin`` has launchd, ``win32`` Task Scheduler."""
_TIMEOUT_SECONDS: Final = 60
_NO_WINDOW: Final = getattr(subprocess, "CREATE_NO_WINDOW", 0)
"""Without it, Windows would show a console at each call from the window's server."""


@dataclass(frozen=True, slots=True)
class Scheduled:
    """An installed schedule.

    Attributes:
        scheduler: the name of the scheduler.
        name: the name of the schedule there.
        command: the command as the scheduler has it.
        words: the program and its arguments; empty if the command cannot be read.
        next: the local time of the next start; empty if unknown.
    """

    scheduler: str
    name: str
    command: str
    words: tuple[str, ...]
    next: str


class Scheduler(Protocol):
    """A program of this machine that starts backups. Each method that changes or reads a schedule raises UsageError."""

    name: str

    def is_usable(self) -> bool:
        """Return whether this user can install a schedule."""

    def is_running(self, name: str) -> bool | None:
        """Return whether the schedule of that name will start its command; ``None`` if this is unknown."""

    def how_to_start(self, name: str) -> str:
        """Return what to do if the schedule of that name does not start its command."""

    def condition(self) -> str:
        """Return the sentence about what a schedule needs to start its command; empty if nothing but the machine."""

    def how_to_get(self) -> str:
        """Return how this scheduler becomes usable."""

    def where(self, name: str) -> str:
        """Return where the schedule is, for people."""

    def install(self, plan: NightPlan) -> None:
        """Install a plan, replacing an earlier one of the same name."""

    def remove(self, name: str) -> bool:
        """Remove a schedule, and return whether it existed."""

    def find(self, name: str) -> Scheduled | None:
        """Return the schedule with a name."""


def run(*words: str, given: bytes | None = None) -> subprocess.CompletedProcess[bytes] | None:
    """Run a system program in English; return ``None`` if it does not exist, or does not end in time."""
    environ = {**os.environ, "LC_ALL": "C"}
    try:
        return subprocess.run(  # noqa: S603 - system programs with our arguments
            words, input=given, capture_output=True, timeout=_TIMEOUT_SECONDS, check=False, env=environ,
            creationflags=_NO_WINDOW,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None


def succeeds(*words: str) -> bool:
    """Return whether a system program exists and ends with 0."""
    done = run(*words)
    return done is not None and done.returncode == 0


def failure(program: str, done: subprocess.CompletedProcess[bytes] | None) -> UsageError:
    """Return the error for a program that did not do its part."""
    if done is None:
        return UsageError("Cannot run {program} on this machine.", program=program)
    return UsageError(
        "{program} refused, and nothing was scheduled: {said}", program=program, said=failure_reason(done)
    )


def failure_reason(done: subprocess.CompletedProcess[bytes]) -> str | int:
    """Return what a program that failed said, or its exit code if it said nothing."""
    return printable(" ".join(done.stderr.decode("utf-8", "replace").split()), 300) or done.returncode


def require_ours(path: Path) -> None:
    """Refuse a file that this program did not write.

    Raises:
        UsageError: it lacks our mark.
    """
    with translated(path):
        if path.exists() and MADE not in path.read_text("utf-8", "replace"):
            raise UsageError("{path} is not ours, so it was left alone: rename or remove it.", path=path)


def next_start(hour: int, minute: int) -> str:
    """Return the next local time with this time of day, as text."""
    return f"{next_time(time(hour, minute), datetime.now().astimezone()):%Y-%m-%d %H:%M}"
