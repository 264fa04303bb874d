"""What the reading of pictures and files says while it works."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AssetsPlanned:
    """So many addresses are about to be read; ``held`` are in the archive, ``waiting`` are lost and not asked now."""

    count: int
    held: int
    waiting: int


@dataclass(frozen=True, slots=True)
class AssetRead:
    """A file was read, or found unchanged; ``size`` in bytes."""

    url: str
    size: int


@dataclass(frozen=True, slots=True)
class AssetFailed:
    """A file could not be read."""

    url: str
    reason: str


AssetEvent = AssetsPlanned | AssetRead | AssetFailed
