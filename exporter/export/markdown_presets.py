"""Markdown pages as the starters of Astro and Eleventy want them, each where it looks for them. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from exporter.export.csv_table import rough_text
from exporter.export.interface import ExportFile
from exporter.export.media import FOLDER
from exporter.export.posts import ExportPost, Posts
from exporter.export.site_generators import (
    PageWriter,
    SitePage,
    old_paths,
    page_header,
    page_name,
    shown_title,
    site_path,
)
from exporter.export.xml import visible_xml
from exporter.model.publication import PostStatus

_DESCRIBED: Final = 120
"""How many characters of a post's text describe it."""


def astro(posts: Posts) -> Iterator[ExportFile]:
    """Yield pages for Astro's blog starter, whose schema wants a description and calls the date ``pubDate``.

    No starter of Astro leaves drafts out: they are in a folder that is none of its.
    """

    def head(post: ExportPost, category: str) -> dict[str, Any]:
        return {
            "title": shown_title(post),
            "description": description(post),
            "pubDate": post.when,
            "updatedDate": post.record.updated,
            "tags": [category] if post.category else [],
            # The name in its address, which Astro would make of the file's in small letters.
            "slug": page_name(post),
            "entry_id": post.id,
            "aliases": list(old_paths(post, posts.options)) or None,
        }

    yield from _pages(posts, "src/content/blog", head, footnotes=True)


def eleventy(posts: Posts) -> Iterator[ExportFile]:
    """Yield pages for Eleventy's base blog; a draft has its mark, and is in a folder that is not read."""

    def head(post: ExportPost, category: str) -> dict[str, Any]:
        return {
            "title": shown_title(post),
            "description": description(post),
            "date": post.when,
            "tags": [category] if post.category else [],
            "draft": True if post.status is not PostStatus.PUBLISH else None,
            "entry_id": post.id,
            "aliases": list(old_paths(post, posts.options)) or None,
            # Eleventy runs Liquid over Markdown unless another engine is named.
            "templateEngineOverride": "md",
        }

    yield from _pages(posts, "content/blog", head)


def _pages(
    posts: Posts, place: str, head: Callable[[ExportPost, str], dict[str, Any]], *, footnotes: bool = False
) -> Iterator[ExportFile]:
    def page(post: ExportPost, category: str, body: str) -> SitePage:
        public = post.status is PostStatus.PUBLISH
        path = f"{place if public else 'drafts'}/{page_name(post)}.md"
        pictures = f"{'public' if public else 'drafts'}/{FOLDER}"
        return SitePage(path, f"{page_header(head(post, category))}\n{body}", pictures)

    writer = PageWriter(posts, f"/{FOLDER}/", home=lambda post: site_path("blog", page_name(post)), footnotes=footnotes)
    yield from writer.pages(page)


def description(post: ExportPost) -> str:
    """Return the beginning of a post's text in one line, or its title where it has none."""
    words = " ".join(visible_xml(rough_text(post.record.body)).text.split())
    if not words:
        return shown_title(post)
    return words if len(words) <= _DESCRIBED else f"{words[: _DESCRIBED - 1]}…"
