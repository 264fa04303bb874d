"""A diff as text for people, plain or coloured; every stranger's character is made printable. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from exporter.model.changes import Change, FieldChange, RecordChange
from exporter.printable import printable
from exporter.render.changes import KIND_NAMES, count_changes, in_context, value_text
from exporter.render.worddiff import Op, word_diff

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_CONTEXT: Final = 30
_SIGNS: Final[dict[Change, str]] = {Change.NEW: "+", Change.CHANGED: "~", Change.GONE: "-"}
_RED, _GREEN, _YELLOW, _RESET = "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[0m"
_COLOURS: Final[dict[Change, str]] = {Change.NEW: _GREEN, Change.CHANGED: _YELLOW, Change.GONE: _RED}
_PLAIN: Final[dict[Op, tuple[str, str]]] = {"equal": ("", ""), "delete": ("[-", "-]"), "insert": ("{+", "+}")}
_COLOURED: Final[dict[Op, tuple[str, str]]] = {"equal": ("", ""), "delete": (_RED, _RESET), "insert": (_GREEN, _RESET)}


def diff_text(changes: Iterable[RecordChange], *, colour: bool = False) -> Iterator[str]:
    """Yield the lines of a diff: a line for each record, and below it one for each field of a changed record.

    Deleted words stand as ``[-words-]`` and new ones as ``{+words+}``, or in red and green.
    """
    for change in changes:
        known = f"{KIND_NAMES[change.kind]} {printable(change.record_id)}"
        line = f"{_SIGNS[change.change]} {known}  {printable(change.title)}"
        yield f"{_COLOURS[change.change]}{line}{_RESET}" if colour else line
        if change.change is Change.CHANGED:
            for field in change.fields:
                yield f"    {printable(field.name)}: {_field(field, colour=colour)}"


def diff_stat(changes: Iterable[RecordChange]) -> Iterator[str]:
    """Yield a line for each kind that changed: how many records are new, changed and gone."""
    for kind, counted in count_changes(changes).items():
        yield f"{kind}: " + ", ".join(f"{number} {change}" for change, number in counted.items())


def _field(field: FieldChange, *, colour: bool) -> str:
    parts = word_diff(value_text(field.before), value_text(field.after))
    marks = _COLOURED if colour else _PLAIN
    return "".join(f"{marks[op][0]}{printable(text)}{marks[op][1]}" for op, text in in_context(parts, _CONTEXT))
