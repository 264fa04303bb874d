"""The changes of records as a reader sees them: words, pictures and players in paragraphs, and values in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from exporter.clock import timestamp
from exporter.export.record_values import value_reader
from exporter.html.dates import Dates
from exporter.html.diff import ATTRIBUTE_NAMES, in_context, value_text, word_diff
from exporter.html.reading_diff import SeenThing, reading_diff
from exporter.html.record_words import RecordWords
from exporter.model.changes import ABSENT, WHOLE_RECORD, Change, FieldChange, RecordChange
from exporter.model.kinds import Kind
from exporter.model.labels import path_name
from exporter.model.records import Category
from exporter.site.catalogue import one_line
from exporter.site.templating import escaped
from exporter.text import visible
from exporter.translation import translated, translator

if TYPE_CHECKING:
    from markupsafe import Markup

    from exporter.html.diff import Op
    from exporter.html.page_body import BodyWriter
    from exporter.model.records import Raw
    from exporter.service.interface import Records

_CONTEXT_CHARACTERS: Final = 60
"""Unchanged characters around a change: a sentence or two, a line and a half."""
_SHORT_CHARACTERS: Final = 80
"""Values up to this length are shown whole, before and after."""
_TEXTS: Final = frozenset({"body", "more", "excerpt", "text"})

Piece = tuple["Op", "str | Markup"]


class FieldDiff(NamedTuple):
    """A field that changed.

    Attributes:
        name: its name for people.
        lines: the paragraphs of its text, each in pieces with their operations; empty if it is shown whole.
        before: its old value, if it is shown whole.
        after: its new value.
        note: a sentence about the comparison; may be empty.
    """

    name: str
    lines: Sequence[Sequence[Piece]] = ()
    before: str = ""
    after: str = ""
    note: str = ""


class Bodies(NamedTuple):
    """Writes the bodies of two states.

    Attributes:
        before: writes the bodies of the earlier state.
        after: writes the bodies of the later state.
        root: the way from the page to the site's folder.
        inlined: finishes the HTML of one picture or player.
    """

    before: BodyWriter
    after: BodyWriter
    root: str = ""
    inlined: Callable[[Markup], Markup] = lambda html: html

    def shown(self, op: Op, thing: SeenThing) -> Markup:
        """Return a picture or a player as a page shows it."""
        writer = self.before if op == "delete" else self.after
        address, name = escaped(thing.address), escaped(thing.name)
        named = f'alt="{name}"' if thing.tag == "img" else f'title="{name}"'
        return self.inlined(writer.html(f'<{thing.tag} src="{address}" {named}></{thing.tag}>', self.root))


class ChangeWriter:
    """Writes the changes of records for pages in one language.

    Args:
        service: reads the records.
        language: of the page.
        dates: writes dates in it.
    """

    def __init__(self, service: Records, language: str, dates: Dates) -> None:
        self._service = service
        self._t = translator(language)
        self._say: Callable[[str], str] = lambda text: translated(text, language)
        self._dates = dates

    def of_record(self, change: RecordChange, bodies: Bodies) -> list[FieldDiff]:
        """Return the changes of a record by its neutral form, or else by its raw fields.

        Of a new or removed entry or comment only the texts.
        """
        if change.change is not Change.CHANGED or change.before is None or change.after is None:
            return self._texts(change, bodies)
        return self.fields(change.kind, change.fields, bodies, (change.before, change.after))

    def _texts(self, change: RecordChange, bodies: Bodies) -> list[FieldDiff]:
        found: list[FieldDiff] = []
        if change.kind is Kind.COMMENTS:
            old, new = ("" if raw is None else self._service.comment(raw).text for raw in (change.before, change.after))
            found += self._text(self._say(ATTRIBUTE_NAMES["text"]), old, new, bodies)
        elif change.kind is Kind.ENTRIES:
            posts = [None if raw is None else self._service.post(raw) for raw in (change.before, change.after)]
            for name in ("body", "more"):
                old, new = ("" if post is None else str(getattr(post, name)) for post in posts)
                found += self._text(self._say(ATTRIBUTE_NAMES[name]), old, new, bodies)
        return found

    def new_text(self, change: RecordChange, bodies: Bodies) -> list[FieldDiff] | None:
        """Return the text of a new or removed comment; ``None`` if the caller must compare its raw fields."""
        found = self.neutral(change.kind, change.fields, bodies, (change.before, change.after))
        if found is None or change.change is Change.CHANGED:
            return found
        return self._texts(change, bodies) if change.kind is Kind.COMMENTS else []

    def rows(self, change: RecordChange) -> list[FieldChange]:
        """Return a record's fields for a table: as sent, or in words if its service sends nested objects.

        A changed nested record has none here, because :meth:`fields` returns all of them.
        """
        words = RecordWords(self._say, self._dates.minute)
        read = value_reader(self._service, words, change.kind, change.before, change.after)
        if read is None:
            return list(change.fields)
        if change.change is Change.CHANGED:
            return []
        found = words.changed_fields(read, change.before, change.after, change.fields)
        return [replace(field, name=words.name(field.name)) for field in found]

    def fields(
        self, kind: Kind, fields: Sequence[FieldChange], bodies: Bodies, states: tuple[Raw, Raw] | None = None
    ) -> list[FieldDiff]:
        """Return the changes in the order of the record's fields.

        Args:
            kind: of the record.
            fields: that changed.
            bodies: write pictures and players.
            states: the record before and after, if known. Without them, for a value that is spread over several
                fields, only the changed fields are known.
        """
        before, after = states or (
            {field.name: field.before for field in fields if field.before is not ABSENT},
            {field.name: field.after for field in fields if field.after is not ABSENT},
        )
        attributes, texts = self._service.attributes.get(kind, {}), self._service.bodies.get(kind, ())
        neutral = None if states is None else self.neutral(kind, fields, bodies, states)
        if neutral is not None:
            return neutral
        old, new = (self._values(kind, raw) for raw in (before, after))
        found: list[FieldDiff] = []
        seen = set()
        for field in fields:
            attribute = attributes.get(field.name, "")
            name = self._say(ATTRIBUTE_NAMES.get(attribute, ""))
            if field.name in texts:
                found += self._text(name or field.name, value_text(field.before), value_text(field.after), bodies)
            elif attribute in seen:
                continue
            elif old.get(attribute, "") != new.get(attribute, ""):
                seen.add(attribute)
                found += _plain(name, old.get(attribute, ""), new.get(attribute, ""))
            else:
                # If the values read the same or are unknown, the raw values are shown.
                name = self._t("The record as sent") if field.name == WHOLE_RECORD else field.name
                found += _plain(name, value_text(field.before), value_text(field.after))
        return found

    def neutral(
        self, kind: Kind, fields: Sequence[FieldChange], bodies: Bodies, states: tuple[Raw | None, Raw | None]
    ) -> list[FieldDiff] | None:
        """Return the changes of a record by its neutral form; ``None`` if the caller must compare its raw fields."""
        words = RecordWords(self._say, self._dates.minute)
        read = value_reader(self._service, words, kind, *states)
        if read is None:
            return None
        found: list[FieldDiff] = []
        for field in words.changed_fields(read, *states, fields):
            name = self._t("The record as sent") if field.name == WHOLE_RECORD else words.name(field.name)
            old, new = value_text(field.before), value_text(field.after)
            found += self._text(name, old, new, bodies) if field.name in _TEXTS else _plain(name, old, new)
        return found

    def _values(self, kind: Kind, raw: Raw) -> dict[str, str]:
        """Return the attributes of a record as text; empty ones are omitted."""
        readers: Mapping[Kind, Any] = {
            Kind.ENTRIES: self._service.post,
            Kind.ENTRY_LIST: lambda raw: self._service.post(None, raw),
            Kind.COMMENTS: self._service.comment,
            Kind.FILES: self._service.upload,
        }
        if kind not in readers:
            return {}
        record = readers[kind](raw)
        names = set(self._service.attributes.get(kind, {}).values())
        found = {name: self._value(name, getattr(record, name)) for name in names if name in ATTRIBUTE_NAMES}
        return {name: text for name, text in found.items() if text}

    def _value(self, name: str, value: Any) -> str:
        if isinstance(value, bool):
            return self._t("yes") if value else self._t("no")
        if isinstance(value, datetime):
            return f"{self._dates.minute(value)}{f':{value:%S}' if value.second else ''}"
        if name == "modified" and isinstance(value, int):
            in_time = 0 <= value < 2**37
            return self._dates.written(timestamp(datetime.fromtimestamp(value, UTC))) if in_time else str(value)
        if isinstance(value, tuple):
            return ", ".join(path_name(each) if isinstance(each, Category) else str(each) for each in value)
        return f"{value:,}" if isinstance(value, int) else str(value or "")

    def _text(self, name: str, before: str, after: str, bodies: Bodies) -> list[FieldDiff]:
        """Compare the bodies as a reader sees them; if these read the same or cannot be parsed, their markup."""
        lines = reading_diff(before, after, _CONTEXT_CHARACTERS)
        if not lines:
            note = "" if lines is None else self._t("It reads the same; only its markup changed.")
            return [each._replace(note=note) for each in _words(name, before, after)]
        shown = [
            [(op, bodies.shown(op, piece) if isinstance(piece, SeenThing) else visible(piece)[0]) for op, piece in line]
            for line in lines
        ]
        return [FieldDiff(one_line(name), shown)]


def _plain(name: str, before: str, after: str) -> list[FieldDiff]:
    if max(len(before), len(after)) <= _SHORT_CHARACTERS and "\n" not in before + after:
        return [FieldDiff(one_line(name), before=visible(before)[0], after=visible(after)[0])]
    return _words(name, before, after)


def _words(name: str, before: str, after: str) -> list[FieldDiff]:
    shown = in_context(word_diff(before, after), _CONTEXT_CHARACTERS, sentences=True)
    line = [(op, visible(text)[0]) for op, text in shown]
    return [FieldDiff(one_line(name), [line])] if line else []
