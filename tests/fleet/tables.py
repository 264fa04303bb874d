"""Reading a catalogue back in each format: rows in one order, times as text in UTC, lists as lists."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb

from exporter.export.parquet_table import ColumnType
from exporter.fleet.catalogue.columns import TABLES

ORDER = {
    "blogs": "blog_id",
    "entries": "blog_id, entry_id",
    "comments": "blog_id, cm_id",
    "files": "blog_id, coalesce(url, '')",
    "versions": "blog_id, version",
    "runs": "blog_id, run",
}


def parquet_rows(folder: Path, table: str) -> list[dict[str, Any]]:
    """Read a table of Parquet files."""
    files = sorted(str(path) for path in (folder / table).glob("*.parquet"))
    with duckdb.connect() as connection:
        return _duckdb(connection, table, f"read_parquet({files})")


def duckdb_rows(path: Path, table: str) -> list[dict[str, Any]]:
    """Read a table of a DuckDB database."""
    with duckdb.connect(str(path), read_only=True) as connection:
        return _duckdb(connection, table, table)


def _duckdb(connection: Any, table: str, source: str) -> list[dict[str, Any]]:
    parts = [
        f"strftime({name}, '%Y-%m-%d %H:%M:%S')" if kind is ColumnType.MOMENT else name
        for name, kind in TABLES[table].items()
    ]
    connection.execute("SET TimeZone = 'UTC'")
    found = connection.execute(f"SELECT {', '.join(parts)} FROM {source} ORDER BY {ORDER[table]}").fetchall()
    return [dict(zip(TABLES[table], row, strict=True)) for row in found]


def sqlite_rows(path: Path, table: str) -> list[dict[str, Any]]:
    """Read a table of an SQLite database."""
    with closing(sqlite3.connect(path)) as connection:
        found = connection.execute(f"SELECT * FROM {table} ORDER BY {ORDER[table]}").fetchall()
    return [
        {name: _plain(kind, value) for (name, kind), value in zip(TABLES[table].items(), row, strict=True)}
        for row in found
    ]


def _plain(kind: ColumnType, value: Any) -> Any:
    if value is None:
        return None
    if kind is ColumnType.MOMENT:
        return datetime.fromisoformat(value).astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")
    if kind is ColumnType.TRUTH:
        return bool(value)
    return json.loads(value) if kind is ColumnType.TEXTS else value
