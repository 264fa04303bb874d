"""Damaged lines of versions: which records suffer from them, what was healed already, and repairing files offline.

A version's file is never the only place of a record that is still there: ``latest/`` holds it, and the service does. A
backup writes such records again into its version (``healed`` in its manifest); :func:`repair` restores the very bytes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from exporter.archive.latest import file_sha256
from exporter.archive.layout import SUMS, segment_name, version_name
from exporter.archive.lines import RecordLine, split
from exporter.archive.manifest import read_sums
from exporter.archive.safe_files import LARGEST_DOCUMENT
from exporter.archive.verify_cache import ChecksumCache
from exporter.errors import ArchiveDamaged
from exporter.model.kinds import Kind

if TYPE_CHECKING:
    from exporter.archive.layout import Layout
    from exporter.archive.reader import ArchiveReader
    from exporter.archive.safe_files import InnerPath
    from exporter.archive.state import State

WHOLE_FILE: Final = 0
"""In the place of a line's number: the file itself is missing."""

_OTHERS: Final = 256
"""So many versions that hold nothing of the newest state are looked at in one run."""

_ROUND: Final = 7
"""About one file in so many is read again although nothing shows that it changed: bits rot without a trace."""


@dataclass(frozen=True, slots=True)
class DamagedLine:
    """A line of a version that cannot be trusted.

    Attributes:
        version: the version's number.
        kind: of which segment.
        line: its number in the file, from 1; :data:`WHOLE_FILE` for all of a file that is missing.
        record_id: whose it is, where its beginning can be read.
        reason: what is wrong with it.
    """

    version: int
    kind: Kind
    line: int
    record_id: str | None
    reason: str

    @property
    def place(self) -> tuple[int, Kind, int]:
        """Version, kind and number of the line."""
        return self.version, self.kind, self.line

    def document(self) -> dict[str, Any]:
        """Return it as a manifest's ``healed`` names it."""
        return {"version": self.version, "file": segment_name(self.kind), "line": self.line, "id": self.record_id}


@dataclass(slots=True)
class Damage:
    """What damage does to the newest state.

    Attributes:
        lines: the bad lines that no version has healed yet.
        records: by kind, the ids of records that the versions lack, hold damaged, or hold in another state.
        revived: by kind, the ids that are gone and that the versions bring back.
        remember: saves which files were found sound, for the next time.
    """

    lines: list[DamagedLine] = field(default_factory=list)
    records: dict[Kind, set[str]] = field(default_factory=lambda: {kind: set() for kind in Kind})
    revived: dict[Kind, set[str]] = field(default_factory=lambda: {kind: set() for kind in Kind})
    remember: Callable[[], None] = lambda: None


def damaged_lines(layout: Layout, version: int, kind: Kind) -> Iterator[DamagedLine]:
    """Yield the lines of a segment that cannot be read or do not match their hash."""
    try:
        with layout.segment(version, kind).open("rb") as file:
            for number, text in enumerate(file, 1):
                line, fault = split_checked(text)
                if fault is not None:
                    yield DamagedLine(version, kind, number, None if line is None else line.record_id, fault)
    except OSError:
        yield DamagedLine(version, kind, WHOLE_FILE, None, "the file cannot be read")


def split_checked(text: bytes) -> tuple[RecordLine | None, str | None]:
    """Take a line apart; return it, if that can be done, and what is wrong with it."""
    try:
        line = split(text)
    except ValueError as error:
        return None, str(error)
    return line, line.fault()


def readable_state(reader: ArchiveReader) -> State:
    """Return the newest state for a backup: from what can be read, where some cannot."""
    try:
        return reader.state()
    except ArchiveDamaged:
        bad = [
            line for number in reader.versions() for kind in Kind for line in damaged_lines(reader.layout, number, kind)
        ]
        return reader.fold(reader.resolve(), forgiven={line.place for line in bad})


def find_damage(reader: ArchiveReader, state: State, now: datetime) -> Damage:
    """Find the records of the newest state that the versions do not give as they should.

    The cost grows with the records that are there, not with the versions before: only files that hold one of them, and
    those of some other versions in turn, are looked at, and read only if they changed since they were right, or once
    in a week. Where all are right, nothing is folded.

    Args:
        reader: the archive.
        state: its newest state, from :func:`readable_state`.
        now: the time of the run.
    """
    seen = ChecksumCache(reader.layout, "audited.jsonl", quick=True)
    harm = Damage(remember=seen.save)
    versions = reader.versions()
    with reader.layout.versions.held() as within:
        damaged = [
            (version, kind)
            for kind in Kind
            for version in _looked_at(versions, state, kind, now)
            if not _is_sound(reader, version, kind, seen, now, within)
        ]
    if not damaged:
        return harm
    healed = reader.healed()
    for version, kind in damaged:
        bad = list(damaged_lines(reader.layout, version, kind))
        harm.lines += bad or [DamagedLine(version, kind, WHOLE_FILE, None, "it is not what was written")]
    folded = reader.fold(reader.resolve(), forgiven=healed | {line.place for line in harm.lines})
    folded.fallback = lambda _kind, _id, _identity: None
    try:
        for kind in Kind:
            suspects = {version for version, of in damaged if of is kind}
            harm.records[kind] = {
                record_id for record_id, row in state.kinds[kind].ordered()
                if not _gives(folded, kind, record_id, state.kinds[kind].identity(row), suspects)
            }  # fmt: skip
            harm.revived[kind] = {each for each in folded.kinds[kind].ids() if each not in state.kinds[kind]}
    finally:
        folded.close()
    harm.lines = [line for line in harm.lines if line.place not in healed]
    return harm


def _looked_at(versions: list[int], state: State, kind: Kind, now: datetime) -> list[int]:
    """Return the versions whose files of a kind this run looks at."""
    turns = max(1, -(-len(versions) // _OTHERS))
    others = versions[_turn(now) % turns :: turns]
    return sorted({*state.kinds[kind].versions(), *others} & set(versions))


def _turn(now: datetime) -> int:
    """Return a number that goes on from run to run, whether they are a day or a week apart."""
    day = now.toordinal()
    return day + day // _ROUND


def _gives(folded: State, kind: Kind, record_id: str, identity: bytes, suspects: set[int]) -> bool:
    """Tell whether the versions give a record in a state; only files under suspicion are read for it."""
    rows = folded.kinds[kind]
    row = rows.row(record_id)
    if row is None or rows.identity(row) != identity:
        return False
    if rows.version(row) not in suspects:
        return True
    try:
        return folded.line(kind, record_id) is not None
    except ArchiveDamaged:
        return False


def _is_sound(
    reader: ArchiveReader, version: int, kind: Kind, seen: ChecksumCache, now: datetime, within: int | None
) -> bool:
    """Tell whether a segment is what its version's manifest says; ``within`` is the descriptor of ``versions/``."""
    name = f"{version} {kind}"
    segment = segment_name(kind)
    try:
        # One call for each file, without a path: ten years have thousands of them.
        stat = (
            reader.layout.segment(version, kind).lstat()
            if within is None
            else os.stat(f"{version_name(version)}/{segment}", dir_fd=within, follow_symlinks=False)
        )
        if (version + _turn(now)) % _ROUND and seen.passes(name, stat):
            return True
        digest = file_sha256(reader.layout.segment(version, kind))
        # The manifest decides, and takes ten times as long to read as the sums that agree with it.
        if digest != _sums_of(reader.layout.version(version)).get(segment):
            info = reader.manifest(version).files.get(segment)
            if info is None or digest != info.sha256:
                return False
    except (OSError, ArchiveDamaged):
        return False
    seen.note(name, stat)
    return True


def _sums_of(folder: InnerPath) -> dict[str, str]:
    """Return the hashes beside a version's files; none where there are none."""
    try:
        return read_sums((folder / SUMS).read_bytes(LARGEST_DOCUMENT))
    except OSError:
        return {}


def healed_lines(documents: Collection[Any]) -> set[tuple[int, Kind, int]]:
    """Return which lines of which versions manifests name as healed; what is none of these is passed over."""
    kinds = {segment_name(kind): kind for kind in Kind}
    found = set()
    for document in documents:
        for each in document if isinstance(document, list) else ():
            if isinstance(each, dict) and each.get("file") in kinds:
                version, line = each.get("version"), each.get("line")
                if type(version) is int and type(line) is int:
                    found.add((version, kinds[each["file"]], line))
    return found
