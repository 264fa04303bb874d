"""``inspect``: which values the undocumented flags of a blog have, so that its owner can say what they mean."""

from __future__ import annotations

import click

from exporter.archive.archive import Archive
from exporter.cli.copy_options import readable_archive
from exporter.cli.options import at_option, with_archive
from exporter.cli.output import OnLoss, Output, shown
from exporter.message import message
from exporter.settings import Settings
from exporter.translation import translated

_EPILOG = """\b
Examples:
  blog-exporter inspect DIR
  blog-exporter inspect DIR --at 3 --json
"""


@click.command(
    "inspect",
    epilog=_EPILOG,
    help=message(
        """Show the values that open_flg, is_private, period_flg and delete_flg have in the archive in DIR.

        Their meanings are not documented; an export publishes nothing before its owner has said which are
        public."""
    ),
)
@readable_archive("RECORDS")
@at_option
@with_archive("timezone", on_loss=OnLoss.STOP)
def command(*, out: Output, archive: Archive, settings: Settings, at: str | None) -> int:
    """Run ``inspect``."""
    from exporter.cli.answers import HINT
    from exporter.export.posts import comment_combinations, entry_combinations, flag_lines
    from exporter.service.registry import service_of

    version = archive.version_at(at, settings.timezone)
    state, service = archive.state(version), service_of(settings, archive.info.service)
    try:
        if out.as_json:
            out.document(
                {
                    "archive": str(archive.path.resolve()),
                    "blog_id": archive.info.blog_id,
                    "version": version,
                    "entries": [one.document() for one in entry_combinations(state, service)],
                    "comments": [one.document() for one in comment_combinations(state, service)],
                }
            )
        else:
            words = map(translated, (message("entries"), message("comments"), message("such as")))
            for line in flag_lines(state, service, *words):
                out.answer(shown(line))
            out.say()
            out.say(HINT)
    finally:
        state.close()
    return 0
