"""``status``: what state an archive is in, for people and for monitors."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import click

from exporter import settings
from exporter.archive.archive import Archive
from exporter.cli.options import archive_argument, with_output
from exporter.cli.output import Output, counted
from exporter.cli.summary import completeness_lines, problem_text
from exporter.errors import BlogExporterError, Incomplete, LastRunFailed, Stale, UsageError
from exporter.library.status import SUCCESSES, StatusProblem, status
from exporter.text import printable

_ENDINGS = {"refused": "was refused", "interrupted": "was interrupted"}


@click.command("status")
@archive_argument
@click.option("--max-age", metavar="AGE", help="Exit with 6 when the last successful run is older, such as 2d.")
@with_output()
def command(*, out: Output, archive: Path, max_age: str | None) -> int:
    """Show what state the archive in DIR is in.

    Exits with 0 only when the last run succeeded: with 7 when it failed, was refused or never ended, with 6 when the
    last success is older than --max-age, with 3 when something is not saved. With -q, prints nothing when all is well.
    """
    found = status(Archive.open(archive), max_age=_limit(max_age))
    out.document(found.document)
    if out.verbosity >= 0:
        _print(out, found.document)
    if found.problem is not None:
        raise _error(found.problem, found.document, f"{found.document['blog_id']} in {archive}", max_age)
    return 0


def _limit(text: str | None) -> timedelta | None:
    try:
        return None if text is None else settings.duration(text)
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
