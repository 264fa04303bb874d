"""What changed between two versions, computed from the lines between them; no state is folded."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from exporter.archive.find import Place, Spare, Told, places
from exporter.archive.history import places_at
from exporter.errors import ArchiveDamaged
from exporter.model.changes import ABSENT, WHOLE_RECORD, Change, FieldChange, RecordChange, field_changes, title_of
from exporter.model.kinds import Kind, sort_key

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exporter.archive.layout import Layout
    from exporter.archive.lines import Line
    from exporter.archive.reader import ArchiveReader


def diff_versions(reader: ArchiveReader, a: int, b: int, damaged: Told | None = None) -> Iterator[RecordChange]:
    """Yield what differs in version ``b`` from version ``a``, by kind and id; ``a`` may be the later one.

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
                change = _compare(reader, kind, record_id, before.get(record_id), after.get(record_id))
            except ArchiveDamaged as error:
                if damaged is None:
                    raise
                damaged(error)
                continue
            if change is not None:
                yield change


def _ends(
    layout: Layout, kind: Kind, low: list[int], between: list[int], damaged: Told | None
) -> tuple[dict[str, Place], dict[str, Place]]:
    """Return where every record that the versions between touch stands at both ends; tombstones in the later only."""
    later: dict[str, Place] = {}
    for version in between:
        later.update(places(layout.segment(version, kind), damaged=damaged))
    return places_at(layout, low, kind, later, damaged), later


def _compare(
    reader: ArchiveReader, kind: Kind, record_id: str, before: Place | None, after: Place | None
) -> RecordChange | None:
    spare = partial(reader.spare, kind)
    old, new = _read(before, spare), _read(after, spare)
    if new is None:
        if old is None:
            return None
        data = _data(old)
        fields = tuple(FieldChange(name, value, ABSENT) for name, value in data.items())
        evidence = after.read().evidence if after is not None else None
        return RecordChange(kind, record_id, Change.GONE, title_of(kind, record_id, data), fields, evidence)
    data = _data(new)
    title = title_of(kind, record_id, data)
    if old is None:
        fields = tuple(FieldChange(name, ABSENT, value) for name, value in data.items())
        return RecordChange(kind, record_id, Change.NEW, title, fields)
    if old.identity == new.identity:
        return None
    fields = field_changes(_data(old), data) or (_rewritten(old, new),)
    return RecordChange(kind, record_id, Change.CHANGED, title, fields)


def _read(place: Place | None, spare: Spare) -> Line | None:
    return None if place is None or place.removed else place.read(spare)


def _data(line: Line) -> dict[str, Any]:
    return line.record()


def _rewritten(old: Line, new: Line) -> FieldChange:
    return FieldChange(WHOLE_RECORD, old.data.decode("utf-8"), new.data.decode("utf-8"))
