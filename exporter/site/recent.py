"""What was read last, kept for a moment: a page and the search data made after it need the same records and trees."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Final, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

KEPT: Final = 128
"""More than a chunk of the search data holds."""
_GREAT: Final = 20_000


class Recent(Generic[K, V]):
    """The last values made, by key; few and small ones, so that memory does not grow with the blog.

    Args:
        make: makes the value of a key.
        size: of a key and its value, in characters; what is great is made again each time.
    """

    def __init__(self, make: Callable[[K], V], size: Callable[[K, V], int]) -> None:
        self._make = make
        self._size = size
        self._values: dict[K, V] = {}

    def get(self, key: K) -> V:
        """Return the value for a key, made or kept."""
        found = self._values.get(key)
        if found is None:
            found = self._make(key)
            if self._size(key, found) <= _GREAT:
                if len(self._values) >= KEPT:
                    del self._values[next(iter(self._values))]
                self._values[key] = found
        return found
