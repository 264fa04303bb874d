"""``log``: the versions of an archive, or the life of one entry, oldest first."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from exporter.archive.history import Step, life
from exporter.archive.reader import ArchiveReader
from exporter.archive.version_rows import VersionRow, version_rows
from exporter.cli.options import archive_argument, talking
from exporter.cli.output import Output
from exporter.errors import UsageError
from exporter.model.kinds import Kind
from exporter.printable import printable

_SHOWN = (Kind.ENTRIES, Kind.COMMENTS, Kind.FILES, Kind.ASSETS)


@click.command("log")
@archive_argument
@click.option("--entry", metavar="ID", help="The life of one entry, in place of all versions.")
@talking
def command(*, out: Output, archive: Path, entry: str | None) -> int:
    """List the versions of the archive in DIR: when, and what was new (+), changed (~) and gone (-)."""
    reader = ArchiveReader(archive)
    if entry is not None:
        return _life(reader, entry, out)
    rows = version_rows(reader)
    out.document({"versions": [row.document() for row in rows]})
    if not rows:
        reader.resolve()
    for row in rows:
        out.answer(_row_text(row))
    return 0


def _row_text(row: VersionRow) -> str:
    counts = row.counts()
    parts = []
    for kind in _SHOWN:
        signs = ((counts[kind].new, "+"), (counts[kind].changed, "~"), (counts[kind].gone, "-"))
        changes = " ".join(f"{sign}{number}" for number, sign in signs if number)
        if changes:
            parts.append(f"{kind} {changes}")
    folded = f"   {row.pruned} older folded in" if row.pruned else ""
    mark = "" if row.complete else "   INCOMPLETE"
    return f"{row.version:>6}  {row.finished_at}  {', '.join(parts) or 'lists only'}{folded}{mark}"


def _life(reader: ArchiveReader, entry_id: str, out: Output) -> int:
    steps = life(reader, Kind.ENTRIES, entry_id)
    if not steps:
        raise UsageError(f"No version of {reader.layout.root} knows an entry {entry_id}.")
    out.document({"entry": entry_id, "steps": [{**asdict(step), "change": str(step.change)} for step in steps]})
    for step in steps:
        out.answer(_step_text(step))
    return 0


def _step_text(step: Step) -> str:
    said = ", ".join(printable(name, 40) for name in step.fields) if step.change == "changed" else ""
    return f"{step.version:>6}  {step.date}  {step.change:<8} {said}".rstrip()
