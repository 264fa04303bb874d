"""What the text and the page of a diff have in common: names for people, values as text, counts, context. Pure."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from exporter import codec
from exporter.model.changes import ABSENT, Change, RecordChange
from exporter.model.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from exporter.render.worddiff import Op

KIND_NAMES: Final[dict[Kind, str]] = {
    Kind.ENTRIES: "entry",
    Kind.ENTRY_LIST: "list item",
    Kind.COMMENTS: "comment",
    Kind.FILES: "file",
    Kind.USER: "user",
    Kind.ASSETS: "asset",
}

_ELLIPSIS: Final = "…"


def value_text(value: Any) -> str:
    """Return a field's value as text: strings as they are, nothing for an absent one, JSON for everything else."""
    if value is ABSENT:
        return ""
    return str(value) if isinstance(value, str) else codec.canonical(value).decode("utf-8")


def in_context(parts: Sequence[tuple[Op, str]], width: int) -> Iterator[tuple[Op, str]]:
    """Cut long equal stretches, so that ``width`` characters of them stand beside what changed."""
    for number, (op, text) in enumerate(parts):
        first, last = number == 0, number == len(parts) - 1
        most = width if first or last else 2 * width
        if op != "equal" or len(text) <= most + len(_ELLIPSIS):
            yield op, text
        else:
            head = "" if first else text[:width]
            tail = "" if last else text[len(text) - width :]
            yield op, f"{head}{_ELLIPSIS}{tail}"


def count_changes(changes: Iterable[RecordChange]) -> dict[Kind, dict[Change, int]]:
    """Count by kind and change; kinds without a change are left out."""
    counted = Counter((change.kind, change.change) for change in changes)
    return {
        kind: {change: counted[kind, change] for change in Change}
        for kind in Kind
        if any(counted[kind, change] for change in Change)
    }
