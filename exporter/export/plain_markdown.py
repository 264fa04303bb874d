"""Plain Markdown pages with front matter that Eleventy, Astro and most other generators take. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from exporter.export.entry_page import file_name
from exporter.export.formats import Format
from exporter.export.interface import Content, ExportFile, ExportOptions
from exporter.export.media import FOLDER, Copies
from exporter.export.pages import Bodies, front_matter, old_paths, shown_title
from exporter.export.posts import ExportPost, Posts
from exporter.export.report import Report
from exporter.model.publication import Status


def export(posts: Posts, options: ExportOptions, report: Report) -> Iterator[ExportFile]:
    """Yield a page for each post, below ``posts`` or ``drafts``, and the pictures they show below ``media``.

    No mark for drafts is known to all generators: Eleventy publishes what ``draft`` alone holds back elsewhere. So
    drafts are in a folder of their own, and Eleventy is told to make neither a page nor a feed's item of them.
    """
    bodies = Bodies(posts, options, report)
    copies = Copies(report)
    for post in posts:
        folder = "posts" if post.status is Status.PUBLISH else "drafts"
        path = f"{folder}/{file_name(post.record.date, post.title, post.id)}"
        yield Content(path, [_page(post, bodies, options).encode()])
        if not options.media_base_url:
            yield from copies.of(bodies.media.pictures(post.record.body, post.record.more))
        report.wrote(len(post.comments), post.category)


def _page(post: ExportPost, bodies: Bodies, options: ExportOptions) -> str:
    public = post.status is Status.PUBLISH
    head = front_matter(
        {
            "title": shown_title(post),
            "date": post.when,
            "updated": post.record.updated,
            "draft": not public,
            "permalink": None if public else False,
            "eleventyExcludeFromCollections": None if public else True,
            "categories": [bodies.category(post)] if post.category else [],
            "entry_id": post.id,
            "aliases": list(old_paths(post, options)) or None,
            # Eleventy runs Liquid over Markdown unless told otherwise.
            "templateEngineOverride": "md",
        }
    )
    return f"{head}\n{bodies.of(post, f'/{FOLDER}/')}"


FORMAT: Final = Format("Eleventy, Astro and others: Markdown with front matter", export, drafts=True, bodies=True)
