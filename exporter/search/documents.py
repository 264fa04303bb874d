"""What of a record is searched, and how much a hit in each of its texts counts. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import IntEnum
from typing import TYPE_CHECKING, Final

from exporter.html.text import plain_text
from exporter.model.kinds import Kind

if TYPE_CHECKING:
    from exporter.model.records import Raw
    from exporter.service.interface import Records


class Rank(IntEnum):
    """How much a hit in a text counts, whatever the number of hits in texts of lower rank."""

    COMMENT = 1
    BODY = 2
    TITLE = 3


FIELDS: Final[dict[Kind, tuple[tuple[str, Rank], ...]]] = {
    Kind.ENTRIES: (
        ("title", Rank.TITLE),
        ("body", Rank.BODY),
        ("continuation", Rank.BODY),
        ("continuation", Rank.BODY),
        ("category", Rank.BODY),
    ),
    Kind.COMMENTS: (("title", Rank.COMMENT), ("name", Rank.COMMENT), ("text", Rank.COMMENT)),
    Kind.FILES: (("title", Rank.TITLE), ("name", Rank.TITLE), ("explanation", Rank.BODY)),
}
"""The kinds that are searched, in the order of their hits, and the texts of each: a field's name as a hit shows it."""


@dataclass(frozen=True, slots=True)
class SearchDocument:
    """A record as it is searched.

    Attributes:
        entry_id: the entry it is or belongs to; empty for a file.
        title: what it is known by; empty for a comment, which is known by its entry.
        date: when it was written, as far as the service says; a file's is when it was modified.
        texts: what a reader saw, a text for each of its kind's :data:`FIELDS`; empty where there is none.
    """

    entry_id: str
    title: str
    date: datetime | None
    texts: tuple[str, ...]


def document_of(kind: Kind, raw: Raw | None, item: Raw | None, service: Records) -> SearchDocument:
    """Return a record's document.

    Args:
        kind: entries, comments or files.
        raw: the record; ``None`` for an entry of which only the list item could be read.
        item: an entry's list item, where there is one.
        service: reads them.
    """
    if kind is Kind.COMMENTS:
        comment = service.comment(raw or {})
        return SearchDocument(
            comment.post_id, "", comment.date, (comment.title, comment.name, plain_text(comment.text))
        )
    if kind is Kind.FILES:
        file = service.upload(raw or {})
        texts = (file.title or "", file.name, plain_text(file.description or ""))
        return SearchDocument("", file.title or file.name, _from_seconds(file.modified), texts)
    post = service.post(raw, item)
    return SearchDocument(
        post.id,
        post.title,
        post.date if raw is not None else post.period_date or post.listed_on,
        (post.title, plain_text(post.body), post.more_title, plain_text(post.more), post.category or ""),
    )


def _from_seconds(seconds: int | None) -> datetime | None:
    try:
        return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None
