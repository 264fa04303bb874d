"""Joins the reading of pictures and files to a run: its records go into the ledger like those of the service."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from exporter import codec
from exporter.archive.assets import AssetStore
from exporter.crawl.assets.run import AssetRun, AssetSettings
from exporter.model.kinds import Kind

if TYPE_CHECKING:
    from exporter.archive.layout import Layout
    from exporter.clock import Clock
    from exporter.crawl.assets.events import AssetEvent
    from exporter.crawl.ledger import Ledger
    from exporter.crawl.upcoming import Upcoming

_SWEEP = 1


@dataclass(frozen=True, slots=True)
class LostAsset:
    """A picture or file that the blog needs and the archive does not hold; ``known`` when an earlier run said so."""

    url: str
    reason: str
    known: bool


@dataclass(frozen=True, slots=True)
class AssetSummary:
    """What a run did about pictures and files.

    Attributes:
        read: how many were read by this run.
        held: how many addresses have their file in the archive now.
        lost: those that have none.
        requests: sent by this run, to all hosts.
        bytes: received by this run.
    """

    read: int
    held: int
    lost: tuple[LostAsset, ...]
    requests: int
    bytes: int

    @property
    def newly_lost(self) -> list[LostAsset]:
        """Those that this run is the first to miss."""
        return [lost for lost in self.lost if not lost.known]

    def document(self) -> dict[str, Any]:
        """Return it as a line of ``runs.jsonl`` has it, where each lost one is named once."""
        return {
            "read": self.read,
            "held": self.held,
            "lost": len(self.lost),
            "newly_lost": [{"url": lost.url, "reason": lost.reason} for lost in self.newly_lost],
            "requests": self.requests,
            "bytes": self.bytes,
        }


async def read_assets(
    layout: Layout,
    settings: AssetSettings,
    records: Upcoming,
    ledger: Ledger,
    clock: Clock,
    emit: Callable[[AssetEvent], None],
) -> AssetSummary:
    """Read what the state about to be committed needs, and put its records into the ledger.

    Raises:
        UsageError: the pattern of file addresses names a field that no file record has.
        NoSpace: the disk is full; what was read is kept.
    """
    run = AssetRun(records, AssetStore(layout), layout.work / "assets.jsonl", settings, clock, emit)
    result = await run.run()
    known = {url for url, raw in records.scan(Kind.ASSETS) if raw.get("sha256") is None}
    for url, data in result.records.items():
        ledger.observe(url, codec.freeze(data), _SWEEP)
    return AssetSummary(
        read=result.read,
        held=sum(1 for data in result.records.values() if data["sha256"] is not None),
        lost=tuple(LostAsset(asset.url, asset.error or "", asset.url in known) for asset in result.lost),
        requests=result.statistics.requests,
        bytes=result.statistics.bytes,
    )
