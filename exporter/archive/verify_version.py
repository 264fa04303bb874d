"""Checking one version of an archive: its files against its manifest, and its lines against the state before it.

Most versions are small, and there are thousands of them: each file of up to a mebibyte is read once, and all else is
done with the bytes at hand. Larger files are read again, a line at a time.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from io import BytesIO
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from exporter.archive.checksums import file_sha256
from exporter.archive.findings import Finding, FindingCode
from exporter.archive.layout import MANIFEST, SEGMENTS, SUMS, segment_name, version_name
from exporter.archive.lines import fold_facts, split
from exporter.archive.manifest import Manifest, SegmentInfo, version_sums
from exporter.archive.safe_files import LARGEST_DOCUMENT, HeldFolder, kind_of
from exporter.errors import ArchiveDamaged
from exporter.message import message, said
from exporter.model.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exporter.archive.checksums import ChecksumCache
    from exporter.archive.state import State

_HELD: Final = 1 << 20
_PARTS: Final = frozenset((MANIFEST, SUMS, *SEGMENTS))


class VersionCheck:
    """The checks of one version, to be asked for in the order of the methods.

    Args:
        folder: the version's.
        number: the version's.
        info: the SHA-256 of ``archive.json``, ``None`` where there is none.
        cache: which files need not be read again.

    Attributes:
        digest: the SHA-256 of its manifest, ``None`` where that cannot be read.
    """

    def __init__(self, folder: HeldFolder, number: int, info: str | None, cache: ChecksumCache) -> None:
        self._folder = folder
        self._number = number
        self._name = f"versions/{version_name(number)}"
        self._info = info
        self._cache = cache
        self._held: dict[str, bytes] = {}
        self.digest: str | None = None
        self.manifest: Manifest | None = None

    def files(self, parent: tuple[int, str | None] | None) -> Iterator[Finding]:
        """Check its files.

        Args:
            parent: number and manifest's SHA-256 of the version before it, as they are; ``None`` for the first.
        """
        place = f"{self._name}/{MANIFEST}"
        try:
            data = self._folder.read_bytes(MANIFEST, LARGEST_DOCUMENT)
        except OSError:
            yield Finding(FindingCode.MANIFEST_MISSING, place, message("it cannot be read"))
            return
        self.digest = hashlib.sha256(data).hexdigest()
        try:
            manifest = self.manifest = Manifest.decode(data, place)
        except ArchiveDamaged as error:
            yield Finding(FindingCode.MANIFEST_DAMAGED, place, said(error))
            return
        yield from self._sums(self.digest, manifest)
        if manifest.version != self._number:
            yield Finding(
                FindingCode.MANIFEST_DAMAGED, place, message("it says version {version}", version=manifest.version)
            )
        stated = None if manifest.parent is None else (manifest.parent.get("version"), manifest.parent.get("sha256"))
        if stated != parent:
            before = message("no version") if parent is None else message("version {number}", number=parent[0])
            yield Finding(
                FindingCode.CHAIN_BROKEN, place, message("its parent is not {before} as it is here", before=before)
            )
        for name in SEGMENTS:
            yield from self._segment(name, manifest.files.get(name))
        for name in self._folder.names():
            if name not in _PARTS:
                yield Finding(FindingCode.STRANGE_FILE, f"{self._name}/{name}", message("no part of the format"))

    def fold(self, state: State) -> Iterator[Finding]:
        """Apply it, being intact, to the state before it, and check that it says only what changes that."""
        manifest = self.manifest
        if manifest is None:
            return
        kinds = [kind for kind in Kind if manifest.files[segment_name(kind)].bytes]
        for kind in kinds:
            yield from self._changes(state, kind, manifest)
        for kind in kinds:
            name = segment_name(kind)
            with self._lines(name) as lines:
                state.fold(self._folder.path / name, kind, self._number, lines=lines)
        state.version = self._number
        for kind in Kind:
            stated = manifest.counts.get(str(kind))
            if stated is not None and stated.total != len(state.kinds[kind]):
                detail = message(
                    "it counts {total} {kind}, the lines give {count}",
                    total=stated.total,
                    kind=kind,
                    count=len(state.kinds[kind]),
                )
                yield Finding(FindingCode.COUNTS_WRONG, f"{self._name}/{MANIFEST}", detail)

    def assets(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield its asset records by address and hash, also of a damaged version: as many as can be read."""
        with suppress(OSError), self._lines(segment_name(Kind.ASSETS)) as lines:
            for text in lines:
                with suppress(ValueError):
                    line = split(text)
                    if not line.removed and line.fault() is None and line.unreadable() is None:
                        yield line.record_id + line.digest.hex(), line.record()

    def _sums(self, digest: str, manifest: Manifest) -> Iterator[Finding]:
        try:
            found = self._folder.read_bytes(SUMS, LARGEST_DOCUMENT)
        except OSError:
            found = b""
        listed = {row[66:]: row[:64] for row in found.decode("utf-8", "replace").splitlines()}
        if listed.get(MANIFEST) not in (None, digest):
            detail = message("its hash is not the one in {sums}", sums=SUMS)
            yield Finding(FindingCode.MANIFEST_DAMAGED, f"{self._name}/{MANIFEST}", detail)
        stated = listed.get("../../archive.json")
        # One that is missing is named where the root is checked.
        info = stated or "" if self._info is None else self._info
        if stated not in (None, info):
            detail = message("its hash is not the one in {name}/{sums}", name=self._name, sums=SUMS)
            yield Finding(FindingCode.INFO_DAMAGED, "archive.json", detail)
        if found != version_sums(digest, info, manifest.files):
            yield Finding(
                FindingCode.SUMS_DAMAGED, f"{self._name}/{SUMS}", message("it does not agree with the manifest")
            )

    def _segment(self, name: str, info: SegmentInfo | None) -> Iterator[Finding]:
        place = f"{self._name}/{name}"
        if info is None:
            yield Finding(FindingCode.MANIFEST_DAMAGED, place, message("the manifest does not list this file"))
            return
        try:
            stat = self._folder.lstat(name)
            if stat.st_size == info.bytes:
                if self._cache.is_unchanged(place, stat):
                    return
                if self._sha256(name, info.bytes) == info.sha256:
                    found = [] if self._cache.quick else list(self._line_faults(name, info.lines))
                    if not found:
                        self._cache.add(place, stat)
                    yield from found
                    return
        except OSError:
            yield Finding(FindingCode.SEGMENT_MISSING, place, message("it cannot be read"))
            return
        yield Finding(FindingCode.SEGMENT_DAMAGED, place, message("its size or hash is not the one in the manifest"))
        if not kind_of(stat.st_mode):
            yield from self._line_faults(name, info.lines)

    def _sha256(self, name: str, size: int) -> str:
        if size > _HELD:
            return file_sha256(self._folder.path / name)
        data = self._held[name] = self._folder.read_bytes(name, _HELD)
        return hashlib.sha256(data).hexdigest()

    def _line_faults(self, name: str, expected: int) -> Iterator[Finding]:
        """Check every line's own hash, so that a finding names the record."""
        place = f"{self._name}/{name}"
        count = 0
        with self._lines(name) as lines:
            for count, text in enumerate(lines, 1):
                try:
                    line = split(text)
                    fault = line.fault() or line.unreadable()
                except ValueError as error:
                    fault = said(error)
                if fault is not None:
                    yield Finding(
                        FindingCode.LINE_DAMAGED, place, message("line {count}: {fault}", count=count, fault=fault)
                    )
        if count != expected:
            detail = message("it has {count} lines, the manifest says {expected}", count=count, expected=expected)
            yield Finding(FindingCode.SEGMENT_DAMAGED, place, detail)

    def _lines(self, name: str) -> BinaryIO:
        """Return the file, as it was read or opened anew."""
        data = self._held.get(name)
        return os.fdopen(self._folder.descriptor(name), "rb") if data is None else BytesIO(data)

    def _changes(self, state: State, kind: Kind, manifest: Manifest) -> Iterator[Finding]:
        """Check that each line of a kind changes the state before it."""
        place = f"{self._name}/{segment_name(kind)}"
        healed = manifest.healed is not None
        before = state.kinds[kind]
        ids: set[str] = set()
        with self._lines(segment_name(kind)) as lines:
            for text in lines:
                record_id, identity, _ = fold_facts(text)
                row = before.row(record_id)
                if record_id in ids:
                    yield Finding(
                        FindingCode.FOLD_WRONG, place, message("{record_id} has two lines", record_id=record_id)
                    )
                ids.add(record_id)
                if identity is None:
                    if row is None and manifest.pruned is None and not healed:
                        yield Finding(
                            FindingCode.FOLD_WRONG,
                            place,
                            message("{record_id} is removed but was not there", record_id=record_id),
                        )
                elif row is not None and not healed and before.identity(row) == identity:
                    yield Finding(
                        FindingCode.FOLD_WRONG,
                        place,
                        message("{record_id} is put but did not change", record_id=record_id),
                    )
