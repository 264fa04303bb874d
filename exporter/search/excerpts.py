"""The part of a text that shows why it was found. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from exporter.search.folding import fold_with_places

if TYPE_CHECKING:
    from collections.abc import Sequence

_BEFORE = 30
_LENGTH = 120
_PIECE = 100_000

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A part of a text as it was written, with line ends shown as spaces.

    Attributes:
        text: ``original[start:start + len(text)]``, but for the line ends.
        start: where it begins in the original text.
        marks: the hits, as offsets into ``text``, in order, never overlapping.
        cut: whether the original goes on after it.
    """

    text: str
    start: int
    marks: tuple[Span, ...]
    cut: bool


def spans_of(text: str, terms: Sequence[str]) -> list[Span]:
    """Return where the terms stand in a text as it was written, in order, those that touch or overlap joined.

    A text beyond some 100,000 characters is looked at piece by piece, up to the first hits and what an excerpt shows
    after them: places take a hundred bytes a character.
    """
    overlap = 4 * max(map(len, terms), default=0) + _LENGTH
    for start in range(0, len(text), _PIECE):
        found = _spans(text[start : start + _PIECE + overlap], terms)
        if found:
            return [(low + start, high + start) for low, high in found]
    return []


def _spans(text: str, terms: Sequence[str]) -> list[Span]:
    folded = fold_with_places(text)
    found = []
    for term in terms:
        at = folded.key.find(term)
        while at >= 0:
            found.append(folded.span(at, at + len(term)))
            at = folded.key.find(term, at + len(term))
    return _joined(sorted(found))


def excerpt(text: str, spans: Sequence[Span]) -> Excerpt:
    """Cut out the neighbourhood of the first hits."""
    first = spans[0][0] if spans else 0
    start = max(0, first - _BEFORE)
    end = min(len(text), max(start + _LENGTH, spans[0][1] if spans else 0))
    marks = tuple((low - start, min(high, end) - start) for low, high in spans if low < end)
    return Excerpt(re.sub(r"[\r\n\t]", " ", text[start:end]), start, marks, end < len(text))


def _joined(spans: list[Span]) -> list[Span]:
    found: list[Span] = []
    for low, high in spans:
        if found and low <= found[-1][1]:
            found[-1] = (found[-1][0], max(high, found[-1][1]))
        else:
            found.append((low, high))
    return found
