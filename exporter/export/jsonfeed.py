"""JSON Feed 1.1 with whole bodies, the newest first. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from exporter.export.feed import feed_body, feed_id, feed_posts
from exporter.export.formats import Format
from exporter.export.interface import Comments, Content, ExportFile
from exporter.export.media import Copies, Media, address_of
from exporter.export.posts import ExportPost, Posts
from exporter.message import message
from exporter.text import visible


def export(posts: Posts) -> Iterator[ExportFile]:
    """Yield the feed, an item on each line, and the pictures where they are asked for."""
    media = Media(posts)
    yield Content(f"feed-{posts.options.label}.json", _chunks(posts, media))
    if posts.options.media_folder:
        yield from Copies(posts.report).of_posts(posts, media)


def _chunks(posts: Posts, media: Media) -> Iterator[bytes]:
    head = {
        "version": "https://jsonfeed.org/version/1.1",
        "title": posts.blog_id,
        "home_page_url": f"https://{posts.blog_id}/",
        "language": "ja",
    }
    yield _text(head)[:-1].encode() + b', "items": ['
    end = b"\n"
    for post in feed_posts(posts, media):
        yield end + _text(_item(post, posts, media)).encode()
        end = b",\n"
    yield b"\n]}\n"


def _item(post: ExportPost, posts: Posts, media: Media) -> dict[str, Any]:
    found = {
        "id": feed_id(post, posts),
        "url": address_of(posts, post),
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


FORMAT: Final = Format(
    message("feed readers, and whatever reads JSON Feed 1.1"), export, comments=False, shows=Comments.NONE
)
