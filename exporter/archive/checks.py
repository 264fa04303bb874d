"""Hashes of files, notes about files that were right, and findings: shared by all checks."""

from __future__ import annotations

import contextlib
import hashlib
import os
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, Self

from exporter import lossless_json
from exporter.archive import atomic
from exporter.archive.safe_files import inner
from exporter.errors import BlogExporterError
from exporter.frozen import frozen
from exporter.message import message

if TYPE_CHECKING:
    from pathlib import Path

    from exporter.archive.layout import Layout

_BLOCK_BYTES: Final = 128 * 1024
_Stamp = tuple[int, int, int]


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal."""
    return descriptor_sha256(inner(path).descriptor(os.O_RDONLY))


def descriptor_sha256(handle: int) -> str:
    """Return the SHA-256 of an open file in hexadecimal and close the file."""
    digest = hashlib.sha256()
    try:
        # Most files here are small. hashlib.file_digest would spend its time on a buffer.
        while block := os.read(handle, _BLOCK_BYTES):
            digest.update(block)
    finally:
        os.close(handle)
    return digest.hexdigest()


def sha256_or_none(path: Path) -> str | None:
    """Return the SHA-256 of a file in hexadecimal; ``None`` if it cannot be read."""
    try:
        return file_sha256(path)
    except OSError:
        return None


def json_lines(data: bytes) -> list[Any]:
    """Parse lines of JSON in one piece, which takes a fifth of the time that ten thousand lines take one by one.

    Raises:
        NotJson: a line is not JSON.
    """
    return list(lossless_json.loads(b"[" + b",".join(data.splitlines()) + b"]"))


class ChecksumCache:
    """Segments and pictures that were read and had the right hash, noted in ``.work/checked.jsonl``.

    Backups, verifications and transfers share the notes. A file counts as unchanged while its size, its time of change
    and its inode are the same.

    Args:
        layout: the archive.
        quick: skip the files that are noted as right; otherwise every file is read.
    """

    def __init__(self, layout: Layout, *, quick: bool) -> None:
        self.quick = quick
        self._root = layout.root
        self._path = layout.checked
        self._before = self._load() if quick else {}
        self._right: dict[str, _Stamp] = {}
        self._seen: set[str] = set()

    def is_unchanged(self, name: str, stat: os.stat_result, *, reread: bool = False) -> bool:
        """Return whether a file may be skipped: it was right before and is unchanged. With ``reread`` it never may."""
        self._seen.add(name)
        before = self._before.get(name)
        if reread or before is None or before != _stamp(stat):
            return False
        self._right[name] = _stamp(stat)
        return True

    def add(self, name: str, stat: os.stat_result) -> None:
        """Note a file that was just read and is right. Any thread may call this."""
        self._seen.add(name)
        self._right[name] = _stamp(stat)

    def make_durable(self) -> None:
        """Make the files that were read and noted now survive a power cut: they must reach the disk before the notes.

        Raises:
            OSError: the system cannot promise that.
        """
        new = [f"{self._root}/{name}" for name, stamp in self._right.items() if self._before.get(name) != stamp]
        atomic.sync_all(self._root, new, {name.rpartition("/")[0] for name in new})

    def save(self, *, complete: bool = False) -> None:
        """Save the notes if they changed and the archive can be written.

        Args:
            complete: drop the notes of all files that were not checked now: those files no longer exist.
        """
        if self.quick and not complete and all(self._before.get(each) == self._right.get(each) for each in self._seen):
            return
        noted = self._load()  # another check may have saved its notes in the meantime
        kept = {} if complete else {name: stamp for name, stamp in noted.items() if name not in self._seen}
        if (now := kept | self._right) == noted:
            return
        # One at a time: each line is made in a buffer of some kilobytes.
        lines = (lossless_json.dumps([name, *stamp]) + b"\n" for name, stamp in now.items())
        with contextlib.suppress(OSError, BlogExporterError), atomic.translated(self._path):
            atomic.make_folder(self._path.parent)
            atomic.write_lines(self._path, lines)

    def _load(self) -> dict[str, _Stamp]:
        try:
            return {
                str(name): (int(size), int(changed), int(inode))
                for name, size, changed, inode in json_lines(self._path.read_bytes())
            }
        except (OSError, lossless_json.NotJson, TypeError, ValueError):
            return {}


def _stamp(stat: os.stat_result) -> _Stamp:
    return (stat.st_size, stat.st_ctime_ns, stat.st_ino)


_REPAIR = message("run backup, which writes the records again that the service still has, or verify --repair")
_COPIED = message("run backup or verify --repair; if neither helps, restore this file from another copy of the archive")
_RUNS = message("no record of the blog is lost; {copied}", copied=_COPIED)
_CAPTURED = message("restore it from another copy of the archive; a new capture only has the pages as they are now")
_SEALED = message("restore it from another copy of the archive, or check against a seal that you kept elsewhere")
_REBUILD = message("run rebuild")
_BACKUP = message("run backup")


class FindingCode(StrEnum):
    """The kinds of finding. The value is the code that ``verify --json`` prints, ``mend`` the advice for the user."""

    mend: str

    def __new__(cls, value: str, mend: str) -> Self:
        """Make a code with its advice."""
        made = str.__new__(cls, value)
        made._value_, made.mend = value, mend
        return made

    INFO_DAMAGED = "archive-json-damaged", _COPIED
    MANIFEST_MISSING = "manifest-missing", _COPIED
    MANIFEST_DAMAGED = "manifest-damaged", _COPIED
    SUMS_DAMAGED = "sums-damaged", _REPAIR
    SEGMENT_MISSING = "segment-missing", _REPAIR
    SEGMENT_DAMAGED = "segment-damaged", _REPAIR
    LINE_DAMAGED = "line-damaged", _REPAIR
    CHAIN_BROKEN = (
        "chain-broken",
        message("restore the missing or replaced version or capture from another copy of the archive"),
    )
    FOLD_WRONG = "fold-wrong", message("restore the versions before it from another copy of the archive")
    COUNTS_WRONG = "counts-wrong", message("restore the versions before it from another copy of the archive")
    STRANGE_FILE = "strange-file", message("move this file out of the archive's folder")
    NOT_PLAIN = "not-plain", message("remove it, or put the file or folder that belongs there in its place")
    ASSET_MISSING = "asset-missing", _BACKUP
    ASSET_DAMAGED = "asset-damaged", _BACKUP
    RUNS_DAMAGED = "runs-damaged", _RUNS
    RUNS_REWRITTEN = "runs-rewritten", _RUNS
    DOCUMENT_DAMAGED = "document-damaged", message("run verify --repair")
    NOTES_DAMAGED = "notes-damaged", message("restore this file from another copy of the archive")
    FORGETTING = "forgetting", message("run forget on the archive, which finishes it")
    SEAL_DAMAGED = "seal-damaged", message("run backup, which seals the archive again")
    NOT_SEALED = "not-sealed", message("a run was killed before it sealed the archive; the next backup seals it")
    LATEST_DAMAGED = "latest-damaged", _REBUILD
    LATEST_STALE = "latest-stale", _REBUILD
    VIEW_DAMAGED = "view-damaged", _REBUILD
    CAPTURE_MISSING = "capture-missing", _CAPTURED
    CAPTURE_DAMAGED = "capture-damaged", _CAPTURED
    RECORD_DAMAGED = "record-damaged", _CAPTURED
    INDEX_WRONG = "index-wrong", _CAPTURED
    EVIDENCE_DAMAGED = "evidence-damaged", _SEALED
    EVIDENCE_MISSING = "evidence-missing", _SEALED
    EVIDENCE_CONTRADICTED = (
        "evidence-contradicted",
        message(
            "restore the archive from another copy; if you pruned it yourself, or let it forget records, confirm that "
            "with seal --rewritten"
        ),
    )
    EVIDENCE_UNTRUSTED = (
        "evidence-untrusted",
        message("name what you trust: --tsa-root FILE for the authority, --signers FILE for keys"),
    )
    UNFINISHED = "unfinished", message("run sync again")


NOTES = frozenset({FindingCode.LATEST_STALE, FindingCode.NOT_SEALED, FindingCode.UNFINISHED, FindingCode.FORGETTING})
"""Findings that are worth a mention but are no damage: the files that they name are not complete yet."""


@frozen
class Finding:
    """One thing that is wrong: its kind, its path relative to the archive, and a short description."""

    code: FindingCode
    path: str
    detail: str

    @property
    def damage(self) -> bool:
        """Whether the archive is damaged because of it."""
        return self.code not in NOTES

    @property
    def mend(self) -> str:
        """The advice for the user."""
        return self.code.mend
