"""Where everything stands in an archive, format 1. Pure: names and paths only; FORMAT.md specifies them.

All of them are :class:`~exporter.archive.safe_files.InnerPath`, so nothing below the root is reached through a link.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from exporter.archive.safe_files import InnerPath
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
_VERSION_NAME = re.compile(r"[0-9]{6}|[1-9][0-9]{6,9}")
LARGEST_VERSION: Final = 2**32 - 1
"""What a state keeps the number of a version in has 32 bits."""


def version_name(number: int) -> str:
    """Return the folder's name of a version: at least six digits."""
    return f"{number:06d}"


def manifest_name(number: int) -> str:
    """Return a version's manifest as ``SHA256SUMS`` at the root names it."""
    return f"{_VERSIONS}/{version_name(number)}/{MANIFEST}"


def version_number(name: str) -> int | None:
    """Return the number a version folder's name stands for, or ``None`` when it is no such name."""
    number = int(name) if _VERSION_NAME.fullmatch(name) else 0
    return number if 0 < number <= LARGEST_VERSION else None


def segment_name(kind: Kind) -> str:
    """Return the file name of a kind's lines, in a version and in ``latest/``."""
    return f"{kind}.jsonl"


def is_inside(path: str) -> bool:
    """Tell whether a path that stands in data is one below the folder it is meant for, and a plain one."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return not {"", ".", ".."} & set(path.split("/")) and not {"\0", "\\"} & set(path)


SEGMENTS = tuple(segment_name(kind) for kind in Kind)


@dataclass(frozen=True, slots=True)
class Layout:
    """The paths of the archive at ``root``."""

    root: InnerPath

    def __init__(self, root: Path) -> None:
        object.__setattr__(self, "root", InnerPath.rooted(root))

    @property
    def info(self) -> InnerPath:
        """``archive.json``."""
        return self.root / "archive.json"

    @property
    def readme(self) -> InnerPath:
        """``README.txt``."""
        return self.root / "README.txt"

    @property
    def format_document(self) -> InnerPath:
        """``FORMAT.md``."""
        return self.root / "FORMAT.md"

    @property
    def runs(self) -> InnerPath:
        """``runs.jsonl``."""
        return self.root / "runs.jsonl"

    @property
    def sums(self) -> InnerPath:
        """``SHA256SUMS`` of the root."""
        return self.root / SUMS

    @property
    def versions(self) -> InnerPath:
        """``versions/``."""
        return self.root / _VERSIONS

    @property
    def assets(self) -> InnerPath:
        """``assets/``."""
        return self.root / "assets"

    @property
    def latest(self) -> InnerPath:
        """``latest/``."""
        return self.root / "latest"

    @property
    def work(self) -> InnerPath:
        """``.work/``."""
        return self.root / ".work"

    def folders(self) -> tuple[InnerPath, ...]:
        """The four folders of the root."""
        return (self.versions, self.assets, self.latest, self.work)

    @property
    def lock(self) -> InnerPath:
        """``.work/lock``."""
        return self.work / "lock"

    @property
    def checkpoint(self) -> InnerPath:
        """``.work/checkpoint/``: what a run under way has read."""
        return self.work / "checkpoint"

    @property
    def latest_record(self) -> InnerPath:
        """``.work/latest.json``: which version ``latest/`` shows, and the hashes of its files."""
        return self.work / "latest.json"

    @property
    def freshness(self) -> InnerPath:
        """``.work/freshness.jsonl``: when each entry was last read, and its validators."""
        return self.work / "freshness.jsonl"

    def version(self, number: int) -> InnerPath:
        """``versions/000001/``."""
        return self.root.joinpath(_VERSIONS, version_name(number))

    def manifest(self, number: int) -> InnerPath:
        """``versions/000001/manifest.json``."""
        return self.root.joinpath(_VERSIONS, version_name(number), MANIFEST)

    def segment(self, number: int, kind: Kind) -> InnerPath:
        """``versions/000001/entries.jsonl``."""
        # One step, not three: a look through thousands of versions makes as many paths.
        return self.root.joinpath(_VERSIONS, version_name(number), segment_name(kind))

    def latest_segment(self, kind: Kind) -> InnerPath:
        """``latest/entries.jsonl``."""
        return self.latest / segment_name(kind)
