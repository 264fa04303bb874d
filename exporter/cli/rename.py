"""``rename``: continue an archive after its blog got a new ID."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from exporter.cli.blog_names import address_in, archive_named, blog_id_in, without_password
from exporter.cli.help import cli_command
from exporter.cli.options import complete_archives, given_settings, with_config
from exporter.cli.output import Output
from exporter.cli.target import find_target
from exporter.errors import UsageError
from exporter.message import message, said, suggested


@cli_command(
    "rename",
    help=message(
        """Continue the archive in DIR with the blog's NEW address or ID, after the blog was renamed at its service.

        The command reads one page of entries there, and refuses a blog with other entries. The archive keeps
        its history and its first name; links to the old address still lead to its entries. The next backup reads the
        blog by its new ID."""
    ),
)
@click.argument("words", metavar="DIR", shell_complete=complete_archives)
@click.argument("new", metavar="NEW")
@with_config("base_url", "profile", "token_file", "token_for", "account")
def command(*, out: Output, words: str, new: str, config: Path | None, **given: Any) -> int:
    """Run ``rename``."""
    import asyncio

    from exporter.archive.settings_file import note_archive
    from exporter.cli.signals import catch_signals
    from exporter.library.rename import rename

    try:
        address, blog_id = address_in(new), blog_id_in(new)
    except ValueError as error:
        raise UsageError("{new}: {reason}.", new=repr(without_password(new)), reason=said(error)) from None
    target = find_target(str(archive_named(words, config)), given, config=config, new=False, warn=out.warn)
    if target.notice is not None:
        out.warn(target.notice)
    with catch_signals():
        found = asyncio.run(
            rename(target.root, blog_id, target.settings, address, given=given_settings(given), warn=out.warn)
        )
    note_archive(target.root, target.label, found.blog_id)
    out.document(
        {
            "archive": str(target.root.absolute()),
            "blog_id": target.blog_id,
            "renamed_to": found.blog_id,
            "listed": found.listed,
            "known": found.known,
            "same": found.same,
        }
    )
    out.done(
        "{new} is the blog in {archive}: {same:,} of {listed:,} entries on its first page are in it.",
        new=found.blog_id,
        archive=target.root,
        same=found.same,
        listed=found.listed,
    )
    out.done("Back up from there now: {command}", command=suggested("backup", target.root))
    return 0
