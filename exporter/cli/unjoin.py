"""``unjoin``: take a second source out of an archive again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from exporter.cli.help import cli_command
from exporter.cli.options import archive_argument, with_archive
from exporter.cli.output import Output
from exporter.message import message, message_n, suggested

if TYPE_CHECKING:
    from exporter.archive.archive import Archive
    from exporter.settings import Settings


@cli_command(
    "unjoin",
    help=message(
        """Take SOURCE, such as public-site or movable-type, out of the archive in DIR: the wrong blog was joined.

        A new version has only what the other sources gave. Entries that SOURCE no longer shows may become public.
        Earlier versions keep everything. The next backup does not read SOURCE again, unless you name it."""
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
    if done.shown_again:
        out.warn(
            message_n(
                "{n:,} entry that {source} no longer shows counted as private. It now counts as the other sources have "
                "it, so exports may publish it.",
                "{n:,} entries that {source} no longer shows counted as private. They now count as the other sources "
                "have them, so exports may publish them.",
                done.shown_again,
                source=source,
            )
        )
    out.say("Earlier versions keep everything: {command}", command=suggested("log", archive.path))
    return 0
