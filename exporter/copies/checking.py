"""Checking a copy: all that ``verify`` checks of an archive, read from a store, without keeping it.

What is small, documents and manifests, is put into a temporary folder, where the checks of an archive find it; a
version's lines are there only while they are looked at; pictures are hashed as they come.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from exporter.archive import atomic
from exporter.archive.archive import Archive
from exporter.archive.checks import ChecksumCache, Finding, FindingCode
from exporter.archive.layout import MANIFEST, SEGMENTS, SUMS, Layout, asset_digest
from exporter.archive.safe_files import HeldFolder
from exporter.archive.state import State
from exporter.archive.verify import VersionCheck, check_seal
from exporter.copies.contents import INFO, PLAIN_DOCUMENTS, RUNS, VERSIONS, SecondCopy, part_name
from exporter.copies.transfer import in_parallel
from exporter.errors import ArchiveDamaged
from exporter.message import message
from exporter.model.asset import is_sha256

if TYPE_CHECKING:
    from exporter.archive.verify import OnProgress
    from exporter.copies.store import Store

_MOST_UNKNOWN = 1 << 30
"""The most bytes that are read of a segment whose manifest does not say how many it has."""


class CopyCheck:
    """A copy that is being checked; use it in ``with``, at whose end nothing of it is left.

    Args:
        store: where it is.

    Attributes:
        archive: its documents and manifests, as an archive without lines and pictures.

    Raises:
        NoArchive: there is no copy.
        NewerFormat, ArchiveDamaged: its ``archive.json`` cannot be read.
    """

    def __init__(self, store: Store) -> None:
        self._copy = SecondCopy(store)
        info, _ = self._copy.info()
        self._info_sha256 = hashlib.sha256(info).hexdigest()
        self._folder = tempfile.TemporaryDirectory(prefix="blog-exporter-verify-")
        self._layout = Layout(Path(self._folder.name))
        self._write(INFO, info)
        for name in (*PLAIN_DOCUMENTS, RUNS, SUMS):
            self._bring(name, name)
        self._begun = not {RUNS, SUMS} & self._copy.objects.keys()
        if self._begun:
            self._write(RUNS, b"")
        atomic.make_folder(self._layout.versions)
        for number in self._copy.numbers():
            for part in (MANIFEST, SUMS):
                self._bring(self._copy.part(number, part), part_name(number, part))
        self.archive = Archive.open(self._layout.root)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()

    def findings(self, progress: OnProgress) -> Iterator[Finding]:
        """Yield what is wrong, as it is found; ``progress`` counts the versions and pictures checked."""
        numbers, assets = self._copy.numbers(), self._copy.assets()
        total = len(numbers) + len(assets)
        yield from check_seal(self.archive)
        state = State(self.archive.info.blog_id)
        cache = ChecksumCache(self._layout, quick=False)
        parent: tuple[int, str | None] | None = None
        named: dict[str, str] = {}
        foldable = True
        for done, number in enumerate(numbers, 1):
            self._bring_segments(number)
            with HeldFolder(self._layout.version(number)) as folder:
                version = VersionCheck(folder, number, self._info_sha256, cache)
                for finding in version.files(parent):
                    yield finding
                    foldable = False
                if foldable:
                    yield from version.fold(state)
                named.update((str(data.get("sha256")), str(data.get("url"))) for _, data in version.assets())
            for part in SEGMENTS:
                (self._layout.version(number) / part).unlink(missing_ok=True)
            parent = number, version.digest
            progress(done, total)
        state.close()
        yield from self._missing_assets(named)
        for done, (name, right) in enumerate(in_parallel(partial(self._check_asset, name) for name in assets), 1):
            if not right:
                yield Finding(FindingCode.ASSET_DAMAGED, name, message("its content is not what its name says"))
            progress(len(numbers) + done, total)
        yield from self._beside()

    def _beside(self) -> Iterator[Finding]:
        """Yield what is no part of the copy, or not yet."""
        if self._begun:
            yield Finding(FindingCode.UNFINISHED, RUNS, message("it is sent at last, and is not there yet"))
        for number in self._copy.unfinished():
            yield Finding(
                FindingCode.UNFINISHED,
                self._copy.part(number, "").rstrip("/"),
                message("its manifest is not there yet: a transfer is under way, or was cut short"),
            )
        if self._copy.pruning is not None:
            yield Finding(FindingCode.UNFINISHED, VERSIONS, message("a prune is under way, or was cut short"))
        for name in self._copy.strange:
            yield Finding(FindingCode.STRANGE_FILE, name, message("no part of the format"))

    def _missing_assets(self, named: dict[str, str]) -> Iterator[Finding]:
        there = {asset_digest(name) for name in self._copy.assets()}
        for digest, url in named.items():
            if is_sha256(digest) and digest not in there:
                detail = message("it is the content of {url}", url=url)
                yield Finding(FindingCode.ASSET_MISSING, f"assets/{digest[:2]}/{digest}", detail)

    def _check_asset(self, name: str) -> tuple[str, bool]:
        digest = hashlib.sha256()
        try:
            for piece in self._copy.store.read(name):
                digest.update(piece)
        except ArchiveDamaged:
            return name, False
        return name, digest.hexdigest() == asset_digest(name)

    def _bring(self, name: str, inside: str) -> None:
        """Put a document where the checks look for it; one that cannot be read they find missing."""
        with suppress(ArchiveDamaged):
            self._write(inside, self._copy.document(name))

    def _write(self, inside: str, data: bytes) -> None:
        path = self._layout.root / inside
        with atomic.translated(path):
            atomic.make_folder(path.parent)
            atomic.write_small(path, data)

    def _bring_segments(self, number: int) -> None:
        """Fetch the lines of a version as they are; of what is longer than the manifest says, the beginning."""
        files: dict[str, Any] = {}
        with suppress(ArchiveDamaged):
            files = self._copy.manifest(number)[1].files
        for part in SEGMENTS:
            path = self._layout.version(number) / part
            most = files[part].bytes if part in files else _MOST_UNKNOWN
            try:
                with atomic.translated(path), atomic.hashing(path) as file:
                    for piece in self._copy.store.read(self._copy.part(number, part)):
                        file.write(piece)
                        if file.size > most:
                            break
                    file.close(sync=False)
            except ArchiveDamaged:
                path.unlink(missing_ok=True)
