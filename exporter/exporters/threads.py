"""The comments of each post, in flat arrays, since a blog has more comments than anything else. Pure."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import Final, NamedTuple

_NONE: Final = -1


class Place(NamedTuple):
    """A comment's id, and a moment that no other comment of the export has, in seconds since 1970."""

    cm_id: str
    second: int


class Threads:
    """Which comments belong to each post, in the order they were added.

    Args:
        posts: how many posts there are.
    """

    def __init__(self, posts: int) -> None:
        self._first = array("i", [_NONE]) * posts
        self._last = array("i", [_NONE]) * posts
        self._next = array("i")
        self._ids: list[str] = []
        self._seconds = array("q")

    def add(self, row: int, cm_id: str, second: int) -> None:
        """Add a comment to the post of that row."""
        number = len(self._ids)
        self._ids.append(cm_id)
        self._seconds.append(second)
        self._next.append(_NONE)
        if self._last[row] == _NONE:
            self._first[row] = number
        else:
            self._next[self._last[row]] = number
        self._last[row] = number

    def part(self) -> None:
        """Give each comment a second of its own: its own one, or the first free one behind it.

        A comment comes with a day only (API 2.5), and importers drop the second one of a name and a moment.
        """
        free: int | None = None
        for number in sorted(range(len(self._ids)), key=self._seconds.__getitem__):
            second = self._seconds[number]
            self._seconds[number] = second if free is None else max(free, second)
            free = self._seconds[number] + 1

    def of(self, row: int) -> Iterator[Place]:
        """Yield the comments of the post of that row."""
        number = self._first[row]
        while number != _NONE:
            yield Place(self._ids[number], self._seconds[number])
            number = self._next[number]
