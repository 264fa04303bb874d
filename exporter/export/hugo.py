"""A Hugo site's content: a page bundle for each post, with its pictures in the bundle. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from exporter.archive.settings_file import quoted
from exporter.export.entry_page import plain
from exporter.export.formats import Format
from exporter.export.interface import Comments, Content, ExportFile, Side
from exporter.export.post_html import visible_xml
from exporter.export.posts import ExportPost, Posts
from exporter.export.reasons import Reason
from exporter.export.site_generators import (
    PAGES_HOLD,
    FrontFacts,
    Head,
    PageWriter,
    page_header,
    page_name,
    section,
    shown_title,
    site_path,
)
from exporter.export.term_names import HUGO, count_stated, shown_addresses
from exporter.html.dialects import Dialect, finds
from exporter.message import message
from exporter.text import visible

_CONFIG = """# What the content needs of Hugo; take it over into your site's own configuration.
baseURL = "https://example.org/"
title = {title}
locale = "ja"
defaultContentLanguage = "ja" # what Hugo before 0.158 knows in its place
hasCJKLanguage = true
canonifyURLs = true # links between posts lead on below a folder of the host too

capitalizeListTitles = false # names of categories and tags stay as they are

[markup.goldmark.renderer]
unsafe = true # tables in tables, ruby and players stay HTML, made safe

[markup.goldmark.parser.attribute]
title = false

[markup.goldmark.extensions]
typographer = false
linkify = false
"""
_DIALECT: Final = Dialect(
    signs=re.compile(r"(?<!\\)(?P<sign>\[)(?=[ xX]\])"),
    misread=finds("{{[<%]", r"[*~](?=\S)(?:[^*~\n]|\n(?!\n))*\[[^\[\]\n]*!\["),
)
"""It misreads Hugo's own syntax. Versions such as 0.111 also misread emphasis around a linked picture, and take ``[x]``
anywhere in an item for its tick."""


def export(posts: Posts) -> Iterator[ExportFile]:
    """Yield the configuration, the pages of some terms, and for each post its page and the pictures of its bundle."""
    yield Content("hugo.toml", [_CONFIG.format(title=quoted(visible(posts.title)[0])).encode()])
    stated = {
        "categories": HUGO.addresses(visible_xml(name).text for name in posts.categories()),
        "tags": HUGO.addresses(visible_xml(name).text for name in posts.tags()),
    }
    for kind, terms in stated.items():
        for name, address in terms.items():
            page = page_header({"title": name, "draft": posts.options.side is not Side.PUBLIC or None})
            yield Content(f"content/{kind}/{address}/_index.md", [page.encode()])

    def head(post: ExportPost, facts: FrontFacts) -> Head:
        named = {"categories": facts.categories, "tags": facts.tags}
        times = sum(count_stated(stated[kind], names) for kind, names in named.items())
        posts.report.changed("entries", Reason.TERM_ADDRESS, post.id, times)
        return {
            "title": shown_title(post),
            "date": post.when,
            "lastmod": post.record.updated,
            "draft": not post.public,
            "categories": shown_addresses(stated["categories"], facts.categories) or None,
            "tags": shown_addresses(stated["tags"], facts.tags) or None,
            "author": facts.author or None,
            "description": facts.summary or None,
            # Hugo reads this one as Markdown, and takes the part above a continuation instead, if there is one.
            "summary": plain(facts.summary) or None,
            "images": [facts.cover] if facts.cover else None,
            "aliases": facts.aliases,
            "params": {"entry_id": post.id, "comments": len(post.comments)},
        }

    def place(post: ExportPost) -> tuple[str, str]:
        bundle = f"content/{section(post)}/{page_name(post)}"
        return f"{bundle}/index.md", bundle

    def home(post: ExportPost) -> str:
        return site_path(section(post), page_name(post).lower())  # as Hugo writes the paths of pages

    yield from PageWriter(posts, "", home, place, head, dialect=_DIALECT, redirects=True).pages()


FORMAT: Final = Format(
    message("Hugo: page bundles with their pictures"),
    export,
    drafts=True,
    bodies=True,
    shows=Comments.BODY,
    holds=PAGES_HOLD,
)
