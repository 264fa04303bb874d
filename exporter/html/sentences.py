"""Edits as people make them: whole where they are crumbs, and from where a sentence or a line begins. Pure.

What is equal between two edits and shorter than both says nothing: the two are one. And an edit that could as well
stand a few characters before or after, since it begins as what follows it does, stands where a sentence begins.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Op = Literal["equal", "delete", "insert"]

_CRUMB: Final = 8
"""No more characters are a crumb, however long the edits beside them are."""
_FARTHEST: Final = 2_000
"""So many characters an edit moves at most, so that time grows with the text alone."""
_CONTINUES: Final = re.compile("[\u0300-\u036f\u3099\u309a\u200d\ufe00-\ufe0f\U0001f3fb-\U0001f3ff]")
"""What belongs to the character before it."""
SENTENCE_END: Final = re.compile(r"\n|[。！？!?．]+[」』）)”’]*|[.]+[)\"”’]*(?=\s)|[」』]")
_RANKS: Final = {
    "\n": 4,
    **dict.fromkeys("。！？!?．", 3),
    **dict.fromkeys("」』）)", 2),
    **dict.fromkeys("、，, \u3000", 1),
}


class _Edit:
    """What is deleted and what is inserted at one place, and the equal text after it."""

    def __init__(self) -> None:
        self.old: list[str] = []
        self.new: list[str] = []
        self.lengths = [0, 0]
        self.equal = ""

    def add(self, op: Op, text: str) -> None:
        """Delete or insert a text here."""
        (self.old if op == "delete" else self.new).append(text)
        self.lengths[op == "insert"] += len(text)

    def join(self, other: _Edit) -> None:
        """Take in the next edit, and what is between the two."""
        self.old += [self.equal, *other.old]
        self.new += [self.equal, *other.new]
        self.lengths = [sum(lengths) + len(self.equal) for lengths in zip(self.lengths, other.lengths, strict=True)]
        self.equal = other.equal


def settled(parts: Sequence[tuple[Op, str]]) -> Iterator[tuple[Op, str]]:
    """Yield a diff with its crumbs in the edits, and its edits where sentences begin; it says of both texts the same.

    Args:
        parts: as :func:`~exporter.html.diff.word_diff` returns them.
    """
    first = parts[0][1] if parts and parts[0][0] == "equal" else ""
    before = first
    for edit in _whole(parts[1:] if first else parts):
        old, new = "".join(edit.old), "".join(edit.new)
        if bool(old) != bool(new):
            before, moved, edit.equal = _moved(before, old or new, edit.equal)
            old, new = (moved, "") if old else ("", moved)
        yield from _named(before, old, new)
        before = edit.equal
    if before:
        yield "equal", before


def _named(before: str, old: str, new: str) -> Iterator[tuple[Op, str]]:
    if before:
        yield "equal", before
    if old:
        yield "delete", old
    if new:
        yield "insert", new


def _whole(parts: Sequence[tuple[Op, str]]) -> list[_Edit]:
    """Return the edits, those joined between which there is a crumb."""
    found: list[_Edit] = []
    for op, text in parts:
        if op == "equal":
            found[-1].equal = text
            continue
        if not found or found[-1].equal:
            found.append(_Edit())
        found[-1].add(op, text)
    joined: list[_Edit] = []
    for edit in found:
        while joined and _is_crumb(joined[-1], edit):
            last = joined.pop()
            last.join(edit)
            edit = last  # noqa: PLW2901  the two are one from here on
        joined.append(edit)
    return joined


def _is_crumb(before: _Edit, after: _Edit) -> bool:
    text = before.equal
    return len(text) <= min(_CRUMB, max(before.lengths), max(after.lengths)) and SENTENCE_END.search(text) is None


def _moved(before: str, edit: str, after: str) -> tuple[str, str, str]:
    """Return what is before, the edit and what is after, with the edit where it stands best; the joined text stays."""
    text = before[-_FARTHEST:] + edit + after[:_FARTHEST]
    start, length = len(before[-_FARTHEST:]), len(edit)
    low = high = start
    while low > 0 and text[low - 1] == text[low + length - 1]:
        low -= 1
    while high + length < len(text) and text[high] == text[high + length]:
        high += 1
    best = max(range(low, high + 1), key=lambda at: (_rank(text, at) + _rank(text, at + length), -abs(at - start)))
    if _rank(text, best) + _rank(text, best + length) <= _rank(text, start) + _rank(text, start + length):
        return before, edit, after
    head, tail = before[: max(0, len(before) - _FARTHEST)], after[_FARTHEST:]
    return head + text[:best], text[best : best + length], text[best + length :] + tail


def _rank(text: str, at: int) -> int:
    """Return how well a text is cut before a character."""
    if at in (0, len(text)):
        return 4
    return 0 if _CONTINUES.match(text[at]) or text[at - 1] == "\u200d" else _RANKS.get(text[at - 1], 0)
