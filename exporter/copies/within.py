"""A store in a folder of another one: each archive of a fleet has one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from exporter.copies.store import ObjectContent, Store, StoredObject


class WithinStore:
    """The part of a store below a folder.

    Args:
        store: the whole.
        folder: the folder's name, without ``/`` at its ends; one that is inside.
    """

    def __init__(self, store: Store, folder: str) -> None:
        self._store = store
        self._folder = f"{folder}/"

    @property
    def place(self) -> str:
        """The place of the whole, and the folder."""
        return f"{self._store.place.rstrip('/')}/{self._folder.rstrip('/')}"

    def list(self, prefix: str = "") -> Iterator[StoredObject]:
        """Yield the objects below the folder."""
        for found in self._store.list(self._folder + prefix):
            yield replace(found, name=found.name[len(self._folder) :])

    def read(self, name: str) -> Iterator[bytes]:
        """Yield the content of an object in pieces."""
        return self._store.read(self._folder + name)

    def read_range(self, name: str, start: int, length: int) -> bytes:
        """Return a part of an object."""
        return self._store.read_range(self._folder + name, start, length)

    def create(self, name: str, content: ObjectContent) -> bool:
        """Store an object unless there is one of this name."""
        return self._store.create(self._folder + name, content)

    def replace(self, name: str, content: bytes, tag: str | None) -> bool:
        """Store an object in the place of the one that has ``tag``."""
        return self._store.replace(self._folder + name, content, tag)

    def remove(self, name: str) -> None:
        """Remove an object."""
        self._store.remove(self._folder + name)
