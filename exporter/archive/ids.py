"""Ids and the rows that they stand for, in order, in flat arrays: 13 bytes an id, where a dictionary takes 110."""

from __future__ import annotations

import heapq
from array import array
from bisect import bisect_left, bisect_right
from itertools import chain, islice
from operator import ge
from typing import TYPE_CHECKING, Final

from exporter.message import message
from exporter.model.kinds import sort_key

if TYPE_CHECKING:
    from collections.abc import Iterator

Key = int | str
"""An id as it is looked up: a plain decimal number as such, any other text as it is."""

_CHUNK: Final = 512
"""So many ids are in one pair of arrays at most: few enough to make room among them for one more."""
_DIGITS: Final = 19
"""As many as every number of 64 bits may have."""


def key_of_id(record_id: str) -> Key:
    """Return the key of an id; ``str`` turns it back."""
    if len(record_id) <= _DIGITS and record_id.isdecimal():
        number = int(record_id)
        if str(number) == record_id:
            return number
    return record_id


def in_order(key: Key) -> tuple[int, int, str]:
    """Return what keys are ordered by, which is the order of their ids."""
    return (0, key, str(key)) if isinstance(key, int) else sort_key(key)


def precedes(one: Key, other: Key) -> bool:
    """Tell whether one key comes before another."""
    if isinstance(one, int) and isinstance(other, int):
        return one < other
    return in_order(one) < in_order(other)


class IdRows:
    """Keys to rows. Numbers are in sorted arrays, looked up by halves; the rest, which is rare, in a dictionary."""

    def __init__(self) -> None:
        self._firsts: list[int] = []
        self._keys: list[array[int]] = []
        self._rows: list[array[int]] = []
        self._numbers = 0
        self._others: dict[str, int] = {}

    def __len__(self) -> int:
        return self._numbers + len(self._others)

    def find(self, key: Key) -> int | None:
        """Return the row of a key."""
        if type(key) is str:
            return self._others.get(key)
        at = bisect_right(self._firsts, key) - 1
        if at < 0:
            return None
        keys = self._keys[at]
        place = bisect_left(keys, key)
        return self._rows[at][place] if place < len(keys) and keys[place] == key else None

    def add(self, key: Key, row: int) -> None:
        """Add a key that is not there."""
        if isinstance(key, str):
            self._others[key] = row
            return
        self._numbers += 1
        at = max(0, bisect_right(self._firsts, key) - 1)
        if not self._keys or (len(self._keys[at]) == _CHUNK and key > self._keys[at][-1]):
            # What comes in order fills one chunk after the other, instead of leaving halves behind.
            self._insert(at + 1, array("Q", (key,)), array("I", (row,)))
            return
        keys, rows = self._keys[at], self._rows[at]
        place = bisect_left(keys, key)
        self._firsts[at] = min(key, self._firsts[at])
        keys.insert(place, key)
        rows.insert(place, row)
        if len(keys) > _CHUNK:
            half = _CHUNK // 2
            self._insert(at + 1, keys[half:], rows[half:])
            del keys[half:], rows[half:]

    def extend(self, keys: array[int], row: int) -> None:
        """Add numbers in order, all above those that are there, with the rows from ``row`` on.

        Raises:
            ValueError: they are not in order.
        """
        if any(map(ge, keys, islice(keys, 1, None))) or (keys and self._keys and keys[0] <= self._keys[-1][-1]):
            raise ValueError(message("ids are not in order"))
        for at in range(0, len(keys), _CHUNK):
            piece = keys[at : at + _CHUNK]
            self._insert(len(self._keys), piece, array("I", range(row + at, row + at + len(piece))))
        self._numbers += len(keys)

    def _insert(self, at: int, keys: array[int], rows: array[int]) -> None:
        self._firsts.insert(at, keys[0])
        self._keys.insert(at, keys)
        self._rows.insert(at, rows)

    def remove(self, key: Key) -> None:
        """Forget a key; one that is not there is fine."""
        if self.find(key) is None:
            return
        if isinstance(key, str):
            del self._others[key]
            return
        self._numbers -= 1
        at = bisect_right(self._firsts, key) - 1
        keys, rows = self._keys[at], self._rows[at]
        place = bisect_left(keys, key)
        del keys[place], rows[place]
        if not keys:
            del self._firsts[at], self._keys[at], self._rows[at]

    def alike(self, other: IdRows) -> bool:
        """Tell whether another has the same keys, at the cost of comparing memory; it may deny it where both grew."""
        return self._keys == other._keys and self._others.keys() == other._others.keys()

    def items(self) -> Iterator[tuple[Key, int]]:
        """Yield the keys in order, each with its row."""
        numbers: Iterator[tuple[Key, int]] = chain.from_iterable(map(zip, self._keys, self._rows))
        others = sorted(self._others.items(), key=lambda item: sort_key(item[0]))
        if others and in_order(others[0][0])[0] == 0:
            # A number that is none of 64 bits, or is written in another way, has its place among the others.
            return heapq.merge(numbers, others, key=lambda item: in_order(item[0]))
        return chain(numbers, others)


def merged(one: IdRows, other: IdRows) -> Iterator[tuple[Key, int | None, int | None]]:
    """Yield the keys of both in order, each with its row in either."""
    left, right = one.items(), other.items()
    first, second = next(left, None), next(right, None)
    while first is not None and second is not None:
        if first[0] == second[0]:
            yield first[0], first[1], second[1]
            first, second = next(left, None), next(right, None)
        elif precedes(first[0], second[0]):
            yield first[0], first[1], None
            first = next(left, None)
        else:
            yield second[0], None, second[1]
            second = next(right, None)
    for key, row in left if first is None else chain((first,), left):
        yield key, row, None
    for key, row in right if second is None else chain((second,), right):
        yield key, None, row
