"""Damaged files of versions: finding those that matter, and restoring files offline, byte by byte.

No segment is the only copy of an existing record: ``latest/`` has it, and the service does. A backup writes such
records again into its version and lists the damaged lines in its manifest (``healed``). A file is only replaced by
content with the hash in the version's manifest, so it is restored exactly or left alone.

A disk may lose a manifest together with its copy in ``.work/``. Its content is also elsewhere: counts and problems are
in the run's line in ``runs.jsonl``, sizes and hashes follow from the segments. The result counts only if it has the
hash in the seal, in the version's ``SHA256SUMS`` or in the next manifest.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from exporter import lossless_json
from exporter.archive import atomic
from exporter.archive.checks import ChecksumCache, descriptor_sha256, sha256_or_none
from exporter.archive.documents import copy_file, head_hash, intact_document, runs_sha256, seal, sealed_names
from exporter.archive.layout import (
    FORMAT_VERSION,
    MANIFEST,
    SEGMENTS,
    SUMS,
    WHOLE_FILE,
    manifest_name,
    manifest_sha256,
    segment_name,
    version_name,
    version_numbers,
)
from exporter.archive.lines import put_line, split_checked
from exporter.archive.manifest import (
    TOOL,
    KindCounts,
    Manifest,
    SegmentInfo,
    problems_in,
    read_sums,
    run_of,
    version_sums,
    write_sums,
)
from exporter.archive.reader import damaged_version, known_damage
from exporter.archive.safe_files import MAX_DOCUMENT_BYTES, HeldFolder, newest_lines
from exporter.archive.segments import require_size, stated_segments
from exporter.archive.settings_file import read_archive_settings
from exporter.clock import timestamp
from exporter.errors import ArchiveDamaged, BlogExporterError
from exporter.frozen import frozen
from exporter.message import message, said
from exporter.model.kinds import Kind, sort_key

if TYPE_CHECKING:
    from collections.abc import Mapping

    from exporter.archive.layout import Layout
    from exporter.archive.reader import ArchiveReader
    from exporter.archive.safe_files import InnerPath
    from exporter.archive.state import State


class RepairedFile(NamedTuple):
    """A damaged file: its path relative to the archive, and whether it was restored."""

    path: str
    restored: bool


class _Outcome(Enum):
    """A document's state: unchanged, restored just now, damaged, or right although its hash in the seal is wrong."""

    INTACT = auto()
    RESTORED = auto()
    DAMAGED = auto()
    MISSTATED = auto()


def restore_documents(layout: Layout, newest: int | None = None) -> Iterator[RepairedFile]:
    """Restore the documents from their copies, and yield each damaged one; the caller holds the lock.

    ``SHA256SUMS`` in the root is corrected if it lacks a row, or has another hash than a document that agrees with its
    copy.

    Args:
        layout: the archive.
        newest: check only this number of the newest manifests.

    Raises:
        NoSpace: the disk is full; no incomplete file is left.
    """
    data = b""
    with contextlib.suppress(OSError):
        data = layout.sums.read_bytes(MAX_DOCUMENT_BYTES)
    sealed = read_sums(data)
    misstated = set()
    *documents, runs = sealed_names(layout)
    for name, outcome in (
        *((name, _restore(layout, name, sealed.get(name))) for name in documents),
        (runs, _restore_runs(layout, sealed.get(runs))),
        *_restore_manifests(layout, sealed, newest),
    ):
        if outcome is _Outcome.MISSTATED:
            misstated |= {name} & sealed.keys()
        elif outcome is not _Outcome.INTACT:
            yield RepairedFile(name, outcome is _Outcome.RESTORED)
    intact = not misstated and sealed.keys() >= {*sealed_names(layout)} and write_sums(sealed) == data
    intact = intact or (layout.sums.kind() is None and head_hash(layout) is None)
    if layout.info.kind() == "":
        # Also without damage: after a kill the seal may lack the newest manifest, or not exist yet.
        seal(layout, anew=misstated)
        if not intact:
            yield RepairedFile(SUMS, restored=True)


def _restore(layout: Layout, name: str, expected: str | None) -> _Outcome:
    """Restore a document that does not have the expected hash."""
    path = layout.root / name
    found = sha256_or_none(path)
    if expected in {None, found}:
        return _Outcome.INTACT
    data = intact_document(layout, name, expected or "") if _is_replaceable(path) else None
    if data is not None:
        return _write(path, data)
    agreed = found is not None and intact_document(layout, name, found) is not None
    return _Outcome.MISSTATED if agreed else _Outcome.DAMAGED


def _restore_manifests(layout: Layout, sealed: Mapping[str, str], newest: int | None) -> Iterator[tuple[str, _Outcome]]:
    """Restore manifests and the ``SHA256SUMS`` in their folders, newest first.

    The seal names the newest manifest by its hash, and each manifest its predecessor.
    """
    expected: str | None = None
    info = sha256_or_none(layout.info) or ""
    for number in version_numbers(layout)[::-1][:newest]:
        name = manifest_name(number)
        sums = layout.version(number) / SUMS
        beside = None
        with contextlib.suppress(OSError):
            beside = sums.read_bytes(MAX_DOCUMENT_BYTES)
        stated = sealed.get(name, expected) or read_sums(beside or b"").get(MANIFEST)
        outcome = _restore(layout, name, stated)
        if outcome is _Outcome.DAMAGED and _is_replaceable(layout.manifest(number)):
            again = manifest_again(layout, number, stated or "")
            outcome = outcome if again is None else _write(layout.manifest(number), again)
        yield name, outcome
        expected = None
        if outcome is _Outcome.DAMAGED:
            continue
        with contextlib.suppress(OSError, ArchiveDamaged):
            data = layout.manifest(number).read_bytes(MAX_DOCUMENT_BYTES)
            manifest = Manifest.decode(data, name)
            expected = None if manifest.parent is None else manifest.parent["sha256"]
            right = version_sums(hashlib.sha256(data).hexdigest(), info, manifest.files)
            if beside != right:
                restored = _write(sums, right) if _is_replaceable(sums) else _Outcome.DAMAGED
                yield f"versions/{version_name(number)}/{SUMS}", restored


def _restore_runs(layout: Layout, expected: str | None) -> _Outcome:
    """Restore ``runs.jsonl`` from its copy, unless the damaged file has a run that the copy lacks."""
    path, copy = layout.runs, layout.runs_copy
    found = sha256_or_none(path)
    if expected in (None, found) or (found is not None and found == runs_sha256(path, expected)):
        return _Outcome.INTACT
    copied = sha256_or_none(copy)
    if not _is_replaceable(path) or copied is None:
        return _Outcome.DAMAGED
    if copied == expected and _newest_start(path) <= _newest_start(copy):
        with atomic.translated(path):
            copy_file(copy, path)
        return _Outcome.RESTORED
    return _Outcome.MISSTATED if copied == found else _Outcome.DAMAGED


def _newest_start(path: InnerPath) -> str:
    """Return when the newest run in a file started, or an empty text."""
    with contextlib.suppress(OSError):
        for line in newest_lines(path):
            run = run_of(line)
            if run is not None:
                return str(run["started_at"])
    return ""


def _is_replaceable(path: InnerPath) -> bool:
    """Return whether the path is a regular file or missing; anything else is left to the owner."""
    return path.kind() in {None, ""}


def _write(path: InnerPath, data: bytes) -> _Outcome:
    with atomic.translated(path):
        atomic.write_file(path, data)
    return _Outcome.RESTORED


_MAX_RUN_SECONDS: Final = 48 * 3600
"""The version may have been committed in each of these last seconds of a run."""


def manifest_again(layout: Layout, version: int, sha256: str) -> bytes | None:
    """Reconstruct a lost manifest and return its bytes; ``None`` if that is impossible.

    Args:
        layout: the archive.
        version: the version whose manifest is lost.
        sha256: the hash that the manifest had, in hexadecimal.
    """
    with contextlib.suppress(OSError, BlogExporterError, ValueError, LookupError, TypeError):
        run = _run_of(layout, version)
        for manifest in () if run is None else _candidates(layout, version, run):
            data = lossless_json.dumps(manifest.document(), pretty=True) + b"\n"
            if hashlib.sha256(data).hexdigest() == sha256:
                return data
    return None


def _run_of(layout: Layout, version: int) -> dict[str, Any] | None:
    """Return the line of the run that made a version."""
    runs = map(run_of, newest_lines(layout.runs))
    return next((run for run in runs if run is not None and run.get("version") == version), None)


def _candidates(layout: Layout, version: int, run: dict[str, Any]) -> Iterator[Manifest]:
    """Yield possible manifests. The run's line lacks the address of the service and the time of the commit."""
    versions = version_numbers(layout)
    parent = max((number for number in versions if number < version), default=None)
    last = datetime.fromisoformat(run["finished_at"])
    seconds = min(_MAX_RUN_SECONDS, int((last - datetime.fromisoformat(run["started_at"])).total_seconds()))
    files = {name: _segment(layout, version, name) for name in SEGMENTS}
    for base_url, tool, format_version in _origins(layout, versions):
        made = Manifest(
            version=version,
            parent=None if parent is None else {"version": parent, "sha256": manifest_sha256(layout, parent)},
            blog_id=lossless_json.loads(layout.info.read_bytes(MAX_DOCUMENT_BYTES))["blog_id"],
            base_url=base_url,
            started_at=run["started_at"],
            finished_at=run["finished_at"],
            counts={kind: KindCounts(**counts) for kind, counts in run["counts"].items()},
            completeness=run["completeness"],
            problems=problems_in(run["problems"]),
            files=files,
            format_version=format_version,
            tool=tool,
        )
        for second in range(seconds + 1):
            yield replace(made, finished_at=timestamp(last - timedelta(seconds=second)))


def _origins(layout: Layout, versions: list[int]) -> Iterator[tuple[str, str, int]]:
    """Yield possible addresses, tools and formats for a version, the likeliest first."""
    remembered = read_archive_settings(layout.root)
    known = {**remembered.unconfirmed, **remembered.values}.get("base_url")
    yielded = set()
    for number in reversed(versions):
        with contextlib.suppress(OSError, BlogExporterError):
            path = layout.manifest(number)
            found = Manifest.decode(path.read_bytes(MAX_DOCUMENT_BYTES), str(path))
            origin = found.base_url, found.tool, found.format_version
            if origin not in yielded:
                yielded.add(origin)
                yield origin
    if isinstance(known, str):
        yield known, TOOL, FORMAT_VERSION


def _segment(layout: Layout, version: int, name: str) -> SegmentInfo:
    """Return the size and hash of an undamaged segment as its manifest states them."""
    lines = size = 0
    running = hashlib.sha256()
    with (layout.version(version) / name).open("rb") as file:
        for line in file:
            lines, size = lines + 1, size + len(line)
            running.update(line)
    return SegmentInfo(lines, size, running.hexdigest())


_NEWEST_VERSIONS: Final = 16
"""Every run checks this number of the newest versions: a power cut damages those."""

_OLDER_VERSIONS_PER_RUN: Final = 128
"""Every run checks about this number of older versions; if there are more, each run checks another part of them."""

_REREAD_CYCLE: Final = 7
"""About one unchanged file in seven is read again: disk damage leaves no trace in size or time."""


@frozen
class DamagedLine:
    """A line of a version that cannot be trusted.

    Attributes:
        version: the version's number.
        kind: the kind of the segment.
        line: its number in the file, from 1; :data:`WHOLE_FILE` for a missing file.
        record_id: the id of its record, if its beginning can be read.
        reason: a short description.
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
        """Return its row in a manifest's ``healed``."""
        return {"version": self.version, "file": segment_name(self.kind), "line": self.line, "id": self.record_id}


@dataclass(slots=True)
class Damage:
    """The effect of damaged lines on the newest state.

    Attributes:
        lines: the damaged lines that no version has healed yet.
        records: by kind, the ids of records that the versions lack, hold damaged, or hold in another state.
        revived: by kind, the ids of removed records that the versions bring back.
        files: paths of damaged files in versions, including those that a version has healed.
        remember: saves which files were intact, for the next run.
    """

    lines: list[DamagedLine] = field(default_factory=list)
    records: dict[Kind, set[str]] = field(default_factory=lambda: {kind: set() for kind in Kind})
    revived: dict[Kind, set[str]] = field(default_factory=lambda: {kind: set() for kind in Kind})
    files: list[str] = field(default_factory=list)
    remember: Callable[[], None] = lambda: None

    @property
    def found(self) -> bool:
        """Whether there is any damage."""
        return any((self.lines, *self.records.values(), *self.revived.values()))


def damaged_lines(layout: Layout, version: int, kind: Kind) -> Iterator[DamagedLine]:
    """Yield the lines that do not match their hash in a segment, and the whole file if lines are missing."""
    path = layout.segment(version, kind)
    size = number = 0
    try:
        with path.open("rb") as file:
            for number, text in enumerate(file, 1):
                size += len(text)
                line, fault = split_checked(text)
                if fault is not None:
                    yield DamagedLine(version, kind, number, None if line is None else line.record_id, fault)
        with HeldFolder(layout.version(version)) as folder:
            require_size(path, number, size, stated_segments(folder).get(path.name))
    except OSError:
        yield DamagedLine(version, kind, WHOLE_FILE, None, message("the file cannot be read"))
    except ArchiveDamaged as error:
        yield DamagedLine(version, kind, WHOLE_FILE, None, said(error))


def readable_state(reader: ArchiveReader) -> State:
    """Return the newest state for a backup from all readable lines."""
    try:
        return reader.state()
    except ArchiveDamaged:
        numbers = reader.versions()
        damaged = [line for number in numbers for kind in Kind for line in damaged_lines(reader.layout, number, kind)]
        return reader.fold(reader.resolve(), forgiven={line.place for line in damaged})


def find_damage(reader: ArchiveReader, state: State, now: datetime) -> Damage:
    """Find the records of the newest state that the versions lack or hold damaged.

    The cost does not grow with the number of versions: each run checks the files of a limited number in turn. With few
    versions, unchanged files are read once a week; with many, whenever their turn comes. If a file is damaged, all are
    read. Without damage nothing is folded.

    Args:
        reader: the archive.
        state: its newest state, from :func:`readable_state`.
        now: the time of the run.
    """
    versions = reader.versions()
    turn = _turn(now)
    turns = max(1, -(-len(versions) // _OLDER_VERSIONS_PER_RUN))
    cache = ChecksumCache(reader.layout, quick=turns == 1)
    damage = Damage(remember=cache.save if turns == 1 else lambda: None)
    known = {damaged_version(path) for path in known_damage(reader)}.intersection(versions)
    looked_at = {
        *versions[turn % turns :: turns],
        *versions[-_NEWEST_VERSIONS:],
        *(each for each in known if each is not None),
    }
    damaged = _damaged_segments(reader, sorted(looked_at), cache, turn)
    if not damaged:
        return damage
    if turns > 1:
        damaged = _damaged_segments(reader, versions, cache, turn)
    healed = reader.healed()
    damage.files = [f"versions/{version_name(version)}/{segment_name(kind)}" for version, kind in damaged]
    for version, kind in damaged:
        changed = DamagedLine(version, kind, WHOLE_FILE, None, message("it was changed after it was written"))
        damage.lines += list(damaged_lines(reader.layout, version, kind)) or [changed]
    folded = reader.fold(reader.resolve(), forgiven=healed | {line.place for line in damage.lines})
    folded.fallback = lambda _kind, _id, _identity: None
    try:
        for kind in Kind:
            versions_damaged = {version for version, of in damaged if of is kind}
            damage.records[kind] = {
                record_id for record_id, row in state.kinds[kind].ordered()
                if not _gives(folded, kind, record_id, state.kinds[kind].identity(row), versions_damaged)
            }  # fmt: skip
            damage.revived[kind] = {each for each in folded.kinds[kind].ids() if each not in state.kinds[kind]}
    finally:
        folded.close()
    damage.lines = [line for line in damage.lines if line.place not in healed]
    return damage


def _turn(now: datetime) -> int:
    """Return a number that changes from run to run, with daily and with weekly runs."""
    day = now.toordinal()
    return day + day // _REREAD_CYCLE


def _gives(folded: State, kind: Kind, record_id: str, identity: bytes, damaged: set[int]) -> bool:
    """Return whether the versions give a record in a state; only damaged files are read for this."""
    rows = folded.kinds[kind]
    row = rows.row(record_id)
    if row is None or rows.identity(row) != identity:
        return False
    if rows.version(row) not in damaged:
        return True
    try:
        return folded.line(kind, record_id) is not None
    except ArchiveDamaged:
        return False


def _damaged_segments(
    reader: ArchiveReader, versions: Iterable[int], cache: ChecksumCache, turn: int
) -> list[tuple[int, Kind]]:
    """Return the segments of these versions that differ from their manifests, one kind after the other."""
    damaged = [
        (version, kind)
        for version in versions
        for kind in _damaged_kinds(reader.layout, version, cache, reread=not (version + turn) % _REREAD_CYCLE)
    ]
    return sorted(damaged, key=lambda found: list(Kind).index(found[1]))


def _damaged_kinds(layout: Layout, version: int, cache: ChecksumCache, *, reread: bool) -> Iterator[Kind]:
    """Yield the kinds whose segment differs from its manifest; with ``reread`` unchanged files are read too."""
    stated: dict[str, str] = {}
    with HeldFolder(layout.version(version)) as folder:
        for kind in Kind:
            name = segment_name(kind)
            place = f"versions/{version_name(version)}/{name}"
            with contextlib.suppress(OSError, ArchiveDamaged):
                stat = folder.lstat(name)
                if cache.is_unchanged(place, stat, reread=reread):
                    continue
                stated = stated or _stated_hashes(folder)
                if stated.get(name) == descriptor_sha256(folder.descriptor(name)):
                    cache.add(place, stat)
                    continue
            yield kind


def _stated_hashes(folder: HeldFolder) -> dict[str, str]:
    """Return the segments' hashes from a version's manifest, or from ``SHA256SUMS`` if that is damaged.

    Raises:
        OSError: neither can be read.
    """
    try:
        return {name: info.sha256 for name, info in stated_segments(folder).items()}
    except ArchiveDamaged:
        return read_sums(folder.read_bytes(SUMS, MAX_DOCUMENT_BYTES))


def repair(reader: ArchiveReader) -> Iterator[RepairedFile]:
    """Restore files offline as far as possible; yield every damaged document and file of the versions.

    The caller holds the archive's lock. Pictures and ``latest/`` are not checked: a backup downloads the former again,
    and the latter can be rebuilt.

    Raises:
        NoSpace: the disk is full; no incomplete file is left.
    """
    yield from restore_documents(reader.layout)
    state: State | None = None
    try:
        for number in reader.versions():
            try:
                manifest = reader.manifest(number)
            except ArchiveDamaged:
                continue
            for kind in Kind:
                info = manifest.files.get(segment_name(kind))
                path = reader.layout.segment(number, kind)
                if info is None or sha256_or_none(path) == info.sha256:
                    continue
                if state is None:
                    with contextlib.suppress(ArchiveDamaged):
                        state = reader.state()
                restored = state is not None and _restore_segment(reader, state, number, kind, info)
                yield RepairedFile(f"versions/{version_name(number)}/{path.name}", restored)
    finally:
        if state is not None:
            state.close()


def _restore_segment(reader: ArchiveReader, state: State, number: int, kind: Kind, info: SegmentInfo) -> bool:
    """Write a segment from its intact lines and from other copies of its records, if that gives the right hash."""
    path = reader.layout.segment(number, kind)
    intact: dict[str, tuple[int, int]] = {}  # offset and length in the damaged file
    found: dict[str, bytes] = {}
    offset = 0
    with contextlib.suppress(OSError), path.open("rb") as file:
        for text in file:
            line, fault = split_checked(text)
            if line is not None and fault is None:
                intact[line.record_id] = (offset, len(text))
            elif line is not None and (copy := reader.find_intact(kind, line.record_id, line.identity)) is not None:
                found[line.record_id] = put_line(line.record_id, copy.frozen)
            offset += len(text)
    if len(intact) + len(found) < info.lines:
        found |= _missing_lines(reader, state, number, kind, {*intact, *found})
    if len(intact) + len(found) != info.lines:
        return False
    return _write_segment(path, intact, found, info)


def _missing_lines(reader: ArchiveReader, state: State, number: int, kind: Kind, known: set[str]) -> dict[str, bytes]:
    """Return the lines of records that the newest state has from this version, or from one that healed it."""
    healers = {
        version
        for version in reader.versions()
        if version == number or (version > number and any(each[0] == number for each in reader.healed([version])))
    }
    rows = state.kinds[kind]
    lines = {}
    for record_id, row in rows.ordered():
        if record_id not in known and rows.version(row) in healers:
            with contextlib.suppress(ArchiveDamaged):
                line = state.line(kind, record_id)
                if line is not None:
                    lines[record_id] = put_line(record_id, line.frozen)
    return lines


def _write_segment(
    path: InnerPath, intact: dict[str, tuple[int, int]], found: dict[str, bytes], info: SegmentInfo
) -> bool:
    new = path.with_name(f".{path.name}.tmp")
    with atomic.translated(path), contextlib.ExitStack() as opened:
        old = opened.enter_context(path.open("rb")) if intact else None
        with atomic.hashing(new) as file:
            for record_id in sorted({*intact, *found}, key=sort_key):
                if record_id in intact and old is not None:
                    offset, length = intact[record_id]
                    old.seek(offset)
                    file.write(old.read(length))
                else:
                    file.write(found[record_id])
            digest = file.close()
        if digest != info.sha256:
            new.unlink()
            return False
        new.replace(path)
        atomic.sync_folder(path.parent)
    return True
