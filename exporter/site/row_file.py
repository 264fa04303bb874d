"""Rows in temporary files, so that memory does not grow with the texts of a blog."""

from __future__ import annotations

import contextlib
import weakref
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property, lru_cache
from tempfile import TemporaryFile
from typing import IO, Final

from exporter.model.kinds import sort_key

_KEPT_BLOCKS: Final = 32
"""Parts of a file that stay in memory."""
_BLOCK_BYTES: Final = 1 << 16


class RowFile:
    """Byte strings in a temporary file, which disappears with this object; memory holds 8 bytes for each.

    Raises:
        OSError: from all methods: the file cannot be written or read.
    """

    def __init__(self) -> None:
        self._file = TemporaryFile()  # noqa: SIM115 - it closes with this object
        weakref.finalize(self, _close, self._file)
        self._ends = array("Q", (0,))
        self._block = lru_cache(_KEPT_BLOCKS)(self._read_block)

    def __len__(self) -> int:
        return len(self._ends) - 1

    def append(self, data: bytes) -> None:
        """Add a byte string at the end; it is not read before the last one was added."""
        self._file.write(data)
        self._ends.append(self._ends[-1] + len(data))

    def __getitem__(self, at: int) -> bytes:
        start, end = self._ends[at : at + 2]
        block = start // _BLOCK_BYTES
        found = self._block(block)[start - block * _BLOCK_BYTES : end - block * _BLOCK_BYTES]
        while len(found) < end - start:
            block += 1
            found += self._block(block)[: end - start - len(found)]
        return found

    def _read_block(self, number: int) -> bytes:
        self._file.seek(number * _BLOCK_BYTES)
        return self._file.read(_BLOCK_BYTES)


class MarkedEntries:
    """The id, the marks (see :mod:`exporter.site.facts`) and the category of each entry, in the order of the ids.

    Memory holds the ids, a temporary file the marks. All entries are added before one is read.
    """

    def __init__(self) -> None:
        self._ids: list[str] = []
        self._categories: list[str] = []
        self._marks = RowFile()
        self._order = array("I")

    def add(self, entry_id: str, marks: str, category: str) -> None:
        """Add an entry. Nearly all come in order."""
        row = len(self._ids)
        self._ids.append(entry_id)
        self._categories.append(category)
        self._marks.append(marks.encode("utf-8", "surrogatepass"))
        last = self._order[-1] if self._order else None
        in_order = last is None or self._key(last) <= self._key(row)
        self._order.insert(row if in_order else bisect_right(self._order, self._key(row), key=self._key), row)

    def __iter__(self) -> Iterator[tuple[str, str, str]]:
        return ((self._ids[row], self._marks_of(row), self._categories[row]) for row in self._order)

    def at(self, place: int) -> tuple[str, str, str]:
        """Return the id, the marks and the category of the entry at a place."""
        row = self._order[place]
        return self._ids[row], self._marks_of(row), self._categories[row]

    def id(self, place: int) -> str:
        """Return the id of the entry at a place."""
        return self._ids[self._order[place]]

    @cached_property
    def categories(self) -> list[str]:
        """The category of the entry at each place."""
        return [self._categories[row] for row in self._order]

    def _marks_of(self, row: int) -> str:
        return self._marks[row].decode("utf-8", "surrogatepass")

    def _key(self, row: int) -> tuple[int, int, str]:
        return sort_key(self._ids[row])


def _close(file: IO[bytes]) -> None:
    """Close a file whose content is not needed any more, even if the disk is full."""
    with contextlib.suppress(OSError):
        file.close()
