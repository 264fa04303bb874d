"""What goes with the old blog when it closes, as far as an export still needs it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from exporter.export.interface import ExportOptions, RecordSource
from exporter.export.words import Reason
from exporter.html.links import host_of
from exporter.model.asset import Asset, AssetState
from exporter.model.kinds import Kind

CLOSING: Final[dict[str, tuple[str, Reason]]] = {
    "fetched": ("pictures", Reason.LOST_UNLESS_FETCHED),
    "old_address": ("pictures", Reason.LOST_WITH_THE_OLD),
    "not_saved_yet": ("pictures", Reason.LOST_UNLESS_SAVED),
    "gone": ("pictures", Reason.LOST_ALREADY),
    "not_saved": ("pictures", Reason.NOT_IN_ARCHIVE),
    "not_read": ("entries", Reason.LOST_UNLESS_SAVED),
    "links": ("links", Reason.LINK_DEAD),
    "drafts": ("entries", Reason.DRAFT_STAYS),
    "private": ("entries", Reason.PRIVATE_STAYS),
}
"""What a report says of the closing day, by name: of which records, and in which words."""


class Fading(NamedTuple):
    """Records that share a fate on the closing day: how many, and the ids of the entries they are, or are in."""

    number: int
    entries: Sequence[str] = ()


def old_hosts(records: RecordSource, options: ExportOptions) -> frozenset[str]:
    """Return the hosts that die with a blog: its own, that of its addresses, and those of its uploaded files."""
    hosts = {host_of(f"https://{records.blog_id}/")} | {host_of(pattern.text) for pattern in options.old_urls}
    for _, raw in records.scan(Kind.ASSETS):
        asset = Asset.from_raw(raw)
        if asset.ids("file"):
            hosts.add(host_of(asset.url))
    return frozenset(hosts - {""})


def why_not_saved(asset: Asset | None) -> Reason:
    """Return why the archive does not have a file: for now, for good, or since nobody asked for it."""
    if asset is None or asset.state is AssetState.LEFT_OUT:
        return Reason.NOT_SAVED
    return Reason.GONE if asset.state is AssetState.LOST else Reason.NOT_SAVED_YET
