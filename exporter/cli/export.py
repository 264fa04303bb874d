"""``export``: files for a new home, from the archive alone."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from exporter.archive.archive import Archive
from exporter.cli.answers import keep_answers
from exporter.cli.blog_names import archive_named
from exporter.cli.export_options import (
    ExportJob,
    check_no_wacz_options,
    check_wacz_options,
    chosen,
    export_options,
    print_doubt,
    resolved,
    run_export,
    unused_options,
    wacz_options,
)
from exporter.cli.help import PATH, OrderedCommand, cli_command
from exporter.cli.options import readable_archive, with_config
from exporter.cli.output import Output, counted, shown, size_text
from exporter.cli.signals import ended_by_sigterm
from exporter.cli.undeclared import same_command
from exporter.errors import UsageError
from exporter.export.folder import report_path
from exporter.export.formats import FORMATS, NAMED, WACZ
from exporter.export.targets import TARGETS
from exporter.library.export import Exported, format_named
from exporter.message import listed, message, suggested
from exporter.settings import read_config
from exporter.translation import translated

_EPILOG = """\b
Examples:
  blog-exporter export
  blog-exporter export wxr DIR OUT --public-open-flg 1 --visible-delete-flg f
  blog-exporter export hatena DIR OUT --media-base-url https://new.example/media/
  blog-exporter export wxr DIR OUT --only all --dry-run
  blog-exporter export wacz DIR OUT.wacz
"""
_ARCHIVE_ALONE = {"entries_not_held", "comments_hidden", "comments_of_others", "comments_not_held", "pictures_not_held",
                  "files_not_shown"}  # fmt: skip
"""What no option of a format may bring, by the names of the report."""
_WACZ_HELP = message("libraries and ReplayWeb.page: the captured pages in one file")


class _Command(OrderedCommand):
    """Lists the formats and targets in its help only, since that imports each of them."""

    def swapped(self, values: Mapping[str, Any]) -> tuple[str, str] | None:
        form, archive = str(values.get("form")), str(values.get("archive"))
        return (form, archive) if _is_format(archive) and not _is_format(form) else None

    def missing(self, values: Mapping[str, Any]) -> list[str]:
        return [] if isinstance(values.get("target"), str) else [f"{Path(values['form'])}-{values['archive']}"]

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        column = max(map(len, NAMED))
        for heading, names in (
            (message("Formats"), FORMATS),
            (message("Targets, each a format with the known limits of its import (docs/targets.md)"), TARGETS),
        ):
            with formatter.section(translated(heading)):
                formatter.write_dl([(name, translated(NAMED[name].help)) for name in names], column)
        with formatter.section(translated(message("Captures"))):
            formatter.write_dl([(WACZ, translated(_WACZ_HELP))], column)
        super().format_epilog(ctx, formatter)


@cli_command(
    "export",
    cls=_Command,
    epilog=_EPILOG,
    help=message(
        """Export the blog in the archive in DIR, as FORMAT or for a target, into the new folder OUT.

        OUT contains only public content; OUT.report.json lists what was written and left out. The command reads
        nothing but the archive. On a terminal, `export` or `export DIR` asks all questions."""
    ),
)
@click.argument("form", metavar="[FORMAT]", required=False)
@readable_archive("PICTURES", "[DIR]")
@click.argument("target", metavar="[OUT]", required=False, type=PATH)
@export_options
@wacz_options
@with_config()
def export_command(*, out: Output, form: str | None, archive: Path | None, target: Path | None, **given: Any) -> int:
    """Run ``export``."""
    if form is None:
        return _ask(out, None, given)
    if form not in NAMED and archive is None and (Path(form).is_dir() or form in read_config(given["config"]).blogs):
        return _ask(out, archive_named(form, given["config"]), given)
    if form == WACZ:
        return _export_wacz(out, archive, target, given)
    return _export(out, _job(form, archive, target, given))


def _is_format(word: str) -> bool:
    """Return whether a word names a format, or a target."""
    return word in NAMED or word == WACZ


def _ask(out: Output, archive: Path | None, given: dict[str, Any]) -> int:
    if out.as_json or not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(
            "Name the format: export FORMAT DIR OUT, with FORMAT one of {formats}, or a target, one of {targets}. "
            "Questions need a terminal.",
            formats=listed(FORMATS),
            targets=listed(TARGETS),
        )
    from exporter.cli.wizard import ask_and_export

    return ask_and_export(out, archive, given)


def _job(form: str, archive: Path | None, target: Path | None, given: dict[str, Any]) -> ExportJob:
    format_named(form)
    if archive is None or target is None:
        raise UsageError(
            "export {form} needs DIR, the archive, and OUT, a new folder: export FORMAT DIR OUT.", form=form
        )
    return ExportJob(form, archive, target, given)


def _export(out: Output, job: ExportJob) -> int:
    dry_run = job.given["dry_run"]
    check_no_wacz_options(job.form, job.given)
    for option in unused_options(job.form, job.given):
        out.warn("{option} has no effect on {form}.", option=option, form=job.form)
    exported, options = run_export(job, out, dry_run=dry_run)
    for each in exported:
        _print(out, each, dry_run=dry_run)
        if each.document["target"] is None:
            _print_limits(out, job.form, each)
    _print_what_brings_more(out, job, exported)
    print_doubt(out, job.form)
    if not dry_run and not NAMED[job.form].whole:
        keep_answers(job.given, job.archive, options.service, out, version=exported[0].document["version"])
    exports = [each.document for each in exported]
    out.document({"archive": str(job.archive.resolve()), "dry_run": dry_run, "exports": exports})
    return 0


def _export_wacz(out: Output, archive: Path | None, target: Path | None, given: dict[str, Any]) -> int:
    from exporter.library.wacz import WaczOptions, export_wacz

    if archive is None or target is None:
        raise UsageError(message("export wacz needs DIR, the archive, and OUT, a new file: export wacz DIR OUT.wacz."))
    check_wacz_options(given)
    info = Archive.open(archive).info
    found = resolved(given, info.blog_id, out)
    choice = chosen(out, archive, info, found, given)
    wanted = WaczOptions(given["rendered"], given["sign"], given["force"], given["dry_run"])
    with ended_by_sigterm(message("nothing was written")):
        exported = export_wacz(archive, target, choice.options, wanted, at=choice.version, check=choice.check)
    _print(out, exported, dry_run=wanted.dry_run)
    _print_captures(out, exported)
    if not wanted.dry_run:
        keep_answers(given, archive, choice.options.service, out, version=exported.document["version"])
    out.document({"archive": str(archive.resolve()), "dry_run": wanted.dry_run, "exports": [exported.document]})
    return 0


def _print_captures(out: Output, exported: Exported) -> None:
    packed = exported.document["captures"]
    out.say(
        "Packed: {captures} with {posts}, {others}.",
        captures=counted(packed["captures"], "capture"),
        posts=counted(packed["posts"], "entry"),
        others=counted(packed["other_pages"], "other page"),
    )
    if packed["withheld_records"]:
        out.warn(
            "{records} left out: pages of entries that are not public now. Lists that were captured before may still "
            "show their titles.",
            records=counted(packed["withheld_records"], "captured record"),
        )


def _print(out: Output, exported: Exported, *, dry_run: bool) -> None:
    folder, report, document, _ = exported
    for line in report.lines(translated):
        out.say(shown(line))
    files, total = counted(document["file_count"], "file"), size_text(document["bytes"])
    if dry_run:
        parts = listed([files, total])
        out.say("{folder} would hold {parts}; nothing was written.", folder=folder, parts=parts)
    else:
        out.done(
            "{folder}: {parts}; the whole report is {report}.",
            folder=folder,
            parts=listed([files, total]),
            report=report_path(folder),
        )
    if document["in"]["entries"] and not document["out"]["entries"]:
        out.warn("No entry is in {folder}; the lines above say why.", folder=folder)
    _print_hidden_since(out, exported)


def _print_what_brings_more(out: Output, job: ExportJob, exported: Sequence[Exported]) -> None:
    """Print the commands that bring what the lines about the closing day name, of all folders together."""
    given, form = job.given, NAMED[job.form]
    missing = {name for each in exported for name, loss in each.report.closing().items() if loss.number}
    options = ["--only", "all"] if missing & {"drafts", "private"} and given["only"] != "all" else []
    if "comments_hidden" in missing and form.holds_back and not given["hidden_comments"]:
        options.append("--hidden-comments")
    if missing & {"old_address", "fetched", "new_address"} and form.media and not given["media_folder"]:
        options.append("--media-folder")
    if options:
        again = () if given["dry_run"] or given["force"] else ("--force",)
        out.say("More of it is in the export of: {command}", command=same_command(*options, *again))
    if missing & {"not_saved_yet", "not_read"}:
        out.say("What is not saved yet may come with: {command}", command=suggested("backup", job.archive))
    if missing & _ARCHIVE_ALONE:
        target = job.target.with_name(f"{job.target.name}-everything")
        command = suggested("export", "bagit", job.archive, target, "--only", "all")
        out.say("Everything, never to be published: {command}", command=command)


def _print_hidden_since(out: Output, exported: Exported) -> None:
    """Print that the export of an older version leaves out entries that were hidden or removed later."""
    hidden = exported.report.hidden_since()
    if hidden and not exported.private:
        out.warn(
            "{entries} of version {version} left out: hidden or removed since. --only all or --only private writes "
            "them into OUT.NOT-PUBLIC.",
            entries=counted(hidden, "entry"),
            version=exported.document["version"],
        )


def _print_limits(out: Output, form: str, exported: Exported) -> None:
    """Print the targets that would refuse a file, since their limits were not requested."""
    largest = max((file.bytes for file in exported.files), default=0)
    for name, target in TARGETS.items():
        limited = form in target.forms and target.max_entries
        if limited and (exported.document["out"]["entries"] > target.max_entries or largest > target.max_bytes):
            out.say(
                "{title} reads at most {entries} and {size} in a file; for smaller files, add --target {name}.",
                title=target.title,
                entries=counted(target.max_entries, "entry"),
                size=size_text(target.max_bytes),
                name=name,
            )
