"""What the formats of feeds share: whole bodies, the newest first, with ids that never change. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.export.media import Media
from exporter.export.post_html import comments_html, report_bodies, safe_body
from exporter.export.posts import ExportPost, Posts
from exporter.export.xml import escaped


def feed_posts(posts: Posts, media: Media) -> Iterator[ExportPost]:
    """Yield the posts and report what becomes of them; each must be written before the next is asked for."""
    for post in posts.by_date(newest_first=True):
        media.account(post)
        report_bodies(post, posts.report)
        yield post
        posts.report.wrote(len(post.comments), post.category)


def feed_body(post: ExportPost, media: Media) -> str:
    """Return a post's whole text, and its comments if it has them, as HTML in which nothing runs."""
    lead = escaped(post.record.more_title.strip())
    parts = [safe_body(media.rewritten(post.record.body)), f"<h2>{lead}</h2>" if lead else ""]
    parts += [safe_body(media.rewritten(post.record.more)), comments_html(post.comments)]
    return "\n".join(part for part in parts if part)


def feed_id(post: ExportPost, posts: Posts) -> str:
    """Return an id that never changes and that no other entry of any blog has (RFC 4151)."""
    return f"tag:{posts.blog_id},{post.when:%Y-%m-%d}:entry-{post.id}"
