"""A Pelican site's articles, as Markdown with metadata lines or as HTML. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Final

from exporter.export.entry_page import file_name
from exporter.export.formats import Format
from exporter.export.importer_rules import UniqueNames
from exporter.export.interface import Content, ExportFile, ExportOptions
from exporter.export.media import Copies
from exporter.export.pages import Bodies, shown_title
from exporter.export.posts import ExportPost, Posts
from exporter.export.report import Report
from exporter.model.publication import Status

_PICTURES = "images"
"""The one folder of files that Pelican copies without being told."""

_CATEGORY_CHARACTERS = 30
"""Pelican spells names in Latin letters, about six for a character, and names files after them."""


def export(posts: Posts, options: ExportOptions, report: Report) -> Iterator[ExportFile]:
    """Yield an article for each post and the pictures they show, all below ``content``."""
    bodies = Bodies(posts, options, report, most=_CATEGORY_CHARACTERS)
    copies = Copies(report, f"content/{_PICTURES}")
    names = UniqueNames()
    for post in posts:
        name = file_name(post.record.date, post.title, post.id).removesuffix(".md")
        facts = _facts(post, bodies.category(post), names.fit(post.record.slug, post.id))
        body = bodies.of(post, f"/{_PICTURES}/")
        if options.body == "html":
            yield Content(f"content/{name}.html", [_html(facts, body).encode()])
        else:
            head = "".join(f"{key.capitalize()}: {value}\n" for key, value in facts.items())
            yield Content(f"content/{name}.md", [f"{head}\n{body}".encode()])
        if not options.media_base_url:
            yield from copies.of(bodies.media.pictures(post.record.body, post.record.more))
        report.wrote(len(post.comments), post.category)


def _facts(post: ExportPost, category: str, name: str) -> dict[str, str]:
    """Return the metadata; titles and categories are HTML to Pelican's themes."""
    found = {
        "title": escape(shown_title(post)),
        "date": post.when.isoformat(),
        "modified": post.record.updated.isoformat() if post.record.updated is not None else "",
        "category": escape(category),
        "slug": name,
        "status": "published" if post.status is Status.PUBLISH else "draft",
    }
    return {key: " ".join(value.splitlines()) for key, value in found.items() if value}


def _html(facts: dict[str, str], body: str) -> str:
    metas = "\n".join(f'<meta name="{key}" content="{value}" />' for key, value in facts.items() if key != "title")
    head = f'<meta charset="utf-8" />\n<title>{facts["title"]}</title>\n{metas}'
    return f"<!DOCTYPE html>\n<html>\n<head>\n{head}\n</head>\n<body>\n{body}</body>\n</html>\n"


FORMAT: Final = Format("Pelican", export, drafts=True, bodies=True)
