"""``fleet export``: every archive of a fleet as files for a new home."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exporter.cli.answers import flag_answers
from exporter.cli.export_options import check_options, export_options, read_options, unused_options
from exporter.cli.fleet_work import work, work_options
from exporter.cli.options import setting_options
from exporter.cli.output import Output
from exporter.errors import UsageError
from exporter.export.formats import NAMED
from exporter.library.export import format_named
from exporter.message import message
from exporter.settings import SETTINGS, read_config, resolve

if TYPE_CHECKING:
    from exporter.fleet.workers import Hands

_EPILOG = message(
    """\b
Examples:
  blog-exporter fleet export wxr ~/fleet ~/wxr --public-open-flg 1 --visible-delete-flg f
  blog-exporter fleet export jsonl ~/fleet ~/all --only all
"""
)


@click.command(
    "export",
    epilog=_EPILOG,
    help=message(
        "Write every archive below DIR as FORMAT, each into a folder of its own: OUT/ab/BLOG_ID.\n\n"
        "OUT holds only what is public; what is not goes into OUT.NOT-PUBLIC, if --only says so. What was exported in "
        "the same way, and has not changed since, stays as it is. What is public is said by options, variables and the "
        "settings file; answers kept by `export` are of single blogs and do not count."
    ),
)
@click.argument("form", metavar="FORMAT")
@click.argument("root", metavar="DIR", type=click.Path(path_type=Path))
@click.argument("target", metavar="OUT", type=click.Path(path_type=Path))
@export_options
@setting_options("timezone")
@work_options
def command(
    *,
    out: Output,
    form: str,
    root: Path,
    target: Path,
    hands: Hands,
    report: Path | None,
    **given: Any,
) -> int:
    """Run ``fleet export``."""
    from exporter.archive.fleet_folder import require_outside
    from exporter.fleet.archive_jobs import JobOptions
    from exporter.fleet.export_job import FleetExportOptions, export
    from exporter.model.publication import Declared
    from exporter.service.registry import service_of

    format_named(form)
    check_options(form, given)
    for each in unused_options(form, given):
        out.warn(message("{option} has no effect on {form}.", option=each, form=form))
    if not target.name:
        raise UsageError(message("{target} cannot be a new folder; name one.", target=target))
    private = target.with_name(f"{target.name}.NOT-PUBLIC")
    for place in (target, private):
        require_outside(root, place)
    config = given.pop("config")
    settings = {name: value for name, value in given.items() if name in SETTINGS} | flag_answers(given)
    found = replace(resolve(settings, config=config), entry_url=None)  # each blog may have its own
    drafts = Declared(all_as_draft=given["all_as_draft"])
    service = service_of(found, found.service)
    declared = service.declared(found, all_as_draft=drafts.all_as_draft)
    if not NAMED[form].whole and service.is_undeclared(declared) and not read_config(config).blogs:
        raise UsageError(message("Nothing says yet which entries are public. {hint}", hint=service.flag_hint))
    wanted = given["only"]
    options = FleetExportOptions(
        JobOptions(settings, config),
        form,
        None if wanted == "private" or NAMED[form].whole else target,
        None if wanted == "public" else private,
        read_options(given, found, drafts, service),
        given["at"],
        given["force"],
        given["dry_run"],
    )
    places = {"public": options.public, "private": options.private}
    folders = {name: None if place is None else str(place.absolute()) for name, place in places.items()}
    return work(out, root, "export", export, options, hands, report, config, {"format": form, **folders})
