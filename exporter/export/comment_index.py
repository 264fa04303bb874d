"""All comments with their entries and days. Pure."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from functools import cache
from itertools import accumulate, groupby
from typing import Final

UNDATED: Final = "undated"
_DAY_MINUTES: Final = 1_440
_DIGITS: Final = 19
"""The most digits of a number that always fits into 64 bits."""


class _Ids:
    """Ids at places: plain decimal numbers in an array, all others, which are rare, in a dictionary."""

    def __init__(self) -> None:
        self._numbers = array("Q")
        self._others: dict[int, str] = {}

    def append(self, record_id: str) -> None:
        """Add an id at the end."""
        number = int(record_id) if len(record_id) <= _DIGITS and record_id.isdecimal() else 0
        if str(number) != record_id:
            self._others[len(self._numbers)] = record_id
        self._numbers.append(number)

    def __getitem__(self, place: int) -> str:
        found = self._others.get(place)
        return str(self._numbers[place]) if found is None else found


class CommentTable:
    """All comments with their entries and days in flat arrays, added in the order of their ids: 22 bytes for each."""

    def __init__(self) -> None:
        self._ids = _Ids()
        self._entries: dict[str, int] = {}
        self._names: list[str] = []
        self._entry_of = array("I")
        self._days = array("I")
        self._minutes = array("H")
        self._by_entry: tuple[array[int], array[int]] | None = None

    def __len__(self) -> int:
        return len(self._entry_of)

    def add(self, entry_id: str, comment_id: str, day: int = 0, minute: int = 0) -> None:
        """Add a comment; ``day`` is a proleptic ordinal, 0 if the comment is undated; ``minute`` is of its day."""
        number = self._entries.setdefault(entry_id, len(self._names))
        if number == len(self._names):
            self._names.append(entry_id)
        self._ids.append(comment_id)
        self._entry_of.append(number)
        self._days.append(day)
        self._minutes.append(minute)
        self._by_entry = None

    def places(self, entry_id: str) -> Sequence[int]:
        """Return the places of an entry's comments; none for an unknown entry."""
        number = self._entries.get(entry_id)
        if number is None:
            return ()
        if self._by_entry is None:
            self._by_entry = self._sorted_by_entry()
        starts, places = self._by_entry
        return places[starts[number] : starts[number + 1]]

    def _sorted_by_entry(self) -> tuple[array[int], array[int]]:
        """Return where the places of each entry start, and these places, one entry's after the other's."""
        starts = array("I", bytes(array("I").itemsize * (len(self._names) + 1)))
        for number in self._entry_of:
            starts[number + 1] += 1
        starts = array("I", accumulate(starts))
        places, following = array("I", self._entry_of), starts[:]
        for place, number in enumerate(self._entry_of):
            places[following[number]] = place
            following[number] += 1
        return starts, places

    def of(self, entry_id: str) -> list[str]:
        """Return the ids of an entry's comments."""
        return [self._ids[place] for place in self.places(entry_id)]

    def entries(self) -> Sequence[str]:
        """Return the ids of all entries with comments, including entries that the archive does not have."""
        return self._names

    def at(self, place: int) -> tuple[str, str]:
        """Return the ids of the entry and the comment at a place."""
        return self._names[self._entry_of[place]], self._ids[place]

    def by_year(self) -> dict[str, Sequence[int]]:
        """Return all places by year, or by :data:`UNDATED`: the newest first, those of a minute from the last id on."""
        years: defaultdict[int, array[int]] = defaultdict(lambda: array("I"))
        year_of = cache(lambda day: date.fromordinal(day).year if day else 0)
        for place, day in enumerate(self._days):
            years[year_of(day)].append(place)
        found: dict[str, Sequence[int]] = {}
        for year in sorted(years, reverse=True):
            ordered = sorted(years.pop(year), key=self._minute)
            found[f"{year:04d}" if year else UNDATED] = array("I", reversed(ordered))
        return found

    def _minute(self, place: int) -> int:
        return self._days[place] * _DAY_MINUTES + self._minutes[place]

    def months(self, places: Iterable[int]) -> Iterator[tuple[int, Sequence[int]]]:
        """Yield the months, 1 to 12, in a year's places, which must be sorted newest first; 0 for the undated."""
        month_of = cache(lambda day: date.fromordinal(day).month if day else 0)
        runs = groupby(places, lambda place: month_of(self._days[place]))
        return ((month, array("I", run)) for month, run in runs)

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
