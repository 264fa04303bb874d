"""Checking an archive: each version's files against its manifest, the fold of all versions, ``latest/``, the pictures.

What is checked of a version is in :mod:`exporter.archive.verify_version`, of the root's documents in
:mod:`exporter.archive.verify_documents`.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from exporter.archive import latest
from exporter.archive.assets import AssetStore
from exporter.archive.checksums import ChecksumCache, file_sha256, sha256_or_none
from exporter.archive.findings import Finding, FindingCode
from exporter.archive.front_door import damaged_files
from exporter.archive.known_damage import known_damage, remember_damage
from exporter.archive.layout import manifest_sha256, version_name
from exporter.archive.reader import ArchiveReader
from exporter.archive.safe_files import HeldFolder, kind_of
from exporter.archive.state import State
from exporter.archive.verify_documents import check_seal
from exporter.archive.verify_version import VersionCheck
from exporter.message import message
from exporter.model.kinds import Kind

OnProgress = Callable[[int, int], None]


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
    damaged = set(known_damage(reader)) if quick else set()
    for finding in _findings(reader, quick=quick, progress=progress, remember=remember):
        if finding.damage:
            damaged.add(finding.path)
        yield finding
    if remember:
        remember_damage(reader.layout, damaged)


def _findings(reader: ArchiveReader, *, quick: bool, progress: OnProgress, remember: bool) -> Iterator[Finding]:
    cache = ChecksumCache(reader.layout, quick=quick)
    state = State(reader.info.blog_id)
    store = AssetStore(reader.layout)
    assets: dict[str, dict[str, Any]] = {}
    versions = reader.versions()
    total = len(versions) + len(store.files())
    info = None if reader.layout.info.kind() is None else file_sha256(reader.layout.info)
    parent: tuple[int, str | None] | None = None
    foldable = not quick
    for done, number in enumerate(versions, 1):
        with HeldFolder(reader.layout.version(number)) as folder:
            version = VersionCheck(folder, number, info, cache)
            for finding in version.files(parent):
                yield finding
                foldable = foldable and finding.code is FindingCode.STRANGE_FILE
            if foldable:
                yield from version.fold(state)
            assets.update(version.assets())
        parent = number, version.digest
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


def _foreign_files(reader: ArchiveReader) -> Iterator[Finding]:
    known = {version_name(number) for number in reader.versions()}
    if reader.layout.versions.is_dir():
        for path in sorted(reader.layout.versions.iterdir()):
            if path.name not in known:
                yield Finding(FindingCode.STRANGE_FILE, f"versions/{path.name}", message("no part of the format"))


def _not_plain(root: Path) -> Iterator[Finding]:
    """Find everything that is neither a file nor a folder, in ``.work/`` too: nothing goes through it."""
    waiting = [""]
    while waiting:
        way = waiting.pop()
        with os.scandir(f"{root}/{way}") as found:
            for entry in sorted(found, key=lambda each: each.name):
                name = f"{way}/{entry.name}" if way else entry.name
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(name)
                elif not entry.is_file(follow_symlinks=False):
                    kind = kind_of(entry.stat(follow_symlinks=False).st_mode)
                    yield Finding(FindingCode.NOT_PLAIN, name, message("it is {kind}", kind=kind))


def _latest(reader: ArchiveReader, state: State) -> Iterator[Finding]:
    """Check ``latest/`` against the fold of the versions, and its views against what was written."""
    layout = reader.layout
    if not layout.latest.is_dir():
        yield Finding(FindingCode.LATEST_STALE, "latest", message("it is not there"))
        return
    record = latest.read_record(layout)
    manifest = manifest_sha256(layout, state.version)
    if record.get("version", state.version) != state.version or record.get("manifest_sha256", manifest) != manifest:
        yield Finding(
            FindingCode.LATEST_STALE, "latest", message("it does not show version {version} yet", version=state.version)
        )
        return
    for kind in Kind:
        expected = hashlib.sha256()
        for line in state.latest_lines(kind):
            expected.update(line)
        path = layout.latest_segment(kind)
        if sha256_or_none(path) != expected.hexdigest():
            detail = message("it is not what the versions say for version {version}", version=state.version)
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
            yield Finding(FindingCode.LATEST_DAMAGED, f"latest/{path.name}", message("it is not what was written"))
    yield from _views(reader)


def _views(reader: ArchiveReader) -> Iterator[Finding]:
    """Check the files of the views, and those that lead to them, against what was written."""
    layout = reader.layout
    for name in damaged_files(layout):
        yield Finding(FindingCode.VIEW_DAMAGED, name, message("it is not what was written"))
    removed = set()
    for entry in latest.read_index(layout):
        if entry.view not in removed and (layout.latest / entry.view).kind() is None:
            removed.add(entry.view)
            yield Finding(FindingCode.LATEST_STALE, f"latest/{entry.view}", message("it is not there"))
        path = layout.latest / entry.view / entry.path
        if entry.view not in removed and sha256_or_none(path) != entry.sha256:
            yield Finding(
                FindingCode.VIEW_DAMAGED, f"latest/{entry.view}/{entry.path}", message("it is not what was written")
            )
