"""``export``: files for a new home, made from an archive alone."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from exporter.archive.history import resolve_at
from exporter.archive.reader import ArchiveReader
from exporter.archive.state import State
from exporter.cli import answers
from exporter.cli.export_options import export_options, read_options
from exporter.cli.inspect import HINT
from exporter.cli.options import archive_argument, config_option, setting_options, talking
from exporter.cli.output import Output, counted, size_text
from exporter.cli.settings import resolve
from exporter.errors import UsageError
from exporter.exporters.folder import check_target, measure_export, write_export, write_report
from exporter.exporters.formats import FORMATS
from exporter.exporters.options import ExportOptions, Side
from exporter.exporters.posts import Posts
from exporter.exporters.report import Report, short_table
from exporter.exporters.survey import survey_lines
from exporter.model.publication import Declared
from exporter.printable import printable

_LIST = "\n".join(f"  {name:<14} {form.help}" for name, form in FORMATS.items())
_EPILOG = f"""\b
Formats:
{_LIST}

\b
Examples:
  blog-exporter export wxr DIR OUT --public-open-flg 1 --visible-delete-flg f
  blog-exporter export wxr DIR OUT --target hatena --media-base-url https://new.example/media/
  blog-exporter export wxr DIR OUT --only all --dry-run
"""


@click.command("export", epilog=_EPILOG)
@click.argument("form", metavar="FORMAT", type=click.Choice(list(FORMATS)))
@archive_argument
@click.argument("target", metavar="OUT", type=click.Path(path_type=Path))
@export_options
@setting_options("timezone")
@config_option
@talking
def command(
    *, out: Output, form: str, archive: Path, target: Path, timezone: str | None, config: Path | None, **given: Any
) -> int:
    """Write the blog in the archive in DIR for a new home, as FORMAT, into the new folder OUT.

    OUT holds only what is public; OUT.report.json says what went in and out. Nothing is read but the archive.
    """
    reader = ArchiveReader(archive)
    blog_id = reader.info.blog_id
    said = {
        "public_open_flg": given["public_open_flg"],
        "period_flg_public": "yes" if given["period_flg_public"] else None,
        "visible_delete_flg": given["visible_delete_flg"],
    }
    settings = resolve({"timezone": timezone, **said}, config=config, blog_id=blog_id, warn=out.warn)
    declared = answers.declared(settings, blog_id, all_as_draft=given["all_as_draft"])
    version = reader.resolve() if given["at"] is None else resolve_at(reader, given["at"], settings["timezone"])
    options = read_options(given, settings, declared, _read_at(reader.manifest(version).finished_at))
    folders = _folders(target, given["only"], options)
    if not given["dry_run"]:
        for folder in folders.values():
            check_target(folder, force=given["force"])
    state = reader.state(version)
    try:
        _stop_undeclared(state, declared, out)
        documents = [
            _export(out, form, reader, state, replace(options, side=side), folder, dry_run=given["dry_run"])
            for side, folder in folders.items()
        ]
    finally:
        state.close()
    if not given["dry_run"]:
        answers.keep(said, blog_id, out)
    out.document({"archive": str(archive.resolve()), "dry_run": given["dry_run"], "exports": documents})
    return 0


def _folders(target: Path, only: str, options: ExportOptions) -> dict[Side, Path]:
    """Return which sides are written where; a folder never holds both."""
    if options.declared.all_as_draft or only == "private":
        return {Side.REST: target}
    rest = {Side.REST: target.with_name(f"{target.name}.NOT-PUBLIC")} if only == "all" else {}
    return {Side.PUBLIC: target, **rest}


def _stop_undeclared(state: State, declared: Declared, out: Output) -> None:
    if declared.open_flgs is not None or declared.all_as_draft:
        return
    for line in survey_lines(state):
        out.say(printable(line), level=-1)
    out.say(level=-1)
    out.say(HINT, level=-1)
    raise UsageError(
        "Nothing says yet which entries are public: look at the table above (or inspect DIR), and say so once with "
        "--public-open-flg, or make drafts of all with --all-as-draft."
    )


def _export(
    out: Output, form: str, reader: ArchiveReader, state: State, options: ExportOptions, folder: Path, *, dry_run: bool
) -> dict[str, Any]:
    """Make one side, say how it went, and return its report."""
    report = Report()
    posts = Posts(state, options, report, holds_back=FORMATS[form].holds_back)
    files = FORMATS[form].load()(posts, options, report)
    root = reader.layout.root
    written = measure_export(files, root) if dry_run else write_export(files, root, folder)
    document = {
        "format": form,
        "blog_id": reader.info.blog_id,
        "version": state.version,
        "side": str(options.side),
        "folder": str(folder.resolve()),
        "files": [file._asdict() for file in written],
        **report.document(),
    }
    for line in short_table(document):
        out.say(printable(line))
    total = size_text(sum(file.bytes for file in written))
    if dry_run:
        out.say(f"{folder} would hold {counted(len(written), 'file')}, {total}; nothing was written.")
    else:
        path = write_report(folder, document)
        out.answer(f"{folder}: {counted(len(written), 'file')}, {total}; the whole report is {path}.")
    hidden = sum(row["count"] for row in document["left_out"] if row["reason"].endswith("is not visible"))
    if hidden and not options.declared.visible_delete_flgs:
        out.warn(
            f"{counted(hidden, 'comment')} left out: say which are shown with --visible-delete-flg f (see inspect)."
        )
    return document


def _read_at(finished_at: str) -> datetime:
    moment = datetime.fromisoformat(finished_at)
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
