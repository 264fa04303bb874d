"""A post's texts as HTML for importers. Pure."""

from __future__ import annotations

import re
from html import escape

from exporter.model.records import Comment
from exporter.render.elements import LINE_TAGS
from exporter.render.htmltree import TooTangled, parse
from exporter.render.links import commenter_link
from exporter.render.runs import collapse
from exporter.render.safehtml import safe_html

_LINE_END = re.compile(r"\r\n?|\n")
_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)")


def has_line_tags(html: str) -> bool:
    """Tell whether tags say where lines end; where none does, a reader saw the text's own line ends."""
    return any(found[2].lower() in LINE_TAGS for found in _TAG.finditer(html))


def as_html(body: str) -> str:
    """Return a body as HTML that shows the same lines: one without any tag that ends lines gets its ``<br>``."""
    return body if has_line_tags(body) else _LINE_END.sub("<br>\n", body)


def comment_html(comment: Comment) -> str:
    """Return a stranger's comment as HTML without anything that runs; its title, if any, is its first line."""
    text = as_html(comment.cm_text)
    try:
        shown = safe_html(parse(text))
    except TooTangled:
        shown = escape(text)
    title = collapse(comment.title)
    return f"<b>{escape(title, quote=False)}</b><br>\n{shown}" if title else shown


def comment_author(comment: Comment) -> str:
    """Return the name a commenter gave, on one line."""
    return collapse(comment.name)


def comment_url(comment: Comment) -> str:
    """Return a commenter's address where it is one on the web."""
    return commenter_link(comment.url_text) or ""


def safe_body(body: str) -> str:
    """Return a body as HTML whose every tag is closed and where nothing runs.

    One that is too tangled to be parsed is shown as its source.
    """
    try:
        return safe_html(parse(as_html(body)))
    except TooTangled:
        return f"<pre>{escape(body)}</pre>"
