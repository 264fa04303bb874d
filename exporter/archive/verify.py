"""Checking an archive: each version's files against its manifest, the fold of all versions, ``latest/``, the pictures.

What is checked of a version is in :mod:`exporter.archive.verify_version`, of the root's documents in
:mod:`exporter.archive.verify_documents`.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from exporter import lossless_json
from exporter.archive import latest
from exporter.archive.assets import AssetStore
from exporter.archive.checks import ChecksumCache, Finding, FindingCode, file_sha256, sha256_or_none
from exporter.archive.documents import run_lines, sealed_names
from exporter.archive.latest import damaged_files
from exporter.archive.layout import (
    MANIFEST,
    SEGMENTS,
    SUMS,
    is_prune_under_way,
    manifest_name,
    manifest_sha256,
    segment_name,
    version_name,
)
from exporter.archive.lines import fold_facts, split
from exporter.archive.manifest import (
    MANIFEST_SHA256,
    PREVIOUS,
    Manifest,
    SegmentInfo,
    line_digest,
    read_sums,
    run_fault,
    version_sums,
    write_sums,
)
from exporter.archive.reader import ArchiveReader, known_damage, remember_damage
from exporter.archive.safe_files import LARGEST_DOCUMENT, HeldFolder, kind_of
from exporter.archive.state import State
from exporter.errors import ArchiveDamaged
from exporter.message import message, said
from exporter.model.kinds import Kind

if TYPE_CHECKING:
    from exporter.archive.checks import ChecksumCache

_RUNS = "runs.jsonl"
_OTHERWISE = message("it is not what the archive was sealed with")


def check_seal(reader: ArchiveReader) -> Iterator[Finding]:
    """Check the documents of the root, the lines of the runs and ``SHA256SUMS``, and that the newest version is there.

    The seal is read first, so that a run that ends meanwhile is one that the seal does not know yet.
    """
    stated = _Seal(reader)
    yield from stated.check_form()
    yield from stated.check_documents()
    runs = _Runs(stated.rows.get(_RUNS))
    yield from runs.check(reader)
    if not runs.readable:
        return
    if runs.linked and not stated.there:
        yield Finding(FindingCode.SEAL_DAMAGED, SUMS, message("it is missing"))
    elif stated.there:
        yield from runs.check_sealed()
    yield from stated.check_manifest(runs)


class _Seal:
    """``SHA256SUMS`` as it is."""

    def __init__(self, reader: ArchiveReader) -> None:
        self._reader = reader
        self._fault: str | None = None
        self._data = b""
        self.there = True
        try:
            self._data = reader.layout.sums.read_bytes(LARGEST_DOCUMENT)
        except FileNotFoundError:
            self.there = False
        except OSError:
            self._fault = message("it cannot be read")
        self.rows = read_sums(self._data)
        self._versions = reader.versions()

    def check_form(self) -> Iterator[Finding]:
        names = list(self.rows)
        expected = list(sealed_names(self._reader.layout))
        manifests = [name for name in names if name.startswith("versions/")]
        right = write_sums(self.rows) == self._data and names == expected + manifests and len(manifests) < 2
        if self._fault is None and self.there and not right:
            self._fault = message(
                "it does not have a row for each of {names} and the newest manifest", names=", ".join(expected)
            )
        if self._fault is not None:
            yield Finding(FindingCode.SEAL_DAMAGED, SUMS, self._fault)

    def check_documents(self) -> Iterator[Finding]:
        layout = self._reader.layout
        for path, code in (
            (layout.readme, FindingCode.DOCUMENT_DAMAGED),
            (layout.format_document, FindingCode.DOCUMENT_DAMAGED),
            (layout.info, FindingCode.INFO_DAMAGED),
        ):
            digest = self.rows.get(path.name)
            if digest is None:
                continue
            try:
                if file_sha256(path) != digest:
                    yield Finding(code, path.name, _OTHERWISE)
            except OSError:
                yield Finding(code, path.name, message("it cannot be read"))

    def check_manifest(self, runs: _Runs) -> Iterator[Finding]:
        """Check that a manifest vouched for by the seal, or by the newest line, is one of those that are there."""
        named = [name for name in self.rows if name.startswith("versions/")]
        for name in named:
            number = next((each for each in self._versions if manifest_name(each) == name), None)
            found = None if number is None else manifest_sha256(self._reader.layout, number)
            if found is None:
                yield Finding(
                    FindingCode.MANIFEST_MISSING, name, message("{sums} names it, and it cannot be read", sums=SUMS)
                )
            elif found != self.rows[name]:
                yield Finding(FindingCode.MANIFEST_DAMAGED, name, _OTHERWISE)
            if found != self.rows[name]:
                return
        digest = runs.newest.get(MANIFEST_SHA256)
        if digest is None or self._is_there(digest):
            if self.there and not named and self._versions and (digest is not None or not runs.linked):
                # A kill after the line leaves the line unsealed, too, and one in a prune what the prune had built.
                killed = digest is None or not runs.sealed or is_prune_under_way(self._reader.layout)
                code = FindingCode.NOT_SEALED if killed else FindingCode.SEAL_DAMAGED
                yield Finding(code, SUMS, message("it does not name the newest manifest"))
        elif not self._was_pruned():
            yield Finding(
                FindingCode.CHAIN_BROKEN, _RUNS, message("the manifest that its newest line names is not there")
            )
        elif not named:
            yield Finding(FindingCode.NOT_SEALED, SUMS, message("a prune changed the manifests after it was written"))

    def _is_there(self, digest: str) -> bool:
        layout = self._reader.layout
        return any(manifest_sha256(layout, number) == digest for number in reversed(self._versions))

    def _was_pruned(self) -> bool:
        """Tell whether older versions were folded into one, which gives all after it other manifests."""
        for number in self._versions:
            try:
                if self._reader.manifest(number).pruned is not None:
                    return True
            except ArchiveDamaged:
                continue
        return False


class _Runs:
    """The lines of ``runs.jsonl``, in one pass.

    Attributes:
        newest: the newest line that is a run's.
        linked: whether a line names the one before it.
        readable: whether the file could be read to its end.
    """

    def __init__(self, sealed: str | None) -> None:
        self._sealed = sealed
        self._running = hashlib.sha256()
        self._sealed_lines = 0 if sealed == self._running.hexdigest() else None
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
            yield Finding(FindingCode.RUNS_DAMAGED, _RUNS, message("it cannot be read"))
            return
        if made > (reader.newest() or 0):
            detail = message("{runs} says that a run made it, and it is not there", runs=_RUNS)
            yield Finding(FindingCode.CHAIN_BROKEN, f"versions/{version_name(made)}", detail)

    def _line(self, line: bytes) -> Iterator[Finding]:
        self._lines += 1
        self._running.update(line)
        if self._sealed is not None and self._running.hexdigest() == self._sealed:
            self._sealed_lines = self._lines
        try:
            value = lossless_json.loads(line)
            fault = run_fault(value)
        except lossless_json.NotJson as error:
            value, fault = None, message("it is not JSON: {error}", error=error)
        if fault is not None:
            yield Finding(
                FindingCode.RUNS_DAMAGED,
                _RUNS,
                message("line {lines} is not a run: {fault}", lines=self._lines, fault=fault),
            )
        else:
            self.newest = dict(value)
            self.linked = self.linked or PREVIOUS in self.newest
            before = None if self._before is None else line_digest(self._before)
            if self.linked and (PREVIOUS not in self.newest or self.newest[PREVIOUS] != before):
                yield Finding(
                    FindingCode.RUNS_REWRITTEN,
                    _RUNS,
                    message("line {lines} does not name the line before it", lines=self._lines),
                )
        self._before = line

    def check_sealed(self) -> Iterator[Finding]:
        """Check that what was sealed is what the file begins with."""
        if self._sealed is None:
            return
        if self._sealed_lines is None:
            detail = message("what was sealed is not what it begins with: lines were changed or cut off")
            yield Finding(FindingCode.RUNS_REWRITTEN, _RUNS, detail)
        elif self._lines > self._sealed_lines:
            yield Finding(
                FindingCode.NOT_SEALED,
                _RUNS,
                message("{lines} more than were sealed", lines=self._lines - self._sealed_lines),
            )
        elif self._torn:
            yield Finding(FindingCode.NOT_SEALED, _RUNS, message("its last line was cut short, and was not sealed"))


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
