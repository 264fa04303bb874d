"""How the records of a service are read for a comparison by the attributes of their neutral form. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from exporter.html.record_words import RecordWords, Values
from exporter.model.kinds import Kind
from exporter.model.labels import is_labelled, is_marked
from exporter.model.records import Comment, Post, Upload

if TYPE_CHECKING:
    from exporter.model.records import Raw
    from exporter.service.interface import Records


def value_reader(service: Records, words: RecordWords, kind: Kind, *raws: Raw | None) -> Callable[[Raw], Values] | None:
    """Return a function that reads the values of a raw record.

    ``None`` if the caller must compare the raw fields. The kind then has no neutral form, or the service names the
    attribute of each field and the records have nothing else.

    Args:
        service: reads the records.
        words: writes the values.
        kind: of the records.
        raws: the records to compare.
    """
    read: dict[Kind, Callable[[Raw], Post | Comment | Upload]] = {
        Kind.ENTRIES: service.post,
        Kind.ENTRY_LIST: lambda raw: service.post(None, raw),
        Kind.COMMENTS: service.comment,
        Kind.FILES: service.upload,
    }
    if kind not in read or (service.attributes.get(kind) and not any(_is_wide(read[kind](raw)) for raw in raws if raw)):
        return None
    return lambda raw: words.of(read[kind](raw))


def _is_wide(record: Post | Comment | Upload) -> bool:
    if isinstance(record, Post):
        return is_labelled(record)
    return is_marked(record) if isinstance(record, Comment) else bool(record.url or record.alt)


def texts_of(service: Records, kind: Kind, raw: Raw) -> list[str]:
    """Return the texts of an entry or a comment as HTML."""
    if kind is Kind.COMMENTS:
        return [service.comment(raw).text]
    post = service.post(raw) if kind is Kind.ENTRIES else None
    return [] if post is None else [text for text in (post.body, post.more) if text]
