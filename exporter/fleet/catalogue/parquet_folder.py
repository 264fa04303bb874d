"""A catalogue as Parquet files: ``TABLE/ab.parquet``, one file for each table and each of a fleet's 256 folders.

The row of a blog says how many rows it has in each other table, and rows are in the order of the blogs' IDs, so those
of one that has not changed are copied from file to file without being looked at. A new catalogue is made beside the old
one, of which it takes every file that stays by a second name, and then gets its place in one step. What a killed run
had finished is used by the next: a file of ``blogs/`` is the last of its shard to appear.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import Enum, auto
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple, Self
from uuid import uuid4

from exporter import lossless_json
from exporter.archive import atomic
from exporter.archive.fleet_folder import SHARDS
from exporter.archive.safe_files import inner
from exporter.errors import UsageError
from exporter.export.parquet_table import TableFormat, libraries
from exporter.fleet.catalogue.columns import BLOGS, EDITION, PARTS, TABLES
from exporter.fleet.catalogue.reading import ShardOutcome, read_shard
from exporter.fleet.catalogue.rows import Row
from exporter.message import message
from exporter.settings import Settings

SIGN: Final = "catalogue.json"
"""The file that says a folder is a catalogue, without which none is replaced."""
_FORMAT: Final = "blog-exporter-catalogue"
_MAGIC: Final = b"PAR1"
_CHUNK: Final = 5_000
_ROW_GROUP: Final = 20_000


class ShardTask(NamedTuple):
    """What a worker needs to bring one shard up to date: the fleet, the shard, the catalogue, the new one beside it."""

    root: Path
    shard: str
    published: Path
    new: Path
    settings: Settings


def identity_of(folder: Path) -> str | None:
    """Return what changes whenever a catalogue does; ``None`` where a folder is none."""
    try:
        document = lossless_json.loads(inner(folder / SIGN).read_bytes())
    except (OSError, lossless_json.NotJson):
        return None
    known = isinstance(document, dict) and document.get("format") == _FORMAT
    return str(document.get("id")) if known else None


def require_target(folder: Path) -> None:
    """Refuse to replace what is no catalogue.

    Raises:
        UsageError: something else is there.
    """
    if inner(folder).kind() is None or (folder.is_dir() and not any(folder.iterdir())):
        return
    if folder.is_symlink() or identity_of(folder) is None:
        raise UsageError(message("{target} is there already, and is no catalogue; name another place.", target=folder))


def shards_of(folder: Path) -> set[str]:
    """Return the shards that a catalogue has blogs of."""
    try:
        names = inner(folder / BLOGS).names()
    except (FileNotFoundError, NotADirectoryError):
        return set()
    return {shard for shard in SHARDS if _name(shard) in names}


def bring_up_to_date(task: ShardTask) -> ShardOutcome:
    """Write the files of one shard into the new catalogue.

    Raises:
        UsageError: the extra is not installed.
        NoSpace: there is no room.
    """
    base = task.new if (task.new / BLOGS / _name(task.shard)).is_file() else task.published
    with atomic.translated(task.new):
        known = _known_blogs(base, task.shard)
        try:
            outcome = _written(task, base, known)
        except _WrongFile:
            outcome = _written(task, base, None)
    # What a killed run had finished is not published yet.
    outcome.changed = outcome.changed or base == task.new
    return outcome


def publish(new: Path, target: Path, aside: Path, made_at: str, blogs: int) -> None:
    """Give the new catalogue its place in one step.

    Raises:
        BlogExporterError: it cannot be written.
    """
    with atomic.translated(target):
        document = {"format": _FORMAT, "edition": EDITION, "id": uuid4().hex, "made_at": made_at, "blogs": blogs}
        atomic.write_file(new / SIGN, lossless_json.dumps(document, pretty=True) + b"\n")
        for table in TABLES:
            atomic.sync_folder(new / table)
        atomic.swap_folder(new, target, aside)


def make_folders(new: Path) -> None:
    """Make the folders that shards are written into, and remove what a killed run had not finished."""
    with atomic.translated(new):
        for table in TABLES:
            atomic.make_folder(new / table)
        finished = {_name(shard) for shard in shards_of(new)}
        for table in TABLES:
            for path in inner(new / table).iterdir():
                if path.name not in finished:
                    path.unlink(missing_ok=True)


def _name(shard: str) -> str:
    return f"{shard}.parquet"


@cache
def _format(table: str) -> TableFormat:
    return TableFormat(TABLES[table])


class _WrongFile(Exception):
    """A file of the catalogue cannot be read, or has other rows than its blogs say."""


class _Step(Enum):
    KEEP = auto()
    DROP = auto()
    ADD = auto()
    FORGET = auto()


class _Cursor:
    """Reads rows one after the other: so many are taken, so many left out."""

    def __init__(self, batches: Iterable[Any]) -> None:
        self._batches = iter(batches)
        self._batch: Any = None
        self._at = 0

    def take(self, count: int) -> Iterator[Any]:
        """Yield the next rows as record batches.

        Raises:
            _WrongFile: there are fewer.
        """
        while count:
            if self._batch is None or self._at == self._batch.num_rows:
                self._batch, self._at = next(self._batches, None), 0
                if self._batch is None:
                    raise _WrongFile
            some = min(count, self._batch.num_rows - self._at)
            whole = some == self._batch.num_rows
            yield self._batch if whole else self._batch.slice(self._at, some)
            self._at += some
            count -= some

    def skip(self, count: int) -> None:
        """Leave out the next rows."""
        for _ in self.take(count):
            pass


class _Table:
    """One table of a shard while its new rows are collected, in a file that has no name."""

    def __init__(self, name: str, folder: Path) -> None:
        self.format = _format(name)
        self.name = name
        self.rows = 0
        self._io = libraries().io
        self._folder = folder
        self._spool: BinaryIO | None = None
        self._chunks: list[int] = []
        self._waiting: list[Row] = []
        self._steps: list[tuple[_Step, int]] = []

    def put(self, row: Row) -> None:
        self._waiting.append(row)
        self.rows += 1
        self.note(_Step.ADD, 1)
        if len(self._waiting) >= _CHUNK:
            self._pour()

    def note(self, step: _Step, count: int) -> None:
        """Remember what is to be done with the next rows."""
        if self._steps and self._steps[-1][0] is step:
            self._steps[-1] = (step, self._steps[-1][1] + count)
        elif count:
            self._steps.append((step, count))

    def forget(self, rows: int) -> None:
        """Leave out the last rows that were put."""
        if rows:
            step, count = self._steps.pop()
            if count > rows:
                self._steps.append((step, count - rows))
            self.note(_Step.FORGET, rows)

    def _pour(self) -> None:
        if self._waiting:
            if self._spool is None:
                self._spool = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115  closed by close()
            before = self._spool.tell()
            self._io.write_ipc_stream(self.format.batch(self._waiting), self._spool)
            self._chunks.append(self._spool.tell() - before)
            self._waiting.clear()

    def write(self, base: Path, shard: str, path: Path) -> None:
        """Write the file: rows that are kept of the old one, and those that were put, as they came."""
        self._pour()
        old, new = _Cursor(_batches_of(base / self.name / _name(shard))), _Cursor(self._spooled())

        def batches() -> Iterator[Any]:
            for step, count in self._steps:
                if step is _Step.KEEP:
                    yield from old.take(count)
                elif step is _Step.ADD:
                    yield from new.take(count)
                else:
                    (old if step is _Step.DROP else new).skip(count)

        with atomic.open_private(path) as out:
            self.format.write(batches(), out, _ROW_GROUP)

    def _spooled(self) -> Iterator[Any]:
        if self._spool is not None:
            self._spool.seek(0)
            for length in self._chunks:
                yield from self._io.read_ipc_stream(self._spool.read(length))

    def close(self) -> None:
        if self._spool is not None:
            self._spool.close()


class _ParquetSink:
    """Implements :class:`~exporter.fleet.catalogue.reading.RowSink`; memory does not grow with the number of rows."""

    def __init__(self, folder: Path) -> None:
        with contextlib.ExitStack() as stack:
            self.tables = {name: _Table(name, folder) for name in PARTS}
            for table in self.tables.values():
                stack.callback(table.close)
            self._opened = stack.pop_all()
        self._begun: Counter[str] = Counter()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def keep(self, row: Mapping[str, Any]) -> None:
        for name, table in self.tables.items():
            table.note(_Step.KEEP, row[name] or 0)

    def drop(self, row: Mapping[str, Any]) -> None:
        for name, table in self.tables.items():
            table.note(_Step.DROP, row[name] or 0)

    def begin(self) -> None:
        self._begun = Counter({name: table.rows for name, table in self.tables.items()})

    def put(self, table: str, row: Row) -> None:
        self.tables[table].put(row)

    def undo(self) -> None:
        for name, table in self.tables.items():
            table.forget(table.rows - self._begun[name])
            self._begun[name] = table.rows


def _written(task: ShardTask, base: Path, known: Sequence[Row] | None) -> ShardOutcome:
    """Write a shard's files, or give those that stay as they are a second name."""
    with _ParquetSink(task.new) as sink:
        outcome, rows = read_shard(task.root, task.shard, known or [], sink, task.settings)
        outcome.changed = outcome.changed or known is None
        if outcome.changed:
            _replace(task, base, sink, rows)
        elif base != task.new and outcome.blogs:
            for name in (*PARTS, BLOGS):
                inner(base / name / _name(task.shard)).add_name(inner(task.new / name / _name(task.shard)))
    return outcome


def _replace(task: ShardTask, base: Path, sink: _ParquetSink, blogs: Sequence[Row]) -> None:
    made = {name: inner(task.new / name / f".{_name(task.shard)}.tmp") for name in TABLES}
    if blogs:
        for name, table in sink.tables.items():
            table.write(base, task.shard, made[name])
        form = _format(BLOGS)
        with atomic.open_private(made[BLOGS]) as out:
            form.write([form.batch(blogs)], out)
        atomic.sync_all(task.new, list(made.values()))
    inner(task.new / BLOGS / _name(task.shard)).unlink(missing_ok=True)
    for name in (*PARTS, BLOGS):
        place = inner(task.new / name / _name(task.shard))
        if blogs:
            made[name].replace(place)
        else:
            place.unlink(missing_ok=True)


def _batches_of(path: Path) -> Iterator[Any]:
    """Yield the record batches of a file of the catalogue; none where it is not there.

    Raises:
        _WrongFile: it cannot be read.
    """
    try:
        with inner(path).open("rb") as file:
            yield from _whole(file)
    except FileNotFoundError:
        return
    except (GeneratorExit, KeyboardInterrupt):
        raise
    except BaseException as error:
        # A panic of the library is no Exception.
        raise _WrongFile from error


def _whole(file: BinaryIO) -> Any:
    """Return the record batches of a file, if it ends as a whole one does: the library panics over others."""
    file.seek(-min(len(_MAGIC), file.seek(0, os.SEEK_END)), os.SEEK_END)
    if file.read() != _MAGIC:
        raise _WrongFile
    file.seek(0)
    return libraries().io.read_parquet(file, batch_size=_CHUNK)


def _known_blogs(base: Path, shard: str) -> list[Row] | None:
    """Return the rows of blogs that a catalogue has of a shard; ``None`` where its file cannot be used."""
    names = list(TABLES[BLOGS])
    try:
        found: list[Row] = []
        for batch in _batches_of(base / BLOGS / _name(shard)):
            if list(batch.column_names) != names:
                return None
            columns = [[_plain(value) for value in batch.column(name).to_pylist()] for name in names]
            found += [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]
    except _WrongFile:
        return None
    wrong = any(type(row[part]) is not int or row[part] < 0 for row in found for part in PARTS)
    return None if wrong else found


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value
