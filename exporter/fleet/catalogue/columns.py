"""The tables of a catalogue and their columns. Pure.

Names are those that the exports ``parquet`` and ``sqlite`` have for the same things. Texts of entries and comments are
not in it: it says what is where, and ``show``, ``search`` and ``export`` give the thing itself.
"""

from __future__ import annotations

from typing import Final

from exporter.export.parquet_table import Columns, ColumnType

EDITION: Final = 1
"""Increased whenever the same archive would give other rows: all are read again then."""

_TEXT, _WHOLE, _TRUTH = ColumnType.TEXT, ColumnType.WHOLE, ColumnType.TRUTH
_MOMENT, _TEXTS = ColumnType.MOMENT, ColumnType.TEXTS

BLOGS: Final = "blogs"
TABLES: Final[dict[str, Columns]] = {
    BLOGS: {
        "blog_id": _TEXT,
        "archive": _TEXT,
        "title": _TEXT,
        "owner": _TEXT,
        "service": _TEXT,
        "base_url": _TEXT,
        "created_at": _MOMENT,
        "state": _TEXT,
        "complete": _TRUTH,
        "version": _WHOLE,
        "saved_at": _MOMENT,
        "entries": _WHOLE,
        "comments": _WHOLE,
        "files": _WHOLE,
        "versions": _WHOLE,
        "runs": _WHOLE,
        "private_entries": _WHOLE,
        "unread_entries": _WHOLE,
        "first_entry": _MOMENT,
        "last_entry": _MOMENT,
        "last_comment": _MOMENT,
        "characters": _WHOLE,
        "language": _TEXT,
        "files_saved": _WHOLE,
        "files_missing": _WHOLE,
        "file_bytes": _WHOLE,
        "problems": _WHOLE,
        "last_run": _MOMENT,
        "last_outcome": _TEXT,
        "error": _TEXT,
        "mark": _TEXT,
    },
    "entries": {
        "blog_id": _TEXT,
        "entry_id": _TEXT,
        "title": _TEXT,
        "name": _TEXT,
        "date": _MOMENT,
        "year": _WHOLE,
        "last_update": _MOMENT,
        "category": _TEXT,
        "category_id": _TEXT,
        "private": _TRUTH,
        "access": _TEXT,
        "saved": _TRUTH,
        "version": _WHOLE,
        "language": _TEXT,
        "characters": _WHOLE,
        "comments": _WHOLE,
        "pictures": _WHOLE,
        "pictures_missing": _WHOLE,
        "links": _WHOLE,
        "link_hosts": _TEXTS,
    },
    "comments": {
        "blog_id": _TEXT,
        "cm_id": _TEXT,
        "entry_id": _TEXT,
        "date": _MOMENT,
        "name": _TEXT,
        "title": _TEXT,
        "characters": _WHOLE,
        "url": _TEXT,
        "url_host": _TEXT,
        "deleted": _TRUTH,
        "version": _WHOLE,
    },
    "files": {
        "blog_id": _TEXT,
        "url": _TEXT,
        "host": _TEXT,
        "state": _TEXT,
        "error": _TEXT,
        "status": _WHOLE,
        "content_type": _TEXT,
        "bytes": _WHOLE,
        "sha256": _TEXT,
        "path": _TEXT,
        "width": _WHOLE,
        "height": _WHOLE,
        "file_id": _TEXT,
        "name": _TEXT,
        "title": _TEXT,
        "entries": _WHOLE,
    },
    "versions": {
        "blog_id": _TEXT,
        "version": _WHOLE,
        "parent": _WHOLE,
        "started_at": _MOMENT,
        "finished_at": _MOMENT,
        "tool": _TEXT,
        "base_url": _TEXT,
        "complete": _TRUTH,
        "problems": _WHOLE,
        "entries": _WHOLE,
        "entries_new": _WHOLE,
        "entries_changed": _WHOLE,
        "entries_gone": _WHOLE,
        "comments": _WHOLE,
        "comments_new": _WHOLE,
        "comments_changed": _WHOLE,
        "comments_gone": _WHOLE,
        "bytes": _WHOLE,
        "sha256": _TEXT,
    },
    "runs": {
        "blog_id": _TEXT,
        "run": _WHOLE,
        "started_at": _MOMENT,
        "finished_at": _MOMENT,
        "outcome": _TEXT,
        "exit_code": _WHOLE,
        "error": _TEXT,
        "version": _WHOLE,
        "requests": _WHOLE,
        "retries": _WHOLE,
        "bytes": _WHOLE,
        "complete": _TRUTH,
        "problems": _WHOLE,
    },
}
"""By table, in the order of columns; docs/catalogue.md says what each is.

The blog's columns of the names of other tables are how many rows it has there.
"""

PARTS: Final = tuple(name for name in TABLES if name != BLOGS)
"""The tables that have any number of rows for a blog."""
