"""``rebuild``: ``latest/`` and its views again, from the versions alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from exporter.cli.options import archive_argument, config_option, opened, setting_options, with_output, without_views
from exporter.cli.output import Output, counted
from exporter.library.upkeep import rebuild


@click.command("rebuild")
@archive_argument
@click.option("--at", metavar="N|DATE", help="Show version N there, or that of a date. [default: the newest]")
@without_views
@setting_options("timezone", "entry_url", "wait_lock")
@config_option
@with_output()
def command(*, out: Output, archive: Path, at: str | None, config: Path | None, **options: Any) -> int:
    """Make latest/ of the archive in DIR again, offline; nothing in versions/ is touched.

    With --at it shows an older version, until the next backup or rebuild.
    """
    found, settings = opened(out, archive, options, config)
    number = found.version_at(at, settings.timezone)
    made = rebuild(found, settings, at=number)
    out.document({"archive": str(archive.absolute()), "version": number, "files_made": made.files})
    out.say(f"latest/ shows version {number}; {counted(made.files, 'file')} of its views were made.")
    return 0
