"""Timers of the user's own systemd: two files for each archive, and ``systemctl --user``."""

from __future__ import annotations

import contextlib
import getpass
import os
import re
from pathlib import Path
from typing import Final

from exporter.archive.atomic import translated, write_file
from exporter.errors import UsageError
from exporter.message import message
from exporter.schedule.formats import MADE, systemd_service, systemd_timer
from exporter.schedule.plan import NightPlan
from exporter.schedule.scheduler import Scheduled, Scheduler, ask, failed

_LINGERING: Final = Path("/var/lib/systemd/linger")
_STARTS: Final = re.compile(r"^ExecStart=:?(.*)$", re.MULTILINE)


class Systemd(Scheduler):
    """systemd, as far as it belongs to the user."""

    name = "systemd"

    def is_there(self) -> bool:
        """Tell whether a systemd of this user is running."""
        done = ask("systemctl", "--user", "show", "--property=Version")
        return done is not None and done.returncode == 0

    def is_running(self) -> bool:
        """Tell whether a systemd of this user is running, as :meth:`is_there` does."""
        return self.is_there()

    def how_to_start(self) -> str:
        """Say what starts the user's systemd."""
        return message("sign in to a desktop or by ssh, or have it run at all times: loginctl enable-linger")

    def install(self, plan: NightPlan) -> None:
        """Write both units and start the timer.

        Raises:
            UsageError: systemd refused, or a file of that name is not ours; then no unit is left behind.
        """
        units = {".service": systemd_service(plan), ".timer": systemd_timer(plan)}
        for suffix in units:
            _check_ours(_unit(plan.name, suffix))
        for suffix, text in units.items():
            path = _unit(plan.name, suffix)
            with translated(path):
                path.parent.mkdir(parents=True, exist_ok=True)
                write_file(path, text.encode("utf-8"))
        for words in (("daemon-reload",), ("enable", f"{plan.name}.timer"), ("restart", f"{plan.name}.timer")):
            done = ask("systemctl", "--user", *words)
            if done is None or done.returncode != 0:
                self.remove(plan.name)
                raise failed("systemctl", done)

    def remove(self, name: str) -> bool:
        """Stop the timer and remove both units; a backup under way is left to end.

        Raises:
            UsageError: a file of that name is not ours.
        """
        paths = [path for suffix in (".timer", ".service") if (path := _unit(name, suffix)).exists()]
        for path in paths:
            _check_ours(path)
        if not paths:
            return False
        ask("systemctl", "--user", "disable", "--now", f"{name}.timer")
        for path in paths:
            with translated(path):
                path.unlink()
        ask("systemctl", "--user", "daemon-reload")
        ask("systemctl", "--user", "reset-failed", f"{name}.service")
        return True

    def find(self, name: str) -> Scheduled | None:
        """Return what systemd knows of the timer of that name."""
        path = _unit(name, ".service")
        if not path.exists() or not _unit(name, ".timer").exists():
            return None
        starts = _STARTS.search(path.read_text("utf-8", "replace"))
        done = ask("systemctl", "--user", "show", f"{name}.timer", "--property=NextElapseUSecRealtime", "--value")
        next_run = done.stdout.decode("utf-8", "replace").strip() if done is not None else ""
        return Scheduled(self.name, "" if starts is None else starts[1], next_run)


def runs_only_while_signed_in() -> bool:
    """Tell whether the user's systemd ends when the user signs out."""
    with contextlib.suppress(OSError, KeyError):
        return not (_LINGERING / getpass.getuser()).exists()
    return True


def _unit(name: str, suffix: str) -> Path:
    home = os.environ.get("XDG_CONFIG_HOME") or ""
    base = Path(home) if Path(home).is_absolute() else Path.home() / ".config"
    return base / "systemd" / "user" / f"{name}{suffix}"


def _check_ours(path: Path) -> None:
    with translated(path):
        if path.exists() and MADE not in path.read_text("utf-8", "replace"):
            raise UsageError(message("{path} is not ours, so it was left alone: rename or remove it.", path=path))
