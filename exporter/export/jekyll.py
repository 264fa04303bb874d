"""A Jekyll site's posts; Liquid leaves them alone. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from exporter.export.entry_page import file_name
from exporter.export.formats import Format
from exporter.export.interface import Content, ExportFile, ExportOptions
from exporter.export.media import FOLDER, Copies
from exporter.export.pages import MORE, Bodies, front_matter, old_paths, shown_title
from exporter.export.posts import ExportPost, Posts
from exporter.export.report import Report
from exporter.model.publication import Status


def export(posts: Posts, options: ExportOptions, report: Report) -> Iterator[ExportFile]:
    """Yield posts below ``_posts`` and drafts below ``_drafts``, and the pictures they show."""
    bodies = Bodies(posts, options, report)
    copies = Copies(report)
    ending = ".html" if options.body == "html" else ".md"
    for post in posts:
        public = post.status is Status.PUBLISH
        # Jekyll wants a date in the name of a post, and none in that of a draft.
        name = file_name(post.when if public else None, post.title, post.id).removesuffix(".md")
        yield Content(f"{'_posts' if public else '_drafts'}/{name}{ending}", [_page(post, bodies, options).encode()])
        if not options.media_base_url:
            yield from copies.of(bodies.media.pictures(post.record.body, post.record.more))
        report.wrote(len(post.comments), post.category)


def _page(post: ExportPost, bodies: Bodies, options: ExportOptions) -> str:
    head = front_matter(
        {
            "layout": "post",
            "title": shown_title(post),
            "date": post.when,
            "last_modified_at": post.record.updated,
            "categories": [bodies.category(post)] if post.category else None,
            "redirect_from": list(old_paths(post, options)) or None,
            "entry_id": post.id,
            "excerpt_separator": MORE,
            "render_with_liquid": False,
        }
    )
    return f"{head}\n{bodies.of(post, f'/{FOLDER}/')}"


FORMAT: Final = Format("Jekyll, GitHub Pages", export, drafts=True, bodies=True)
