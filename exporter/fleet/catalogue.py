"""A catalogue of a fleet: tables over all its archives in one SQLite database.

Each worker reads one of the 256 folders and writes the rows of archives that changed into a separate database. The main
process joins it to the catalogue. An existing catalogue changes in one transaction, so a kill leaves the old
one. A new one grows under another name, with a transaction for each folder, so that a later run continues it.

An archive that cannot be read keeps its last good rows, and its row of ``blogs`` says ``damaged`` and why.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from exporter.archive import atomic
from exporter.archive.archive import Archive
from exporter.archive.atomic import is_full_disk
from exporter.archive.fleet_folder import SHARDS, require_fleet, require_outside, shards_in
from exporter.archive.lock import ArchiveLock
from exporter.archive.safe_files import inner
from exporter.clock import Clock, timestamp
from exporter.errors import BlogExporterError, NoSpace, UsageError
from exporter.fleet.catalogue_rows import BLOGS, COLUMNS, EDITION, PARTS, TABLES, Row, blog_rows, damaged_row
from exporter.fleet.pool import WorkerPool, results_as_completed
from exporter.fleet.shards import Reading, ShardCounts, ShardTask, read_changed
from exporter.service.registry import service_of
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
_INDEXES: Final = ("CREATE INDEX blogs_by_archive ON blogs (archive)", "CREATE INDEX files_by_blog ON files (blog_id)")


class _RowsTask(NamedTuple):
    """A worker's task: one folder of the fleet, the work folder, and the known rows of its blogs."""

    shard: ShardTask
    work: Path
    known: Sequence[Row]


class _ShardChanges(NamedTuple):
    """A worker's result, and the database with the changes; ``None`` without changes."""

    shard: str
    counts: ShardCounts
    database: Path | None


def update(
    root: Path,
    target: Path,
    settings: Settings,
    pool: WorkerPool,
    clock: Clock,
    on_shard: Callable[[ShardCounts], None] = lambda _counts: None,
) -> ShardCounts:
    """Make or update a fleet's catalogue.

    Args:
        root: the fleet's folder.
        target: the database.
        settings: to read records with.
        pool: reads archives.
        clock: the time.
        on_shard: called after each folder with the sums of all folders so far.

    Raises:
        UsageError: the path belongs to another file, or is inside the archives.
        NoArchive: there are no archives.
        ArchiveLocked: another process updates it.
        NoSpace, BlogExporterError: it cannot be written.
    """
    _require_target(target)
    require_fleet(root)
    require_outside(root, target)
    work = work_folder(target)
    counts = ShardCounts()
    with ArchiveLock(work / "lock") as lock:
        lock.acquire(clock.now())
        with _open_for_update(target, work) as catalogue:
            shards = sorted({*shards_in(root), *catalogue.shards()})
            reading = settings.without_secrets()
            tasks = (_RowsTask(ShardTask(root, shard, reading), work, catalogue.known(shard)) for shard in shards)
            with closing(results_as_completed(pool, _read_shard, tasks)) as parts:
                for changes in parts:
                    catalogue.take(changes)
                    counts.add(changes.counts)
                    on_shard(counts)
            catalogue.finish(timestamp(clock.now()))
    return counts


def work_folder(target: Path) -> Path:
    """Return the folder for an update's files: its lock, and databases with rows of blogs."""
    return target.with_name(f".{target.name}.work")


def is_catalogue(path: Path) -> bool:
    """Return whether a file is a catalogue."""
    return inner(path).kind() == "" and _header(path, "format") == _FORMAT


def _require_target(path: Path) -> None:
    kind = inner(path).kind()
    if kind is not None and (kind != "" or _header(path, "format") != _FORMAT):
        raise UsageError("{target} exists and is not a catalogue; name another place.", target=path)


def _header(path: Path, column: str) -> Any:
    """Return a value from the header of a catalogue; ``None`` for any other file."""
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            (found,) = connection.execute(f"SELECT {column} FROM catalogue").fetchone()  # noqa: S608 - own names
            return found
    except (sqlite3.Error, TypeError):
        return None


def _read_shard(task: _RowsTask) -> _ShardChanges:
    """Write the rows of archives that changed into a separate database.

    Raises:
        NoSpace: there is no room.
    """
    shard = task.shard.shard
    path = task.work / f"{shard}.sqlite"
    with atomic.translated(path):
        inner(path).unlink(missing_ok=True)
        with _translated(path), closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode = MEMORY")
            connection.execute("PRAGMA synchronous = OFF")
            _create(connection, keys=False)
            connection.execute("CREATE TABLE changed (blog_id TEXT PRIMARY KEY) WITHOUT ROWID")
            connection.execute("BEGIN")
            reader = _ShardReader(connection, task)
            connection.executemany(_insert(BLOGS), [_values(BLOGS, row) for row in reader.rows()])
            connection.execute("COMMIT")
        if not reader.counts.changed:
            inner(path).unlink()
    return _ShardChanges(shard, reader.counts, path if reader.counts.changed else None)


class _ShardReader:
    """Reads one folder of a fleet and counts in ``counts``."""

    def __init__(self, connection: sqlite3.Connection, task: _RowsTask) -> None:
        self.counts = ShardCounts()
        self._connection = connection
        self._task = task

    def rows(self) -> list[Row]:
        """Return the rows of all blogs, in order, after writing those of other tables for blogs that changed."""
        before = {row["blog_id"]: row for row in self._task.known}
        marks = {blog_id: str(row["mark"]).removeprefix(f"{EDITION} ") for blog_id, row in before.items()}
        rows = []
        self._connection.execute("SAVEPOINT blog")
        for found in read_changed(self._task.shard, marks, self._read, self.counts):
            rows.append(self._row(found, before.pop(found.blog_id, None)))
            self._connection.execute("SAVEPOINT blog")
        for blog_id in before:
            self._drop(blog_id)
        self.counts.dropped = len(before)
        self.counts.entries = sum(row["entries"] or 0 for row in rows)
        return rows

    def _row(self, found: Reading[Row], old: Row | None) -> Row:
        """Return a blog's own row, and have the catalogue delete its other rows if they changed."""
        if found.reason is not None:
            self._connection.execute("ROLLBACK TO blog")
            usable = old if old is not None and str(old["mark"]).startswith(f"{EDITION} ") else None
            row = damaged_row(found.blog_id, found.reason, usable)
            self.counts.changed = self.counts.changed or row != old
            replaced = usable is None
        elif found.made is not None:
            row = {**found.made, "mark": f"{EDITION} {found.mark}"}
            self.counts.changed = replaced = True
        else:
            return old or {}
        if replaced and old is not None:
            self._drop(found.blog_id)
        return row

    def _read(self, archive: Archive) -> Row:
        def put(table: str, row: Row) -> None:
            self._connection.execute(_insert(table), _values(table, row))

        self._connection.execute("ROLLBACK TO blog")
        return blog_rows(archive, service_of(self._task.shard.settings, archive.info.service), put)

    def _drop(self, blog_id: str) -> None:
        """Delete a blog's rows from the catalogue."""
        self.counts.changed = True
        self._connection.execute("INSERT OR IGNORE INTO changed VALUES (?)", (blog_id,))


class _Catalogue:
    """The database during an update."""

    def __init__(self, connection: sqlite3.Connection, path: Path, target: Path, *, fresh: bool) -> None:
        self._connection = connection
        self._path = path
        self._target = target
        self._fresh = fresh
        self._changed = fresh

    def shards(self) -> set[str]:
        """Return the folders whose blogs it contains."""
        with _translated(self._path):
            found = self._connection.execute("SELECT DISTINCT substr(archive, 1, 2) FROM blogs")
            return {str(shard) for (shard,) in found} & set(SHARDS)

    def known(self, shard: str) -> list[Row]:
        """Return the rows of the blogs in a folder."""
        with _translated(self._path):
            found = self._connection.execute(
                "SELECT * FROM blogs WHERE archive >= ? AND archive < ?", (f"{shard}/", f"{shard}0")
            )
            return [dict(zip(TABLES[BLOGS], values, strict=True)) for values in found]

    def take(self, changes: _ShardChanges) -> None:
        """Join the changes of a worker."""
        if changes.database is None:
            return
        shard = changes.shard
        with _translated(self._path), closing(sqlite3.connect(changes.database)) as found:
            if self._fresh:
                self._connection.execute("BEGIN IMMEDIATE")
            changed = found.execute("SELECT blog_id FROM changed").fetchall()
            for table in PARTS:
                self._connection.executemany(f"DELETE FROM {table} WHERE blog_id = ?", changed)  # noqa: S608 - own names
            self._connection.execute("DELETE FROM blogs WHERE archive >= ? AND archive < ?", (f"{shard}/", f"{shard}0"))
            for table in TABLES:
                self._connection.executemany(_insert(table), found.execute(f"SELECT * FROM {table}"))  # noqa: S608
            if self._fresh:
                self._connection.execute("COMMIT")
        inner(changes.database).unlink()
        self._changed = True

    def finish(self, made_at: str) -> None:
        """Flush everything to disk, and rename a new catalogue into place."""
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


@contextmanager
def _open_for_update(target: Path, work: Path) -> Iterator[_Catalogue]:
    """Open the catalogue in a transaction, or a new one in its work folder."""
    fresh = _header(target, "edition") != EDITION
    path = work / "new.sqlite" if fresh else target
    if fresh and _header(path, "edition") != EDITION:
        for each in (path, path.with_name(f"{path.name}-journal")):
            inner(each).unlink(missing_ok=True)
    with atomic.translated(path):
        if fresh and not path.exists():
            atomic.write_file(path, b"")
    with _translated(path), closing(sqlite3.connect(path, isolation_level=None, timeout=_BUSY_SECONDS)) as connection:
        if fresh:
            connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("BEGIN IMMEDIATE")
        if fresh:
            if not connection.execute("SELECT 1 FROM sqlite_master").fetchone():
                _create(connection, keys=True)
                connection.execute("CREATE TABLE catalogue (format TEXT, edition INTEGER, made_at TEXT)")
                connection.execute("INSERT INTO catalogue VALUES (?, ?, NULL)", (_FORMAT, EDITION))
            connection.execute("COMMIT")
        yield _Catalogue(connection, path, target, fresh=fresh)


def _create(connection: sqlite3.Connection, *, keys: bool) -> None:
    for table, columns in COLUMNS.items():
        key = _KEYS.get(table) if keys else None
        rest = f", {key}) WITHOUT ROWID" if key else ")"
        connection.execute(f"CREATE TABLE {table} ({columns}{rest}")


def _insert(table: str) -> str:
    marks = ", ".join("?" * len(TABLES[table]))
    return f"INSERT INTO {table} VALUES ({marks})"  # noqa: S608 - own names


def _values(table: str, row: Mapping[str, Any]) -> list[Any]:
    return [_value(row[name]) for name in TABLES[table]]


def _value(value: Any) -> Any:
    if isinstance(value, list):
        return json.dumps(value, ensure_ascii=False)
    return visible(value)[0] if isinstance(value, str) else value


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        if is_full_disk(error):
            raise NoSpace("There is no space left for {path}: make room, then run it again.", path=path) from error
        raise BlogExporterError("The catalogue {path} cannot be written: {reason}.", path=path, reason=error) from error
