"""The lossless form of an element in a WXR file: its members, and how they are read. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Members = dict[str, Any]


@dataclass(slots=True)
class Item:
    """An item.

    Attributes:
        line: its line in the file.
        members: its children but comments.
        comments: its comments, in their order. If they are too many, the others follow as :class:`LateComment`.
    """

    line: int
    members: Members
    comments: list[Members] = field(default_factory=list)


@dataclass(slots=True)
class LateComment:
    """A further comment on the item before, whose comments do not fit into memory."""

    members: Members


@dataclass(slots=True)
class Channel:
    """The children of the channel before its first item."""

    members: Members


def text_of(value: Any) -> str:
    """Return the text of a member; that of its first element if it is repeated."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return text_of(value[0]) if value else ""
    if isinstance(value, Mapping):
        found = value.get("#text", value.get("#markup", ""))
        return found if isinstance(found, str) else ""
    return ""


def all_of(value: Any) -> list[Any]:
    """Return a member as the list of its elements."""
    return value if isinstance(value, list) else [] if value is None else [value]
