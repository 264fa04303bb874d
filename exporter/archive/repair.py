"""Restoring damaged files of versions from what else the archive holds, to the very bytes that were written.

Nothing is believed that does not give the hash in the version's manifest, so a file is restored exactly or left alone.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator, Mapping
from enum import Enum, auto
from typing import TYPE_CHECKING, Final, NamedTuple

from exporter.archive import atomic
from exporter.archive.copies import copied_document, runs_copy
from exporter.archive.healing import split_checked
from exporter.archive.latest import file_sha256
from exporter.archive.layout import MANIFEST, SUMS, manifest_name, segment_name, version_name
from exporter.archive.lines import put_line
from exporter.archive.manifest import Manifest, SegmentInfo, read_sums, run_of, sums, write_sums
from exporter.archive.reader import version_numbers
from exporter.archive.safe_files import LARGEST_DOCUMENT, newest_lines
from exporter.archive.seal import bundled_document, head_hash, runs_digest, seal, sealed_document, sealed_names
from exporter.errors import ArchiveDamaged
from exporter.model.kinds import Kind, sort_key

if TYPE_CHECKING:
    from exporter.archive.layout import Layout
    from exporter.archive.reader import ArchiveReader
    from exporter.archive.safe_files import InnerPath
    from exporter.archive.state import State

_PIECE: Final = 1 << 20


class RepairedFile(NamedTuple):
    """A damaged file: its path relative to the archive, and whether it is what was written again."""

    path: str
    restored: bool


class _Good(NamedTuple):
    """Where an undamaged line is in its file."""

    offset: int
    length: int


def repair(reader: ArchiveReader) -> Iterator[RepairedFile]:
    """Restore what can be restored offline, and yield every damaged document and file of the versions.

    The caller holds the archive's lock. Pictures and ``latest/`` are not looked at: a backup reads the former again,
    the latter can be rebuilt.

    Raises:
        NoSpace: the disk is full; nothing half is left.
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
                if info is None or _matches(path, info):
                    continue
                state = state or _newest(reader)
                restored = state is not None and _restore(reader, state, number, kind, info)
                yield RepairedFile(f"versions/{version_name(number)}/{path.name}", restored)
    finally:
        if state is not None:
            state.close()


def restore_documents(layout: Layout, newest: int | None = None) -> Iterator[RepairedFile]:
    """Restore the documents that stand once from their copies, and yield each that is damaged.

    The caller holds the archive's lock. ``SHA256SUMS`` at the root is mended, too, where it lacks a row, or has another
    hash than a document that its copy agrees with.

    Args:
        layout: the archive.
        newest: look at so many of the newest manifests; at all by default.

    Raises:
        NoSpace: the disk is full; nothing half is left.
    """
    data = b""
    with contextlib.suppress(OSError):
        data = layout.sums.read_bytes(LARGEST_DOCUMENT)
    sealed = read_sums(data)
    wrong = set()
    for name, found in (
        (layout.readme.name, _program_document(layout, layout.readme.name, sealed)),
        (layout.format_document.name, _program_document(layout, layout.format_document.name, sealed)),
        (layout.info.name, _document(layout, layout.info.name, sealed.get(layout.info.name))),
        (layout.runs.name, _runs(layout, sealed.get(layout.runs.name))),
        *_manifests(layout, sealed, newest),
    ):
        if found is _Found.MISSTATED:
            wrong |= {name} & sealed.keys()
        elif found is not _Found.RIGHT:
            yield RepairedFile(name, found is _Found.RESTORED)
    right = not wrong and sealed.keys() >= {*sealed_names(layout)} and write_sums(sealed) == data
    right = right or (layout.sums.kind() is None and head_hash(layout) is None)
    if layout.info.kind() == "":
        # Also where nothing is wrong: a kill may have left it without the newest manifest, or kept it from being made.
        seal(layout, anew=wrong)
        if not right:
            yield RepairedFile(SUMS, restored=True)


class _Found(Enum):
    """Whether a document is as sealed, restored just now, damaged, or right while its hash in the seal is not."""

    RIGHT = auto()
    RESTORED = auto()
    DAMAGED = auto()
    MISSTATED = auto()


def _program_document(layout: Layout, name: str, sealed: Mapping[str, str]) -> _Found:
    """Write README.txt or FORMAT.md again where it is not what was sealed and this program's is."""
    path, expected = layout.root / name, sealed.get(name)
    found = _hash_of(path)
    if expected in {None, found}:
        return _Found.RIGHT
    data = sealed_document(name, expected or "") if _may_be_replaced(path) else None
    if data is not None:
        return _write_document(path, data)
    return _Found.MISSTATED if found == hashlib.sha256(bundled_document(name)).hexdigest() else _Found.DAMAGED


def _document(layout: Layout, name: str, expected: str | None) -> _Found:
    """Restore archive.json or a manifest from its copy, where it has not the hash it should have."""
    path = layout.root / name
    found = _hash_of(path)
    if expected in {None, found}:
        return _Found.RIGHT
    data = copied_document(layout, name, expected or "") if _may_be_replaced(path) else None
    if data is not None:
        return _write_document(path, data)
    agreed = found is not None and copied_document(layout, name, found) is not None
    return _Found.MISSTATED if agreed else _Found.DAMAGED


def _manifests(layout: Layout, sealed: Mapping[str, str], newest: int | None) -> Iterator[tuple[str, _Found]]:
    """Restore manifests and the sums beside them, newest first.

    Each manifest names the hash of the one before it, the seal that of the newest.
    """
    expected: str | None = None
    info = _hash_of(layout.info) or ""
    for number in version_numbers(layout)[::-1][:newest]:
        name = manifest_name(number)
        found = _document(layout, name, sealed.get(name, expected) or _own_sum(layout, number))
        yield name, found
        expected = None
        if found is not _Found.DAMAGED:
            with contextlib.suppress(OSError, ArchiveDamaged):
                data = layout.manifest(number).read_bytes(LARGEST_DOCUMENT)
                manifest = Manifest.decode(data, name)
                expected = None if manifest.parent is None else manifest.parent["sha256"]
                yield _sums_beside(layout, number, sums(hashlib.sha256(data).hexdigest(), info, manifest.files))


def _sums_beside(layout: Layout, number: int, right: bytes) -> tuple[str, _Found]:
    """Write the sums of a version again where they are not those of its manifest, which is right."""
    path = layout.version(number) / SUMS
    name = f"versions/{version_name(number)}/{SUMS}"
    with contextlib.suppress(OSError):
        if path.read_bytes(LARGEST_DOCUMENT) == right:
            return name, _Found.RIGHT
    return name, _write_document(path, right) if _may_be_replaced(path) else _Found.DAMAGED


def _own_sum(layout: Layout, number: int) -> str | None:
    """Return the hash of a manifest that the sums beside it name."""
    try:
        return read_sums((layout.version(number) / SUMS).read_bytes(LARGEST_DOCUMENT)).get(MANIFEST)
    except OSError:
        return None


def _runs(layout: Layout, expected: str | None) -> _Found:
    """Restore runs.jsonl from its copy, unless there is a run that only the damaged file tells of."""
    path, copy = layout.runs, runs_copy(layout)
    found, copied = _hash_of(path), _hash_of(copy)
    if expected is None or (found is not None and found == runs_digest(path, expected)):
        return _Found.RIGHT
    if not _may_be_replaced(path) or copied is None:
        return _Found.DAMAGED
    if copied == expected and _newest_start(path) <= _newest_start(copy):
        with atomic.translated(path), copy.open("rb") as file:
            atomic.write_lines(path, iter(lambda: file.read(_PIECE), b""))
        return _Found.RESTORED
    return _Found.MISSTATED if copied == found else _Found.DAMAGED


def _newest_start(path: InnerPath) -> str:
    with contextlib.suppress(OSError):
        for line in newest_lines(path):
            run = run_of(line)
            if run is not None:
                return str(run["started_at"])
    return ""


def _may_be_replaced(path: InnerPath) -> bool:
    """Tell whether there is a regular file or nothing; what else stands there, its owner has to judge."""
    return path.kind() in {None, ""}


def _write_document(path: InnerPath, data: bytes) -> _Found:
    with atomic.translated(path):
        atomic.write_file(path, data)
    return _Found.RESTORED


def _hash_of(path: InnerPath) -> str | None:
    try:
        return file_sha256(path)
    except OSError:
        return None


def _newest(reader: ArchiveReader) -> State | None:
    """Return the newest state, whose records may be those that damaged files lack."""
    try:
        return reader.state()
    except ArchiveDamaged:
        return None


def _matches(path: InnerPath, info: SegmentInfo) -> bool:
    try:
        return path.lstat().st_size == info.bytes and file_sha256(path) == info.sha256
    except OSError:
        return False


def _restore(reader: ArchiveReader, state: State, number: int, kind: Kind, info: SegmentInfo) -> bool:
    """Write a segment from its undamaged lines and from the same records elsewhere; keep it if its hash is right."""
    path = reader.layout.segment(number, kind)
    good: dict[str, _Good] = {}
    found: dict[str, bytes] = {}
    offset = 0
    with contextlib.suppress(OSError), path.open("rb") as file:
        for text in file:
            line, fault = split_checked(text)
            if line is not None and fault is None:
                good[line.record_id] = _Good(offset, len(text))
            elif line is not None and (intact := reader.find_intact(kind, line.record_id, line.identity)) is not None:
                found[line.record_id] = put_line(line.record_id, intact.frozen)
            offset += len(text)
    if len(good) + len(found) < info.lines:
        found |= _missing(reader, state, number, kind, {*good, *found})
    if len(good) + len(found) != info.lines:
        return False
    return _write_segment(path, good, found, info)


def _missing(reader: ArchiveReader, state: State, number: int, kind: Kind, known: set[str]) -> dict[str, bytes]:
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


def _write_segment(path: InnerPath, good: dict[str, _Good], found: dict[str, bytes], info: SegmentInfo) -> bool:
    new = path.with_name(f".{path.name}.tmp")
    with atomic.translated(path), contextlib.ExitStack() as opened:
        old = opened.enter_context(path.open("rb")) if good else None
        with atomic.hashing(new) as file:
            for record_id in sorted({*good, *found}, key=sort_key):
                place = good.get(record_id)
                if place is not None and old is not None:
                    old.seek(place.offset)
                    file.write(old.read(place.length))
                else:
                    file.write(found[record_id])
            digest = file.close()
        if digest != info.sha256:
            new.unlink()
            return False
        new.replace(path)
        atomic.sync_folder(path.parent)
    return True
