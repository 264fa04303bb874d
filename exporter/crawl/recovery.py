"""Finishing what a run that was killed in the middle of its commit had begun.

A version counts from the instant it has its name. A run that dies right after that leaves no line about itself, and a
checkpoint whose records are all in the version.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from exporter.archive import writer
from exporter.archive.seal import seal
from exporter.crawl.checkpoint import drop, read_meta
from exporter.crawl.outcome import Outcome
from exporter.model.kinds import Kind

if TYPE_CHECKING:
    from exporter.archive.layout import Layout
    from exporter.archive.manifest import Manifest
    from exporter.archive.reader import ArchiveReader

_DIED_WITH_IT = ("requests", "retries", "bytes")
"""What only the dead run knew; null in its line."""


def finish_commit(reader: ArchiveReader) -> None:
    """Write the line and the seal that a dead run could not write, and drop the checkpoint of the newest version.

    The caller holds the archive's lock.

    Raises:
        ArchiveDamaged: the newest version's manifest cannot be read.
    """
    newest = reader.newest()
    if newest is None:
        seal(reader.layout)
        return
    manifest = reader.manifest(newest)
    if all(run.get("version") != newest for run in reader.newest_runs()):
        line = Outcome.of(manifest).line()
        writer.append_run(reader.layout, {**line, **dict.fromkeys(_DIED_WITH_IT)})
    seal(reader.layout)
    _drop_committed(reader.layout, manifest)


def _drop_committed(layout: Layout, newest: Manifest) -> None:
    """Drop a checkpoint made on top of the newest version's parent.

    A run resumes the checkpoint that is there, or sets it aside, before anything else. So whoever made the newest
    version out of that parent made it out of this checkpoint.
    """
    meta = read_meta(layout.checkpoint)
    if meta is None:
        return
    parent = newest.parent or {}
    if (meta.get("parent"), meta.get("parent_sha256")) == (parent.get("version"), parent.get("sha256")):
        drop(layout.checkpoint)


def unread_before(reader: ArchiveReader) -> list[str]:
    """Return the entries that the newest run with a result could not read; the next run reads them first."""
    for run in reader.newest_runs():
        if run.get("completeness") is not None:
            return [
                problem["id"]
                for problem in run.get("problems", [])
                if problem.get("kind") == Kind.ENTRIES and isinstance(problem.get("id"), str)
            ]
    return []
