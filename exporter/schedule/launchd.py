"""Schedules as the user's launchd agents, on macOS."""

from __future__ import annotations

import os
import plistlib
import shlex
import time
from pathlib import Path
from typing import Any, Final
from xml.parsers.expat import ExpatError

from exporter.archive.atomic import translated, write_file
from exporter.errors import UsageError
from exporter.message import message
from exporter.schedule import programs
from exporter.schedule.formats import launchd_plist
from exporter.schedule.plan import NightPlan
from exporter.schedule.programs import Scheduled, failure, require_ours

_LOOKS: Final = 50
_PAUSE_SECONDS: Final = 0.2


class Launchd:
    """launchd, through ``launchctl`` and a file in ``~/Library/LaunchAgents``."""

    name = "launchd"

    def is_usable(self) -> bool:
        """Return whether launchd has a session for this user: it has one while the user is signed in to the desktop."""
        return programs.PLATFORM == "darwin" and programs.succeeds("launchctl", "print", _session())

    def is_running(self, name: str) -> bool | None:
        """Return whether launchd has loaded the agent."""
        return programs.succeeds("launchctl", "print", f"{_session()}/{name}")

    def how_to_start(self, name: str) -> str:
        """Return the command that loads the agent."""
        return f"launchctl bootstrap {_session()} {shlex.quote(str(agent_path(name)))}"

    def condition(self) -> str:
        """Return the condition of a user agent."""
        return message("It runs only while you are signed in to the desktop.")

    def how_to_get(self) -> str:
        """Return when launchd can be used."""
        return message("launchd starts backups only on macOS, while you are signed in to the desktop.")

    def where(self, name: str) -> str:
        """Return the path of the agent."""
        return str(agent_path(name))

    def install(self, plan: NightPlan) -> None:
        """Write the agent and load it. If launchd refuses it, the file is removed.

        Raises:
            UsageError: launchd refused, or an agent of the same name is not ours.
        """
        path = agent_path(plan.name)
        require_ours(path)
        with translated(path):
            for folder in (path.parent, log_path(plan.name).parent):
                folder.mkdir(parents=True, exist_ok=True)
            write_file(path, launchd_plist(plan, str(log_path(plan.name))).encode("utf-8"))
        self._unload(plan.name)
        # A person may have disabled an earlier agent of this name; launchd would refuse to load it.
        programs.run("launchctl", "enable", f"{_session()}/{plan.name}")
        done = programs.run("launchctl", "bootstrap", _session(), str(path))
        if done is None or done.returncode != 0:
            self.remove(plan.name)
            raise failure("launchctl", done)

    def remove(self, name: str) -> bool:
        """Unload the agent and remove its file.

        Raises:
            UsageError: the file is not ours.
        """
        path = agent_path(name)
        if not _exists(path):
            return False
        require_ours(path)
        self._unload(name)
        with translated(path):
            path.unlink()
        return True

    def find(self, name: str) -> Scheduled | None:
        """Return the agent with a name.

        Raises:
            UsageError: its file was edited.
        """
        path = agent_path(name)
        if not _exists(path):
            return None
        with translated(path):
            data = path.read_bytes()
        try:
            agent: dict[str, Any] = plistlib.loads(data)
            words = tuple(map(str, agent["ProgramArguments"]))
            when = agent["StartCalendarInterval"]
            due = programs.next_start(int(when["Hour"]), int(when["Minute"]))
        except (plistlib.InvalidFileException, ExpatError, KeyError, TypeError, ValueError):
            raise UsageError(
                "{path} was changed, and cannot be read. Remove it: {command}",
                path=path,
                command=f"rm {shlex.quote(str(path))}",
            ) from None
        return Scheduled(self.name, name, shlex.join(words), words, due)

    def _unload(self, name: str) -> None:
        """Unload an agent, and wait until launchd has done it: before that it refuses a new one of the same name."""
        if self.is_running(name):
            programs.run("launchctl", "bootout", f"{_session()}/{name}")
            for _ in range(_LOOKS):
                if not self.is_running(name):
                    return
                time.sleep(_PAUSE_SECONDS)


def agent_path(name: str) -> Path:
    """Return an agent's path; its label is its name."""
    return Path.home() / "Library" / "LaunchAgents" / f"{name}.plist"


def _exists(path: Path) -> bool:
    """Return whether an agent exists. Nobody looks elsewhere than on macOS: the home folder may not be readable."""
    if programs.PLATFORM != "darwin":
        return False
    with translated(path):
        return path.exists()


def log_path(name: str) -> Path:
    """Return the file for the output of an agent."""
    return Path.home() / "Library" / "Logs" / f"{name}.log"


def _session() -> str:
    return f"gui/{os.getuid()}"
