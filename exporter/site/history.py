"""What a site shows of an archive's past: its versions, what each changed, and every entry as each version holds it."""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from exporter.archive.history import Fallback, LinePosition, OnDamage, changes_in, places, places_at
from exporter.archive.log import VersionRow, version_rows
from exporter.errors import ArchiveDamaged
from exporter.model.kinds import Kind

if TYPE_CHECKING:
    from exporter.archive.archive import Archive
    from exporter.archive.lines import RecordLine
    from exporter.archive.manifest import Manifest
    from exporter.model.changes import RecordChange
    from exporter.service.interface import Records

_LOOKED_THROUGH: Final = 2
"""Pages for which the versions before theirs are looked through: those of a night, the new version and the one before.
"""


class EntryState(NamedTuple):
    """An entry in one version: its record, or ``None`` where that version found it gone, or holds it damaged."""

    version: int
    date: str
    record: Mapping[str, Any] | None
    damaged: bool = False


@dataclass(frozen=True, slots=True)
class GoneEntry:
    """An entry that is no longer there: which version found that, when, and where its last state is."""

    version: int
    date: str
    last: LinePosition
    fallback: Fallback

    @property
    def identity(self) -> bytes:
        """What changes with its last state."""
        return f"gone {self.version} {self.last.path.parent.name} {self.last.offset}".encode()

    def load(self) -> dict[str, Any]:
        """Read its last state."""
        return self.last.read(self.fallback).record()


class KindCompleteness(NamedTuple):
    """How many records of a kind there are by what the service lists and counts, and what became of them."""

    kind: Kind
    listed: int
    saved: int
    pending: int
    lost: int
    by_choice: int


class Completeness(NamedTuple):
    """Whether everything asked for is in the archive: in numbers, and what is not; the same until that changes."""

    complete: bool
    kinds: tuple[KindCompleteness, ...]
    problems: tuple[tuple[str, str, str], ...]

    @property
    def excepted(self) -> bool:
        """Whether something is neither saved nor still to be read."""
        return any(each.lost or each.by_choice for each in self.kinds)


def completeness_at(archive: Archive, version: int) -> Completeness:
    """Return the completeness of a version: of the newest one as the newest run found it."""
    document, problems = archive.completeness(version)
    kinds = []
    for kind in (Kind.ENTRIES, Kind.COMMENTS, Kind.FILES, Kind.ASSETS):
        part = document.get(kind)
        left_out = part.get("left_out") if isinstance(part, dict) else None
        if isinstance(part, dict) and isinstance(left_out, dict):
            numbers = [part.get("listed"), part.get("saved"), *map(left_out.get, ("pending", "lost", "by_choice"))]
            kinds.append(KindCompleteness(kind, *(number if type(number) is int else 0 for number in numbers)))
    named = tuple((str(each["kind"]), str(each["id"] or ""), str(each["reason"])) for each in problems)
    return Completeness(bool(document.get("complete")), tuple(kinds), named)


class ArchiveHistory:
    """The versions of an archive, up to one of them.

    Only the ids that versions after the first hold are kept, so the first, which holds everything, costs one pass.

    What is damaged of the past is left out or named: a state that nothing can give back must not keep the rest of the
    blog from being read. The newest state comes from elsewhere, and is never served damaged.
    """

    def __init__(self, archive: Archive, service: Records, at: int | None = None) -> None:
        self._archive = archive
        self._service = service
        self._version = archive.resolve(at)
        self._rows = [row for row in version_rows(archive) if at is None or row.version <= at]
        self._dates = {row.version: row.finished_at for row in self._rows}
        self._asked = 0
        self._damaged: set[Kind] = set()
        self._held = cache(self._positions)
        self._entries = self._held(Kind.ENTRIES)

    def completeness(self) -> Completeness:
        """Return whether everything asked for is in the archive."""
        return completeness_at(self._archive, self._version)

    def rows(self) -> Sequence[VersionRow]:
        """Return every version, oldest first."""
        return self._rows

    def manifest(self, version: int) -> tuple[Manifest, str]:
        """Return a version's manifest and its SHA-256 in hexadecimal."""
        digest = hashlib.sha256(self._archive.layout.manifest(version).read_bytes()).hexdigest()
        return self._archive.manifest(version), digest

    def gone_entries(self) -> Mapping[str, GoneEntry]:
        """Return the entries that are gone and whose content is still held, by id."""
        found = {}
        for entry_id, held in self._entries.items():
            version, last = held[-1]
            if not last.removed:
                continue
            puts = (position for _, position in reversed(held) if not position.removed)
            readable = next((position for position in puts if self._line(position) is not None), None)
            if readable is not None:
                found[entry_id] = GoneEntry(version, self._dates[version], readable, self._find_intact)
        return found

    def changed_entries(self) -> Mapping[str, tuple[int, ...]]:
        """Return the versions of every entry that more than one version holds, oldest first, by id."""
        return {
            entry_id: tuple(version for version, _ in held) for entry_id, held in self._entries.items() if len(held) > 1
        }

    def states(self, entry_id: str) -> list[EntryState]:
        """Read an entry as each of its versions holds it, oldest first."""
        return [self._state(version, position) for version, position in self._entries.get(entry_id, ())]

    def changes(self, version: int) -> tuple[list[RecordChange], int]:
        """Return what a version changed, nothing for the first, and how many damaged places that leaves out."""
        if version == self._rows[0].version:
            return [], 0
        self._asked += 1
        damage: list[ArchiveDamaged] = []
        before = partial(self._before, version, damage.append)
        found = list(changes_in(self._archive, version, before, self._service, damage.append))
        return found, len(damage)

    def _before(self, version: int, damaged: OnDamage, kind: Kind, ids: Collection[str]) -> Mapping[str, LinePosition]:
        """Return where records were before a version.

        For a page or two the versions before are looked through; for those of a whole site once for all of them. What
        is damaged is counted as the first way finds it.
        """
        once = kind is Kind.ENTRIES or self._asked > _LOOKED_THROUGH
        held = self._held(kind) if once and ids else {}
        if kind in self._damaged or not once:
            earlier = [row.version for row in self._rows if row.version < version]
            return places_at(self._archive.layout, earlier, kind, ids, damaged)
        found = {}
        for record_id in ids:
            steps = held.get(record_id, ())
            at = bisect_left(steps, version, key=itemgetter(0))
            if at and not steps[at - 1][1].removed:
                found[record_id] = steps[at - 1][1]
        return found

    def _state(self, version: int, position: LinePosition) -> EntryState:
        line = None if position.removed else self._line(position)
        damaged = line is None and not position.removed
        return EntryState(
            version, self._dates[version], None if line is None else self._archive.parsed.of(line), damaged
        )

    def _line(self, position: LinePosition) -> RecordLine | None:
        """Read a line of an entry; ``None`` where it is damaged."""
        try:
            return position.read(self._find_intact)
        except ArchiveDamaged:
            return None

    def _find_intact(self, record_id: str, identity: bytes) -> RecordLine | None:
        return self._archive.find_intact(Kind.ENTRIES, record_id, identity)

    def _positions(self, kind: Kind) -> dict[str, list[tuple[int, LinePosition]]]:
        """Return where the versions hold each record of a kind that one after the first holds.

        A damaged line whose record is not known is left out; the page of its version says that something is missing.
        """
        found: defaultdict[str, list[tuple[int, LinePosition]]] = defaultdict(list)
        layout = self._archive.layout

        def damaged(_: ArchiveDamaged) -> None:
            self._damaged.add(kind)

        for row in self._rows[1:]:
            for record_id, position in places(layout.segment(row.version, kind), damaged=damaged):
                found[record_id].append((row.version, position))
        for row in self._rows[:1]:
            known = found.keys()
            for record_id, position in places(layout.segment(row.version, kind), known, damaged):
                found[record_id].insert(0, (row.version, position))
        return dict(found)
