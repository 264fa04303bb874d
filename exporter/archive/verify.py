"""Checking an archive: each version's files against its manifest, the fold of all versions, ``latest/``, the pictures.

What is checked of the root's documents is in :mod:`exporter.archive.verify_documents`.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from exporter.archive import latest
from exporter.archive.assets import AssetStore
from exporter.archive.checksums import ChecksumCache, file_sha256, sha256_or_none
from exporter.archive.findings import Finding, FindingCode
from exporter.archive.layout import MANIFEST, SEGMENTS, SUMS, manifest_sha256, segment_name, version_name
from exporter.archive.lines import split
from exporter.archive.manifest import Manifest, version_sums
from exporter.archive.reader import ArchiveReader, apply_version
from exporter.archive.safe_files import LARGEST_DOCUMENT, InnerPath, kind_of
from exporter.archive.state import State
from exporter.archive.verify_documents import check_seal
from exporter.errors import ArchiveDamaged
from exporter.model.kinds import Kind

OnProgress = Callable[[int, int], None]
_WORKERS: Final = 2


def check_version(
    reader: ArchiveReader, number: int, parent: tuple[int, str | None] | None, cache: ChecksumCache
) -> Iterator[Finding]:
    """Check a version.

    Args:
        reader: the archive.
        number: the version's.
        parent: number and manifest's SHA-256 of the version before it, as they are; ``None`` for the first.
        cache: which files need not be read again.
    """
    folder = reader.layout.version(number)
    name = f"versions/{version_name(number)}"
    try:
        data = (folder / MANIFEST).read_bytes(LARGEST_DOCUMENT)
    except OSError:
        yield Finding(FindingCode.MANIFEST_MISSING, f"{name}/{MANIFEST}", "it cannot be read")
        return
    digest = hashlib.sha256(data).hexdigest()
    try:
        manifest = Manifest.decode(data, f"{name}/{MANIFEST}")
    except ArchiveDamaged as error:
        yield Finding(FindingCode.MANIFEST_DAMAGED, f"{name}/{MANIFEST}", str(error))
        return
    yield from _sums(reader, folder, name, digest, manifest)
    if manifest.version != number:
        yield Finding(FindingCode.MANIFEST_DAMAGED, f"{name}/{MANIFEST}", f"it says version {manifest.version}")
    stated = None if manifest.parent is None else (manifest.parent.get("version"), manifest.parent.get("sha256"))
    if stated != parent:
        before = "no version" if parent is None else f"version {parent[0]}"
        yield Finding(FindingCode.CHAIN_BROKEN, f"{name}/{MANIFEST}", f"its parent is not {before} as it is here")
    for segment in SEGMENTS:
        yield from _segment(folder / segment, f"{name}/{segment}", manifest, cache)
    for path in folder.iterdir():
        if path.name not in (MANIFEST, SUMS, *SEGMENTS):
            yield Finding(FindingCode.STRANGE_FILE, f"{name}/{path.name}", "no part of the format")


def _sums(reader: ArchiveReader, folder: InnerPath, name: str, digest: str, manifest: Manifest) -> Iterator[Finding]:
    try:
        found = (folder / SUMS).read_bytes(LARGEST_DOCUMENT)
    except OSError:
        found = b""
    listed = {row[66:]: row[:64] for row in found.decode("utf-8", "replace").splitlines()}
    if listed.get(MANIFEST) not in (None, digest):
        yield Finding(FindingCode.MANIFEST_DAMAGED, f"{name}/{MANIFEST}", f"its hash is not the one in {SUMS}")
    stated = listed.get("../../archive.json")
    # One that is missing is named where the root is checked.
    info = stated or "" if reader.layout.info.kind() is None else file_sha256(reader.layout.info)
    if stated not in (None, info):
        yield Finding(FindingCode.INFO_DAMAGED, "archive.json", f"its hash is not the one in {name}/{SUMS}")
    if found != version_sums(digest, info, manifest.files):
        yield Finding(FindingCode.SUMS_DAMAGED, f"{name}/{SUMS}", "it does not agree with the manifest")


def _segment(path: InnerPath, name: str, manifest: Manifest, cache: ChecksumCache) -> Iterator[Finding]:
    info = manifest.files.get(path.name)
    if info is None:
        yield Finding(FindingCode.MANIFEST_DAMAGED, name, "the manifest does not list this file")
        return
    try:
        stat = path.lstat()
        if stat.st_size == info.bytes:
            if cache.is_unchanged(name, stat):
                return
            if file_sha256(path) == info.sha256:
                found = [] if cache.quick else list(_lines(path, name, info.lines))
                if not found:
                    cache.add(name, stat)
                yield from found
                return
    except OSError:
        yield Finding(FindingCode.SEGMENT_MISSING, name, "it cannot be read")
        return
    yield Finding(FindingCode.SEGMENT_DAMAGED, name, "its size or hash is not the one in the manifest")
    if path.kind() == "":
        yield from _lines(path, name, info.lines)


def _lines(path: InnerPath, name: str, expected: int) -> Iterator[Finding]:
    """Check every line's own hash, so that a finding names the record."""
    count = 0
    with path.open("rb") as file:
        for count, text in enumerate(file, 1):
            try:
                line = split(text)
                fault = line.fault() or line.unreadable()
            except ValueError as error:
                fault = str(error)
            if fault is not None:
                yield Finding(FindingCode.LINE_DAMAGED, name, f"line {count}: {fault}")
    if count != expected:
        yield Finding(FindingCode.SEGMENT_DAMAGED, name, f"it has {count} lines, the manifest says {expected}")


def ignore_progress(_done: int, _total: int) -> None:
    """Do nothing with the progress."""


def verify(
    reader: ArchiveReader, *, quick: bool = False, progress: OnProgress = ignore_progress, remember: bool = True
) -> Iterator[Finding]:
    """Check the whole archive and yield what is wrong, as it is found.

    Args:
        reader: the archive.
        quick: check sizes, chains and sums, the sums only of files that changed since a verification found them right,
            and that every stored picture is there; lines, folds and derived files are left out.
        progress: called with how many of how many versions and stored files have been checked.
        remember: note in ``.work/`` what is right, for a later quick look; else nothing is written.
    """
    cache = ChecksumCache(reader.layout, quick=quick)
    state = State(reader.info.blog_id)
    store = AssetStore(reader.layout)
    assets: dict[str, dict[str, Any]] = {}
    versions = reader.versions()
    total = len(versions) + len(store.files())
    foldable = not quick
    for done, (number, found) in enumerate(_versions(reader, versions, cache), 1):
        yield from found
        if any(finding.code is not FindingCode.STRANGE_FILE for finding in found):
            foldable = False
        if foldable:
            yield from _fold(reader, number, state)
        assets.update(_assets(reader, number))
        progress(done, total)
    yield from _foreign_files(reader)
    yield from _not_plain(reader.layout.root)
    yield from check_seal(reader)
    if foldable and state.version:
        yield from _latest(reader, state)
    elif not quick and versions and reader.layout.latest.is_dir():
        yield from _latest_alone(reader)
    state.close()
    for finding in store.verify(((str(data.get("url")), data) for data in assets.values()), cache=cache):
        if remember:
            store.distrust()
        yield finding
    progress(total, total)
    if remember:
        cache.save()


def _versions(reader: ArchiveReader, versions: list[int], cache: ChecksumCache) -> Iterator[tuple[int, list[Finding]]]:
    """Check the versions on both cores: hashing lets go of the interpreter."""
    digests = [manifest_sha256(reader.layout, number) for number in versions]
    parents = [None, *zip(versions, digests, strict=True)]

    def check(place: int) -> list[Finding]:
        return list(check_version(reader, versions[place], parents[place], cache))

    with ThreadPoolExecutor(_WORKERS) as pool:
        yield from zip(versions, pool.map(check, range(len(versions))), strict=True)


def _assets(reader: ArchiveReader, number: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the asset records of a version by address and hash, also of a damaged one: as many as can be read."""
    with contextlib.suppress(OSError), reader.layout.segment(number, Kind.ASSETS).open("rb") as file:
        for text in file:
            with contextlib.suppress(ValueError):
                line = split(text)
                if not line.removed and line.fault() is None and line.unreadable() is None:
                    yield line.record_id + line.digest.hex(), line.record()


def _fold(reader: ArchiveReader, number: int, state: State) -> Iterator[Finding]:
    """Apply an intact version, and check that it says only what changes the state before it."""
    name = f"versions/{version_name(number)}"
    manifest = reader.manifest(number)
    healed = manifest.healed is not None
    for kind in Kind:
        before = state.kinds[kind]
        ids: set[str] = set()
        with reader.layout.segment(number, kind).open("rb") as file:
            for text in file:
                line = split(text)
                row = before.row(line.record_id)
                if line.record_id in ids:
                    yield Finding(
                        FindingCode.FOLD_WRONG, f"{name}/{segment_name(kind)}", f"{line.record_id} has two lines"
                    )
                ids.add(line.record_id)
                if line.removed and row is None and manifest.pruned is None and manifest.healed is None:
                    detail = f"{line.record_id} is removed but was not there"
                    yield Finding(FindingCode.FOLD_WRONG, f"{name}/{segment_name(kind)}", detail)
                elif row is not None and not line.removed and not healed and before.identity(row) == line.identity:
                    detail = f"{line.record_id} is put but did not change"
                    yield Finding(FindingCode.FOLD_WRONG, f"{name}/{segment_name(kind)}", detail)
    apply_version(state, reader.layout, number)
    for kind in Kind:
        stated = manifest.counts.get(str(kind))
        if stated is not None and stated.total != len(state.kinds[kind]):
            detail = f"it counts {stated.total} {kind}, the lines give {len(state.kinds[kind])}"
            yield Finding(FindingCode.COUNTS_WRONG, f"{name}/{MANIFEST}", detail)


def _foreign_files(reader: ArchiveReader) -> Iterator[Finding]:
    known = {version_name(number) for number in reader.versions()}
    if reader.layout.versions.is_dir():
        for path in sorted(reader.layout.versions.iterdir()):
            if path.name not in known:
                yield Finding(FindingCode.STRANGE_FILE, f"versions/{path.name}", "no part of the format")


def _not_plain(root: Path) -> Iterator[Finding]:
    """Find everything that is neither a file nor a folder, in ``.work/`` too: nothing goes through it."""
    waiting = [""]
    while waiting:
        way = waiting.pop()
        with os.scandir(root / way) as found:
            for entry in sorted(found, key=lambda each: each.name):
                name = f"{way}/{entry.name}" if way else entry.name
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(name)
                elif not entry.is_file(follow_symlinks=False):
                    kind = kind_of(entry.stat(follow_symlinks=False).st_mode)
                    yield Finding(FindingCode.NOT_PLAIN, name, f"it is {kind}")


def _latest(reader: ArchiveReader, state: State) -> Iterator[Finding]:
    """Check ``latest/`` against the fold of the versions, and its views against what was written."""
    layout = reader.layout
    if not layout.latest.is_dir():
        yield Finding(FindingCode.LATEST_STALE, "latest", "it is not there")
        return
    record = latest.read_record(layout)
    manifest = manifest_sha256(layout, state.version)
    if record.get("version", state.version) != state.version or record.get("manifest_sha256", manifest) != manifest:
        yield Finding(FindingCode.LATEST_STALE, "latest", f"it does not show version {state.version} yet")
        return
    for kind in Kind:
        expected = hashlib.sha256()
        for line in state.latest_lines(kind):
            expected.update(line)
        path = layout.latest_segment(kind)
        if sha256_or_none(path) != expected.hexdigest():
            detail = f"it is not what the versions say for version {state.version}"
            yield Finding(FindingCode.LATEST_DAMAGED, f"latest/{path.name}", detail)
    yield from _views(reader)


def _latest_alone(reader: ArchiveReader) -> Iterator[Finding]:
    """Check ``latest/`` by itself, where damaged versions give no state to compare it with."""
    layout = reader.layout
    files = latest.read_record(layout).get("files")
    expected = files if isinstance(files, dict) else {}
    for kind in Kind:
        path = layout.latest_segment(kind)
        try:
            same = expected.get(path.name) in (None, file_sha256(path))
        except OSError:
            same = False
        if not same:
            yield Finding(FindingCode.LATEST_DAMAGED, f"latest/{path.name}", "it is not what was written")
    yield from _views(reader)


def _views(reader: ArchiveReader) -> Iterator[Finding]:
    """Check the files of the views against what was written."""
    layout = reader.layout
    for entry in latest.read_index(layout):
        path = layout.latest / entry.view / entry.path
        if sha256_or_none(path) != entry.sha256:
            yield Finding(FindingCode.VIEW_DAMAGED, f"latest/{entry.view}/{entry.path}", "it is not what was written")
