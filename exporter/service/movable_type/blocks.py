"""The blocks of a file in Movable Type's import format: its separator lines, and what may follow them. Pure.

A line of five hyphens ends a section and one of eight hyphens ends an entry (the format's document,
``appendices/import-export-format`` of Movable Type's manual). Bodies may hold such lines too, and nothing escapes them.
So a separator counts only if a section's or an entry's beginning follows; all others are text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from exporter.service.movable_type.lines import (
    BLANKS,
    COMMENT_FIELDS,
    COMMENTS,
    HEAD_FIELDS,
    INVISIBLE,
    field_of,
    is_blank,
    lines_from,
)

SECTION: Final = "-----"
ENTRY: Final = "--------"
MAX_CHARACTERS: Final = 8 * 1024 * 1024
"""The limit for a block and for an entry without its comments, because a record is in memory."""
MAX_COMMENT_CHARACTERS: Final = 256 * 1024
"""The limit for a comment. An answer of the index has many comments."""

_SEPARATOR: Final = re.compile(
    rf"(?:(-{{5}}(?:-{{3}})?){BLANKS}\n|(-{{8}})(?={BLANKS}(?:{'|'.join(sorted(HEAD_FIELDS))}) ?:))", re.IGNORECASE
)
"""A separator, also one that lost its line end because another file follows."""
_LAST_SEPARATOR: Final = re.compile(rf"(-{{5}}(?:-{{3}})?){BLANKS}")
_SECTION: Final = re.compile(
    rf"[\s{INVISIBLE}]*(BODY|EXTENDED BODY|EXCERPT|KEYWORDS|COMMENT|PING|CF\d+_[\w-]+){BLANKS}[:：]{BLANKS}(?:\n|\Z)",
    re.IGNORECASE,
)
_INLINE_BODY: Final = re.compile(rf"[\s{INVISIBLE}]*BODY:(?=[ \t]*\S)")
_OTHER_SECTION: Final = re.compile(r"\s*([A-Z][A-Z0-9 _-]{1,40}):[ \t]*(?:\n|\Z)")


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
                self._separator, self._line = found[1] or found[2], self._lines - (found[1] is None)
                self._lines += found[1] is not None
                begin = found.end()
                at = max(at, begin - 1)
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


def section_name(block: FileBlock) -> tuple[str, int] | None:
    """Return the section that a block begins with and the position of its content, or ``None``.

    A comment or ping needs a field in its next line, as bodies may have the word alone.
    """
    found = _SECTION.match(block.text)
    if found is None:
        return None
    name = found[1] if found[1].startswith("CF") else found[1].upper()
    if name in COMMENTS:
        first = next((line for _, line in lines_from(block.text, found.end()) if not is_blank(line)), "")
        field = field_of(first)
        if field is None or field.name not in COMMENT_FIELDS:
            return None
    return name, found.end()


def inline_body(block: FileBlock) -> int | None:
    """Return where the text begins if a block begins with ``BODY: text``, as some programs write it."""
    found = _INLINE_BODY.match(block.text)
    return None if found is None else found.end() + block.text.startswith(" ", found.end())


def other_section(block: FileBlock) -> str | None:
    """Return the name if a block begins like a section that this program does not know."""
    found = _OTHER_SECTION.match(block.text)
    return None if found is None else found[1]
