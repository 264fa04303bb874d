"""What a site tells of an archive's versions: which there are, what each changed, and the life of every entry."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from exporter.archive.history import diff_versions
from exporter.archive.log import VersionRow, version_rows
from exporter.archive.lookup import Fallback, LinePosition, places
from exporter.errors import ArchiveDamaged
from exporter.model.kinds import Kind

if TYPE_CHECKING:
    from exporter.archive.archive import Archive
    from exporter.archive.lines import RecordLine
    from exporter.archive.manifest import Manifest
    from exporter.model.changes import RecordChange
    from exporter.service.interface import Records


class Step(NamedTuple):
    """An entry in one version: its record, or ``None`` where that version found it gone, or holds it damaged."""

    version: int
    date: str
    record: Mapping[str, Any] | None
    damaged: bool = False


@dataclass(frozen=True, slots=True)
class GoneEntry:
    """An entry that is no longer there: which version found that, when, and where its last state stands."""

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


def completeness_at(reader: Archive, version: int) -> Completeness:
    """Return the completeness of a version: of the newest one as the newest run found it."""
    document, problems = reader.completeness(version)
    kinds = []
    for kind in (Kind.ENTRIES, Kind.COMMENTS, Kind.FILES, Kind.ASSETS):
        part = document.get(kind)
        left_out = part.get("left_out") if isinstance(part, dict) else None
        if isinstance(part, dict) and isinstance(left_out, dict):
            numbers = [part.get("listed"), part.get("saved"), *map(left_out.get, ("pending", "lost", "by_choice"))]
            kinds.append(KindCompleteness(kind, *(number if type(number) is int else 0 for number in numbers)))
    named = tuple((str(each["kind"]), str(each["id"] or ""), str(each["reason"])) for each in problems)
    return Completeness(bool(document.get("complete")), tuple(kinds), named)


class HistorySource(Protocol):
    """What the history pages are made from."""

    def completeness(self) -> Completeness:
        """Return whether everything asked for is in the archive."""

    def rows(self) -> Sequence[VersionRow]:
        """Return every version, oldest first."""

    def manifest(self, version: int) -> tuple[Manifest, str]:
        """Return a version's manifest and its SHA-256 in hexadecimal."""

    def gone_entries(self) -> Mapping[str, GoneEntry]:
        """Return the entries that are gone and whose content is still held, by id."""

    def changed_entries(self) -> Mapping[str, tuple[int, ...]]:
        """Return the versions of every entry that more than one version holds, oldest first, by id."""

    def steps(self, entry_id: str) -> list[Step]:
        """Read an entry as each of its versions holds it, oldest first."""

    def changes(self, version: int) -> tuple[list[RecordChange], int]:
        """Return what a version changed, nothing for the first, and how many damaged places that leaves out."""


class ArchiveHistory:
    """The :class:`HistorySource` of an archive, up to a version.

    Only the ids that versions after the first hold are kept, so the first, which holds everything, costs one pass.

    What is damaged of the past is left out or named: a state that nothing can give back must not keep the rest of the
    blog from being read. The newest state comes from elsewhere, and is never served damaged.
    """

    def __init__(self, reader: Archive, service: Records, at: int | None = None) -> None:
        self._reader = reader
        self._service = service
        self._version = reader.resolve(at)
        self._rows = [row for row in version_rows(reader) if at is None or row.version <= at]
        self._dates = {row.version: row.finished_at for row in self._rows}
        self._lives: dict[str, list[tuple[int, LinePosition]]] = self._walk()

    def completeness(self) -> Completeness:
        """Return whether everything asked for is in the archive."""
        return completeness_at(self._reader, self._version)

    def rows(self) -> Sequence[VersionRow]:
        """Return every version, oldest first."""
        return self._rows

    def manifest(self, version: int) -> tuple[Manifest, str]:
        """Return a version's manifest and its SHA-256 in hexadecimal."""
        digest = hashlib.sha256(self._reader.layout.manifest(version).read_bytes()).hexdigest()
        return self._reader.manifest(version), digest

    def gone_entries(self) -> Mapping[str, GoneEntry]:
        """Return the entries that are gone and whose content is still held, by id."""
        found = {}
        for entry_id, life in self._lives.items():
            held = [place for _, place in life if not place.removed]
            version, last = life[-1]
            readable = next((place for place in reversed(held) if self._line(place) is not None), None)
            if last.removed and readable is not None:
                found[entry_id] = GoneEntry(version, self._dates[version], readable, self._find_intact)
        return found

    def changed_entries(self) -> Mapping[str, tuple[int, ...]]:
        """Return the versions of every entry that more than one version holds, oldest first, by id."""
        return {
            entry_id: tuple(version for version, _ in life) for entry_id, life in self._lives.items() if len(life) > 1
        }

    def steps(self, entry_id: str) -> list[Step]:
        """Read an entry as each of its versions holds it, oldest first."""
        return [self._step(version, place) for version, place in self._lives.get(entry_id, ())]

    def changes(self, version: int) -> tuple[list[RecordChange], int]:
        """Return what a version changed, nothing for the first, and how many damaged places that leaves out."""
        earlier = [row.version for row in self._rows if row.version < version]
        damage: list[ArchiveDamaged] = []
        found = list(diff_versions(self._reader, earlier[-1], version, self._service, damage.append)) if earlier else []
        return found, len(damage)

    def _step(self, version: int, place: LinePosition) -> Step:
        line = None if place.removed else self._line(place)
        damaged = line is None and not place.removed
        return Step(version, self._dates[version], None if line is None else line.record(), damaged)

    def _line(self, place: LinePosition) -> RecordLine | None:
        """Read a line of an entry; ``None`` where it is damaged."""
        try:
            return place.read(self._find_intact)
        except ArchiveDamaged:
            return None

    def _find_intact(self, record_id: str, identity: bytes) -> RecordLine | None:
        return self._reader.find_intact(Kind.ENTRIES, record_id, identity)

    def _walk(self) -> dict[str, list[tuple[int, LinePosition]]]:
        lives: defaultdict[str, list[tuple[int, LinePosition]]] = defaultdict(list)
        layout = self._reader.layout
        for row in self._rows[1:]:
            for entry_id, place in places(layout.segment(row.version, Kind.ENTRIES), damaged=_left_out):
                lives[entry_id].append((row.version, place))
        for row in self._rows[:1]:
            for entry_id, place in places(layout.segment(row.version, Kind.ENTRIES), lives.keys(), _left_out):
                lives[entry_id].insert(0, (row.version, place))
        return dict(lives)


def _left_out(_error: ArchiveDamaged) -> None:
    """Pass over what cannot even be told whose it was; the page of its version says that something is missing."""
