"""Checking an archive: the seal of its root, the files and the fold of its versions, ``latest/`` and the pictures.

Most versions are small, and there are thousands of them. So each file of up to a mebibyte is read once and kept for the
other checks of its version. Larger files are read again line by line.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from typing import Any, BinaryIO, Final

from exporter import lossless_json
from exporter.archive import latest
from exporter.archive.assets import AssetStore
from exporter.archive.capture_checks import check_capture_files, check_captures
from exporter.archive.captures import Capture, captures
from exporter.archive.checks import (
    ChecksumCache,
    Finding,
    FindingCode,
    descriptor_sha256,
    file_sha256,
    sha256_or_none,
)
from exporter.archive.declared import declarations_in
from exporter.archive.documents import run_lines, sealed_names
from exporter.archive.fold_check import FoldCheck
from exporter.archive.forgotten import ForgettingNote, newest_name, notes_in, renamed_hashes
from exporter.archive.latest_check import shows
from exporter.archive.layout import (
    CAPTURE_RUNS,
    MANIFEST,
    NAMES,
    OWNER_RECORDS,
    SEGMENTS,
    SUMS,
    Layout,
    capture_name,
    capture_numbers,
    capture_sha256,
    captures_in,
    is_prune_under_way,
    manifest_name,
    manifest_sha256,
    segment_name,
    version_name,
)
from exporter.archive.lines import RecordLine, split
from exporter.archive.manifest import (
    CAPTURE_SHA256,
    FORGOTTEN_SHA256,
    MANIFEST_SHA256,
    PREVIOUS,
    Manifest,
    SegmentInfo,
    line_digest,
    read_run,
    read_sums,
    version_sums,
    write_sums,
)
from exporter.archive.names import names_in
from exporter.archive.reader import ArchiveReader, known_damage, remember_damage
from exporter.archive.safe_files import MAX_CACHE_BYTES, MAX_DOCUMENT_BYTES, HeldFolder, kind_of
from exporter.archive.state import State
from exporter.errors import ArchiveDamaged, BlogExporterError
from exporter.message import listed, message, said
from exporter.model.kinds import Kind

OnProgress = Callable[[int, int], None]
CheckRecords = Callable[[Capture], Iterator[Finding]]
"""Checks the records in the WARC files of a capture whose files have the right hashes."""
_RUNS: Final = "runs.jsonl"
_NOT_SEALED: Final = message("it differs from the sealed one")
_CHANGED: Final = message("it was changed after it was written")
_FOREIGN: Final = message("no part of the format")
_UNREADABLE: Final = message("it cannot be read")
_KEPT_BYTES: Final = 1 << 20
_BUFFER_BYTES: Final = 1 << 18
_MOST_LEVELS: Final = 500
"""More levels than any simple record has; a record with more is read with more care."""
_PARTS: Final = frozenset((MANIFEST, SUMS, *SEGMENTS))
_ASSETS: Final = segment_name(Kind.ASSETS)
_ASSET_MEMBERS: Final = ("url", "sha256", "bytes", "content_type")
_KINDS: Final = {segment_name(kind): kind for kind in Kind}


def ignore_progress(_done: int, _total: int) -> None:
    """Ignore the progress."""


def verify(
    reader: ArchiveReader,
    *,
    quick: bool = False,
    progress: OnProgress = ignore_progress,
    remember: bool = True,
    records: CheckRecords | None = None,
) -> Iterator[Finding]:
    """Check the whole archive and yield the findings.

    Args:
        reader: the archive.
        quick: check sizes, chains, hashes of changed files and the presence of pictures; skip lines, folds and derived
            files.
        progress: receives the number of checked versions and stored files, and the number of all.
        remember: note in ``.work/`` which files are right, for a later quick check; otherwise write nothing.
        records: also check the records of captures, unless the check is quick; see :mod:`exporter.warc.checks`.
    """
    damaged = set(known_damage(reader)) if quick else set()
    records = None if quick else records
    for finding in _findings(reader, quick=quick, progress=progress, remember=remember, records=records):
        if finding.damage:
            damaged.add(finding.path)
        yield finding
    if remember:
        remember_damage(reader.layout, damaged)


def _findings(
    reader: ArchiveReader, *, quick: bool, progress: OnProgress, remember: bool, records: CheckRecords | None
) -> Iterator[Finding]:
    layout = reader.layout
    cache = ChecksumCache(layout, quick=quick)
    state = State(reader.info.blog_id)
    store = AssetStore(layout)
    assets: dict[str, dict[str, Any]] = {}
    versions = reader.versions()
    total = len(versions) + len(store.files())
    info = None if layout.info.kind() is None else file_sha256(layout.info)
    parent: tuple[int, str | None] | None = None
    foldable = not quick
    for done, number in enumerate(versions, 1):
        with HeldFolder(layout.version(number)) as folder:
            version = VersionCheck(folder, number, info, cache, state=state if foldable else None)
            for finding in version.files(parent):
                yield finding
                foldable = foldable and finding.code is FindingCode.STRANGE_FILE
            if foldable:
                yield from version.fold()
            assets.update(version.assets())
        parent = number, version.digest
        progress(done, total)
    yield from _foreign_files(layout, {version_name(number) for number in versions})
    yield from check_seal(reader)
    if versions:
        checked = () if quick else tuple(_latest(layout, state if foldable else None))
        yield from checked
        yield from _lacking(layout, versions[-1], {finding.path for finding in checked})
    state.close()
    yield from _captures(layout, cache, records)
    yield from store.verify(((str(data.get("url")), data) for data in assets.values()), cache=cache)
    progress(total, total)
    if remember:
        # A run that was killed may have renamed pictures without waiting for the disk.
        with suppress(OSError, BlogExporterError):
            cache.make_durable()
            cache.save(complete=True)


def _captures(layout: Layout, cache: ChecksumCache, records: CheckRecords | None) -> Iterator[Finding]:
    """Check the files of the captures; :func:`check_seal` checks their order."""
    with suppress(ArchiveDamaged):  # reported by check_captures
        for capture in captures(layout):
            whole = True
            for finding in check_capture_files(capture, cache):
                yield finding
                whole = whole and not finding.damage
            if whole and records is not None:
                yield from records(capture)


def _foreign_files(layout: Layout, versions: set[str]) -> Iterator[Finding]:
    """Find strange files in ``versions/``, and everything that is neither file nor folder, also in ``.work/``."""
    if layout.versions.is_dir():
        for name in layout.versions.names():
            if name not in versions:
                yield Finding(FindingCode.STRANGE_FILE, f"versions/{name}", _FOREIGN)
    folders = [""]
    while folders:
        folder = folders.pop()
        with os.scandir(f"{layout.root}/{folder}") as found:
            for entry in sorted(found, key=lambda each: each.name):
                name = f"{folder}/{entry.name}" if folder else entry.name
                if entry.is_dir(follow_symlinks=False):
                    folders.append(name)
                elif not entry.is_file(follow_symlinks=False):
                    kind = kind_of(entry.stat(follow_symlinks=False).st_mode)
                    yield Finding(FindingCode.NOT_PLAIN, name, message("it is {kind}", kind=kind))


def _latest(layout: Layout, state: State | None) -> Iterator[Finding]:
    """Check the derived files against the folded versions, or against their notes if the versions are damaged."""
    if not layout.latest.is_dir():
        if state is not None and latest.missing_parts(layout, state.version):  # a copy has none
            yield Finding(FindingCode.LATEST_STALE, "latest", message("it is missing"))
        return
    record = latest.read_record(layout)
    if state is not None:
        shown = {"version": state.version, "manifest_sha256": manifest_sha256(layout, state.version)}
        if any(record.get(name, value) != value for name, value in shown.items()):
            detail = message("it does not show version {version} yet", version=state.version)
            yield Finding(FindingCode.LATEST_STALE, "latest", detail)
            return
    for kind in Kind:
        path = layout.latest_segment(kind)
        if state is None:
            found = sha256_or_none(path)
            right = found is not None and found == record.get("files", {}).get(path.name, found)
            detail = _CHANGED
        else:
            right = shows(path, state, kind)
            detail = message("it differs from version {version}", version=state.version)
        if not right:
            yield Finding(FindingCode.LATEST_DAMAGED, f"latest/{path.name}", detail)
    yield from _views(layout)


def _lacking(layout: Layout, newest: int, known: set[str]) -> Iterator[Finding]:
    """Find what ``latest/`` lacks to show the newest version, unless it is ``known``; a quick check does no more."""
    for path in latest.missing_parts(layout, newest):
        if not any(each == path or each.startswith(f"{path}/") for each in known):
            yield Finding(FindingCode.LATEST_STALE, path, message("it is missing or incomplete"))


def _views(layout: Layout) -> Iterator[Finding]:
    for name in latest.damaged_root_files(layout):
        yield Finding(FindingCode.VIEW_DAMAGED, name, _CHANGED)
    removed = set()
    for entry in latest.read_index(layout):
        if entry.view not in removed and (layout.latest / entry.view).kind() is None:
            removed.add(entry.view)
            yield Finding(FindingCode.LATEST_STALE, f"latest/{entry.view}", message("it is missing"))
        if entry.view not in removed and sha256_or_none(layout.latest / entry.place) != entry.sha256:
            yield Finding(FindingCode.VIEW_DAMAGED, f"latest/{entry.place}", _CHANGED)


@dataclass
class VersionCheck:
    """All checks of one version. The methods must be called in their order.

    Attributes:
        folder: the open folder of the version.
        number: its number.
        info: the SHA-256 of ``archive.json``; ``None`` if the file is missing.
        cache: the files that need not be read again.
        lines: check every line of intact segments, unless the cache is quick.
        state: the state before the version, to which the lines are applied while they are checked. If the version has
            a finding, the state is of no use afterwards.
        digest: the SHA-256 of its manifest; ``None`` if that cannot be read.
    """

    folder: HeldFolder
    number: int
    info: str | None
    cache: ChecksumCache
    lines: bool = True
    state: State | None = None
    digest: str | None = None
    manifest: Manifest | None = None

    def __post_init__(self) -> None:
        self._name = f"versions/{version_name(self.number)}"
        self._kept: dict[str, bytes] = {}
        self._assets: list[tuple[str, dict[str, Any]]] | None = None
        self._unfolded: list[Finding] = []

    def _finding(self, code: FindingCode, name: str, detail: str) -> Finding:
        return Finding(code, f"{self._name}/{name}", detail)

    def files(self, parent: tuple[int, str | None] | None) -> Iterator[Finding]:
        """Check its files.

        Args:
            parent: number and manifest hash of the version before it; ``None`` for the first.
        """
        try:
            data = self.folder.read_bytes(MANIFEST, MAX_DOCUMENT_BYTES)
        except OSError:
            yield self._finding(FindingCode.MANIFEST_MISSING, MANIFEST, _UNREADABLE)
            return
        self.digest = hashlib.sha256(data).hexdigest()
        try:
            manifest = self.manifest = Manifest.decode(data, f"{self._name}/{MANIFEST}")
        except ArchiveDamaged as error:
            yield self._finding(FindingCode.MANIFEST_DAMAGED, MANIFEST, said(error))
            return
        yield from self._sums(self.digest, manifest)
        if manifest.version != self.number:
            detail = message("it says version {version}", version=manifest.version)
            yield self._finding(FindingCode.MANIFEST_DAMAGED, MANIFEST, detail)
        stated = None if manifest.parent is None else (manifest.parent.get("version"), manifest.parent.get("sha256"))
        if stated != parent:
            detail = message("it names a parent, but no version precedes it")
            if parent is not None:
                detail = message("its parent is not version {number} of this archive", number=parent[0])
            yield self._finding(FindingCode.CHAIN_BROKEN, MANIFEST, detail)
        for name in SEGMENTS:
            yield from self._segment(name, manifest.files.get(name))
        for name in self.folder.names():
            if name not in _PARTS:
                yield self._finding(FindingCode.STRANGE_FILE, name, _FOREIGN)

    def fold(self) -> Iterator[Finding]:
        """Report the lines of the undamaged version that did not change the state, and complete the state."""
        state, manifest = self.state, self.manifest
        if state is None or manifest is None:
            return
        yield from self._unfolded
        state.version = self.number
        for kind in Kind:
            stated, count = manifest.counts.get(str(kind)), len(state.kinds[kind])
            if stated is not None and stated.total != count:
                detail = message(
                    "it counts {total:,} {kind}, the lines give {count:,}", total=stated.total, kind=kind, count=count
                )
                yield self._finding(FindingCode.COUNTS_WRONG, MANIFEST, detail)

    def assets(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield its readable asset records by address and hash, also for a damaged version.

        The records have only the members that a check of the files needs.
        """
        if self._assets is not None:
            yield from self._assets
        elif self._kept.get(_ASSETS) != b"":
            with suppress(OSError), self._lines(_ASSETS) as lines:
                for text in lines:
                    with suppress(ValueError, ArchiveDamaged):
                        line = split(text)
                        if not line.removed and line.fault() is None:
                            yield _asset(line)

    def _sums(self, digest: str, manifest: Manifest) -> Iterator[Finding]:
        try:
            found = self.folder.read_bytes(SUMS, MAX_DOCUMENT_BYTES)
        except OSError:
            found = b""
        if self.info is not None and found == version_sums(digest, self.info, manifest.files):
            return
        listed = {row[66:]: row[:64] for row in found.decode("utf-8", "replace").splitlines()}
        if listed.get(MANIFEST) not in (None, digest):
            detail = message("its hash is not the one in {sums}", sums=SUMS)
            yield self._finding(FindingCode.MANIFEST_DAMAGED, MANIFEST, detail)
        stated = listed.get("../../archive.json")
        # A missing archive.json is reported by the check of the root.
        info = stated or "" if self.info is None else self.info
        if stated not in (None, info):
            detail = message("its hash is not the one in {name}/{sums}", name=self._name, sums=SUMS)
            yield Finding(FindingCode.INFO_DAMAGED, "archive.json", detail)
        if found != version_sums(digest, info, manifest.files):
            yield self._finding(FindingCode.SUMS_DAMAGED, SUMS, message("it does not agree with the manifest"))

    def _segment(self, name: str, info: SegmentInfo | None) -> Iterator[Finding]:
        if info is None:
            yield self._finding(FindingCode.MANIFEST_DAMAGED, name, message("the manifest does not list this file"))
            return
        place = f"{self._name}/{name}"
        try:
            found = self.folder.lstat(name)
            if found.st_size == info.bytes:
                if self.cache.is_unchanged(place, found):
                    return
                if self._sha256(name, found) == info.sha256:
                    checked = self.lines and not self.cache.quick and (info.bytes or info.lines)
                    faults = list(self._line_faults(name, info.lines)) if checked else []
                    if not faults:
                        self.cache.add(place, found)
                    yield from faults
                    return
        except OSError:
            yield self._finding(FindingCode.SEGMENT_MISSING, name, _UNREADABLE)
            return
        detail = message("its size or hash is not the one in the manifest")
        yield self._finding(FindingCode.SEGMENT_DAMAGED, name, detail)
        if not kind_of(found.st_mode):
            yield from self._line_faults(name, info.lines)

    def _sha256(self, name: str, found: os.stat_result) -> str:
        if found.st_size > _KEPT_BYTES:
            return descriptor_sha256(self.folder.descriptor(name))
        # Most files of most versions are empty; opening them would cost more than all other files.
        empty = not found.st_size and stat.S_ISREG(found.st_mode)
        data = self._kept[name] = b"" if empty else self.folder.read_bytes(name, _KEPT_BYTES)
        return hashlib.sha256(data).hexdigest()

    def _line_faults(self, name: str, expected: int) -> Iterator[Finding]:
        """Check the hash of every line, so that a finding names the line, and apply the lines to the state."""
        count = 0
        fold = self._fold(name)
        assets: list[tuple[str, dict[str, Any]]] | None = [] if name == _ASSETS else None
        with self._lines(name) as lines:
            for count, text in enumerate(lines, 1):
                try:
                    line = split(text)
                    fault = line.fault() or line.unreadable()
                except ValueError as error:
                    fault = said(error)
                if fault is not None:
                    detail = message("line {count}: {fault}", count=count, fault=fault)
                    yield self._finding(FindingCode.LINE_DAMAGED, name, detail)
                    continue
                if fold is not None:
                    fold.apply(line, len(text))
                if assets is not None and not line.removed:
                    assets.append(_asset(line))
        self._assets = self._assets if assets is None else assets
        if count != expected:
            detail = message("it has {count:,} lines, the manifest says {expected:,}", count=count, expected=expected)
            yield self._finding(FindingCode.SEGMENT_DAMAGED, name, detail)
        if fold is not None:
            self._unfolded += [self._finding(FindingCode.FOLD_WRONG, name, detail) for detail in fold.wrong]

    def _fold(self, name: str) -> FoldCheck | None:
        """Return what applies a segment's lines to the state; ``None`` if there are no lines, or no state."""
        if self.state is None or self.manifest is None or self._kept.get(name) == b"":
            return None
        return FoldCheck(self.state, _KINDS[name], self.folder.path / name, self.number, self.manifest)

    def _lines(self, name: str) -> BinaryIO:
        """Return a file from memory, or open it."""
        data = self._kept.get(name)
        return os.fdopen(self.folder.descriptor(name), "rb", _BUFFER_BYTES) if data is None else BytesIO(data)


def _asset(line: RecordLine) -> tuple[str, dict[str, Any]]:
    """Return the address and hash in an asset's line, with the members of its record that describe its file.

    Raises:
        ArchiveDamaged: its data is not a JSON object.
    """
    record = lossless_json.simple_values(line.data, _MOST_LEVELS)
    record = record if isinstance(record, dict) else line.record()
    return line.record_id + line.digest.hex(), {name: record.get(name) for name in _ASSET_MEMBERS}


def check_seal(reader: ArchiveReader) -> Iterator[Finding]:
    """Check the root: ``SHA256SUMS`` and its files, the lines of ``runs.jsonl``, and that the newest version exists.

    The seal is read first. So a run that ends during the check is one that the seal does not know yet.
    """
    layout = reader.layout
    fault, data, exists = None, b"", True
    try:
        data = layout.sums.read_bytes(MAX_DOCUMENT_BYTES)
    except FileNotFoundError:
        exists = False
    except OSError:
        fault = _UNREADABLE
    rows = read_sums(data)
    versions = reader.versions()
    expected = list(sealed_names(layout))
    named = [name for name in rows if name.startswith("versions/")]
    captured = [*map(capture_name, captures_in(rows)[-1:]), *(each for each in (CAPTURE_RUNS,) if each in rows)]
    right = write_sums(rows) == data and list(rows) == expected + named + captured and len(named) <= 1
    if fault is None and exists and not right:
        fault = message("it does not have a row for each of {names} and the newest manifest", names=listed(expected))
    if fault is not None:
        yield Finding(FindingCode.SEAL_DAMAGED, SUMS, fault)
    for name in (each for each in expected[:-1] if each in rows):
        found = sha256_or_none(layout.root / name)
        if found != rows[name]:
            code = FindingCode.INFO_DAMAGED if name == layout.info.name else FindingCode.DOCUMENT_DAMAGED
            yield Finding(code, name, _UNREADABLE if found is None else _NOT_SEALED)
    runs = _RunLines(rows.get(_RUNS))
    yield from runs.check(reader)
    if not runs.readable:
        yield from check_captures(layout, rows, None)
        return
    if not exists and runs.linked:
        yield Finding(FindingCode.SEAL_DAMAGED, SUMS, message("it is missing"))
    notes, findings = _notes(layout, runs)
    # A kill in a removal of records leaves lines and captures that changed as its note says, before they are sealed.
    removal = notes[-1] if notes and layout.forgetting.kind() is not None else None
    if exists and (removal is None or not runs.changed_as(removal)):
        yield from runs.check_sealed()
    yield from findings
    yield from _owner_records(layout)
    renamed = renamed_hashes(notes)
    yield from _newest_manifest(reader, versions, {name: rows[name] for name in named}, runs, renamed, sealed=exists)
    linked = _newest_captured(layout, runs, renamed)
    yield from check_captures(layout, rows, linked, None if removal is None else renamed)


def _newest_captured(layout: Layout, runs: _RunLines, renamed: Mapping[str, str]) -> str | None:
    """Return the hash that the capture of the newest run should have now."""
    captured = runs.newest.get(CAPTURE_SHA256)
    here = [capture_sha256(layout, each) for each in capture_numbers(layout)[-1:]]
    return captured if captured is None or captured in here else newest_name(renamed, captured)


def _notes(layout: Layout, runs: _RunLines) -> tuple[list[ForgettingNote], list[Finding]]:
    """Return the notes about forgotten records, and the findings about them."""
    stated = runs.newest.get(FORGOTTEN_SHA256)
    begun = Finding(FindingCode.FORGETTING, layout.forgotten.name, message("a removal was interrupted"))
    is_begun = layout.forgetting.kind() is not None
    try:
        data = layout.forgotten.read_bytes(MAX_CACHE_BYTES)
        notes = notes_in(data)
    except FileNotFoundError:
        if stated is None:
            return [], [begun] if is_begun else []
        lost = Finding(FindingCode.NOTES_DAMAGED, layout.forgotten.name, message("it is missing"))
        return [], [lost]
    except (OSError, ValueError) as error:
        detail = _UNREADABLE if isinstance(error, OSError) else said(error)
        return [], [Finding(FindingCode.NOTES_DAMAGED, layout.forgotten.name, detail)]
    if is_begun:
        return notes, [begun]
    if stated != hashlib.sha256(data).hexdigest():
        return notes, [
            Finding(FindingCode.NOTES_DAMAGED, layout.forgotten.name, message("the newest run names another"))
        ]
    return notes, []


def _owner_records(layout: Layout) -> Iterator[Finding]:
    """Check the lines of the files that the owner's commands append to."""
    for name in OWNER_RECORDS:
        path = layout.root / name
        if path.kind() is None:
            continue
        try:
            data = path.read_bytes(MAX_DOCUMENT_BYTES)
        except OSError:
            yield Finding(FindingCode.NOTES_DAMAGED, name, _UNREADABLE)
            continue
        lines: Iterator[tuple[int, object]] = names_in(data) if name == NAMES else declarations_in(data)
        for number, fault in lines:
            if isinstance(fault, str):
                detail = message("line {n}: {fault}", n=number, fault=fault)
                yield Finding(FindingCode.NOTES_DAMAGED, name, detail)


def _newest_manifest(
    reader: ArchiveReader,
    versions: list[int],
    named: Mapping[str, str],
    runs: _RunLines,
    renamed: Mapping[str, str],
    *,
    sealed: bool,
) -> Iterator[Finding]:
    """Check that the manifests named by the seal and by the newest run exist.

    Args:
        reader: the archive.
        versions: its versions.
        named: the newest manifest by the seal.
        runs: the lines of the runs.
        renamed: the new hash of each manifest that changed when records were forgotten, by its old hash.
        sealed: whether there is a seal.
    """
    layout = reader.layout
    for name, digest in named.items():
        number = next((each for each in versions if manifest_name(each) == name), None)
        found = None if number is None else manifest_sha256(layout, number)
        if found is None:
            detail = message("{sums} names it, and it cannot be read", sums=SUMS)
            yield Finding(FindingCode.MANIFEST_MISSING, name, detail)
            return
        if found != digest:
            yield Finding(FindingCode.MANIFEST_DAMAGED, name, _NOT_SEALED)
            return
    newest = runs.newest.get(MANIFEST_SHA256)
    # A note is written before the versions change.
    known = {newest, newest_name(renamed, newest or "")}
    if newest is None or any(manifest_sha256(layout, number) in known for number in reversed(versions)):
        if sealed and not named and versions and (newest is not None or not runs.linked):
            # A kill after the line leaves the line unsealed; a kill in a prune leaves the new set of versions.
            under_way = is_prune_under_way(layout) or layout.forgetting.kind() is not None
            killed = newest is None or not runs.sealed or under_way
            code = FindingCode.NOT_SEALED if killed else FindingCode.SEAL_DAMAGED
            yield Finding(code, SUMS, message("it does not name the newest manifest"))
    elif not any(_is_pruned(reader, number) for number in versions):
        detail = message("the manifest that its newest line names is missing")
        yield Finding(FindingCode.CHAIN_BROKEN, _RUNS, detail)
    elif not named:
        yield Finding(FindingCode.NOT_SEALED, SUMS, message("a prune changed the manifests after it was written"))


def _is_pruned(reader: ArchiveReader, number: int) -> bool:
    """Return whether older versions were folded into this one, which changes all later manifests."""
    with suppress(ArchiveDamaged):
        return reader.manifest(number).pruned is not None
    return False


class _RunLines:
    """The lines of ``runs.jsonl``, checked in one pass.

    Attributes:
        newest: the newest line that is a run.
        linked: whether a line names the line before it.
        readable: whether the file could be read to its end.
    """

    def __init__(self, sealed: str | None) -> None:
        self._sealed = sealed
        self._running = hashlib.sha256()
        self._sealed_lines = 0 if sealed == self._running.hexdigest() else None
        self._digests: set[str] = set()
        self._lines = 0
        self._torn = False
        self._before: bytes | None = None
        self.newest: dict[str, Any] = {}
        self.linked = False
        self.readable = True

    @property
    def sealed(self) -> bool:
        """Whether the newest line was sealed."""
        return self._sealed is not None and self._sealed_lines == self._lines and not self._torn

    def check(self, reader: ArchiveReader) -> Iterator[Finding]:
        made = 0
        try:
            for line in run_lines(reader.layout.runs):
                if not line.endswith(b"\n"):
                    self._torn = True
                    break
                yield from self._line(line)
                made = max(made, self.newest.get("version") or 0)
        except OSError:
            self.readable = False
            yield Finding(FindingCode.RUNS_DAMAGED, _RUNS, _UNREADABLE)
            return
        if made > (reader.newest() or 0):
            detail = message("{runs} names the run that made it, and it is missing", runs=_RUNS)
            yield Finding(FindingCode.CHAIN_BROKEN, f"versions/{version_name(made)}", detail)

    def _line(self, line: bytes) -> Iterator[Finding]:
        self._lines += 1
        self._running.update(line)
        if self._sealed is not None and self._running.hexdigest() == self._sealed:
            self._sealed_lines = self._lines
        run: dict[str, Any] | None = None
        fault = ""
        try:
            run = read_run(line)
        except lossless_json.NotJson as error:
            fault = message("it is not JSON: {error}", error=error)
        except ValueError as error:
            fault = said(error)
        if run is None:
            detail = message("line {lines} is not a run: {fault}", lines=self._lines, fault=fault)
            yield Finding(FindingCode.RUNS_DAMAGED, _RUNS, detail)
        else:
            self.newest = run
            self.linked = self.linked or PREVIOUS in self.newest
            before = None if self._before is None else line_digest(self._before)
            if self.linked and (PREVIOUS not in self.newest or self.newest[PREVIOUS] != before):
                detail = message("line {lines} does not name the line before it", lines=self._lines)
                yield Finding(FindingCode.RUNS_REWRITTEN, _RUNS, detail)
        self._before = line
        self._digests.add(line_digest(line))

    def changed_as(self, removal: ForgettingNote) -> bool:
        """Return whether a removal changed lines, and all of them are as its note says.

        The links between lines show whether the others are unchanged: the last line is always among the changed ones.
        """
        return bool(removal.runs) and self._digests.issuperset(each["after"] for each in removal.runs)

    def check_sealed(self) -> Iterator[Finding]:
        """Check that the file begins with the sealed lines."""
        if self._sealed is None:
            return
        if self._sealed_lines is None:
            detail = message("it does not begin with the sealed lines: some were changed or cut off")
            yield Finding(FindingCode.RUNS_REWRITTEN, _RUNS, detail)
        elif self._lines > self._sealed_lines:
            more = self._lines - self._sealed_lines
            yield Finding(FindingCode.NOT_SEALED, _RUNS, message("{lines} more than were sealed", lines=more))
        elif self._torn:
            detail = message("its last line was cut short, and was not sealed")
            yield Finding(FindingCode.NOT_SEALED, _RUNS, detail)
