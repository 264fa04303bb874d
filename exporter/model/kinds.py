"""The kinds of records in an archive, their ids, and the order of ids. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

from exporter.lossless_json import IntegerText
from exporter.message import Message, message

_DECIMAL = re.compile(r"[0-9]{1,4000}")


class Kind(StrEnum):
    """A kind of record; the value is the stem of its file names in the archive."""

    ENTRIES = "entries"
    ENTRY_LIST = "entry_list"
    COMMENTS = "comments"
    FILES = "files"
    USER = "user"
    ASSETS = "assets"


KIND_NAMES: Final[Mapping[str, Message]] = {
    Kind.ENTRIES: message("entries"),
    Kind.ENTRY_LIST: message("entry_list"),
    Kind.COMMENTS: message("comments"),
    Kind.FILES: message("uploads"),
    Kind.USER: message("user"),
    Kind.ASSETS: message("pictures and files"),
}
"""The names of the kinds, for people."""

BY_NAME: Final[Mapping[str, Kind]] = {
    "entry": Kind.ENTRIES,
    "item": Kind.ENTRY_LIST,
    "comment": Kind.COMMENTS,
    "file": Kind.FILES,
    "user": Kind.USER,
    "asset": Kind.ASSETS,
}
"""The kinds by the word that a user types for one record."""


def key_of(value: Any) -> str | None:
    """Return a record's id as text, also if the service sent a number; ``None`` if it is no valid id."""
    if isinstance(value, IntegerText):
        return str(value)
    if isinstance(value, str):
        return value or None
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return None


def sort_key(record_id: str) -> tuple[int, int, str]:
    """Return an id's sort key: numbers come first, then other ids as text."""
    if _DECIMAL.fullmatch(record_id):
        return (0, int(record_id), record_id)
    return (1, 0, record_id)
