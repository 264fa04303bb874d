"""The differences between two states, field by field. Pure."""

from __future__ import annotations

from dataclasses import field
from enum import Enum, StrEnum
from typing import TYPE_CHECKING, Any, Final

from exporter import lossless_json
from exporter.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Mapping

    from exporter.model.kinds import Kind
    from exporter.model.records import Raw

WHOLE_RECORD: Final = "(as sent)"
"""The field name for a record whose values are equal, but which the service wrote differently."""


class Absent(Enum):
    """A missing field's value, which differs from ``null``."""

    ABSENT = "absent"


ABSENT: Final = Absent.ABSENT


class Change(StrEnum):
    """The kind of a record's change."""

    NEW = "new"
    CHANGED = "changed"
    GONE = "gone"


@frozen
class FieldChange:
    """One field with its values before and after; either may be ``ABSENT``."""

    name: str
    before: Any
    after: Any

    def document(self) -> dict[str, Any]:
        """Return the object for JSON, without a member for an absent value."""
        found: dict[str, Any] = {"name": self.name}
        if self.before is not ABSENT:
            found["before"] = self.before
        if self.after is not ABSENT:
            found["after"] = self.after
        return found


@frozen
class RecordChange:
    """A record that differs between two versions.

    Attributes:
        kind: the record's kind.
        record_id: its id.
        change: the kind of change.
        title: a title for people, never empty; untrusted.
        fields: the changed fields of a changed record; all fields of a new or deleted one.
        evidence: why the removal was accepted, if the later version has its tombstone.
        before: the raw record before; ``None`` for a new one.
        after: the raw record after; ``None`` for a deleted one.
    """

    kind: Kind
    record_id: str
    change: Change
    title: str
    fields: tuple[FieldChange, ...]
    evidence: dict[str, Any] | None = None
    before: Raw | None = field(default=None, repr=False, compare=False)
    after: Raw | None = field(default=None, repr=False, compare=False)

    def document(self) -> dict[str, Any]:
        """Return the object for JSON."""
        return {
            "kind": str(self.kind),
            "id": self.record_id,
            "change": str(self.change),
            "title": self.title,
            "fields": [each.document() for each in self.fields],
            "evidence": self.evidence,
        }


def field_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[FieldChange, ...]:
    """Compare two raw objects by field, in the later one's order; fields only in the earlier one come last.

    Values are compared as canonical text, so that ``1``, ``1.0``, ``"1"`` and ``true`` all differ.
    """
    names = [*after, *(name for name in before if name not in after)]
    pairs = ((name, before.get(name, ABSENT), after.get(name, ABSENT)) for name in names)
    return tuple(FieldChange(name, old, new) for name, old, new in pairs if _differ(old, new))


def _differ(before: Any, after: Any) -> bool:
    if before is ABSENT or after is ABSENT:
        return before is not after
    if type(before) is str and type(after) is str:
        return before != after
    return lossless_json.canonical(before) != lossless_json.canonical(after)
