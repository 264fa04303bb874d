"""What a prune and a migration have in common: a version's documents written again, beside those that stand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from exporter import codec
from exporter.archive import atomic
from exporter.archive.layout import MANIFEST, SUMS
from exporter.archive.manifest import SegmentInfo, sums

if TYPE_CHECKING:
    from pathlib import Path


def write_documents(folder: Path, document: dict[str, Any], info_sha256: str) -> str:
    """Write a version's ``manifest.json``, members it does not know included, and ``SHA256SUMS``.

    Args:
        folder: the version's folder, its segments written.
        document: the manifest.
        info_sha256: SHA-256 of ``archive.json``.

    Returns:
        SHA-256 of the manifest, for the one after it.
    """
    files = {
        name: SegmentInfo(found["lines"], found["bytes"], found["sha256"]) for name, found in document["files"].items()
    }
    with atomic.hashing(folder / MANIFEST) as file:
        file.write(codec.dumps(document, pretty=True) + b"\n")
        digest = file.close()
    with atomic.hashing(folder / SUMS) as file:
        file.write(sums(digest, info_sha256, files))
        file.close()
    return digest
