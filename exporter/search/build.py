"""From records to an index, all of them or only those that differ from what is indexed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exporter.model.kinds import Kind
from exporter.search.documents import (
    KINDS,
    Document,
    comment_document,
    entry_document,
    file_document,
    listed_document,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exporter.archive.state import State
    from exporter.search.store import Store


def update(store: Store, state: State) -> int:
    """Make an index agree with a state; returns how many records were indexed anew."""
    made = 0
    for kind in KINDS:
        known = store.identities(kind)
        for record_id, identity in _identities(state, kind):
            number, before = known.pop(record_id, (None, b""))
            if before == identity:
                continue
            if number is not None:
                store.remove(number)
            store.add(kind, record_id, identity, _document(state, kind, record_id))
            made += 1
        for number, _ in known.values():
            store.remove(number)
    return made


def _identities(state: State, kind: Kind) -> Iterator[tuple[str, bytes]]:
    """Yield the ids to be indexed, each with what changes whenever its document would.

    An entry depends on its list item too, and an entry that could not be read has only that.
    """
    for record_id in state.ids(kind):
        identity = state.identity(kind, record_id) or b""
        if kind is Kind.ENTRIES:
            identity += state.identity(Kind.ENTRY_LIST, record_id) or b""
        yield record_id, identity
    if kind is Kind.ENTRIES:
        for record_id in state.ids(Kind.ENTRY_LIST):
            if record_id not in state.kinds[Kind.ENTRIES]:
                yield record_id, state.identity(Kind.ENTRY_LIST, record_id) or b""


def _document(state: State, kind: Kind, record_id: str) -> Document:
    raw = state.load(kind, record_id)
    if kind is Kind.COMMENTS:
        return comment_document(raw or {})
    if kind is Kind.FILES:
        return file_document(raw or {})
    item = state.load(Kind.ENTRY_LIST, record_id)
    return listed_document(item or {}) if raw is None else entry_document(raw, item)
