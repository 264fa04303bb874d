"""History: the versions as ``log`` shows them, the changes of records, their states at any version, and diffs.

Versions are searched from the newest backwards, and only the record's own line is read, so no state is built.

The rows of ``log`` are cached in ``.work/versions.json``. The cache is valid while its versions
exist and the newest of them still has the same manifest. Each manifest names the hash of its predecessor, so no older
one can have been replaced. (``verify`` finds a *damaged* one.)
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, date, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from exporter import lossless_json
from exporter.archive import atomic
from exporter.archive.layout import WHOLE_FILE, manifest_sha256, segment_name
from exporter.archive.lines import RecordLine
from exporter.archive.manifest import KindCounts
from exporter.archive.safe_files import HeldFolder
from exporter.archive.segments import LinePosition, OnDamage, find_line, line_positions, skip_damage
from exporter.clock import for_people
from exporter.errors import ArchiveDamaged, BlogExporterError, NoSuchRecord, UsageError
from exporter.frozen import frozen
from exporter.message import Message, listed, message
from exporter.model.changes import ABSENT, WHOLE_RECORD, Change, FieldChange, RecordChange, field_changes
from exporter.model.kinds import KIND_NAMES, Kind, sort_key
from exporter.text import printable

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from datetime import tzinfo

    from exporter.archive.layout import Layout
    from exporter.archive.reader import ArchiveReader
    from exporter.service.interface import Records

_EDITION = 3
_IN_TEXT = (Kind.ENTRIES, Kind.COMMENTS, Kind.FILES, Kind.ASSETS)


class VersionRow(NamedTuple):
    """One version as ``log`` shows it.

    Attributes:
        version: its number.
        started_at: when its run began to read, as in the manifest.
        finished_at: when it was committed.
        complete: whether everything could be read.
        problems: the number of records and lists that could not be read.
        pruned: the number of older versions that were folded into it.
        numbers: for each kind: total, new, changed, gone; see :meth:`counts`.
    """

    version: int
    started_at: str
    finished_at: str
    complete: bool
    problems: int
    pruned: int
    numbers: Mapping[str, Mapping[str, int]]

    def counts(self) -> dict[Kind, KindCounts]:
        """Return the counts by kind."""
        return {kind: KindCounts(**self.numbers[kind]) for kind in Kind}

    def document(self) -> dict[str, Any]:
        """Return the JSON object that ``log --json`` prints."""
        document = self._asdict()
        document["counts"] = document.pop("numbers")
        return document

    def text(self, zone: tzinfo | None = None) -> Message:
        """Return the line that ``log`` prints: the numbers of new (+), changed (~) and gone (-) records."""
        counts, finished = self.counts(), printable(self.finished_at, 40)
        parts = []
        for kind in _IN_TEXT:
            signs = ((counts[kind].new, "+"), (counts[kind].changed, "~"), (counts[kind].gone, "-"))
            changes = " ".join(f"{sign}{number:,}" for number, sign in signs if number)
            if changes:
                parts.append(message("{kind} {changes}", kind=KIND_NAMES[kind], changes=changes))
        return message(
            "{version:>6}  {finished}  {changes}{folded}{mark}",
            version=self.version,
            finished=finished if zone is None else for_people(finished, zone),
            changes=listed(parts) or message("lists only"),
            folded=message("   {n:,} older folded in", n=self.pruned) if self.pruned else "",
            mark="" if self.complete else message("   INCOMPLETE"),
        )


def version_rows(reader: ArchiveReader) -> list[VersionRow]:
    """Return a row for every version, oldest first, and update their cache.

    Raises:
        ArchiveDamaged: a manifest cannot be read.
    """
    layout, versions = reader.layout, reader.versions()
    rows = _kept_rows(layout, versions)
    missing = versions[len(rows) :]
    if missing:
        rows += [_row_of(reader, number) for number in missing]
        _keep_rows(layout, rows)
    return rows


def _row_of(reader: ArchiveReader, number: int) -> VersionRow:
    manifest = reader.manifest(number)
    return VersionRow(
        number,
        manifest.started_at,
        manifest.finished_at,
        bool(manifest.completeness.get("complete")),
        len(manifest.problems),
        0 if manifest.pruned is None else int(manifest.pruned.get("count", 0)),
        {str(kind): asdict(manifest.counts.get(kind, KindCounts())) for kind in Kind},
    )


def _kept_rows(layout: Layout, versions: list[int]) -> list[VersionRow]:
    """Return the valid rows of the cache, which may end before the newest version."""
    try:
        digest, _, body = layout.version_log.read_bytes().partition(b"\n")
        kept = json.loads(body)  # need not be lossless
        rows = [VersionRow(*row) for row in kept["rows"]]
        right = digest.decode("ascii") == hashlib.sha256(body).hexdigest()
        same = [row.version for row in rows] == versions[: len(rows)]
        named = manifest_sha256(layout, rows[-1].version) == kept["manifest_sha256"]
        return rows if right and same and named and kept["edition"] == _EDITION else []
    except (OSError, ValueError, KeyError, TypeError, IndexError):
        return []


def _keep_rows(layout: Layout, rows: list[VersionRow]) -> None:
    """Save the cache; if that is not possible, the next call takes longer."""
    newest = manifest_sha256(layout, rows[-1].version)
    body = lossless_json.dumps({"edition": _EDITION, "manifest_sha256": newest, "rows": [[*row] for row in rows]})
    with contextlib.suppress(OSError, BlogExporterError):
        atomic.make_folder(layout.work)
        atomic.write_file(layout.version_log, hashlib.sha256(body).hexdigest().encode("ascii") + b"\n" + body)


Before = Callable[[Kind, "Collection[str]"], "Mapping[str, LinePosition]"]
"""Returns the places of the existing records with these ids of a kind at some time."""


@frozen
class RecordVersion:
    """A record in the state of ``version``, whose ``put`` line it is."""

    kind: Kind
    record_id: str
    version: int
    line: RecordLine

    def data(self) -> dict[str, Any]:
        """Return the raw object."""
        return self.line.record()


@frozen
class Revision:
    """One change in a record's life.

    Attributes:
        version: the version that holds it.
        date: when that version was committed, as in its manifest.
        change: new, changed or gone.
        fields: the names of the changed fields; all of them for a new record, none for one that is gone.
        evidence: why the removal was believed.
    """

    version: int
    date: str
    change: Change
    fields: tuple[str, ...]
    evidence: dict[str, Any] | None = None


@frozen
class LastKnown:
    """The newest knowledge about a record.

    Attributes:
        stored: its newest state; ``None`` if a prune left only the tombstone.
        gone_in: the version whose tombstone removes it; ``None`` while it exists.
        gone_at: when that version was committed.
        evidence: why the removal was believed.
    """

    stored: RecordVersion | None
    gone_in: int | None = None
    gone_at: str | None = None
    evidence: dict[str, Any] | None = None


def revisions(reader: ArchiveReader, kind: Kind, record_id: str) -> list[Revision]:
    """Return a record's changes, oldest first; empty if no version knows it.

    Raises:
        ArchiveDamaged: a segment is missing or a line cannot be read.
    """
    steps: list[Revision] = []
    before: dict[str, Any] | None = None
    for version, line in _found(reader, reader.versions(), kind, record_id):
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
    """Return a record as of version ``at`` (default: the newest); ``None`` if it did not exist then.

    Raises:
        NoSuchRecord: the archive has no version ``at``.
        NoArchive: the archive has no version yet.
        ArchiveDamaged: a segment is missing or the line cannot be read.
    """
    known = last_known(reader, kind, record_id, at)
    return None if known is None or known.gone_in is not None else known.stored


def last_known(reader: ArchiveReader, kind: Kind, record_id: str, at: int | None = None) -> LastKnown | None:
    """Return a record's newest state up to version ``at``; ``None`` if no version knows it.

    Raises:
        NoSuchRecord: the archive has no version ``at``.
        NoArchive: the archive has no version yet.
        ArchiveDamaged: a segment is missing or the line cannot be read.
    """
    newest = reader.resolve(at)
    versions = [version for version in reversed(reader.versions()) if version <= newest]
    gone: tuple[int, RecordLine] | None = None
    try:
        for version, line in _found(reader, versions, kind, record_id, lambda: reader.healed(versions)):
            if not line.removed:
                return _known(reader, RecordVersion(kind, record_id, version, line), gone)
            gone = gone or (version, line)
    except ArchiveDamaged as error:
        there = reader.line_in_latest(kind, record_id, newest)
        if there is None or there.version is None:
            raise
        reader.damage.append(error)
        return LastKnown(RecordVersion(kind, record_id, there.version, there))
    return None if gone is None else _known(reader, None, gone)


def _found(
    reader: ArchiveReader,
    versions: Iterable[int],
    kind: Kind,
    record_id: str,
    healed: Callable[[], Collection[tuple[int, Kind, int]]] = tuple,
) -> Iterator[tuple[int, RecordLine]]:
    """Yield the versions that have a line for a record, and the line; damaged segments may be in ``healed``."""
    for version in versions:
        try:
            with HeldFolder(reader.layout.version(version)) as folder:
                line = find_line(folder, segment_name(kind), record_id, partial(reader.find_intact, kind))
        except ArchiveDamaged:
            if (version, kind, WHOLE_FILE) not in healed():
                raise
            continue
        if line is not None:
            yield version, line


def _known(reader: ArchiveReader, stored: RecordVersion | None, gone: tuple[int, RecordLine] | None) -> LastKnown:
    if gone is None:
        return LastKnown(stored)
    return LastKnown(stored, gone[0], reader.manifest(gone[0]).finished_at, gone[1].evidence)


def positions_at(
    layout: Layout, versions: Sequence[int], kind: Kind, ids: Iterable[str], damaged: OnDamage | None = None
) -> dict[str, LinePosition]:
    """Return the places of these records' lines after ``versions``, without the records that do not exist then.

    Args:
        layout: the archive.
        versions: all versions up to the wanted one, oldest first.
        kind: the records' kind.
        ids: the records' ids.
        damaged: receives the damage, which is then skipped.

    Raises:
        ArchiveDamaged: a segment is missing or a line does not begin as one, and ``damaged`` is not given.
    """
    wanted = set(ids)
    found: dict[str, LinePosition] = {}
    for version in reversed(versions):
        if not wanted:
            break
        for record_id, place in line_positions(layout.segment(version, kind), wanted, damaged):
            wanted.discard(record_id)
            if not place.removed:
                found[record_id] = place
    return found


def version_at(reader: ArchiveReader, text: str, timezone: tzinfo = UTC) -> int:
    """Return the version that ``--at`` selects.

    Args:
        reader: the archive.
        text: a version's number; or a date (``2026-01-31``, the end of that day) or a date and time
            (``2026-01-31T12:00``), for the newest version committed by then.
        timezone: applies to a time without an offset.

    Raises:
        UsageError: the text is no number, date or time.
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
    oldest = for_people(rows[0].finished_at, timezone)
    raise NoSuchRecord(
        "There is no version from {text} or before. The oldest one is from {oldest}.", text=text, oldest=oldest
    )


def _moment(text: str, timezone: tzinfo) -> datetime | date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        pass
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(
            "{text!r} is neither a version's number nor a date such as 2026-01-31 or 2026-01-31T12:00.", text=text
        ) from None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=timezone)


def _finished(row: VersionRow) -> datetime:
    try:
        return datetime.fromisoformat(row.finished_at)
    except ValueError as error:
        raise ArchiveDamaged(
            "The manifest of version {version} has no valid finished_at. Run verify.", version=row.version
        ) from error


def diff_versions(
    reader: ArchiveReader, a: int, b: int, service: Records, damaged: OnDamage | None = None
) -> Iterator[RecordChange]:
    """Yield the changes from version ``a`` to version ``b`` by kind and id; ``a`` may be the later one.

    Either may be 0, the empty state before the first version. ``service`` gives the titles of the records. ``damaged``
    receives the damage, which is then skipped.

    Raises:
        UsageError: the archive has no such version.
        ArchiveDamaged: a segment is missing or a line cannot be read, and ``damaged`` is not given.
    """
    for number in (a, b):
        if number:
            reader.resolve(number)
    versions = reader.versions()
    low = [version for version in versions if version <= min(a, b)]
    between = [version for version in versions if min(a, b) < version <= max(a, b)]
    for kind in Kind:
        later: dict[str, LinePosition] = {}  # of every record that the versions between touch
        for version in between:
            later.update(line_positions(reader.layout.segment(version, kind), damaged=damaged))
        earlier = positions_at(reader.layout, low, kind, later, damaged)
        before, after = (later, earlier) if a > b else (earlier, later)
        yield from _differences(reader, service, kind, before, after, damaged)


def changes_in(
    reader: ArchiveReader, version: int, before: Before, service: Records, damaged: OnDamage | None = None
) -> Iterator[RecordChange]:
    """Yield a version's changes like :func:`diff_versions`, for a caller that knows the state before it.

    Args:
        reader: the archive.
        version: the version.
        before: returns the places of records before it.
        service: gives the titles of the records.
        damaged: receives the damage, which is then skipped.

    Raises:
        ArchiveDamaged: a segment is missing or a line cannot be read, and ``damaged`` is not given.
    """
    for kind in Kind:
        after = dict(line_positions(reader.layout.segment(version, kind), damaged=damaged))
        yield from _differences(reader, service, kind, before(kind, after.keys()), after, damaged)


def _differences(
    reader: ArchiveReader,
    service: Records,
    kind: Kind,
    before: Mapping[str, LinePosition],
    after: Mapping[str, LinePosition],
    damaged: OnDamage | None,
) -> Iterator[RecordChange]:
    for record_id in sorted({*before, *after}, key=sort_key):
        try:
            change = _compare(reader, service, kind, record_id, before.get(record_id), after.get(record_id))
        except ArchiveDamaged as error:
            skip_damage(error, damaged)
            continue
        if change is not None:
            yield change


def _compare(
    reader: ArchiveReader,
    service: Records,
    kind: Kind,
    record_id: str,
    before: LinePosition | None,
    after: LinePosition | None,
) -> RecordChange | None:
    fallback = partial(reader.find_intact, kind)
    old, new = (None if each is None or each.removed else each.read(fallback) for each in (before, after))
    if new is None:
        if old is None:
            return None
        data = reader.parsed.of(old)
        fields = tuple(FieldChange(name, value, ABSENT) for name, value in data.items())
        evidence = after.read().evidence if after is not None else None
        title = service.title(kind, data) or record_id
        return RecordChange(kind, record_id, Change.GONE, title, fields, evidence, before=data)
    data = reader.parsed.of(new)
    title = service.title(kind, data) or record_id
    if old is None:
        fields = tuple(FieldChange(name, ABSENT, value) for name, value in data.items())
        return RecordChange(kind, record_id, Change.NEW, title, fields, after=data)
    if old.identity == new.identity:
        return None
    former = reader.parsed.of(old)
    fields = field_changes(former, data) or (_rewritten(old, new),)
    return RecordChange(kind, record_id, Change.CHANGED, title, fields, before=former, after=data)


def _rewritten(old: RecordLine, new: RecordLine) -> FieldChange:
    return FieldChange(WHOLE_RECORD, old.data.decode("utf-8"), new.data.decode("utf-8"))
