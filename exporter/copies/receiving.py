"""Fetching from a store into files: one object, or a whole version, each compared with its hash on the way."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from exporter.archive import atomic
from exporter.archive.layout import MANIFEST, SEGMENTS, SUMS
from exporter.archive.manifest import version_sums
from exporter.errors import ArchiveDamaged, DamagedObject

if TYPE_CHECKING:
    from pathlib import Path

    from exporter.copies.contents import SecondCopy
    from exporter.copies.store import Store


def receive(store: Store, name: str, target: Path, sha256: str, size: int | None) -> int:
    """Fetch an object into a new file, durably but for its name; return its size.

    Raises:
        DamagedObject: it is not there, or not what its hash says; there is no file then.
    """
    right = False
    try:
        with atomic.translated(target), atomic.hashing(target) as file:
            for piece in _pieces(store, name):
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


def _pieces(store: Store, name: str) -> Iterator[bytes]:
    """Yield the content of an object; whatever cannot be read as one is damaged."""
    try:
        yield from store.read(name)
    except DamagedObject:
        raise
    except ArchiveDamaged as error:
        raise DamagedObject(store.place, name) from error


def fetch_version(
    copy: SecondCopy, number: int, folder: Path, info_sha256: str, segments: Collection[str] = SEGMENTS
) -> tuple[int, list[str]]:
    """Fetch a version into a folder that is there, each file compared with the manifest.

    ``SHA256SUMS`` follows from the others, and is made of them.

    Returns:
        How many bytes, and the names of the segments that are not what was stored, or not there, and were left out.

    Raises:
        DamagedObject: the manifest is that.
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
