"""Feeds with whole bodies, the newest first: Atom 1.0 (RFC 4287) and JSON Feed 1.1. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

from exporter.export.csv_table import rough_text
from exporter.export.formats import Format
from exporter.export.importer_rules import EntryData, Frame, split
from exporter.export.interface import Comments, Content, ExportFile
from exporter.export.jsonl import featured_address
from exporter.export.media import Copies, Media, address_of
from exporter.export.parts import Part
from exporter.export.post_html import cleaned, comments_html, escaped, report_bodies, safe_body
from exporter.export.posts import ExportPost, Posts
from exporter.export.reasons import Reason
from exporter.export.site_generators import own_prefix
from exporter.html.text import collapse
from exporter.message import message
from exporter.text import visible

_HELD: Final = frozenset({Part.TAGS, Part.AUTHOR, Part.EXCERPT, Part.ADDRESS, Part.THREADS, Part.NOTICES, Part.OWNER})


def feed_posts(posts: Posts, media: Media) -> Iterator[ExportPost]:
    """Yield the posts and report them; each must be written before the next is requested."""
    for post in posts.by_date(newest_first=True):
        media.account(post)
        report_bodies(post, posts.report)
        yield post
        posts.wrote(post)


def feed_body(post: ExportPost, media: Media) -> str:
    """Return a post's whole text, and its comments if it has them, as HTML without active content."""
    lead = escaped(post.record.more_title.strip())
    places, prefix = media.places(post), own_prefix(post.id)
    body, more = (safe_body(media.rewritten(part), places, prefix) for part in (post.record.body, post.record.more))
    parts = [body, f"<h2>{lead}</h2>" if lead else "", more, comments_html(post)]
    return "\n".join(part for part in parts if part)


def feed_id(post: ExportPost, posts: Posts) -> str:
    """Return an id that never changes and that no other entry of any blog has (RFC 4151)."""
    return f"tag:{posts.blog_id},{post.when:%Y-%m-%d}:entry-{post.id}"


def export(posts: Posts) -> Iterator[ExportFile]:
    """Yield the feed, split into files if a limit is set, and the pictures if requested."""
    media = Media(posts, prefix=own_prefix)
    yield from split(posts, "feed", ".atom", _frame(posts), _entries(posts, media))
    if posts.options.media_folder:
        yield from Copies(posts.report).of_posts(posts, media)


def _frame(posts: Posts) -> Frame:
    return feed_frame(posts.blog_id, f"tag:{posts.blog_id},1970-01-01:blog", posts.title, posts.newest())


def feed_frame(blog_id: str, feed_id: str, title: str, updated: datetime) -> Frame:
    """Return the text before and after the entries of an Atom feed."""
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        '<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="ja">',
        f"<id>{escaped(feed_id)}</id>",
        f"<title>{escaped(title)}</title>",
        f"<updated>{updated.isoformat(timespec='seconds')}</updated>",
        f"<author><name>{escaped(blog_id)}</name></author>",
    ]
    return Frame(("\n".join(lines) + "\n").encode(), b"</feed>\n")


def entry_head(entry_id: str, title: str, address: str) -> Iterator[str]:
    """Yield the first lines of an entry of an Atom feed; ``address`` is empty if it is unknown."""
    yield f"<id>{escaped(entry_id)}</id>"
    yield f"<title>{escaped(title)}</title>"
    if address:
        yield f'<link rel="alternate" href="{escaped(address)}"/>'


def _entries(posts: Posts, media: Media) -> Iterator[EntryData]:
    for post in feed_posts(posts, media):
        yield EntryData(post.id, "\n".join(_entry(post, posts, media)).encode() + b"\n")


def _entry(post: ExportPost, posts: Posts, media: Media) -> Iterator[str]:
    body = cleaned(feed_body(post, media))
    posts.report.changed("entries", Reason.NOT_IN_XML, post.id, body.characters)
    yield "<entry>"
    yield from entry_head(feed_id(post, posts), post.title, address_of(posts, post) or "")
    yield f"<published>{post.when.isoformat()}</published>"
    yield f"<updated>{(post.record.updated or post.when).isoformat()}</updated>"
    if post.author:
        yield f"<author><name>{escaped(post.author)}</name></author>"
    yield from (f'<category term="{escaped(name)}"/>' for name in post.terms)
    if post.record.excerpt.strip():
        yield f'<summary type="html">{escaped(safe_body(media.rewritten(post.record.excerpt)))}</summary>'
    yield f'<content type="html">{escaped(body.text)}</content>'
    yield "</entry>"


FORMAT: Final = Format(
    message("feed readers, and whatever reads Atom 1.0"),
    export,
    comments=False,
    shows=Comments.NONE,
    splits=True,
    holds=_HELD,
)


def export_json(posts: Posts) -> Iterator[ExportFile]:
    """Yield the feed, an item on each line, and the pictures if requested."""
    media = Media(posts, prefix=own_prefix)
    yield Content(f"feed-{posts.options.label}.json", _json_chunks(posts, media))
    if posts.options.media_folder:
        yield from Copies(posts.report).of_posts(posts, media)


def _json_chunks(posts: Posts, media: Media) -> Iterator[bytes]:
    head = {
        "version": "https://jsonfeed.org/version/1.1",
        "title": posts.title,
        "home_page_url": f"https://{posts.blog_id}/",
        "language": "ja",
    }
    yield _json_text(head)[:-1].encode() + b', "items": ['
    end = b"\n"
    for post in feed_posts(posts, media):
        yield end + _json_text(_json_item(post, posts, media)).encode()
        end = b",\n"
    yield b"\n]}\n"


def _json_item(post: ExportPost, posts: Posts, media: Media) -> dict[str, Any]:
    found = {
        "id": feed_id(post, posts),
        "url": address_of(posts, post),
        "title": post.title or None,
        "content_html": feed_body(post, media),
        "date_published": post.when.isoformat(),
        "date_modified": post.record.updated.isoformat() if post.record.updated is not None else None,
        "tags": post.terms or None,
        "authors": [{"name": post.author}] if post.author else None,
        "summary": collapse(rough_text(post.record.excerpt)) or None,
        "image": featured_address(post, media) if post.record.featured else None,
    }
    return {name: value for name, value in found.items() if value is not None}


def _json_text(value: dict[str, Any]) -> str:
    shown = {name: visible(each)[0] if isinstance(each, str) else each for name, each in value.items()}
    return visible(json.dumps(shown, ensure_ascii=False))[0]


JSON_FEED: Final = Format(
    message("feed readers, and whatever reads JSON Feed 1.1"),
    export_json,
    comments=False,
    shows=Comments.NONE,
    holds=_HELD | {Part.FEATURED},
)
