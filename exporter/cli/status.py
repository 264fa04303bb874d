"""``status``: what state an archive is in, for people and for monitors."""

from __future__ import annotations

from datetime import timedelta, tzinfo
from pathlib import Path
from typing import Any

import click

from exporter.cli.options import archive_argument, config_option, opened, setting_options, with_output
from exporter.cli.output import Output, counted
from exporter.cli.summary import completeness_lines, problem_text
from exporter.clock import for_people
from exporter.errors import BlogExporterError, Incomplete, LastRunFailed, Stale, UsageError
from exporter.library.status import SUCCESSES, StatusProblem, status
from exporter.settings import duration
from exporter.text import printable

_ENDINGS = {"refused": "was refused", "interrupted": "was interrupted"}


@click.command("status")
@archive_argument
@click.option("--max-age", metavar="AGE", help="Exit with 6 when the last successful run is older, such as 2d.")
@setting_options("timezone")
@config_option
@with_output()
def command(*, out: Output, archive: Path, config: Path | None, timezone: str | None, max_age: str | None) -> int:
    """Show what state the archive in DIR is in.

    Exits with 0 only when the last run succeeded: with 7 when it failed, was refused or never ended, with 6 when the
    last success is older than --max-age, with 3 when something is not saved. With -q, prints nothing when all is well.
    """
    reader, settings = opened(out, archive, {"timezone": timezone}, config)
    found = status(reader, max_age=_limit(max_age))
    out.document(found.document)
    told = _with_local_times(found.document, settings.timezone)
    if out.verbosity >= 0:
        _print(out, told)
    if found.problem is not None:
        raise _error(found.problem, told, f"{told['blog_id']} in {archive}", max_age)
    return 0


def _with_local_times(document: dict[str, Any], zone: tzinfo) -> dict[str, Any]:
    """Return a copy of the document for people to read, with its times in the blog's time zone."""
    told = {**document, "last_success": for_people(str(document["last_success"]), zone)}
    for place, time in (("newest", "finished_at"), ("last_run", "finished_at"), ("writer", "since")):
        if document[place]:
            told[place] = {**document[place], time: for_people(str(document[place].get(time)), zone)}
    return told


def _limit(text: str | None) -> timedelta | None:
    try:
        return None if text is None else duration(text)
    except ValueError as error:
        raise UsageError(f"option --max-age is {text!r}: {error}.") from error


def _error(problem: StatusProblem, document: dict[str, Any], name: str, max_age: str | None) -> BlogExporterError:
    last, since = document["last_run"], document["last_success"]
    match problem:
        case StatusProblem.LAST_RUN_FAILED:
            ending = _ENDINGS.get(str(last.get("outcome")), "failed")
            reason = f": {last['error']}" if last.get("error") else ""
            return LastRunFailed(f"The last run of {name} at {last.get('finished_at')} {ending}{reason}")
        case StatusProblem.LAST_RUN_DIED:
            return LastRunFailed(f"The last run of {name} did not finish; run backup again, it resumes what was read.")
        case StatusProblem.IN_THE_FUTURE:
            return Stale(
                f"The last run of {name} is dated in the future ({since}): set this machine's clock, then run backup."
            )
        case StatusProblem.STALE:
            return Stale(f"The last successful run of {name} ended {since}, more than {max_age} ago; run backup.")
        case StatusProblem.INCOMPLETE:
            first = next(map(problem_text, document["problems"]), "runs.jsonl does not say why")
            return Incomplete(f"{name} is incomplete: {first}; run backup again.")


def _print(out: Output, document: dict[str, Any]) -> None:
    newest, last = document["newest"], document["last_run"]
    out.answer(f"{printable(document['blog_id'])}: {counted(document['versions'], 'version')}, format 1")
    if newest is not None:
        out.answer(f"Newest version: {newest['version']} of {newest['finished_at']}")
        out.answer("Records: " + ", ".join(f"{count:,} {kind}" for kind, count in document["records"].items() if count))
    if last is not None:
        error = f" ({printable(str(last['error']), 300)})" if last.get("error") else ""
        out.answer(f"Last run: {last['finished_at']} {last['outcome']}{error}")
    if last is not None and last.get("outcome") not in SUCCESSES:
        out.answer("As of the last run that finished:")
    for line in completeness_lines(document["completeness"], document["problems"]):
        out.answer(line)
    if document["interrupted_run"]:
        out.answer("A run did not finish: the next backup resumes it.")
    if document["writer"]:
        out.answer(f"Being written by process {document['writer'].get('pid')} since {document['writer'].get('since')}.")
