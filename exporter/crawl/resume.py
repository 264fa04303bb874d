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
    from collections.abc import Iterator, Mapping

    from exporter.crawl.checkpoint import Spool
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

    A record counts only with the note that follows it, and a line that is none, or whose record is not what its hash
    says, ends its file: a power cut may leave a hole in what was written last. In the sweep that was under way, pages
    that could not be read are asked for again; in earlier ones they stay unread, since later sweeps went on from there.
    """
    found = Restored()
    failed: list[tuple[Kind, int, int]] = []
    for kind, spool in checkpoint.spools.items():
        for offset, note, records, length in _passages(spool):
            for record_id in _ids(note):
                if record_id in records:
                    ledgers[kind].restore(record_id, *records[record_id], UNSEEN)
            if "page" in note:
                found.pages.setdefault((kind, note["sweep"]), {})[note["page"]] = (offset, length)
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


def _passages(spool: Spool) -> Iterator[tuple[int, dict[str, Any], dict[str, tuple[bytes, int, int]], int]]:
    """Yield each note of a spool with its place and the records it speaks of; cut off what follows a damaged line.

    What comes after it may not be believed either: a note without its record says that the version has it.
    """
    records: dict[str, tuple[bytes, int, int]] = {}
    begun = 0
    for offset, line in spool.lines():
        try:
            note = note_of(line)
            if note is None:
                record = split(line)
                if record.fault() is not None:
                    break
                records[record.record_id] = (record.identity, offset, len(line))
                continue
            _ids(note)
        except (ValueError, TypeError, KeyError):
            break
        yield offset, note, records, len(line)
        records, begun = {}, offset + len(line)
    else:
        return
    spool.cut(begun)


def _ids(note: dict[str, Any]) -> list[str]:
    """Return the records that a note speaks of.

    Raises:
        KeyError, TypeError, ValueError: it is no note that a run writes.
    """
    if type(note["sweep"]) is not int:
        raise TypeError("a note names no sweep")
    if "page" in note:
        return list(note["ids"])
    _read_as(note)
    return [note["read"]]


def _read_as(note: dict[str, Any]) -> tuple[datetime, Validators]:
    return datetime.fromisoformat(note["at"]), Validators(note["etag"], note["last_modified"])


def _take_reading(note: dict[str, Any], ledger: Ledger, freshness: Freshness) -> None:
    ledger.mark(note["read"], note["sweep"])
    freshness.note(note["read"], *_read_as(note))
