"""The lines of a file in Movable Type's import format: fields, and invisible characters. Pure.

A name may have any case, full width, and invisible characters around or inside it. Joined files have byte order marks
and the end-of-file mark ``^Z`` before a name.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Final, NamedTuple

TEXTS: Final = ("BODY", "EXTENDED BODY", "EXCERPT", "KEYWORDS")
"""The sections that an entry has at most once."""
COMMENTS: Final = ("COMMENT", "PING")
NO_ENTRY: Final = "NO ENTRY"
"""The field of a block whose comments belong to an entry of another file, and that is no entry."""
HEAD_FIELDS: Final = frozenset(
    {
        "AUTHOR", "TITLE", "BASENAME", "STATUS", "ALLOW COMMENTS", "ALLOW PINGS", "CONVERT BREAKS", "PRIMARY CATEGORY",
        "CATEGORY", "DATE", "TAGS", NO_ENTRY, "UNIQUE URL", "PATH", "IMAGE", "PASSWORD",
    }
)  # fmt: skip
"""The fields of Movable Type, and of Typepad (UNIQUE URL), Hatena (IMAGE) and other dialects."""
COMMENT_FIELDS: Final = frozenset(
    {"AUTHOR", "EMAIL", "IP", "URL", "DATE", "TITLE", "BLOG NAME", "SECRET", "PASS", "PASSWORD", "STATUS"}
)
CORE_FIELDS: Final = frozenset({"AUTHOR", "TITLE", "BASENAME", "DATE", NO_ENTRY})
START_BODY: Final = "START BODY"
"""Begins the body in files of Movable Type 1, without a separator."""
INVISIBLE: Final = (
    "\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffd"
)
"""Control characters, marks of direction and zero-width characters, as the inside of a character class."""
BLANKS: Final = rf"[{INVISIBLE} \t\xa0\u1680\u2000-\u200a\u202f\u205f\u3000]*"

_KNOWN: Final = HEAD_FIELDS | COMMENT_FIELDS | {*TEXTS, START_BODY}
_FIELD: Final = re.compile(r"[ \t]*([A-Z][A-Z0-9_-]*(?: [A-Z0-9_-]+){0,4})[ \t]*: ?(.*)")
_NAMED: Final = re.compile(r"([^:：]{3,60})[:：] ?(.*)", re.DOTALL)
_UNSEEN: Final = re.compile(f"[{INVISIBLE}]+")
_VISIBLE: Final = re.compile(rf"[^\s{INVISIBLE}]")


class Field(NamedTuple):
    """A line ``NAME: value``.

    Attributes:
        name: in capitals.
        value: without the space after the colon.
        exact: whether the name is written as the format writes it.
    """

    name: str
    value: str
    exact: bool = True


def is_blank(text: str, at: int = 0) -> bool:
    """Return whether a text has only white space and invisible characters after a position."""
    return _VISIBLE.search(text, at) is None


def lines_from(text: str, at: int = 0) -> Iterator[tuple[int, str]]:
    """Yield each line after a position, with the position after the line, without making a list of them."""
    while at < len(text):
        end = text.find("\n", at)
        after = len(text) if end < 0 else end + 1
        yield after, text[at : len(text) if end < 0 else end]
        at = after


def field_of(line: str) -> Field | None:
    """Read a line as a field: any name in capitals, or a known name in another form."""
    found = _FIELD.fullmatch(line)
    if found is not None:
        return Field(found[1], found[2])
    found = _NAMED.fullmatch(line)
    if found is None:
        return None
    shown = " ".join(_UNSEEN.sub("", unicodedata.normalize("NFKC", found[1])).split())
    name = shown.upper()
    return Field(name, found[2], exact=name == shown) if name in _KNOWN else None


def begins_text(field: Field) -> str | None:
    """Return the section that a line in an entry's head begins, without a separator before it."""
    if field.name == START_BODY:
        return "BODY"
    return field.name if field.name in TEXTS and is_blank(field.value) else None
