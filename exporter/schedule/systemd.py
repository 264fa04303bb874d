"""Schedules as timers of the user's systemd."""

from __future__ import annotations

import contextlib
import getpass
import os
import re
import shlex
from pathlib import Path
from typing import Final

from exporter.archive.atomic import translated, write_file
from exporter.message import message
from exporter.schedule import programs
from exporter.schedule.formats import systemd_service, systemd_timer
from exporter.schedule.plan import NightPlan
from exporter.schedule.programs import Scheduled, failure, require_ours

_LINGER: Final = Path("/var/lib/systemd/linger")
_EXEC_START: Final = re.compile(r"^ExecStart=:?(.*)$", re.MULTILINE)


class Systemd:
    """The user's systemd: a service and a timer for each archive, and ``systemctl --user``."""

    name = "systemd"

    def is_usable(self) -> bool:
        """Return whether this user's systemd is running."""
        return programs.succeeds("systemctl", "--user", "show", "--property=Version")

    def is_running(self, name: str) -> bool | None:
        """Return whether the timer is started."""
        return programs.succeeds("systemctl", "--user", "is-active", "--quiet", f"{name}.timer")

    def how_to_start(self, name: str) -> str:
        """Return the steps that start the timer, or the user's systemd."""
        if self.is_usable():
            return f"systemctl --user enable --now {name}.timer"
        return message("sign in to a desktop or by ssh, or keep it running at all times: loginctl enable-linger")

    def condition(self) -> str:
        """Return the condition if the user's systemd ends when the user signs out."""
        if not runs_only_while_signed_in():
            return ""
        return message("It runs only while you are signed in. To run it at all times: loginctl enable-linger")

    def how_to_get(self) -> str:
        """Return what to use where no systemd runs."""
        return message("There is no systemd that runs for you on this machine: use --with cron.")

    def where(self, name: str) -> str:
        """Return the path of the timer."""
        return str(unit_path(name, ".timer"))

    def install(self, plan: NightPlan) -> None:
        """Write both units and start the timer. If systemd refuses them, both units are removed.

        Raises:
            UsageError: systemd refused, or a unit of the same name is not ours.
        """
        units = {".service": systemd_service(plan), ".timer": systemd_timer(plan)}
        for suffix in units:
            require_ours(unit_path(plan.name, suffix))
        for suffix, text in units.items():
            path = unit_path(plan.name, suffix)
            with translated(path):
                path.parent.mkdir(parents=True, exist_ok=True)
                write_file(path, text.encode("utf-8"))
        for words in (("daemon-reload",), ("enable", f"{plan.name}.timer"), ("restart", f"{plan.name}.timer")):
            done = programs.run("systemctl", "--user", *words)
            if done is None or done.returncode != 0:
                self.remove(plan.name)
                raise failure("systemctl", done)

    def remove(self, name: str) -> bool:
        """Stop the timer and remove both units; a running backup continues.

        Raises:
            UsageError: a unit of this name is not ours.
        """
        paths = [path for suffix in (".timer", ".service") if (path := unit_path(name, suffix)).exists()]
        for path in paths:
            require_ours(path)
        if not paths:
            return False
        programs.run("systemctl", "--user", "disable", "--now", f"{name}.timer")
        for path in paths:
            with translated(path):
                path.unlink()
        programs.run("systemctl", "--user", "daemon-reload")
        programs.run("systemctl", "--user", "reset-failed", f"{name}.service")
        return True

    def find(self, name: str) -> Scheduled | None:
        """Return the timer with a name."""
        path = unit_path(name, ".service")
        with translated(path):
            if not path.exists() or not unit_path(name, ".timer").exists():
                return None
            starts = _EXEC_START.search(path.read_text("utf-8", "replace"))
        done = programs.run(
            "systemctl", "--user", "show", f"{name}.timer", "--property=NextElapseUSecRealtime", "--value"
        )
        next_run = done.stdout.decode("utf-8", "replace").strip() if done is not None else ""
        command = "" if starts is None else starts[1]
        return Scheduled(self.name, name, command, _words(command), next_run)


def _words(command: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(command.replace("%%", "%")))
    except ValueError:
        return ()


def unit_path(name: str, suffix: str) -> Path:
    """Return the path of a unit of the user's systemd, such as with the suffix ``.timer``."""
    home = os.environ.get("XDG_CONFIG_HOME") or ""
    base = Path(home) if Path(home).is_absolute() else Path.home() / ".config"
    return base / "systemd" / "user" / f"{name}{suffix}"


def runs_only_while_signed_in() -> bool:
    """Return whether the user's systemd ends when the user signs out."""
    with contextlib.suppress(OSError, KeyError):
        return not (_LINGER / getpass.getuser()).exists()
    return True
