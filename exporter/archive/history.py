"""A record through time: every change of it, its state at any version, what is left of one that is gone, and diffs.

Versions are walked from the newest backwards and only the record's own line is read, so nothing is folded. A line
begins with ``{"op":…,"id":…,`` in exactly these bytes (FORMAT.md), so a search for them, at the start of a line, is
enough; nothing is parsed before it is found.
"""

from __future__ import annotations

import mmap
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

from exporter import lossless_json
from exporter.archive.atomic import translate
from exporter.archive.layout import WHOLE_FILE, segment_name, version_name
from exporter.archive.lines import RecordLine, split
from exporter.archive.log import VersionRow, version_rows
from exporter.archive.safe_files import HeldFolder, NotPlain, inner
from exporter.archive.segment_sizes import NOTHING, SegmentSize, damaged_segment, require_size, stated_size
from exporter.clock import for_people
from exporter.errors import ArchiveDamaged, NoSuchRecord, UsageError
from exporter.message import message
from exporter.model.changes import ABSENT, WHOLE_RECORD, Change, FieldChange, RecordChange, field_changes
from exporter.model.kinds import Kind, sort_key

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from datetime import tzinfo
    from pathlib import Path

    from exporter.archive.layout import Layout
    from exporter.archive.reader import ArchiveReader
    from exporter.archive.safe_files import InnerPath
    from exporter.service.interface import Records

_HEAD = re.compile(rb'\{"op":"(?:put|remove)","id":("(?:[^"\\]|\\.)*"),')
_REMOVE = b'{"op":"remove"'
_LINE_FEED = 0x0A
_SMALL = 1 << 20
_FEW = 8

Content = bytes | mmap.mmap
Fallback = Callable[[str, bytes], RecordLine | None]
OnDamage = Callable[[ArchiveDamaged], object]
"""Called with damage, which is then passed over."""
Before = Callable[[Kind, "Collection[str]"], "Mapping[str, LinePosition]"]
"""Returns where the records of a kind with these ids were at some time, without those that were not there."""


@dataclass(frozen=True, slots=True)
class LinePosition:
    """Where a line is: its file, offset and length in bytes, and whether it is a tombstone."""

    path: Path
    offset: int
    length: int
    removed: bool

    def read(self, fallback: Fallback = lambda _id, _identity: None) -> RecordLine:
        """Read the line, a damaged record from ``fallback``; see :func:`taken_apart`.

        Raises:
            ArchiveDamaged: it is not a line of an archive, or its record is damaged and nowhere else.
        """
        return taken_apart(self.path, self.text(), fallback)

    def text(self) -> bytes:
        """Read the line's bytes, with its line feed."""
        with inner(self.path).open("rb") as file:
            file.seek(self.offset)
            data: bytes = file.read(self.length)
            return data


def taken_apart(path: Path, text: bytes, fallback: Fallback = lambda _id, _identity: None) -> RecordLine:
    """Take a line of ``path`` apart, and compare its record with its hash.

    Args:
        path: the file.
        text: the line.
        fallback: looks for the same state of a record elsewhere in the archive, by its id and identity.

    Raises:
        ArchiveDamaged: it is not a line of an archive, or its record is damaged and nowhere else.
    """
    try:
        line = split(text)
    except ValueError as error:
        raise ArchiveDamaged(
            message("{path} holds a damaged line: {error}; run verify --repair.", path=path, error=error)
        ) from error
    fault = line.fault()
    if fault is None:
        return line
    found = fallback(line.record_id, line.identity)
    if found is None:
        raise ArchiveDamaged(
            message(
                "{path} holds {record_id} damaged: {fault}; run verify --repair.",
                path=path,
                record_id=line.record_id,
                fault=fault,
            )
        )
    return found


def find(
    folder: HeldFolder, name: str, record_id: str, fallback: Fallback = lambda _id, _identity: None
) -> RecordLine | None:
    """Return a record's line in a version's segment, a tombstone included, or ``None``.

    Args:
        folder: the version's.
        name: the segment's.
        record_id: the record.
        fallback: see :func:`taken_apart`.

    Raises:
        ArchiveDamaged: the segment is missing, or the line is damaged and ``fallback`` has no other one.
    """
    data = _content(folder, name)
    found = _locate(data, record_id) if data else None
    return None if found is None else taken_apart(folder.path / name, data[found.start : found.end], fallback)


def places(
    path: InnerPath, wanted: Collection[str] | None = None, damaged: OnDamage | None = None
) -> Iterator[tuple[str, LinePosition]]:
    """Yield the ids and places of a segment's lines, all of them or those of the ``wanted`` ids.

    Args:
        path: the segment.
        wanted: ids.
        damaged: called with what cannot be read, which is then passed over.

    Raises:
        ArchiveDamaged: the segment is missing, or a line does not begin as one, and there is no ``damaged``.
    """
    try:
        with HeldFolder(path.parent) as folder:
            data = _content(folder, path.name, damaged)
    except ArchiveDamaged as error:
        _pass_over(error, damaged)
        return
    if not data:
        return
    if wanted is not None and len(wanted) <= _FEW:
        for record_id in list(wanted):
            found = _locate(data, record_id)
            if found is not None:
                yield record_id, LinePosition(path, found.start, found.end - found.start, found.removed)
        return
    keys = None if wanted is None else {lossless_json.text(record_id): record_id for record_id in wanted}
    start = 0
    while start < len(data):
        end = _line_end(data, start)
        head = _HEAD.match(data, start, end)
        if head is None:
            _pass_over(
                ArchiveDamaged(
                    message("{path} holds a damaged line at byte {start}; run verify --repair.", path=path, start=start)
                ),
                damaged,
            )
            start = end
            continue
        known = str(lossless_json.loads(head[1])) if keys is None else keys.get(head[1])
        if known is not None:
            yield known, LinePosition(path, start, end - start, data[start : start + len(_REMOVE)] == _REMOVE)
        start = end


def _pass_over(error: ArchiveDamaged, on_damage: OnDamage | None) -> None:
    if on_damage is None:
        raise error
    on_damage(error)


class _Located(NamedTuple):
    """A line in a segment's content, and whether it is a tombstone."""

    start: int
    end: int
    removed: bool


def _locate(data: Content, record_id: str) -> _Located | None:
    """Search for the bytes a record's line begins with, where a line begins."""
    for head in _heads(record_id):
        at = data.find(head)
        while at > 0 and data[at - 1] != _LINE_FEED:
            at = data.find(head, at + 1)
        if at >= 0:
            return _Located(at, _line_end(data, at), head.startswith(_REMOVE))
    return None


@lru_cache(maxsize=64)
def _heads(record_id: str) -> tuple[bytes, bytes]:
    """Return what a line of a record begins with; one record is looked for in thousands of segments."""
    text = lossless_json.text(record_id)
    return b'{"op":"put","id":%b,' % text, b'{"op":"remove","id":%b,' % text


def _line_end(data: Content, start: int) -> int:
    """Return the offset after the line feed that ends the line."""
    return data.find(b"\n", start) + 1 or len(data)


def _content(folder: HeldFolder, name: str, damaged: OnDamage | None = None) -> Content:
    """Return a segment's content; a large one is mapped, so that it costs no memory.

    Raises:
        ArchiveDamaged: it cannot be read, or is not as large as its manifest says and there is no ``damaged``.
    """
    try:
        stated = stated_size(folder, name)
        if stated == NOTHING and folder.is_empty(name):
            return b""
        data = _read(*folder.opened(name))
    except NotPlain as error:
        raise translate(error, folder.path / name) from error
    except OSError as error:
        raise damaged_segment(folder.path / name, message("it is missing or cannot be read")) from error
    try:
        _require_whole(folder, name, data, stated)
    except ArchiveDamaged as error:
        _pass_over(error, damaged)
    return data


def _read(handle: int, size: int) -> Content:
    try:
        return os.read(handle, size) if size < _SMALL else mmap.mmap(handle, 0, access=mmap.ACCESS_READ)
    finally:
        os.close(handle)


def _require_whole(folder: HeldFolder, name: str, data: Content, stated: SegmentSize | None) -> None:
    """Refuse a segment that lost lines: what a power cut leaves behind is short, or holds zeros in place of text."""
    lines = data.count(b"\n") if isinstance(data, bytes) else -1 if stated is None else stated.lines
    if (found := SegmentSize(lines, len(data))) != stated:
        require_size(folder.path / name, found, stated)
    if data.find(b"\0") >= 0:
        raise damaged_segment(folder.path / name, message("it holds zeros in place of text"))


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
