"""How ``backup`` reads pictures and files, from its settings."""

from __future__ import annotations

from collections.abc import Callable

from exporter.api.download import DownloadLimits
from exporter.cli.settings import Settings
from exporter.crawl.assets.fetch import check_fallback
from exporter.crawl.assets.plan import Mode
from exporter.crawl.assets.run import AssetSettings
from exporter.render.addresses import AddressPattern


def asset_settings(
    blog_id: str, settings: Settings, locate: Callable[[str], str] | None, *, retry_lost: bool
) -> AssetSettings:
    """Return how pictures and files are read.

    Raises:
        UsageError: an address pattern cannot be right.
    """
    pattern = settings["file_url"]
    check_fallback(settings["archive_fallback"])
    return AssetSettings(
        base=f"https://{blog_id}/",
        mode=Mode(settings["assets"]),
        file_url=None if pattern is None else AddressPattern(pattern, "file_url"),
        archive_fallback=settings["archive_fallback"],
        allow_private_network=settings["allow_private_network"],
        concurrency=settings["concurrency"],
        limits=DownloadLimits(max_bytes=settings["max_asset_size"]),
        retry_lost=retry_lost,
        skipped_hosts=settings["skip_asset_hosts"] or frozenset(),
        locate=locate,
    )
