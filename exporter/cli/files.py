"""``files``: a blog's uploads and pictures, with their entries and the reasons for missing ones."""

from __future__ import annotations

import csv
import io
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from exporter.archive.archive import Archive
from exporter.cli.help import cli_command
from exporter.cli.options import at_option, readable_archive, with_output
from exporter.cli.output import OnLoss, Output, counted, size_text
from exporter.errors import UsageError
from exporter.message import listed, message
from exporter.model.kinds import Kind
from exporter.service.registry import service_of
from exporter.settings import Settings
from exporter.text import fitted, left, printable, right, width
from exporter.translation import translated

if TYPE_CHECKING:
    from exporter.archive.assets import FileRow

_COLUMNS = (
    "held", "url", "path", "bytes", "content_type", "width", "height", "name", "title", "files", "entries", "orphan",
    "status", "reason", "alt",
)  # fmt: skip
_STATES = {
    "stored": message("stored"),
    "pending": message("pending"),
    "lost": message("lost"),
    "left_out": message("left out"),
    "refused": message("refused"),
    "doubtful": message("doubtful"),
    "missing": message("missing"),
    "unread": message("unread"),
    "nameless": message("nameless"),
}
_NAME_COLUMNS = 32
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@cli_command("files", help=message("List the uploads and pictures of the blog in DIR, with their sizes and entries."))
@readable_archive("PICTURES")
@click.option("--missing", is_flag=True, help=message("List only files that are not in the archive."))
@click.option("--csv", "as_csv", is_flag=True, help=message("Print CSV for a spreadsheet."))
@at_option
@with_output(OnLoss.STOP)
def files_command(*, out: Output, archive: Path, missing: bool, as_csv: bool, at: str | None) -> int:
    """Run ``files``."""
    from exporter.archive.assets import inventory

    if as_csv and out.as_json:
        raise UsageError(message("--csv and --json cannot both be given."))
    reader = Archive.open(archive)
    version = reader.version_at(at)
    state = reader.state(version)
    assets = (raw for _, raw in state.scan(Kind.ASSETS))
    service = service_of(Settings(), reader.info.service)
    uploads = {file_id: service.upload(raw) for file_id, raw in state.scan(Kind.FILES)}
    rows = list(inventory(assets, uploads, reader.assets().files()))
    state.close()
    shown = [row for row in rows if row.absent or not missing]
    counts = Counter(str(row.held) for row in rows)
    out.document({"version": version, "counts": dict(counts), "files": [row.document() for row in shown]})
    if as_csv:
        out.raw(_csv(shown))
        return 0
    columns = shutil.get_terminal_size().columns
    for row in shown:
        for line in _lines(row, columns, paths=out.verbosity > 0):
            out.answer(line)
    held = sum(row.bytes or 0 for row in rows if not row.absent)
    states = [message("{n:,} {state}", n=n, state=_STATES.get(name, name)) for name, n in counts.items()]
    said = listed(states) if states else message("none")
    out.say("{files}: {states}.", files=counted(len(rows), "file"), states=said)
    out.say("{size} in the archive.", size=size_text(held))
    return 0


def _lines(row: FileRow, columns: int, *, paths: bool) -> Iterator[str]:
    """Yield a file's line, fitted to the terminal; a missing file also has its address and the reason."""
    name = printable(row.name or (row.url or row.path or "?").rstrip("/").rpartition("/")[2], 200)
    size = "" if row.bytes is None else size_text(row.bytes)
    start = left(translated(_STATES.get(str(row.held), str(row.held))), 9) + " " + right(size, 9) + "  "
    used: str = message("unused")
    if row.entries:
        some = ", ".join(row.entries[:5]) + (" …" if len(row.entries) > 5 else "")
        used = message("used by {entries}", entries=printable(some, 80))
    used = translated(used)
    room = max(columns - width(start) - width(used) - 2, 12)
    yield start + left(fitted(name, room), min(room, _NAME_COLUMNS)) + "  " + used
    if row.reason or row.absent:
        reason = f" ({printable(translated(row.reason), 200)})" if row.reason else ""
        yield f"    {printable(row.url or row.path or '', 120)}{reason}"
    elif paths and row.path:
        yield f"    {printable(row.path, 120)}"


def _csv(rows: list[FileRow]) -> bytes:
    """Return CSV for spreadsheets: UTF-8 with a byte order mark, and no formulas."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(_COLUMNS)
    for row in rows:
        document = row.document()
        writer.writerow([_cell(document[column]) for column in _COLUMNS])
    return b"\xef\xbb\xbf" + text.getvalue().encode("utf-8", "replace")


def _cell(value: object) -> str:
    if isinstance(value, list | tuple):
        text = " ".join(str(item) for item in value)
    else:
        text = "" if value is None else str(value)
    return f"'{text}" if text.startswith(_FORMULA) else text
