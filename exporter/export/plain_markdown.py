"""Markdown pages with front matter: plain ones that most generators take, or those of a preset. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from exporter.export.formats import Format
from exporter.export.interface import Comments, ExportFile, Preset
from exporter.export.markdown_presets import astro, eleventy
from exporter.export.media import FOLDER
from exporter.export.obsidian import vault
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
from exporter.message import message
from exporter.model.publication import PostStatus


def export(posts: Posts) -> Iterator[ExportFile]:
    """Yield the pages as the preset wants them."""
    presets = {Preset.PLAIN: plain, Preset.ASTRO: astro, Preset.ELEVENTY: eleventy, Preset.OBSIDIAN: vault}
    return presets[posts.options.preset](posts)


def plain(posts: Posts) -> Iterator[ExportFile]:
    """Yield a page for each post, below ``posts`` or ``drafts``, and the pictures they show below ``media``.

    No mark for drafts is known to all generators: Eleventy publishes what ``draft`` alone holds back elsewhere. So
    drafts and their pictures are in a folder of their own, and Eleventy is asked to make neither a page nor a feed's
    item of them.
    """

    def page(post: ExportPost, category: str, body: str) -> SitePage:
        public = post.status is PostStatus.PUBLISH
        head = page_header(
            {
                "title": shown_title(post),
                "date": post.when,
                "updated": post.record.updated,
                "draft": not public,
                "permalink": None if public else False,
                "eleventyExcludeFromCollections": None if public else True,
                "categories": [category] if post.category else [],
                "entry_id": post.id,
                "aliases": list(old_paths(post, posts.options)) or None,
                # Eleventy runs Liquid over Markdown unless another engine is named.
                "templateEngineOverride": "md",
            }
        )
        name = f"{page_name(post)}.md"
        if public:
            return SitePage(f"posts/{name}", f"{head}\n{body}", FOLDER)
        return SitePage(f"drafts/{name}", f"{head}\n{body}", f"drafts/{FOLDER}")

    yield from PageWriter(posts, f"/{FOLDER}/", home=lambda post: site_path("posts", page_name(post))).pages(page)


FORMAT: Final = Format(
    message("Astro, Eleventy, Obsidian and others: Markdown (--preset)"),
    export,
    drafts=True,
    bodies=True,
    shows=Comments.BODY,
)
