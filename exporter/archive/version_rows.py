"""What ``log`` shows of every version, in time that hardly grows with their number.

The rows are kept in ``.work/versions.json``, derived. They are believed when the folder lists the same versions and the
newest of them still has the manifest they were made with: it names the hash of the one before it, and so on down the
chain, so an older manifest cannot have been replaced. (One that was *damaged* is found by ``verify``.)
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from typing import TYPE_CHECKING, Any, NamedTuple

from exporter import codec
from exporter.archive import atomic
from exporter.archive.manifest import KindCounts
from exporter.errors import BlogExporterError
from exporter.model.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from exporter.archive.layout import Layout
    from exporter.archive.reader import ArchiveReader

_EDITION = 1
_KINDS = [str(kind) for kind in Kind]


class VersionRow(NamedTuple):
    """One version as ``log`` shows it.

    Attributes:
        version: its number.
        started_at: when its run began to read, as in the manifest.
        finished_at: when it was committed.
        complete: whether everything could be read.
        problems: how many things could not be read.
        numbers: for each kind in the order of :class:`Kind`: total, new, changed, gone; see :meth:`counts`.
        pruned: how many older versions were folded into it.
    """

    version: int
    started_at: str
    finished_at: str
    complete: bool
    problems: int
    numbers: Sequence[Sequence[int]]
    pruned: int

    def counts(self) -> dict[Kind, KindCounts]:
        """Return the counts by kind."""
        return {kind: KindCounts(*found) for kind, found in zip(Kind, self.numbers, strict=True)}

    def document(self) -> dict[str, Any]:
        """Return it as ``log --json`` prints it."""
        names = ("total", "new", "changed", "gone")
        return {
            "version": self.version,
            "started_at": self.started_at,
            "finished_at": self.finished_at,
            "complete": self.complete,
            "problems": self.problems,
            "pruned": self.pruned,
            "counts": {
                kind: dict(zip(names, found, strict=True)) for kind, found in zip(_KINDS, self.numbers, strict=True)
            },
        }


def version_rows(reader: ArchiveReader) -> list[VersionRow]:
    """Return a row for every version, oldest first.

    Raises:
        ArchiveDamaged: a manifest cannot be read.
    """
    layout = reader.layout
    versions = reader.versions()
    rows = _known(layout, versions)
    missing = versions[len(rows) :]
    if missing:
        rows += [_row(reader, number) for number in missing]
        _keep(layout, rows)
    return rows


def cache_path(layout: Layout) -> Path:
    """Return ``.work/versions.json``."""
    return layout.work / "versions.json"


def _row(reader: ArchiveReader, number: int) -> VersionRow:
    manifest = reader.manifest(number)
    found = [manifest.counts.get(kind, KindCounts()) for kind in _KINDS]
    return VersionRow(
        number,
        manifest.started_at,
        manifest.finished_at,
        bool(manifest.completeness.get("complete")),
        len(manifest.problems),
        [[counts.total, counts.new, counts.changed, counts.gone] for counts in found],
        0 if manifest.pruned is None else int(manifest.pruned.get("count", 0)),
    )


def _known(layout: Layout, versions: list[int]) -> list[VersionRow]:
    """Return the rows that are kept and still hold: those of the oldest versions, maybe of all."""
    try:
        digest, _, body = cache_path(layout).read_bytes().partition(b"\n")
        if digest.decode("ascii") != hashlib.sha256(body).hexdigest():
            return []
        kept = json.loads(body)  # our own numbers and times: nothing that the codec's care would save
        rows = [VersionRow(*row) for row in kept["rows"]]
        if kept["edition"] != _EDITION or [row.version for row in rows] != versions[: len(rows)]:
            return []
        return rows if _digest(layout, rows[-1].version) == kept["manifest_sha256"] else []
    except (OSError, ValueError, KeyError, TypeError, IndexError):
        return []


def _keep(layout: Layout, rows: list[VersionRow]) -> None:
    """Write the rows down; a place that cannot be written costs only time."""
    body = codec.dumps(
        {"edition": _EDITION, "manifest_sha256": _digest(layout, rows[-1].version), "rows": [list(row) for row in rows]}
    )
    with contextlib.suppress(OSError, BlogExporterError):
        atomic.make_folder(layout.work)
        atomic.write_file(cache_path(layout), hashlib.sha256(body).hexdigest().encode("ascii") + b"\n" + body)


def _digest(layout: Layout, number: int) -> str:
    return hashlib.sha256(layout.manifest(number).read_bytes()).hexdigest()
