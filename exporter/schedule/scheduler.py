"""What a scheduler of this machine can be asked for, and how its own program is called."""

from __future__ import annotations

import os
import subprocess
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Final

from exporter.errors import UsageError
from exporter.message import message
from exporter.schedule.plan import NightPlan
from exporter.text import printable

_PATIENCE_SECONDS: Final = 60


@dataclass(frozen=True, slots=True)
class Scheduled:
    """What a scheduler knows of a plan.

    Attributes:
        scheduler: its name.
        command: what it starts, as it is written there.
        next: when it starts it next, in local time; empty where it does not.
    """

    scheduler: str
    command: str
    next: str


class Scheduler(ABC):
    """Something on this machine that starts programs at night."""

    name: ClassVar[str]

    @abstractmethod
    def is_there(self) -> bool:
        """Tell whether it can be used here, by this user."""

    @abstractmethod
    def is_running(self) -> bool | None:
        """Tell whether it would start anything now; ``None`` if that cannot be found out."""

    @abstractmethod
    def how_to_start(self) -> str:
        """Say what starts it."""

    @abstractmethod
    def install(self, plan: NightPlan, /) -> None:
        """Have it do a plan from now on, in place of an earlier one for the same archive, or raise a UsageError."""

    @abstractmethod
    def remove(self, name: str, /) -> bool:
        """Forget the plan of that name; tell whether there was one, or raise a UsageError."""

    @abstractmethod
    def find(self, name: str, /) -> Scheduled | None:
        """Return what it knows of the plan of that name, or raise a UsageError."""


def ask(*words: str, said: bytes | None = None) -> subprocess.CompletedProcess[bytes] | None:
    """Run a program of the system in English, with ``said`` as its input.

    Returns:
        how it ended; ``None`` where there is no such program, or no end of it.
    """
    environ = {**os.environ, "LC_ALL": "C"}
    try:
        return subprocess.run(  # noqa: S603 - programs of the system, with words of our own
            words, input=said, capture_output=True, timeout=_PATIENCE_SECONDS, check=False, env=environ
        )
    except (OSError, subprocess.TimeoutExpired):
        return None


def failed(program: str, done: subprocess.CompletedProcess[bytes] | None) -> UsageError:
    """Return the error that says what a program of the system said."""
    if done is None:
        return UsageError(message("{program} cannot be run on this machine.", program=program))
    said = printable(" ".join(done.stderr.decode("utf-8", "replace").split()), 300)
    return UsageError(
        message("{program} refused, and nothing was scheduled: {said}", program=program, said=said or done.returncode)
    )
