"""One version's own files: against its manifest and its sums, line by line, and its place in the chain."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from exporter.archive.findings import Code, Finding
from exporter.archive.inside import InnerPath
from exporter.archive.latest import file_sha256
from exporter.archive.layout import MANIFEST, SEGMENTS, SUMS, version_name
from exporter.archive.lines import split
from exporter.archive.manifest import Manifest, sums
from exporter.archive.plain import LARGEST_DOCUMENT
from exporter.errors import ArchiveDamaged

if TYPE_CHECKING:
    from exporter.archive.reader import ArchiveReader
    from exporter.archive.seen import Seen


def check_version(
    reader: ArchiveReader, number: int, parent: tuple[int, str | None] | None, seen: Seen
) -> Iterator[Finding]:
    """Check a version.

    Args:
        reader: the archive.
        number: the version's.
        parent: number and manifest's SHA-256 of the version before it, as they are; ``None`` for the first.
        seen: which files need not be read again.
    """
    folder = reader.layout.version(number)
    name = f"versions/{version_name(number)}"
    try:
        data = (folder / MANIFEST).read_bytes(LARGEST_DOCUMENT)
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
        yield from _segment(folder / segment, f"{name}/{segment}", manifest, seen)
    for path in folder.iterdir():
        if path.name not in (MANIFEST, SUMS, *SEGMENTS):
            yield Finding(Code.STRANGE_FILE, f"{name}/{path.name}", "no part of the format")


def _sums(reader: ArchiveReader, folder: InnerPath, name: str, digest: str, manifest: Manifest) -> Iterator[Finding]:
    try:
        found = (folder / SUMS).read_bytes(LARGEST_DOCUMENT)
    except OSError:
        found = b""
    listed = {row[66:]: row[:64] for row in found.decode("utf-8", "replace").splitlines()}
    if listed.get(MANIFEST) not in (None, digest):
        yield Finding(Code.MANIFEST_DAMAGED, f"{name}/{MANIFEST}", f"its hash is not the one in {SUMS}")
    stated = listed.get("../../archive.json")
    # One that is missing is named where the root is looked at.
    info = stated or "" if reader.layout.info.kind() is None else file_sha256(reader.layout.info)
    if stated not in (None, info):
        yield Finding(Code.INFO_DAMAGED, "archive.json", f"its hash is not the one in {name}/{SUMS}")
    if found != sums(digest, info, manifest.files):
        yield Finding(Code.SUMS_DAMAGED, f"{name}/{SUMS}", "it does not agree with the manifest")


def _segment(path: InnerPath, name: str, manifest: Manifest, seen: Seen) -> Iterator[Finding]:
    info = manifest.files.get(path.name)
    if info is None:
        yield Finding(Code.MANIFEST_DAMAGED, name, "the manifest does not list this file")
        return
    try:
        stat = path.lstat()
        if stat.st_size == info.bytes:
            if seen.passes(name, stat):
                return
            if file_sha256(path) == info.sha256:
                found = [] if seen.quick else list(_lines(path, name, info.lines))
                if not found:
                    seen.note(name, stat)
                yield from found
                return
    except OSError:
        yield Finding(Code.SEGMENT_MISSING, name, "it cannot be read")
        return
    yield Finding(Code.SEGMENT_DAMAGED, name, "its size or hash is not the one in the manifest")
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
                yield Finding(Code.LINE_DAMAGED, name, f"line {count}: {fault}")
    if count != expected:
        yield Finding(Code.SEGMENT_DAMAGED, name, f"it has {count} lines, the manifest says {expected}")
