"""What the checks of an archive share: SHA-256 of files, files that did not change since they were right, findings."""

from __future__ import annotations

import contextlib
import hashlib
import os
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from exporter import lossless_json
from exporter.archive import atomic
from exporter.archive.safe_files import inner
from exporter.errors import BlogExporterError
from exporter.message import message

if TYPE_CHECKING:
    from pathlib import Path

    from exporter.archive.layout import Layout

_BLOCK: Final = 128 * 1024
_Stamp = tuple[int, int, int]


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal."""
    return descriptor_sha256(inner(path).descriptor(os.O_RDONLY))


def descriptor_sha256(handle: int) -> str:
    """Return the SHA-256 of an open file in hexadecimal, and close it."""
    digest = hashlib.sha256()
    try:
        # Most files here are small, where hashlib.file_digest spends its time on a buffer.
        while block := os.read(handle, _BLOCK):
            digest.update(block)
    finally:
        os.close(handle)
    return digest.hexdigest()


def sha256_or_none(path: Path) -> str | None:
    """Return the SHA-256 of a file in hexadecimal; ``None`` where it cannot be read."""
    try:
        return file_sha256(path)
    except OSError:
        return None


class ChecksumCache:
    """Files that were read and found right, noted in a file of ``.work/``, so that a later check can skip them.

    A file counts as the same while its size, its time of change and its inode are.

    Args:
        layout: the archive.
        record: the note's name in ``.work/``.
        quick: skip files that an earlier check noted; else everything is read.
    """

    def __init__(self, layout: Layout, record: str = "verified.jsonl", *, quick: bool) -> None:
        self.quick = quick
        self._path = layout.work / record
        self._before = self._load() if quick else {}
        self._now: dict[str, _Stamp] = {}

    def is_unchanged(self, name: str, stat: os.stat_result) -> bool:
        """Tell whether a file may be skipped, because it was right and has not changed since."""
        if self._before.get(name) != _stamp(stat):
            return False
        self.add(name, stat)
        return True

    def add(self, name: str, stat: os.stat_result) -> None:
        """Remember a file that was just read and is right; may be called from any thread."""
        self._now[name] = _stamp(stat)

    def new(self) -> list[str]:
        """Return the files that were read now: what is noted of them is to reach the disk after they do."""
        return [name for name, stamp in self._now.items() if self._before.get(name) != stamp]

    def save(self) -> None:
        """Keep it for the next time, where it is new and the archive can be written."""
        if self._now == self._before:
            return
        # One at a time: each line is made in a buffer of some kilobytes.
        lines = (lossless_json.dumps([name, *stamp]) + b"\n" for name, stamp in self._now.items())
        with contextlib.suppress(OSError, BlogExporterError), atomic.translated(self._path):
            atomic.make_folder(self._path.parent)
            atomic.write_lines(self._path, lines)

    def _load(self) -> dict[str, _Stamp]:
        found: dict[str, _Stamp] = {}
        try:
            # Read in one piece, which takes a fifth of the time that ten thousand lines take.
            for name, size, changed, inode in lossless_json.loads(
                b"[" + b",".join(self._path.read_bytes().splitlines()) + b"]"
            ):
                found[str(name)] = (int(size), int(changed), int(inode))
        except (OSError, lossless_json.NotJson, TypeError, ValueError):
            return {}
        return found


def _stamp(stat: os.stat_result) -> _Stamp:
    return (stat.st_size, stat.st_ctime_ns, stat.st_ino)


class FindingCode(StrEnum):
    """The kinds of finding; the value is what ``verify --json`` prints."""

    INFO_DAMAGED = "archive-json-damaged"
    MANIFEST_MISSING = "manifest-missing"
    MANIFEST_DAMAGED = "manifest-damaged"
    SUMS_DAMAGED = "sums-damaged"
    SEGMENT_MISSING = "segment-missing"
    SEGMENT_DAMAGED = "segment-damaged"
    LINE_DAMAGED = "line-damaged"
    CHAIN_BROKEN = "chain-broken"
    FOLD_WRONG = "fold-wrong"
    COUNTS_WRONG = "counts-wrong"
    STRANGE_FILE = "strange-file"
    NOT_PLAIN = "not-plain"
    ASSET_MISSING = "asset-missing"
    ASSET_DAMAGED = "asset-damaged"
    RUNS_DAMAGED = "runs-damaged"
    RUNS_REWRITTEN = "runs-rewritten"
    DOCUMENT_DAMAGED = "document-damaged"
    SEAL_DAMAGED = "seal-damaged"
    NOT_SEALED = "not-sealed"
    LATEST_DAMAGED = "latest-damaged"
    LATEST_STALE = "latest-stale"
    VIEW_DAMAGED = "view-damaged"
    UNFINISHED = "unfinished"


_REPAIR = message("run backup, which writes again what the service still has, or verify --repair")
_COPIED = message(
    "run backup or verify --repair; where neither helps, restore this file from another copy of the archive"
)
_RUNS = message("nothing of the blog is lost; {copied}", copied=_COPIED)
_REBUILD = message("run rebuild")
_BACKUP = message("run backup")

MEND: dict[FindingCode, str] = {
    FindingCode.INFO_DAMAGED: _COPIED,
    FindingCode.MANIFEST_MISSING: _COPIED,
    FindingCode.MANIFEST_DAMAGED: _COPIED,
    FindingCode.SUMS_DAMAGED: _REPAIR,
    FindingCode.SEGMENT_MISSING: _REPAIR,
    FindingCode.SEGMENT_DAMAGED: _REPAIR,
    FindingCode.LINE_DAMAGED: _REPAIR,
    FindingCode.CHAIN_BROKEN: message("restore the missing or replaced version from another copy of the archive"),
    FindingCode.FOLD_WRONG: message("restore the versions before it from another copy of the archive"),
    FindingCode.COUNTS_WRONG: message("restore the versions before it from another copy of the archive"),
    FindingCode.STRANGE_FILE: message("move this file out of the version's folder"),
    FindingCode.NOT_PLAIN: message("put the file or folder that belongs there in its place, or remove it"),
    FindingCode.ASSET_MISSING: _BACKUP,
    FindingCode.ASSET_DAMAGED: _BACKUP,
    FindingCode.RUNS_DAMAGED: _RUNS,
    FindingCode.RUNS_REWRITTEN: _RUNS,
    FindingCode.DOCUMENT_DAMAGED: message("run verify --repair"),
    FindingCode.SEAL_DAMAGED: message("run backup, which seals the archive again"),
    FindingCode.NOT_SEALED: message("a run was killed before it could; the next backup seals it"),
    FindingCode.LATEST_DAMAGED: _REBUILD,
    FindingCode.LATEST_STALE: _REBUILD,
    FindingCode.VIEW_DAMAGED: _REBUILD,
    FindingCode.UNFINISHED: message("run sync again"),
}

NOTES = frozenset({FindingCode.LATEST_STALE, FindingCode.NOT_SEALED, FindingCode.UNFINISHED})
"""Findings that are worth a word but are no damage: what they name is simply not there yet."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong: what, where (relative to the archive), and in a few words how."""

    code: FindingCode
    path: str
    detail: str

    @property
    def damage(self) -> bool:
        """Whether the archive is not intact because of it."""
        return self.code not in NOTES

    @property
    def mend(self) -> str:
        """What to do about it."""
        return MEND[self.code]
