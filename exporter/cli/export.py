"""``export``: files for a new home, made from an archive alone."""

from __future__ import annotations

import sys
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import click

from exporter.cli import export_job
from exporter.cli.export_job import Done, Job, run, said
from exporter.cli.export_options import export_options, unused
from exporter.cli.options import config_option, setting_options, talking
from exporter.cli.output import Output, counted, size_text
from exporter.errors import UsageError
from exporter.export.folder import report_path
from exporter.export.formats import FORMATS, TARGETS
from exporter.text import printable

_LIST = "\n".join(f"  {name:<14} {form.help}" for name, form in FORMATS.items())
_EPILOG = f"""\b
Formats:
{_LIST}

\b
Examples:
  blog-exporter export
  blog-exporter export wxr DIR OUT --public-open-flg 1 --visible-delete-flg f
  blog-exporter export wxr DIR OUT --target hatena --media-base-url https://new.example/media/
  blog-exporter export wxr DIR OUT --only all --dry-run
"""


@click.command("export", epilog=_EPILOG)
@click.argument("form", metavar="[FORMAT]", required=False)
@click.argument("archive", metavar="[DIR]", required=False, type=click.Path(path_type=Path))
@click.argument("target", metavar="[OUT]", required=False, type=click.Path(path_type=Path))
@export_options
@setting_options("timezone")
@config_option
@talking
def command(*, out: Output, form: str | None, archive: Path | None, target: Path | None, **given: Any) -> int:
    """Write the blog in the archive in DIR for a new home, as FORMAT, into the new folder OUT.

    OUT holds only what is public; OUT.report.json says what went in and out. Nothing is read but the archive.
    On a terminal, `export` alone or `export DIR` asks where the blog goes and what it needs to know.
    """
    if form is None or (form not in FORMATS and archive is None and Path(form).is_dir()):
        return _ask(out, None if form is None else Path(form), given)
    return _export(out, _job(form, archive, target, given))


def _ask(out: Output, archive: Path | None, given: dict[str, Any]) -> int:
    if out.as_json or not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(
            f"Say what to write: export FORMAT DIR OUT, FORMAT being one of {', '.join(FORMATS)}; "
            "only on a terminal can it be asked."
        )
    from exporter.cli.wizard import ask_and_export  # noqa: PLC0415 - its texts are needed by those who are asked only

    return ask_and_export(out, archive, given)


def _job(form: str, archive: Path | None, target: Path | None, given: dict[str, Any]) -> Job:
    if form not in FORMATS:
        near = get_close_matches(form, FORMATS, 1)
        hint = f" (did you mean {near[0]}?)" if near else f": it is one of {', '.join(FORMATS)}"
        raise UsageError(f"There is no format {form!r}{hint}.")
    if archive is None or target is None:
        missing = "DIR, the archive, and OUT, a new folder" if archive is None else "OUT, a new folder"
        raise UsageError(f"export {form} lacks {missing}: export FORMAT DIR OUT.")
    return Job(form, archive, target, given)


def _export(out: Output, job: Job) -> int:
    dry_run = job.given["dry_run"]
    for option in unused(job.form, job.given):
        out.warn(f"{option} means nothing to {job.form}.")
    done = run(job, out, dry_run=dry_run)
    for side in done:
        _tell(out, job, side, dry_run=dry_run)
    if not dry_run and not FORMATS[job.form].whole:
        blog_id = done[0].document["blog_id"]
        new = said(job.given)
        path = export_job.keep(new, blog_id, out)
        if path is not None:
            lines = export_job.written(new)
            out.say(printable(f"Kept for {blog_id}, so that it need not be said again: {lines} (in {path})"))
    exports = [side.document for side in done]
    out.document({"archive": str(job.archive.resolve()), "dry_run": dry_run, "exports": exports})
    return 0


def _tell(out: Output, job: Job, side: Done, *, dry_run: bool) -> None:
    document = side.document
    for line in side.report.lines():
        out.say(printable(line))
    files, total = counted(document["file_count"], "file"), size_text(document["bytes"])
    if dry_run:
        out.say(f"{side.folder} would hold {files}, {total}; nothing was written.")
    else:
        out.answer(f"{side.folder}: {files}, {total}; the whole report is {report_path(side.folder)}.")
    if document["in"]["entries"] and not document["out"]["entries"]:
        out.warn(f"No entry is in {side.folder}; the lines above say why.")
    hidden = side.report.hidden_comments()
    if hidden and not side.declared.visible_comment_flags:
        out.warn(
            f"{counted(hidden, 'comment')} left out: say which are shown with --visible-delete-flg f (see inspect)."
        )
    if job.form in {"wxr", "movabletype"} and job.given["limits_of"] is None:
        _tell_of_hatena(out, side)


def _tell_of_hatena(out: Output, side: Done) -> None:
    limits = TARGETS["hatena"]
    largest = max((file.bytes for file in side.files), default=0)
    if side.document["out"]["entries"] > limits.max_entries or largest > limits.max_bytes:
        out.say("Hatena stops half way in files of 5,000 entries or 100 MB; for Hatena, add --target hatena.")
