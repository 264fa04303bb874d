"""Flat, typed JSON lines for programs: one file of entries and one of comments. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

from exporter.export.csv_table import rough_text
from exporter.export.formats import Format
from exporter.export.interface import Content, ExportFile
from exporter.export.media import Copies, Media, new_address, old_addresses
from exporter.export.parts import EVERYTHING, Part
from exporter.export.posts import ExportPost, Posts, comment_record, shown_path
from exporter.export.reasons import Reason
from exporter.export.report import Report
from exporter.message import message
from exporter.text import without_surrogates


def export(posts: Posts) -> Iterator[ExportFile]:
    """Yield ``entries`` and ``comments``, and the pictures if requested.

    docs/export.md names their members and types.
    """
    media = Media(posts)
    yield Content(f"entries-{posts.options.label}.jsonl", _entries(posts, media))
    yield Content(f"comments-{posts.options.label}.jsonl", comment_lines(posts))
    if posts.options.media_folder:
        yield from Copies(posts.report).of_posts(posts, media)


def comment_lines(posts: Posts) -> Iterator[bytes]:
    """Yield a line for each comment of the posts."""
    for entry_id, found in posts.each_comment():
        yield _line(comment_record(entry_id, found), posts.report, "comments", found.comment.id)


def _entries(posts: Posts, media: Media) -> Iterator[bytes]:
    for post in posts:
        media.account(post)
        posts.wrote(post)
        yield _line(entry_record(post, posts, media), posts.report, "entries", post.id)


def entry_record(post: ExportPost, posts: Posts, media: Media) -> dict[str, Any]:
    """Return an entry as a flat, typed object."""
    entry = post.record
    return {
        "entry_id": post.id,
        "title": entry.title,
        "name": entry.slug,
        "date": _date(entry.date),
        "last_update": _date(entry.updated),
        "status": str(post.status),
        "category": post.category or None,
        "category_id": entry.category_id or None,
        "body_html": media.rewritten(entry.body),
        "continuation_title": entry.more_title,
        "continuation_html": media.rewritten(entry.more),
        "text": rough_text(f"{entry.body}\n{entry.more}"),
        "pictures": [media.new_address(picture) for picture in media.pictures(post)],
        "comments": len(post.comments),
        "url": next(old_addresses(post, posts.options), None),
        "new_url": new_address(posts, post.id),
        "kind": str(entry.kind),
        "audience": None if entry.audience is None else str(entry.audience),
        "categories": [shown_path(category) for category in post.categories],
        "tags": list(post.tags),
        "author": post.author or None,
        "permalink": entry.permalink or None,
        "excerpt": entry.excerpt or None,
        "featured": None if not entry.featured else featured_address(post, media),
    }


def featured_address(post: ExportPost, media: Media) -> str:
    """Return the address of a post's featured picture for a target."""
    picture = media.featured(post)
    return post.record.featured if picture is None else media.new_address(picture)


def _date(date: datetime | None) -> str | None:
    return None if date is None else date.isoformat()


def _line(record: dict[str, Any], report: Report, kind: str, record_id: str) -> bytes:
    text, replaced = without_surrogates(json.dumps(record, ensure_ascii=False))
    report.changed(kind, Reason.SURROGATES, record_id, replaced)
    return text.encode() + b"\n"


HELD: Final = EVERYTHING - {Part.EMAIL}
"""The parts in these members: all but mail addresses, which are for nobody else to see."""

FORMAT: Final = Format(message("programs: a flat JSON object on each line"), export, holds=HELD)
