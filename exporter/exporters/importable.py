"""What importers of whole blogs are known to refuse, to cut or to drop, entry by entry. Pure.

The lengths are those of WordPress' tables (``wp_posts``, ``wp_terms``, ``wp_comments``): it refuses a row of which one
value is longer, so a comment whose author's name is too long is lost as a whole.
"""

from __future__ import annotations

import re
from html import escape
from itertools import accumulate
from typing import Final, NamedTuple

from exporter.exporters.bodies import comment_author, comment_url
from exporter.exporters.posts import Post
from exporter.exporters.report import Report
from exporter.exporters.xmltext import cleaned
from exporter.model.records import Comment

CATEGORY_CHARACTERS: Final = 200
TEXT_BYTES: Final = 65_535
"""Titles of entries, texts of comments."""

_AUTHOR_BYTES: Final = 245
"""What WordPress itself allows for the 255 bytes of the column."""

_URL_CHARACTERS: Final = 200
_ACTIVE: Final = re.compile(r"<(?:script|iframe|object|embed|form)\b", re.IGNORECASE)


class Commenter(NamedTuple):
    """A commenter's name, in HTML, and address as WordPress can hold them."""

    author: str
    url: str


def look(post: Post, report: Report) -> None:
    """Name an entry that importers are known to change or to refuse."""
    if not post.title:
        report.limit("without a title", post.entry_id)
    if size(post.title) > TEXT_BYTES:
        report.limit(f"has a title above the {TEXT_BYTES:,} bytes WordPress holds", post.entry_id)
    if _ACTIVE.search(post.entry.entry_text) or _ACTIVE.search(post.entry.ps_text):
        report.limit("has scripts, frames or forms, which most services drop", post.entry_id)


def commenter(comment: Comment, report: Report) -> Commenter:
    """Return who wrote a comment, with the name cut and the address left out where they would cost the comment."""
    author, url = comment_author(comment), comment_url(comment)
    name = stored_name(author, _AUTHOR_BYTES)
    if name != stored_name(author):
        report.changed("comments", f"name cut at the {_AUTHOR_BYTES} bytes WordPress holds", comment.cm_id)
    if len(url) > _URL_CHARACTERS:
        url = ""
        report.changed("comments", f"address above {_URL_CHARACTERS} characters left out", comment.cm_id)
    return Commenter(name, url)


def stored_name(name: str, most_bytes: int | None = None) -> str:
    """Return a name in HTML, as WordPress holds it, cut between characters to so many bytes.

    WordPress strips what looks like a tag from the names of categories and commenters.
    """
    pieces = [escape(char, quote=False) for char in cleaned(name).text]
    sizes = accumulate(map(size, pieces))
    return "".join(piece for piece, end in zip(pieces, sizes, strict=True) if most_bytes is None or end <= most_bytes)


def size(text: str) -> int:
    """Return how many bytes a text has."""
    return len(text.encode("utf-8", "replace"))
