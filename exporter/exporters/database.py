"""An SQLite database: tables of entries, comments and pictures, with full-text search that finds single characters.

SQLite's trigram index finds nothing shorter than three characters, so the index holds each text with a space between
its characters; words to look for are written the same way, which the view ``search_terms`` shows by an example.
``datasette OUT`` serves it with descriptions and search boxes, see :mod:`exporter.exporters.datasette`. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from exporter.exporters.datasette import companions
from exporter.exporters.interface import Database, ExportFile
from exporter.exporters.jsonl import comment_record, entry_record
from exporter.exporters.media import Copies, Media
from exporter.exporters.options import ExportOptions
from exporter.exporters.posts import Posts
from exporter.exporters.report import Report
from exporter.exporters.table import plain_text
from exporter.render.text import visible

if TYPE_CHECKING:
    import sqlite3

_SCHEMA: Final = """
PRAGMA page_size = 4096;
CREATE TABLE entries (
    entry_id TEXT PRIMARY KEY, title TEXT, name TEXT, date TEXT, last_update TEXT, status TEXT, category TEXT,
    category_id TEXT, body_html TEXT, continuation_title TEXT, continuation_html TEXT, text TEXT, comments INTEGER,
    url TEXT, new_url TEXT, search_row INTEGER
) WITHOUT ROWID;
CREATE TABLE comments (
    cm_id TEXT PRIMARY KEY, entry_id TEXT REFERENCES entries (entry_id), date TEXT, name TEXT, title TEXT, text TEXT,
    url TEXT, visible INTEGER, search_row INTEGER
) WITHOUT ROWID;
CREATE TABLE pictures (
    url TEXT, entry_id TEXT REFERENCES entries (entry_id), file TEXT, content_type TEXT, bytes INTEGER, sha256 TEXT,
    PRIMARY KEY (url, entry_id)
) WITHOUT ROWID;
CREATE VIRTUAL TABLE search USING fts5 (kind UNINDEXED, id UNINDEXED, characters, tokenize = 'unicode61');
CREATE INDEX entries_by_date ON entries (date);
CREATE INDEX comments_by_entry ON comments (entry_id);
CREATE VIEW search_terms AS
    SELECT '"海 の 日"' AS example, 'SELECT kind, id FROM search(''"海 の 日"'')' AS query;
"""


def export(posts: Posts, options: ExportOptions, report: Report) -> Iterator[ExportFile]:
    """Yield the database, what Datasette reads beside it, and the pictures where they are asked for."""
    media = Media(posts, options)
    name = f"blog-{options.label}"
    yield Database(f"{name}.sqlite", partial(_build, posts, media, options, report))
    yield from companions(name, posts.blog_id)
    if options.media_folder:
        copies = Copies(report)
        for post in posts:
            yield from copies.of(media.pictures(post.entry.entry_text, post.entry.ps_text))


def spaced(text: str) -> str:
    """Return a text with a space between its characters, as the search index holds it and wants to be asked."""
    return " ".join(char for char in text.lower() if char.isalnum())


def _build(posts: Posts, media: Media, options: ExportOptions, report: Report, connection: sqlite3.Connection) -> None:
    connection.executescript(_SCHEMA)
    with connection:
        for post in posts:
            media.account(post, report)
            record = entry_record(post, posts, options, media)
            record.pop("pictures")
            for found in post.comments:
                comment = comment_record(post, found)
                words = f"{comment['name']} {comment['title']} {plain_text(comment['text'])}"
                row = _index(connection, "comment", comment["cm_id"], words)
                _insert(connection, "comments", {**comment, "search_row": row})
            row = _index(connection, "entry", post.entry_id, f"{record['title']} {record['text']}")
            _insert(connection, "entries", {**record, "search_row": row})
            for picture in media.pictures(post.entry.entry_text, post.entry.ps_text):
                asset = picture.asset
                place = {"url": asset.url, "entry_id": post.entry_id, "file": picture.name or None}
                facts = {"content_type": asset.content_type, "bytes": asset.bytes, "sha256": asset.sha256}
                _insert(connection, "pictures", {**place, **facts})
            report.wrote(len(post.comments), post.category)
    connection.execute("VACUUM")


def _index(connection: sqlite3.Connection, kind: str, record_id: str, words: str) -> int:
    """Add a text to the search index and return its row there."""
    return _insert(connection, "search", {"kind": kind, "id": record_id, "characters": spaced(words)})


def _insert(connection: sqlite3.Connection, table: str, record: dict[str, Any]) -> int:
    values = [visible(value)[0] if isinstance(value, str) else value for value in record.values()]
    marks = ", ".join("?" * len(values))
    statement = f"INSERT INTO {table} ({', '.join(record)}) VALUES ({marks})"  # noqa: S608  own names
    return connection.execute(statement, values).lastrowid or 0
