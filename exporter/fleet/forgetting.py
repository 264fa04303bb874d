"""Remove one blog from a fleet's search index and catalogue. Their next update reads the blog again.

A deleted row may stay in an SQLite file as free space, even one that an earlier update deleted. So the catalogue is
written anew. Files of an update that was killed are removed as well: the next update makes them again.
"""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path
from typing import Final

from exporter.archive import atomic
from exporter.archive.archive import Archive
from exporter.archive.fleet_folder import archive_place
from exporter.archive.lock import ArchiveLock
from exporter.archive.safe_files import InnerPath
from exporter.clock import SystemClock
from exporter.errors import BlogExporterError
from exporter.fleet.catalogue import is_catalogue, work_folder
from exporter.fleet.catalogue_rows import TABLES
from exporter.fleet.search_index import index_path

_BUSY_SECONDS: Final = 60.0
CATALOGUE: Final = "catalogue.sqlite"
"""The catalogue's usual place in a fleet's folder."""


def holders(archive: Archive) -> list[Path]:
    """Return the files of the fleet that an archive belongs to that may hold text of its records."""
    root = archive.path.absolute().parent.parent
    if archive_place(root, archive.info.blog_id) != archive.path.absolute():
        return []
    index = index_path(root, archive.path.absolute().parent.name)
    found: list[Path] = [index, index.with_name(f".{index.name}.tmp"), *_unfinished(root)]
    found += [root / CATALOGUE] if is_catalogue(root / CATALOGUE) else []
    return [path for path in found if path.exists()]


def remove_blog(archive: Archive, wait: float = 0.0) -> None:
    """Remove one blog from the search index and the catalogue of its fleet, without a trace in the files.

    Args:
        archive: the blog's archive.
        wait: how many seconds to wait for an update of the catalogue under way.

    Raises:
        ArchiveLocked: the catalogue is being updated.
        BlogExporterError: a file cannot be written.
    """
    paths = holders(archive)
    work = work_folder(archive.path.absolute().parent.parent / CATALOGUE)
    with contextlib.ExitStack() as held:
        if any(path.name == CATALOGUE or path.parent == work for path in paths):
            held.enter_context(ArchiveLock(work / "lock")).acquire(SystemClock().now(), wait)
        for path in paths:
            with atomic.translated(path):
                if path.name != CATALOGUE:
                    path.unlink()
                    continue
                try:
                    _delete_rows(path, archive.info.blog_id)
                except sqlite3.Error as error:
                    raise BlogExporterError(
                        "Cannot remove the blog from {path}: {reason}. Remove the file; fleet catalogue makes it anew.",
                        path=path,
                        reason=error,
                    ) from error


def _unfinished(root: Path) -> list[InnerPath]:
    """Return the files of an update of the catalogue that was killed."""
    work = InnerPath.rooted(root) / work_folder(root / CATALOGUE).name
    names = work.names() if work.kind() == "a folder" else []
    return [work / name for name in names if name.endswith((".sqlite", ".sqlite-journal"))]


def _delete_rows(path: Path, blog_id: str) -> None:
    with contextlib.closing(sqlite3.connect(path, timeout=_BUSY_SECONDS)) as database:
        database.execute("PRAGMA secure_delete = ON")
        with atomic.full_disk_as_os_error(path):
            with database:
                for table in TABLES:
                    database.execute(f"DELETE FROM {table} WHERE blog_id = ?", (blog_id,))  # noqa: S608 - own names
            database.execute("VACUUM")
