"""The comments of a state in flat arrays: of each its id, its entry and its day, in 24 bytes."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import date
from typing import Final

from exporter.export.id_list import IdsByOwner

UNDATED: Final = "undated"


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

    def newest_first(self) -> array[int]:
        """Return the places of all comments by their day, the undated last; those of a day by their ids."""
        return array("I", sorted(range(len(self._days) - 1, -1, -1), key=self._days.__getitem__, reverse=True))

    def by_year(self) -> dict[str, array[int]]:
        """Return the places of the comments of each year, or of :data:`UNDATED`, the newest first."""
        years: defaultdict[int, array[int]] = defaultdict(lambda: array("I"))
        known: dict[int, int] = {0: 0}
        for place in self.newest_first():
            day = self._days[place]
            if day not in known:
                known[day] = date.fromordinal(day).year
            years[known[day]].append(place)
        return {f"{year:04d}" if year else UNDATED: places for year, places in years.items()}

    def by_month(self) -> Counter[str]:
        """Return how many comments there are of each month, named ``YYYY-MM``."""
        months: Counter[str] = Counter()
        for day, number in Counter(self._days).items():
            if day:
                when = date.fromordinal(day)
                months[f"{when.year:04d}-{when.month:02d}"] += number
        return months
