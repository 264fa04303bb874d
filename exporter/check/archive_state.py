"""Turn each problem that ``status`` reports about an archive into a sentence with advice."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from exporter.archive.lock import BACKUP, CAPTURE
from exporter.check.facts import CheckFinding
from exporter.errors import ArchiveDamaged, BlogExporterError, Incomplete, LastRunFailed, Stale
from exporter.library.status import StatusProblem, is_backup
from exporter.message import filled, listed, message, message_template, restored_from, suggested
from exporter.text import printable

OUTCOMES: Final[Mapping[str, str]] = {
    "saved": message("saved"),
    "unchanged": message("nothing had changed"),
    "partial": message("saved, but not everything"),
    "failed": message("failed"),
    "refused": message("was refused"),
    "interrupted": message("was interrupted"),
}
"""How a run ended, as the end of a sentence about it."""

STATE_ERRORS: Final[Mapping[StatusProblem, type[BlogExporterError]]] = {
    StatusProblem.LAST_RUN_FAILED: LastRunFailed,
    StatusProblem.LAST_RUN_DIED: LastRunFailed,
    StatusProblem.IN_THE_FUTURE: Stale,
    StatusProblem.DAMAGED: ArchiveDamaged,
    StatusProblem.STALE: Stale,
    StatusProblem.FIRST_RUN: Incomplete,
    StatusProblem.INCOMPLETE: Incomplete,
    StatusProblem.VIEWS_MISSING: Incomplete,
}
"""The error that a problem raises in ``status``; its exit code is that of the finding."""

_NEXT_BACKUP: Final = frozenset(
    {
        StatusProblem.LAST_RUN_FAILED,
        StatusProblem.LAST_RUN_DIED,
        StatusProblem.STALE,
        StatusProblem.INCOMPLETE,
    }
)
"""The problems that the next backup mends, which nobody can start while the archive is being written."""

_SENTENCES: Final[Mapping[StatusProblem, tuple[str, str]]] = {
    StatusProblem.LAST_RUN_FAILED: (
        message_template("The last run of {blog} in {archive} at {time} {how}: {reason}"),
        "",
    ),
    StatusProblem.LAST_RUN_DIED: (
        message_template("The last run of {blog} in {archive} did not finish."),
        message("The next backup resumes it:"),
    ),
    StatusProblem.IN_THE_FUTURE: (
        message_template("The last run of {blog} in {archive} is dated in the future ({since})."),
        message("Set this machine's clock, then back up:"),
    ),
    StatusProblem.DAMAGED: (
        message_template("{blog} in {archive} is damaged: {paths}."),
        message("For the possible repairs:"),
    ),
    StatusProblem.STALE: (
        message_template("The last successful run of {blog} in {archive} ended {since}, more than {limit} ago."),
        message("Back up:"),
    ),
    StatusProblem.FIRST_RUN: (
        message_template(
            "The first backup of {blog} is under way, by process {pid} since {since}: there is nothing to show yet."
        ),
        "",
    ),
    StatusProblem.INCOMPLETE: (
        message_template("{blog} in {archive} is incomplete: {reason}."),
        message("The next backup tries again:"),
    ),
    StatusProblem.VIEWS_MISSING: (
        message_template("latest/ of {blog} in {archive} is missing, old or incomplete ({paths})."),
        message("The next backup makes it from the versions, or at once:"),
    ),
}
_CAPTURE_INCOMPLETE: Final = message_template("The newest capture of {blog} in {archive} is not complete.")
_INCOMPLETE: Final = message_template("{blog} in {archive} is incomplete.")
_NOTHING_YET: Final = message_template(
    "Nothing is saved in {archive} yet: process {pid} has been writing it since {since}."
)
_CAPTURE_AGAIN: Final = message("The next one tries again:")
_DAMAGED_NAMED: Final = 3
_WRITING: Final[Mapping[str, str]] = {
    BACKUP: message_template("A backup is running, by process {pid} since {since}."),
    CAPTURE: message_template("A capture is running, by process {pid} since {since}."),
}


def writing_text(writer: Mapping[str, Any]) -> str:
    """Return a sentence about the process that holds an archive's lock."""
    template = _WRITING.get(str(writer.get("work")), message_template("Being written by process {pid} since {since}."))
    return filled(template, pid=str(writer.get("pid")), since=str(writer.get("since")))


def state_finding(
    problem: StatusProblem, document: Mapping[str, Any], *, limit: str | None = None, why: str = ""
) -> CheckFinding:
    """Return the finding about a problem of an archive.

    Args:
        problem: the problem.
        document: the object that ``status --json`` prints, with its times as a person should read them.
        limit: the age limit for the last success, in the user's words.
        why: the first reason why the archive is incomplete; empty if it is unknown, or was shown already.
    """
    last, archive = document["last_run"] or {}, document["archive"]
    values: dict[str, Any] = {
        "blog": printable(document["blog_id"]),
        "archive": archive,
        "since": document["last_success"],
        "limit": limit,
    }
    template, advice = _SENTENCES[problem]
    command = suggested("backup", Path(archive)) if advice else ""
    match problem:
        case StatusProblem.LAST_RUN_FAILED:
            how = OUTCOMES.get(str(last.get("outcome")), OUTCOMES["failed"])
            values |= {"time": last.get("finished_at"), "how": how}
            if last.get("error"):
                values["reason"] = restored_from(last, "error")
            else:
                template = message_template("The last run of {blog} in {archive} at {time} {how}.")
        case StatusProblem.DAMAGED:
            values["paths"] = listed(printable(path, 120) for path in document["damaged"][:_DAMAGED_NAMED])
            command = suggested("verify", Path(archive))
        case StatusProblem.FIRST_RUN:
            values |= {name: str(document["writer"].get(name)) for name in ("pid", "since")}
            if not is_backup(document["writer"]):
                template = _NOTHING_YET
        case StatusProblem.INCOMPLETE if document["newest"] is None:
            template, advice, command = _CAPTURE_INCOMPLETE, _CAPTURE_AGAIN, suggested("capture", Path(archive))
        case StatusProblem.INCOMPLETE:
            values["reason"] = why
            template = template if why else _INCOMPLETE
        case StatusProblem.VIEWS_MISSING:
            values["paths"] = listed(printable(path, 120) for path in document["missing_views"][:_DAMAGED_NAMED])
            command = suggested("rebuild", Path(archive))
    if document["writer"] and problem in _NEXT_BACKUP:
        advice, command = writing_text(document["writer"]), ""
    code = STATE_ERRORS[problem].exit_code
    return CheckFinding(problem.name.lower(), filled(template, **values), advice, code, command)
