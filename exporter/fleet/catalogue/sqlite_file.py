"""A catalogue as one SQLite database.

Workers write what changed of a shard into a database of its own, which is then joined to the catalogue's. A catalogue
that is there changes in one transaction: a kill leaves the old one. A new one grows beside its place, a transaction a
shard, so that a killed run is carried on, and then gets its name.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from exporter.archive import atomic
from exporter.archive.atomic import is_full_disk
from exporter.archive.fleet_folder import SHARDS
from exporter.archive.safe_files import inner
from exporter.errors import BlogExporterError, NoSpace, UsageError
from exporter.export.parquet_table import ColumnType
from exporter.fleet.catalogue.columns import BLOGS, EDITION, PARTS, TABLES
from exporter.fleet.catalogue.reading import ShardOutcome, read_shard
from exporter.fleet.catalogue.rows import Row
from exporter.message import message
from exporter.settings import Settings
from exporter.text import visible

_FORMAT: Final = "blog-exporter-catalogue"
_BUSY_SECONDS: Final = 60.0
_KEYS: Final = {
    BLOGS: "PRIMARY KEY (blog_id)",
    "entries": "PRIMARY KEY (blog_id, entry_id)",
    "comments": "PRIMARY KEY (blog_id, cm_id)",
    "versions": "PRIMARY KEY (blog_id, version)",
    "runs": "PRIMARY KEY (blog_id, run)",
}
_INDEXES: Final = (
    "CREATE INDEX blogs_by_archive ON blogs (archive)",
    "CREATE INDEX files_by_blog ON files (blog_id)",
)
_TYPES: Final = {ColumnType.WHOLE: "INTEGER", ColumnType.TRUTH: "INTEGER"}


class DatabaseTask(NamedTuple):
    """What a worker needs: the fleet, the shard, a folder to write in, the known rows of blogs, and the settings."""

    root: Path
    shard: str
    work: Path
    known: Sequence[Row]
    settings: Settings


class ShardChanges(NamedTuple):
    """What a worker found: what became of the shard, and a database of what changed; ``None`` where nothing did."""

    outcome: ShardOutcome
    database: Path | None


def require_target(path: Path) -> None:
    """Refuse to write into what is no catalogue.

    Raises:
        UsageError: something else is there.
    """
    if inner(path).kind() is None:
        return
    if not _is_catalogue(path):
        raise UsageError(message("{target} is there already, and is no catalogue; name another place.", target=path))


def _is_catalogue(path: Path) -> bool:
    try:
        if inner(path).kind() != "":
            return False
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            return bool(connection.execute("SELECT format FROM catalogue").fetchone() == (_FORMAT,))
    except sqlite3.Error:
        return False


def read_changes(task: DatabaseTask) -> ShardChanges:
    """Read what changed of a shard into a database of its own.

    Raises:
        NoSpace: there is no room.
    """
    path = task.work / f"{task.shard}.sqlite"
    with atomic.translated(path):
        inner(path).unlink(missing_ok=True)
        with _translated(path), closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode = OFF")
            connection.execute("PRAGMA synchronous = OFF")
            _create(connection, keys=False)
            connection.execute("CREATE TABLE changed (blog_id TEXT PRIMARY KEY) WITHOUT ROWID")
            sink = _SqliteSink(connection)
            connection.execute("BEGIN")
            outcome, rows = read_shard(task.root, task.shard, task.known, sink, task.settings)
            connection.executemany(_insert(BLOGS), [_values(BLOGS, row) for row in rows])
            connection.execute("COMMIT")
        if outcome.changed:
            return ShardChanges(outcome, path)
        inner(path).unlink()
    return ShardChanges(outcome, None)


class _SqliteSink:
    """Implements :class:`~exporter.fleet.catalogue.reading.RowSink`: what is kept is not written."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._statements = {name: _insert(name) for name in PARTS}
        self._begun = dict.fromkeys(PARTS, 0)

    def keep(self, row: Mapping[str, Any]) -> None:
        """Do nothing: the catalogue has them."""

    def drop(self, row: Mapping[str, Any]) -> None:
        self._connection.execute("INSERT OR IGNORE INTO changed VALUES (?)", (row["blog_id"],))

    def begin(self) -> None:
        for name in PARTS:
            (newest,) = self._connection.execute(f"SELECT coalesce(max(rowid), 0) FROM {name}").fetchone()  # noqa: S608
            self._begun[name] = newest

    def put(self, table: str, row: Row) -> None:
        self._connection.execute(self._statements[table], _values(table, row))

    def undo(self) -> None:
        for name, newest in self._begun.items():
            self._connection.execute(f"DELETE FROM {name} WHERE rowid > ?", (newest,))  # noqa: S608  own names


class CatalogueDatabase:
    """The catalogue's database while it is brought up to date."""

    def __init__(self, connection: sqlite3.Connection, path: Path, target: Path, *, fresh: bool) -> None:
        self._connection = connection
        self._path = path
        self._target = target
        self._fresh = fresh
        self._changed = fresh

    def shards(self) -> set[str]:
        """Return the shards that it has blogs of."""
        with _translated(self._path):
            found = self._connection.execute("SELECT DISTINCT substr(archive, 1, 2) FROM blogs")
            return {str(shard) for (shard,) in found} & set(SHARDS)

    def known(self, shard: str) -> list[Row]:
        """Return the rows of a shard's blogs."""
        names = list(TABLES[BLOGS])
        with _translated(self._path):
            found = self._connection.execute(
                f"SELECT {', '.join(names)} FROM blogs WHERE archive >= ? AND archive < ?",  # noqa: S608  own names
                (f"{shard}/", f"{shard}0"),
            )
            rows = [dict(zip(names, values, strict=True)) for values in found]
        truths = [name for name, kind in TABLES[BLOGS].items() if kind is ColumnType.TRUTH]
        for row in rows:
            row.update({name: bool(row[name]) for name in truths if row[name] is not None})
        return rows

    def take(self, made: ShardChanges) -> None:
        """Put what a worker found into the catalogue."""
        if made.database is None:
            return
        shard = made.outcome.shard
        with _translated(self._path), closing(sqlite3.connect(made.database)) as found:
            if self._fresh:
                self._connection.execute("BEGIN IMMEDIATE")
            changed = found.execute("SELECT blog_id FROM changed").fetchall()
            for name in PARTS:
                self._connection.executemany(f"DELETE FROM {name} WHERE blog_id = ?", changed)  # noqa: S608  own names
            self._connection.execute("DELETE FROM blogs WHERE archive >= ? AND archive < ?", (f"{shard}/", f"{shard}0"))
            for name in (*PARTS, BLOGS):
                self._connection.executemany(_insert(name), found.execute(f"SELECT * FROM {name}"))  # noqa: S608
            if self._fresh:
                self._connection.execute("COMMIT")
        inner(made.database).unlink()
        self._changed = True

    def finish(self, made_at: str) -> bool:
        """Make all of it durable and give it its place; returns whether it is another than before."""
        with _translated(self._path):
            if self._fresh:
                self._connection.execute("BEGIN IMMEDIATE")
            if self._changed:
                self._connection.execute("UPDATE catalogue SET made_at = ?", (made_at,))
            self._connection.execute("COMMIT")
            if self._fresh:
                for statement in _INDEXES:
                    self._connection.execute(statement)
                self._connection.close()
        if self._fresh:
            with atomic.translated(self._target):
                atomic.sync_file(self._path)
                inner(self._path).replace(self._target)
                atomic.sync_folder(self._target.parent)
        return self._changed


@contextmanager
def open_for_update(target: Path, work: Path) -> Iterator[CatalogueDatabase]:
    """Open the catalogue to bring it up to date, in a transaction; or a new one beside its place.

    Raises:
        BlogExporterError, NoSpace: it cannot be written.
    """
    fresh = not (target.is_file() and _edition(target) == EDITION)
    path = work / "new.sqlite" if fresh else target
    if fresh and _edition(path) != EDITION:
        for each in (path, path.with_name(f"{path.name}-journal")):
            inner(each).unlink(missing_ok=True)
    with atomic.translated(path):
        if fresh and not path.exists():
            atomic.write_file(path, b"")
    with _translated(path), closing(sqlite3.connect(path, isolation_level=None, timeout=_BUSY_SECONDS)) as connection:
        if fresh:
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("BEGIN IMMEDIATE")
            if not connection.execute("SELECT 1 FROM sqlite_master").fetchone():
                _create(connection, keys=True)
                connection.execute("CREATE TABLE catalogue (format TEXT, edition INTEGER, made_at TEXT)")
                connection.execute("INSERT INTO catalogue VALUES (?, ?, NULL)", (_FORMAT, EDITION))
            connection.execute("COMMIT")
        else:
            connection.execute("BEGIN IMMEDIATE")
        yield CatalogueDatabase(connection, path, target, fresh=fresh)


def _edition(path: Path) -> int | None:
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            found = connection.execute("SELECT edition FROM catalogue").fetchone()
            return None if found is None else int(found[0])
    except (sqlite3.Error, ValueError, TypeError):
        return None


def _create(connection: sqlite3.Connection, *, keys: bool) -> None:
    for table, columns in TABLES.items():
        parts = [f"{name} {_TYPES.get(kind, 'TEXT')}" for name, kind in columns.items()]
        key = _KEYS.get(table) if keys else None
        rest = ") WITHOUT ROWID" if key else ")"
        connection.execute(f"CREATE TABLE {table} ({', '.join([*parts, *([key] if key else [])])}{rest}")


def _insert(table: str) -> str:
    marks = ", ".join("?" * len(TABLES[table]))
    return f"INSERT INTO {table} VALUES ({marks})"  # noqa: S608  own names


def _values(table: str, row: Row) -> list[Any]:
    return [_value(row[name], kind) for name, kind in TABLES[table].items()]


def _value(value: Any, kind: ColumnType) -> Any:
    if kind is ColumnType.TEXTS:
        return json.dumps(value, ensure_ascii=False)
    return visible(value)[0] if isinstance(value, str) else value


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        if is_full_disk(error):
            raise NoSpace(
                message("There is no space left for {path}: make room, then run it again.", path=path)
            ) from error
        raise BlogExporterError(
            message("The catalogue {path} cannot be written: {reason}.", path=path, reason=error)
        ) from error
