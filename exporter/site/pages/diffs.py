"""What changed in a record, for people: fields by names in the page's language, short ones whole, texts as read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from exporter.clock import timestamp
from exporter.html.diff import ATTRIBUTE_NAMES, in_context, value_text, word_diff
from exporter.html.limits import too_large
from exporter.html.text import plain_text
from exporter.model.changes import ABSENT, WHOLE_RECORD, FieldChange
from exporter.model.kinds import Kind
from exporter.site.catalogue import one_line
from exporter.text import visible

if TYPE_CHECKING:
    from exporter.html.sentences import Op
    from exporter.model.records import Raw
    from exporter.site.pages.site import Site

_CONTEXT: Final = 60
"""So many characters beside what changed: a sentence or two, a line and a half."""
_SHORT: Final = 80
"""So many characters are shown whole, before and after."""


class FieldDiff(NamedTuple):
    """A field that changed.

    Attributes:
        name: what it is called.
        parts: its words with what was done to them; empty where it is shown whole.
        before: what it was, where it is shown whole.
        after: what it is then.
    """

    name: str
    parts: Sequence[tuple[Op, str]] = ()
    before: str = ""
    after: str = ""


def field_diffs(
    site: Site, kind: Kind, fields: Sequence[FieldChange], states: tuple[Raw, Raw] | None = None
) -> list[FieldDiff]:
    """Return what changed, in the order of the record's fields.

    Args:
        site: the site.
        kind: of the record.
        fields: that changed.
        states: the record before and after, where they are at hand; without them, of a value that is spread over
            fields only those that changed are known.
    """
    before, after = states or _alone(fields)
    return list(_diffs(site, kind, fields, before, after))


def _alone(fields: Sequence[FieldChange]) -> tuple[Raw, Raw]:
    return (
        {field.name: field.before for field in fields if field.before is not ABSENT},
        {field.name: field.after for field in fields if field.after is not ABSENT},
    )


def _diffs(site: Site, kind: Kind, fields: Sequence[FieldChange], before: Raw, after: Raw) -> Iterator[FieldDiff]:
    service = site.catalogue.service
    attributes, texts = service.attributes.get(kind, {}), service.bodies.get(kind, ())
    old, new = (_values(site, kind, raw) for raw in (before, after))
    told = set()
    for field in fields:
        attribute = attributes.get(field.name, "")
        if field.name in texts:
            name = _attribute_name(site, attribute) or field.name
            yield from _text(name, value_text(field.before), value_text(field.after))
        elif attribute in told:
            continue
        elif old.get(attribute, "") != new.get(attribute, ""):
            told.add(attribute)
            yield from _plain(_attribute_name(site, attribute), old.get(attribute, ""), new.get(attribute, ""))
        else:
            # It reads the same, or nothing is known of it: what was sent tells.
            name = site.t("The record as sent") if field.name == WHOLE_RECORD else field.name
            yield from _plain(name, value_text(field.before), value_text(field.after))


def _attribute_name(site: Site, attribute: str) -> str:
    return site.say(ATTRIBUTE_NAMES.get(attribute, ""))


def _values(site: Site, kind: Kind, raw: Raw) -> dict[str, str]:
    """Return what the attributes of a record say, in words; those that say nothing are left out."""
    service = site.catalogue.service
    readers: Mapping[Kind, Any] = {
        Kind.ENTRIES: service.post,
        Kind.COMMENTS: service.comment,
        Kind.FILES: service.upload,
    }
    if kind not in readers:
        return {}
    record = readers[kind](raw)
    names = set(service.attributes.get(kind, {}).values())
    found = {name: _said(site, name, getattr(record, name)) for name in names if name in ATTRIBUTE_NAMES}
    return {name: text for name, text in found.items() if text}


def _said(site: Site, name: str, value: Any) -> str:
    if isinstance(value, bool):
        return site.t("yes") if value else site.t("no")
    if isinstance(value, datetime):
        return f"{site.dates.minute(value)}{f':{value:%S}' if value.second else ''}"
    if name == "modified" and isinstance(value, int):
        return site.dates.written(timestamp(datetime.fromtimestamp(value, UTC))) if 0 <= value < 2**37 else str(value)
    return f"{value:,}" if isinstance(value, int) else value or ""


def _text(name: str, before: str, after: str) -> Iterator[FieldDiff]:
    """Compare what a reader saw; where only the markup changed, or where it is too large to be shown, the markup."""
    if not (too_large(before) or too_large(after)):
        seen = plain_text(before), plain_text(after)
        before, after = seen if seen[0] != seen[1] else (before, after)
    yield from _words(name, before, after)


def _plain(name: str, before: str, after: str) -> Iterator[FieldDiff]:
    if max(len(before), len(after)) <= _SHORT and "\n" not in before + after:
        yield FieldDiff(one_line(name), before=visible(before)[0], after=visible(after)[0])
    else:
        yield from _words(name, before, after)


def _words(name: str, before: str, after: str) -> Iterator[FieldDiff]:
    shown = in_context(word_diff(before, after), _CONTEXT, sentences=True)
    parts = [(op, visible(text)[0]) for op, text in shown]
    if parts:
        yield FieldDiff(one_line(name), parts)
