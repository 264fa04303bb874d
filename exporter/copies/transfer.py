"""Parts of every transfer: its result, several objects at a time, and objects received into files."""

from __future__ import annotations

import hashlib
import secrets
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar

from exporter.archive import atomic
from exporter.archive.layout import MANIFEST, SEGMENTS, SUMS, Layout, asset_digest
from exporter.archive.manifest import version_sums
from exporter.archive.safe_files import InnerPath
from exporter.copies.contents import Relation, SecondCopy
from exporter.copies.store import Store
from exporter.errors import ArchiveDamaged, BlogExporterError, DamagedObject
from exporter.message import said

_Result = TypeVar("_Result")
WORKERS: Final = 8
"""Objects transferred at the same time: enough for a distant place, and not too many for a disk."""

OnProgress = Callable[[int, int], None]
"""Called with the number of finished bytes and of all bytes."""


@dataclass(slots=True)
class SyncResult:
    """A transfer's plan, and after the transfer its result.

    Attributes:
        archive: the archive's folder in its fleet; ``.`` outside a fleet.
        relation: the relation of the source to the target.
        versions: the new or incomplete versions, each with the files to send.
        documents: the immutable documents to send.
        assets: the pictures and files to send, with their sizes if known.
        captures: the new or incomplete captures, each with the sizes of the files to send.
        replaced: the documents that grow, with their new content.
        damaged: the damaged or missing files at the source, which are not sent.
        damaged_there: the files at the target that are wrong. They are not overwritten.
        objects: the number of objects to send; after the transfer, of objects sent.
        bytes: the size of these objects.
        rolled_back: the newest version after the last sync and the newest version now, if the latter is older.
        error: the error that ended the transfer.
    """

    archive: str = "."
    relation: Relation = Relation.SAME
    versions: dict[int, tuple[str, ...]] = field(default_factory=dict)
    documents: tuple[str, ...] = ()
    assets: dict[str, int | None] = field(default_factory=dict)
    captures: dict[int, dict[str, int]] = field(default_factory=dict)
    replaced: dict[str, bytes] = field(default_factory=dict)
    damaged: list[str] = field(default_factory=list)
    damaged_there: list[str] = field(default_factory=list)
    objects: int = 0
    bytes: int = 0
    rolled_back: tuple[int, int] | None = None
    error: BlogExporterError | None = None

    def add_damaged(self, *names: str) -> None:
        """Add names to ``damaged`` once."""
        self.damaged += [name for name in dict.fromkeys(names) if name not in self.damaged]

    def document(self) -> dict[str, Any]:
        """Return the result as a JSON object."""
        back = self.rolled_back
        return {
            "archive": self.archive,
            "relation": self.relation.name.lower(),
            "versions": list(self.versions),
            "captures": list(self.captures),
            "objects": self.objects,
            "bytes": self.bytes,
            "damaged": sorted(self.damaged),
            "damaged_at_target": sorted(self.damaged_there),
            "rolled_back": None if back is None else {"from": back[0], "to": back[1]},
            "error": None if self.error is None else str(said(self.error)),
        }


class TransferCount:
    """Counts the transferred objects, and reports the progress.

    Args:
        total: the number of bytes in all.
        progress: called after each object.

    Attributes:
        objects: the number of stored objects.
        bytes: the size of stored objects.
    """

    def __init__(self, total: int, progress: OnProgress) -> None:
        self._total = total
        self._progress = progress
        self._seen = 0
        self.objects = 0
        self.bytes = 0

    def add(self, size: int, *, stored: bool, objects: int = 1) -> None:
        """Count objects; those that existed already are not stored."""
        self._seen += size
        self.objects += objects if stored else 0
        self.bytes += size if stored else 0
        self._progress(self._seen, self._total)


def in_parallel(jobs: Iterable[Callable[[], _Result]], workers: int = WORKERS) -> Iterator[_Result]:
    """Run jobs in threads, and yield their results in order. An error ends the iteration and cancels waiting jobs.

    The iterable may be long: only a few jobs wait at a time.
    """
    waiting: deque[Future[_Result]] = deque()
    pool = ThreadPoolExecutor(workers)
    try:
        for job in jobs:
            waiting.append(pool.submit(job))
            if len(waiting) >= 2 * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def receive(store: Store, name: str, target: Path, sha256: str, size: int | None) -> int:
    """Write an object to a new file durably, and return its size.

    Raises:
        DamagedObject: the object is missing or has a wrong hash; the file is removed.
    """
    right = False
    try:
        with atomic.translated(target), atomic.hashing(target) as file:
            for piece in pieces_of(store, name):
                file.write(piece)
                if size is not None and file.size > size:
                    break
            right = file.close() == sha256 and size in {None, file.size}
            total = file.size
    finally:
        if not right:
            with suppress(OSError):
                target.unlink(missing_ok=True)
    if not right:
        raise DamagedObject(store.place, name)
    return total


def receive_asset(copy: SecondCopy, name: str, layout: Layout) -> tuple[str, int | None]:
    """Put a picture into an archive; see :func:`receive_into`."""
    return receive_into(copy, name, layout, layout.root / name, asset_digest(name) or "", copy.objects[name].size)


def receive_into(
    copy: SecondCopy, name: str, layout: Layout, target: InnerPath, sha256: str, size: int | None
) -> tuple[str, int | None]:
    """Put an object into an archive, and return its name and its size; ``None`` if it is damaged."""
    incoming = layout.work / f"incoming-{secrets.token_hex(8)}"
    try:
        size = receive(copy.store, name, incoming, sha256, size)
    except ArchiveDamaged:
        return name, None
    with atomic.translated(target):
        atomic.make_folder(target.parent)
        incoming.replace(target)
    return name, size


def pieces_of(store: Store, name: str) -> Iterator[bytes]:
    """Yield the content of an object.

    Raises:
        DamagedObject: it is missing or damaged.
    """
    try:
        yield from store.read(name)
    except DamagedObject:
        raise
    except ArchiveDamaged as error:
        raise DamagedObject(store.place, name) from error


def fetch_version(
    copy: SecondCopy, number: int, folder: Path, info_sha256: str, segments: Collection[str] = SEGMENTS
) -> tuple[int, list[str]]:
    """Write a version into an existing folder, and check each file by the manifest.

    ``SHA256SUMS`` is made from the manifest.

    Returns:
        The number of bytes, and the names of segments that are missing or damaged.

    Raises:
        DamagedObject: the manifest is damaged.
    """
    name = copy.part(number, MANIFEST)
    try:
        digest, manifest = copy.manifest(number)
        data = copy.document(name)
    except ArchiveDamaged as error:
        raise DamagedObject(copy.store.place, name) from error
    if manifest.files.keys() != set(SEGMENTS) or hashlib.sha256(data).hexdigest() != digest:
        raise DamagedObject(copy.store.place, name)
    total = 0
    damaged: list[str] = []
    for part in segments:
        info = manifest.files[part]
        try:
            total += receive(copy.store, copy.part(number, part), folder / part, info.sha256, info.bytes)
        except DamagedObject as error:
            damaged.append(error.name)
    for part, content in ((MANIFEST, data), (SUMS, version_sums(digest, info_sha256, manifest.files))):
        with atomic.translated(folder), atomic.hashing(folder / part) as file:
            file.write(content)
            file.close()
        total += len(content)
    return total, damaged
