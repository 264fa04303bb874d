"""Schedules as tasks of Windows' Task Scheduler."""

from __future__ import annotations

import codecs
import re
import tempfile
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Final

from exporter.errors import UsageError
from exporter.message import message
from exporter.schedule import programs
from exporter.schedule.formats import MADE, TASKS, windows_task
from exporter.schedule.plan import NightPlan
from exporter.schedule.programs import Scheduled, failure

_TIME: Final = re.compile(r"T([0-9]{2}):([0-9]{2})")
_LOST: Final = "?\ufffd"
"""Shown by ``schtasks`` for a character that the console's encoding lacks; no path of Windows has them."""


class TaskScheduler:
    """Task Scheduler, through the program ``schtasks``. The name of a task is that of its plan."""

    name = "schtasks"

    def is_usable(self) -> bool:
        """Return whether this is Windows, with its program."""
        return programs.PLATFORM == "win32" and programs.succeeds("schtasks", "/?")

    def is_running(self, name: str) -> bool | None:
        """Return whether the task is enabled."""
        task = _task(name)
        return task is not None and _text(task, "Settings", "Enabled") != "false"

    def how_to_start(self, name: str) -> str:
        """Return the command that enables the task."""
        return f"schtasks /Change /TN {name} /ENABLE"

    def condition(self) -> str:
        """Return the condition of a task without a stored password."""
        return message("It runs only while you are signed in.")

    def how_to_get(self) -> str:
        """Return where Task Scheduler exists."""
        return message("Task Scheduler and its program schtasks exist only on Windows.")

    def where(self, name: str) -> str:
        """Return the command that shows the task."""
        return f"schtasks /Query /TN {name}"

    def install(self, plan: NightPlan) -> None:
        """Create the task, replacing an earlier one.

        Raises:
            UsageError: Task Scheduler refused, or a task of the same name is not ours.
        """
        _require_ours(plan.name)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "task.xml")
            file.write_bytes(windows_task(plan).encode("utf-16"))
            done = programs.run("schtasks", "/Create", "/TN", plan.name, "/XML", str(file), "/F")
        if done is None or done.returncode != 0:
            raise failure("schtasks", done)

    def remove(self, name: str) -> bool:
        """Delete the task.

        Raises:
            UsageError: Task Scheduler refused, or the task is not ours.
        """
        if not _require_ours(name):
            return False
        done = programs.run("schtasks", "/Delete", "/TN", name, "/F")
        if done is None or done.returncode != 0:
            raise failure("schtasks", done)
        return True

    def find(self, name: str) -> Scheduled | None:
        """Return the task with a name.

        Raises:
            UsageError: the task was edited.
        """
        task = _task(name)
        if task is None:
            return None
        program = _text(task, "Actions", "Exec", "Command")
        arguments = _text(task, "Actions", "Exec", "Arguments")
        at = _TIME.search(_text(task, "Triggers", "CalendarTrigger", "StartBoundary"))
        if not program or at is None:
            raise UsageError(
                "The task {name} was changed, and starts no backup every night: delete it in Task Scheduler.", name=name
            )
        line = f"{program} {arguments}"
        words = () if set(_LOST) & set(line) else (program, *words_of(arguments))
        return Scheduled(self.name, name, line, words, programs.next_start(int(at[1]), int(at[2])))


def words_of(line: str) -> list[str]:
    """Split a command line by the rules of Microsoft's C runtime."""
    words: list[str] = []
    word, quoted, begun = "", False, False
    for slashes, each in re.findall(r"(\\*)(.|$)", line, re.DOTALL):
        if each == '"':
            word += slashes[: len(slashes) // 2]
            begun = True
            if len(slashes) % 2:
                word += each
            else:
                quoted = not quoted
            continue
        word += slashes
        begun = begun or bool(slashes)
        if each and (quoted or each not in " \t"):
            word, begun = word + each, True
        elif begun:
            words.append(word)
            word, begun = "", False
    return words


def _task(name: str) -> ET.Element | None:
    """Return the task with a name; ``None`` if Task Scheduler has none."""
    if programs.PLATFORM != "win32":
        return None
    done = programs.run("schtasks", "/Query", "/TN", name, "/XML")
    if done is None or done.returncode != 0:
        return None
    try:
        return ET.fromstring(_decoded(done.stdout))  # noqa: S314 - from the system, and only we and the user write it
    except ET.ParseError:
        raise UsageError("Cannot read the task {name}, which schtasks shows.", name=name) from None


def _decoded(answer: bytes) -> str:
    """Return an answer as text. Its XML says UTF-16, but into a pipe the program writes the console's encoding."""
    if answer.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return answer.decode("utf-16", "replace").strip()
    try:
        return answer.decode("oem", "replace").strip()
    except LookupError:  # only Windows knows this encoding
        return answer.decode("utf-8", "replace").strip()


def _text(task: ET.Element, *path: str) -> str:
    return task.findtext("/".join(f"{{{TASKS}}}{each}" for each in path)) or ""


def _require_ours(name: str) -> bool:
    """Return whether a task exists, and refuse one that this program did not create."""
    task = _task(name)
    if task is not None and MADE not in _text(task, "RegistrationInfo", "Description"):
        raise UsageError("The task {name} is not ours, so it was left alone: rename or delete it.", name=name)
    return task is not None
