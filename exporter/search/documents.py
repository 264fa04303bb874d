"""What of a record can be searched: its texts as a reader saw them. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import IntEnum

from exporter.html.text import plain_text
from exporter.model.kinds import Kind
from exporter.model.records import Raw
from exporter.service.interface import Records

KINDS = (Kind.ENTRIES, Kind.COMMENTS, Kind.FILES)
"""The kinds a hit can be of."""


class Rank(IntEnum):
    """How much a hit in a text counts, whatever the number of hits in texts of lower rank."""

    COMMENT = 1
    BODY = 2
    TITLE = 3


@dataclass(frozen=True, slots=True)
class Text:
    """One searchable text: the field's name as a hit shows it, its rank, and what a reader saw."""

    field: str
    rank: Rank
    text: str


@dataclass(frozen=True, slots=True)
class Document:
    """A record as it is searched.

    Attributes:
        entry_id: the entry it is or belongs to; empty for a file.
        title: what it is known by; empty for a comment, which is known by its entry.
        date: when it was written, as far as the service says.
        texts: at least one character each.
    """

    entry_id: str
    title: str
    date: datetime | None
    texts: tuple[Text, ...]


def entry_document(raw: Raw, item: Raw | None, service: Records) -> Document:
    """Return an entry's document from its record, and its list item where there is one."""
    entry = service.post(raw, item)
    return Document(
        entry.id,
        entry.title,
        entry.date,
        _present(
            Text("title", Rank.TITLE, entry.title),
            Text("body", Rank.BODY, plain_text(entry.body)),
            Text("continuation", Rank.BODY, entry.more_title),
            Text("continuation", Rank.BODY, plain_text(entry.more)),
            Text("category", Rank.BODY, entry.category or ""),
        ),
    )


def listed_document(item: Raw, service: Records) -> Document:
    """Return the document of an entry of which only the list item could be read."""
    listed = service.post(None, item)
    texts = _present(Text("title", Rank.TITLE, listed.title), Text("category", Rank.BODY, listed.category or ""))
    return Document(listed.id, listed.title, listed.period_date or listed.listed_on, texts)


def comment_document(raw: Raw, service: Records) -> Document:
    """Return a comment's document."""
    comment = service.comment(raw)
    return Document(
        comment.post_id,
        "",
        comment.date,
        _present(
            Text("title", Rank.COMMENT, comment.title),
            Text("name", Rank.COMMENT, comment.name),
            Text("text", Rank.COMMENT, plain_text(comment.text)),
        ),
    )


def file_document(raw: Raw, service: Records) -> Document:
    """Return a file's document; its date is when it was modified."""
    file = service.upload(raw)
    return Document(
        "",
        file.title or file.name,
        _from_seconds(file.modified),
        _present(
            Text("title", Rank.TITLE, file.title or ""),
            Text("name", Rank.TITLE, file.name),
            Text("explanation", Rank.BODY, plain_text(file.description or "")),
        ),
    )


def _present(*texts: Text) -> tuple[Text, ...]:
    return tuple(text for text in texts if text.text)


def _from_seconds(seconds: int | None) -> datetime | None:
    try:
        return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None
