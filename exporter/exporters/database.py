"""An SQLite database: tables of entries, comments and pictures, with full-text search that finds single characters.

SQLite's trigram index finds nothing shorter than three characters, so the index holds each text with a space between
its characters; words to look for are written the same way, which the view ``search_terms`` shows by an example.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from functools import partial
from typing import Any, Final

from exporter.exporters.interface import Database, ExportFile
from exporter.exporters.jsonl import comment_record, entry_record
from exporter.exporters.media import Copies, Media
from exporter.exporters.options import ExportOptions
from exporter.exporters.posts import Posts
from exporter.exporters.report import Report
from exporter.exporters.table import plain_text
from exporter.render.text import visible

_SCHEMA: Final = """
PRAGMA page_size = 4096;
CREATE TABLE entries (
    entry_id TEXT PRIMARY KEY, title TEXT, name TEXT, date TEXT, last_update TEXT, status TEXT, category TEXT,
    category_id TEXT, body_html TEXT, continuation_title TEXT, continuation_html TEXT, text TEXT, comments INTEGER,
    url TEXT, new_url TEXT
) WITHOUT ROWID;
CREATE TABLE comments (
    cm_id TEXT PRIMARY KEY, entry_id TEXT REFERENCES entries (entry_id), date TEXT, name TEXT, title TEXT, text TEXT,
    url TEXT, visible INTEGER
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
    """Yield the database, and the pictures where they are asked for."""
    media = Media(posts, options)
    yield Database(f"blog-{options.label}.sqlite", partial(_build, posts, media, options, report))
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
            record = entry_record(post, posts, options, media)
            record.pop("pictures")
            _insert(connection, "entries", record)
            for found in post.comments:
                comment = comment_record(post, found)
                _insert(connection, "comments", comment)
                words = f"{comment['name']} {comment['title']} {plain_text(comment['text'])}"
                _insert(connection, "search", {"kind": "comment", "id": comment["cm_id"], "characters": spaced(words)})
            words = f"{record['title']} {record['text']}"
            _insert(connection, "search", {"kind": "entry", "id": post.entry_id, "characters": spaced(words)})
            for picture in media.pictures(post.entry.entry_text, post.entry.ps_text):
                asset = picture.asset
                row = {"url": asset.url, "entry_id": post.entry_id, "file": picture.name or None}
                facts = {"content_type": asset.content_type, "bytes": asset.bytes, "sha256": asset.sha256}
                _insert(connection, "pictures", {**row, **facts})
            report.wrote(len(post.comments), post.category)
    connection.execute("VACUUM")


def _insert(connection: sqlite3.Connection, table: str, record: dict[str, Any]) -> None:
    values = [visible(value)[0] if isinstance(value, str) else value for value in record.values()]
    marks = ", ".join("?" * len(values))
    connection.execute(f"INSERT INTO {table} ({', '.join(record)}) VALUES ({marks})", values)  # noqa: S608 - own names
