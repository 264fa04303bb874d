"""The comments of a state in flat arrays: of each its id, its entry and its day, in 24 bytes."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from functools import cache
from itertools import groupby
from typing import Final, TypeVar

from exporter.export.id_list import IdsByOwner

UNDATED: Final = "undated"
N = TypeVar("N")


class CommentTable:
    """Which comments there are; they are added in the order of their ids, and found once :meth:`finish` was called."""

    def __init__(self) -> None:
        self._ids = IdsByOwner()
        self._days = array("I")
        self._owners: list[str] = []

    def __len__(self) -> int:
        return len(self._days)

    def add(self, entry_id: str, comment_id: str, day: int) -> None:
        """Add a comment; ``day`` is a proleptic ordinal, 0 when it is undated."""
        self._ids.add(entry_id, comment_id)
        self._days.append(day)

    def finish(self) -> None:
        """Say that all are there."""
        self._ids.finish()
        self._owners = list(self._ids.owners())

    def of(self, entry_id: str) -> list[str]:
        """Return the ids of an entry's comments."""
        return self._ids.of(entry_id)

    def count(self, entry_id: str) -> int:
        """Return how many comments an entry has."""
        return self._ids.count(entry_id)

    def entries(self) -> Sequence[str]:
        """Return the ids of all entries that have comments, also of those that are not there."""
        return self._owners

    def at(self, place: int) -> tuple[str, str]:
        """Return the comment at a place: its entry's id, and its own."""
        owner, comment_id = self._ids.at(place)
        return self._owners[owner], comment_id

    def newest_first(self) -> memoryview:
        """Return the places of all comments by their day, the undated last; those of a day by their ids.

        They are counted out by day: sorted as Python's numbers, a million of them would take nine times as much memory.
        """
        starts, before = {}, 0
        for day, number in sorted(Counter(self._days).items(), reverse=True):
            starts[day] = before
            before += number
        order = array("I", bytes(self._days.itemsize * len(self._days)))
        for place in range(len(self._days) - 1, -1, -1):
            day = self._days[place]
            order[starts[day]] = place
            starts[day] += 1
        return memoryview(order)

    def by_year(self) -> dict[str, memoryview]:
        """Return the places of the comments of each year, or of :data:`UNDATED`, the newest first."""
        found = self._groups(self.newest_first(), lambda day: f"{date.fromordinal(day).year:04d}" if day else UNDATED)
        return dict(found)

    def months(self, places: memoryview) -> Iterator[tuple[int, memoryview]]:
        """Yield the months, 1 to 12, of a year's places that come the newest first; 0 for the undated."""
        return self._groups(places, lambda day: date.fromordinal(day).month if day else 0)

    def _groups(self, places: memoryview, name: Callable[[int], N]) -> Iterator[tuple[N, memoryview]]:
        """Yield the parts of places whose days have one name, each with the name; nothing is copied."""
        named, start = cache(name), 0
        for found, group in groupby(places, lambda place: named(self._days[place])):
            end = start + sum(1 for _ in group)
            yield found, places[start:end]
            start = end

    def by_month(self) -> Counter[str]:
        """Return how many comments there are of each month, named ``YYYY-MM``."""
        months: Counter[str] = Counter()
        for day, number in Counter(self._days).items():
            if day:
                when = date.fromordinal(day)
                months[f"{when.year:04d}-{when.month:02d}"] += number
        return months
