"""What a verification can find, each with its own code and the way to mend it. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from exporter.message import message


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
