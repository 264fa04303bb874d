"""The interface of a place that stores a copy: objects of bytes by name, and the conditions for writing them.

A copy has the archive's file names, relative to its folder (``versions/000001/manifest.json``). The caller checks
names: a store only receives names that :func:`exporter.archive.layout.is_inside` allows.
"""

from __future__ import annotations

import hashlib
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Final

from exporter.archive.fleet_folder import belongs
from exporter.archive.safe_files import InnerPath
from exporter.errors import ArchiveDamaged, NoArchive, UsageError
from exporter.frozen import frozen

PIECE_BYTES: Final = 1 << 20
"""The size, in bytes, of the pieces that are read and sent."""
S3_SCHEME: Final = "s3://"
_REMOTE: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:", re.ASCII)
"""A scheme (RFC 3986, section 3.1) or a remote of rclone. A single letter before the colon is a drive of Windows."""
_IN_A_FLEET: Final = re.compile(r"([0-9a-f]{2})/([^/]+)/archive\.json")


def is_place_of_copies(place: str) -> bool:
    """Return whether a place is an address, or the folder of an encrypted copy.

    Raises:
        UsageError: the address is of an unsupported kind.
    """
    return is_address(place) or (Path(place) / "encrypted-copy.json").is_file()


def is_address(place: str) -> bool:
    """Return whether a place is an S3 address; otherwise it is a folder.

    Schemes are compared without regard to case (RFC 3986, section 3.1).

    Raises:
        UsageError: the place is an address of another kind, such as ``gs://`` or ``b2:``.
    """
    if place[: len(S3_SCHEME)].lower() == S3_SCHEME:
        return True
    found = _REMOTE.match(place)
    if found is not None and not Path(place).is_dir():
        raise UsageError(
            "{place} is not supported: a copy can be in a folder, or at an address such as s3://bucket/prefix. To "
            "use a folder of that name, type {folder}.",
            place=place,
            folder=f"./{place}",
        )
    return False


def absolute_place(place: str) -> str:
    """Return an address unchanged, and a folder as an absolute path."""
    return place if is_address(place) else str(Path(place).absolute())


@frozen
class StoredObject:
    """An object in a store.

    Attributes:
        name: the untrusted name, as the store returned it.
        size: the number of bytes; ``None`` if the store would have to read the object.
        tag: a value that changes with the content, for :meth:`Store.replace`.
    """

    name: str
    size: int | None
    tag: str


@frozen
class ObjectContent:
    """Content to store.

    Attributes:
        size: the number of bytes.
        pieces: returns the content from the start at each call, in pieces of at most :data:`PIECE_BYTES` bytes. If the
            content fails its check, it raises ``ArchiveDamaged`` before the last piece, and nothing is stored.
    """

    size: int
    pieces: Callable[[], Iterator[bytes]]

    def read(self) -> bytes:
        """Return all bytes."""
        return b"".join(self.pieces())


class Store(ABC):
    """A place for copies. Several threads may call its methods at once.

    Every object is complete and durable when a method returns. Every method retries failures that may pass.

    Raises:
        BlogExporterError: from all methods, if the place is unreachable, full, or refuses access.
    """

    @property
    @abstractmethod
    def place(self) -> str:
        """The name for messages, without secrets."""

    @abstractmethod
    def list(self, prefix: str = "") -> Iterator[StoredObject]:
        """Yield the objects whose names start with ``prefix``, which is empty or a folder with its ``/``."""

    @abstractmethod
    def read(self, name: str) -> Iterator[bytes]:
        """Yield the content of an object in pieces.

        Raises:
            NoSuchObject: the object does not exist; raised before the first piece.
        """

    def require_reading_back(self) -> None:  # noqa: B027 - only an encrypted store can lack the key
        """Refuse if this run cannot read the objects that it stores.

        Raises:
            UsageError: the key for reading is missing.
        """

    def read_start(self, name: str, length: int) -> bytes:
        """Return the first ``length`` bytes, or all bytes of a shorter object.

        Raises:
            NoSuchObject: the object does not exist.
        """
        data = b""
        for piece in self.read(name):
            data += piece
            if len(data) >= length:
                break
        return data[:length]

    def read_sealed(self, name: str) -> Iterator[bytes]:
        """Yield an object's stored bytes, which an encrypted store does not decrypt.

        Raises:
            NoSuchObject: the object does not exist; raised before the first piece.
        """
        return self.read(name)

    @abstractmethod
    def create(self, name: str, content: ObjectContent) -> bool:
        """Store an object if the name is free, and return whether it was stored. Never overwrite.

        Raises:
            ArchiveDamaged: the content failed its check; nothing was stored.
        """

    @abstractmethod
    def replace(self, name: str, content: bytes, tag: str | None) -> bool:
        """Replace the object that has ``tag``; with ``None``, create an object.

        Returns:
            Whether the content was stored. It is not stored if another writer changed the object.
        """

    def lock_end(self, _name: str) -> datetime | None:
        """Return when the lock of an object ends; ``None`` for one that is not locked."""
        return None

    @abstractmethod
    def remove(self, name: str) -> None:
        """Remove an object, if it exists."""

    def decrypt_states_with(self, decrypt: Callable[[str, bytes], bytes | None]) -> None:  # noqa: B027 - optional
        """Set how a store that keeps old versions decrypts them, to choose the genuine one.

        Args:
            decrypt: returns the content for a stored name and its bytes; ``None`` if another writer made the object.
        """


class WithinStore(Store):
    """A folder of a store.

    Args:
        store: the whole store.
        folder: the folder's name without a slash at its end.
    """

    def __init__(self, store: Store, folder: str) -> None:
        self._store = store
        self._folder = f"{folder}/"

    @property
    def place(self) -> str:
        """The place and the folder."""
        return f"{self._store.place.rstrip('/')}/{self._folder.rstrip('/')}"

    def list(self, prefix: str = "") -> Iterator[StoredObject]:
        """Yield the objects in the folder."""
        for found in self._store.list(self._folder + prefix):
            yield replace(found, name=found.name[len(self._folder) :])

    def read(self, name: str) -> Iterator[bytes]:
        """Yield the content of an object."""
        return self._store.read(self._folder + name)

    def read_sealed(self, name: str) -> Iterator[bytes]:
        """Yield the stored bytes of an object."""
        return self._store.read_sealed(self._folder + name)

    def create(self, name: str, content: ObjectContent) -> bool:
        """Store an object if the name is free."""
        return self._store.create(self._folder + name, content)

    def replace(self, name: str, content: bytes, tag: str | None) -> bool:
        """Replace the object that has ``tag``."""
        return self._store.replace(self._folder + name, content, tag)

    def lock_end(self, name: str) -> datetime | None:
        """Return when the lock of an object ends."""
        return self._store.lock_end(self._folder + name)

    def remove(self, name: str) -> None:
        """Remove an object."""
        self._store.remove(self._folder + name)

    def require_reading_back(self) -> None:
        """Refuse if this run cannot read the objects that it stores."""
        self._store.require_reading_back()


def archives_of(store: Store) -> list[str]:
    """Return the folders of a fleet's archives in order; ``.`` alone for the copy of one archive.

    Raises:
        NoArchive: the store has no archive.
    """
    found = set()
    for each in store.list():
        if each.name == "archive.json":
            return ["."]
        name = _IN_A_FLEET.fullmatch(each.name)
        if name is not None and belongs(name[1], name[2]):
            found.add(f"{name[1]}/{name[2]}")
    if not found:
        raise NoArchive("{place} has no archive, copy or fleet: it has no archive.json.", place=store.place)
    return sorted(found)


def content_of(data: bytes) -> ObjectContent:
    """Return bytes as content."""
    return ObjectContent(len(data), lambda: iter((data,)))


def checked_content(
    size: int, sha256: str, pieces: Callable[[], Iterator[bytes]], error: Callable[[], ArchiveDamaged]
) -> ObjectContent:
    """Return content that raises ``error()`` while it is read, if its size or hash is wrong."""

    def checked() -> Iterator[bytes]:
        digest = hashlib.sha256()
        total = 0
        held = b""
        for piece in pieces():
            digest.update(piece)
            total += len(piece)
            if total > size:
                break
            if held:
                yield held
            held = piece
        if total != size or digest.hexdigest() != sha256:
            raise error()
        if held:
            yield held

    return ObjectContent(size, checked)


def content_of_file(path: InnerPath, size: int, sha256: str) -> ObjectContent:
    """Return a file as content that is checked while it is read."""

    def error() -> ArchiveDamaged:
        return ArchiveDamaged("{path} is damaged and was not sent: run verify --repair.", path=path)

    def pieces() -> Iterator[bytes]:
        try:
            with path.open("rb", 0) as file:
                while piece := file.read(PIECE_BYTES):
                    yield piece
        except OSError as failure:
            raise error() from failure

    return checked_content(size, sha256, pieces, error)


def read_whole(store: Store, name: str, limit: int) -> bytes:
    """Return the content of an object.

    Raises:
        NoSuchObject: the object does not exist.
        ArchiveDamaged: the object has more than ``limit`` bytes.
    """
    data = bytearray()
    for piece in store.read(name):
        data += piece
        if len(data) > limit:
            raise ArchiveDamaged(
                "{name} in {place} has more than {limit:,} bytes, too many for its kind: remove it there.",
                name=name,
                place=store.place,
                limit=limit,
            )
    return bytes(data)
