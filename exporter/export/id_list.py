"""Ids of records in flat arrays: of comments, a blog has more than of anything else. Pure."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from typing import Final

_NUMBER: Final = re.compile(r"[1-9][0-9]{0,17}")


class IdList:
    """A list of ids that takes eight bytes for each that is a number; any other is kept as it is."""

    def __init__(self) -> None:
        self._numbers = array("Q")
        self._others: dict[int, str] = {}

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, place: int) -> str:
        number = self._numbers[place]
        return str(number) if number else self._others[place]

    def append(self, record_id: str) -> None:
        """Add an id."""
        if _NUMBER.fullmatch(record_id):
            self._numbers.append(int(record_id))
        else:
            self._others[len(self._numbers)] = record_id
            self._numbers.append(0)


class IdsByOwner:
    """The ids of records by the id of what they belong to, in the order they were added."""

    def __init__(self) -> None:
        self._owners: dict[str, int] = {}
        self._owner_of = array("I")
        self._ids = IdList()
        self._starts = array("I")
        self._order = array("I")

    def __len__(self) -> int:
        return len(self._ids)

    def add(self, owner: str, record_id: str) -> None:
        """Add a record."""
        self._owner_of.append(self._owners.setdefault(owner, len(self._owners)))
        self._ids.append(record_id)

    def finish(self) -> None:
        """Put the ids of each owner beside each other, once all are added; by counting, which needs no list of all."""
        counts = array("I", bytes(array("I").itemsize * (len(self._owners) + 1)))
        for owner in self._owner_of:
            counts[owner + 1] += 1
        for owner in range(len(self._owners)):
            counts[owner + 1] += counts[owner]
        self._starts = counts[:]
        self._order = array("I", bytes(self._owner_of.itemsize * len(self._owner_of)))
        for place, owner in enumerate(self._owner_of):
            self._order[counts[owner]] = place
            counts[owner] += 1

    def at(self, place: int) -> tuple[int, str]:
        """Return a record in the order they were added: the number of its owner in :meth:`owners`, and its id."""
        return self._owner_of[place], self._ids[place]

    def owners(self) -> Iterator[str]:
        """Yield the owners in the order in which they were first named."""
        return iter(self._owners)

    def count(self, owner: str) -> int:
        """Return how many records an owner has."""
        number = self._owners.get(owner)
        return 0 if number is None else self._starts[number + 1] - self._starts[number]

    def of(self, owner: str) -> list[str]:
        """Return the ids of the records of an owner; none of an unknown one."""
        number = self._owners.get(owner)
        if number is None:
            return []
        return [self._ids[place] for place in self._order[self._starts[number] : self._starts[number + 1]]]
