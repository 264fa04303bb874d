"""What state an archive is in: its newest version, its last run, and whether that is recent, complete and well."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, auto
from typing import Any, Final

from exporter.archive.archive import Archive
from exporter.archive.reader import known_damage
from exporter.clock import SystemClock

SUCCESSES: Final = ("saved", "unchanged", "partial")
"""The outcomes of runs that saved what they could read."""
_CLOCKS_DIFFER: Final = timedelta(minutes=5)
_AFTER_A_FAILURE: Final = timedelta(hours=4)
"""So long nothing is tried again on its own: neither the service nor its reader wishes to hear of it every hour."""


class StatusProblem(Enum):
    """What keeps an archive from being up to date and complete, the worst first."""

    LAST_RUN_FAILED = auto()
    LAST_RUN_DIED = auto()
    """It left a checkpoint and no line, and nobody is writing now."""
    IN_THE_FUTURE = auto()
    """The last success is dated later than now, so a clock is or was wrong."""
    DAMAGED = auto()
    """Files of versions are damaged that a run or ``verify`` found, and still are."""
    STALE = auto()
    FIRST_RUN = auto()
    """No run has ended yet: the first one is under way."""
    INCOMPLETE = auto()


@dataclass(frozen=True, slots=True)
class Status:
    """The state as ``status --json`` prints it, the worst that is wrong with it, and how old the last success is."""

    document: dict[str, Any]
    problem: StatusProblem | None
    age: timedelta | None = None


def status(archive: Archive, *, max_age: timedelta | None = None) -> Status:
    """Tell what state an archive is in.

    Args:
        archive: the archive.
        max_age: how long ago the last success may be; ``None`` for any time.

    Raises:
        NoArchive: no run ever ended, and none is under way.
        ArchiveDamaged: the newest manifest cannot be read.
    """
    last = next(archive.newest_runs(), None)
    writer = archive.lock().holder() or None
    number = archive.newest()
    if last is None and writer is None:
        archive.resolve()
    newest = None if number is None else archive.manifest(number)
    good = next((run for run in archive.newest_runs() if run.get("outcome") in SUCCESSES), None)
    completeness, problems = archive.completeness()
    since = str(good["finished_at"]) if good is not None else newest.finished_at if newest is not None else None
    age = None if since is None else SystemClock().now() - datetime.fromisoformat(since)
    # A run of the future says that a clock is or was wrong, and nothing about how old the archive is.
    stale = max_age is not None and (age is None or not -_CLOCKS_DIFFER <= age <= max_age)
    document: dict[str, Any] = {
        "archive": str(archive.path.absolute()),
        "blog_id": archive.info.blog_id,
        "format_version": archive.info.format_version,
        "versions": len(archive.versions()),
        "newest": None if newest is None else {"version": newest.version, "finished_at": newest.finished_at},
        "records": {} if newest is None else {kind: counts.total for kind, counts in newest.counts.items()},
        "last_run": last,
        "last_success": since,
        "stale": stale,
        "complete": bool(completeness.get("complete")),
        "completeness": completeness,
        "problems": problems,
        "damaged": known_damage(archive),
        "interrupted_run": archive.layout.checkpoint.is_dir(),
        "writer": writer,
    }
    return Status(document, _problem(document, age), age)


def _problem(document: dict[str, Any], age: timedelta | None) -> StatusProblem | None:
    last = document["last_run"]
    if last is None and document["newest"] is None:
        return StatusProblem.FIRST_RUN
    if last and last.get("outcome") not in SUCCESSES:
        return StatusProblem.LAST_RUN_FAILED
    if document["interrupted_run"] and document["writer"] is None:
        return StatusProblem.LAST_RUN_DIED
    if document["damaged"]:
        return StatusProblem.DAMAGED
    if document["stale"]:
        return StatusProblem.IN_THE_FUTURE if age is not None and age < timedelta(0) else StatusProblem.STALE
    return None if document["complete"] else StatusProblem.INCOMPLETE


def is_due(archive: Archive, max_age: timedelta) -> bool:
    """Tell whether a blog should be backed up now: it is not being saved, and no run saved it within ``max_age``.

    After a run that failed it is not due for four hours.
    """
    if archive.lock().holder():
        return False
    now = SystemClock().now()
    for run in archive.newest_runs():
        saved = run.get("outcome") in SUCCESSES
        limit = max_age if saved else _AFTER_A_FAILURE
        age = now - datetime.fromisoformat(str(run["finished_at"]))
        if run.get("outcome") != "interrupted" and -_CLOCKS_DIFFER <= age < limit:
            return False
        if saved:
            break
    return True
