"""The records as they will stand once the run is committed: what the archive has, with what this run read on top."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from exporter import codec
from exporter.archive.lines import split
from exporter.model.kinds import Kind, sort_key

if TYPE_CHECKING:
    from exporter.archive.state import State
    from exporter.crawl.ledger import Ledger
    from exporter.crawl.removals import Removals


class Upcoming:
    """Reads records from the checkpoint where this run has them, else from the archive; has the face of ``State``."""

    def __init__(self, state: State, ledgers: Mapping[Kind, Ledger], removals: Removals) -> None:
        self._state = state
        self._ledgers = ledgers
        self._removals = removals

    @property
    def blog_id(self) -> str:
        """The blog's id, its domain."""
        return self._state.blog_id

    def ids(self, kind: Kind) -> list[str]:
        """Return the ids of a kind in order."""
        ledger = self._ledgers[kind]
        gone = self._removals.of(kind)
        return sorted({*ledger.base.ids(), *ledger.fresh.ids()}.difference(gone), key=sort_key)

    def identity(self, kind: Kind, record_id: str) -> bytes | None:
        """Return what the record's states are compared by, or ``None`` when it is not there."""
        return None if record_id in self._removals.of(kind) else self._ledgers[kind].identity(record_id)

    def load(self, kind: Kind, record_id: str) -> dict[str, Any] | None:
        """Read a record's raw object; ``None`` when it is not there."""
        if record_id in self._removals.of(kind):
            return None
        ledger = self._ledgers[kind]
        if record_id in ledger.fresh:
            return dict(codec.loads(split(ledger.line(record_id)).data))
        if record_id in ledger.distrusted:
            return None
        return self._state.load(kind, record_id)

    def scan(self, kind: Kind) -> Iterator[tuple[str, dict[str, Any]]]:
        """Read the raw objects of a kind in the order of ids, one at a time."""
        for record_id in self.ids(kind):
            data = self.load(kind, record_id)
            if data is not None:
                yield record_id, data
