"""Is the archive intact: every hash, every chain, every fold, and the views derived from them.

Whether it is complete is another question, answered by what the runs recorded, never by this module.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from exporter import codec
from exporter.archive import latest
from exporter.archive.findings import Code, Finding
from exporter.archive.latest import file_sha256
from exporter.archive.layout import MANIFEST, SEGMENTS, SUMS, segment_name, version_name
from exporter.archive.lines import split
from exporter.archive.manifest import Manifest, sums
from exporter.archive.reader import ArchiveReader, apply_version
from exporter.archive.state import State
from exporter.errors import ArchiveDamaged
from exporter.model.kinds import Kind


def verify(reader: ArchiveReader) -> Iterator[Finding]:
    """Check the whole archive and yield what is wrong, as it is found."""
    state = State(reader.info.blog_id)
    parent: tuple[int, str] | None = None
    foldable = True
    for number in reader.versions():
        found = list(_version(reader, number, parent))
        yield from found
        if any(finding.code is not Code.STRANGE_FILE for finding in found):
            foldable = False
        if foldable:
            yield from _fold(reader, number, state)
        path = reader.layout.manifest(number)
        parent = (number, file_sha256(path)) if path.is_file() else None
    yield from _strangers(reader)
    yield from _runs(reader)
    if foldable and state.version:
        yield from _latest(reader, state)
    state.close()


def _version(reader: ArchiveReader, number: int, parent: tuple[int, str] | None) -> Iterator[Finding]:
    """Check one version's files against its manifest and sums, and its place in the chain."""
    folder = reader.layout.version(number)
    name = f"versions/{version_name(number)}"
    try:
        data = (folder / MANIFEST).read_bytes()
    except OSError:
        yield Finding(Code.MANIFEST_MISSING, f"{name}/{MANIFEST}", "it cannot be read")
        return
    digest = hashlib.sha256(data).hexdigest()
    try:
        manifest = Manifest.decode(data, f"{name}/{MANIFEST}")
    except ArchiveDamaged as error:
        yield Finding(Code.MANIFEST_DAMAGED, f"{name}/{MANIFEST}", str(error))
        return
    yield from _sums(reader, folder, name, digest, manifest)
    if manifest.version != number:
        yield Finding(Code.MANIFEST_DAMAGED, f"{name}/{MANIFEST}", f"it says version {manifest.version}")
    stated = None if manifest.parent is None else (manifest.parent.get("version"), manifest.parent.get("sha256"))
    if stated != parent:
        before = "no version" if parent is None else f"version {parent[0]}"
        yield Finding(Code.CHAIN_BROKEN, f"{name}/{MANIFEST}", f"its parent is not {before} as it stands here")
    for segment in SEGMENTS:
        yield from _segment(folder / segment, f"{name}/{segment}", manifest)
    for path in sorted(folder.iterdir()):
        if path.name not in (MANIFEST, SUMS, *SEGMENTS):
            yield Finding(Code.STRANGE_FILE, f"{name}/{path.name}", "no part of the format")


def _sums(reader: ArchiveReader, folder: Path, name: str, digest: str, manifest: Manifest) -> Iterator[Finding]:
    try:
        found = (folder / SUMS).read_bytes()
    except OSError:
        found = b""
    listed = {row[66:]: row[:64] for row in found.decode("utf-8", "replace").splitlines()}
    if listed.get(MANIFEST) not in (None, digest):
        yield Finding(Code.MANIFEST_DAMAGED, f"{name}/{MANIFEST}", f"its hash is not the one in {SUMS}")
    info = file_sha256(reader.layout.info)
    if listed.get("../../archive.json") not in (None, info):
        yield Finding(Code.INFO_DAMAGED, "archive.json", f"its hash is not the one in {name}/{SUMS}")
    if found != sums(digest, info, manifest.files):
        yield Finding(Code.SUMS_DAMAGED, f"{name}/{SUMS}", "it does not agree with the manifest")


def _segment(path: Path, name: str, manifest: Manifest) -> Iterator[Finding]:
    info = manifest.files.get(path.name)
    if info is None:
        yield Finding(Code.MANIFEST_DAMAGED, name, "the manifest does not list this file")
        return
    try:
        if path.stat().st_size == info.bytes and file_sha256(path) == info.sha256:
            yield from _lines(path, name, info.lines)
            return
    except OSError:
        yield Finding(Code.SEGMENT_MISSING, name, "it cannot be read")
        return
    yield Finding(Code.SEGMENT_DAMAGED, name, "its size or hash is not the one in the manifest")
    yield from _lines(path, name, info.lines)


def _lines(path: Path, name: str, expected: int) -> Iterator[Finding]:
    """Check every line's own hash, so that a finding names the record."""
    count = 0
    with path.open("rb") as file:
        for count, text in enumerate(file, 1):
            try:
                fault = split(text).fault()
            except ValueError as error:
                fault = str(error)
            if fault is not None:
                yield Finding(Code.LINE_DAMAGED, name, f"line {count}: {fault}")
    if count != expected:
        yield Finding(Code.SEGMENT_DAMAGED, name, f"it has {count} lines, the manifest says {expected}")


def _fold(reader: ArchiveReader, number: int, state: State) -> Iterator[Finding]:
    """Apply an intact version, and check that it says only what changes the state before it."""
    name = f"versions/{version_name(number)}"
    manifest = reader.manifest(number)
    for kind in Kind:
        before = state.kinds[kind]
        ids: set[str] = set()
        with reader.layout.segment(number, kind).open("rb") as file:
            for text in file:
                line = split(text)
                row = before.row(line.record_id)
                if line.record_id in ids:
                    yield Finding(Code.FOLD_WRONG, f"{name}/{segment_name(kind)}", f"{line.record_id} stands twice")
                ids.add(line.record_id)
                if line.removed and row is None and manifest.pruned is None:
                    detail = f"{line.record_id} is removed but was not there"
                    yield Finding(Code.FOLD_WRONG, f"{name}/{segment_name(kind)}", detail)
                elif row is not None and not line.removed and before.identity(row) == line.identity:
                    detail = f"{line.record_id} is put but did not change"
                    yield Finding(Code.FOLD_WRONG, f"{name}/{segment_name(kind)}", detail)
    apply_version(state, reader.layout, number)
    for kind in Kind:
        stated = manifest.counts.get(str(kind))
        if stated is not None and stated.total != len(state.kinds[kind]):
            detail = f"it counts {stated.total} {kind}, the lines give {len(state.kinds[kind])}"
            yield Finding(Code.COUNTS_WRONG, f"{name}/{MANIFEST}", detail)


def _strangers(reader: ArchiveReader) -> Iterator[Finding]:
    known = {version_name(number) for number in reader.versions()}
    if reader.layout.versions.is_dir():
        for path in sorted(reader.layout.versions.iterdir()):
            if path.name not in known:
                yield Finding(Code.STRANGE_FILE, f"versions/{path.name}", "no part of the format")


def _runs(reader: ArchiveReader) -> Iterator[Finding]:
    """Check the lines of the runs, but for one cut short at the end, and that the newest version they made is there."""
    try:
        lines = reader.layout.runs.read_bytes().split(b"\n")[:-1]
    except OSError:
        yield Finding(Code.RUNS_DAMAGED, "runs.jsonl", "it cannot be read")
        return
    made = [reader.newest() or 0]
    for number, line in enumerate(lines, 1):
        try:
            run = codec.loads(line)
        except codec.NotJson:
            run = None
        if not isinstance(run, dict):
            yield Finding(Code.RUNS_DAMAGED, "runs.jsonl", f"line {number} is not a run")
        elif type(run.get("version")) is int:
            made.append(run["version"])
    if max(made) > made[0]:
        detail = "runs.jsonl says that a run made it, and it is not there"
        yield Finding(Code.CHAIN_BROKEN, f"versions/{version_name(max(made))}", detail)


def _latest(reader: ArchiveReader, state: State) -> Iterator[Finding]:
    """Check ``latest/`` against the fold of the versions, and its views against what was written."""
    layout = reader.layout
    if not layout.latest.is_dir():
        yield Finding(Code.LATEST_STALE, "latest", "it is not there")
        return
    record = latest.read_record(layout)
    manifest = latest.manifest_sha256(layout, state.version)
    if record.get("version", state.version) != state.version or record.get("manifest_sha256", manifest) != manifest:
        yield Finding(Code.LATEST_STALE, "latest", f"it does not show version {state.version} yet")
        return
    for kind in Kind:
        expected = hashlib.sha256()
        for line in latest.segment_lines(state, kind):
            expected.update(line)
        path = layout.latest_segment(kind)
        try:
            same = file_sha256(path) == expected.hexdigest()
        except OSError:
            same = False
        if not same:
            detail = f"it is not what the versions say for version {state.version}"
            yield Finding(Code.LATEST_DAMAGED, f"latest/{path.name}", detail)
    for entry in latest.read_index(layout):
        path = layout.latest / entry.view / entry.path
        if not path.is_file() or file_sha256(path) != entry.sha256:
            yield Finding(Code.VIEW_DAMAGED, f"latest/{entry.view}/{entry.path}", "it is not what was written")


def recorded(reader: ArchiveReader) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return ``completeness`` and ``problems`` as the newest run that read the service recorded them."""
    for run in reversed(reader.runs()):
        completeness = run.get("completeness")
        if isinstance(completeness, dict):
            return completeness, list(run.get("problems", []))
    newest = reader.newest()
    if newest is None:
        return {}, []
    manifest = reader.manifest(newest)
    return manifest.completeness, [asdict(problem) for problem in manifest.problems]
