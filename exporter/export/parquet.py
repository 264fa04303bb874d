"""Two Parquet tables, of entries and of comments, typed as in the JSON lines. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from typing import Any, BinaryIO, Final

from exporter.export.formats import Format
from exporter.export.interface import ExportFile, Filled
from exporter.export.jsonl import comment_record, entry_record
from exporter.export.media import Copies, Media
from exporter.export.parquet_table import ColumnType, TableFormat
from exporter.export.posts import Posts
from exporter.message import message

_BATCH: Final = 100
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
    """Yield both tables, and the pictures where they are asked for.

    Raises:
        UsageError: the extra is not installed.
    """
    entry_table, comment_table = _table(_ENTRY), _table(_COMMENT)
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
        while rows := list(islice(source, _BATCH)):
            yield table.batch(rows)

    table.write(batches(), out)


def _table(names: tuple[str, ...]) -> TableFormat:
    return TableFormat({name: _OTHERS.get(name, ColumnType.TEXT) for name in names})


FORMAT: Final = Format(message("DuckDB, pandas and other programs: two tables in Parquet"), export)
