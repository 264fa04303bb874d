"""``show``: one record, as it is or as it was."""

from __future__ import annotations

from pathlib import Path

import click

from exporter import codec
from exporter.api.printable import printable
from exporter.archive.lines import Line, latest_line
from exporter.archive.reader import ArchiveReader
from exporter.cli.options import archive_argument, talking
from exporter.cli.output import Output
from exporter.errors import UsageError
from exporter.model.kinds import Kind

KINDS = {
    "entry": Kind.ENTRIES,
    "item": Kind.ENTRY_LIST,
    "comment": Kind.COMMENTS,
    "file": Kind.FILES,
    "user": Kind.USER,
    "asset": Kind.ASSETS,
    **{str(kind): kind for kind in Kind},
}


@click.command("show")
@archive_argument
@click.argument("kind", type=click.Choice(list(KINDS)), metavar="KIND")
@click.argument("record_id", metavar="ID")
@click.option("--at", type=int, metavar="N", help="As of version N. [default: the newest]")
@talking
def command(*, out: Output, archive: Path, kind: str, record_id: str, at: int | None) -> int:
    """Show the record ID of KIND (entry, item, comment, file, user, asset) from the archive in DIR."""
    reader = ArchiveReader(archive)
    state = reader.state(reader.resolve(at))
    line = state.line(KINDS[kind], record_id)
    if line is None:
        raise UsageError(f"Version {state.version} of {archive} has no {kind} {record_id}.")
    if out.as_json:
        out.raw(latest_line(line.record_id, line.version or 0, line.frozen))
        return 0
    _tell(out, kind, line)
    if kind == "entry":
        item = state.line(Kind.ENTRY_LIST, record_id)
        if item is not None:
            _tell(out, "list item", item)
    return 0


def _tell(out: Output, name: str, line: Line) -> None:
    out.answer(f"{name} {printable(line.record_id)}, as of version {line.version}")
    for field, value in dict(codec.loads(line.data)).items():
        text = value if isinstance(value, str) else codec.dumps(value).decode("utf-8", "replace")
        rows = [printable(row, len(row) + 1) for row in text.replace("\r\n", "\n").split("\n")]
        out.answer(f"  {printable(field)}: {rows[0]}")
        for row in rows[1:]:
            out.answer(f"    {row}")
