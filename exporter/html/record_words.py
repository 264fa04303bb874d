"""What changed in a record, in the words of its neutral form instead of its service's fields. Pure.

Some services send nested objects: one raw field holds several values, and one value depends on several fields. Their
records are compared by the attributes of the neutral records. A raw field that changes none of these is shown as sent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from exporter.html.diff import ATTRIBUTE_NAMES, FieldNames
from exporter.message import message
from exporter.model.changes import ABSENT, FieldChange, RecordChange
from exporter.model.labels import name_of, path_name
from exporter.model.records import Audience, Category, Comment, CommentKind, CommentStatus, Post, PostKind, Raw, Upload

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Values = dict[str, str]
"""A record's attributes as text, by their names; empty ones are omitted."""

_POST: Final = (
    "title", "kind", "audience", "access", "date", "updated", "period_date", "categories", "tags", "author",
    "permalink", "slug", "featured", "excerpt", "body", "more_title", "more", "template", "comments_open",
    "pings_open", "sources",
)  # fmt: skip
_COMMENT: Final = (
    "name", "url", "email", "date", "title", "text", "kind", "status", "deleted", "parent", "by_owner", "reply",
)  # fmt: skip
_UPLOAD: Final = (
    "name", "title", "alt", "description", "url", "bytes", "width", "height", "modified", "extension",
)  # fmt: skip
_HIDDEN: Final = "email"
_FILES: Final = "attachments"
"""The member of a record that lists the files of its galleries."""
_MAX_TRIED_FIELDS: Final = 50
"""Changed raw fields that are tried one by one, each on a copy of the record; more than these are all shown as sent."""
_NOT_SHOWN: Final = message("(not shown)")


class RecordWords:
    """Writes the values of neutral records.

    Args:
        say: translates a message.
        moment: writes a date.
    """

    def __init__(self, say: Callable[[str], str], moment: Callable[[datetime], str]) -> None:
        self._say = say
        self._moment = moment

    def of(self, record: Post | Comment | Upload) -> Values:
        """Return the values of a record."""
        names = _POST if isinstance(record, Post) else _COMMENT if isinstance(record, Comment) else _UPLOAD
        if isinstance(record, Post):
            record = replace(record, categories=record.every_category)
            if record.audience is not None:
                record = replace(record, access="")
        found = {name: self._text(getattr(record, name)) for name in names}
        if isinstance(record, Upload):
            found["permalink"] = found.pop("url")
        return {name: text for name, text in found.items() if text}

    def _text(self, value: object) -> str:
        if value is None:
            return ""
        if isinstance(value, bool):
            return self._say(message("yes") if value else message("no"))
        if isinstance(value, PostKind | Audience | CommentKind | CommentStatus):
            return self._say(name_of(value))
        if isinstance(value, datetime):
            return self._moment(value)
        if isinstance(value, int):
            return f"{value:,}"
        if isinstance(value, tuple):
            return ", ".join(path_name(each) if isinstance(each, Category) else str(each) for each in value)
        return str(value)

    def changed_fields(
        self, values: Callable[[Raw], Values], before: Raw | None, after: Raw | None, fields: Iterable[FieldChange]
    ) -> list[FieldChange]:
        """Return the attributes that differ, then the raw fields on which no attribute depends.

        Args:
            values: returns the values of a raw record.
            before: the raw record before; ``None`` if there was none.
            after: the raw record after; ``None`` if it is gone.
            fields: the raw fields that differ.
        """
        old, new = ({} if raw is None else values(raw) for raw in (before, after))
        names = [*new, *(name for name in old if name not in new)]
        said_before, said_after = self.shown(old), self.shown(new)
        found = [
            FieldChange(name, said_before.get(name, ABSENT), said_after.get(name, ABSENT))
            for name in names
            if old.get(name) != new.get(name)
        ]
        if before is None or after is None:
            return found
        changed = list(fields)
        if len(changed) > _MAX_TRIED_FIELDS:
            return found + changed
        others = [
            each for each in changed if values(_with(before, each)) == old and values(_without(after, each)) == new
        ]
        return found + list(map(_with_names, others))

    def name(self, attribute: str) -> str:
        """Return an attribute's name, or that of a raw field that is shown as sent."""
        return self._say(ATTRIBUTE_NAMES.get(attribute, attribute))

    def shown(self, values: Values) -> Values:
        """Return values as they may be shown: a mail address is not."""
        return {name: self._say(_NOT_SHOWN) if name == _HIDDEN else text for name, text in values.items()}


def _with_names(field: FieldChange) -> FieldChange:
    """Name the files that a changed list has, in their order; keep the list if these names are the same."""
    if field.name != _FILES:
        return field
    before, after = _file_names(field.before), _file_names(field.after)
    return field if before == after else FieldChange(field.name, before, after)


def _file_names(rows: object) -> str:
    """Return the names of files in the order that the owner gave them."""
    found = [each for each in rows if isinstance(each, dict)] if isinstance(rows, list) else []
    orders = ((each.get("order"), str(each.get("url", ""))) for each in found)
    ordered = sorted(orders, key=lambda each: each[0] if type(each[0]) is int else 0)
    return ", ".join(unquote(url.rpartition("/")[2]) for _, url in ordered)


def _with(before: Raw, field: FieldChange) -> Raw:
    """Return a record with the new value of one field."""
    kept = {name: value for name, value in before.items() if name != field.name}
    return kept if field.after is ABSENT else {**kept, field.name: field.after}


def _without(after: Raw, field: FieldChange) -> Raw:
    """Return a record with the former value of one field."""
    return _with(after, FieldChange(field.name, field.after, field.before))


def in_words(
    changes: Iterable[RecordChange],
    reader: Callable[[RecordChange], Callable[[Raw], Values] | None],
    words: RecordWords,
    names: FieldNames,
) -> Iterator[RecordChange]:
    """Yield changes with names and values for people.

    Args:
        changes: the changes of raw records.
        reader: returns how the records of a change are read, or ``None`` if their raw fields are shown.
        words: writes the values.
        names: returns the names of raw fields.
    """
    for change in changes:
        read = reader(change)
        if read is None:
            named = [replace(field, name=names(change.kind, field.name)) for field in change.fields]
        else:
            found = words.changed_fields(read, change.before, change.after, change.fields) or change.fields
            named = [replace(field, name=words.name(field.name)) for field in found]
        yield replace(change, fields=tuple(named))
