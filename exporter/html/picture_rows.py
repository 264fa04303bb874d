"""Rows of pictures that fill a line: where each row ends. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import Final

UNKNOWN_RATIO: Final = 1.33
"""The ratio of pictures whose size is unknown."""
_NARROWEST: Final = 0.4
_WIDEST: Final = 4.0


def bounded_ratio(size: tuple[int, int] | None) -> float:
    """Return the width-to-height ratio of a picture in a row, limited to 0.4 … 4; 1.33 if its size is unknown."""
    return UNKNOWN_RATIO if size is None else round(min(max(size[0] / size[1], _NARROWEST), _WIDEST), 2)


def row_lengths(ratios: Sequence[float], *, wanted: float, most: int, fills_last: bool) -> list[int]:
    """Return the number of pictures in each row, so that the rows are as equally high as their order permits.

    A row that fills a line of width 1 is 1 / (sum of its ratios) high, on any screen.

    Args:
        ratios: the width-to-height ratios of the pictures in order.
        wanted: the sum of the ratios of a row of the best height.
        most: the most pictures in a row.
        fills_last: whether the last row fills the line too, and so must not be short.
    """
    costs = [0.0]
    lengths = [0]
    for end in range(1, len(ratios) + 1):
        total, best = 0.0, (float("inf"), 0)
        for length in range(1, min(most, end) + 1):
            total += ratios[end - length]
            is_short = end == len(ratios) and total < wanted and not fills_last
            best = min(best, (costs[end - length] + (0.0 if is_short else log(total / wanted) ** 2), length))
        costs.append(best[0])
        lengths.append(best[1])
    found: list[int] = []
    end = len(ratios)
    while end:
        found.append(lengths[end])
        end -= lengths[end]
    return found[::-1]
