"""What a backup is asked to do."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from exporter.crawl.checkpoint import Purpose
from exporter.crawl.freshness import Refresh

if TYPE_CHECKING:
    from collections.abc import Mapping

    from exporter.crawl.assets.run import AssetSettings

NOTES: Final = 6
"""Counts changes of what a checkpoint's notes say, so that one of an earlier program is set aside."""


@dataclass(frozen=True, slots=True)
class BackupSettings:
    """What a backup is asked to do.

    Attributes:
        blog_id: the blog, by its domain.
        base_url: the service's address, as the archive states it.
        window: how many pages or entries are asked for ahead of what was ingested.
        refresh: which of the entries in the archive are read again.
        max_age: the age at which ``Refresh.AUTO`` reads an entry again.
        accept_removals: record removals also when a large part of the blog is gone.
        dry_run: only read the lists, and write nothing.
        resume_max_age: the oldest interrupted run that is resumed.
        assets: how pictures and files are read; ``None`` to read none.
        strict_assets: call a backup incomplete when pictures or files are gone for good.
    """

    blog_id: str
    base_url: str
    window: int = 8
    refresh: Refresh = Refresh.ALL
    max_age: timedelta = timedelta(days=7)
    accept_removals: bool = False
    dry_run: bool = False
    resume_max_age: timedelta = timedelta(hours=24)
    assets: AssetSettings | None = None
    strict_assets: bool = False

    def purpose(self, options: Mapping[str, Any], parent: int | None, parent_sha256: str | None) -> Purpose:
        """Return what a checkpoint of such a run is good for.

        Args:
            options: the service's.
            parent: the version it is made on top of.
            parent_sha256: of that version's manifest.
        """
        settings = {"notes": NOTES, "refresh": str(self.refresh), **options}
        return Purpose(self.blog_id, self.base_url, settings, parent, parent_sha256)
