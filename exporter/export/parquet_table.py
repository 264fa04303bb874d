"""Two Parquet tables, of entries and of comments, typed as in the JSON lines; and the writer of any such table. Pure.

Written by arro3, the lightest library that writes Parquet row group by row group; it comes with the extra ``parquet``
and is imported only here and only on use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import Enum, auto
from functools import partial
from itertools import islice
from types import ModuleType
from typing import Any, BinaryIO, Final, NamedTuple

from exporter.errors import UsageError
from exporter.export.formats import Format
from exporter.export.interface import ExportFile, Filled
from exporter.export.jsonl import comment_record, entry_record
from exporter.export.media import Copies, Media
from exporter.export.posts import Posts
from exporter.message import message
from exporter.text import visible

ROW_GROUP: Final = 1_000
"""Rows in a row group if rows are long texts."""


class ColumnType(Enum):
    """The type of the values in a column; each may be missing."""

    TEXT = auto()
    WHOLE = auto()
    TRUTH = auto()
    MOMENT = auto()
    """A date in ISO 8601 with its offset, kept in microseconds."""
    TEXTS = auto()
    """A list of texts."""


Columns = Mapping[str, ColumnType]
Row = Mapping[str, Any]


class Libraries(NamedTuple):
    """The two modules of arro3."""

    core: ModuleType
    io: ModuleType


def libraries() -> Libraries:
    """Import the Parquet library.

    Raises:
        UsageError: the extra is not installed.
    """
    try:
        from arro3 import core, io  # noqa: PLC0415  an extra, and not light
    except ImportError as error:
        raise UsageError(
            message(
                "Parquet needs a library that is not installed ({error}): pip install 'blog-exporter[parquet]'",
                error=error,
            )
        ) from None
    return Libraries(core, io)


class TableFormat:
    """A table with its columns, as Arrow knows it.

    Args:
        columns: the type of each column, in their order.

    Raises:
        UsageError: the extra is not installed.
    """

    def __init__(self, columns: Columns) -> None:
        self._core, self._io = libraries()
        self.columns = columns
        fields = [self._core.Field(name, self._type(kind), nullable=True) for name, kind in columns.items()]
        self.schema = self._core.Schema(fields)

    def batch(self, rows: Sequence[Row]) -> Any:
        """Return rows as one record batch."""
        arrays = [self._array(kind, [row[name] for row in rows]) for name, kind in self.columns.items()]
        return self._core.RecordBatch.from_arrays(arrays, schema=self.schema)

    def write(self, batches: Iterable[Any], out: BinaryIO, row_group: int = ROW_GROUP) -> None:
        """Write a file from record batches; errors keep their own type instead of the library's."""
        failed: list[BaseException] = []

        def guarded() -> Iterator[Any]:
            try:
                yield from batches
            except BaseException as error:
                failed.append(error)
                raise

        reader = self._core.RecordBatchReader.from_batches(self.schema, guarded())
        sink = _Sink(out, failed)
        try:
            self._io.write_parquet(
                reader, sink, compression="zstd(3)", max_row_group_size=row_group, created_by="blog-exporter"
            )
        except Exception:
            if not failed:
                raise
        if failed:
            raise failed[0]

    def _type(self, kind: ColumnType) -> Any:
        kinds = self._core.DataType
        match kind:
            case ColumnType.MOMENT:
                return kinds.timestamp("us", tz="UTC")
            case ColumnType.TEXTS:
                return kinds.list(self._core.Field("item", kinds.utf8(), nullable=True))
            case ColumnType.WHOLE:
                return kinds.int64()
            case ColumnType.TRUTH:
                return kinds.bool()
            case _:
                return kinds.utf8()

    def _array(self, kind: ColumnType, values: list[Any]) -> Any:
        core, made = self._core, self._type(kind)
        if kind is ColumnType.MOMENT:
            return core.Array([_microseconds(value) for value in values], core.DataType.int64()).cast(made)
        if kind is ColumnType.TEXTS:
            offsets = [0]
            for value in values:
                offsets.append(offsets[-1] + len(value))
            inner = core.Array([_text(text) for value in values for text in value], core.DataType.utf8())
            return core.list_array(core.Array(offsets, core.DataType.int32()), inner).cast(made)
        if kind is ColumnType.TEXT:
            return core.Array([None if value is None else _text(value) for value in values], made)
        return core.Array(values, made)


class _Sink:
    """A file that raises its error after the library is done, because the library panics on a failed write."""

    def __init__(self, out: BinaryIO, failed: list[BaseException]) -> None:
        self._out = out
        self._failed = failed
        self.seek = out.seek
        self.tell = out.tell

    def write(self, data: bytes) -> int:
        """Write, unless something failed before."""
        if not self._failed:
            try:
                self._out.write(data)
            except OSError as error:
                self._failed.append(error)
        return len(data)

    def flush(self) -> None:
        """Leave closing to the caller, which opened the file."""


def _microseconds(date: str | None) -> int | None:
    """Return a date as Parquet counts it, from 1970 in UTC."""
    return None if date is None else int(datetime.fromisoformat(date).timestamp()) * 1_000_000


def _text(text: str) -> str:
    return visible(text)[0]


_ROWS_PER_BATCH: Final = 100
_OTHERS: Final = {
    "date": ColumnType.MOMENT,
    "last_update": ColumnType.MOMENT,
    "comments": ColumnType.WHOLE,
    "visible": ColumnType.TRUTH,
    "pictures": ColumnType.TEXTS,
}
_ENTRY: Final = (
    "entry_id", "title", "name", "date", "last_update", "status", "category", "category_id", "body_html",
    "continuation_title", "continuation_html", "text", "pictures", "comments", "url", "new_url",
)  # fmt: skip
_COMMENT: Final = ("cm_id", "entry_id", "date", "name", "title", "text", "url", "visible")


def export(posts: Posts) -> Iterator[ExportFile]:
    """Yield both tables, and the pictures if requested.

    Raises:
        UsageError: the extra is not installed.
    """
    entry_table, comment_table = _table_of(_ENTRY), _table_of(_COMMENT)
    media = Media(posts)
    entries = partial(_entries, posts, media)
    yield Filled(f"entries-{posts.options.label}.parquet", partial(_fill, entry_table, entries))
    comments = partial(_comments, posts)
    yield Filled(f"comments-{posts.options.label}.parquet", partial(_fill, comment_table, comments))
    if posts.options.media_folder:
        yield from Copies(posts.report).of_posts(posts, media)


def _entries(posts: Posts, media: Media) -> Iterator[dict[str, Any]]:
    for post in posts:
        posts.report.wrote(len(post.comments), post.category)
        media.account(post)
        yield entry_record(post, posts, media)


def _comments(posts: Posts) -> Iterator[dict[str, Any]]:
    return (comment_record(post, found) for post in posts for found in post.comments)


def _fill(table: TableFormat, records: Callable[[], Iterator[dict[str, Any]]], out: BinaryIO) -> None:
    def batches() -> Iterator[Any]:
        source = records()
        while rows := list(islice(source, _ROWS_PER_BATCH)):
            yield table.batch(rows)

    table.write(batches(), out)


def _table_of(names: tuple[str, ...]) -> TableFormat:
    return TableFormat({name: _OTHERS.get(name, ColumnType.TEXT) for name in names})


FORMAT: Final = Format(message("DuckDB, pandas and other programs: two tables in Parquet"), export)
