"""The archive's past as a site shows it: versions, their changes, and every entry in each version."""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from exporter.archive.history import VersionRow, changes_in, positions_at, version_rows
from exporter.archive.segments import Fallback, LinePosition, OnDamage, line_positions
from exporter.errors import ArchiveDamaged
from exporter.message import restored_from
from exporter.model.asset import Asset
from exporter.model.kinds import Kind

if TYPE_CHECKING:
    from exporter.archive.archive import Archive
    from exporter.archive.layout import Layout
    from exporter.archive.manifest import Manifest
    from exporter.model.changes import RecordChange
    from exporter.model.records import Raw
    from exporter.service.interface import Records

_MAX_SEARCHED_PAGES: Final = 2
"""Recent pages, for which the versions before theirs are searched: the new version and the one before.
"""


class EntryState(NamedTuple):
    """An entry in one version: its record, or ``None`` if that version found it gone, or holds it damaged."""

    version: int
    date: str
    record: Mapping[str, Any] | None
    damaged: bool = False


class EarlierState(NamedTuple):
    """An earlier state of an entry: valid from one version until the version of the next change.

    Attributes:
        version: the version that holds it.
        until: the version of the next change.
        gone: whether that change is a removal.
        before: the version with the previous state, or 0.
        after: the version with the next state, or 0 if the entry's own page shows that one.
    """

    version: int
    until: int
    gone: bool
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class GoneEntry:
    """A removed entry: when and in which version it was removed, and the version with its last state."""

    version: int
    date: str
    last: LinePosition
    fallback: Fallback

    @property
    def identity(self) -> bytes:
        """A fingerprint of its last state."""
        return f"gone {self.version} {self.last.path.parent.name} {self.last.offset}".encode()

    def load(self) -> dict[str, Any]:
        """Read its last state."""
        return self.last.read(self.fallback).record()


class KindCompleteness(NamedTuple):
    """The number of records of a kind as listed by the service, and how many are saved, pending, lost or left out."""

    kind: Kind
    listed: int
    saved: int
    pending: int
    lost: int
    by_choice: int
    refused: int
    doubtful: int


class Completeness(NamedTuple):
    """The completeness in numbers, with the problems; it stays equal until they change."""

    complete: bool
    provable: bool
    kinds: tuple[KindCompleteness, ...]
    problems: tuple[tuple[str, str, str], ...]


def completeness_at(archive: Archive, version: int) -> Completeness:
    """Return the completeness of a version: of the newest one as the newest run found it."""
    document, problems = archive.completeness(version)
    kinds = []
    for kind in (Kind.ENTRIES, Kind.COMMENTS, Kind.FILES, Kind.ASSETS):
        part = document.get(kind)
        left_out = part.get("left_out") if isinstance(part, dict) else None
        if isinstance(part, dict) and isinstance(left_out, dict):
            numbers = [part.get("listed"), part.get("saved"), *map(left_out.get, KindCompleteness._fields[3:])]
            kinds.append(KindCompleteness(kind, *(number if type(number) is int else 0 for number in numbers)))
    named = tuple((str(each["kind"]), str(each["id"] or ""), restored_from(each, "reason")) for each in problems)
    is_provable = document.get("provable") is not False
    return Completeness(bool(document.get("complete")), is_provable, tuple(kinds), named)


class ArchiveHistory:
    """The versions up to a given one.

    Only the ids that versions after the first hold are kept, so the first version, which holds everything, is read in
    one pass.

    Damaged parts are left out or named: a state that cannot be restored must not make the rest unreadable. The newest
    state comes from ``latest/``, and is never served damaged.

    Attributes:
        damaged_versions: the versions with unreadable parts so far.
    """

    def __init__(self, archive: Archive, service: Records, at: int | None = None) -> None:
        self._archive = archive
        self._service = service
        self._version = archive.resolve(at)
        self._rows = [row for row in version_rows(archive) if at is None or row.version <= at]
        self._dates = {row.version: row.finished_at for row in self._rows}
        self._asked = 0
        self._damaged: set[Kind] = set()
        self.damaged_versions: set[int] = set()
        self._held = cache(self._positions)
        self._changed = cache(self._ids_by_version)
        self._entries = self._held(Kind.ENTRIES)

    def completeness(self) -> Completeness:
        """Return whether everything asked for is in the archive."""
        return completeness_at(self._archive, self._version)

    def rows(self) -> Sequence[VersionRow]:
        """Return every version, oldest first."""
        return self._rows

    def manifest(self, version: int) -> tuple[Manifest, str]:
        """Return a version's manifest and its SHA-256 in hexadecimal."""
        manifest = self._archive.manifest(version)
        return manifest, hashlib.sha256(self._archive.layout.manifest(version).read_bytes()).hexdigest()

    def gone_entries(self) -> Mapping[str, GoneEntry]:
        """Return the entries that are gone and whose content is still held, by id."""
        found = {}
        fallback = partial(self._archive.find_intact, Kind.ENTRIES)
        for entry_id, held in self._entries.items():
            version, last = held[-1]
            if not last.removed:
                continue
            puts = (position for _, position in reversed(held) if not position.removed)
            readable = next((position for position in puts if self._record(position, Kind.ENTRIES) is not None), None)
            if readable is not None:
                found[entry_id] = GoneEntry(version, self._dates[version], readable, fallback)
        return found

    def changed_entries(self) -> Mapping[str, tuple[int, ...]]:
        """Return the versions of every entry that more than one version holds, oldest first, by id."""
        return {
            entry_id: tuple(version for version, _ in held) for entry_id, held in self._entries.items() if len(held) > 1
        }

    def states(self, entry_id: str) -> Iterator[EntryState]:
        """Read an entry as each of its versions holds it, oldest first, one at a time."""
        return (self._state(version, position) for version, position in self._entries.get(entry_id, ()))

    def earlier(self, entry_id: str) -> list[EarlierState]:
        """Return an entry's states, oldest first, except the last, which the entry's own page shows."""
        steps = self._entries.get(entry_id, ())
        puts = [at for at, (_, position) in enumerate(steps) if not position.removed]
        found = []
        for number, at in enumerate(puts[:-1]):
            until, following = steps[at + 1]
            before = steps[puts[number - 1]][0] if number else 0
            after = steps[puts[number + 1]][0] if number + 2 < len(puts) else 0
            found.append(EarlierState(steps[at][0], until, following.removed, before, after))
        return found

    def only_change(self, entry_id: str, at: int | None = None) -> int | None:
        """Return the version that changed an entry if it is the only one, up to some version or ever."""
        steps = [step for step in self._entries.get(entry_id, ())[:3] if at is None or step[0] <= at]
        return steps[1][0] if len(steps) == 2 and not any(each.removed for _, each in steps) else None

    def state(self, entry_id: str, version: int) -> EntryState:
        """Read the state that a version holds of an entry."""
        steps = dict(self._entries[entry_id])
        return self._state(version, steps[version])

    def version_before(self, entry_id: str, version: int) -> int | None:
        """Return the version of the state that an entry had before a version; ``None`` if it did not exist."""
        step = _last_before(self._entries.get(entry_id, ()), version)
        return None if step is None else step[0]

    def existed_by(self, entry_id: str, version: int) -> bool:
        """Return whether a version, or one before it, had an entry that some version has."""
        steps = self._entries.get(entry_id)
        return steps is None or steps[0][0] <= version

    def existed(self, kind: Kind, record_id: str, version: int) -> bool:
        """Return whether a version had a record that some version has, damaged or not."""
        steps = self._held(kind).get(record_id)
        return steps is None or _last_before(steps, version + 1) is not None

    def at(self, kind: Kind, record_id: str, version: int) -> Raw | None:
        """Read a record as of a version; ``None`` if it did not exist, or is damaged.

        Raises:
            KeyError: no version after the first contains it, so it never changed.
        """
        step = _last_before(self._held(kind)[record_id], version + 1)
        return None if step is None else self._record(step[1], kind)

    def steps(self, kind: Kind, record_id: str) -> list[tuple[int, Raw | None]]:
        """Read the states of a record, oldest first; none if only the first version holds it."""
        steps = self._held(kind).get(record_id, ())
        return [(version, None if each.removed else self._record(each, kind)) for version, each in steps]

    def last_state(self, entry_id: str, version: int) -> int | None:
        """Return the version with an entry's last state up to some version, even if the entry was removed since.

        The version is 0 if no version after the first holds the entry; ``None`` if it did not exist yet.
        """
        steps = self._entries.get(entry_id)
        if steps is None:
            return 0
        known = (number for number, each in reversed(steps) if number <= version and not each.removed)
        return next(known, None)

    def changed_in(self, kind: Kind, version: int) -> Collection[str]:
        """Return the ids of the records of a kind that a version after the first holds."""
        return self._changed(kind).get(version, {})

    def versions_before(self, version: int) -> list[int | None]:
        """Return the versions of the states before those that a version holds of entries, in the order of these."""
        return [self.version_before(entry_id, version) for entry_id in self.changed_in(Kind.ENTRIES, version)]

    def _ids_by_version(self, kind: Kind) -> dict[int, dict[str, None]]:
        found: defaultdict[int, dict[str, None]] = defaultdict(dict)
        for record_id, steps in self._held(kind).items():
            for version, _ in steps:
                found[version][record_id] = None
        return found

    @cached_property
    def former_comments(self) -> Mapping[str, Collection[str]]:
        """The ids of removed or changed comments, by every entry that they belonged to."""
        found: defaultdict[str, dict[str, None]] = defaultdict(dict)
        for comment_id, steps in self._held(Kind.COMMENTS).items():
            puts = [position for _, position in steps if not position.removed]
            if len(puts) > 1 or steps[-1][1].removed:
                for record in (self._record(position, Kind.COMMENTS) for position in puts):
                    if record is not None:
                        found[self._service.post_id(record)][comment_id] = None
        return found

    @cached_property
    def replaced(self) -> Mapping[str, Sequence[tuple[int, str]]]:
        """The versions and paths of the files of every address whose file changed."""
        found = {}
        for url, steps in self._held(Kind.ASSETS).items():
            read = self.steps(Kind.ASSETS, url) if len(steps) > 1 else ()
            paths = [(version, Asset.from_raw(raw).path) for version, raw in read if raw is not None]
            stored = [(version, path) for version, path in paths if path is not None]
            if len({path for _, path in stored}) > 1:
                found[url] = stored
        return found

    def file_at(self, url: str, version: int) -> str | None:
        """Return the path of the file that an address had in a version; ``None`` if it always had the same."""
        return next((path for since, path in reversed(self.replaced.get(url, ())) if since <= version), None)

    def date(self, version: int) -> str:
        """Return the commit time in a version's manifest; empty if there is no such version."""
        return self._dates.get(version, "")

    def changes(self, version: int) -> tuple[list[RecordChange], int]:
        """Return the changes in a version, none for the first, and the number of damaged places left out."""
        if version == self._rows[0].version:
            return [], 0
        self._asked += 1
        damage: list[ArchiveDamaged] = []
        before = partial(self._before, version, damage.append)
        found = list(changes_in(self._archive, version, before, self._service, damage.append))
        return found, len(damage)

    def _before(self, version: int, damaged: OnDamage, kind: Kind, ids: Collection[str]) -> Mapping[str, LinePosition]:
        """Return the positions of records before a version.

        For a page or two, earlier versions are searched; for a whole site, one index is built for all pages. Both count
        the same damage.
        """
        once = kind is Kind.ENTRIES or self._asked > _MAX_SEARCHED_PAGES
        held = self._held(kind) if once and ids else {}
        if kind in self._damaged or not once:
            earlier = [row.version for row in self._rows if row.version < version]
            return positions_at(self._archive.layout, earlier, kind, ids, damaged)
        steps = ((record_id, _last_before(held.get(record_id, ()), version)) for record_id in ids)
        return {record_id: step[1] for record_id, step in steps if step is not None}

    def _state(self, version: int, position: LinePosition) -> EntryState:
        record = None if position.removed else self._record(position, Kind.ENTRIES)
        return EntryState(version, self._dates[version], record, record is None and not position.removed)

    def _record(self, position: LinePosition, kind: Kind) -> dict[str, Any] | None:
        """Read the record of a line; ``None`` if it is damaged."""
        try:
            return self._archive.parsed.of(position.read(partial(self._archive.find_intact, kind)))
        except ArchiveDamaged:
            return None

    def _positions(self, kind: Kind) -> dict[str, list[tuple[int, LinePosition]]]:
        """Return the positions of each record of a kind that a version after the first holds.

        A damaged line whose record is not known is left out; the page of its version says that something is missing.
        """

        def damaged(version: int, _: ArchiveDamaged) -> None:
            self._damaged.add(kind)
            self.damaged_versions.add(version)

        return changed_positions(self._archive.layout, list(self._dates), kind, damaged)


def _last_before(steps: Sequence[tuple[int, LinePosition]], version: int) -> tuple[int, LinePosition] | None:
    """Return the last step before a version; ``None`` if no step precedes it, or if the last is a removal."""
    at = bisect_left(steps, version, key=itemgetter(0))
    return None if not at or steps[at - 1][1].removed else steps[at - 1]


def changed_positions(
    layout: Layout, versions: Sequence[int], kind: Kind, damaged: Callable[[int, ArchiveDamaged], None]
) -> dict[str, list[tuple[int, LinePosition]]]:
    """Return the versions and line positions of each record of a kind that a version after the first holds.

    Args:
        layout: of the archive.
        versions: the versions to read, oldest first.
        kind: of the records.
        damaged: called with the version and the error for each damaged part, which is left out.
    """
    found: defaultdict[str, list[tuple[int, LinePosition]]] = defaultdict(list)
    for version in versions[1:]:
        for record_id, position in line_positions(layout.segment(version, kind), damaged=partial(damaged, version)):
            found[record_id].append((version, position))
    for version in versions[:1]:
        known = line_positions(layout.segment(version, kind), found.keys(), partial(damaged, version))
        for record_id, position in known:
            found[record_id].insert(0, (version, position))
    return dict(found)
