"""A record through time: every change of it, its state at any version, what is left of one that is gone, and diffs.

Versions are walked from the newest backwards and only the record's own line is read, so nothing is folded. A line
begins with ``{"op":…,"id":…,`` in exactly these bytes (FORMAT.md), so a search for them, at the start of a line, is
enough; nothing is parsed before it is found.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from exporter import lossless_json
from exporter.archive import atomic
from exporter.archive.layout import WHOLE_FILE, manifest_sha256, segment_name, version_name
from exporter.archive.lines import RecordLine
from exporter.archive.manifest import KindCounts
from exporter.archive.safe_files import HeldFolder
from exporter.archive.segments import (
    LinePosition,
    OnDamage,
    _pass_over,
    find,
    places,
)
from exporter.clock import for_people
from exporter.errors import ArchiveDamaged, BlogExporterError, NoSuchRecord, UsageError
from exporter.message import message
from exporter.model.changes import ABSENT, WHOLE_RECORD, Change, FieldChange, RecordChange, field_changes
from exporter.model.kinds import Kind, sort_key
from exporter.text import printable

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from datetime import tzinfo

    from exporter.archive.layout import Layout
    from exporter.archive.reader import ArchiveReader
    from exporter.archive.safe_files import InnerPath
    from exporter.service.interface import Records

_EDITION = 2
_KIND_NAMES = [str(kind) for kind in Kind]
_IN_TEXT = (Kind.ENTRIES, Kind.COMMENTS, Kind.FILES, Kind.ASSETS)
_COUNTED = ("total", "new", "changed", "gone")


class VersionRow(NamedTuple):
    """One version as ``log`` shows it.

    Attributes:
        version: its number.
        started_at: when its run began to read, as in the manifest.
        finished_at: when it was committed.
        complete: whether everything could be read.
        problems: how many things could not be read.
        numbers: for each kind in the order of :class:`Kind`: total, new, changed, gone; see :meth:`counts`.
        pruned: how many older versions were folded into it.
    """

    version: int
    started_at: str
    finished_at: str
    complete: bool
    problems: int
    numbers: Sequence[Sequence[int]]
    pruned: int

    def counts(self) -> dict[Kind, KindCounts]:
        """Return the counts by kind."""
        return {kind: KindCounts(*found) for kind, found in zip(Kind, self.numbers, strict=True)}

    def document(self) -> dict[str, Any]:
        """Return it as ``log --json`` prints it."""
        return {
            "version": self.version,
            "started_at": self.started_at,
            "finished_at": self.finished_at,
            "complete": self.complete,
            "problems": self.problems,
            "pruned": self.pruned,
            "counts": {
                kind: dict(zip(_COUNTED, found, strict=True))
                for kind, found in zip(_KIND_NAMES, self.numbers, strict=True)
            },
        }

    @classmethod
    def of(cls, document: dict[str, Any]) -> VersionRow:
        """Read it back from its document."""
        numbers = [[document["counts"][kind][name] for name in _COUNTED] for kind in _KIND_NAMES]
        return cls(**{name: document[name] for name in cls._fields if name != "numbers"}, numbers=numbers)

    def text(self) -> str:
        """Return it as ``log`` prints it: what was new (+), changed (~) and gone (-)."""
        counts = self.counts()
        parts = []
        for kind in _IN_TEXT:
            signs = ((counts[kind].new, "+"), (counts[kind].changed, "~"), (counts[kind].gone, "-"))
            changes = " ".join(f"{sign}{number}" for number, sign in signs if number)
            if changes:
                parts.append(f"{kind} {changes}")
        folded = f"   {self.pruned} older folded in" if self.pruned else ""
        mark = "" if self.complete else "   INCOMPLETE"
        finished = printable(self.finished_at, 40)
        return f"{self.version:>6}  {finished}  {', '.join(parts) or 'lists only'}{folded}{mark}"


@dataclass(frozen=True, slots=True)
class VersionLog:
    """All versions as ``log`` prints them, oldest first.

    Attributes:
        versions: their numbers.
        texts: a line of text for each, in UTF-8.
        documents: a line of JSON for each.
    """

    versions: list[int]
    texts: bytes = b""
    documents: bytes = b""

    def rows(self) -> list[VersionRow]:
        """Take the documents apart."""
        array = b"[" + b",".join(self.documents.splitlines()) + b"]"
        return [VersionRow.of(document) for document in json.loads(array)]  # our own lines: the codec's care is spared

    def and_more(self, rows: Sequence[VersionRow]) -> VersionLog:
        """Return it with newer versions behind."""
        return VersionLog(
            [*self.versions, *(row.version for row in rows)],
            self.texts + b"".join(row.text().encode("utf-8") + b"\n" for row in rows),
            self.documents + b"".join(lossless_json.dumps(row.document()) + b"\n" for row in rows),
        )


def version_rows(reader: ArchiveReader) -> list[VersionRow]:
    """Return a row for every version, oldest first.

    Raises:
        ArchiveDamaged: a manifest cannot be read.
    """
    return version_log(reader).rows()


def version_log(reader: ArchiveReader) -> VersionLog:
    """Return what ``log`` prints, and keep it for the next time.

    Raises:
        ArchiveDamaged: a manifest cannot be read.
    """
    layout = reader.layout
    versions = reader.versions()
    log = _kept_log(layout, versions)
    missing = versions[len(log.versions) :]
    if missing:
        log = log.and_more([_row_of(reader, number) for number in missing])
        _keep_log(layout, log)
    return log


def cache_path(layout: Layout) -> InnerPath:
    """Return ``.work/versions.json``."""
    return layout.work / "versions.json"


def _row_of(reader: ArchiveReader, number: int) -> VersionRow:
    manifest = reader.manifest(number)
    found = [manifest.counts.get(kind, KindCounts()) for kind in _KIND_NAMES]
    return VersionRow(
        number,
        manifest.started_at,
        manifest.finished_at,
        bool(manifest.completeness.get("complete")),
        len(manifest.problems),
        [[counts.total, counts.new, counts.changed, counts.gone] for counts in found],
        0 if manifest.pruned is None else int(manifest.pruned.get("count", 0)),
    )


def _kept_log(layout: Layout, versions: list[int]) -> VersionLog:
    """Return what is kept and still holds: of the oldest versions, maybe of all."""
    try:
        digest, _, body = cache_path(layout).read_bytes().partition(b"\n")
        if digest.decode("ascii") != hashlib.sha256(body).hexdigest():
            return VersionLog([])
        line, _, lines = body.partition(b"\n")
        head = json.loads(line)
        kept = list(head["versions"])
        if head["edition"] != _EDITION or kept != versions[: len(kept)]:
            return VersionLog([])
        if manifest_sha256(layout, kept[-1]) != head["manifest_sha256"]:
            return VersionLog([])
        return VersionLog(kept, lines[: head["texts"]], lines[head["texts"] :])
    except (OSError, ValueError, KeyError, TypeError, IndexError):
        return VersionLog([])


def _keep_log(layout: Layout, log: VersionLog) -> None:
    """Write it down; a place that cannot be written costs only time."""
    head = {
        "edition": _EDITION,
        "manifest_sha256": manifest_sha256(layout, log.versions[-1]),
        "texts": len(log.texts),
        "versions": log.versions,
    }
    body = b"".join((lossless_json.dumps(head), b"\n", log.texts, log.documents))
    with contextlib.suppress(OSError, BlogExporterError):
        atomic.make_folder(layout.work)
        atomic.write_file(cache_path(layout), hashlib.sha256(body).hexdigest().encode("ascii") + b"\n" + body)


Before = Callable[[Kind, "Collection[str]"], "Mapping[str, LinePosition]"]
"""Returns where the records of a kind with these ids were at some time, without those that were not there."""


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
        version: the version that holds it.
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
    """Yield the versions that have a line of a record, with that line; files that were ``healed`` may be damaged."""
    name = segment_name(kind)
    with HeldFolder(reader.layout.versions) as above:
        for version in versions:
            try:
                with HeldFolder(version_name(version), above) as folder:
                    line = find(folder, name, record_id, partial(reader.find_intact, kind))
            except ArchiveDamaged:
                if (version, kind, WHOLE_FILE) not in healed():
                    raise
                continue
            if line is not None:
                yield version, line


def _known(reader: ArchiveReader, stored: RecordVersion | None, gone: tuple[int, RecordLine] | None) -> LastKnown:
    if gone is None:
        return LastKnown(stored)
    version, line = gone
    return LastKnown(stored, version, reader.manifest(version).finished_at, line.evidence)


def places_at(
    layout: Layout, versions: Sequence[int], kind: Kind, ids: Iterable[str], damaged: OnDamage | None = None
) -> dict[str, LinePosition]:
    """Return where the lines of these records are after ``versions``; those that are not there then are left out.

    Args:
        layout: the archive.
        versions: all versions up to the wanted one, oldest first.
        kind: the records' kind.
        ids: the records' ids.
        damaged: called with what cannot be read, which is then passed over.

    Raises:
        ArchiveDamaged: a segment is missing or a line does not begin as one, and there is no ``damaged``.
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
    oldest = for_people(rows[0].finished_at, timezone)
    raise NoSuchRecord(
        message("There is no version from {text} or before: the oldest one is of {oldest}.", text=text, oldest=oldest)
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
            message(
                "{text!r} is neither a version's number nor a date such as 2026-01-31 or 2026-01-31T12:00.", text=text
            )
        ) from None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=timezone)


def _finished(row: VersionRow) -> datetime:
    try:
        return datetime.fromisoformat(row.finished_at)
    except ValueError as error:
        raise ArchiveDamaged(
            message("The manifest of version {version} has no proper finished_at; run verify.", version=row.version)
        ) from error


def diff_versions(
    reader: ArchiveReader, a: int, b: int, service: Records, damaged: OnDamage | None = None
) -> Iterator[RecordChange]:
    """Yield what differs in version ``b`` from version ``a``, by kind and id; ``a`` may be the later one.

    The titles are those that ``service`` knows the records by.

    Either may be 0, which is the state before the first version. Damage that ``damaged`` is called with is passed over.

    Raises:
        UsageError: the archive has no such version.
        ArchiveDamaged: a segment is missing or a line cannot be read, and there is no ``damaged``.
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
        yield from _differences(reader, service, kind, before, after, damaged)


def changes_in(
    reader: ArchiveReader, version: int, before: Before, service: Records, damaged: OnDamage | None = None
) -> Iterator[RecordChange]:
    """Yield what a version changed, as :func:`diff_versions` does, for a caller that knows what was there before it.

    Args:
        reader: the archive.
        version: the version.
        before: returns where records of a kind were before it.
        service: knows the records' titles.
        damaged: called with what cannot be read, which is then passed over.

    Raises:
        ArchiveDamaged: a segment is missing or a line cannot be read, and there is no ``damaged``.
    """
    for kind in Kind:
        after = dict(places(reader.layout.segment(version, kind), damaged=damaged))
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
            _pass_over(error, damaged)
            continue
        if change is not None:
            yield change


def _ends(
    layout: Layout, kind: Kind, low: list[int], between: list[int], damaged: OnDamage | None
) -> tuple[dict[str, LinePosition], dict[str, LinePosition]]:
    """Return where every record that the versions between touch is at both ends; tombstones in the later only."""
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
    old, new = (None if each is None or each.removed else each.read(fallback) for each in (before, after))
    if new is None:
        if old is None:
            return None
        data = reader.parsed.of(old)
        fields = tuple(FieldChange(name, value, ABSENT) for name, value in data.items())
        evidence = after.read().evidence if after is not None else None
        return RecordChange(kind, record_id, Change.GONE, service.title(kind, data) or record_id, fields, evidence)
    data = reader.parsed.of(new)
    title = service.title(kind, data) or record_id
    if old is None:
        fields = tuple(FieldChange(name, ABSENT, value) for name, value in data.items())
        return RecordChange(kind, record_id, Change.NEW, title, fields)
    if old.identity == new.identity:
        return None
    fields = field_changes(reader.parsed.of(old), data) or (_rewritten(old, new),)
    return RecordChange(kind, record_id, Change.CHANGED, title, fields)


def _rewritten(old: RecordLine, new: RecordLine) -> FieldChange:
    return FieldChange(WHOLE_RECORD, old.data.decode("utf-8"), new.data.decode("utf-8"))
