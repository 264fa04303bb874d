"""A book's cover: its title, its years, and a dot for each month or day, the larger the more was written. Pure."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable
from hashlib import sha256
from math import sqrt
from typing import Final, NamedTuple

_PALETTES: Final = (
    ("#16324f", "#f3e9d2", "#e2725b"),
    ("#23403a", "#f1eedd", "#e0b04c"),
    ("#4a2545", "#f6ece3", "#dd8a70"),
    ("#f4efe6", "#24364b", "#c65d3b"),
    ("#1f2a36", "#ecf0ea", "#7fb7a6"),
    ("#5b2333", "#f7f1e8", "#e9b872"),
)
_WIDTH: Final = 1200
_HEIGHT: Final = 1800
_MARGIN: Final = 130
_TOP: Final = 820
_BOTTOM: Final = 1560
_MOST_ROWS: Final = 31
_ROOM: Final = 18
_MOST_LINES: Final = 4
_BREAKS: Final = frozenset(" .-/")
_LONG_WORD: Final = 11


class Moment(NamedTuple):
    """The day something was written."""

    year: int
    month: int
    day: int


class Line(NamedTuple):
    """A line of the title and its height."""

    text: str
    y: int


class Dot(NamedTuple):
    """A circle, in units of a page of 1,200 to 1,800."""

    x: float
    y: float
    radius: float


class Cover(NamedTuple):
    """What is on a cover: the colours of ground, words and dots; the title and the size of its letters; and the years.

    ``years`` is empty when there are none; ``dots`` has a row for each year, or each month of a single year.
    """

    paper: str
    ink: str
    accent: str
    lines: list[Line]
    size: int
    years: str
    dots: list[Dot]


def cover(title: str, blog_id: str, days: Iterable[Moment]) -> Cover:
    """Return the cover; the same blog always has the same colours."""
    digest = sha256(blog_id.encode("utf-8", "surrogatepass")).digest()
    paper, ink, accent = _PALETTES[digest[0] % len(_PALETTES)]
    counts = Counter(days)
    years = sorted({each.year for each in counts})
    size = 120 if _width(title) <= _ROOM else 88
    texts = _broken(title, (_WIDTH - 2 * _MARGIN) / size * 2)
    lines = [Line(text, 260 + round(size * (1.05 + 1.35 * place))) for place, text in enumerate(texts)]
    span = "" if not years else str(years[0]) if len(years) == 1 else f"{years[0]}–{years[-1]}"
    return Cover(paper, ink, accent, lines, size, span, _dots(counts, years))


def _dots(counts: Counter[Moment], years: list[int]) -> list[Dot]:
    cells: Counter[tuple[int, int]] = Counter()
    if len(years) == 1:
        rows, columns = 12, 31
        for each, count in counts.items():
            cells[each.month - 1, each.day - 1] += count
    else:
        shown = years[-_MOST_ROWS:]
        rows, columns = len(shown), 12
        for each, count in counts.items():
            if each.year in shown:
                cells[shown.index(each.year), each.month - 1] += count
    most = max(cells.values(), default=1)
    wide, high = (_WIDTH - 2 * _MARGIN) / columns, min(110.0, (_BOTTOM - _TOP) / max(rows, 1))
    largest = min(wide, high) * 0.46
    top = _BOTTOM - rows * high
    return [
        Dot(
            round(_MARGIN + (column + 0.5) * wide, 1),
            round(top + (row + 0.5) * high, 1),
            round(max(largest * sqrt(cells[row, column] / most), 3.0), 1),
        )
        for row in range(rows)
        for column in range(columns)
    ]


def _broken(title: str, room: float) -> list[str]:
    """Break a title into a few lines, between words where there are any."""
    lines = [""]
    for word in _pieces(title):
        if lines[-1] and _width(lines[-1] + word.rstrip()) > room:
            lines.append("")
        lines[-1] += word
    shown = [line.strip() for line in lines[:_MOST_LINES]]
    return shown if len(lines) <= _MOST_LINES else [*shown[:-1], f"{shown[-1][:-1]}…"]


def _pieces(title: str) -> list[str]:
    """Return what a line may be broken between: words, the parts of an address, and wide characters."""
    pieces = [""]
    for char in title:
        before = pieces[-1][-1:]
        if _is_wide(char) or _is_wide(before) or before in _BREAKS or len(pieces[-1]) > _LONG_WORD:
            pieces.append("")
        pieces[-1] += char
    return pieces


def _is_wide(char: str) -> bool:
    return char != "" and unicodedata.east_asian_width(char) in {"W", "F"}


def _width(text: str) -> int:
    """Return a text's width in halves of a wide character."""
    return sum(2 if _is_wide(char) else 1 for char in text)
