"""Where everything stands in an archive, format 1. Pure: names and paths only; FORMAT.md specifies them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from exporter.model.kinds import Kind

if TYPE_CHECKING:
    from pathlib import Path

FORMAT_NAME = "blog-exporter-archive"
FORMAT_VERSION = 1
FORMAT_MINIMUM = 1
FORMAT_MAXIMUM = 1

MANIFEST = "manifest.json"
SUMS = "SHA256SUMS"
_VERSIONS = "versions"
_VERSION_NAME = re.compile(r"[0-9]{6}|[1-9][0-9]{6,}")


def version_name(number: int) -> str:
    """Return the folder's name of a version: at least six digits."""
    return f"{number:06d}"


def version_number(name: str) -> int | None:
    """Return the number a version folder's name stands for, or ``None`` when it is no such name."""
    return int(name) or None if _VERSION_NAME.fullmatch(name) else None


def segment_name(kind: Kind) -> str:
    """Return the file name of a kind's lines, in a version and in ``latest/``."""
    return f"{kind}.jsonl"


SEGMENTS = tuple(segment_name(kind) for kind in Kind)


@dataclass(frozen=True, slots=True)
class Layout:
    """The paths of the archive at ``root``."""

    root: Path

    @property
    def info(self) -> Path:
        """``archive.json``."""
        return self.root / "archive.json"

    @property
    def readme(self) -> Path:
        """``README.txt``."""
        return self.root / "README.txt"

    @property
    def format_document(self) -> Path:
        """``FORMAT.md``."""
        return self.root / "FORMAT.md"

    @property
    def runs(self) -> Path:
        """``runs.jsonl``."""
        return self.root / "runs.jsonl"

    @property
    def versions(self) -> Path:
        """``versions/``."""
        return self.root / _VERSIONS

    @property
    def assets(self) -> Path:
        """``assets/``."""
        return self.root / "assets"

    @property
    def latest(self) -> Path:
        """``latest/``."""
        return self.root / "latest"

    @property
    def work(self) -> Path:
        """``.work/``."""
        return self.root / ".work"

    @property
    def lock(self) -> Path:
        """``.work/lock``."""
        return self.work / "lock"

    @property
    def checkpoint(self) -> Path:
        """``.work/checkpoint/``: what a run under way has read."""
        return self.work / "checkpoint"

    @property
    def latest_record(self) -> Path:
        """``.work/latest.json``: which version ``latest/`` shows, and the hashes of its files."""
        return self.work / "latest.json"

    @property
    def freshness(self) -> Path:
        """``.work/freshness.jsonl``: when each entry was last read, and its validators."""
        return self.work / "freshness.jsonl"

    def version(self, number: int) -> Path:
        """``versions/000001/``."""
        return self.root.joinpath(_VERSIONS, version_name(number))

    def manifest(self, number: int) -> Path:
        """``versions/000001/manifest.json``."""
        return self.root.joinpath(_VERSIONS, version_name(number), MANIFEST)

    def segment(self, number: int, kind: Kind) -> Path:
        """``versions/000001/entries.jsonl``."""
        # One step, not three: a look through thousands of versions makes as many paths.
        return self.root.joinpath(_VERSIONS, version_name(number), segment_name(kind))

    def latest_segment(self, kind: Kind) -> Path:
        """``latest/entries.jsonl``."""
        return self.latest / segment_name(kind)
