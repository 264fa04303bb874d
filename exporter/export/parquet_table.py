"""Two Parquet tables, of entries and of comments, typed as in the JSON lines. Pure.

Written by arro3, the lightest library that writes Parquet row group by row group; it comes with the extra ``parquet``
and is imported only here and only on use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from enum import Enum, auto
from functools import partial
from itertools import islice
from typing import Any, BinaryIO, Final

from exporter.errors import UsageError
from exporter.export.formats import Format
from exporter.export.interface import ExportFile, Filled
from exporter.export.jsonl import HELD, entry_record
from exporter.export.media import Copies, Media
from exporter.export.posts import Posts, comment_record
from exporter.message import message
from exporter.text import visible

_ROWS_PER_BATCH: Final = 100
_ROWS_PER_GROUP: Final = 1_000
"""Few, because rows are long texts."""


class _Type(Enum):
    """The type of the values in a column; each may be missing."""

    TEXT = auto()
    WHOLE = auto()
    TRUTH = auto()
    MOMENT = auto()
    """A date in ISO 8601 with its offset, kept in microseconds."""
    TEXTS = auto()
    """A list of texts."""


_TYPES: Final = {
    "date": _Type.MOMENT,
    "last_update": _Type.MOMENT,
    "comments": _Type.WHOLE,
    "visible": _Type.TRUTH,
    "pictures": _Type.TEXTS,
    "categories": _Type.TEXTS,
    "tags": _Type.TEXTS,
    "by_owner": _Type.TRUTH,
}
"""The types of columns; all others are texts."""
_ENTRY: Final = (
    "entry_id", "title", "name", "date", "last_update", "status", "category", "category_id", "body_html",
    "continuation_title", "continuation_html", "text", "pictures", "comments", "url", "new_url",
    "kind", "audience", "categories", "tags", "author", "permalink", "excerpt", "featured",
)  # fmt: skip
_COMMENT: Final = (
    "cm_id", "entry_id", "date", "name", "title", "text", "url", "visible",
    "parent", "kind", "comment_status", "by_owner",
)  # fmt: skip


class _Table:
    """A table with its columns, as Arrow knows it.

    Args:
        columns: their names, in order.

    Raises:
        UsageError: the extra is not installed.
    """

    def __init__(self, columns: tuple[str, ...]) -> None:
        try:
            from arro3 import core, io  # noqa: PLC0415  an extra, and not light
        except ImportError as error:
            raise UsageError(
                "Parquet needs a library that is not installed ({error}): pip install 'blog-exporter[parquet]'",
                error=error,
            ) from None
        self._core: Any = core
        self._io: Any = io
        self._types = {name: _TYPES.get(name, _Type.TEXT) for name in columns}
        self._schema = core.Schema(
            [core.Field(name, self._arrow_type(kind), nullable=True) for name, kind in self._types.items()]
        )

    def write(self, rows: Callable[[], Iterator[dict[str, Any]]], out: BinaryIO) -> None:
        """Write a file of rows; errors keep their own type instead of the library's."""
        failed: list[BaseException] = []

        def batches() -> Iterator[Any]:
            source = rows()
            try:
                while some := list(islice(source, _ROWS_PER_BATCH)):
                    arrays = [self._array(kind, [row[name] for row in some]) for name, kind in self._types.items()]
                    yield self._core.RecordBatch.from_arrays(arrays, schema=self._schema)
            except BaseException as error:
                failed.append(error)
                raise

        reader = self._core.RecordBatchReader.from_batches(self._schema, batches())
        sink = _Sink(out, failed)
        try:
            self._io.write_parquet(
                reader, sink, compression="zstd(3)", max_row_group_size=_ROWS_PER_GROUP, created_by="blog-exporter"
            )
        except Exception:
            if not failed:
                raise
        if failed:
            raise failed[0]

    def _arrow_type(self, kind: _Type) -> Any:
        types = self._core.DataType
        match kind:
            case _Type.MOMENT:
                return types.timestamp("us", tz="UTC")
            case _Type.TEXTS:
                return types.list(self._core.Field("item", types.utf8(), nullable=True))
            case _Type.WHOLE:
                return types.int64()
            case _Type.TRUTH:
                return types.bool()
            case _:
                return types.utf8()

    def _array(self, kind: _Type, values: list[Any]) -> Any:
        core, made = self._core, self._arrow_type(kind)
        if kind is _Type.MOMENT:
            return core.Array([_microseconds(value) for value in values], core.DataType.int64()).cast(made)
        if kind is _Type.TEXTS:
            offsets = [0]
            for value in values:
                offsets.append(offsets[-1] + len(value))
            inner = core.Array([visible(text)[0] for value in values for text in value], core.DataType.utf8())
            return core.list_array(core.Array(offsets, core.DataType.int32()), inner).cast(made)
        if kind is _Type.TEXT:
            return core.Array([None if value is None else visible(value)[0] for value in values], made)
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


def export(posts: Posts) -> Iterator[ExportFile]:
    """Yield both tables, and the pictures if requested.

    Raises:
        UsageError: the extra is not installed.
    """
    entries, comments = _Table(_ENTRY), _Table(_COMMENT)
    media = Media(posts)
    yield Filled(f"entries-{posts.options.label}.parquet", partial(entries.write, partial(_entries, posts, media)))
    yield Filled(f"comments-{posts.options.label}.parquet", partial(comments.write, partial(_comments, posts)))
    if posts.options.media_folder:
        yield from Copies(posts.report).of_posts(posts, media)


def _entries(posts: Posts, media: Media) -> Iterator[dict[str, Any]]:
    for post in posts:
        posts.wrote(post)
        media.account(post)
        yield entry_record(post, posts, media)


def _comments(posts: Posts) -> Iterator[dict[str, Any]]:
    return (comment_record(entry_id, found) for entry_id, found in posts.each_comment())


FORMAT: Final = Format(message("DuckDB, pandas and other programs: two tables in Parquet"), export, holds=HELD)
