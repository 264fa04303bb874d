"""Installing a schedule with what this machine has, and taking it away again."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from exporter.errors import UsageError
from exporter.message import message, suggested
from exporter.schedule.crontab import Cron
from exporter.schedule.plan import NightPlan, name_of
from exporter.schedule.scheduler import Scheduled, Scheduler
from exporter.schedule.systemd import Systemd

SCHEDULERS: Final[dict[str, type[Scheduler]]] = {"systemd": Systemd, "cron": Cron}
"""Those that a schedule can be installed with, the better ones first."""


def best() -> str | None:
    """Return the name of the best scheduler that this user has here; ``None`` where there is none."""
    if sys.platform in {"darwin", "win32"}:
        return None
    return next((name for name, kind in SCHEDULERS.items() if kind().is_there()), None)


def install(plan: NightPlan, scheduler: str | None = None, *, words: Sequence[object] = ()) -> Scheduled:
    """Have a plan done every night from now on; an earlier one for the same archive, of any scheduler, is replaced.

    Args:
        plan: what is to be done.
        scheduler: ``systemd`` or ``cron``; by default :func:`best`.
        words: what names the blog, and its service, on a command line; the archive's folder by default.

    Returns:
        what the scheduler knows of it now.

    Raises:
        UsageError: there is no such scheduler, or it refused.
    """
    chosen = scheduler or best()
    if chosen is None:
        raise UsageError(_without(words or [plan.archive]))
    found = SCHEDULERS[chosen]()
    if not found.is_there():
        raise UsageError(_not_usable(chosen))
    found.install(plan)
    for name, other in SCHEDULERS.items():
        if name != chosen:
            other().remove(plan.name)
    known = found.find(plan.name)
    if known is None:
        raise UsageError(message("{scheduler} took the schedule and does not know it.", scheduler=chosen))
    return known


def remove(archive: Path) -> list[str]:
    """Remove the schedule of an archive, and return the names of the schedulers that had one.

    Raises:
        UsageError: one of them refused.
    """
    name = name_of(archive)
    return [scheduler for scheduler, kind in SCHEDULERS.items() if kind().remove(name)]


def find(archive: Path) -> Scheduled | None:
    """Return the schedule of an archive.

    Raises:
        UsageError: a scheduler refused to tell.
    """
    name = name_of(archive)
    return next((found for kind in SCHEDULERS.values() if (found := kind().find(name)) is not None), None)


def trouble(known: Scheduled) -> str | None:
    """Say that a scheduler does not run, so that it starts nothing; ``None`` if it runs, or nobody can tell."""
    scheduler = SCHEDULERS[known.scheduler]()
    if scheduler.is_running() is not False:
        return None
    return message(
        "{scheduler} has the schedule, but is not running on this machine, so no backup will start. Start it: {how}",
        scheduler=known.scheduler,
        how=scheduler.how_to_start(),
    )


def _not_usable(scheduler: str) -> str:
    if scheduler == "cron":
        return message(
            "There is no cron that you may use on this machine: install it, such as with apt install cron, or have "
            "your name added to /etc/cron.allow."
        )
    return message("There is no systemd that runs for you on this machine: use --with cron.")


def _without(words: Sequence[object]) -> str:
    match sys.platform:
        case "darwin":
            return message(
                "blog-exporter schedule --help says where to put the schedule for macOS. Print it: {command}",
                command=suggested("schedule", "print", "launchd", *words),
            )
        case "win32":
            return message(
                "blog-exporter schedule --help says where to put the schedule for Windows. Print it: {command}",
                command=suggested("schedule", "print", "windows", *words),
            )
    return message(
        "Nothing on this machine can start a backup every night: there is no cron, and no systemd runs for you. "
        "Install cron, such as with apt install cron, or print the lines for another scheduler: {command}",
        command=suggested("schedule", "print", "cron", *words),
    )
