"""Paragraphs of everyday markup as Markdown, the short way. Pure.

What :mod:`exporter.html.markdown_runs` and :mod:`exporter.html.markdown_inline` make of them, in a third of the time;
nearly all paragraphs of a blog are written here. Where the outcome hangs on what is on both sides of a tag (a mark
beside another, a space at a mark's inner edge, an asterisk before a link) the general way is left to it, so that the
rules for that stand in one place.
"""

from __future__ import annotations

from itertools import accumulate
from typing import Final

from exporter.html.links import safe_url
from exporter.html.markdown_escape import (
    SPECIAL,
    can_delimit,
    enclosed_addresses,
    escape_line_start,
    escape_text,
    link_target,
)
from exporter.html.markdown_inline import DELIMITERS, LINE_END_INSIDE, SYNONYMS, break_behind, picture, with_safe_end
from exporter.html.markdown_runs import SPACES, collapsed
from exporter.html.tags import PLAIN_INLINE, tag_set
from exporter.html.tree import Element, styled_as

_AS_TAGS: Final = tag_set("big small sub sup tt u")
_MOST_OPEN: Final = 20

# What a text can be beside: the edge of its line, a mark's opening or closing, a picture.
_LINE, _OPENING, _CLOSING, _PICTURE = range(4)
_MEETING: Final = frozenset(
    {(_OPENING, _OPENING), (_OPENING, _CLOSING), (_OPENING, _LINE)}
    | {(_CLOSING, _OPENING), (_CLOSING, _CLOSING), (_LINE, _CLOSING)}
)
"""What must not meet without a text or a picture between them."""


Step = Element | str | None
"""A text, an element that begins, or the end of the one that began last; ``br`` and ``img`` have no end."""


class _InDoubt(Exception):
    """The general way is to be taken."""


def short_paragraphs(steps: list[Step], line_break: str, *, keep_lines: bool) -> list[str | int] | None:
    """Return paragraphs, and between them numbers of breaks; ``None`` where they need the general way.

    Args:
        steps: of the inline content of one block.
        line_break: what breaks a line.
        keep_lines: makes the line ends of its texts breaks.
    """
    if len(steps) == 1 and isinstance(steps[0], str) and not keep_lines:
        text = collapsed(steps[0].strip(SPACES))
        return [with_safe_end(_lines_escaped(escape_text(text, "", "")))] if text else []
    writer = _Writer(line_break, keep_lines=keep_lines)
    try:
        for step in steps:
            if step is None:
                writer.leave()
            elif isinstance(step, str):
                writer.text(step)
            else:
                writer.enter(step)
        writer.end()
    except _InDoubt:
        return None
    return writer.paragraphs


def _lines_escaped(text: str) -> str:
    return "\n".join([escape_line_start(line) for line in text.split("\n")])


class _Mark:
    """An open mark.

    Attributes:
        tag: the tag that says the same.
        closing: how it ends, where that is not to be decided between asterisks and the tag.
        at: the part that is its opening.
        outside: the character before it.
        inside: the last character in it.
        end: the part that is its closing, once it is closed.
        delimiter: whether asterisks would do at its opening.
    """

    __slots__ = ("at", "closing", "delimiter", "end", "inside", "outside", "tag")

    def __init__(self, tag: str, closing: str, at: int, outside: str) -> None:
        self.tag = tag
        self.closing = closing
        self.at = at
        self.outside = outside
        self.inside = ""
        self.end = 0
        self.delimiter = False


class _Writer:
    """Writes the paragraphs of one block."""

    def __init__(self, line_break: str, *, keep_lines: bool) -> None:
        self.paragraphs: list[str | int] = []
        self._hard_break = line_break
        self._keep_lines = keep_lines
        self._parts: list[str] = []
        self._line_starts: list[tuple[int, bool]] = []
        self._has_marks = False
        self._text = ""
        self._breaks = 0
        self._beside = _LINE
        self._last = ""
        self._open: list[_Mark | None] = []
        self._links = 0
        self._waiting: _Mark | None = None

    def text(self, text: str) -> None:
        """Add a text."""
        if self._keep_lines and "\n" in text:
            first, *lines = text.split("\n")
            self._append(first)
            for line in lines:
                self._line_break()
                self._append(line)
        else:
            self._append(text)

    def _append(self, text: str) -> None:
        if self._text and text and self._text[-1] in SPACES and text[0] in SPACES:
            raise _InDoubt
        self._text += text

    def enter(self, element: Element) -> None:
        """Add an element; one that holds something is left again by :meth:`leave`."""
        tag = element.tag
        if tag == "br":
            self._line_break()
        elif tag == "img":
            self._picture(element)
        elif tag == "a":
            url = safe_url(element.attributes.get("href", ""))
            if url is None:
                self._open.append(None)
            else:
                self._open_mark(tag, "[", f"]({link_target(url, element.attributes.get('title', ''))})")
        else:
            tag = styled_as(element) if tag in PLAIN_INLINE else SYNONYMS.get(tag, tag)
            if not tag or (self._open and any(mark is not None and mark.tag == tag for mark in self._open)):
                self._open.append(None)
            elif tag in DELIMITERS:
                self._open_mark(tag, "", "")
            elif tag in _AS_TAGS:
                self._open_mark(tag, f"<{tag}>", f"</{tag}>")
            else:
                raise _InDoubt

    def leave(self) -> None:
        """Leave the element that was entered last."""
        if not self._open:
            raise _InDoubt
        mark = self._open[-1]
        if mark is not None:
            self._close_mark(mark)
        self._open.pop()

    def end(self) -> None:
        """End the block, whose last break is not visible."""
        if self._open:
            raise _InDoubt
        self._say(_LINE)
        self._settle("")
        self._finish()
        if self._breaks > 1:
            self.paragraphs.append(self._breaks - 1)

    def _line_break(self) -> None:
        self._say(_LINE)
        self._settle("")
        self._breaks += 1
        self._beside, self._last = _LINE, ""

    def _open_mark(self, tag: str, opening: str, closing: str) -> None:
        if len(self._open) >= _MOST_OPEN:
            raise _InDoubt
        self._say(_OPENING)
        self._begin()
        mark = _Mark(tag, closing, len(self._parts), self._last)
        self._open.append(mark)
        self._links += tag == "a"
        self._parts.append(opening)
        self._has_marks = True
        self._beside = _OPENING
        if not closing:
            self._waiting = mark

    def _close_mark(self, mark: _Mark) -> None:
        self._say(_CLOSING)
        if not mark.closing:
            mark.inside, mark.end = self._last, len(self._parts)
            self._waiting = mark
        self._parts.append(mark.closing)
        self._links -= mark.tag == "a"
        self._beside = _CLOSING

    def _picture(self, element: Element) -> None:
        shown = picture(element)
        if shown is None:
            raise _InDoubt
        self._say(_PICTURE)
        self._settle("!")
        self._begin()
        self._parts.append(shown)
        self._has_marks = True
        self._beside, self._last = _PICTURE, ")"

    def _say(self, following: int) -> None:
        """Write the text so far, given what follows it."""
        beside, text = self._beside, self._text
        if text:
            self._text = ""
            text = text.lstrip(SPACES) if beside == _LINE else text
            text = text.rstrip(SPACES) if following == _LINE else text
            text = collapsed(text)
        if not text:
            if (beside, following) in _MEETING:
                raise _InDoubt
            return
        if (beside == _OPENING and text[0] in SPACES) or (following == _CLOSING and text[-1] in SPACES):
            raise _InDoubt
        shown = escape_text(text, "", "" if following == _LINE else "*", in_brackets=self._links > 0)
        if following != _LINE and text[-1] in SPECIAL:
            raise _InDoubt
        if ("://" in text or "www." in text) and not self._links and self._has_address_beside(text, following):
            raise _InDoubt
        if self._waiting is not None:
            self._settle(text[0])
        if self._breaks:
            self._begin()
        if beside == _LINE or "\n" in shown:
            self._line_starts.append((len(self._parts), beside == _LINE))
        self._parts.append(shown)
        self._last = text[-1]

    def _has_address_beside(self, text: str, following: int) -> bool:
        """Tell whether a text begins or ends with an address right at a mark or a picture."""
        places = enclosed_addresses(text, "" if following == _LINE else "*")
        return any(
            (start == 0 and self._beside != _LINE) or (end == len(text) and following != _LINE) for start, end in places
        )

    def _settle(self, char: str) -> None:
        """Decide about the mark that was opened or closed right before this character; empty for the end of a line."""
        mark, self._waiting = self._waiting, None
        if mark is None:
            return
        if not mark.end:
            mark.delimiter = can_delimit(char, mark.outside)
            return
        works = mark.delimiter and can_delimit(mark.inside, char)
        self._parts[mark.at] = DELIMITERS[mark.tag] if works else f"<{mark.tag}>"
        self._parts[mark.end] = DELIMITERS[mark.tag] if works else f"</{mark.tag}>"

    def _begin(self) -> None:
        """Write the breaks so far: something follows them."""
        breaks, self._breaks = self._breaks, 0
        if not breaks:
            return
        if not self._parts:
            self.paragraphs.append(breaks)
        elif breaks == 1:
            self._parts.append(break_behind(self._parts[-1], self._hard_break))
        elif any(self._open):
            raise _InDoubt
        else:
            self._finish()
            if breaks > 2:
                self.paragraphs.append(breaks - 2)

    def _finish(self) -> None:
        """Make a block of the parts so far."""
        if not self._parts:
            return
        if not self._has_marks:
            for at, _ in self._line_starts:
                self._parts[at] = _lines_escaped(self._parts[at])
        text = "".join(self._parts)
        if self._has_marks:
            for start in self._places():
                text = escape_line_start(text, start)
        self.paragraphs.append(with_safe_end(text))
        self._parts, self._line_starts, self._has_marks = [], [], False

    def _places(self) -> list[int]:
        """Return where texts begin lines, the last place first."""
        ends = list(accumulate(map(len, self._parts), initial=0))
        places: list[int] = []
        for part, begins in self._line_starts:
            places += [ends[part]] if begins else []
            places += [ends[part] + found.end() for found in LINE_END_INSIDE.finditer(self._parts[part])]
        return places[::-1]
