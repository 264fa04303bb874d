"""Ids and hashes of the records in an answer, by which a recorder later judges whether the answer is public. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from exporter import lossless_json
from exporter.model.exchange import Held, HeldRecord
from exporter.model.kinds import Kind
from exporter.service.interface import BlogService, EntryAnswer, Page


def page_held(service: BlogService, kind: Kind, page: Page) -> Held:
    """Return the content of a list page."""
    return Held(_records(service, kind, page.items), page.closed)


def user_held(service: BlogService, data: dict[str, Any]) -> Held:
    """Return the content of the answer about the calling user."""
    return Held(_records(service, Kind.USER, [data]))


def group_held(service: BlogService, ids: Sequence[str], entries: Sequence[Any]) -> Held:
    """Return the content of a group's answer, which may also show entries that its parser drops."""
    records = _records(service, Kind.ENTRIES, entries)
    found = {record.id for record in records}
    return Held((*records, *(HeldRecord(Kind.ENTRIES, each, None) for each in ids if each not in found)))


def entry_held(service: BlogService, entry_id: str, answer: EntryAnswer) -> Held:
    """Return the content of the answer for an entry; nothing if it is unchanged."""
    if answer.data is None:
        return Held()
    entry = HeldRecord(Kind.ENTRIES, entry_id, lossless_json.freeze(answer.data).identity)
    return Held((entry, *_records(service, Kind.COMMENTS, answer.comments)))


def _records(service: BlogService, kind: Kind, items: Iterable[Any]) -> tuple[HeldRecord, ...]:
    return tuple(HeldRecord(kind, service.key(kind, item) or "", lossless_json.freeze(item).identity) for item in items)
