"""The members of a record in Movable Type's format. Pure."""

from __future__ import annotations

from typing import Any, Final

TYPE: Final = "type"
TEXT: Final = "text"
ORDER: Final = "order"
OTHER: Final = "other"
BEFORE: Final = "before"
UNSEPARATED: Final = "unseparated"
"""Members of a record that are no fields of the format; those have names in capitals."""


def last_text(raw: Any, name: str) -> str:
    """Return a field without the white space around it, the last one of several; empty if it is missing."""
    value = raw.get(name)
    if isinstance(value, list):
        value = next((each for each in reversed(value) if isinstance(each, str)), "")
    return str(value).strip() if isinstance(value, str) else ""
