"""Read a copy like an archive: fetch the files that a command needs into a cache folder of the user.

Documents and manifests are always fetched, records, pictures and captures if the command needs them. Each file is
verified by its hash when it arrives, and each record again when it is read. The cache of an encrypted copy has
decrypted files. Its folders are private (0700), and can be deleted at any time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from enum import IntEnum
from functools import partial
from pathlib import Path
from typing import Final

import platformdirs

from exporter.archive import atomic
from exporter.archive.archive import Archive
from exporter.archive.checks import sha256_or_none
from exporter.archive.layout import (
    CAPTURE_RUNS,
    OWNER_RECORDS,
    SEGMENTS,
    SUMS,
    Layout,
    asset_digest,
    segment_name,
    version_numbers,
)
from exporter.archive.lock import ArchiveLock
from exporter.clock import SystemClock
from exporter.copies.captures import CapturePull
from exporter.copies.contents import FORGOTTEN, INFO, PLAIN_DOCUMENTS, RUNS, SecondCopy
from exporter.copies.store import Store
from exporter.copies.transfer import (
    OnProgress,
    SyncResult,
    TransferCount,
    fetch_version,
    in_parallel,
    receive_asset,
)
from exporter.errors import DamagedObject
from exporter.model.kinds import Kind

_LOCK_SECONDS: Final = 600.0


class Need(IntEnum):
    """The files that a command reads."""

    MANIFESTS = 1
    """Manifests and runs."""
    RECORDS = 2
    """Also the records of all versions up to the shown one."""
    PICTURES = 3
    """Also the pictures and files of the shown version."""
    CAPTURES = 4
    """Also the captures of the public pages."""


def cache_folder() -> Path:
    """Return the user's cache folder."""
    return Path(platformdirs.user_cache_dir("blog-exporter", appauthor=False))


def cached_copies(layout: Layout) -> list[Path]:
    """Return the cache folders that hold files of an archive's copies."""
    folder = cache_folder() / "copies"
    try:
        info = layout.info.read_bytes()
        return [path for path in sorted(folder.iterdir()) if _bytes(path / INFO) == info]
    except OSError:
        return []


def fetched(store: Store, need: Need, at: str | None, progress: OnProgress) -> Path:
    """Fetch the necessary files, and return the cache folder, which is a partial archive.

    Args:
        store: the store of the copy.
        need: the necessary files.
        at: the shown version, if it is a number; otherwise all versions are necessary.
        progress: called with the number of finished files and of all files.

    Raises:
        NoArchive: there is no copy.
        NewerFormat, ArchiveDamaged: a file is damaged or missing.
        ArchiveLocked: another command has been fetching the same copy for ten minutes.
    """
    copy = SecondCopy(store)
    info, _ = copy.info()
    root = cache_folder() / "copies" / hashlib.sha256(store.place.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    layout = Layout(root)
    with atomic.translated(root):
        atomic.make_folder(layout.work)
    with ArchiveLock(layout.lock) as lock:
        lock.acquire(SystemClock().now(), _LOCK_SECONDS)
        _Fetch(copy, layout, info).run(need, at, progress)
    return root


class _Fetch:
    def __init__(self, copy: SecondCopy, layout: Layout, info: bytes) -> None:
        self._copy = copy
        self._layout = layout
        self._info = info
        self._info_sha256 = hashlib.sha256(info).hexdigest()

    def run(self, need: Need, at: str | None, progress: OnProgress) -> None:
        self._prepare()
        numbers = self._copy.numbers()
        shown = int(at) if at is not None and at.isascii() and at.isdigit() else None
        right = self._right_manifests(numbers)
        damaged: list[str] = []
        for done, number in enumerate(numbers, 1):
            wanted = SEGMENTS if need > Need.MANIFESTS and (shown is None or number <= shown) else ()
            damaged += self._fetch_version(number, wanted, known=number in right)
            progress(done, len(numbers))
        self._require_healed(damaged, shown)
        for name in (*PLAIN_DOCUMENTS, RUNS, SUMS, FORGOTTEN, *OWNER_RECORDS):
            self._write(name, self._copy.document_or_nothing(name))
        if need >= Need.PICTURES and numbers:
            self._fetch_pictures(shown, progress)
        if need is Need.CAPTURES:
            self._fetch_captures(progress)

    def _prepare(self) -> None:
        """Create the folder, and remove the files of another archive and of removed versions."""
        layout = self._layout
        if _bytes(layout.info) not in {None, self._info}:
            for folder in (layout.versions, layout.assets, layout.captures, layout.latest):
                atomic.remove_folder(folder)
        with atomic.translated(layout.root):
            for folder in (layout.versions, layout.assets):
                atomic.make_folder(folder)
        self._write(INFO, self._info)
        with atomic.translated(layout.work):
            atomic.write_file(layout.copy_id, f"{layout.root.name}\n".encode())
        exists = set(self._copy.numbers())
        for number in version_numbers(layout):
            if number not in exists:
                atomic.remove_folder(layout.version(number))

    def _right_manifests(self, numbers: list[int]) -> set[int]:
        """Return the cached versions with the same manifest as the copy, by the hashes in later manifests."""
        right: set[int] = set()
        if not numbers:
            return right
        expected: str | None = self._copy.manifest(numbers[-1])[0]
        archive = Archive.open(self._layout.root)
        for number in reversed(numbers):
            if expected is not None and sha256_or_none(self._layout.manifest(number)) == expected:
                right.add(number)
                manifest = archive.manifest(number)
            else:
                manifest = self._copy.manifest(number)[1]
            expected = None if manifest.parent is None else str(manifest.parent["sha256"])
        return right

    def _fetch_version(self, number: int, wanted: Iterable[str], *, known: bool) -> list[str]:
        """Fetch a version's wanted segments, and return the names of damaged ones."""
        folder = self._layout.version(number)
        if not known:
            atomic.remove_folder(folder)
            with atomic.translated(folder):
                atomic.make_folder(folder)
        missing = [name for name in wanted if (folder / name).kind() is None]
        if known and not missing:
            return []
        return fetch_version(self._copy, number, folder, self._info_sha256, missing)[1]

    def _require_healed(self, damaged: list[str], shown: int | None) -> None:
        """Refuse damaged segments, unless a version up to the shown one has healed them."""
        if not damaged:
            return
        archive = Archive.open(self._layout.root)
        healed = archive.healed(each for each in archive.versions() if shown is None or each <= shown)
        for name in damaged:
            if all(self._copy.part(version, segment_name(kind)) != name or line for version, kind, line in healed):
                atomic.remove_folder(self._layout.version(int(name.split("/")[1])))
                raise DamagedObject(self._copy.store.place, name)

    def _fetch_pictures(self, shown: int | None, progress: OnProgress) -> None:
        """Fetch the pictures of the shown version; a damaged one is missing in the cache."""
        archive = Archive.open(self._layout.root)
        versions = archive.versions()
        number = shown if shown in versions else versions[-1]
        state = archive.fold(number, [Kind.ASSETS])
        named = {str(record.get("sha256")) for _, record in state.scan(Kind.ASSETS)}
        state.close()
        wanted = [
            name
            for name in self._copy.assets()
            if asset_digest(name) in named and (self._layout.root / name).kind() is None
        ]
        jobs = (partial(receive_asset, self._copy, name, self._layout) for name in wanted)
        for done, _ in enumerate(in_parallel(jobs), 1):
            progress(done, len(wanted))

    def _fetch_captures(self, progress: OnProgress) -> None:
        """Fetch the captures and the log of their runs; a damaged one is missing in the cache."""
        plan = SyncResult()
        pull = CapturePull(self._layout, self._copy)
        pull.plan(plan)
        size = sum(size for missing in plan.captures.values() for size in missing.values())
        pull.fetch(plan, TransferCount(size, progress))
        if CAPTURE_RUNS in self._copy.objects:
            with atomic.translated(self._layout.captures):
                atomic.make_folder(self._layout.captures)
            self._write(CAPTURE_RUNS, self._copy.document(CAPTURE_RUNS))

    def _write(self, name: str, data: bytes) -> None:
        path = self._layout.root.joinpath(*name.split("/"))
        if data and _bytes(path) != data:
            with atomic.translated(path):
                atomic.write_file(path, data)


def _bytes(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None
