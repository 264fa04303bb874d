"""A record through time: every change of it, its state at any version, and what is left of one that is gone.

Versions are walked from the newest backwards and only the record's own line is read, so nothing is folded.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from exporter.archive.lines import RecordLine
from exporter.archive.log import VersionRow, version_rows
from exporter.archive.lookup import Fallback, LinePosition, OnDamage, find, places
from exporter.errors import ArchiveDamaged, NoSuchRecord, UsageError
from exporter.model.changes import ABSENT, WHOLE_RECORD, Change, FieldChange, RecordChange, field_changes
from exporter.model.kinds import Kind, sort_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import tzinfo

    from exporter.archive.layout import Layout
    from exporter.archive.reader import ArchiveReader
    from exporter.service.interface import Records


@dataclass(frozen=True, slots=True)
class RecordVersion:
    """A record as a version holds it; ``version`` is the one whose ``put`` line it is."""

    kind: Kind
    record_id: str
    version: int
    line: RecordLine

    def data(self) -> dict[str, Any]:
        """Return the raw object."""
        return self.line.record()


@dataclass(frozen=True, slots=True)
class Revision:
    """One change in a record's life.

    Attributes:
        version: where it stands.
        date: when that version was committed, as in its manifest.
        change: new, changed or gone.
        fields: the names of the fields that changed; all of them for a new record, none for one that is gone.
        evidence: why the removal was believed.
    """

    version: int
    date: str
    change: Change
    fields: tuple[str, ...]
    evidence: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class LastKnown:
    """What an archive knows of a record, gone or not.

    Attributes:
        stored: its newest state; ``None`` when a prune left only the tombstone.
        gone_in: the version whose tombstone removes it, ``None`` while it is there.
        gone_at: when that version was committed.
        evidence: why the removal was believed.
    """

    stored: RecordVersion | None
    gone_in: int | None = None
    gone_at: str | None = None
    evidence: dict[str, Any] | None = None


def revisions(reader: ArchiveReader, kind: Kind, record_id: str) -> list[Revision]:
    """Return what happened to a record, oldest first; empty when no version knows it.

    Raises:
        ArchiveDamaged: a segment is missing or a line cannot be read.
    """
    steps: list[Revision] = []
    before: dict[str, Any] | None = None
    for version in reader.versions():
        line = find(reader.layout.segment(version, kind), record_id, partial(reader.find_intact, kind))
        if line is None:
            continue
        finished = reader.manifest(version).finished_at
        if line.removed:
            steps.append(Revision(version, finished, Change.GONE, (), line.evidence))
            before = None
            continue
        after = line.record()
        if before is None:
            steps.append(Revision(version, finished, Change.NEW, tuple(after)))
        else:
            names = tuple(field.name for field in field_changes(before, after))
            steps.append(Revision(version, finished, Change.CHANGED, names or (WHOLE_RECORD,)))
        before = after
    return steps


def record_at(reader: ArchiveReader, kind: Kind, record_id: str, at: int | None = None) -> RecordVersion | None:
    """Return a record as of version ``at`` (default: the newest); ``None`` when it is not there then.

    Raises:
        NoSuchRecord: the archive has no version ``at``.
        NoArchive: the archive has no version yet.
        ArchiveDamaged: a segment is missing or the line cannot be read.
    """
    known = last_known(reader, kind, record_id, at)
    return None if known is None or known.gone_in is not None else known.stored


def last_known(reader: ArchiveReader, kind: Kind, record_id: str, at: int | None = None) -> LastKnown | None:
    """Return the newest state of a record that version ``at`` or one before it has; ``None`` when none knows it.

    Raises:
        NoSuchRecord: the archive has no version ``at``.
        NoArchive: the archive has no version yet.
        ArchiveDamaged: a segment is missing or the line cannot be read.
    """
    newest = reader.resolve(at)
    gone: tuple[int, RecordLine] | None = None
    for version in reversed(reader.versions()):
        if version > newest:
            continue
        line = find(reader.layout.segment(version, kind), record_id, partial(reader.find_intact, kind))
        if line is None:
            continue
        if not line.removed:
            return _known(reader, RecordVersion(kind, record_id, version, line), gone)
        gone = gone or (version, line)
    return None if gone is None else _known(reader, None, gone)


def _known(reader: ArchiveReader, stored: RecordVersion | None, gone: tuple[int, RecordLine] | None) -> LastKnown:
    if gone is None:
        return LastKnown(stored)
    version, line = gone
    return LastKnown(stored, version, reader.manifest(version).finished_at, line.evidence)


def places_at(
    layout: Layout, versions: Sequence[int], kind: Kind, ids: Iterable[str], damaged: OnDamage | None = None
) -> dict[str, LinePosition]:
    """Return where the lines of these records stand after ``versions``; those that are not there then are left out.

    Args:
        layout: the archive.
        versions: all versions up to the wanted one, oldest first.
        kind: the records' kind.
        ids: the records' ids.
        damaged: is told of what cannot be read, which is then passed over.

    Raises:
        ArchiveDamaged: a segment is missing or a line does not begin as one, and nobody is to be told.
    """
    wanted = set(ids)
    found: dict[str, LinePosition] = {}
    for version in reversed(versions):
        if not wanted:
            break
        for record_id, place in places(layout.segment(version, kind), wanted, damaged):
            wanted.discard(record_id)
            if not place.removed:
                found[record_id] = place
    return found


def version_at(reader: ArchiveReader, text: str, timezone: tzinfo = UTC) -> int:
    """Return the version that ``--at`` means.

    Args:
        reader: the archive.
        text: a version's number; or a date (``2026-01-31``, which means the end of that day) or a date and time
            (``2026-01-31T12:00``): the newest version committed at or before it.
        timezone: what a time without an offset is in.

    Raises:
        UsageError: the text is neither.
        NoSuchRecord: there is no such version.
        NoArchive: the archive has no version yet.
    """
    text = text.strip()
    if text.isascii() and text.isdecimal() and len(text) < 19:
        return reader.resolve(int(text))
    moment = _moment(text, timezone)
    reader.resolve()
    rows = version_rows(reader)
    for row in reversed(rows):
        finished = _finished(row)
        if isinstance(moment, datetime):
            if finished <= moment:
                return row.version
        elif finished.astimezone(timezone).date() <= moment:
            return row.version
    raise NoSuchRecord(f"There is no version from {text} or before: the oldest one is of {rows[0].finished_at}.")


def _moment(text: str, timezone: tzinfo) -> datetime | date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        pass
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(
            f"{text!r} is neither a version's number nor a date such as 2026-01-31 or 2026-01-31T12:00."
        ) from None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=timezone)


def _finished(row: VersionRow) -> datetime:
    try:
        return datetime.fromisoformat(row.finished_at)
    except ValueError as error:
        raise ArchiveDamaged(f"The manifest of version {row.version} has no proper finished_at; run verify.") from error


def diff_versions(
    reader: ArchiveReader, a: int, b: int, service: Records, damaged: OnDamage | None = None
) -> Iterator[RecordChange]:
    """Yield what differs in version ``b`` from version ``a``, by kind and id; ``a`` may be the later one.

    The titles are those that ``service`` knows the records by.

    Either may be 0, which is the state before the first version. Damage that ``damaged`` is told of is passed over.

    Raises:
        UsageError: the archive has no such version.
        ArchiveDamaged: a segment is missing or a line cannot be read, and nobody is to be told.
    """
    for number in (a, b):
        if number:
            reader.resolve(number)
    versions = reader.versions()
    low = [version for version in versions if version <= min(a, b)]
    between = [version for version in versions if min(a, b) < version <= max(a, b)]
    for kind in Kind:
        earlier, later = _ends(reader.layout, kind, low, between, damaged)
        before, after = (later, earlier) if a > b else (earlier, later)
        for record_id in sorted({*before, *after}, key=sort_key):
            try:
                change = _compare(reader, service, kind, record_id, before.get(record_id), after.get(record_id))
            except ArchiveDamaged as error:
                if damaged is None:
                    raise
                damaged(error)
                continue
            if change is not None:
                yield change


def _ends(
    layout: Layout, kind: Kind, low: list[int], between: list[int], damaged: OnDamage | None
) -> tuple[dict[str, LinePosition], dict[str, LinePosition]]:
    """Return where every record that the versions between touch stands at both ends; tombstones in the later only."""
    later: dict[str, LinePosition] = {}
    for version in between:
        later.update(places(layout.segment(version, kind), damaged=damaged))
    return places_at(layout, low, kind, later, damaged), later


def _compare(
    reader: ArchiveReader,
    service: Records,
    kind: Kind,
    record_id: str,
    before: LinePosition | None,
    after: LinePosition | None,
) -> RecordChange | None:
    fallback = partial(reader.find_intact, kind)
    old, new = _read(before, fallback), _read(after, fallback)
    if new is None:
        if old is None:
            return None
        data = _data(old)
        fields = tuple(FieldChange(name, value, ABSENT) for name, value in data.items())
        evidence = after.read().evidence if after is not None else None
        return RecordChange(kind, record_id, Change.GONE, service.title(kind, data) or record_id, fields, evidence)
    data = _data(new)
    title = service.title(kind, data) or record_id
    if old is None:
        fields = tuple(FieldChange(name, ABSENT, value) for name, value in data.items())
        return RecordChange(kind, record_id, Change.NEW, title, fields)
    if old.identity == new.identity:
        return None
    fields = field_changes(_data(old), data) or (_rewritten(old, new),)
    return RecordChange(kind, record_id, Change.CHANGED, title, fields)


def _read(place: LinePosition | None, fallback: Fallback) -> RecordLine | None:
    return None if place is None or place.removed else place.read(fallback)


def _data(line: RecordLine) -> dict[str, Any]:
    return line.record()


def _rewritten(old: RecordLine, new: RecordLine) -> FieldChange:
    return FieldChange(WHOLE_RECORD, old.data.decode("utf-8"), new.data.decode("utf-8"))
