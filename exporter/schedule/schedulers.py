"""The schedulers of this machine: install, find and remove a schedule with any of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from exporter.errors import UsageError
from exporter.message import message, suggested
from exporter.schedule import programs
from exporter.schedule.cron import Cron
from exporter.schedule.launchd import Launchd
from exporter.schedule.plan import NightPlan, name_of
from exporter.schedule.programs import Scheduled, Scheduler
from exporter.schedule.schtasks import TaskScheduler
from exporter.schedule.systemd import Systemd

SCHEDULERS: Final[dict[str, Scheduler]] = {each.name: each for each in (Systemd(), Launchd(), TaskScheduler(), Cron())}
_OWN: Final = {"darwin": (Launchd.name, Cron.name), "win32": (TaskScheduler.name,)}
_OTHERS: Final = (Systemd.name, Cron.name)
"""The schedulers of each platform, the preferred one first."""


def best() -> str | None:
    """Return the name of the preferred scheduler that this user can use, or ``None``."""
    return next((name for name in _OWN.get(programs.PLATFORM, _OTHERS) if SCHEDULERS[name].is_usable()), None)


def usual() -> str:
    """Return the name of :func:`best`, or else of the scheduler that such a machine usually has."""
    return best() or _OWN.get(programs.PLATFORM, (Cron.name,))[0]


def install(plan: NightPlan, scheduler: str | None = None, *, words: Sequence[object] = ()) -> Scheduled:
    """Install a plan, and remove an earlier one for the same archive from any scheduler.

    Args:
        plan: the plan.
        scheduler: a name of :data:`SCHEDULERS`; by default :func:`best`.
        words: the arguments of a command that prints the plan; the archive's folder by default.

    Returns:
        The schedule as the scheduler reports it.

    Raises:
        UsageError: the scheduler is not usable, or it refused.
    """
    chosen = scheduler or best()
    if chosen is None:
        command = suggested("schedule", "print", *(words or [plan.archive]))
        raise UsageError("{advice} {command}", advice=no_scheduler(), command=command)
    if not SCHEDULERS[chosen].is_usable():
        raise UsageError(SCHEDULERS[chosen].how_to_get())
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
    """Return a warning if a scheduler will not start a schedule; ``None`` if it will, or this is unknown."""
    scheduler = SCHEDULERS[known.scheduler]
    if scheduler.is_running(known.name) is not False:
        return None
    return message(
        "{scheduler} has the schedule, but is not running on this machine, so no backup will start. Start it: {how}",
        scheduler=known.scheduler,
        how=scheduler.how_to_start(known.name),
    )


def condition(known: Scheduled) -> str:
    """Return the sentence about what a schedule needs to start its command; empty if nothing but the machine."""
    return SCHEDULERS[known.scheduler].condition()


def cannot_schedule() -> str:
    """Return why this machine cannot start a backup every night, and what to do."""
    if programs.PLATFORM == "darwin":
        return message(
            "Nothing on this machine can start a backup every night: launchd does it only while you are signed in "
            "to the desktop. Sign in there and try again."
        )
    if programs.PLATFORM == "win32":
        return message(
            "Nothing on this machine can start a backup every night: schtasks, the program of Task Scheduler, does "
            "not run."
        )
    refusal = Cron().refusal()
    if refusal:
        return message(
            "Nothing on this machine can start a backup every night: crontab refuses you ({said}), and no systemd runs "
            "for you. Have your name added to /etc/cron.allow.",
            said=refusal,
        )
    return message(
        "Nothing on this machine can start a backup every night: there is no cron, and no systemd runs for you. "
        "Install cron, such as with apt install cron."
    )


def no_scheduler() -> str:
    """Return :func:`cannot_schedule`, and what the command after it, ``schedule print``, is for."""
    return message("{reason} Or print the lines for another scheduler:", reason=cannot_schedule())
