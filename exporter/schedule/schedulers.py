"""Install, find and remove schedules: in the user's crontab, or as timers of the user's systemd."""

from __future__ import annotations

import contextlib
import getpass
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, time
from pathlib import Path
from typing import Final

from exporter.archive.atomic import translated, write_file
from exporter.errors import UsageError
from exporter.message import message, suggested
from exporter.schedule.formats import MADE, cron_lines, systemd_service, systemd_timer
from exporter.schedule.plan import NightPlan, name_of, next_time
from exporter.text import printable

PROC: Final = Path("/proc")
_PRINTED: Final = {"darwin": ("macOS", "launchd"), "win32": ("Windows", "windows")}
"""Systems for which a schedule is printed and not installed, with their names and forms."""
_TIMEOUT_SECONDS: Final = 60
_CRON_PROCESSES: Final = frozenset({"cron", "crond", "fcron", "bcron-sched", "bcron-start"})
"""The names of cron's processes in Debian, cronie, dcron, BusyBox and others."""
_NO_CRONTAB: Final = b"no crontab for"
_NIGHTLY: Final = re.compile(rb"^([0-9]{1,2}) ([0-9]{1,2}) \* \* \*  (.*)$", re.MULTILINE)
_LINGER: Final = Path("/var/lib/systemd/linger")
_EXEC_START: Final = re.compile(r"^ExecStart=:?(.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Scheduled:
    """An installed schedule.

    Attributes:
        scheduler: the name of the scheduler.
        command: the command as the scheduler's file has it.
        next: the local time of the next start; empty without a plan.
    """

    scheduler: str
    command: str
    next: str

    @property
    def words(self) -> list[str]:
        """The program and its arguments; empty if the command cannot be read."""
        escape = "\\%" if self.scheduler == Cron.name else "%%"
        try:
            return shlex.split(self.command.replace(escape, "%"))
        except ValueError:
            return []


class Cron:
    """cron, through the program ``crontab``. Only the block between our two marker lines is changed."""

    name = "cron"

    def is_usable(self) -> bool:
        """Return whether this user has a crontab, or may make one."""
        done = _run("crontab", "-l")
        return done is not None and (done.returncode == 0 or _NO_CRONTAB in done.stderr)

    def is_running(self) -> bool | None:
        """Return whether a cron daemon is running; ``None`` if this user cannot see other users' processes."""
        names = {}
        for path in PROC.glob("[0-9]*/comm"):
            with contextlib.suppress(OSError):
                names[path.parent.name] = path.read_text("utf-8", "replace").strip()
        if "1" not in names:
            return None
        if _CRON_PROCESSES & set(names.values()):
            return True
        # systemd-cron runs crontabs without a daemon.
        done = _run("systemctl", "is-active", "--quiet", "cron.target")
        return done is not None and done.returncode == 0

    def how_to_start(self) -> str:
        """Return the command that starts cron."""
        return message("sudo systemctl enable --now cron (its name may be crond), or sudo service cron start")

    def install(self, plan: NightPlan) -> None:
        """Write a plan's lines into the crontab, replacing an earlier plan of the same name.

        Raises:
            UsageError: cron refused, or the block was edited.
        """
        lines = f"# BEGIN {plan.name} ({MADE})\n{cron_lines(plan)}# END {plan.name}\n"
        table = _read_crontab()
        _write_crontab(table, _with_block(table, plan.name, lines.encode("utf-8")))

    def remove(self, name: str) -> bool:
        """Remove a plan's lines from the crontab; return whether it had any.

        Raises:
            UsageError: cron refused, or the block was edited.
        """
        if not self.is_usable():
            return False
        table = _read_crontab()
        without = _with_block(table, name, b"")
        if without == table:
            return False
        _write_crontab(table, without)
        return True

    def find(self, name: str) -> Scheduled | None:
        """Return the plan with a name.

        Raises:
            UsageError: cron refused, or the block was edited.
        """
        if not self.is_usable():
            return None
        table = _read_crontab()
        block = _block(table, name)
        if block is None:
            return None
        line = _NIGHTLY.search(table, *block)
        if line is None:
            raise _edited(name)
        due = next_time(time(int(line[2]), int(line[1])), datetime.now().astimezone())
        return Scheduled(self.name, line[3].decode("utf-8", "replace"), f"{due:%Y-%m-%d %H:%M}")


class Systemd:
    """The user's systemd: a service and a timer for each archive, and ``systemctl --user``."""

    name = "systemd"

    def is_usable(self) -> bool:
        """Return whether this user's systemd is running."""
        done = _run("systemctl", "--user", "show", "--property=Version")
        return done is not None and done.returncode == 0

    is_running = is_usable

    def how_to_start(self) -> str:
        """Return the steps that start the user's systemd."""
        return message("sign in to a desktop or by ssh, or keep it running at all times: loginctl enable-linger")

    def install(self, plan: NightPlan) -> None:
        """Write both units and start the timer. If systemd refuses them, both units are removed.

        Raises:
            UsageError: systemd refused, or a unit of the same name is not ours.
        """
        units = {".service": systemd_service(plan), ".timer": systemd_timer(plan)}
        for suffix in units:
            _require_ours(unit_path(plan.name, suffix))
        for suffix, text in units.items():
            path = unit_path(plan.name, suffix)
            with translated(path):
                path.parent.mkdir(parents=True, exist_ok=True)
                write_file(path, text.encode("utf-8"))
        for words in (("daemon-reload",), ("enable", f"{plan.name}.timer"), ("restart", f"{plan.name}.timer")):
            done = _run("systemctl", "--user", *words)
            if done is None or done.returncode != 0:
                self.remove(plan.name)
                raise _failure("systemctl", done)

    def remove(self, name: str) -> bool:
        """Stop the timer and remove both units; a running backup continues.

        Raises:
            UsageError: a unit of this name is not ours.
        """
        paths = [path for suffix in (".timer", ".service") if (path := unit_path(name, suffix)).exists()]
        for path in paths:
            _require_ours(path)
        if not paths:
            return False
        _run("systemctl", "--user", "disable", "--now", f"{name}.timer")
        for path in paths:
            with translated(path):
                path.unlink()
        _run("systemctl", "--user", "daemon-reload")
        _run("systemctl", "--user", "reset-failed", f"{name}.service")
        return True

    def find(self, name: str) -> Scheduled | None:
        """Return the timer with a name."""
        path = unit_path(name, ".service")
        if not path.exists() or not unit_path(name, ".timer").exists():
            return None
        starts = _EXEC_START.search(path.read_text("utf-8", "replace"))
        done = _run("systemctl", "--user", "show", f"{name}.timer", "--property=NextElapseUSecRealtime", "--value")
        next_run = done.stdout.decode("utf-8", "replace").strip() if done is not None else ""
        return Scheduled(self.name, "" if starts is None else starts[1], next_run)


SCHEDULERS: Final[dict[str, Systemd | Cron]] = {"systemd": Systemd(), "cron": Cron()}
"""The schedulers that can install a schedule, the preferred one first."""


def best() -> str | None:
    """Return the name of the preferred scheduler that this user can use, or ``None``."""
    if sys.platform in _PRINTED:
        return None
    return next((name for name, each in SCHEDULERS.items() if each.is_usable()), None)


def install(plan: NightPlan, scheduler: str | None = None, *, words: Sequence[object] = ()) -> Scheduled:
    """Install a plan, and remove an earlier one for the same archive from any scheduler.

    Args:
        plan: the plan.
        scheduler: ``systemd`` or ``cron``; by default :func:`best`.
        words: the arguments of a command that prints the plan; the archive's folder by default.

    Returns:
        The schedule as the scheduler reports it.

    Raises:
        UsageError: the scheduler is not usable, or it refused.
    """
    chosen = scheduler or best()
    if chosen is None:
        raise UsageError(_no_scheduler(words or [plan.archive]))
    if not SCHEDULERS[chosen].is_usable():
        raise UsageError(_not_usable(chosen))
    SCHEDULERS[chosen].install(plan)
    for name, other in SCHEDULERS.items():
        if name != chosen:
            other.remove(plan.name)
    known = SCHEDULERS[chosen].find(plan.name)
    if known is None:
        raise UsageError("{scheduler} accepted the schedule, but does not list it.", scheduler=chosen)
    return known


def remove(archive: Path) -> list[str]:
    """Remove an archive's schedule, and return the names of the schedulers that had one.

    Raises:
        UsageError: a scheduler refused.
    """
    return [name for name, each in SCHEDULERS.items() if each.remove(name_of(archive))]


def find(archive: Path) -> Scheduled | None:
    """Return the schedule of an archive.

    Raises:
        UsageError: a scheduler refused to list its schedules.
    """
    name = name_of(archive)
    return next((found for each in SCHEDULERS.values() if (found := each.find(name)) is not None), None)


def trouble(known: Scheduled) -> str | None:
    """Return a warning if a schedule's scheduler is not running; ``None`` if it runs, or this is unknown."""
    scheduler = SCHEDULERS[known.scheduler]
    if scheduler.is_running() is not False:
        return None
    return message(
        "{scheduler} has the schedule, but is not running on this machine, so no backup will start. Start it: {how}",
        scheduler=known.scheduler,
        how=scheduler.how_to_start(),
    )


def runs_only_while_signed_in() -> bool:
    """Return whether the user's systemd ends when the user signs out."""
    with contextlib.suppress(OSError, KeyError):
        return not (_LINGER / getpass.getuser()).exists()
    return True


def _not_usable(scheduler: str) -> str:
    if scheduler == "cron":
        return message(
            "There is no cron that you may use on this machine: install it, such as with apt install cron, or have "
            "your name added to /etc/cron.allow."
        )
    return message("There is no systemd that runs for you on this machine: use --with cron.")


def _no_scheduler(words: Sequence[object]) -> str:
    if sys.platform in _PRINTED:
        system, form = _PRINTED[sys.platform]
        return message(
            "blog-exporter schedule --help says where to put the schedule for {system}. Print it: {command}",
            system=system,
            command=suggested("schedule", "print", form, *words),
        )
    return message(
        "Nothing on this machine can start a backup every night: there is no cron, and no systemd runs for you. "
        "Install cron, such as with apt install cron, or print the lines for another scheduler: {command}",
        command=suggested("schedule", "print", "cron", *words),
    )


def _block(table: bytes, name: str) -> tuple[int, int] | None:
    """Return the start and the end of our block in a crontab; ``None`` if it has no such block.

    Raises:
        UsageError: a marker line is missing or exists twice.
    """
    begins = list(re.finditer(rb"^# BEGIN %b(?= |$).*\n?" % re.escape(name.encode()), table, re.MULTILINE))
    ends = list(re.finditer(rb"^# END %b$\n?" % re.escape(name.encode()), table, re.MULTILINE))
    if not begins and not ends:
        return None
    if len(begins) != 1 or len(ends) != 1 or begins[0].start() > ends[0].start():
        raise _edited(name)
    return begins[0].start(), ends[0].end()


def _edited(name: str) -> UsageError:
    return UsageError(
        "The lines between # BEGIN {name} and # END {name} in your crontab were changed: "
        "put them right, or take them out, with crontab -e.",
        name=name,
    )


def _with_block(table: bytes, name: str, lines: bytes) -> bytes:
    block = _block(table, name)
    if block is not None:
        return table[: block[0]] + lines + table[block[1] :]
    whole_lines = table if not table or not lines or table.endswith(b"\n") else table + b"\n"
    return whole_lines + lines


def _read_crontab() -> bytes:
    done = _run("crontab", "-l")
    if done is not None and done.returncode == 0:
        return done.stdout
    if done is not None and _NO_CRONTAB in done.stderr:
        return b""
    raise _failure("crontab", done)


def _write_crontab(before: bytes, table: bytes) -> None:
    if _read_crontab() != before:
        raise UsageError(
            message("Somebody else changed your crontab just now, so it was left alone: run the command again.")
        )
    done = _run("crontab", "-", given=table) if table else _run("crontab", "-r")
    if done is None or done.returncode != 0:
        raise _failure("crontab", done)
    if _read_crontab() != table:
        raise UsageError(message("crontab accepted the lines but shows others: look at it with crontab -l."))


def unit_path(name: str, suffix: str) -> Path:
    """Return the path of a unit of the user's systemd, such as with the suffix ``.timer``."""
    home = os.environ.get("XDG_CONFIG_HOME") or ""
    base = Path(home) if Path(home).is_absolute() else Path.home() / ".config"
    return base / "systemd" / "user" / f"{name}{suffix}"


def _require_ours(path: Path) -> None:
    with translated(path):
        if path.exists() and MADE not in path.read_text("utf-8", "replace"):
            raise UsageError("{path} is not ours, so it was left alone: rename or remove it.", path=path)


def _run(*words: str, given: bytes | None = None) -> subprocess.CompletedProcess[bytes] | None:
    """Run a system program in English; return ``None`` if it does not exist, or does not end in time."""
    environ = {**os.environ, "LC_ALL": "C"}
    try:
        return subprocess.run(  # noqa: S603 - system programs with our arguments
            words, input=given, capture_output=True, timeout=_TIMEOUT_SECONDS, check=False, env=environ
        )
    except (OSError, subprocess.TimeoutExpired):
        return None


def _failure(program: str, done: subprocess.CompletedProcess[bytes] | None) -> UsageError:
    if done is None:
        return UsageError("Cannot run {program} on this machine.", program=program)
    said = printable(" ".join(done.stderr.decode("utf-8", "replace").split()), 300)
    return UsageError(
        "{program} refused, and nothing was scheduled: {said}", program=program, said=said or done.returncode
    )
