"""``status``: how an archive stands, for people and for monitors."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import click

from exporter.archive.lock import ArchiveLock
from exporter.archive.reader import ArchiveReader
from exporter.archive.verify import recorded
from exporter.cli import values
from exporter.cli.options import archive_argument, talking
from exporter.cli.output import Output, counted
from exporter.cli.summary import completeness_lines
from exporter.clock import SystemClock
from exporter.errors import Incomplete, UsageError
from exporter.printable import printable

_GOOD = ("saved", "unchanged", "partial")


@click.command("status")
@archive_argument
@click.option("--max-age", metavar="AGE", help="Exit with 3 when the last successful run is older, such as 2d.")
@talking
def command(*, out: Output, archive: Path, max_age: str | None) -> int:
    """Tell how the archive in DIR stands."""
    limit = _limit(max_age)
    reader = ArchiveReader(archive)
    newest = reader.manifest(reader.resolve())
    last = next(reader.newest_runs(), None)
    good = next((run for run in reader.newest_runs() if run.get("outcome") in _GOOD), None)
    completeness, problems = recorded(reader)
    since = str(good["finished_at"]) if good is not None else newest.finished_at
    age = SystemClock().now() - datetime.fromisoformat(since)
    stale = limit is not None and age > limit
    document: dict[str, Any] = {
        "archive": str(archive.absolute()),
        "blog_id": reader.info.blog_id,
        "format_version": reader.info.format_version,
        "versions": len(reader.versions()),
        "newest": {"version": newest.version, "finished_at": newest.finished_at},
        "records": {kind: counts.total for kind, counts in newest.counts.items()},
        "last_run": last,
        "last_success": since,
        "stale": stale,
        "complete": bool(completeness.get("complete")),
        "completeness": completeness,
        "problems": problems,
        "interrupted_run": reader.layout.checkpoint.is_dir(),
        "writer": ArchiveLock(reader.layout.lock).holder() or None,
    }
    out.document(document)
    _tell(out, document)
    if stale:
        raise Incomplete(f"The last successful run of {archive} ended {since}, longer ago than {max_age}; run backup.")
    return 0


def _limit(text: str | None) -> timedelta | None:
    try:
        return None if text is None else values.duration(text)
    except ValueError as error:
        raise UsageError(f"option --max-age is {text!r}: {error}.") from error


def _tell(out: Output, document: dict[str, Any]) -> None:
    newest, last = document["newest"], document["last_run"]
    out.answer(f"{printable(document['blog_id'])}: {counted(document['versions'], 'version')}, format 1")
    out.answer(f"Newest version: {newest['version']} of {newest['finished_at']}")
    out.answer("Records: " + ", ".join(f"{count:,} {kind}" for kind, count in document["records"].items() if count))
    if last is not None:
        error = f" ({printable(str(last['error']), 300)})" if last.get("error") else ""
        out.answer(f"Last run: {last['finished_at']} {last['outcome']}{error}")
    for line in completeness_lines(document["completeness"], document["problems"]):
        out.answer(line)
    if document["interrupted_run"]:
        out.answer("An interrupted run waits: the next backup goes on with it.")
    if document["writer"]:
        out.answer(f"Being written by process {document['writer'].get('pid')} since {document['writer'].get('since')}.")
