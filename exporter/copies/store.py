"""What a place for a second copy can do: keep objects of bytes under names, and no more than every such place can.

A copy has the names that the archive's files have, relative to its folder (``versions/000001/manifest.json``). Whoever
calls makes sure of them: a store is only given names that :func:`exporter.archive.layout.is_inside` allows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable

from exporter.errors import ArchiveDamaged
from exporter.message import message

if TYPE_CHECKING:
    from exporter.archive.safe_files import InnerPath

PIECE: Final = 1 << 20
"""How many bytes are read and sent at once."""


@dataclass(frozen=True, slots=True)
class StoredObject:
    """An object that is there.

    Attributes:
        name: its name, as the place gave it: untrusted.
        size: how many bytes its content has; ``None`` where the place does not know without reading it.
        tag: changes whenever the content is replaced; to be handed to :meth:`Store.replace`, and nothing else.
    """

    name: str
    size: int | None
    tag: str


@dataclass(frozen=True, slots=True)
class ObjectContent:
    """What is to be stored.

    Attributes:
        size: how many bytes it has.
        pieces: gives it from its beginning, as often as it is called, in pieces of at most :data:`PIECE` bytes. Where
            it turns out not to be what was vouched for, the last piece is not given and ``ArchiveDamaged`` is raised: a
            store passes that on, and has then stored nothing under the name.
    """

    size: int
    pieces: Callable[[], Iterator[bytes]]

    def read(self) -> bytes:
        """Return all of it."""
        return b"".join(self.pieces())


class Store(Protocol):
    """A place for copies. Its methods may be called from several threads at once.

    Raises:
        BlogExporterError: from all methods: the place cannot be reached, refuses, or is full; what is worth trying
            again has been tried again. An object is there as a whole or not at all, and durable, once a method returns.
    """

    @property
    def place(self) -> str:
        """What to call it in messages; no secret is in it."""
        ...

    def list(self, prefix: str = "") -> Iterator[StoredObject]:
        """Yield the objects whose names begin with ``prefix`` (a whole folder with its ``/``, or nothing)."""
        ...

    def read(self, name: str) -> Iterator[bytes]:
        """Yield the content of an object in pieces.

        Raises:
            NoSuchObject: there is none of this name, before the first piece.
        """
        ...

    def read_range(self, name: str, start: int, length: int) -> bytes:
        """Return ``length`` bytes of an object from ``start`` (0 is the first), fewer where it ends before.

        Raises:
            NoSuchObject: there is none of this name.
        """
        ...

    def create(self, name: str, content: ObjectContent) -> bool:
        """Store an object unless there is one of this name; tell whether it was stored. Never overwrites.

        Raises:
            ArchiveDamaged: the content is not what was vouched for; nothing was stored.
        """
        ...

    def replace(self, name: str, content: bytes, tag: str | None) -> bool:
        """Store an object in the place of the one that has ``tag``, or where there is none for ``None``.

        Returns:
            Whether it was stored: not where somebody else has stored another one meanwhile.
        """
        ...

    def remove(self, name: str) -> None:
        """Remove an object; one that is not there is fine."""
        ...


@runtime_checkable
class KeepsStates(Protocol):
    """A place that keeps what was replaced, and finds the state that counts of what was written over it since."""

    def read_states_by(self, reveal: Callable[[str, bytes], bytes | None]) -> None:
        """Have states told apart by what is encrypted in them.

        Args:
            reveal: given an object's name and content, returns what is in it; ``None`` for what the writer of the copy
                did not write.
        """
        ...


@runtime_checkable
class Seals(Protocol):
    """A place whose objects are encrypted."""

    def read_sealed(self, name: str) -> Iterator[bytes]:
        """Yield what is stored of an object, encrypted as it is.

        Raises:
            NoSuchObject: there is none of this name, before the first piece.
        """
        ...


def content_of(data: bytes) -> ObjectContent:
    """Return bytes at hand as content."""
    return ObjectContent(len(data), lambda: iter((data,)))


def vouched_content(
    size: int, sha256: str, pieces: Callable[[], Iterator[bytes]], blamed: Callable[[], ArchiveDamaged]
) -> ObjectContent:
    """Return content that is compared with its size and SHA-256 while it is read; ``blamed`` makes the error."""

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
            raise blamed()
        if held:
            yield held

    return ObjectContent(size, checked)


def content_of_file(path: InnerPath, size: int, sha256: str) -> ObjectContent:
    """Return a file as content, which is compared with its size and SHA-256 while it is read."""

    def blamed() -> ArchiveDamaged:
        return ArchiveDamaged(
            message("{path} is not what was written, and was not sent; run verify --repair.", path=path)
        )

    def pieces() -> Iterator[bytes]:
        try:
            with path.open("rb", 0) as file:
                while piece := file.read(PIECE):
                    yield piece
        except OSError as error:
            raise blamed() from error

    return vouched_content(size, sha256, pieces, blamed)


def read_whole(store: Store, name: str, limit: int) -> bytes:
    """Return the content of an object.

    Raises:
        NoSuchObject: there is none of this name.
        ArchiveDamaged: it has more than ``limit`` bytes.
    """
    data = bytearray()
    for piece in store.read(name):
        data += piece
        if len(data) > limit:
            raise ArchiveDamaged(
                message(
                    "{name} in {place} has more than {limit} bytes, as none of its kind has; remove it there.",
                    name=name,
                    place=store.place,
                    limit=limit,
                )
            )
    return bytes(data)
