"""A Hugo site's content: a page bundle for each post, its pictures beside it. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

from exporter.export.entry_page import file_name
from exporter.export.formats import Format
from exporter.export.interface import Content, ExportFile, ExportOptions
from exporter.export.media import Copies
from exporter.export.pages import Bodies, front_matter, old_paths, shown_title
from exporter.export.posts import ExportPost, Posts
from exporter.export.report import Report
from exporter.model.publication import Status

_CONFIG = """# What the content needs of Hugo; take it over into your site's own configuration.
baseURL = "https://example.org/"
title = {title}
languageCode = "ja"
hasCJKLanguage = true

[markup.goldmark.renderer]
unsafe = true # tables in tables, ruby and players stay HTML, made safe

[markup.goldmark.parser.attribute]
title = false

[markup.goldmark.extensions]
typographer = false
linkify = false
"""


def export(posts: Posts, options: ExportOptions, report: Report) -> Iterator[ExportFile]:
    """Yield the configuration, and for each post its page and the pictures of its bundle."""
    title = json.dumps(posts.blog_id)
    yield Content("hugo.toml", [_CONFIG.format(title=title).encode()])
    bodies = Bodies(posts, options, report, risky=lambda text: "{{<" in text or "{{%" in text)
    for post in posts:
        bundle = f"content/posts/{file_name(post.record.date, post.title, post.id).removesuffix('.md')}"
        yield Content(f"{bundle}/index.md", [_page(post, bodies, options).encode()])
        if not options.media_base_url:
            pictures = bodies.media.pictures(post.record.body, post.record.more)
            yield from Copies(report, bundle).of(pictures)
        report.wrote(len(post.comments), post.category)


def _page(post: ExportPost, bodies: Bodies, options: ExportOptions) -> str:
    head = front_matter(
        {
            "title": shown_title(post),
            "date": post.when,
            "lastmod": post.record.updated,
            "draft": post.status is not Status.PUBLISH,
            "categories": [bodies.category(post)] if post.category else None,
            "aliases": list(old_paths(post, options)) or None,
            "params": {"entry_id": post.id, "comments": len(post.comments)},
        }
    )
    return f"{head}\n{bodies.of(post, '')}"


FORMAT: Final = Format("Hugo: page bundles with their pictures", export, drafts=True, bodies=True)
