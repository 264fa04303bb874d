"""``prune``: forget versions by rules, in the way of ``restic forget``; what is kept reads back identically."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import click

from exporter.archive.archive import Archive
from exporter.archive.prune import PrunePlan, plan_prune
from exporter.cli.options import archive_argument, config_option, setting_options, talking
from exporter.cli.output import Output, counted, size_text
from exporter.clock import SystemClock
from exporter.library.views import present_views, refresh_latest
from exporter.settings import Settings, resolve

_EPILOG = """\b
Examples:
  blog-exporter prune DIR --keep-last 30 --keep-monthly -1 --dry-run
  blog-exporter prune DIR --keep-daily 30 --keep-weekly 52 --keep-yearly -1
"""
_RULES = ("last", "daily", "weekly", "monthly", "yearly")


def _keep_options(command: Any) -> Any:
    for rule in reversed(_RULES):
        what = "the newest N versions" if rule == "last" else f"the newest version of each of N {_PERIODS[rule]}"
        option = click.option(f"--keep-{rule}", type=int, default=0, metavar="N", help=f"Keep {what}; -1 for all.")
        command = option(command)
    return command


_PERIODS = {"daily": "days", "weekly": "weeks", "monthly": "months", "yearly": "years"}


@click.command("prune", epilog=_EPILOG)
@archive_argument
@_keep_options
@click.option("--dry-run", is_flag=True, help="Only say what would be kept and what would be removed.")
@setting_options("timezone", "wait_lock")
@config_option
@talking
def command(
    *,
    out: Output,
    archive: Path,
    dry_run: bool,
    timezone: str | None,
    wait_lock: str | None,
    config: Path | None,
    **keep: int,
) -> int:
    """Remove the versions of the archive in DIR that no rule keeps.

    The newest state loses nothing, and every version kept reads back identically; what existed only in a removed
    version is gone for good.
    """
    reader = Archive.open(archive)
    reader.resolve()
    options = {"timezone": timezone, "wait_lock": wait_lock}
    settings = resolve(options, config=config, blog_id=reader.info.blog_id, warn=out.warn)
    if dry_run:
        plan = _plan(reader, settings, keep)
        _report(out, archive, plan, dry_run=True)
        return 0
    with reader.lock() as lock:
        lock.acquire(SystemClock().now(), settings.wait_lock.total_seconds())
        plan = _plan(reader, settings, keep)
        views = present_views(settings, archive)
        done = reader.prune(plan)
        if plan.dropped:
            refresh_latest(reader, views, force=True)
    _report(out, archive, plan, dry_run=False, assets=done.assets, asset_bytes=done.asset_bytes)
    return 0


def _plan(reader: Archive, settings: Settings, keep: dict[str, int]) -> PrunePlan:
    zone = settings.timezone
    times = [(row.version, datetime.fromisoformat(row.finished_at).astimezone(zone)) for row in reader.log().rows()]
    return plan_prune(times, **keep)


def _report(
    out: Output, archive: Path, plan: PrunePlan, *, dry_run: bool, assets: int = 0, asset_bytes: int = 0
) -> None:
    out.document(
        {
            "archive": str(archive.absolute()),
            "dry_run": dry_run,
            "kept": [{"version": kept.version, "reasons": list(kept.reasons)} for kept in plan.kept],
            "dropped": list(plan.dropped),
            "assets_removed": assets,
            "bytes_removed": asset_bytes,
        }
    )
    for kept in plan.kept:
        folded = f"   (folds in {counted(len(kept.folds), 'version')})" if kept.folds else ""
        out.answer(f"keep {kept.version:>6}  {', '.join(kept.reasons)}{folded}")
    keeps, removes = ("Would keep", "remove") if dry_run else ("Kept", "removed")
    out.answer(f"{keeps} {counted(len(plan.kept), 'version')}, {removes} {len(plan.dropped):,}.")
    if assets:
        out.answer(f"Removed {counted(assets, 'unused asset')} with them ({size_text(asset_bytes)}).")
