"""A Pelican site's articles, as Markdown with metadata lines or as HTML. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from typing import Final
from urllib.parse import quote

from exporter.export.formats import Format
from exporter.export.interface import Comments, ExportFile
from exporter.export.names import plain_name
from exporter.export.parts import Part
from exporter.export.posts import ExportPost, Posts
from exporter.export.reasons import Reason
from exporter.export.site_generators import (
    BETWEEN_TAGS,
    PAGES,
    PAGES_HOLD,
    FrontFacts,
    Head,
    PageWriter,
    finds,
    page_name,
    shown_title,
)

_PICTURES = "images"
"""The only folder of files that Pelican copies without configuration."""

_ARTICLE = "/an-article-of-this-site"
_STATIC = "/a-file-of-this-site"
"""Placeholders for Pelican's link syntax, which addresses in bodies must not contain."""

_VIDEO: Final = re.compile(rf"(<video poster=\"{_STATIC}[^<>\"]*\")( src=\"{_STATIC}[^<>\"]*\")([^<>]*>)")

_CATEGORY_CHARACTERS = 30
"""Pelican spells names in Latin letters, about six for a character, and names files after them."""

_MARKUP: Final = re.compile(r"[\\`*_{}\[\]()#+!|~^$-]")
_MARK: Final = re.compile(r"[<>&,;][0-9]*")
"""What tags must not have as HTML, with the digits that a reference without a semicolon would take for its own."""
_TITLE_END: Final = re.compile("<(?=/title)", re.IGNORECASE)
_is_misread = finds(
    BETWEEN_TAGS,
    "~~",
    r"\\[^\\`*_{}\[\]()>#+.!\n-]",  # escapes that it does not know
    r"\\\]:",  # notes and addresses, though escaped
    r"\{[^{}\n]*\}",  # attributes
    r"^[-+*>\d.) ]*#+[^#\s]",  # headings without a space
)
"""Matches text that Pelican's Markdown reader treats differently from CommonMark."""


def export(posts: Posts) -> Iterator[ExportFile]:
    """Yield an article for each post and the pictures they show, all below ``content``, or ``drafts``.

    Pelican makes a page from a draft in ``content``, and anyone could guess its address.
    """
    ending, text = (".html", _html) if posts.options.body == "html" else (".md", _markdown)

    def name(post: ExportPost) -> str:
        return f"{PAGES}/{page_name(post)}{ending}" if post.page else f"{page_name(post)}{ending}"

    def place(post: ExportPost) -> tuple[str, str]:
        folder = "content" if post.public else "drafts"
        return f"{folder}/{name(post)}", f"{folder}/{_PICTURES}"

    def head(post: ExportPost, facts: FrontFacts) -> Head:
        if _title(post) != shown_title(post):
            posts.report.changed("entries", Reason.TITLE_WIDENED, post.id)
        if len(facts.categories) > 1:
            posts.report.changed("entries", Reason.CATEGORY_AS_TAG, post.id, len(facts.categories) - 1)
        return _facts(post, facts, posts.name(post.id), in_html=ending == ".html")

    writer = PageWriter(
        posts,
        f"{_STATIC}/{_PICTURES}/",
        lambda post: f"{_ARTICLE}/{quote(name(post))}",
        place,
        head,
        text,
        most=_CATEGORY_CHARACTERS,
        line_break="  \n",
        finish=lambda text, _: _with_internal_links(text),
        risky=_is_misread,
        footnotes=True,
    )
    yield from writer.pages()


def _with_internal_links(text: str) -> str:
    """Write a page's links in Pelican's syntax. Pelican reads one per tag, so a video with a poster gets two tags."""
    apart = _VIDEO.sub(r"\1\3<source\2>", text)
    return apart.replace(_ARTICLE, "{filename}").replace(_STATIC, "{static}")


def _facts(post: ExportPost, facts: FrontFacts, name: str, *, in_html: bool) -> Head:
    """Return the metadata; titles and names are HTML to Pelican's themes, and a summary is read as the body is."""
    summary = escape(facts.summary, quote=False)
    found = {
        "title": escape(_title(post)),
        "date": post.when.isoformat(),
        "modified": post.record.updated.isoformat() if post.record.updated is not None else "",
        "category": escape("".join(facts.categories[:1])),
        "tags": _listed([name for name in facts.terms if name not in facts.categories[:1]]),
        "author": escape(facts.author),
        "summary": summary if in_html else _MARKUP.sub(lambda sign: f"&#{ord(sign[0])};", summary),
        "cover": escape(facts.cover.replace(_STATIC, "").lstrip("/") if facts.cover_name else facts.cover),
        "slug": name,
        "status": "published" if post.public else "draft",
    }
    return {key: " ".join(value.splitlines()) for key, value in found.items() if value}


def _title(post: ExportPost) -> str:
    """Return a title that ends nothing in themes that decode its references, as Pelican's own does (``striptags``).

    A quotation mark ends an attribute there, and what follows can begin another one or an element.
    """
    title = _TITLE_END.sub("＜", shown_title(post))
    end = max(map(title.rfind, "<=>"))
    return title[: end + 1].replace('"', "＂") + title[end + 1 :]


def _listed(names: list[str]) -> str:
    """Return tags as a list. Pelican parts it at commas, or at semicolons, also those of references."""
    return ", ".join(_MARK.sub(_bare_references, name) for name in names)


def _bare_references(found: re.Match[str]) -> str:
    """Return characters as references without the semicolons that would part a tag."""
    return "".join(f"&#{ord(sign)}" for sign in found[0])


def _markdown(facts: Head, body: str) -> str:
    head = "".join(f"{key.capitalize()}: {value}\n" for key, value in facts.items())
    return f"{head}\n{body}"


def _html(facts: Head, body: str) -> str:
    """Return a page whose metadata Pelican decodes, except for the title, and then takes for HTML."""
    metas = "\n".join(
        f'<meta name="{key}" content="{escape(value)}" />' for key, value in facts.items() if key != "title"
    )
    head = f"<title>{facts['title']}</title>\n{metas}"
    return f"<!DOCTYPE html>\n<html>\n<head>\n{head}\n</head>\n<body>\n{body}</body>\n</html>\n"


FORMAT: Final = Format(
    "Pelican",
    export,
    drafts=True,
    bodies=True,
    shows=Comments.BODY,
    names=plain_name,
    holds=PAGES_HOLD - {Part.ADDRESS},
)
