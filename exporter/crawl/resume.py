"""Taking in what a dead run left in the checkpoint: its records, and how far its lists and entries had come."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from exporter.api.client import Validators
from exporter.archive.lines import split
from exporter.crawl.checkpoint import Checkpoint, note_of
from exporter.crawl.ledger import UNSEEN, Ledger
from exporter.model.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from exporter.crawl.freshness import Freshness

Place = tuple[int, int]
"""Offset and length of a line in a spool."""


@dataclass(slots=True)
class Restored:
    """What there was to go on with.

    Attributes:
        records: how many records came along.
        pages: for each list and sweep, the pages that had been dealt with, and where their notes stand.
    """

    records: int = 0
    pages: dict[tuple[Kind, int], dict[int, Place]] = field(default_factory=dict)


def restore(checkpoint: Checkpoint, ledgers: Mapping[Kind, Ledger], freshness: Freshness) -> Restored:
    """Fill the ledgers from the checkpoint's files.

    A record counts only with the note that follows it. In the sweep that was under way, pages that could not be read
    are asked for again; in earlier ones they stay unread, since later sweeps went on from there.
    """
    found = Restored()
    failed: list[tuple[Kind, int, int]] = []
    for kind, spool in checkpoint.spools.items():
        waiting: dict[str, tuple[bytes, int, int]] = {}
        for offset, line in spool.lines():
            note = note_of(line)
            if note is None:
                record = split(line)
                waiting[record.record_id] = (record.identity, offset, len(line))
                continue
            ids = note["ids"] if "page" in note else [note["read"]]
            for record_id in ids:
                if record_id in waiting:
                    ledgers[kind].restore(record_id, *waiting[record_id], UNSEEN)
            waiting.clear()
            if "page" in note:
                found.pages.setdefault((kind, note["sweep"]), {})[note["page"]] = (offset, len(line))
                if "failed" in note:
                    failed.append((kind, note["sweep"], note["page"]))
            else:
                _take_reading(note, ledgers[kind], freshness)
        found.records += len(ledgers[kind].fresh)
    last = max((sweep for _, sweep in found.pages), default=0)
    for kind, sweep, page in failed:
        if sweep == last:
            found.pages[kind, sweep].pop(page, None)
    return found


def _take_reading(note: dict[str, Any], ledger: Ledger, freshness: Freshness) -> None:
    ledger.mark(note["read"], note["sweep"])
    validators = Validators(note["etag"], note["last_modified"])
    freshness.note(note["read"], datetime.fromisoformat(note["at"]), validators)
