"""The options of ``export``, and what they ask for."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from typing import Any

import click

from exporter.cli import values
from exporter.cli.settings import Settings, assumptions_of
from exporter.exporters.formats import TARGETS
from exporter.exporters.options import ExportOptions
from exporter.model.publication import Declared
from exporter.render.addresses import AddressPattern


def _day(_context: click.Context, _parameter: click.Parameter, text: str | None) -> date | None:
    try:
        return None if text is None else date.fromisoformat(text)
    except ValueError:
        raise click.BadParameter(f"{text!r} is no day such as 2016-03-19") from None


def _bytes(_context: click.Context, _parameter: click.Parameter, text: str | None) -> int | None:
    try:
        return None if text is None else values.size(text)
    except ValueError as error:
        raise click.BadParameter(f"{text!r}: {error}") from None


def export_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say what goes into an export."""
    for option in reversed(
        [
            click.option("--at", metavar="N|DATE", help="As of version N, or of a date. [default: the newest]"),
            click.option("--since", metavar="DAY", callback=_day, help="Only entries of this day or later."),
            click.option("--until", metavar="DAY", callback=_day, help="Only entries of this day or earlier."),
            click.option("--category", metavar="NAME", help="Only entries of this category."),
            click.option(
                "--only",
                type=click.Choice(["public", "private", "all"]),
                default="public",
                show_default=True,
                help="What is not public (private entries and drafts) goes into OUT.NOT-PUBLIC with 'all'.",
            ),
            click.option("--public-only", "only", flag_value="public", help="The same as --only public."),
            click.option(
                "--public-open-flg", metavar="VALUE", help="Values of open_flg that mean published: 1 or 1,3."
            ),
            click.option(
                "--period-flg-public", is_flag=True, help="Entries with period_flg t are as public as others."
            ),
            click.option(
                "--visible-delete-flg", metavar="VALUE", help="Values of delete_flg that mean shown: f, t, f,t."
            ),
            click.option("--all-as-draft", is_flag=True, help="Make every entry a draft; nothing need be known then."),
            click.option(
                "--hidden-comments", is_flag=True, help="Also write hidden comments, unapproved, where possible."
            ),
            click.option(
                "--body",
                type=click.Choice(["markdown", "html"]),
                default="markdown",
                show_default=True,
                help="Form of the bodies in folders of Markdown.",
            ),
            click.option("--media-base-url", metavar="URL", default="", help="Where the pictures will be found."),
            click.option("--media-folder", is_flag=True, help="Write the pictures into OUT/media."),
            click.option("--max-entries", type=click.IntRange(1), metavar="N", help="Most entries in a file."),
            click.option("--max-bytes", metavar="SIZE", callback=_bytes, help="Largest file, such as 90MB."),
            click.option("--target", "limits_of", type=click.Choice(sorted(TARGETS)), help="Known limits: hatena."),
            click.option(
                "--old-url",
                "old_urls",
                multiple=True,
                metavar="PATTERN",
                help="Addresses of the old blog's entries, such as https://OLD/Entry/{entry_id}/.",
            ),
            click.option("--new-url", metavar="PATTERN", help="Addresses of the new ones, such as https://NEW/{slug}."),
            click.option("--force", is_flag=True, help="Replace an earlier export."),
            click.option("--dry-run", is_flag=True, help="Write nothing; print the report."),
        ]
    ):
        command = option(command)
    return command


def read_options(given: dict[str, Any], settings: Settings, declared: Declared, as_of: datetime) -> ExportOptions:
    """Return what the command line asked for.

    Raises:
        UsageError: a pattern of addresses is none.
    """
    limits = TARGETS.get(given["limits_of"] or "")
    base = given["media_base_url"]
    new_url = given["new_url"]
    known = [settings["entry_url"]]
    return ExportOptions(
        declared=declared,
        as_of=as_of,
        since=given["since"],
        until=given["until"],
        category=given["category"],
        hidden_comments=given["hidden_comments"],
        body=given["body"],
        media_base_url=f"{base.rstrip('/')}/" if base else "",
        media_folder=given["media_folder"],
        max_entries=given["max_entries"] or (limits.max_entries if limits else 0),
        max_bytes=given["max_bytes"] or (limits.max_bytes if limits else 0),
        old_urls=tuple(AddressPattern(text, "--old-url") for text in given["old_urls"] or filter(None, known)),
        new_url=None if new_url is None else AddressPattern(new_url, "--new-url"),
        assume=assumptions_of(settings),
    )
