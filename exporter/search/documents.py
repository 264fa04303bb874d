"""What is searched: each entry, comment and file as a document with named texts. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import IntEnum
from typing import Any

from exporter.model.kinds import Kind
from exporter.model.records import Comment, Entry, EntryListItem, FileInfo
from exporter.search.plain import plain_text

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


def entry_document(raw: Mapping[str, Any], item: Mapping[str, Any] | None) -> Document:
    """Return an entry's document from its record, and its list item where there is one."""
    entry = Entry.from_raw(raw)
    return Document(
        entry.entry_id,
        entry.title,
        entry.date,
        _present(
            Text("title", Rank.TITLE, entry.title),
            Text("body", Rank.BODY, plain_text(entry.entry_text)),
            Text("continuation", Rank.BODY, entry.ps_title),
            Text("continuation", Rank.BODY, plain_text(entry.ps_text)),
            Text("category", Rank.BODY, "" if item is None else EntryListItem.from_raw(item).category),
        ),
    )


def listed_document(item: Mapping[str, Any]) -> Document:
    """Return the document of an entry of which only the list item could be read."""
    listed = EntryListItem.from_raw(item)
    texts = _present(Text("title", Rank.TITLE, listed.title), Text("category", Rank.BODY, listed.category))
    return Document(listed.entry_id, listed.title, listed.period_date or listed.regist_date, texts)


def comment_document(raw: Mapping[str, Any]) -> Document:
    """Return a comment's document."""
    comment = Comment.from_raw(raw)
    return Document(
        comment.entry_id,
        "",
        comment.regist_date,
        _present(
            Text("title", Rank.COMMENT, comment.title),
            Text("name", Rank.COMMENT, comment.name),
            Text("text", Rank.COMMENT, plain_text(comment.cm_text)),
        ),
    )


def file_document(raw: Mapping[str, Any]) -> Document:
    """Return a file's document; its date is ``mtime``, taken as seconds since 1970."""
    file = FileInfo.from_raw(raw)
    return Document(
        "",
        file.title or file.name,
        _from_seconds(file.mtime),
        _present(
            Text("title", Rank.TITLE, file.title or ""),
            Text("name", Rank.TITLE, file.name),
            Text("explanation", Rank.BODY, plain_text(file.explanation or "")),
        ),
    )


def _present(*texts: Text) -> tuple[Text, ...]:
    return tuple(text for text in texts if text.text)


def _from_seconds(seconds: int | None) -> datetime | None:
    try:
        return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None
