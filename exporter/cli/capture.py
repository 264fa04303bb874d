"""``capture``: record a blog's public pages, with progress and a summary."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exporter.cli.blog_names import address_in
from exporter.cli.contact import with_contact
from exporter.cli.help import PATH, cli_command
from exporter.cli.options import Command, setting_options, with_config
from exporter.cli.output import OnLoss, Output
from exporter.cli.source import NamedSource, find_source, host_of
from exporter.cli.target import BlogTarget, find_target, remember_options
from exporter.errors import Incomplete, UsageError
from exporter.message import message
from exporter.service.declarations import PUBLIC_SITE
from exporter.setting_sources import option_name
from exporter.settings import SETTINGS

if TYPE_CHECKING:
    from exporter.capture.outcome import CaptureOutcome

_EPILOG = message(
    """\b
Examples:
  blog-exporter capture https://name.example.jp/
  blog-exporter capture ~/blog      (an existing archive)
  blog-exporter capture ~/blog --user-agent "my-archive/1.0 (+mailto:me@example.jp)"
"""
)
_SAVED = frozenset({0, Incomplete.exit_code})


def capture_limit_options(command: Command) -> Command:
    """Add an option for each limit."""
    for name in ("capture_max_time", "capture_max_size", "capture_max_pages"):
        setting, option = SETTINGS[name], option_name(name)
        how: dict[str, Any] = {"metavar": setting.metavar, "show_default": setting.default or None}
        command = click.option(option, name, help=setting.help, **how)(command)
    return command


@cli_command(
    "capture",
    epilog=_EPILOG,
    help=message(
        """Record the public pages of the blog SOURCE, with their styles, fonts, pictures and scripts.

        SOURCE is the blog's address, its ID at a known service, the folder of its archive, or the name of a blog in
        your settings file. The exchanges are kept as WARC 1.1 in captures/ of the archive. A later capture keeps only
        the changes. To resume an interrupted capture, run the command again."""
    ),
)
@click.argument("words", metavar="SOURCE")
@click.option("--archive", type=PATH, metavar="DIR", help=message("The archive. [default: ./BLOG_ID]"))
@setting_options(
    "base_url", "profile", "service", "home_url", "user_agent", "operator", "max_asset_size", "concurrency", "rate",
    "retries", "give_up_after", "wait_lock", "page_rules", "obey_robots", "entry_url", "timezone", "skip_asset_hosts",
    "allow_private_network",
)  # fmt: skip
@capture_limit_options
@click.option("--new", is_flag=True, help=message("Create a new archive in place of a missing one."))
@click.option("--dry-run", is_flag=True, help=message("Only read robots.txt, home page, sitemaps and feeds."))
@click.option("--no-remember", is_flag=True, help=message("Do not keep these options in the archive's settings.toml."))
@with_config(on_loss=OnLoss.WARN)
def capture_command(
    *, out: Output, words: str, archive: Path | None, config: Path | None, new: bool, dry_run: bool, no_remember: bool,
    **options: Any,
) -> int:  # fmt: skip
    """Run ``capture``."""
    import asyncio

    from exporter.archive.settings_file import note_archive, require_archive_if_known
    from exporter.cli.capture_output import capture_lines, captured
    from exporter.cli.signals import catch_signals
    from exporter.http.engine import Engine

    source = _find(words, options, out=out, archive=archive, config=config, new=new)
    target = source.target
    if source.files is not None:
        raise UsageError("{path} is an export file, which has no pages. Name the blog's address.", path=words)
    if target.notice is not None:
        out.warn(target.notice)
    settings = target.settings if dry_run else with_contact(out, target.settings, config)
    if not new:
        require_archive_if_known(target.root, target.label)
    begun = time.monotonic()

    async def run() -> CaptureOutcome:
        async with Engine() as engine:
            return await captured(target.root, target.blog_id, settings, engine, out, dry_run=dry_run, signals=signals)

    with catch_signals() as signals:
        outcome = asyncio.run(run())
    for line in capture_lines(outcome, dry_run=dry_run, took=time.monotonic() - begun):
        out.say(line)
    if not dry_run and outcome.exit_code in _SAVED:
        note_archive(target.root, target.label)
        if not no_remember:
            remember_options(target, source.options, out)
        out.say("Archive: {path}", path=str(target.root.absolute()))
    if out.verbosity < 0 and outcome.error is not None:
        out.warn("{blog}: {reason}", blog=target.blog_id, reason=outcome.error)
    out.document(
        {
            "blog_id": target.blog_id,
            "archive": str(target.root.absolute()),
            "dry_run": dry_run,
            **outcome.line(),
        }
    )
    return outcome.exit_code


def _find(
    words: str, options: Mapping[str, Any], *, out: Output, archive: Path | None, config: Path | None, new: bool
) -> NamedSource:
    """Return the blog that the user named. An address without an API, a feed or a sitemap still has pages."""
    try:
        return find_source(words, options, out=out, archive=archive, config=config, new=new)
    except UsageError:
        address = address_in(words)
        if address is None or options.get("service") not in {None, PUBLIC_SITE.name}:
            raise
        chosen = {**options, "service": PUBLIC_SITE.name, "base_url": options.get("base_url") or address}
        chosen["home_url"] = options.get("home_url") or address
        blog_id = host_of(address)
        root = archive or Path(blog_id)
        how: dict[str, Any] = {"config": config, "new": new, "warn": out.warn, "command": "capture"}
        target: BlogTarget = find_target(blog_id, chosen, archive=root, **how)
        return NamedSource(target, chosen)
