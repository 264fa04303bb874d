"""What a verification can find, each with its own code and the way to mend it. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Code(StrEnum):
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


_REPAIR = "run backup, which writes again what the service still has, or verify --repair"
_COPIED = "run backup or verify --repair; where neither helps, restore this file from another copy of the archive"
_RUNS = f"nothing of the blog is lost; {_COPIED}"
_REBUILD = "run rebuild"
_BACKUP = "run backup"

MEND: dict[Code, str] = {
    Code.INFO_DAMAGED: _COPIED,
    Code.MANIFEST_MISSING: _COPIED,
    Code.MANIFEST_DAMAGED: _COPIED,
    Code.SUMS_DAMAGED: _REPAIR,
    Code.SEGMENT_MISSING: _REPAIR,
    Code.SEGMENT_DAMAGED: _REPAIR,
    Code.LINE_DAMAGED: _REPAIR,
    Code.CHAIN_BROKEN: "restore the missing or replaced version from another copy of the archive",
    Code.FOLD_WRONG: "restore the versions before it from another copy of the archive",
    Code.COUNTS_WRONG: "restore the versions before it from another copy of the archive",
    Code.STRANGE_FILE: "move this file out of the version's folder",
    Code.NOT_PLAIN: "put the file or folder that belongs there in its place, or remove it",
    Code.ASSET_MISSING: _BACKUP,
    Code.ASSET_DAMAGED: _BACKUP,
    Code.RUNS_DAMAGED: _RUNS,
    Code.RUNS_REWRITTEN: _RUNS,
    Code.DOCUMENT_DAMAGED: "run verify --repair",
    Code.SEAL_DAMAGED: "run backup, which seals the archive again",
    Code.NOT_SEALED: "a run was killed before it could; the next backup seals it",
    Code.LATEST_DAMAGED: _REBUILD,
    Code.LATEST_STALE: _REBUILD,
    Code.VIEW_DAMAGED: _REBUILD,
}

NOTES = frozenset({Code.LATEST_STALE, Code.NOT_SEALED})
"""Findings that are worth a word but are no damage: what they name is simply not there yet."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong: what, where (relative to the archive), and in a few words how."""

    code: Code
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
