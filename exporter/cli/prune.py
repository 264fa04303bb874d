"""``prune``: remove versions by rules, in the way of ``restic forget``; what is kept reads back identically."""

from __future__ import annotations

from typing import Any

import click

from exporter.archive.archive import Archive
from exporter.cli.amounts import size_text
from exporter.cli.options import archive_argument, with_archive
from exporter.cli.output import Output, counted
from exporter.message import message
from exporter.settings import Settings

_EPILOG = """\b
Examples:
  blog-exporter prune DIR --keep-last 30 --keep-monthly -1 --dry-run
  blog-exporter prune DIR --keep-daily 30 --keep-weekly 52 --keep-yearly -1
"""
_RULES = {
    "last": "the newest N versions",
    "daily": "the newest version of each of N days",
    "weekly": "the newest version of each of N weeks",
    "monthly": "the newest version of each of N months",
    "yearly": "the newest version of each of N years",
}


def _keep_options(command: Any) -> Any:
    for rule, what in reversed(_RULES.items()):
        option = click.option(f"--keep-{rule}", type=int, default=0, metavar="N", help=f"Keep {what}; -1 for all.")
        command = option(command)
    return command


@click.command(
    "prune",
    epilog=_EPILOG,
    help=message(
        """Remove the versions of the archive in DIR that no rule keeps.

        The newest state loses nothing, and every version kept reads back identically; what existed only in a
        removed version is gone for good."""
    ),
)
@archive_argument
@_keep_options
@click.option("--dry-run", is_flag=True, help=message("Only say what would be kept and what would be removed."))
@with_archive("timezone", "wait_lock")
def command(*, out: Output, archive: Archive, settings: Settings, dry_run: bool, **keep: int) -> int:
    """Run ``prune``."""
    from exporter.library.upkeep import prune

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
    for kept in plan.kept:
        folded = f"   (folds in {counted(len(kept.folds), 'version')})" if kept.folds else ""
        out.answer(f"keep {kept.version:>6}  {', '.join(kept.reasons)}{folded}")
    keeps, removes = ("Would keep", "remove") if dry_run else ("Kept", "removed")
    out.answer(f"{keeps} {counted(len(plan.kept), 'version')}, {removes} {len(plan.dropped):,}.")
    if pruned.assets:
        out.answer(f"Removed {counted(pruned.assets, 'unused asset')} with them ({size_text(pruned.asset_bytes)}).")
    return 0
