"""Restoring damaged files of versions from what else the archive holds, to the very bytes that were written.

Nothing is believed that does not give the hash in the version's manifest, so a file is restored exactly or left alone.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from exporter.archive import atomic
from exporter.archive.heal import examined
from exporter.archive.latest import file_sha256
from exporter.archive.layout import SUMS, segment_name, version_name
from exporter.archive.lines import put_line
from exporter.archive.manifest import Manifest, SegmentInfo, sums
from exporter.archive.seal import read_sums, sealed_document
from exporter.errors import ArchiveDamaged
from exporter.model.kinds import Kind, sort_key

if TYPE_CHECKING:
    from exporter.archive.inside import InnerPath
    from exporter.archive.reader import ArchiveReader
    from exporter.archive.state import State


class Repaired(NamedTuple):
    """A damaged file: its path relative to the archive, and whether it is what was written again."""

    path: str
    restored: bool


class _Good(NamedTuple):
    """Where an undamaged line is in its file."""

    offset: int
    length: int


def repair(reader: ArchiveReader) -> Iterator[Repaired]:
    """Restore what can be restored offline, and yield every damaged document and file of the versions.

    The caller holds the archive's lock. Pictures and ``latest/`` are not looked at: a backup reads the former again,
    the latter can be rebuilt.

    Raises:
        NoSpace: the disk is full; nothing half is left.
    """
    yield from _documents(reader)
    state: State | None = None
    try:
        for number in reader.versions():
            folder = reader.layout.version(number)
            try:
                manifest = reader.manifest(number)
            except ArchiveDamaged:
                yield Repaired(f"versions/{version_name(number)}/manifest.json", restored=False)
                continue
            for kind in Kind:
                info = manifest.files.get(segment_name(kind))
                path = reader.layout.segment(number, kind)
                if info is None or _matches(path, info):
                    continue
                state = state or _newest(reader)
                restored = state is not None and _restore(reader, state, number, kind, info)
                yield Repaired(f"versions/{version_name(number)}/{path.name}", restored)
            if not _has_sums(reader, folder, manifest):
                with atomic.translated(folder):
                    atomic.write_file(folder / SUMS, _sums(reader, folder, manifest))
                yield Repaired(f"versions/{version_name(number)}/{SUMS}", restored=True)
    finally:
        if state is not None:
            state.close()


def _documents(reader: ArchiveReader) -> Iterator[Repaired]:
    """Write README.txt and FORMAT.md again where they are not what was sealed and this program's are."""
    layout = reader.layout
    try:
        sealed = read_sums(layout.sums.read_bytes())
    except OSError:
        return
    for path in (layout.readme, layout.format_document):
        expected = sealed.get(path.name)
        if expected is not None and _hash_of(path) != expected:
            data = sealed_document(path.name, expected)
            if data is not None:
                with atomic.translated(path):
                    atomic.write_file(path, data)
            yield Repaired(path.name, data is not None)


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
            line, fault = examined(text)
            if line is not None and fault is None:
                good[line.record_id] = _Good(offset, len(text))
            elif line is not None and (spare := reader.spare(kind, line.record_id, line.identity)) is not None:
                found[line.record_id] = put_line(line.record_id, spare.frozen)
            offset += len(text)
    if len(good) + len(found) < info.lines:
        found |= _missing(reader, state, number, kind, {*good, *found})
    if len(good) + len(found) != info.lines:
        return False
    return _write(path, good, found, info)


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


def _write(path: InnerPath, good: dict[str, _Good], found: dict[str, bytes], info: SegmentInfo) -> bool:
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


def _sums(reader: ArchiveReader, folder: InnerPath, manifest: Manifest) -> bytes:
    digest = hashlib.sha256((folder / "manifest.json").read_bytes()).hexdigest()
    return sums(digest, file_sha256(reader.layout.info), manifest.files)


def _has_sums(reader: ArchiveReader, folder: InnerPath, manifest: Manifest) -> bool:
    """Tell whether the sums need no mending, or must not be mended: a changed manifest must not get a fresh hash."""
    number = manifest.version
    later = [version for version in reader.versions() if version > number]
    if later:
        try:
            parent = reader.manifest(later[0]).parent or {}
        except ArchiveDamaged:
            return True
        if parent.get("sha256") != file_sha256(folder / "manifest.json"):
            return True
    try:
        return (folder / SUMS).read_bytes() == _sums(reader, folder, manifest)
    except OSError:
        return False
