"""``fleet export``: every archive of a fleet as files for a new home."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import click
from click.core import ParameterSource

from exporter.cli.export_options import check_options, export_options, read_options, unused_options
from exporter.cli.fleet_archives import FleetWork, with_work
from exporter.cli.help import PATH, cli_command
from exporter.cli.options import given_settings, setting_options, settings_of
from exporter.errors import UsageError
from exporter.export.formats import NAMED
from exporter.library.export import format_named
from exporter.message import message
from exporter.service.registry import FLAG_SETTINGS
from exporter.setting_sources import option_name
from exporter.settings import read_config, resolve

_EPILOG = message(
    """\b
Examples:
  blog-exporter fleet export wxr ~/fleet ~/wxr --public-open-flg 1 --visible-delete-flg f
  blog-exporter fleet export jsonl ~/fleet ~/all --only all --public-open-flg 1 --visible-delete-flg f
  blog-exporter fleet export warc ~/fleet ~/warc --public-open-flg 1 --visible-delete-flg f
"""
)


WARC: Final = "warc"
_OF_WARC: Final = frozenset(
    {"form", "root", "target", "with_api", "copy", "dry_run", "config", "report", "workers", "engine", "scheduler"}
    | {"as_json", "quiet", "verbose", "lang", "timezone", *FLAG_SETTINGS}
)
"""The parameters that have an effect on captures."""


@cli_command(
    "export",
    epilog=_EPILOG,
    help=message(
        "Write every archive below DIR as FORMAT, each into a separate folder: OUT/ab/BLOG_ID.\n\n"
        "OUT holds only public entries; other entries go into OUT.NOT-PUBLIC, if --only asks for them. Exports with "
        "the same options are skipped if their archives are unchanged. Options, variables and the settings file say "
        "which entries are public; answers kept by `export` belong to single blogs and do not count.\n\n"
        "The format warc puts the WARC files of all captures into OUT, with one index for all of them and without "
        "pages of entries that are not public now."
    ),
)
@click.argument("form", metavar="FORMAT")
@click.argument("root", metavar="DIR", type=PATH)
@click.argument("target", metavar="OUT", type=PATH)
@export_options
@click.option("--with-api", is_flag=True, help=message("warc: also the exchanges with the service's API."))
@click.option("--copy", is_flag=True, help=message("warc: copy the files; never make hard links."))
@setting_options("timezone")
@with_work
def command(*, work: FleetWork, form: str, root: Path, target: Path, with_api: bool, copy: bool, **given: Any) -> int:
    """Run ``fleet export``."""
    if form == WARC:
        return _captures(work, root, target, given, with_api=with_api, copy=copy)
    for option, is_given in (("--with-api", with_api), ("--copy", copy)):
        if is_given:
            raise UsageError(
                "{option} is for {known}, not for {form}; leave it out.", option=option, known=WARC, form=form
            )
    from exporter.archive.fleet_folder import require_outside
    from exporter.export.folder import require_name
    from exporter.fleet.export_job import FleetExportOptions, export
    from exporter.fleet.work import JobOptions
    from exporter.model.publication import Declared
    from exporter.service.registry import service_of

    format_named(form)
    check_options(form, given)
    for each in unused_options(form, given):
        work.out.warn("{option} has no effect on {form}.", option=each, form=form)
    if NAMED[form].mails and not given["without_addresses"]:
        work.out.warn(
            "Files of {form} hold the mail addresses of commenters, for the new home alone. --without-addresses leaves "
            "them out.",
            form=form,
        )
    require_name(target)
    private = target.with_name(f"{target.name}.NOT-PUBLIC")
    for place in (target, private):
        require_outside(root, place)
    config = work.config
    settings = given_settings(given)
    found = replace(resolve(settings, config=config), entry_url=None)  # each blog may have its own
    drafts = Declared(all_as_draft=given["all_as_draft"])
    service = service_of(found, found.service)
    declared = service.declared(found, all_as_draft=drafts.all_as_draft)
    if not NAMED[form].whole and service.is_undeclared(declared) and not read_config(config).blogs:
        raise UsageError("Nothing says yet which entries are public. {hint}", hint=service.flag_hint)
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
    folders: dict[str, Any] = {name: None if place is None else str(place.absolute()) for name, place in places.items()}
    return work.run(root, "export", export, options, format=form, **folders)


def _captures(work: FleetWork, root: Path, target: Path, given: dict[str, Any], *, with_api: bool, copy: bool) -> int:
    """Export the captures of all archives."""
    from contextlib import closing

    from exporter.archive.fleet_folder import folders_in, require_fleet
    from exporter.fleet.warc_export import WarcExportOptions, export_captures
    from exporter.fleet.work import JobOptions

    context = click.get_current_context()
    for name in context.params:
        if name not in _OF_WARC and context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            work.out.warn("{option} has no effect on {form}.", option=option_name(name), form=WARC)
    settings_of(work.out, work.config)
    require_fleet(root)
    job = JobOptions(given_settings(given), work.config)
    options = WarcExportOptions(job, target.absolute(), with_api, copy, given["dry_run"])
    with closing(export_captures(root, options, work.pool)) as results:
        about = {"format": WARC, "public": str(target.absolute()), "private": None}
        return work.print_results(str(root.absolute()), "export", results, folders_in(root), **about)
