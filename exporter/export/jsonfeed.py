"""JSON Feed 1.1 with whole bodies, the newest first. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from exporter.export.atom import feed_address, feed_body, feed_id
from exporter.export.bodies import name_large
from exporter.export.formats import Format
from exporter.export.interface import Content, ExportFile, ExportOptions
from exporter.export.media import Copies, Media
from exporter.export.posts import ExportPost, Posts
from exporter.export.report import Report
from exporter.export.words import Reason
from exporter.text import visible


def export(posts: Posts, options: ExportOptions, report: Report) -> Iterator[ExportFile]:
    """Yield the feed, an item on each line, and the pictures where they are asked for."""
    media = Media(posts, options)
    copies = Copies(report)
    yield Content(f"feed-{options.label}.json", _chunks(posts, media, options, report))
    if options.media_folder:
        for post in posts:
            yield from copies.of(media.pictures(post.record.body, post.record.more))


def _chunks(posts: Posts, media: Media, options: ExportOptions, report: Report) -> Iterator[bytes]:
    head = {
        "version": "https://jsonfeed.org/version/1.1",
        "title": posts.blog_id,
        "home_page_url": f"https://{posts.blog_id}/",
        "language": "ja",
    }
    yield _text(head)[:-1].encode() + b', "items": ['
    end = b"\n"
    for post in posts.by_date(newest_first=True):
        media.account(post, report)
        name_large(post, report)
        yield end + _text(_item(post, posts, media, options)).encode()
        end = b",\n"
        for each in post.comments:
            report.left("comments", Reason.NO_COMMENTS, each.comment.id)
        report.wrote(0, post.category)
    yield b"\n]}\n"


def _item(post: ExportPost, posts: Posts, media: Media, options: ExportOptions) -> dict[str, Any]:
    found = {
        "id": feed_id(post, posts),
        "url": feed_address(post, posts, options),
        "title": post.title or None,
        "content_html": feed_body(post, media),
        "date_published": post.when.isoformat(),
        "date_modified": post.record.updated.isoformat() if post.record.updated is not None else None,
        "tags": [post.category] if post.category else None,
    }
    return {name: value for name, value in found.items() if value is not None}


def _text(value: dict[str, Any]) -> str:
    shown = {name: visible(each)[0] if isinstance(each, str) else each for name, each in value.items()}
    return visible(json.dumps(shown, ensure_ascii=False))[0]


FORMAT: Final = Format("feed readers, and whatever reads JSON Feed 1.1", export, comments=False)
