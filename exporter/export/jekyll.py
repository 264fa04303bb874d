"""A Jekyll site's posts; Liquid does not touch them. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from exporter.export.file_names import file_name
from exporter.export.formats import Format
from exporter.export.interface import ExportFile
from exporter.export.media import FOLDER
from exporter.export.posts import ExportPost, Posts
from exporter.export.site_generators import MORE, PageWriter, SitePage, old_paths, page_header, shown_title
from exporter.model.publication import PostStatus


def export(posts: Posts) -> Iterator[ExportFile]:
    """Yield posts below ``_posts`` and drafts below ``_drafts``, and the pictures they show."""
    ending = ".html" if posts.options.body == "html" else ".md"

    def page(post: ExportPost, category: str, body: str) -> SitePage:
        head = page_header(
            {
                "layout": "post",
                "title": shown_title(post),
                "date": post.when,
                "last_modified_at": post.record.updated,
                "categories": [category] if post.category else None,
                "redirect_from": list(old_paths(post, posts.options)) or None,
                "entry_id": post.id,
                "excerpt_separator": MORE,
                "render_with_liquid": False,
            }
        )
        public = post.status is PostStatus.PUBLISH
        # Jekyll wants a date in the name of a post, and none in that of a draft.
        name = file_name(post.when if public else None, post.title, post.id).removesuffix(".md")
        # What is beside `_drafts` would be copied into the site, though no page showed it.
        pictures = FOLDER if public else f"_drafts/{FOLDER}"
        return SitePage(f"{'_posts' if public else '_drafts'}/{name}{ending}", f"{head}\n{body}", pictures)

    yield from PageWriter(posts, f"/{FOLDER}/").pages(page)


FORMAT: Final = Format("Jekyll, GitHub Pages", export, drafts=True, bodies=True)
