"""Atom 1.0 (RFC 4287) with whole bodies, the newest first. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from exporter.export.bodies import name_large, safe_body
from exporter.export.formats import Format
from exporter.export.interface import Copy, ExportFile, ExportOptions
from exporter.export.media import Copies, Media, new_address
from exporter.export.posts import ExportPost, Posts
from exporter.export.report import Report
from exporter.export.splitting import EntryData, Frame, split
from exporter.export.words import Reason
from exporter.export.xml import cleaned, escaped

_TAIL: Final = b"</feed>\n"


def export(posts: Posts, options: ExportOptions, report: Report) -> Iterator[ExportFile]:
    """Yield the feed, in files of a limited size where that is asked for, and the pictures where they are."""
    media = Media(posts, options)
    making = Copies(report)
    copies: list[Copy] = []
    yield from split(
        f"feed-{options.label}", ".atom", _frame(posts), _pieces(posts, media, options, report), options, report
    )
    if options.media_folder:
        for post in posts:
            copies += making.of(media.pictures(post.record.body, post.record.more))
    yield from copies


def feed_body(post: ExportPost, media: Media) -> str:
    """Return a post's whole text as HTML in which nothing runs."""
    entry = post.record
    lead = escaped(entry.more_title.strip())
    parts = [safe_body(media.rewritten(entry.body)), f"<h2>{lead}</h2>" if lead else ""]
    return "\n".join(part for part in [*parts, safe_body(media.rewritten(entry.more))] if part)


def feed_address(post: ExportPost, posts: Posts, options: ExportOptions) -> str | None:
    """Return the address of a post: the new one, or the old one, as far as patterns for them were given."""
    patterns = [options.new_url, *options.old_urls]
    made = (new_address(posts.records, post.id, pattern) for pattern in patterns if pattern is not None)
    return next(filter(None, made), None)


def feed_id(post: ExportPost, posts: Posts) -> str:
    """Return an id that never changes and that no other entry of any blog has (RFC 4151)."""
    return f"tag:{posts.blog_id},{post.when:%Y-%m-%d}:entry-{post.id}"


def _frame(posts: Posts) -> Frame:
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        '<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="ja">',
        f"<id>{escaped(f'tag:{posts.blog_id},1970-01-01:blog')}</id>",
        f"<title>{escaped(posts.blog_id)}</title>",
        f"<updated>{posts.newest().isoformat(timespec='seconds')}</updated>",
        f"<author><name>{escaped(posts.blog_id)}</name></author>",
    ]
    return Frame(("\n".join(lines) + "\n").encode(), _TAIL)


def _pieces(posts: Posts, media: Media, options: ExportOptions, report: Report) -> Iterator[EntryData]:
    for post in posts.by_date(newest_first=True):
        yield EntryData(post.id, "\n".join(_entry(post, posts, media, options, report)).encode() + b"\n")
        for each in post.comments:
            report.left("comments", Reason.NO_COMMENTS, each.comment.id)
        report.wrote(0, post.category)


def _entry(post: ExportPost, posts: Posts, media: Media, options: ExportOptions, report: Report) -> Iterator[str]:
    media.account(post, report)
    name_large(post, report)
    body = cleaned(feed_body(post, media))
    report.changed("entries", Reason.NOT_IN_XML, post.id, body.characters)
    address = feed_address(post, posts, options)
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


FORMAT: Final = Format("feed readers, and whatever reads Atom 1.0", export, comments=False, splits=True)
