"""Installing a schedule with what this machine has, and taking it away again."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from exporter.errors import UsageError
from exporter.message import message
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


def install(plan: NightPlan, scheduler: str | None = None) -> Scheduled:
    """Have a plan done every night from now on; an earlier one for the same archive, of any scheduler, is replaced.

    Args:
        plan: what is to be done.
        scheduler: ``systemd`` or ``cron``; by default :func:`best`.

    Returns:
        what the scheduler knows of it now.

    Raises:
        UsageError: there is no such scheduler, or it refused.
    """
    chosen = scheduler or best()
    if chosen is None:
        raise UsageError(_without())
    found = SCHEDULERS[chosen]()
    if not found.is_there():
        raise UsageError(message("There is no {scheduler} that you may use on this machine.", scheduler=chosen))
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


def _without() -> str:
    match sys.platform:
        case "darwin":
            return message(
                "Write the schedule of macOS by: blog-exporter schedule print launchd DIR; "
                "--help says what to do with it."
            )
        case "win32":
            return message(
                "Write the schedule of Windows by: blog-exporter schedule print windows DIR; "
                "--help says what to do with it."
            )
    return message(
        "This machine has neither a systemd of yours nor a crontab: print the lines (schedule print cron DIR) "
        "and have your scheduler run them."
    )
