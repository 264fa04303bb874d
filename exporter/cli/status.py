"""``status``: what state an archive is in, for people and for monitors."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import click

from exporter import settings
from exporter.archive.archive import Archive
from exporter.cli.options import archive_argument, with_output
from exporter.cli.output import Output, counted
from exporter.cli.summary import completeness_lines, problem_text
from exporter.clock import SystemClock
from exporter.errors import BlogExporterError, Incomplete, LastRunFailed, Stale, UsageError
from exporter.text import printable

_GOOD = ("saved", "unchanged", "partial")
_ENDINGS = {"refused": "was refused", "interrupted": "was interrupted"}
_CLOCKS_DIFFER = timedelta(minutes=5)


@click.command("status")
@archive_argument
@click.option("--max-age", metavar="AGE", help="Exit with 6 when the last successful run is older, such as 2d.")
@with_output()
def command(*, out: Output, archive: Path, max_age: str | None) -> int:
    """Show what state the archive in DIR is in.

    Exits with 0 only when the last run succeeded: with 7 when it failed, was refused or never ended, with 6 when the
    last success is older than --max-age, with 3 when something is not saved. With -q, prints nothing when all is well.
    """
    limit = _limit(max_age)
    reader = Archive.open(archive)
    last = next(reader.newest_runs(), None)
    if last is None:
        reader.resolve()
    number = reader.newest()
    newest = None if number is None else reader.manifest(number)
    good = next((run for run in reader.newest_runs() if run.get("outcome") in _GOOD), None)
    completeness, problems = reader.completeness()
    since = str(good["finished_at"]) if good is not None else newest.finished_at if newest is not None else None
    age = None if since is None else SystemClock().now() - datetime.fromisoformat(since)
    # A run of the future says that a clock is or was wrong, and nothing about how old the archive is.
    stale = limit is not None and (age is None or not -_CLOCKS_DIFFER <= age <= limit)
    writer = reader.lock().holder() or None
    interrupted = reader.layout.checkpoint.is_dir()
    complete = bool(completeness.get("complete"))
    document: dict[str, Any] = {
        "archive": str(archive.absolute()),
        "blog_id": reader.info.blog_id,
        "format_version": reader.info.format_version,
        "versions": len(reader.versions()),
        "newest": None if newest is None else {"version": newest.version, "finished_at": newest.finished_at},
        "records": {} if newest is None else {kind: counts.total for kind, counts in newest.counts.items()},
        "last_run": last,
        "last_success": since,
        "stale": stale,
        "complete": complete,
        "completeness": completeness,
        "problems": problems,
        "interrupted_run": interrupted,
        "writer": writer,
    }
    out.document(document)
    if out.verbosity >= 0:
        _print(out, document)
    trouble = _problem(archive, document, age, max_age)
    if trouble is not None:
        raise trouble
    return 0


def _problem(
    archive: Path, document: dict[str, Any], age: timedelta | None, max_age: str | None
) -> BlogExporterError | None:
    """Return what keeps the archive from being up to date and complete, the worst first."""
    last, since = document["last_run"] or {}, document["last_success"]
    name = f"{document['blog_id']} in {archive}"
    if last and last.get("outcome") not in _GOOD:
        ending = _ENDINGS.get(str(last.get("outcome")), "failed")
        reason = f": {last['error']}" if last.get("error") else ""
        return LastRunFailed(f"The last run of {name} at {last.get('finished_at')} {ending}{reason}")
    if document["interrupted_run"] and document["writer"] is None:
        return LastRunFailed(f"The last run of {name} did not finish; run backup again, it resumes what was read.")
    if document["stale"] and age is not None and age < timedelta(0):
        return Stale(
            f"The last run of {name} is dated in the future ({since}): set this machine's clock, then run backup."
        )
    if document["stale"]:
        return Stale(f"The last successful run of {name} ended {since}, more than {max_age} ago; run backup.")
    if not document["complete"]:
        first = next(map(problem_text, document["problems"]), "runs.jsonl does not say why")
        return Incomplete(f"{name} is incomplete: {first}; run backup again.")
    return None


def _limit(text: str | None) -> timedelta | None:
    try:
        return None if text is None else settings.duration(text)
    except ValueError as error:
        raise UsageError(f"option --max-age is {text!r}: {error}.") from error


def _print(out: Output, document: dict[str, Any]) -> None:
    newest, last = document["newest"], document["last_run"]
    out.answer(f"{printable(document['blog_id'])}: {counted(document['versions'], 'version')}, format 1")
    if newest is not None:
        out.answer(f"Newest version: {newest['version']} of {newest['finished_at']}")
        out.answer("Records: " + ", ".join(f"{count:,} {kind}" for kind, count in document["records"].items() if count))
    if last is not None:
        error = f" ({printable(str(last['error']), 300)})" if last.get("error") else ""
        out.answer(f"Last run: {last['finished_at']} {last['outcome']}{error}")
    if last is not None and last.get("outcome") not in _GOOD:
        out.answer("As of the last run that finished:")
    for line in completeness_lines(document["completeness"], document["problems"]):
        out.answer(line)
    if document["interrupted_run"]:
        out.answer("A run did not finish: the next backup resumes it.")
    if document["writer"]:
        out.answer(f"Being written by process {document['writer'].get('pid')} since {document['writer'].get('since')}.")
