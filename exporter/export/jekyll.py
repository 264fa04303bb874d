"""A Jekyll site's posts, in which Liquid finds only the addresses of pictures. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from typing import Final

from exporter.archive.settings_file import quoted
from exporter.export.formats import Format
from exporter.export.interface import Comments, Content, ExportFile
from exporter.export.media import FOLDER
from exporter.export.names import file_name
from exporter.export.posts import ExportPost, Posts
from exporter.export.site_generators import (
    MORE,
    PAGES,
    PAGES_HOLD,
    POSTS,
    FrontFacts,
    Head,
    PageWriter,
    section,
    shown_title,
    site_path,
    zone_name,
)
from exporter.html.dialects import KRAMDOWN
from exporter.message import message
from exporter.text import visible

_CONFIG: Final = """# What the content needs of Jekyll; take it over into your site's own configuration.
title: {title}
timezone: {timezone}
future: true # what is here was public when the archive was made, whatever clock builds the site
kramdown:
  smart_quotes: ["apos", "apos", "quot", "quot"]
  typographic_symbols: {{hellip: "...", mdash: "---", ndash: "--", laquo: "<<", raquo: ">>"}}
"""
_OWN: Final = re.compile(rf'(?:(?<=\]\()|(?<=href="))/(?:{POSTS}|{PAGES})/(?:[\w.~-]|%[0-9A-F]{{2}})+/')
_RAW: Final = "{% raw %}"
_END_RAW: Final = "{% endraw %}"


def export(posts: Posts) -> Iterator[ExportFile]:
    """Yield the configuration, posts below ``_posts`` and drafts below ``_drafts``, and the pictures they show."""
    yield Content(
        "_config.yml", [_CONFIG.format(title=quoted(visible(posts.title)[0]), timezone=zone_name(posts)).encode()]
    )
    ending = ".html" if posts.options.body == "html" else ".md"

    def head(post: ExportPost, facts: FrontFacts) -> Head:
        return {
            "layout": "page" if post.page else "post",
            "title": shown_title(post),
            "date": post.when,
            "last_modified_at": post.record.updated,
            "categories": facts.categories or None,
            "tags": facts.tags or None,
            "author": facts.author or None,
            "excerpt": f"<p>{escape(facts.summary, quote=False)}</p>" if facts.summary else None,
            "image": facts.cover or None,
            # Jekyll's own address for a post has its categories, and one such as `日記:旅` would end the build.
            "permalink": f"/{section(post)}/{_name(post)}/",
            "redirect_from": facts.aliases,
            "entry_id": post.id,
            "excerpt_separator": MORE,
        }

    def place(post: ExportPost) -> tuple[str, str]:
        # Files next to `_drafts` would be copied into the site, although no page shows them.
        shown = PAGES if post.page else "_posts"
        folder, pictures = (shown, FOLDER) if post.public else ("_drafts", f"_drafts/{FOLDER}")
        return f"{folder}/{_name(post)}{ending}", pictures

    writer = PageWriter(
        posts,
        f"/{FOLDER}/",
        lambda post: site_path(section(post), _name(post)),
        place,
        head,
        finish=_in_liquid,
        dialect=KRAMDOWN,
    )
    yield from writer.pages()


def _in_liquid(text: str, pictures: list[str]) -> str:
    """Return a page's text that Liquid leaves unchanged, except for the addresses of pictures and posts.

    Only Liquid knows a site's folder on its host (``baseurl``), and Jekyll before 4, which GitHub Pages
    has, runs it over everything. Each part is enclosed separately, because Jekyll cuts between them.
    """
    text = text.replace("{%", f'{_END_RAW}{{{{ "{{%" }}}}{_RAW}')
    for name in pictures:
        path = f"/{FOLDER}/{name}"
        text = text.replace(path, _relative_url(path))
    text = _OWN.sub(lambda found: _relative_url(found[0]), text)
    return MORE.join(f"{_RAW}{part}{_END_RAW}" for part in text.split(MORE))


def _relative_url(path: str) -> str:
    return f'{_END_RAW}{{{{ "{path}" | relative_url }}}}{_RAW}'


def _name(post: ExportPost) -> str:
    """Return a page's name: in Jekyll a post's name contains a date; those of drafts and pages do not."""
    day = post.when if post.public and not post.page else None
    return file_name(day, post.title, post.id).removesuffix(".md")


FORMAT: Final = Format(
    message("Jekyll, GitHub Pages"),
    export,
    drafts=True,
    bodies=True,
    shows=Comments.BODY,
    beside="_data",
    holds=PAGES_HOLD,
)
