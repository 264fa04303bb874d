"""One blog's archive as one object: everything that reads it, checks it or writes it.

Each method imports the module that does the work when it is first called: most commands need one of them.
"""

from __future__ import annotations

from datetime import UTC, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from exporter.archive.layout import MAX_PRUNES, Layout
from exporter.archive.manifest import ArchiveInfo
from exporter.archive.reader import ArchiveReader, is_archive
from exporter.arguments import argument, checked
from exporter.clock import timestamp
from exporter.errors import BlogExporterError, Interrupted
from exporter.model.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime

    from exporter.archive import history, prune, repair, verify
    from exporter.archive.assets import AssetStore
    from exporter.archive.checks import Finding
    from exporter.archive.lock import ArchiveLock
    from exporter.model.changes import RecordChange
    from exporter.service.interface import Records

_Result = TypeVar("_Result")


class Archive(ArchiveReader):
    """An archive that exists. Reading takes no lock; the caller of a method that writes holds :meth:`lock`.

    The attributes and methods for reading are inherited: ``info``, ``layout``, ``versions``, ``newest``, ``manifest``,
    ``state``, ``runs``.
    """

    @classmethod
    @checked
    def open(cls, path: Path | str) -> Self:
        """Open the archive at ``path``.

        Raises:
            NoArchive: no archive exists there.
            NewerFormat: it needs a newer program.
            ArchiveDamaged: ``archive.json`` cannot be read.
        """
        return cls(Path(path))

    @classmethod
    def create(cls, path: Path, blog_id: str, created_at: datetime, service: str | None = None) -> Self:
        """Create an empty archive at ``path``, a new or empty folder; ``service`` as in :class:`ArchiveInfo`.

        Raises:
            UsageError: the folder holds another blog's archive, or cannot be written.
            NoArchive: the folder holds other files.
            NoSpace: the disk is full.
        """
        from exporter.archive import writer

        writer.require_place(path, blog_id)
        if not cls.exists(path):
            writer.create(Layout(path), ArchiveInfo(blog_id, timestamp(created_at), service=service))
        return cls(path)

    @staticmethod
    def exists(path: Path) -> bool:
        """Return whether an archive exists at ``path``, even if it cannot be read."""
        return is_archive(Layout(path))

    @property
    def path(self) -> Path:
        """The folder of the archive."""
        return self.layout.root

    def records(self, kind: Kind, at: int | None = None) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield id and raw record of a kind as of version ``at`` (default: the newest), each compared with its hash.

        Raises:
            NoSuchRecord: the archive has no version ``at``.
            ArchiveDamaged: a record is damaged, and the archive has no other copy of it.
        """
        state = self.state(at, [argument("kind", kind, Kind)])
        try:
            # State.scan would share the parsed objects with other readers; these belong to the caller.
            yield from ((line.record_id, line.record()) for line in state.lines(kind))
        finally:
            state.close()

    @checked
    def record(self, kind: Kind, record_id: str, at: int | None = None) -> history.RecordVersion | None:
        """Return a record as of version ``at``; see :func:`~exporter.archive.history.record_at`."""
        from exporter.archive import history

        return history.record_at(self, kind, record_id, at)

    def last_known(self, kind: Kind, record_id: str, at: int | None = None) -> history.LastKnown | None:
        """Return a record's newest state, gone or not; see :func:`~exporter.archive.history.last_known`."""
        from exporter.archive import history

        return history.last_known(self, kind, record_id, at)

    @checked
    def revisions(self, kind: Kind, record_id: str) -> list[history.Revision]:
        """Return what happened to a record, oldest first; see :func:`~exporter.archive.history.revisions`."""
        from exporter.archive import history

        return history.revisions(self, kind, record_id)

    @checked
    def diff(self, before: int, after: int, service: Records) -> Iterator[RecordChange]:
        """Yield what differs between two versions; see :func:`~exporter.archive.history.diff_versions`."""
        from exporter.archive import history

        return history.diff_versions(self, before, after, service)

    @checked
    def version_at(self, text: str | None, timezone: tzinfo = UTC) -> int:
        """Return the version that a number or a date selects, the newest for ``None``.

        See :func:`~exporter.archive.history.version_at`.
        """
        if text is None:
            return self.resolve()
        from exporter.archive import history

        return history.version_at(self, text, timezone)

    def log(self) -> list[history.VersionRow]:
        """Return a row for every version, oldest first, as ``log`` prints it."""
        from exporter.archive import history

        return history.version_rows(self)

    def head(self) -> str | None:
        """Return the hash that covers the whole archive; see :func:`~exporter.archive.documents.head_hash`."""
        from exporter.archive import documents

        return documents.head_hash(self.layout)

    def verify(
        self,
        *,
        quick: bool = False,
        progress: verify.OnProgress | None = None,
        remember: bool = True,
        records: verify.CheckRecords | None = None,
    ) -> Iterator[Finding]:
        """Check the whole archive and yield the findings; see :func:`~exporter.archive.verify.verify`."""
        from exporter.archive import verify

        progress = progress or verify.ignore_progress
        return verify.verify(self, quick=quick, progress=progress, remember=remember, records=records)

    def repair(self) -> Iterator[repair.RepairedFile]:
        """Restore damaged files offline; see :func:`~exporter.archive.repair.repair`. Needs the lock."""
        from exporter.archive import repair

        return repair.repair(self)

    def prune(self, plan: prune.PrunePlan) -> prune.PruneResult:
        """Execute a plan; see :func:`~exporter.archive.prune.prune`. Needs the lock."""
        from exporter.archive import prune

        return prune.prune(self.layout, plan)

    def assets(self) -> AssetStore:
        """Return the store of pictures and files."""
        from exporter.archive.assets import AssetStore

        return AssetStore(self.layout)

    def lock(self) -> ArchiveLock:
        """Return the lock for writing the archive, not yet acquired."""
        from exporter.archive.lock import ArchiveLock

        return ArchiveLock(self.layout.lock)


def read_consistently(path: Path, work: Callable[[Archive], _Result]) -> _Result:
    """Open an archive and run ``work``, which reads it; repeat all of it if a prune replaced the versions meanwhile.

    Args:
        path: the archive.
        work: has no effect if it fails, so it may run again.

    Raises:
        NoArchive, NewerFormat, ArchiveDamaged: see :meth:`Archive.open`; and any error of ``work``.
    """
    for _ in range(MAX_PRUNES):
        archive = Archive.open(path)
        try:
            return work(archive)
        except Interrupted:
            raise
        except (BlogExporterError, OSError):
            # Any error may come from a file that the prune removed, also one that an export reports as its own.
            if not archive.is_replaced():
                raise
    return work(Archive.open(path))
