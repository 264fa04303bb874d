"""The archives of a store: a copy of one, or those of a fleet, each in a folder of the store."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from exporter.archive.fleet_folder import belongs
from exporter.copies.store import Seals
from exporter.errors import NoArchive
from exporter.message import message

if TYPE_CHECKING:
    from exporter.copies.store import ObjectContent, Store, StoredObject

_IN_A_FLEET: Final = re.compile(r"([0-9a-f]{2})/([^/]+)/archive\.json")


def archives_of(store: Store) -> list[str]:
    """Return where the archives of a place are: ``.`` alone, or those of a fleet, in order.

    Raises:
        NoArchive: there is none.
    """
    found = set()
    for each in store.list():
        if each.name == "archive.json":
            return ["."]
        name = _IN_A_FLEET.fullmatch(each.name)
        if name is not None and belongs(name[1], name[2]):
            found.add(f"{name[1]}/{name[2]}")
    if not found:
        raise NoArchive(
            message("{place} holds no archive, no copy of one and no fleet: it has no archive.json.", place=store.place)
        )
    return sorted(found)


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

    def read_sealed(self, name: str) -> Iterator[bytes]:
        """Yield what is stored of an object, encrypted where it is."""
        inner = self._folder + name
        return self._store.read_sealed(inner) if isinstance(self._store, Seals) else self._store.read(inner)

    def create(self, name: str, content: ObjectContent) -> bool:
        """Store an object unless there is one of this name."""
        return self._store.create(self._folder + name, content)

    def replace(self, name: str, content: bytes, tag: str | None) -> bool:
        """Store an object in the place of the one that has ``tag``."""
        return self._store.replace(self._folder + name, content, tag)

    def remove(self, name: str) -> None:
        """Remove an object."""
        self._store.remove(self._folder + name)
