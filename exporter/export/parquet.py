"""Two Parquet tables, of entries and of comments, typed as in the JSON lines. Pure.

Written by arro3, the lightest library that writes it row group by row group; it comes with the extra ``parquet`` and is
imported only here, only when asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from functools import partial
from itertools import islice
from types import ModuleType
from typing import Any, BinaryIO, Final

from exporter.errors import UsageError
from exporter.export.formats import Format
from exporter.export.interface import ExportFile, Filled
from exporter.export.jsonl import comment_record, entry_record
from exporter.export.media import Copies, Media
from exporter.export.posts import Posts
from exporter.message import message
from exporter.text import visible

_BATCH: Final = 100
_ROW_GROUP: Final = 1_000
_DATES: Final = frozenset({"date", "last_update"})
_WHOLE_NUMBERS: Final = frozenset({"comments"})
_TRUTHS: Final = frozenset({"visible"})
_LISTS: Final = frozenset({"pictures"})

_ENTRY: Final = (
    "entry_id", "title", "name", "date", "last_update", "status", "category", "category_id", "body_html",
    "continuation_title", "continuation_html", "text", "pictures", "comments", "url", "new_url",
)  # fmt: skip
_COMMENT: Final = ("cm_id", "entry_id", "date", "name", "title", "text", "url", "visible")


def export(posts: Posts) -> Iterator[ExportFile]:
    """Yield both tables, and the pictures where they are asked for.

    Raises:
        UsageError: the extra is not installed.
    """
    core, write = _library()
    media = Media(posts)
    entries = partial(_entries, posts, media)
    yield Filled(f"entries-{posts.options.label}.parquet", partial(_fill, core, write, _ENTRY, entries))
    comments = partial(_comments, posts)
    yield Filled(f"comments-{posts.options.label}.parquet", partial(_fill, core, write, _COMMENT, comments))
    if posts.options.media_folder:
        yield from Copies(posts.report).of_posts(posts, media)


def _library() -> tuple[ModuleType, Callable[..., None]]:
    try:
        from arro3 import core  # noqa: PLC0415  an extra, and not light
        from arro3.io import write_parquet  # noqa: PLC0415
    except ImportError as error:
        raise UsageError(
            message(
                "Parquet needs a library that is not installed ({error}): pip install 'blog-exporter[parquet]'",
                error=error,
            )
        ) from None
    return core, write_parquet


def _entries(posts: Posts, media: Media) -> Iterator[dict[str, Any]]:
    for post in posts:
        posts.report.wrote(len(post.comments), post.category)
        media.account(post)
        yield entry_record(post, posts, media)


def _comments(posts: Posts) -> Iterator[dict[str, Any]]:
    return (comment_record(post, found) for post in posts for found in post.comments)


class _Sink:
    """A file whose failure waits until the library is done, since it panics where a file cannot be written."""

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
        """Leave it to who opened the file."""


def _fill(
    core: ModuleType,
    write: Callable[..., None],
    columns: tuple[str, ...],
    records: Callable[[], Iterator[dict[str, Any]]],
    out: BinaryIO,
) -> None:
    """Write a table; what goes wrong is raised as what it is, not as the library's own error."""
    schema = core.Schema([core.Field(name, _type(core, name), nullable=True) for name in columns])
    failed: list[BaseException] = []

    def batches() -> Iterator[Any]:
        try:
            source = records()
            while rows := list(islice(source, _BATCH)):
                yield core.RecordBatch.from_arrays([_array(core, name, rows) for name in columns], schema=schema)
        except BaseException as error:
            failed.append(error)
            raise

    reader = core.RecordBatchReader.from_batches(schema, batches())
    sink = _Sink(out, failed)
    try:
        write(reader, sink, compression="zstd(3)", max_row_group_size=_ROW_GROUP, created_by="blog-exporter")
    except Exception:
        if not failed:
            raise
    if failed:
        raise failed[0]


def _type(core: ModuleType, name: str) -> Any:
    kinds = core.DataType
    if name in _DATES:
        return kinds.timestamp("us", tz="UTC")
    if name in _LISTS:
        return kinds.list(core.Field("item", kinds.utf8(), nullable=True))
    return kinds.int64() if name in _WHOLE_NUMBERS else kinds.bool() if name in _TRUTHS else kinds.utf8()


def _array(core: ModuleType, name: str, rows: list[dict[str, Any]]) -> Any:
    values = [row[name] for row in rows]
    kind = _type(core, name)
    if name in _DATES:
        return core.Array([_microseconds(value) for value in values], core.DataType.int64()).cast(kind)
    if name in _LISTS:
        offsets = [0]
        for value in values:
            offsets.append(offsets[-1] + len(value))
        inner = core.Array([_text(text) for value in values for text in value], core.DataType.utf8())
        return core.list_array(core.Array(offsets, core.DataType.int32()), inner).cast(kind)
    if name in _WHOLE_NUMBERS | _TRUTHS:
        return core.Array(values, kind)
    return core.Array([None if value is None else _text(value) for value in values], kind)


def _microseconds(date: str | None) -> int | None:
    """Return a date as Parquet counts it, from 1970 in UTC."""
    return None if date is None else int(datetime.fromisoformat(date).timestamp()) * 1_000_000


def _text(text: str) -> str:
    return visible(text)[0]


FORMAT: Final = Format(message("DuckDB, pandas and other programs: two tables in Parquet"), export)
