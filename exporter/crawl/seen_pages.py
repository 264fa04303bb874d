"""The pages of a list as a sweep saw them, in 48 bytes each: a blog of 100,000 entries has tens of thousands."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from exporter.crawl.resume import Place

_DIGEST = 32
_NONE = bytes(_DIGEST)


class SeenPages:
    """For every page, counted from 1, the SHA-256 of the whole answer and where its note stands in the spool."""

    def __init__(self) -> None:
        self._bodies = bytearray()
        self._places = array("Q")

    def put(self, page: int, body: bytes, place: Place) -> None:
        """Remember a page; ``body`` is empty where the answer is not known any more."""
        missing = page - len(self._places) // 2
        if missing > 0:
            self._bodies += _NONE * missing
            self._places.extend([0, 0] * missing)
        self._bodies[(page - 1) * _DIGEST : page * _DIGEST] = body or _NONE
        self._places[2 * page - 2], self._places[2 * page - 1] = place

    def body(self, page: int) -> bytes | None:
        """Return the SHA-256 of a page's answer, ``None`` when it was not seen."""
        found = bytes(self._bodies[(page - 1) * _DIGEST : page * _DIGEST])
        return found if found and found != _NONE else None

    def place(self, page: int) -> Place:
        """Return the offset and the length of a page's note."""
        return self._places[2 * page - 2], self._places[2 * page - 1]

    def clear(self) -> None:
        """Forget all pages."""
        self._bodies.clear()
        del self._places[:]
