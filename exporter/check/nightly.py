"""Check an archive's nightly schedule: whether it exists, can run, and ran last night."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from exporter.check.facts import CheckFinding
from exporter.errors import Stale, UsageError
from exporter.message import message, said, suggested
from exporter.schedule import schedulers
from exporter.schedule.nightly import is_in_fleet, lost_file, nightly_of
from exporter.schedule.plan import is_temporary, program
from exporter.schedule.programs import Scheduled
from exporter.schedule.systemd import Systemd, runs_only_while_signed_in

_LATEST_NIGHT: Final = timedelta(hours=28)
"""A missed night is made up for within two hours after 26 hours, see :data:`exporter.schedule.formats.CATCH_UP`."""
_AND: Final = " && "


def nightly_findings(
    root: Path, last_end: datetime | None, now: datetime, earlier: Sequence[Path]
) -> Iterator[CheckFinding]:
    """Yield the problems of an archive's nightly schedule.

    Args:
        root: the archive.
        last_end: when its last run ended, however it ended; ``None`` without a run.
        now: the current time.
        earlier: the places at which this user had the archive before.
    """
    place = Path(os.path.abspath(root))  # noqa: PTH100 - as schedules name it
    install = suggested("schedule", "install", place)
    nightly = nightly_of(place)
    known = nightly.known
    if known is None and nightly.trouble:
        yield CheckFinding("schedule_unreadable", nightly.trouble, exit_code=UsageError.exit_code)
        return
    try:
        old = next((each for each in earlier if schedulers.find(each) is not None), None)
    except UsageError as error:
        yield CheckFinding("schedule_unreadable", said(error), exit_code=error.exit_code)
        return
    if old is not None:
        yield CheckFinding(
            "schedule_of_old_place",
            message("The nightly schedule still backs up {old}, the old folder of the archive.", old=old),
            message("Schedule the archive where it is now:"),
            UsageError.exit_code,
            suggested("schedule", "remove", old) + ("" if known is not None else _AND + install),
        )
        if known is None:
            return
    if known is None and is_in_fleet(place):
        return
    if known is None:
        yield CheckFinding("no_schedule", nightly.said, nightly.advice, command=nightly.command or nightly.printing)
        return
    yield from _of_command(known, install)
    if nightly.trouble and lost_file(known) is None:
        yield CheckFinding("scheduler_stopped", nightly.trouble, exit_code=UsageError.exit_code)
    if last_end is not None and now - last_end > _LATEST_NIGHT:
        yield CheckFinding(
            "night_missed",
            message(
                "A backup is scheduled for every night, but the last one ended {time}.",
                time=f"{last_end.astimezone():%Y-%m-%d %H:%M}",
            ),
            message("Was the machine off, or is the schedule newer than that? Back up now, and read the messages:"),
            Stale.exit_code,
            suggested("backup", place),
        )
    if known.scheduler == Systemd.name and runs_only_while_signed_in():
        yield CheckFinding(
            "only_while_signed_in",
            message("systemd backs up only while you are signed in."),
            message("To back up at all times:"),
            command="loginctl enable-linger",
        )


def _of_command(known: Scheduled, install: str) -> Iterator[CheckFinding]:
    """Yield the finding about the scheduled command, if it cannot run or runs another program."""
    words = known.words
    if not words:
        return
    lost = lost_file(known)
    if lost is not None:
        yield CheckFinding(
            "schedule_broken",
            message("The nightly schedule needs {path}, which no longer exists.", path=lost),
            message("Schedule it again, with the program and the files of today:"),
            UsageError.exit_code,
            install,
        )
    elif not os.access(words[0], os.X_OK):
        yield CheckFinding(
            "schedule_broken",
            message("The nightly schedule starts {path}, which you may not run.", path=words[0]),
            message("Schedule it again, with the program and the files of today:"),
            UsageError.exit_code,
            install,
        )
    elif words[0] != program()[0] and not is_temporary():
        yield CheckFinding(
            "schedule_of_other_program",
            message(
                "The nightly schedule starts {scheduled}, and you run {own} now.",
                scheduled=words[0],
                own=program()[0],
            ),
            message("To schedule the one that you run:"),
            command=install,
        )
