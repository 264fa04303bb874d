"""``prune``: remove versions by rules, as ``restic forget`` does. ``rebuild``: make ``latest/`` from the versions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from exporter.cli.help import cli_command
from exporter.cli.options import archive_argument, with_archive, without_views
from exporter.cli.output import Output, counted, size_text
from exporter.errors import Incomplete
from exporter.message import listed, message
from exporter.settings import Settings

if TYPE_CHECKING:
    from exporter.archive.archive import Archive


_EPILOG = """\b
Examples:
  blog-exporter prune DIR --keep-last 30 --keep-monthly -1 --dry-run
  blog-exporter prune DIR --keep-daily 30 --keep-weekly 52 --keep-yearly -1
"""
_RULES = {
    "last": message("Keep the newest N versions; -1 for all."),
    "daily": message("Keep the newest version of each of N days; -1 for all."),
    "weekly": message("Keep the newest version of each of N weeks; -1 for all."),
    "monthly": message("Keep the newest version of each of N months; -1 for all."),
    "yearly": message("Keep the newest version of each of N years; -1 for all."),
}


def _keep_options(command: Any) -> Any:
    for rule, what in reversed(_RULES.items()):
        option = click.option(f"--keep-{rule}", type=int, default=0, metavar="N", help=what)
        command = option(command)
    return command


@cli_command(
    "prune",
    epilog=_EPILOG,
    help=message(
        """Remove the versions of the archive in DIR that no rule keeps.

        The newest state and every kept version stay identical. Content that only a removed version had is gone
        for good."""
    ),
)
@archive_argument
@_keep_options
@click.option("--dry-run", is_flag=True, help=message("Only print the versions to keep and to remove."))
@with_archive("wait_lock")
def prune_command(*, out: Output, archive: Archive, settings: Settings, dry_run: bool, **keep: int) -> int:
    """Run ``prune``."""
    from exporter.library.views import prune

    archive.resolve()
    pruned = prune(archive, settings, dry_run=dry_run, **keep)
    plan = pruned.plan
    out.document(
        {
            "archive": str(archive.path.absolute()),
            "dry_run": dry_run,
            "kept": [{"version": kept.version, "reasons": list(kept.reasons)} for kept in plan.kept],
            "dropped": list(plan.dropped),
            "assets_removed": pruned.assets,
            "bytes_removed": pruned.asset_bytes,
        }
    )
    say = out.answer if dry_run else out.done
    for kept in plan.kept:
        line = {"version": f"{kept.version:>6}", "reasons": listed(kept.reasons)}
        if kept.folds:
            folds = counted(len(kept.folds), "version")
            say(message("keep {version}  {reasons}   (folds in {versions})", **line, versions=folds))
        else:
            say(message("keep {version}  {reasons}", **line))
    keeps, drops = counted(len(plan.kept), "version"), len(plan.dropped)
    if dry_run:
        say(message("Would keep {versions}, remove {n:,}.", versions=keeps, n=drops))
    else:
        say(message("Kept {versions}, removed {n:,}.", versions=keeps, n=drops))
    if pruned.assets:
        unused, size = counted(pruned.assets, "unused file"), size_text(pruned.asset_bytes)
        say(message("Also removed {assets} ({size}).", assets=unused, size=size))
    if plan.dropped and archive.layout.evidence.kind() == "a folder":
        from exporter.archive.evidence import confirmation

        out.warn(
            "Seals do not fit versions that are rewritten after them. Confirm it with your key: {command}",
            command=confirmation(archive.path, settings.seal_key),
        )
    return 0


@cli_command(
    "rebuild",
    help=message(
        """Rebuild latest/ in the archive in DIR, offline. It changes nothing in versions/.

        With --at, latest/ shows an older version until the next backup or rebuild."""
    ),
)
@archive_argument
@click.option("--at", metavar="N|DATE", help=message("Show version N, or that of a date. [default: the newest]"))
@without_views
@with_archive("wait_lock")
def rebuild_command(*, out: Output, archive: Archive, settings: Settings, at: str | None) -> int:
    """Run ``rebuild``."""
    from exporter.library.views import rebuild

    number = archive.version_at(at, settings.timezone)
    made = rebuild(archive, settings, at=number)
    if made.missing:
        from exporter.cli.summary import missing_views_text

        raise Incomplete(missing_views_text(archive.path, made.missing))
    out.document({"archive": str(archive.path.absolute()), "version": number, "files_made": made.files})
    files = counted(made.files, "file")
    out.say("latest/ shows version {version}; {files} of its views were made.", version=number, files=files)
    return 0
