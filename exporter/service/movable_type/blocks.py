"""The blocks of a file in Movable Type's import format: its separator lines, and what may follow them. Pure.

A line of five hyphens ends a section and one of eight hyphens ends an entry (the format's document,
``appendices/import-export-format`` of Movable Type's manual). Bodies may hold such lines too, and nothing escapes them.
So a separator counts only if a section's or an entry's beginning follows; all others are text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

SECTION: Final = "-----"
ENTRY: Final = "--------"
MAX_CHARACTERS: Final = 8 * 1024 * 1024
"""The limit for a block and for an entry without its comments, because a record is in memory."""
MAX_COMMENT_CHARACTERS: Final = 256 * 1024
"""The limit for a comment. An answer of the index has many comments."""

TEXTS: Final = ("BODY", "EXTENDED BODY", "EXCERPT", "KEYWORDS")
"""The sections that an entry has at most once."""
COMMENTS: Final = ("COMMENT", "PING")
HEAD_FIELDS: Final = frozenset(
    {
        "AUTHOR", "TITLE", "BASENAME", "STATUS", "ALLOW COMMENTS", "ALLOW PINGS", "CONVERT BREAKS", "PRIMARY CATEGORY",
        "CATEGORY", "DATE", "TAGS", "NO ENTRY", "UNIQUE URL", "PATH", "IMAGE", "PASSWORD",
    }
)  # fmt: skip
"""The fields of Movable Type, and of Typepad (UNIQUE URL), Hatena (IMAGE) and other dialects."""
COMMENT_FIELDS: Final = frozenset(
    {"AUTHOR", "EMAIL", "IP", "URL", "DATE", "TITLE", "BLOG NAME", "SECRET", "PASS", "PASSWORD", "STATUS"}
)
_CORE_FIELDS: Final = frozenset({"AUTHOR", "TITLE", "BASENAME", "DATE"})
_SEPARATOR: Final = re.compile(r"(-{5}(?:-{3})?)[ \t]*\n")
_LAST_SEPARATOR: Final = re.compile(r"(-{5}(?:-{3})?)[ \t]*")
_FIELD: Final = re.compile(r"[ \t]*([A-Z][A-Z0-9_-]*(?: [A-Z0-9_-]+){0,4})[ \t]*: ?(.*)")
_SECTION: Final = re.compile(
    r"\s*(BODY|EXTENDED BODY|EXCERPT|KEYWORDS|COMMENT|PING|CF\d+_[\w-]+)[ \t]*:[ \t]*(?:\n|\Z)"
)
_INLINE_BODY: Final = re.compile(r"\s*BODY:(?=[ \t]*\S)")
_OTHER_SECTION: Final = re.compile(r"\s*([A-Z][A-Z0-9 _-]{1,40}):[ \t]*(?:\n|\Z)")
_START_BODY: Final = "START BODY"
"""Begins the body in files of Movable Type 1, without a separator."""
_MOST_CHARACTERS_BEFORE: Final = 64 * 1024
_MOST_STRANGE_LINES: Final = 20


class FileBlock(NamedTuple):
    """The lines between two separators.

    Attributes:
        separator: the line before it; empty for the first block.
        line: the number of that line, from 1; 0 for the first block.
        text: its lines.
        dropped: its characters beyond :data:`MAX_CHARACTERS`, which are not in ``text``.
    """

    separator: str
    line: int
    text: str
    dropped: int = 0


class Field(NamedTuple):
    """A line ``NAME: value``."""

    name: str
    value: str


def blocks(pieces: Iterable[str]) -> Iterator[FileBlock]:
    """Yield the blocks of a text that comes in pieces. Memory holds one block."""
    made = _Blocks()
    for piece in pieces:
        yield from made.take(piece)
    yield from made.end()


class _Blocks:
    def __init__(self) -> None:
        self._held = ""
        self._inside_line = False
        self._separator, self._line = "", 0
        self._lines = 1
        self._parts: list[str] = []
        self._size = self._dropped = 0

    def take(self, piece: str) -> Iterator[FileBlock]:
        text = self._held + piece
        end = text.rfind("\n") + 1
        if not end:
            self._held = text
            if len(text) > MAX_CHARACTERS:
                self._add(text)
                self._held, self._inside_line = "", True
            return
        begin = 0
        at = text.find("\n-") + 1 if self._inside_line or not text.startswith("-") else 0
        while at < end and (at or text.startswith("-")):
            found = _SEPARATOR.match(text, at)
            if found is not None and not (at == 0 and self._inside_line):
                self._add(text[begin:at])
                yield self._block()
                self._separator, self._line = found[1], self._lines
                self._lines += 1
                begin = found.end()
                at = begin - 1
            at = text.find("\n-", at) + 1
            if not at:
                break
        self._add(text[begin:end])
        self._held, self._inside_line = text[end:], False

    def end(self) -> Iterator[FileBlock]:
        last = None if self._inside_line else _LAST_SEPARATOR.fullmatch(self._held)
        if last is None:
            self._add(self._held)
            yield self._block()
            return
        yield self._block()
        yield FileBlock(last[1], self._lines, "")

    def _add(self, text: str) -> None:
        if not text:
            return
        self._lines += text.count("\n")
        kept = text if self._size + len(text) <= MAX_CHARACTERS else text[: max(0, MAX_CHARACTERS - self._size)]
        self._dropped += len(text) - len(kept)
        self._size += len(kept)
        self._parts.append(kept)

    def _block(self) -> FileBlock:
        found = FileBlock(self._separator, self._line, "".join(self._parts), self._dropped)
        self._parts.clear()
        self._size = self._dropped = 0
        return found


def is_blank(text: str) -> bool:
    """Return whether a text has only white space."""
    return not text or text.isspace()


def lines_from(text: str, at: int = 0) -> Iterator[tuple[int, str]]:
    """Yield each line after a position, with the position after the line, without making a list of them."""
    while at < len(text):
        end = text.find("\n", at)
        after = len(text) if end < 0 else end + 1
        yield after, text[at : len(text) if end < 0 else end]
        at = after


def field_of(line: str) -> Field | None:
    """Read a line as a field, whose name is in capitals; its value loses the space after the colon alone."""
    found = _FIELD.fullmatch(line)
    return None if found is None else Field(found[1], found[2])


def section_name(block: FileBlock) -> tuple[str, int] | None:
    """Return the section that a block begins with and the position of its content, or ``None``.

    A comment or ping needs a field in its next line, as bodies may have the word alone.
    """
    found = _SECTION.match(block.text)
    if found is None:
        return None
    if found[1] in COMMENTS:
        first = next((line for _, line in lines_from(block.text, found.end()) if not is_blank(line)), "")
        field = field_of(first)
        if field is None or field.name not in COMMENT_FIELDS:
            return None
    return found[1], found.end()


def inline_body(block: FileBlock) -> int | None:
    """Return where the text begins if a block begins with ``BODY: text``, as some programs write it."""
    found = _INLINE_BODY.match(block.text)
    return None if found is None else found.end() + block.text.startswith(" ", found.end())


def other_section(block: FileBlock) -> str | None:
    """Return the name if a block begins like a section that this program does not know."""
    found = _OTHER_SECTION.match(block.text)
    return None if found is None else found[1]


def begins_text(field: Field) -> str | None:
    """Return the section that a line in an entry's head begins, without a separator before it."""
    if field.name == _START_BODY:
        return "BODY"
    return field.name if field.name in TEXTS and is_blank(field.value) else None


def head_begins(text: str) -> int | None:
    """Find the first line with a known field; return its position, or ``None``."""
    at = 0
    for after, line in lines_from(text):
        field = field_of(line)
        if field is not None and field.name in HEAD_FIELDS:
            return at
        at = after
        if at > _MOST_CHARACTERS_BEFORE:
            return None
    return None


def is_head(text: str, following: FileBlock | None) -> bool:
    """Return whether a block is the head of an entry.

    Its first line must be a field, and it must name an author, a title, a name or a date. It needs two more known
    fields than lines of other kinds if a section of text follows or the file ends, otherwise three more.
    """
    counted = _HeadLines(text)
    if not counted.core:
        return False
    likely = counted.begun or following is None
    if following is not None and following.separator == SECTION:
        found = section_name(following)
        likely = likely or (found is not None and found[0] in TEXTS) or inline_body(following) is not None
    return counted.known - counted.strange >= (2 if likely else 3)


class _HeadLines:
    """Counts fields and other lines until the block cannot be an entry's head."""

    def __init__(self, text: str) -> None:
        self.known = self.strange = 0
        self.core = self.begun = False
        first = True
        for _, line in lines_from(text):
            if is_blank(line):
                continue
            field = field_of(line)
            if field is None:
                self.strange += 1
            elif field.name in HEAD_FIELDS:
                self.known += 1
                self.core = self.core or field.name in _CORE_FIELDS
            elif begins_text(field) is not None:
                self.begun = True
                return
            if (first and field is None) or self.strange > self.known + _MOST_STRANGE_LINES:
                self.core = False
                return
            first = False
