"""Remove one blog from a fleet's search index and catalogue. Their next update reads the blog again."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path
from typing import Final

from exporter.archive import atomic
from exporter.archive.archive import Archive
from exporter.archive.fleet_folder import archive_place
from exporter.errors import BlogExporterError
from exporter.fleet.catalogue import is_catalogue
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
    found: list[Path] = [index_path(root, archive.path.absolute().parent.name)]
    found += [root / CATALOGUE] if is_catalogue(root / CATALOGUE) else []
    return [path for path in found if path.exists()]


def remove_blog(archive: Archive) -> None:
    """Remove one blog from the search index and the catalogue of its fleet, without a trace in the files.

    Raises:
        BlogExporterError: a file cannot be written.
    """
    for path in holders(archive):
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


def _delete_rows(path: Path, blog_id: str) -> None:
    with contextlib.closing(sqlite3.connect(path, timeout=_BUSY_SECONDS)) as database:
        database.execute("PRAGMA secure_delete = ON")
        with database, atomic.full_disk_as_os_error(path):
            for table in TABLES:
                database.execute(f"DELETE FROM {table} WHERE blog_id = ?", (blog_id,))  # noqa: S608 - own names
