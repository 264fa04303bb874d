"""What is gone: claimed only on evidence, and refused when too much vanishes at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from exporter.crawl.concurrency import for_each
from exporter.errors import ApiError, MassDisappearance
from exporter.message import message
from exporter.model.kinds import Kind
from exporter.service.interface import WrongRecord

if TYPE_CHECKING:
    from exporter.crawl.ingest import Ingest

MOST_GONE_SHARE = 0.30
MOST_GONE_ALWAYS = 5


@dataclass(slots=True)
class Removals:
    """For each kind the ids believed to be gone, with the evidence a tombstone carries."""

    evidence: dict[Kind, dict[str, dict[str, Any]]] = field(default_factory=dict)

    def of(self, kind: Kind) -> dict[str, dict[str, Any]]:
        """Return the evidence of a kind by id."""
        return self.evidence.get(kind, {})


def absent(ingest: Ingest, kind: Kind) -> list[str]:
    """Return the archived ids that neither of the last two sweeps saw; none unless both saw the whole list."""
    if len(ingest.sweeps) < 2 or not all(results[kind].complete for results in ingest.sweeps[-2:]):
        return []
    return list(ingest.ledgers[kind].absent_since(len(ingest.sweeps) - 1))


def refuse_mass_disappearance(ingest: Ingest) -> None:
    """Refuse to believe that a large part of a blog is gone.

    Raises:
        MassDisappearance: over 30 % of a kind, and more than 5, are absent.
    """
    for kind in (Kind.ENTRY_LIST, Kind.COMMENTS, Kind.FILES):
        gone = len(absent(ingest, kind))
        total = len(ingest.ledgers[kind].base)
        if gone > MOST_GONE_ALWAYS and gone > MOST_GONE_SHARE * total:
            raise MassDisappearance(
                message(
                    "{gone} of {total} {kind} records are gone from the service at once; "
                    "nothing was written. If that is right, run again with --accept-removals.",
                    gone=gone,
                    total=total,
                    kind=kind.value.replace("_", " "),
                )
            )


async def find_removals(ingest: Ingest, window: int) -> Removals:
    """Collect what is gone; an entry counts only once ``entry/get`` refuses it too."""
    last = len(ingest.sweeps)
    sweeps = {"absent_in_sweeps": [last - 1, last]}
    removals = Removals()
    for kind in (Kind.ENTRY_LIST, Kind.COMMENTS, Kind.FILES):
        removals.evidence[kind] = {record_id: dict(sweeps) for record_id in absent(ingest, kind)}
    removals.evidence[Kind.ENTRIES] = {}
    if not all(results[Kind.ENTRY_LIST].complete for results in ingest.sweeps[-2:]) or last < 2:
        return removals
    archived = ingest.ledgers[Kind.ENTRIES].base.keys
    gone = list(ingest.ledgers[Kind.ENTRY_LIST].never_seen_since(last - 1, archived))
    if ingest.full_text_in_lists:
        removals.evidence[Kind.ENTRIES] = {entry_id: dict(sweeps) for entry_id in gone}
        return removals

    async def ask(entry_id: str) -> None:
        error = await ingest.fetch_entry(entry_id, last)
        said: str | dict[str, Any] = "answers"
        if isinstance(error, ApiError) and not isinstance(error, WrongRecord):
            said = {"status": error.status, "message": error.message}
            removals.evidence[Kind.ENTRIES][entry_id] = {**sweeps, "entry_get": said}
        elif error is not None:
            said = str(error)
            ingest.fail(entry_id, error)
        listed = removals.evidence[Kind.ENTRY_LIST].get(entry_id)
        if listed is not None:
            listed["entry_get"] = said

    await for_each(gone, ask, window)
    return removals
