"""An SQLite database with full-text search, and the files that Datasette reads with it. Pure.

Datasette serves a folder with ``metadata.json`` and ``plugins`` directly: ``datasette OUT``. Its search boxes ask
SQLite with each word as one, which finds no part of a Japanese sentence; the small plugin puts a space between the
characters, as the index has them. The stored query ``find`` does the same in SQL alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from exporter.export.csv_table import rough_text
from exporter.export.formats import Format
from exporter.export.interface import Content, Database, ExportFile
from exporter.export.jsonl import HELD, entry_record
from exporter.export.media import Copies, Media
from exporter.export.posts import Posts, comment_record
from exporter.message import message
from exporter.text import visible

if TYPE_CHECKING:
    import sqlite3

_PLUGIN: Final = '''"""Lets the search boxes of Datasette find any part of a text, also a single character."""

from datasette import hookimpl


def spaced(words):
    return '"' + " ".join(char for char in words.lower() if char.isalnum()) + '"'


@hookimpl(trylast=True)
def prepare_connection(conn):
    conn.create_function("escape_fts", 1, spaced)
'''
_FIND: Final = """
WITH RECURSIVE letters (rest, spaced) AS (
    SELECT replace(trim(:words), '"', ' '), ''
    UNION ALL
    SELECT substr(rest, 2), spaced || substr(rest, 1, 1) || ' ' FROM letters WHERE rest <> ''
)
SELECT search.kind, coalesce(entries.entry_id, comments.entry_id) AS entry_id,
    coalesce(entries.title, comments.name) AS title_or_name, coalesce(entries.date, comments.date) AS date,
    substr(coalesce(entries.text, comments.text), 1, 200) AS text
FROM search
LEFT JOIN entries ON search.kind = 'entry' AND entries.entry_id = search.id
LEFT JOIN comments ON search.kind = 'comment' AND comments.cm_id = search.id
WHERE search MATCH (SELECT '"' || spaced || '"' FROM letters WHERE rest = '')
ORDER BY 4 DESC
""".strip()
_ENTRY: Final = {
    "entry_id": "The entry's id on the old blog",
    "title": "Title",
    "name": "The entry's name in addresses",
    "date": "When it was published, ISO 8601",
    "last_update": "When it was last changed, ISO 8601",
    "status": "publish, draft or private",
    "category": "The category's name",
    "category_id": "The category's id on the old blog",
    "body_html": "The body as HTML",
    "continuation_title": "What is clicked on to read on",
    "continuation_html": "The text behind it, as HTML",
    "text": "All text without markup",
    "comments": "How many comments it has here",
    "url": "Its address on the old blog",
    "new_url": "Its address in the new home",
    "search_row": "Its row in the search index",
    "kind": "post or page",
    "audience": "Who may see it, as the old blog stated it",
    "categories": "All its categories behind their parents, as a JSON list",
    "tags": "Its tags, as a JSON list",
    "author": "Its writer, as the old blog stated it",
    "permalink": "The address that the old blog stated",
    "excerpt": "The summary that its writer wrote",
    "featured": "The address of its featured picture",
}
_COMMENT: Final = {
    "cm_id": "The comment's id on the old blog",
    "entry_id": "The entry it belongs to",
    "date": "The day it was written",
    "name": "The name its writer gave",
    "title": "Title",
    "text": "The text as it was sent; a stranger's HTML",
    "url": "The address its writer gave",
    "visible": "1 when it is shown, 0 when it is hidden",
    "search_row": "Its row in the search index",
    "parent": "The comment that it answers",
    "kind": "comment, trackback or pingback",
    "comment_status": "Whether the old blog stated that it is shown",
    "by_owner": "1 when the blog's owner wrote it",
}
_PICTURE: Final = {
    "url": "The address it had",
    "entry_id": "The entry that shows it or links to it",
    "file": "Its name in the folder media, where pictures were asked for; empty when the archive does not have it",
    "content_type": "Media type, told from the content",
    "bytes": "Size",
    "sha256": "SHA-256 of the content",
}


def _metadata(database: str, blog_id: str, title: str) -> dict[str, Any]:
    """Return the description of the blog for Datasette, in the form of its ``metadata.json``."""
    search = {"fts_table": "search", "fts_pk": "search_row"}
    tables = {
        "entries": {
            "description": "The entries of the blog, the newest first",
            "columns": _ENTRY,
            "sort_desc": "date",
            "label_column": "title",
            "facets": ["category", "status"],
            "size": 50,
            **search,
        },
        "comments": {
            "description": "The comments, the newest first",
            "columns": _COMMENT,
            "sort_desc": "date",
            "label_column": "name",
            **search,
        },
        "pictures": {
            "description": "The pictures and files of the entries",
            "columns": _PICTURE,
            "sort": "entry_id",
        },
        "search": {"hidden": True},
        "search_terms": {"hidden": True},
    }
    find = {
        "title": "Find words",
        "description": "Finds any part of a title, a text, a comment or a name, also a single character.",
        "sql": _FIND,
    }
    return {
        "title": title,
        "description": f"Everything of the blog {blog_id} that this export holds",
        "source": blog_id,
        "source_url": f"https://{blog_id}/",
        "databases": {database: {"description": "The blog", "tables": tables, "queries": {"find": find}}},
    }


_SCHEMA: Final = """
PRAGMA page_size = 4096;
CREATE TABLE entries (
    entry_id TEXT PRIMARY KEY, title TEXT, name TEXT, date TEXT, last_update TEXT, status TEXT, category TEXT,
    category_id TEXT, body_html TEXT, continuation_title TEXT, continuation_html TEXT, text TEXT, comments INTEGER,
    url TEXT, new_url TEXT, search_row INTEGER, kind TEXT, audience TEXT, categories TEXT, tags TEXT, author TEXT,
    permalink TEXT, excerpt TEXT, featured TEXT
) WITHOUT ROWID;
CREATE TABLE comments (
    cm_id TEXT PRIMARY KEY, entry_id TEXT REFERENCES entries (entry_id), date TEXT, name TEXT, title TEXT, text TEXT,
    url TEXT, visible INTEGER, search_row INTEGER, parent TEXT, kind TEXT, comment_status TEXT, by_owner INTEGER
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


def export(posts: Posts) -> Iterator[ExportFile]:
    """Yield the database, the files for Datasette, and the pictures if requested."""
    media = Media(posts)
    name = f"blog-{posts.options.label}"
    yield Database(f"{name}.sqlite", partial(_build, posts, media))
    text = json.dumps(_metadata(name, visible(posts.blog_id)[0], visible(posts.title)[0]), ensure_ascii=False, indent=2)
    yield Content("metadata.json", [text.encode(), b"\n"])
    yield Content("plugins/search_characters.py", [_PLUGIN.encode()])
    if posts.options.media_folder:
        yield from Copies(posts.report).of_posts(posts, media)


def spaced(text: str) -> str:
    """Return a text with a space between its characters, as the search index holds it and wants to be asked."""
    return " ".join(filter(str.isalnum, text.lower()))


def _build(posts: Posts, media: Media, connection: sqlite3.Connection) -> None:
    connection.executescript(_SCHEMA)
    with connection:
        for post in posts:
            media.account(post)
            record = entry_record(post, posts, media)
            record.pop("pictures")
            for found in post.comments:
                comment = comment_record(post.id, found)
                words = f"{comment['name']} {comment['title']} {rough_text(comment['text'])}"
                row = _index(connection, "comment", comment["cm_id"], words)
                _insert(connection, "comments", {**comment, "search_row": row})
            row = _index(connection, "entry", post.id, f"{record['title']} {record['text']}")
            _insert(connection, "entries", {**record, "search_row": row})
            for picture in media.pictures(post):
                asset = picture.asset
                place = {"url": asset.url, "entry_id": post.id, "file": picture.name or None}
                facts = {"content_type": asset.content_type, "bytes": asset.bytes, "sha256": asset.sha256}
                _insert(connection, "pictures", {**place, **facts})
            posts.wrote(post)
    connection.execute("VACUUM")


def _index(connection: sqlite3.Connection, kind: str, record_id: str, words: str) -> int:
    """Add a text to the search index and return its row there."""
    return _insert(connection, "search", {"kind": kind, "id": record_id, "characters": spaced(words)})


def _insert(connection: sqlite3.Connection, table: str, record: dict[str, Any]) -> int:
    flat = (json.dumps(value, ensure_ascii=False) if isinstance(value, list) else value for value in record.values())
    values = [visible(value)[0] if isinstance(value, str) else value for value in flat]
    marks = ", ".join("?" * len(values))
    statement = f"INSERT INTO {table} ({', '.join(record)}) VALUES ({marks})"  # noqa: S608  own names
    return connection.execute(statement, values).lastrowid or 0


FORMAT: Final = Format(message("Datasette and SQL: tables with full-text search"), export, holds=HELD)
