"""What the archive has and what this run has seen, for each kind: the join of the two sides of a backup.

Holds hashes and places only; the records are in the archive and in the checkpoint's spools.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from exporter.archive.state import KindState, Segments
from exporter.errors import ArchiveDamaged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exporter.codec import Frozen
    from exporter.crawl.checkpoint import Spool

UNSEEN = 0


class Ledger:
    """One kind's records: ``base`` is the state of the newest version, ``fresh`` what this run read that differs.

    Every record carries the number of the last sweep that saw it, so two sweeps are compared without keeping either.
    """

    def __init__(self, base: KindState, spool: Spool) -> None:
        self.base = base
        self.fresh = KindState()
        self._spool = spool
        self._segments = Segments()
        self._segment = self._segments.add(spool.path)
        self._base_seen = bytearray(base.rows())
        self._fresh_seen = bytearray()

    def seen(self, record_id: str) -> int:
        """Return the last sweep that saw a record, ``UNSEEN`` when none did."""
        row = self.fresh.row(record_id)
        if row is not None:
            return self._fresh_seen[row]
        row = self.base.row(record_id)
        return UNSEEN if row is None else self._base_seen[row]

    def identity(self, record_id: str) -> bytes | None:
        """Return the identity of the newest state known of a record."""
        row = self.fresh.row(record_id)
        if row is not None:
            return self.fresh.identity(row)
        return self._archived(record_id)

    def observe(self, record_id: str, frozen: Frozen, sweep: int) -> bool:
        """Take in a record as a sweep saw it; tells whether the sweep before (before the first: the archive) saw it so.

        The first sweep is compared with the archive and not with ``fresh``, where a dead run may have left a state
        that no reading of this entry has followed yet.
        """
        same = self.identity(record_id) == frozen.identity
        seen = self.seen(record_id)
        if sweep == 1 and seen != sweep:
            agrees = self._archived(record_id) == frozen.identity
        else:
            agrees = same and seen in (sweep, sweep - 1)
        if not same:
            offset, length = self._spool.put(record_id, frozen)
            self.restore(record_id, frozen.identity, offset, length, sweep)
        else:
            self.mark(record_id, sweep)
        return agrees

    def _archived(self, record_id: str) -> bytes | None:
        row = self.base.row(record_id)
        return None if row is None else self.base.identity(row)

    def restore(self, record_id: str, identity: bytes, offset: int, length: int, sweep: int) -> None:
        """Set a record to a line that stands in the spool."""
        row = self.fresh.put(record_id, identity, 0, (self._segment, offset, length))
        if row == len(self._fresh_seen):
            self._fresh_seen.append(sweep)
        else:
            self._fresh_seen[row] = sweep

    def mark(self, record_id: str, sweep: int) -> None:
        """Note that a sweep saw a record whose state is known."""
        row = self.fresh.row(record_id)
        if row is not None:
            self._fresh_seen[row] = sweep
            return
        row = self.base.row(record_id)
        if row is not None:
            self._base_seen[row] = sweep

    def changed(self) -> Iterator[str]:
        """Yield the ids whose state differs from the newest version, in order."""
        for record_id in self.fresh.ids():
            row = self.base.row(record_id)
            fresh_row = self.fresh.row(record_id)
            if fresh_row is not None and (row is None or self.base.identity(row) != self.fresh.identity(fresh_row)):
                yield record_id

    def line(self, record_id: str) -> bytes:
        """Read the spooled line of a record that this run found to differ.

        Raises:
            ArchiveDamaged: the checkpoint was changed while it was in use.
        """
        row = self.fresh.row(record_id)
        if row is None:
            raise KeyError(record_id)
        line = self._segments.read(*self.fresh.place(row))
        if not line.endswith(b"}\n"):
            raise ArchiveDamaged(f"{self._spool.path} was changed while it was in use; run the backup again.")
        return line

    def absent_since(self, sweep: int) -> Iterator[str]:
        """Yield the ids of the newest version that no sweep from ``sweep`` on has seen."""
        for record_id in self.base.ids():
            if self.seen(record_id) < sweep:
                yield record_id

    def seen_in(self, sweep: int) -> Iterator[str]:
        """Yield the ids that a sweep was the last to see, in order within the old and the new ones."""
        for record_id in self.base.ids():
            if record_id not in self.fresh and self.seen(record_id) == sweep:
                yield record_id
        for record_id in self.fresh.ids():
            if self.seen(record_id) == sweep:
                yield record_id

    def count_seen(self, sweep: int) -> int:
        """Count the records that a sweep was the last to see."""
        return sum(1 for _ in self.seen_in(sweep))

    def note(self, offset: int, length: int) -> bytes:
        """Read a journal line of the spool."""
        return self._segments.read(self._segment, offset, length)

    def close(self) -> None:
        """Close the file the lines are read back from."""
        self._segments.close()
