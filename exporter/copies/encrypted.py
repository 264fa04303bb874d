"""Encrypt a copy with age: a store that wraps another store.

Each object is an age file, encrypted to the recipients. It has a line with the object's proof, size and name, then the
content, then zeros as padding:

    blog-exporter-copy 1 PROOF SIZE NAME

Anyone who knows the recipients can make such a file, but the proof needs the copy's secret: see
:mod:`exporter.copies.hidden_names`. Segments and pictures are encrypted to the recipients only, documents also to the
writer: see :mod:`exporter.copies.memory`.

Two files are not encrypted: ``encrypted-copy.json`` has the copy's id, and ``README.txt`` describes how to restore
it without this program. ``keys/MARK.age`` has the copy's keys and recipients, once for each set of recipients.
"""

from __future__ import annotations

import hmac
import json
import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from importlib import resources
from pathlib import Path
from typing import IO, Any, Final

from exporter.copies import age_files
from exporter.copies.hidden_names import padded, plain_name, proof, readers_mark, stored_name, stored_prefix
from exporter.copies.memory import CopyKeys, KeyMemory
from exporter.copies.store import PIECE_BYTES, ObjectContent, Store, StoredObject, content_of, read_whole
from exporter.errors import ArchiveDamaged, CopyEncrypted, NewerFormat, NoKeyFits, NoSuchObject, UsageError

MARKER: Final = "encrypted-copy.json"
README: Final = "README.txt"
KEYS: Final = "keys/"
_FORMAT: Final = "blog-exporter-encrypted-copy"
_VERSION: Final = 1
_OURS: Final = frozenset({MARKER, README})
_FIRST_WORD: Final = "blog-exporter-copy"
_MAX_LINE_BYTES: Final = 4096
_MAX_KEYS_BYTES: Final = 1 << 20
_MAX_KEYS: Final = 100_000
"""The limit of key files that are tried. Others with write access may have added more."""
_PRIVATE: Final = re.compile(
    r"(?:[0-9a-f]{2}/[^/]+/)?(?:assets/.*|versions[^/]*/[0-9]+/[^/]+\.jsonl"
    r"|captures/[0-9]+/(?!(?:capture\.json|SHA256SUMS)\Z).*)",
    re.DOTALL,
)
"""The records, pictures and captured pages, which the writer cannot decrypt."""


@dataclass(frozen=True, slots=True)
class ChangedReaders:
    """The difference between the recipients now and those of existing objects.

    Attributes:
        added: recipients of new objects only.
        dropped: recipients of old objects only.
    """

    added: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()


class EncryptedStore(Store):
    """A store that encrypts objects.

    Args:
        inner: the store for the encrypted objects.
        keys: the copy's keys.
        recipients: the recipients of new objects; without any, nothing can be stored.
        identities: identities for reading, in addition to the writer's.
        memory: saves the keys before the first object is stored.
        begun: whether the copy exists.
    """

    def __init__(
        self,
        inner: Store,
        keys: CopyKeys,
        recipients: Sequence[str],
        identities: Sequence[Any],
        memory: KeyMemory,
        *,
        begun: bool,
    ) -> None:
        self._inner = inner
        self._keys = keys
        self._memory = memory
        self._begun = begun
        self._ready = False
        self._lock = threading.Lock()
        own = age_files.identity(keys.identity)
        self._names = tuple(dict.fromkeys(recipients))
        self._recipients = [age_files.recipient(each) for each in self._names]
        self._with_writer = [*self._recipients, own.to_public()]
        self._identities = [*identities, own]
        inner.decrypt_states_with(self._decrypted)

    @property
    def place(self) -> str:
        """The place of the wrapped store."""
        return self._inner.place

    @property
    def inner(self) -> Store:
        """The store for the encrypted objects."""
        return self._inner

    def _decrypted(self, stored: str, data: bytes) -> bytes | None:
        """Return the content of a stored object; ``None`` if the copy's writer did not store it under this name."""
        name = plain_name(self._keys.secret, stored)
        if name is None:
            return None
        try:
            with age_files.decrypted(iter([data]), self._identities, stored) as file:
                return file.read(_unwrapped(file, name, self._keys.secret, stored))
        except ArchiveDamaged:
            return None

    @property
    def id(self) -> str:
        """The public id of the copy."""
        return self._keys.id

    def keep_keys(self) -> None:
        """Save the keys in a restored archive, so that it can be synced to this copy."""
        self._memory.keep(self.place, self._keys)

    def changed_readers(self) -> ChangedReaders:
        """Compare the recipients with those of existing objects."""
        if not self._begun or not self._names:
            return ChangedReaders()
        found = key_files(self._inner, self._identities)
        before = [recipients for keys, recipients in found if keys.id == self.id]
        if not before:
            return ChangedReaders()
        now = set(self._names)
        everywhere: set[str] = set(before[0]).intersection(*before[1:])
        return ChangedReaders(
            tuple(sorted(now - everywhere)), tuple(sorted({each for some in before for each in some} - now))
        )

    def list(self, prefix: str = "") -> Iterator[StoredObject]:
        """Yield the objects. An object that another writer made has an invalid name."""
        for found in self._inner.list(stored_prefix(self._keys.secret, prefix)):
            if found.name in _OURS or found.name.startswith(KEYS):
                continue
            name = plain_name(self._keys.secret, found.name)
            if name is None:
                name = f"{found.name} (not of this copy)"
            if name.startswith(prefix):
                yield StoredObject(name, None, found.tag)

    def read(self, name: str) -> Iterator[bytes]:
        """Yield an object's content, after all of it was authenticated."""
        with self._opened(name) as (file, size):
            yield from age_files.pieces_of(file, size)

    def read_sealed(self, name: str) -> Iterator[bytes]:
        """Yield the encrypted bytes of an object."""
        return self._inner.read(self._stored(name))

    def create(self, name: str, content: ObjectContent) -> bool:
        """Store an object if the name is free."""
        self._start()
        with self._sealed(name, content) as made:
            return self._inner.create(self._stored(name), made)

    def replace(self, name: str, content: bytes, tag: str | None) -> bool:
        """Replace the object that has ``tag``."""
        self._start()
        with self._sealed(name, content_of(content)) as made:
            return self._inner.replace(self._stored(name), made.read(), tag)

    def lock_end(self, name: str) -> datetime | None:
        """Return when the lock of an object ends."""
        return self._inner.lock_end(self._stored(name))

    def remove(self, name: str) -> None:
        """Remove an object."""
        self._inner.remove(self._stored(name))

    def require_reading_back(self) -> None:
        """Refuse if no given identity decrypts new records; the writer's own does not."""
        if self._begun and not any(str(each.to_public()) in self._names for each in self._identities):
            raise UsageError(
                "A prune of the encrypted copy in {place} reads its versions back, and no given key can: give "
                "--identity with the file of one of its recipients. Nothing was changed.",
                place=self.place,
            )

    def _stored(self, name: str) -> str:
        try:
            return stored_name(self._keys.secret, name)
        except ValueError:
            raise ArchiveDamaged(
                "{place} has an object with the invalid name {name!r}: remove it.", place=self.place, name=name
            ) from None

    @contextmanager
    def _sealed(self, name: str, content: ObjectContent) -> Iterator[ObjectContent]:
        readers = self._recipients if _PRIVATE.fullmatch(name) else self._with_writer
        with age_files.encrypted(_wrapped(name, self._keys.secret, content), readers) as file:
            size = file.seek(0, 2)

            def pieces() -> Iterator[bytes]:
                file.seek(0)
                return age_files.pieces_of(file)

            yield ObjectContent(size, pieces)

    @contextmanager
    def _opened(self, name: str) -> Iterator[tuple[IO[bytes], int]]:
        """Yield a file that is positioned at an object's content, and the size of the content."""
        called = f"{self.place}/{name}"
        try:
            pieces = self._inner.read(self._stored(name))
            with age_files.decrypted(pieces, self._identities, called) as file:
                yield file, _unwrapped(file, name, self._keys.secret, called)
        except NoSuchObject:
            raise NoSuchObject(self.place, name) from None

    def _start(self) -> None:
        """Before the first object is stored, create the copy and store its keys for these recipients.

        The archive saves the keys before the copy exists, so that a kill in between loses nothing.
        """
        if not self._names:
            raise UsageError("{place} is encrypted: give its recipient with --encrypt-to.", place=self.place)
        with self._lock:
            if self._ready:
                return
            self._memory.keep(self.place, self._keys)
            marker = {"format": _FORMAT, "format_version": _VERSION, "id": self.id}
            self._inner.create(MARKER, content_of(json.dumps(marker, indent=1).encode() + b"\n"))
            found = _marker_id(self._inner)
            if found != self.id:
                raise UsageError(
                    "Another machine just began an encrypted copy in {place}: choose another place, or run again "
                    "with --identity to add to that copy.",
                    place=self.place,
                )
            self._inner.create(README, content_of((resources.files("exporter.copies") / "README.txt").read_bytes()))
            document = {**self._keys.as_json(), "recipients": sorted(self._names)}
            with age_files.encrypted([json.dumps(document).encode()], self._with_writer) as file:
                data = file.read()
            mark = readers_mark(self._keys.secret, self._names)
            self._inner.create(f"{KEYS}{mark}.age", content_of(data))
            self._begun = self._ready = True


def key_files(inner: Store, identities: Sequence[Any]) -> Iterator[tuple[CopyKeys, tuple[str, ...]]]:
    """Yield the keys in a copy that these identities decrypt, with their recipients.

    Other files, which anyone with write access may have added, are skipped.

    Raises:
        ArchiveDamaged: at the end, if no file was decrypted and a file is damaged.
    """
    damaged: ArchiveDamaged | None = None
    opened = False
    for number, found in enumerate(inner.list(KEYS)):
        if number >= _MAX_KEYS:
            break
        called = f"{inner.place}/{found.name}"
        try:
            with age_files.decrypted(
                iter([read_whole(inner, found.name, _MAX_KEYS_BYTES)]), identities, called
            ) as file:
                data = json.loads(file.read())
            keys, recipients = CopyKeys.of(data), tuple(str(each) for each in data["recipients"])
        except NoKeyFits:
            continue
        except (ArchiveDamaged, ValueError, KeyError, TypeError):
            damaged = _not_a_copy(called)
            continue
        opened = True
        yield keys, recipients
    if damaged is not None and not opened:
        raise damaged


def open_encrypted(
    inner: Store, recipients: Sequence[str], identity_files: Sequence[Path], archive: Path | None
) -> Store:
    """Return ``inner``, or an encrypted store around it if the copy is encrypted or recipients are given.

    Nothing is written until an object is stored.

    Args:
        inner: the store at a place.
        recipients: the given age recipients.
        identity_files: the given files of identities.
        archive: the archive that is the source or the target, if any.

    Raises:
        UsageError: the options do not fit the copy. Encrypted and plain objects are never mixed.
        ArchiveDamaged: the copy is damaged, or another one is in its place.
    """
    memory = KeyMemory(archive)
    there, known = _marker_id(inner), memory.id_at(inner.place)
    identities = [each for path in identity_files for each in age_files.identities_in(path)]
    if not recipients and not identities:
        if there is not None or known is not None:
            raise CopyEncrypted(
                "{place} is an encrypted copy: give --encrypt-to with its recipient to send, or --identity with "
                "the file of your age identity to read.",
                place=inner.place,
            )
        return inner
    if known is not None and there is not None and known != there:
        raise ArchiveDamaged(
            "The encrypted copy in {place} is not the one that this archive was sent to: someone has replaced it. "
            "If that was you, remove {file} and run again with --identity.",
            place=inner.place,
            file=memory.path,
        )
    if there is None:
        if not recipients or next(iter(inner.list()), None) is not None:
            raise UsageError(
                "{place} has no encrypted copy: leave out --encrypt-to and --identity, or name an empty target.",
                place=inner.place,
            )
        keys = None if known is None else memory.keys(known)
        return EncryptedStore(inner, keys or CopyKeys.new(), recipients, identities, memory, begun=False)
    keys = _keys_from(inner, identities, there) if identities else memory.keys(there)
    if keys is None:
        raise UsageError(
            "The keys of the encrypted copy in {place} are not in this archive's .work: run once with --identity "
            "to get them from the copy, or send to another place.",
            place=inner.place,
        )
    memory.keep(inner.place, keys)
    return EncryptedStore(inner, keys, recipients, identities, memory, begun=True)


def _keys_from(inner: Store, identities: Sequence[Any], there: str) -> CopyKeys:
    others = False
    for keys, _ in key_files(inner, identities):
        if keys.id == there:
            return keys
        others = True
    if others:
        raise _not_a_copy(f"{inner.place}/{KEYS}")
    raise UsageError(
        "The given identity decrypts nothing in {place}: give the identity of one of its recipients.", place=inner.place
    )


def _marker_id(inner: Store) -> str | None:
    """Return the id of the encrypted copy in a store; ``None`` if there is no such copy.

    Raises:
        ArchiveDamaged: the marker file is invalid.
        NewerFormat: the copy has a newer format.
    """
    try:
        data = json.loads(read_whole(inner, MARKER, _MAX_KEYS_BYTES))
        found = data["format"], data["format_version"], data["id"]
    except NoSuchObject:
        return None
    except (ValueError, KeyError, TypeError) as error:
        raise _not_a_copy(f"{inner.place}/{MARKER}") from error
    name, version, number = found
    if name != _FORMAT or not isinstance(version, int) or not isinstance(number, str):
        raise _not_a_copy(f"{inner.place}/{MARKER}")
    if version > _VERSION:
        raise NewerFormat("{place} was written by a newer blog-exporter: update this one to use it.", place=inner.place)
    return number


def _not_a_copy(called: str) -> ArchiveDamaged:
    return ArchiveDamaged(
        "{name} is not what sync wrote: restore it from another copy, or send to another place.", name=called
    )


def _wrapped(name: str, secret: bytes, content: ObjectContent) -> Iterator[bytes]:
    line = f"{_FIRST_WORD} {_VERSION} {proof(secret, name)} {content.size} {name}\n".encode()
    yield line
    yield from content.pieces()
    whole = len(line) + content.size
    left = padded(whole) - whole
    while left:
        yield bytes(min(left, PIECE_BYTES))
        left -= min(left, PIECE_BYTES)


def _unwrapped(file: IO[bytes], name: str, secret: bytes, called: str) -> int:
    """Read and check an object's first line, and return the size of the content after it.

    Raises:
        ArchiveDamaged: the line belongs to another object, or has no valid proof.
    """
    line = file.readline(_MAX_LINE_BYTES)
    words = line.decode("utf-8", "replace").removesuffix("\n").split(" ", 4)
    if len(words) != 5 or words[:2] != [_FIRST_WORD, str(_VERSION)] or not re.fullmatch(r"[0-9]{1,18}", words[3]):
        raise _not_a_copy(called)
    if words[4] != name or not hmac.compare_digest(words[2].encode(), proof(secret, name).encode()):
        raise ArchiveDamaged(
            "{name} has other content, from someone with write access to the place: restore it from another copy, "
            "and find out who that is.",
            name=called,
        )
    size = int(words[3])
    start = file.tell()
    end = file.seek(0, 2)
    if end != padded(len(line) + size):
        raise _not_a_copy(called)
    file.seek(start)
    return size
