"""What a run wrote again because the archive holds it damaged, and what it could not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from exporter.archive.manifest import RecordProblem
from exporter.model.kinds import Kind

if TYPE_CHECKING:
    from exporter.archive.heal import BadLine, Harm
    from exporter.crawl.ledger import Ledger
    from exporter.crawl.removals import Removals


@dataclass(frozen=True, slots=True)
class Healing:
    """The damage that a run met, and how far it heals it.

    Attributes:
        lines: the bad lines that nothing depends on once the run is committed.
        records: how many records are written again.
        problems: the records that stay damaged.
        revived: by kind, ids whose tombstone has to be written again.
    """

    lines: Sequence[BadLine]
    records: int
    problems: Sequence[RecordProblem]
    revived: Mapping[Kind, set[str]]

    @classmethod
    def of(cls, harm: Harm, ledgers: Mapping[Kind, Ledger], removals: Removals) -> Self:
        """Judge what a run has read; a record that is gone needs no healing."""
        left: dict[Kind, set[str]] = {}
        records = 0
        for kind, ids in harm.records.items():
            wanted = ids - removals.of(kind).keys()
            left[kind] = {record_id for record_id in wanted if ledgers[kind].lacks(record_id)}
            records += len(wanted) - len(left[kind])
        problems = [
            RecordProblem(
                str(kind),
                record_id,
                "what the archive holds of it is damaged, and it could not be read again: run verify --repair",
            )
            for kind, ids in left.items()
            for record_id in sorted(ids)
        ]
        # Which record an unreadable line was of cannot be told, so it counts as healed once all of its kind are.
        lines = [line for line in harm.lines if not left[line.kind]]
        return cls(lines, records + sum(map(len, harm.revived.values())), problems, harm.revived)

    def tombstones(self, kind: Kind) -> dict[str, dict[str, Any]]:
        """Return the evidence of the tombstones to write again, by id."""
        return {record_id: {"healed": True} for record_id in self.revived[kind]}
