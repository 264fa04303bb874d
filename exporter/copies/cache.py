"""Reading from a copy as from an archive: a folder of the user's with what has been fetched of it.

Fetched is what a command needs and is not there yet: documents and manifests always, lines and pictures when they are
asked for. Every file is compared with its hash when it comes, and what reads the folder compares each record with its
own again, as in any archive: whoever can write the folder can do no more harm than whoever can write the copy. Of an
encrypted copy it holds what was decrypted; its folders are for the user alone (0700), and can be deleted at any time.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable
from contextlib import suppress
from enum import IntEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import platformdirs

from exporter.archive import atomic
from exporter.archive.archive import Archive
from exporter.archive.checks import sha256_or_none
from exporter.archive.layout import SEGMENTS, SUMS, Layout, asset_digest, segment_name, version_numbers
from exporter.archive.lock import ArchiveLock
from exporter.clock import SystemClock
from exporter.copies.contents import INFO, PLAIN_DOCUMENTS, RUNS, SecondCopy
from exporter.copies.receiving import fetch_version, receive
from exporter.copies.transfer import in_parallel
from exporter.errors import DamagedObject
from exporter.model.kinds import Kind

if TYPE_CHECKING:
    from exporter.copies.store import Store
    from exporter.copies.transfer import OnProgress

_PATIENCE_SECONDS: Final = 600.0


class Need(IntEnum):
    """What a command reads."""

    MANIFESTS = 1
    """What each version is, and the runs."""
    RECORDS = 2
    """Every record of every version up to the one it shows."""
    PICTURES = 3
    """The pictures and files of the version it shows, too."""


def cache_folder() -> Path:
    """Return the user's folder for what can be fetched again."""
    return Path(platformdirs.user_cache_dir("blog-exporter", appauthor=False))


def fetched(store: Store, need: Need, at: str | None, progress: OnProgress) -> Path:
    """Bring what a command needs of a copy into its folder, and return that: an archive, as far as it was fetched.

    Args:
        store: where the copy is.
        need: what is needed.
        at: the version that is shown, where it is a number; else all may be needed.
        progress: told how many of how many files are there.

    Raises:
        NoArchive: there is no copy.
        NewerFormat, ArchiveDamaged: a part of it is not what was stored, or not there.
        ArchiveLocked: another command fetches the same for ten minutes already.
    """
    copy = SecondCopy(store)
    info, _ = copy.info()
    root = cache_folder() / "copies" / hashlib.sha256(store.place.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    layout = Layout(root)
    with atomic.translated(root):
        atomic.make_folder(layout.work)
    with ArchiveLock(layout.lock) as lock:
        lock.acquire(SystemClock().now(), _PATIENCE_SECONDS)
        _Fetch(copy, layout, info).run(need, at, progress)
    return root


class _Fetch:
    def __init__(self, copy: SecondCopy, layout: Layout, info: bytes) -> None:
        self._copy = copy
        self._layout = layout
        self._info = info
        self._info_sha256 = hashlib.sha256(info).hexdigest()

    def run(self, need: Need, at: str | None, progress: OnProgress) -> None:
        self._begin()
        numbers = self._copy.numbers()
        shown = int(at) if at is not None and at.isascii() and at.isdigit() else None
        right = self._right_manifests(numbers)
        damaged: list[str] = []
        for done, number in enumerate(numbers, 1):
            wanted = SEGMENTS if need > Need.MANIFESTS and (shown is None or number <= shown) else ()
            damaged += self._fetch_version(number, wanted, known=number in right)
            progress(done, len(numbers))
        self._require_healed(damaged, shown)
        for name in (*PLAIN_DOCUMENTS, RUNS, SUMS):
            self._write(name, self._copy.document_or_nothing(name))
        if need is Need.PICTURES and numbers:
            self._fetch_pictures(shown, progress)

    def _begin(self) -> None:
        """Make the folder that of this archive; what is there of another one, or of versions that are gone, goes."""
        layout = self._layout
        if _bytes(layout.info) not in {None, self._info}:
            for folder in (layout.versions, layout.assets, layout.latest):
                atomic.remove_folder(folder)
        with atomic.translated(layout.root):
            for folder in (layout.versions, layout.assets):
                atomic.make_folder(folder)
        self._write(INFO, self._info)
        there = set(self._copy.numbers())
        for number in version_numbers(layout):
            if number not in there:
                atomic.remove_folder(layout.version(number))

    def _right_manifests(self, numbers: list[int]) -> set[int]:
        """Return the versions whose manifests are those of the copy: each has the hash that the one after it names."""
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
        """Fetch what is wanted of a version; return the names of what is damaged."""
        folder = self._layout.version(number)
        if not known:
            atomic.remove_folder(folder)
            with atomic.translated(folder):
                atomic.make_folder(folder)
            return fetch_version(self._copy, number, folder, self._info_sha256, list(wanted))[1]
        missing = [name for name in wanted if (folder / name).kind() is None]
        return fetch_version(self._copy, number, folder, self._info_sha256, missing)[1] if missing else []

    def _require_healed(self, damaged: list[str], shown: int | None) -> None:
        """Refuse what is damaged, unless a version up to the one that is shown has written all of it again."""
        if not damaged:
            return
        archive = Archive.open(self._layout.root)
        healed = archive.healed(each for each in archive.versions() if shown is None or each <= shown)
        for name in damaged:
            if all(self._copy.part(version, segment_name(kind)) != name or line for version, kind, line in healed):
                atomic.remove_folder(self._layout.version(int(name.split("/")[1])))
                raise DamagedObject(self._copy.store.place, name)

    def _fetch_pictures(self, shown: int | None, progress: OnProgress) -> None:
        """Fetch the pictures that the records of the shown version name."""
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
        for done, _ in enumerate(in_parallel(partial(self._fetch_picture, name) for name in wanted), 1):
            progress(done, len(wanted))

    def _fetch_picture(self, name: str) -> None:
        """Fetch one; a damaged one is missing here, as it is for whoever reads the copy."""
        incoming = self._layout.work / f"incoming-{secrets.token_hex(8)}"
        target = self._layout.root / name
        with suppress(DamagedObject):
            receive(self._copy.store, name, incoming, asset_digest(name) or "", self._copy.objects[name].size)
            with atomic.translated(target):
                atomic.make_folder(target.parent)
                incoming.replace(target)

    def _write(self, name: str, data: bytes) -> None:
        path = self._layout.root / name
        if data and _bytes(path) != data:
            with atomic.translated(path):
                atomic.write_file(path, data)


def _bytes(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None
