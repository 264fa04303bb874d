"""``unjoin``: take a second source out of an archive again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from exporter.cli.help import cli_command
from exporter.cli.options import archive_argument, with_archive
from exporter.cli.output import Output
from exporter.message import message, suggested

if TYPE_CHECKING:
    from exporter.archive.archive import Archive
    from exporter.settings import Settings


@cli_command(
    "unjoin",
    help=message(
        """Take SOURCE, such as public-site or movable-type, out of the archive in DIR: the wrong blog was joined.

        A new version has only what the other sources gave. Earlier versions keep everything. The next backup does not
        read SOURCE again, unless you name it."""
    ),
)
@archive_argument
@click.argument("source", metavar="SOURCE")
@with_archive("wait_lock")
def command(*, out: Output, archive: Archive, settings: Settings, source: str) -> int:
    """Run ``unjoin``."""
    from exporter.clock import SystemClock
    from exporter.library.unjoin import unjoin

    done = unjoin(archive, settings, source, SystemClock())
    out.document(
        {
            "archive": str(archive.path.absolute()),
            "unjoined": source,
            "version": done.version,
            "changed": done.changed,
            "removed": done.removed,
        }
    )
    out.done(
        "Version {version} is without {source}: {removed:,} records were only there, {changed:,} are left as the other "
        "sources have them.",
        version=done.version,
        source=source,
        removed=done.removed,
        changed=done.changed,
    )
    out.say("Earlier versions keep everything: {command}", command=suggested("log", archive.path))
    return 0
