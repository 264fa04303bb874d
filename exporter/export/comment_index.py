"""All comments with their entries and days. Pure."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from functools import cache
from itertools import groupby
from sys import intern
from typing import Final, TypeVar

UNDATED: Final = "undated"
N = TypeVar("N")


class CommentTable:
    """All comments with their entries and days, added in the order of their ids."""

    def __init__(self) -> None:
        self._ids: list[str] = []
        self._entry_of: list[str] = []
        self._days = array("I")
        self._minutes = array("H")
        self._places: defaultdict[str, array[int]] = defaultdict(lambda: array("I"))

    def __len__(self) -> int:
        return len(self._ids)

    def add(self, entry_id: str, comment_id: str, day: int = 0, minute: int = 0) -> None:
        """Add a comment; ``day`` is a proleptic ordinal, 0 if the comment is undated; ``minute`` is of its day."""
        entry_id = intern(entry_id)
        self._places[entry_id].append(len(self._ids))
        self._entry_of.append(entry_id)
        self._ids.append(comment_id)
        self._days.append(day)
        self._minutes.append(minute)

    def places(self, entry_id: str) -> Sequence[int]:
        """Return the places of an entry's comments; none for an unknown entry."""
        return self._places.get(entry_id, ())

    def of(self, entry_id: str) -> list[str]:
        """Return the ids of an entry's comments."""
        return [self._ids[place] for place in self.places(entry_id)]

    def entries(self) -> list[str]:
        """Return the ids of all entries with comments, including entries that the archive does not have."""
        return list(self._places)

    def at(self, place: int) -> tuple[str, str]:
        """Return the ids of the entry and the comment at a place."""
        return self._entry_of[place], self._ids[place]

    def newest_first(self) -> list[int]:
        """Return the places of all comments by their time, the undated last; those of a minute from the last id on."""
        places = sorted(range(len(self)), key=self._minutes.__getitem__) if any(self._minutes) else range(len(self))
        return sorted(places, key=self._days.__getitem__)[::-1]

    def by_year(self) -> dict[str, list[int]]:
        """Return all places by year, or by :data:`UNDATED`, with the newest first."""
        found = self._groups(self.newest_first(), lambda day: f"{date.fromordinal(day).year:04d}" if day else UNDATED)
        return dict(found)

    def months(self, places: Sequence[int]) -> Iterator[tuple[int, list[int]]]:
        """Yield the months, 1 to 12, in a year's places, which must be sorted newest first; 0 for the undated."""
        return self._groups(places, lambda day: date.fromordinal(day).month if day else 0)

    def _groups(self, places: Sequence[int], name: Callable[[int], N]) -> Iterator[tuple[N, list[int]]]:
        """Split places into runs with the same day name, and yield each with its name."""
        named = cache(name)
        return ((found, list(run)) for found, run in groupby(places, lambda place: named(self._days[place])))

    def by_month(self) -> Counter[str]:
        """Return how many comments there are of each month, named ``YYYY-MM``."""
        months: Counter[str] = Counter()
        for day, number in Counter(self._days).items():
            if day:
                when = date.fromordinal(day)
                months[f"{when.year:04d}-{when.month:02d}"] += number
        return months


class CommentIndex:
    """The comments of each post with a unique second for each."""

    def __init__(self) -> None:
        self._table = CommentTable()
        self._seconds = array("q")

    def add(self, entry_id: str, comment_id: str, second: int) -> None:
        """Add a comment, written at that second since 1970."""
        self._table.add(entry_id, comment_id)
        self._seconds.append(second)

    def finish(self) -> None:
        """Give each comment a unique second once all are added: its own second, or the next free one.

        A comment may have only a day, and importers drop a second comment with the same name and time.
        """
        free: int | None = None
        for number in sorted(range(len(self._seconds)), key=self._seconds.__getitem__):
            second = self._seconds[number]
            self._seconds[number] = second if free is None else max(free, second)
            free = self._seconds[number] + 1

    def of(self, entry_id: str) -> Iterator[tuple[str, int]]:
        """Yield the id and second for each comment on an entry, in the order of addition."""
        return ((self._table.at(place)[1], self._seconds[place]) for place in self._table.places(entry_id))
