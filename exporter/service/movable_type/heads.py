"""The heads of entries, certain and possible ones. Pure.

After the end of an entry a head is certain. A head inside a text may be the next entry, if the line before it is
damaged or missing, or a quotation. Nothing tells the two apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from exporter.service.movable_type.blocks import SECTION, FileBlock, inline_body, section_name
from exporter.service.movable_type.dates import read_date
from exporter.service.movable_type.lines import (
    COMMENT_FIELDS,
    COMMENTS,
    CORE_FIELDS,
    HEAD_FIELDS,
    TEXTS,
    Field,
    begins_text,
    field_of,
    is_blank,
    lines_from,
)

_MOST_CHARACTERS_BEFORE: Final = 64 * 1024
_MOST_STRANGE_LINES: Final = 20
_MOST_STRANGE_INSIDE: Final = 2
_LINE: Final = re.compile('(?:\\A|(?<=[\n\ufeff]))[^\n\ufeff:：<>"/。、]{3,60}[:：]')
"""The beginning of a line that may be a field. A byte order mark begins a file, so it begins a line."""
_ONLY_COMMENTS: Final = COMMENT_FIELDS - HEAD_FIELDS - {"URL"}


class PossibleHead(NamedTuple):
    """A head inside a text: its position, and that of the text after it."""

    begin: int
    end: int


def head_begins(text: str, most_lines: int | None = None) -> int | None:
    """Return the position where a head is in a text, or ``None``; ``most_lines`` limits the other lines before it."""
    at = strange = 0
    for after, line in lines_from(text):
        field = field_of(line)
        if field is not None and (field.name in HEAD_FIELDS or (not strange and field.exact)):
            return at
        strange += not is_blank(line)
        at = after
        if at > _MOST_CHARACTERS_BEFORE or (most_lines is not None and strange > most_lines):
            return None
    return None


def is_head(text: str, following: FileBlock | None, *, ended: bool = False) -> bool:
    """Return whether a block is an entry's head. ``ended`` states that another entry has just ended.

    It must name an author, a title, a name or a date. If a section of text follows or the file ends, it needs two more
    known fields than other lines, otherwise three more. After the end of an entry it needs one less.
    """
    counted = _HeadLines(text)
    if not counted.core:
        return False
    section = None if following is None or following.separator != SECTION else section_name(following)
    begun = counted.begun or (section is not None and (ended or section[0] in TEXTS))
    if begun or (following is not None and inline_body(following) is not None):
        return counted.known - counted.strange >= (1 if ended else 2)
    return counted.exact - counted.strange >= (2 if ended or following is None else 3)


def begins_body(following: FileBlock | None) -> bool:
    """Return whether a block begins an entry's first section."""
    if following is None or following.separator != SECTION:
        return False
    found = section_name(following)
    return found[0] == "BODY" if found is not None else inline_body(following) is not None


def heads_within(text: str, following: FileBlock | None) -> Iterator[PossibleHead]:
    """Yield what looks like the heads of entries in a text; see :class:`_Run`."""
    found = _LINE.search(text)
    while found is not None:
        run = _Run(text, found.start())
        begun = run.begun or (begins_body(following) and is_blank(text, run.end))
        if run.is_head(begun=begun):
            yield PossibleHead(found.start(), run.end)
        found = _LINE.search(text, max(run.end, found.end()))


class _HeadLines:
    """Counts fields and other lines until the block cannot be an entry's head."""

    def __init__(self, text: str) -> None:
        self.known = self.exact = self.strange = 0
        self.core = self.begun = False
        for _, line in lines_from(text):
            if is_blank(line):
                continue
            field = field_of(line)
            if field is None:
                self.strange += 1
            elif field.name in HEAD_FIELDS:
                self.known += 1
                self.exact += field.exact
                self.core = self.core or field.name in CORE_FIELDS
            elif begins_text(field) is not None:
                self.begun = True
                return
            if self.strange > self.known + _MOST_STRANGE_LINES:
                self.core = False
                return


class _Run:
    """The fields that follow one another in a text, with at most two other lines between two of them.

    Attributes:
        end: the position after the last field, or after the line that begins the body.
        begun: whether such a line ends them.
    """

    def __init__(self, text: str, begin: int) -> None:
        self.end = begin
        self.begun = False
        self._fields: dict[str, Field] = {}
        self._quoted = _line_before(text, begin) in COMMENTS
        strange = 0
        for after, line in lines_from(text, begin):
            field = field_of(line)
            if field is not None and begins_text(field) is not None and self._fields:
                self.end, self.begun = after, begins_text(field) == "BODY"
                return
            if field is not None and field.name in HEAD_FIELDS | COMMENT_FIELDS:
                self._fields.setdefault(field.name, field)
                self.end, strange = after, 0
            elif not is_blank(line):
                strange += 1
                if strange > _MOST_STRANGE_INSIDE or not self._fields:
                    return

    def is_head(self, *, begun: bool) -> bool:
        """Return whether these are an entry's fields; ``begun`` states that a body follows.

        Two are enough before a body. Otherwise they need a status, or two others and a date with a time: reviews of
        books also have titles and authors.
        """
        names = self._fields.keys() & HEAD_FIELDS
        if self._quoted or len(names) < 2 or not names & CORE_FIELDS:
            return False
        if begun:
            return True
        if self._fields.keys() & _ONLY_COMMENTS or not all(field.exact for field in self._fields.values()):
            return False
        status, date = self._fields.get("STATUS"), self._fields.get("DATE")
        written = None if date is None else read_date(date.value)
        dated = written is not None and written.has_time and len(names) > 2
        return dated or (status is not None and len(status.value.split()) == 1)


def _line_before(text: str, at: int) -> str:
    begin = text.rfind("\n", 0, max(0, at - 1)) + 1
    return text[begin:at].strip().removesuffix(":")
