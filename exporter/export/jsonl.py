"""Flat, typed JSON lines for programs: one file of entries and one of comments. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

from exporter.export.csv_table import plain_text
from exporter.export.formats import Format
from exporter.export.interface import Content, Copy, ExportFile, ExportOptions
from exporter.export.media import Copies, Media, new_address
from exporter.export.posts import ExportPost, PostComment, Posts
from exporter.export.report import Report
from exporter.export.words import Reason
from exporter.html.links import commenter_link
from exporter.text import REPLACEMENT

_SURROGATE = re.compile("[\ud800-\udfff]")


def export(posts: Posts, options: ExportOptions, report: Report) -> Iterator[ExportFile]:
    """Yield ``entries`` and ``comments``, and the pictures where they are asked for.

    docs/export.md names their members and types.
    """
    yield Content(f"entries-{options.label}.jsonl", _entries(posts, options, report))
    yield Content(f"comments-{options.label}.jsonl", comment_lines(posts, report))
    yield from pictures(posts, options, report)


def pictures(posts: Posts, options: ExportOptions, report: Report) -> Iterator[Copy]:
    """Yield the pictures of the posts where they are asked for."""
    if options.media_folder:
        media = Media(posts, options)
        copies = Copies(report)
        for post in posts:
            yield from copies.of(media.pictures(post.record.body, post.record.more))


def comment_lines(posts: Posts, report: Report) -> Iterator[bytes]:
    """Yield a line for each comment of the posts."""
    for post in posts:
        for found in post.comments:
            yield _line(comment_record(post, found), report, "comments", found.comment.id)


def _entries(posts: Posts, options: ExportOptions, report: Report) -> Iterator[bytes]:
    media = Media(posts, options)
    for post in posts:
        media.account(post, report)
        report.wrote(len(post.comments), post.category)
        yield _line(entry_record(post, posts, options, media), report, "entries", post.id)


def entry_record(post: ExportPost, posts: Posts, options: ExportOptions, media: Media) -> dict[str, Any]:
    """Return an entry as a flat, typed object."""
    entry = post.record
    new = new_address(posts.records, post.id, options.new_url) if options.new_url is not None else None
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
        "text": plain_text(f"{entry.body}\n{entry.more}"),
        "pictures": [media.new_address(picture) for picture in media.pictures(entry.body, entry.more)],
        "comments": len(post.comments),
        "url": next((address for pattern in options.old_urls if (address := pattern.fill(entry.raw))), None),
        "new_url": new,
    }


def comment_record(post: ExportPost, found: PostComment) -> dict[str, Any]:
    """Return a comment as a flat, typed object."""
    comment = found.comment
    return {
        "cm_id": comment.id,
        "entry_id": post.id,
        "date": _date(comment.date),
        "name": comment.name,
        "title": comment.title,
        "text": comment.text,
        "url": commenter_link(comment.url),
        "visible": found.visible,
    }


def _date(date: datetime | None) -> str | None:
    return None if date is None else date.isoformat()


def _line(record: dict[str, Any], report: Report, kind: str, record_id: str) -> bytes:
    text, replaced = _SURROGATE.subn(REPLACEMENT, json.dumps(record, ensure_ascii=False))
    report.changed(kind, Reason.SURROGATES, record_id, replaced)
    return text.encode() + b"\n"


FORMAT: Final = Format("programs: a flat JSON object on each line", export)
