"""The texts of entries and comments in the site's search. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from exporter.html.text import plain_text
from exporter.site.catalogue import anchor_name, one_line
from exporter.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterable

    from exporter.model.records import Comment, Post
    from exporter.site.library import LibraryBlog


class OtherText(NamedTuple):
    """A moved entry in a blog where its text differs from the shown one; ``text`` is without markup."""

    blog: LibraryBlog
    post: Post
    text: str


class Searched(NamedTuple):
    """An entry's texts: its own, and for each comment the anchor, the writer and the text."""

    text: str
    comments: list[list[str]]


def searched_text(
    entry: Post, body: str | None = None, more: str | None = None, others: Iterable[OtherText] = ()
) -> str:
    """Return the text of an entry.

    Args:
        entry: the entry.
        body: the text of its body if that is known.
        more: the text of its continuation if that is known.
        others: its differing texts in other blogs.
    """
    body = plain_text(entry.body, quiet=True) if body is None else body
    more = plain_text(entry.more, quiet=True) if more is None else more
    texts = (body, one_line(entry.more_title), more, plain_text(entry.excerpt), *(other.text for other in others))
    return visible("\n".join(text for text in texts if text))[0]


def searched_comment(comment: Comment) -> list[str]:
    """Return the anchor, the writer and the text of a comment."""
    text = visible("\n".join(filter(None, (comment.title, plain_text(comment.text)))))[0]
    return [anchor_name(comment.id), one_line(comment.name), text]
