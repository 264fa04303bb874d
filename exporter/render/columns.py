"""Text lined up in the columns of a terminal, where a full-width character takes two. Pure."""

from __future__ import annotations

import unicodedata


def width(text: str) -> int:
    """Return how many columns a text takes."""
    return sum(2 if unicodedata.east_asian_width(char) in {"W", "F"} else 1 for char in text)


def left(text: str, columns: int) -> str:
    """Return a text with spaces behind it, up to so many columns."""
    return text + " " * (columns - width(text))


def right(text: str, columns: int) -> str:
    """Return a text with spaces before it, up to so many columns."""
    return " " * (columns - width(text)) + text
