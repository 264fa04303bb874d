"""The user's crontab, of which only our own block is ever touched."""

from __future__ import annotations

import contextlib
import re
from datetime import datetime, time
from pathlib import Path
from typing import Final

from exporter.errors import UsageError
from exporter.message import message
from exporter.schedule.formats import MADE, cron_lines
from exporter.schedule.plan import NightPlan, next_time
from exporter.schedule.scheduler import Scheduled, Scheduler, ask, failed

PROC: Final = Path("/proc")
_DAEMONS: Final = frozenset({"cron", "crond", "fcron", "bcron-sched", "bcron-start"})
"""The names of cron's processes: Debian's, that of cronie, dcron and BusyBox, and others."""
_NONE_YET: Final = b"no crontab for"
_NIGHTLY: Final = re.compile(rb"^([0-9]{1,2}) ([0-9]{1,2}) \* \* \*  (.*)$", re.MULTILINE)


class Cron(Scheduler):
    """cron, by the program ``crontab``."""

    name = "cron"

    def is_there(self) -> bool:
        """Tell whether there is a crontab to write to."""
        done = ask("crontab", "-l")
        return done is not None and (done.returncode == 0 or _NONE_YET in done.stderr)

    def is_running(self) -> bool | None:
        """Tell whether a cron daemon is running; ``None`` if this user may not see the processes of others."""
        names = _process_names()
        if "1" not in names:
            return None
        return bool(_DAEMONS & set(names.values())) or _is_in_systemd()

    def how_to_start(self) -> str:
        """Say what starts cron."""
        return message("sudo systemctl enable --now cron (its name may be crond), or sudo service cron start")

    def install(self, plan: NightPlan) -> None:
        """Put the lines of a plan into the crontab, in place of those of an earlier one.

        Raises:
            UsageError: cron refused, or the table is not as it can be.
        """
        lines = f"{_begin(plan.name)} ({MADE})\n{cron_lines(plan)}{_end(plan.name)}\n"
        table = _read()
        _write(table, _with_block(table, plan.name, lines.encode("utf-8")))

    def remove(self, name: str) -> bool:
        """Take the lines of that name out of the crontab; tell whether there were any.

        Raises:
            UsageError: cron refused, or the table is not as it can be.
        """
        if not self.is_there():
            return False
        table = _read()
        without = _with_block(table, name, b"")
        if without == table:
            return False
        _write(table, without)
        return True

    def find(self, name: str) -> Scheduled | None:
        """Return what the crontab says under that name.

        Raises:
            UsageError: cron refused, or the table is not as it can be.
        """
        if not self.is_there():
            return None
        table = _read()
        place = _place(table, name)
        if place is None:
            return None
        line = _NIGHTLY.search(table, *place)
        if line is None:
            raise UsageError(_spoilt(name))
        now = datetime.now().astimezone()
        due = next_time(time(int(line[2]), int(line[1])), now)
        return Scheduled(self.name, line[3].decode("utf-8", "replace"), f"{due:%Y-%m-%d %H:%M}")


def _is_in_systemd() -> bool:
    """Tell whether the machine's systemd does what a cron daemon does, as systemd-cron has it."""
    done = ask("systemctl", "is-active", "--quiet", "cron.target")
    return done is not None and done.returncode == 0


def _process_names() -> dict[str, str]:
    """Return the names of the processes that this user may see, by their numbers; nothing on a system without /proc."""
    names = {}
    for path in PROC.glob("[0-9]*/comm"):
        with contextlib.suppress(OSError):
            names[path.parent.name] = path.read_text("utf-8", "replace").strip()
    return names


def _begin(name: str) -> str:
    return f"# BEGIN {name}"


def _end(name: str) -> str:
    return f"# END {name}"


def _place(table: bytes, name: str) -> tuple[int, int] | None:
    """Return where the block of that name begins and ends; ``None`` where there is none.

    Raises:
        UsageError: somebody has taken away one of its ends, or doubled it.
    """
    begins = list(re.finditer(rb"^%b(?= |$).*\n?" % re.escape(_begin(name).encode()), table, re.MULTILINE))
    ends = list(re.finditer(rb"^%b$\n?" % re.escape(_end(name).encode()), table, re.MULTILINE))
    if not begins and not ends:
        return None
    if len(begins) != 1 or len(ends) != 1 or begins[0].start() > ends[0].start():
        raise UsageError(_spoilt(name))
    return begins[0].start(), ends[0].end()


def _spoilt(name: str) -> str:
    return message(
        "The lines between # BEGIN {name} and # END {name} in your crontab were changed: "
        "put them right, or take them out, with crontab -e.",
        name=name,
    )


def _with_block(table: bytes, name: str, block: bytes) -> bytes:
    place = _place(table, name)
    if place is not None:
        return table[: place[0]] + block + table[place[1] :]
    whole_lines = table if not table or not block or table.endswith(b"\n") else table + b"\n"
    return whole_lines + block


def _read() -> bytes:
    done = ask("crontab", "-l")
    if done is not None and done.returncode == 0:
        return done.stdout
    if done is not None and _NONE_YET in done.stderr:
        return b""
    raise failed("crontab", done)


def _write(before: bytes, table: bytes) -> None:
    if _read() != before:
        raise UsageError(
            message("Somebody else changed your crontab just now, so it was left alone: run the command again.")
        )
    done = ask("crontab", "-", said=table) if table else ask("crontab", "-r")
    if done is None or done.returncode != 0:
        raise failed("crontab", done)
    if _read() != table:
        raise UsageError(message("crontab took the lines and shows others: look at it with crontab -l."))
