"""Atom 1.0 (RFC 4287) with whole bodies, the newest first. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from exporter.export.feed import feed_body, feed_id, feed_posts
from exporter.export.formats import Format
from exporter.export.interface import Comments, ExportFile
from exporter.export.media import Copies, Media, address_of
from exporter.export.posts import ExportPost, Posts
from exporter.export.reasons import Reason
from exporter.export.splitting import EntryData, Frame, split
from exporter.export.xml import cleaned, escaped
from exporter.message import message


def export(posts: Posts) -> Iterator[ExportFile]:
    """Yield the feed, in files of a limited size where that is asked for, and the pictures where they are."""
    media = Media(posts)
    yield from split(posts, "feed", ".atom", _frame(posts), _entries(posts, media))
    if posts.options.media_folder:
        yield from Copies(posts.report).of_posts(posts, media)


def _frame(posts: Posts) -> Frame:
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        '<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="ja">',
        f"<id>{escaped(f'tag:{posts.blog_id},1970-01-01:blog')}</id>",
        f"<title>{escaped(posts.blog_id)}</title>",
        f"<updated>{posts.newest().isoformat(timespec='seconds')}</updated>",
        f"<author><name>{escaped(posts.blog_id)}</name></author>",
    ]
    return Frame(("\n".join(lines) + "\n").encode(), b"</feed>\n")


def _entries(posts: Posts, media: Media) -> Iterator[EntryData]:
    for post in feed_posts(posts, media):
        yield EntryData(post.id, "\n".join(_entry(post, posts, media)).encode() + b"\n")


def _entry(post: ExportPost, posts: Posts, media: Media) -> Iterator[str]:
    body = cleaned(feed_body(post, media))
    posts.report.changed("entries", Reason.NOT_IN_XML, post.id, body.characters)
    address = address_of(posts, post)
    yield "<entry>"
    yield f"<id>{escaped(feed_id(post, posts))}</id>"
    yield f"<title>{escaped(post.title)}</title>"
    if address:
        yield f'<link rel="alternate" href="{escaped(address)}"/>'
    yield f"<published>{post.when.isoformat()}</published>"
    yield f"<updated>{(post.record.updated or post.when).isoformat()}</updated>"
    if post.category:
        yield f'<category term="{escaped(post.category)}"/>'
    yield f'<content type="html">{escaped(body.text)}</content>'
    yield "</entry>"


FORMAT: Final = Format(
    message("feed readers, and whatever reads Atom 1.0"), export, comments=False, shows=Comments.NONE, splits=True
)
