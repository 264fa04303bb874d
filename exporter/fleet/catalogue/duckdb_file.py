"""A catalogue as one DuckDB database, made of the Parquet files that lie beside it.

DuckDB reads all files of a table at once, far quicker than rows could be handed to it, and a database is one file to
pass on; the Parquet files are what is kept up to date. The package is no light one (68 MB), has an extra of its own,
and is imported only here. It is kept from loading anything from the network.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from exporter.archive import atomic
from exporter.archive.safe_files import inner
from exporter.errors import BlogExporterError, UsageError
from exporter.export.parquet_table import ColumnType
from exporter.fleet.catalogue.columns import EDITION, TABLES
from exporter.message import message

_OFFLINE: Final = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
_MEMORY: Final = "1GB"
_MISTAKEN: Final = "?" if os.sep == "\\" else "?\\"
_TYPES: Final = {
    ColumnType.TEXT: "VARCHAR",
    ColumnType.WHOLE: "BIGINT",
    ColumnType.TRUTH: "BOOLEAN",
    ColumnType.MOMENT: "TIMESTAMPTZ",
    ColumnType.TEXTS: "VARCHAR[]",
}


def library() -> ModuleType:
    """Import DuckDB.

    Raises:
        UsageError: the extra is not installed.
    """
    try:
        import duckdb  # noqa: PLC0415  an extra, and not light
    except ImportError as error:
        raise UsageError(
            message(
                "DuckDB needs a library that is not installed ({error}): pip install 'blog-exporter[duckdb,parquet]'",
                error=error,
            )
        ) from None
    return duckdb


def require_place(path: Path) -> None:
    """Refuse a place in which DuckDB can write no database.

    It takes what follows a ``?`` for no part of a file's name, and writes into another folder where a name has a
    backslash.

    Raises:
        UsageError: the path has one of these.
    """
    mark = next((mark for mark in _MISTAKEN if mark in str(path.resolve())), None)
    if mark is not None:
        raise UsageError(
            message(
                "DuckDB cannot write {target}, as its path has a {mark}; name another place.", target=path, mark=mark
            )
        )


def identity_of(path: Path) -> str | None:
    """Return the identity of the Parquet files that a database was made of; ``None`` where there is no database.

    Raises:
        UsageError: something else is there.
    """
    kind = inner(path).kind()
    if kind is None:
        return None
    duckdb = library()
    try:
        if kind == "":
            with duckdb.connect(str(path), read_only=True, config=_OFFLINE) as connection:
                return str(connection.execute("SELECT made_of FROM catalogue").fetchone()[0])
    except duckdb.Error:
        pass
    raise UsageError(message("{target} is there already, and is no catalogue; name another place.", target=path))


def write_database(folder: Path, target: Path, work: Path, made_of: str) -> None:
    """Make the database of the Parquet files in a folder, and put it in its place in one step.

    Args:
        folder: the catalogue as Parquet.
        target: the database.
        work: a folder of the same disk to make it in.
        made_of: the identity of those files.

    Raises:
        BlogExporterError, NoSpace: it cannot be written.
    """
    duckdb = library()
    new = work / "new.duckdb"
    with atomic.translated(target):
        for each in (new, new.with_name(f"{new.name}.wal")):
            inner(each).unlink(missing_ok=True)
        try:
            options = {**_OFFLINE, "memory_limit": _MEMORY, "temp_directory": str(work / "duckdb-spill")}
            with duckdb.connect(str(new), config=options) as connection:
                connection.execute("SET preserve_insertion_order = false")
                for table in TABLES:
                    _fill(connection, table, sorted(_literal(path) for path in (folder / table).glob("*.parquet")))
                connection.execute("CREATE TABLE catalogue AS SELECT ? AS edition, ? AS made_of", [EDITION, made_of])
        except duckdb.Error as error:
            raise BlogExporterError(
                message("The catalogue {path} cannot be written: {reason}", path=target, reason=error)
            ) from error
        atomic.remove_folder(work / "duckdb-spill")
        new.chmod(atomic.FILE_MODE)
        atomic.sync_file(new)
        inner(new).replace(target)
        atomic.sync_folder(target.parent)


def _literal(path: Path) -> str:
    """Return the pattern that only this path fits, since DuckDB takes all paths for patterns."""
    return re.sub(r"[*?\[]", r"[\g<0>]", str(path))


def _fill(connection: Any, table: str, files: list[str]) -> None:
    columns = ", ".join(f"{name} {_TYPES[kind]}" for name, kind in TABLES[table].items())
    connection.execute(f"CREATE TABLE {table} ({columns})")
    if files:
        connection.execute(f"INSERT INTO {table} SELECT * FROM read_parquet(?)", [files])  # noqa: S608  own names
