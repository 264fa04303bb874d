"""Schedules in the user's crontab."""

from __future__ import annotations

import contextlib
import re
import shlex
from pathlib import Path
from typing import Final

from exporter.errors import UsageError
from exporter.message import message
from exporter.schedule import programs
from exporter.schedule.formats import MADE, cron_lines
from exporter.schedule.plan import NightPlan
from exporter.schedule.programs import Scheduled, failure, failure_reason

PROC: Final = Path("/proc")
_CRON_PROCESSES: Final = frozenset({"cron", "crond", "fcron", "bcron-sched", "bcron-start"})
"""The names of cron's processes in Debian, cronie, dcron, BusyBox and others."""
_NO_CRONTAB: Final = b"no crontab for"
_NIGHTLY: Final = re.compile(rb"^([0-9]{1,2}) ([0-9]{1,2}) \* \* \*  (.*)$", re.MULTILINE)


class Cron:
    """cron, through the program ``crontab``. Only the block between our two marker lines is changed."""

    name = "cron"

    def is_usable(self) -> bool:
        """Return whether this user has a crontab, or may make one."""
        done = programs.run("crontab", "-l")
        return done is not None and (done.returncode == 0 or _NO_CRONTAB in done.stderr)

    def refusal(self) -> str:
        """Return what ``crontab`` says if it exists and refuses this user; empty otherwise."""
        done = programs.run("crontab", "-l")
        return "" if done is None or self.is_usable() else str(failure_reason(done))

    def is_running(self, _name: str) -> bool | None:
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
        return programs.succeeds("systemctl", "is-active", "--quiet", "cron.target")

    def how_to_start(self, _name: str) -> str:
        """Return the command that starts cron."""
        return message("sudo systemctl enable --now cron (its name may be crond), or sudo service cron start")

    def condition(self) -> str:
        """Return no condition: cron runs for users who are signed out, too."""
        return ""

    def how_to_get(self) -> str:
        """Return how a machine gets cron."""
        return message(
            "There is no cron that you may use on this machine: install it, such as with apt install cron, or have "
            "your name added to /etc/cron.allow."
        )

    def where(self, _name: str) -> str:
        """Return the command that shows the crontab."""
        return "crontab -l"

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
        command = line[3].decode("utf-8", "replace")
        return Scheduled(self.name, name, command, _words(command), programs.next_start(int(line[2]), int(line[1])))


def _words(command: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(command.replace("\\%", "%")))
    except ValueError:
        return ()


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
    done = programs.run("crontab", "-l")
    if done is not None and done.returncode == 0:
        return done.stdout
    if done is not None and _NO_CRONTAB in done.stderr:
        return b""
    raise failure("crontab", done)


def _write_crontab(before: bytes, table: bytes) -> None:
    if _read_crontab() != before:
        raise UsageError(
            message("Somebody else changed your crontab just now, so it was left alone: run the command again.")
        )
    done = programs.run("crontab", "-", given=table) if table else programs.run("crontab", "-r")
    if done is None or done.returncode != 0:
        raise failure("crontab", done)
    if _read_crontab() != table:
        raise UsageError(message("crontab accepted the lines but shows others: look at it with crontab -l."))
