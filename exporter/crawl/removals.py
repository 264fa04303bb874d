"""What is gone: claimed only on evidence, and refused when too much vanishes at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from exporter import lossless_json
from exporter.archive.lines import split
from exporter.crawl.ingest import OtherEntry
from exporter.crawl.tasks import together
from exporter.errors import ApiError, MassDisappearance
from exporter.model.kinds import Kind, sort_key

if TYPE_CHECKING:
    from exporter.archive.state import State
    from exporter.crawl.ingest import Harvest
    from exporter.crawl.ledger import Ledger

MOST_GONE_SHARE = 0.30
MOST_GONE_ALWAYS = 5


@dataclass(slots=True)
class Removals:
    """For each kind the ids believed to be gone, with the evidence a tombstone carries."""

    evidence: dict[Kind, dict[str, dict[str, Any]]] = field(default_factory=dict)

    def of(self, kind: Kind) -> dict[str, dict[str, Any]]:
        """Return the evidence of a kind by id."""
        return self.evidence.get(kind, {})


def absent(harvest: Harvest, kind: Kind) -> list[str]:
    """Return the archived ids that neither of the last two sweeps saw; none unless both saw the whole list."""
    if len(harvest.sweeps) < 2 or not all(results[kind].complete for results in harvest.sweeps[-2:]):
        return []
    return list(harvest.ledgers[kind].absent_since(len(harvest.sweeps) - 1))


def refuse_mass_disappearance(harvest: Harvest) -> None:
    """Refuse to believe that a large part of a blog is gone.

    Raises:
        MassDisappearance: over 30 % of a kind, and more than 5, are absent.
    """
    for kind in (Kind.ENTRY_LIST, Kind.COMMENTS, Kind.FILES):
        gone = len(absent(harvest, kind))
        total = len(harvest.ledgers[kind].base)
        if gone > MOST_GONE_ALWAYS and gone > MOST_GONE_SHARE * total:
            raise MassDisappearance(
                f"{gone} of {total} {kind.value.replace('_', ' ')} records are gone from the service at once; "
                "nothing was written. If that is right, run again with --accept-removals."
            )


async def find_removals(harvest: Harvest, window: int) -> Removals:
    """Collect what is gone; an entry counts only once ``entry/get`` refuses it too."""
    last = len(harvest.sweeps)
    sweeps = {"absent_in_sweeps": [last - 1, last]}
    removals = Removals()
    for kind in (Kind.ENTRY_LIST, Kind.COMMENTS, Kind.FILES):
        removals.evidence[kind] = {record_id: dict(sweeps) for record_id in absent(harvest, kind)}
    removals.evidence[Kind.ENTRIES] = {}
    if not all(results[Kind.ENTRY_LIST].complete for results in harvest.sweeps[-2:]) or last < 2:
        return removals
    items = harvest.ledgers[Kind.ENTRY_LIST]
    queue = iter([key for key in harvest.ledgers[Kind.ENTRIES].base.ids() if items.seen(key) < last - 1])

    async def worker() -> None:
        for entry_id in queue:
            error = await harvest.fetch_entry(entry_id, last)
            said: str | dict[str, Any] = "answers"
            if isinstance(error, ApiError) and not isinstance(error, OtherEntry):
                said = {"status": error.status, "message": error.message}
                removals.evidence[Kind.ENTRIES][entry_id] = {**sweeps, "entry_get": said}
            elif error is not None:
                said = str(error)
                harvest.fail(entry_id, error)
            listed = removals.evidence[Kind.ENTRY_LIST].get(entry_id)
            if listed is not None:
                listed["entry_get"] = said

    await together(worker() for _ in range(window))
    return removals


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
            return dict(lossless_json.loads(split(ledger.line(record_id)).data))
        if record_id in ledger.distrusted:
            return None
        return self._state.load(kind, record_id)

    def scan(self, kind: Kind) -> Iterator[tuple[str, dict[str, Any]]]:
        """Read the raw objects of a kind in the order of ids, one at a time."""
        for record_id in self.ids(kind):
            data = self.load(kind, record_id)
            if data is not None:
                yield record_id, data
