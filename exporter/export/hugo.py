"""A Hugo site's content: a page bundle for each post, with its pictures in the bundle. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

from exporter.export.formats import Format
from exporter.export.interface import Comments, Content, ExportFile
from exporter.export.posts import ExportPost, Posts
from exporter.export.site_generators import (
    PageWriter,
    SitePage,
    finds,
    old_paths,
    page_header,
    page_name,
    shown_title,
    site_path,
)
from exporter.message import message
from exporter.model.publication import PostStatus

_CONFIG = """# What the content needs of Hugo; take it over into your site's own configuration.
baseURL = "https://example.org/"
title = {title}
locale = "ja"
defaultContentLanguage = "ja" # what Hugo before 0.158 knows in its place
hasCJKLanguage = true
canonifyURLs = true # links between posts lead on below a folder of the host too

[markup.goldmark.renderer]
unsafe = true # tables in tables, ruby and players stay HTML, made safe

[markup.goldmark.parser.attribute]
title = false

[markup.goldmark.extensions]
typographer = false
linkify = false
"""
_is_misread = finds("{{[<%]", r"[*~](?=\S)(?:[^*~\n]|\n(?!\n))*\[[^\[\]\n]*!\[")
"""Matches Hugo's own syntax, and emphasis around a linked picture, which old versions such as 0.111 do not read."""


def export(posts: Posts) -> Iterator[ExportFile]:
    """Yield the configuration, and for each post its page and the pictures of its bundle."""
    yield Content("hugo.toml", [_CONFIG.format(title=json.dumps(posts.blog_id)).encode()])

    def page(post: ExportPost, category: str, body: str) -> SitePage:
        head = page_header(
            {
                "title": shown_title(post),
                "date": post.when,
                "lastmod": post.record.updated,
                "draft": post.status is not PostStatus.PUBLISH,
                "categories": [category] if post.category else None,
                "aliases": list(old_paths(post, posts.options)) or None,
                "params": {"entry_id": post.id, "comments": len(post.comments)},
            }
        )
        bundle = f"content/posts/{page_name(post)}"
        return SitePage(f"{bundle}/index.md", f"{head}\n{body}", bundle)

    writer = PageWriter(
        posts,
        "",
        home=lambda post: site_path("posts", page_name(post).lower()),  # as Hugo writes the paths of pages
        risky=_is_misread,
    )
    yield from writer.pages(page)


FORMAT: Final = Format(
    message("Hugo: page bundles with their pictures"), export, drafts=True, bodies=True, shows=Comments.BODY
)
