"""``rebuild``: ``latest/`` and its views again, from the versions alone."""

from __future__ import annotations

import click

from exporter.archive.archive import Archive
from exporter.cli.options import archive_argument, with_archive, without_views
from exporter.cli.output import Output, counted
from exporter.message import message
from exporter.settings import Settings


@click.command(
    "rebuild",
    help=message(
        """Make latest/ of the archive in DIR again, offline; nothing in versions/ is touched.

        With --at it shows an older version, until the next backup or rebuild."""
    ),
)
@archive_argument
@click.option("--at", metavar="N|DATE", help=message("Show version N there, or that of a date. [default: the newest]"))
@without_views
@with_archive("timezone", "entry_url", "wait_lock")
def command(*, out: Output, archive: Archive, settings: Settings, at: str | None) -> int:
    """Run ``rebuild``."""
    from exporter.library.views import rebuild

    number = archive.version_at(at, settings.timezone)
    made = rebuild(archive, settings, at=number)
    out.document({"archive": str(archive.path.absolute()), "version": number, "files_made": made.files})
    files = counted(made.files, "file")
    out.say(message("latest/ shows version {version}; {files} of its views were made.", version=number, files=files))
    return 0
