"""Read a catalogue's tables: rows in a fixed order, times as UTC text, lists as lists."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from exporter.fleet.catalogue_rows import TABLES

ORDER = {
    "blogs": "blog_id",
    "entries": "blog_id, entry_id",
    "comments": "blog_id, cm_id",
    "files": "blog_id, coalesce(url, '')",
    "versions": "blog_id, version",
    "runs": "blog_id, run",
}
MOMENTS = {
    "created_at", "saved_at", "first_entry", "last_entry", "last_comment", "last_run", "date", "last_update",
    "started_at", "finished_at",
}  # fmt: skip
TRUTHS = {"complete", "private", "saved", "deleted"}


def catalogue_rows(path: Path, table: str) -> list[dict[str, Any]]:
    """Read a table."""
    with closing(sqlite3.connect(path)) as connection:
        found = connection.execute(f"SELECT * FROM {table} ORDER BY {ORDER[table]}").fetchall()
    return [{name: _plain(name, value) for name, value in zip(TABLES[table], row, strict=True)} for row in found]


def _plain(name: str, value: Any) -> Any:
    if value is None:
        return None
    if name in MOMENTS:
        return datetime.fromisoformat(value).astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")
    if name in TRUTHS:
        return bool(value)
    return json.loads(value) if name == "link_hosts" else value
