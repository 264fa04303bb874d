"""Committing a run: the lines of its version, and the end of an interrupted commit."""

from __future__ import annotations

import contextlib
import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from exporter.archive import writer
from exporter.archive.latest_segments import ChangedLine, SegmentsWriter
from exporter.archive.lines import remove_line
from exporter.archive.manifest import KindCounts, Manifest, RecordProblem
from exporter.crawl.checkpoint import drop, read_meta
from exporter.crawl.outcome import Outcome
from exporter.errors import BlogExporterError
from exporter.frozen import frozen
from exporter.message import message
from exporter.model.kinds import Kind, sort_key

if TYPE_CHECKING:
    from exporter.archive.archive import Archive
    from exporter.archive.latest_segments import Segments
    from exporter.archive.layout import Layout
    from exporter.archive.repair import Damage, DamagedLine
    from exporter.archive.state import State
    from exporter.crawl.ledger import Ledger
    from exporter.crawl.removals import Removals


def count(ledger: Ledger, gone: Mapping[str, dict[str, Any]]) -> KindCounts:
    """Count the new, changed and removed records of a kind."""
    new = changed = 0
    for record_id, base, _ in ledger.changes():
        if base is None:
            new += 1
        elif record_id not in gone and not ledger.heals(record_id):
            changed += 1
    return KindCounts(total=len(ledger.base) + new - len(gone), new=new, changed=changed, gone=len(gone))


def changes(ledger: Ledger, gone: Mapping[str, dict[str, Any]]) -> Iterator[ChangedLine]:
    """Yield a version's lines of a kind: spooled lines unchanged, and tombstones for records in ``gone``."""
    kept = ((record_id, row) for record_id, _, row in ledger.changes() if record_id not in gone)
    removed = ((record_id, None) for record_id in sorted(gone, key=sort_key))
    for record_id, row in heapq.merge(kept, removed, key=lambda change: sort_key(change[0])) if gone else kept:
        if row is None:
            yield ChangedLine(record_id, remove_line(record_id, gone[record_id]), None)
        else:
            yield ChangedLine(record_id, ledger.line(record_id, row), ledger.fresh.identity(row))


def write_version(
    layout: Layout, draft: writer.VersionDraft, changes: Mapping[Kind, Iterable[ChangedLine]], state: State | None
) -> tuple[Manifest, Segments | None]:
    """Commit a version; with the ``state`` before it, also write the new files of ``latest/`` in the same pass.

    If the latter fails, ``latest/`` is made from the versions later.

    Raises:
        NoSpace: the disk is full; the archive is unchanged.
    """
    if state is None:
        lines = {kind: (change.line for change in found) for kind, found in changes.items()}
        return writer.commit(layout, replace(draft, lines=lines)), None
    segments = SegmentsWriter(layout, state, state.version + 1)
    passing = {kind: segments.passing(kind, found) for kind, found in changes.items()}
    try:
        manifest = writer.commit(layout, replace(draft, lines=passing))
    except BaseException:
        segments.discard()
        raise
    with contextlib.suppress(OSError, BlogExporterError):
        return manifest, segments.close()
    return manifest, None


def has_changes(counts: Mapping[Kind, KindCounts]) -> bool:
    """Return whether a version is needed."""
    return any(found.new or found.changed or found.gone for found in counts.values())


_UNKNOWN_FIGURES = ("requests", "retries", "bytes")
"""Figures that only the interrupted run knew; null in its line."""


def finish_commit(reader: Archive) -> None:
    """Write the missing line of a run that was interrupted after its commit, and drop its checkpoint.

    The caller holds the archive's lock.

    Raises:
        ArchiveDamaged: the newest version's manifest cannot be read.
    """
    newest = reader.newest()
    if newest is None:
        return
    manifest = reader.manifest(newest)
    if all(run.get("version") != newest for run in reader.newest_runs()):
        line = Outcome.of(manifest).line()
        writer.append_run(reader.layout, {**line, **dict.fromkeys(_UNKNOWN_FIGURES)})
    _drop_committed(reader.layout, manifest)


def _drop_committed(layout: Layout, newest: Manifest) -> None:
    """Drop a checkpoint whose parent is the newest version's parent.

    A run first resumes an existing checkpoint or moves it away. So the newest version was made from this checkpoint.
    """
    meta = read_meta(layout.checkpoint)
    if meta is None:
        return
    parent = newest.parent or {}
    if (meta.get("parent"), meta.get("parent_sha256")) == (parent.get("version"), parent.get("sha256")):
        drop(layout.checkpoint)


@frozen
class Healing:
    """The damage that a run found, and the part that it repairs.

    Attributes:
        lines: the damaged lines that are no longer needed after the commit.
        records: the number of records written again.
        problems: the records that stay damaged.
        revived: by kind, ids whose tombstones must be written again.
    """

    lines: Sequence[DamagedLine]
    records: int
    problems: Sequence[RecordProblem]
    revived: Mapping[Kind, set[str]]

    @classmethod
    def of(cls, damage: Damage, ledgers: Mapping[Kind, Ledger], removals: Removals) -> Self:
        """Compare the damage with the records that a run has read; removed records need no repair."""
        left: dict[Kind, set[str]] = {}
        records = 0
        for kind, ids in damage.records.items():
            wanted = ids - removals.of(kind).keys()
            left[kind] = {record_id for record_id in wanted if ledgers[kind].lacks(record_id)}
            records += len(wanted) - len(left[kind])
        problems = [
            RecordProblem(
                str(kind),
                record_id,
                message("what the archive holds of it is damaged, and it could not be read again: run verify --repair"),
                lasting=True,
            )
            for kind, ids in left.items()
            for record_id in sorted(ids)
        ]
        # An unreadable line's record is unknown. The line counts as repaired when all of its kind are.
        lines = [line for line in damage.lines if not left[line.kind]]
        return cls(lines, records + sum(map(len, damage.revived.values())), problems, damage.revived)

    def tombstones(self, kind: Kind) -> dict[str, dict[str, Any]]:
        """Return the evidence for tombstones to write again by id."""
        return {record_id: {"healed": True} for record_id in self.revived[kind]}
