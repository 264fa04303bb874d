"""The status of an archive: its newest version and its last run, and whether that succeeded, recent and complete."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from enum import Enum, auto
from typing import Any, Final

from exporter.archive.archive import Archive
from exporter.archive.captures import capture_runs, captures
from exporter.archive.latest import missing_parts
from exporter.archive.layout import CAPTURE_RUNS, capture_name
from exporter.archive.lock import BACKUP
from exporter.archive.reader import known_damage
from exporter.arguments import checked, wrong
from exporter.clock import SystemClock
from exporter.errors import ArchiveDamaged, UsageError
from exporter.frozen import frozen
from exporter.setting_types import accepted, duration

SUCCESSES: Final = ("saved", "unchanged", "partial")
"""The outcomes of runs that saved all readable records."""
CLOCK_TOLERANCE: Final = timedelta(minutes=5)
_PAUSE_AFTER_FAILURE: Final = timedelta(hours=4)
"""The pause before an automatic retry: neither the service nor the user wants one every hour."""


class StatusProblem(Enum):
    """The reasons why an archive is not up to date and complete, the worst first."""

    LAST_RUN_FAILED = auto()
    LAST_RUN_DIED = auto()
    """It left a checkpoint and no line of a failure, and no backup is running now."""
    IN_THE_FUTURE = auto()
    """The last success is in the future, so a clock is or was wrong."""
    DAMAGED = auto()
    """A run or ``verify`` found damaged files in versions, which are still damaged."""
    STALE = auto()
    FIRST_RUN = auto()
    """The archive has nothing yet, and a process is writing it."""
    INCOMPLETE = auto()
    VIEWS_MISSING = auto()
    """``latest/`` lacks something that it is made to have, and no process is writing the archive."""


@frozen
class Status:
    """The object that ``status --json`` prints, the problems, the worst first, and the age of the last success."""

    document: dict[str, Any]
    problems: tuple[StatusProblem, ...]
    age: timedelta | None = None

    @property
    def problem(self) -> StatusProblem | None:
        """The worst problem."""
        return next(iter(self.problems), None)


@checked
def status(archive: Archive, *, max_age: timedelta | None = None) -> Status:
    """Return the status of an archive.

    Args:
        archive: the archive.
        max_age: the greatest age of the last success; ``None`` for no limit.

    Raises:
        UsageError: ``max_age`` is negative.
        NoArchive: no run ever ended or is running.
        ArchiveDamaged: the newest manifest cannot be read.
    """
    if max_age is not None:
        try:
            accepted(duration, max_age)
        except ValueError as error:
            raise wrong("max_age", max_age, error) from None
    last = next(archive.newest_backups(), None)
    writer = _writer(archive)
    number = archive.newest()
    captured, damaged_captures = _captured(archive)
    if last is None and writer is None and captured is None:
        archive.resolve()
    newest = None if number is None else archive.manifest(number)
    good = next((run for run in archive.newest_backups() if run.get("outcome") in SUCCESSES), None)
    completeness, problems = archive.completeness()
    since = str(good["finished_at"]) if good is not None else newest.finished_at if newest is not None else None
    age = None if since is None else SystemClock().now() - datetime.fromisoformat(since)
    # A success in the future means a wrong clock, so the age of the archive is unknown.
    stale = max_age is not None and (age is None or not -CLOCK_TOLERANCE <= age <= max_age)
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
        "damaged": sorted({*known_damage(archive), *(path for path, _ in archive.wrong_sizes()), *damaged_captures}),
        "missing_views": [] if number is None or writer is not None else missing_parts(archive.layout, number),
        "interrupted_run": archive.layout.checkpoint.is_dir() and not is_backup(writer),
        "writer": writer,
        "capture": captured,
    }
    return Status(document, tuple(_problems(document, age)), age)


def _writer(archive: Archive) -> dict[str, Any] | None:
    """Return the note of the process that holds the lock. A killed one leaves it, and its number is used again."""
    note = archive.lock().holder()
    with contextlib.suppress(UsageError, OSError):
        return note if note and archive.lock().is_held() else None
    return note or None


def is_backup(writer: Mapping[str, Any] | None) -> bool:
    """Return whether the process that holds an archive's lock makes a backup."""
    return writer is not None and writer.get("work") == BACKUP


def _captured(archive: Archive) -> tuple[dict[str, Any] | None, list[str]]:
    """Return the facts about the newest capture, ``None`` without one, and the paths that are damaged."""
    damaged: list[str] = []
    facts: dict[str, Any] | None = None
    try:
        found = captures(archive.layout)
    except ArchiveDamaged:
        return None, [archive.layout.captures.name]
    if found:
        newest, info = found[-1], None
        try:
            info = newest.info()
        except ArchiveDamaged:
            damaged.append(capture_name(newest.number))
        facts = {
            "captures": len(found),
            "newest": newest.number,
            "kind": None if info is None else info.kind,
            "finished_at": None if info is None else info.finished_at,
            "complete": None if info is None else info.complete,
            "problems": None if info is None else len(info.problems),
            "last_run": None,
        }
    try:
        for run in capture_runs(archive.layout):
            facts = facts or dict.fromkeys(("kind", "finished_at", "complete", "problems"), None)
            facts = {"captures": 0, "newest": None, **facts}
            facts["last_run"] = {name: run.get(name) for name in ("finished_at", "outcome", "exit_code")}
    except ArchiveDamaged:
        damaged.append(CAPTURE_RUNS)
    return facts, damaged


def _problems(document: dict[str, Any], age: timedelta | None) -> Iterator[StatusProblem]:
    """Yield the problems, the worst first."""
    last = document["last_run"]
    if last is None and document["newest"] is None and document["capture"] and not is_backup(document["writer"]):
        if document["damaged"]:
            yield StatusProblem.DAMAGED
        elif not document["capture"]["complete"]:
            yield StatusProblem.INCOMPLETE
        return
    if last is None and document["newest"] is None:
        yield StatusProblem.FIRST_RUN
        return
    if last and last.get("outcome") not in SUCCESSES:
        yield StatusProblem.LAST_RUN_FAILED
    elif document["interrupted_run"]:
        yield StatusProblem.LAST_RUN_DIED
    if document["damaged"]:
        yield StatusProblem.DAMAGED
    if document["stale"]:
        yield StatusProblem.IN_THE_FUTURE if age is not None and age < timedelta(0) else StatusProblem.STALE
    yield from _missing_parts(document)


def _missing_parts(document: dict[str, Any]) -> Iterator[StatusProblem]:
    # Before the first version, only a capture can be incomplete.
    partial = document if document["newest"] is not None else document["capture"]
    if partial and not partial["complete"]:
        yield StatusProblem.INCOMPLETE
    if document["missing_views"]:
        yield StatusProblem.VIEWS_MISSING


def is_due(archive: Archive, max_age: timedelta) -> bool:
    """Return whether a blog should be backed up now: no backup is running, and none succeeded within ``max_age``.

    After a failed run, a blog is not due for four hours.
    """
    if _writer(archive) is not None:
        return False
    now = SystemClock().now()
    for run in archive.newest_backups():
        saved = run.get("outcome") in SUCCESSES
        limit = max_age if saved else _PAUSE_AFTER_FAILURE
        age = now - datetime.fromisoformat(str(run["finished_at"]))
        if run.get("outcome") != "interrupted" and -CLOCK_TOLERANCE <= age < limit:
            return False
        if saved:
            break
    return True
