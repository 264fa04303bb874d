"""What keeps an archive in order offline: rebuild, prune, repair. Each takes the lock and leaves ``latest/`` right."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from exporter.archive.archive import Archive
from exporter.archive.checks import FindingCode
from exporter.archive.prune import PrunePlan, plan_prune
from exporter.archive.repair import RepairedFile
from exporter.clock import SystemClock
from exporter.library.views import LatestRefreshed, present_views, refresh_latest, wanted_views
from exporter.service.registry import service_of
from exporter.settings import Settings

_OF_LATEST = {FindingCode.LATEST_DAMAGED, FindingCode.LATEST_STALE, FindingCode.VIEW_DAMAGED}
_OF_VERSIONS = {
    FindingCode.MANIFEST_MISSING, FindingCode.SEGMENT_MISSING, FindingCode.SEGMENT_DAMAGED, FindingCode.LINE_DAMAGED,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Pruned:
    """What a prune keeps and drops, and how many files of ``assets/`` it removed, with how many bytes."""

    plan: PrunePlan
    assets: int = 0
    asset_bytes: int = 0


def rebuild(archive: Archive, settings: Settings, *, at: int | None = None) -> LatestRefreshed:
    """Make ``latest/`` again from the versions, with the views that the settings ask for.

    Args:
        archive: the archive.
        settings: which views are kept, and how long to wait for the lock.
        at: the version to show until the next backup; by default the newest.

    Raises:
        ArchiveLocked: another process is writing the archive.
        ArchiveDamaged: a version cannot be read.
    """
    with _locked(archive, settings):
        return refresh_latest(
            archive, wanted_views(settings, archive.path, service_of(settings, archive.info.service)), force=True, at=at
        )


def refresh(
    archive: Archive, settings: Settings, *, at: int | None = None, also: Collection[str] = ()
) -> LatestRefreshed:
    """Bring ``latest/`` up to date with the views that are there, and ``also`` these; raises as :func:`rebuild`."""
    with _locked(archive, settings):
        return refresh_latest(archive, present_views(settings, archive.path, also=also), at=at)


def prune(archive: Archive, settings: Settings, *, dry_run: bool = False, **keep: int) -> Pruned:
    """Remove the versions that no rule keeps; ``keep`` is as for :func:`~exporter.archive.prune.plan_prune`.

    Raises:
        UsageError: no rule is given, or one cannot be right.
        ArchiveLocked: another process is writing the archive.
        ArchiveDamaged: something does not match its hash; nothing was changed.
    """
    if dry_run:
        return Pruned(_plan(archive, settings, keep))
    with _locked(archive, settings):
        plan = _plan(archive, settings, keep)
        views = present_views(settings, archive.path)
        done = archive.prune(plan)
        if plan.dropped:
            refresh_latest(archive, views, force=True)
    return Pruned(plan, done.assets, done.asset_bytes)


def repair(archive: Archive, settings: Settings) -> Iterator[RepairedFile]:
    """Restore what can be restored without the service, and yield each damaged file; ``latest`` counts as one.

    Raises:
        ArchiveLocked: another process is writing the archive.
    """
    with _locked(archive, settings):
        yield from archive.repair()
        codes = {finding.code for finding in archive.verify()}
        if codes & _OF_LATEST and not codes & _OF_VERSIONS:
            refresh_latest(archive, present_views(settings, archive.path), force=True)
            yield RepairedFile("latest", True)


def _plan(archive: Archive, settings: Settings, keep: dict[str, int]) -> PrunePlan:
    zone = settings.timezone
    rows = archive.log().rows()
    return plan_prune([(row.version, datetime.fromisoformat(row.finished_at).astimezone(zone)) for row in rows], **keep)


@contextmanager
def _locked(archive: Archive, settings: Settings) -> Iterator[None]:
    with archive.lock() as lock:
        lock.acquire(SystemClock().now(), settings.wait_lock.total_seconds())
        yield
