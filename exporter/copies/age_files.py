"""Encrypt and decrypt files in the age format (age-encryption.org/v1), and read recipients and identities.

Content goes through a temporary file, which is in memory while it is small. So the caller receives no part of a file
that is truncated or changed.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import IO, Any, Final

from exporter.archive import atomic
from exporter.copies.store import PIECE_BYTES
from exporter.errors import ArchiveDamaged, BlogExporterError, NoKeyFits, UsageError
from exporter.message import message, system_reason

Recipient = Any
Identity = Any

_IN_MEMORY_BYTES: Final = 4 << 20
_MAX_KEYS_BYTES: Final = 64 * 1024
_MAX_HEADER_BYTES: Final = 64 * 1024
"""In bytes, enough for about four hundred recipients."""
_MAGIC: Final = b"age-encryption.org/v1\n"
_ARMOR: Final = "-----BEGIN AGE ENCRYPTED FILE-----"
_CHUNK, _TAG, _NONCE = 65536, 16, 16
_NO_KEY_FITS: Final = "No matching keys found"


def recipient(text: str) -> Recipient:
    """Read a recipient, ``age1…``.

    Raises:
        UsageError: the text is not a supported recipient.
    """
    library = _library()
    word = text.strip()
    try:
        return library.x25519.Recipient.from_str(word)
    except library.RecipientError as error:
        if word.upper().startswith("AGE-SECRET-KEY-"):
            # The text is never shown, because it is a secret key.
            raise UsageError(
                message(
                    "An age identity, which is secret, was given as a recipient: give the age1… that age-keygen -y "
                    "prints for it, and make a new identity if others may have seen this one."
                )
            ) from None
        raise UsageError(
            "{word!r} is not a supported age recipient: give one that age-keygen makes, age1… with 62 characters.",
            word=word[:80],
        ) from error


def recipients_in(path: Path) -> tuple[str, ...]:
    """Read a file with a recipient on each line, as ``age -R`` does; ``#`` starts a comment.

    Raises:
        UsageError: the file is unreadable or empty, or a line is not a recipient.
    """
    found = tuple(_lines(path))
    for line in found:
        recipient(line)
    if not found:
        raise UsageError("{path} has no age recipient: put each age1… on a separate line.", path=path)
    return found


def identities_in(path: Path) -> list[Identity]:
    """Read a file of identities, as age-keygen writes it.

    Raises:
        UsageError: the file is unreadable, readable for others, encrypted with a passphrase, or has no identity.
    """
    library = _library()
    if os.name == "posix" and path.exists() and path.stat().st_mode & 0o077:
        raise UsageError("Others can read {path}, which opens your copies: run chmod 600 on it.", path=path)
    found = []
    for line in _lines(path):
        if line.startswith((_MAGIC.decode().strip(), _ARMOR)):
            raise UsageError(
                "{path} is protected by a passphrase, which is not supported: make a file without one with age "
                "--decrypt --output NEW {path}, and remove it after use.",
                path=path,
            )
        try:
            found.append(library.x25519.Identity.from_str(line))
        except library.IdentityError:
            raise UsageError(
                "{path} has a line that is not an age identity: give the file that age-keygen made, with a line "
                "AGE-SECRET-KEY-1… (keys of SSH and of plugins are not supported).",
                path=path,
            ) from None
    if not found:
        raise UsageError("{path} has no age identity: give the file that age-keygen made.", path=path)
    return found


def new_identity() -> Identity:
    """Make an identity. ``str`` returns its secret text, and ``to_public`` its recipient."""
    return _library().x25519.Identity.generate()


def identity(text: str) -> Identity:
    """Read the secret text of an identity.

    Raises:
        ValueError: the text is not an identity.
    """
    library = _library()
    try:
        return library.x25519.Identity.from_str(text)
    except library.IdentityError as error:
        raise ValueError(str(error)) from None


@contextmanager
def encrypted(pieces: Iterable[bytes], recipients: Sequence[Recipient]) -> Iterator[IO[bytes]]:
    """Encrypt bytes into a temporary file, which is positioned at its start and removed after the block.

    Raises:
        BlogExporterError: an error of ``pieces``.
    """
    library = _library()
    source = _Pieces(pieces)
    with tempfile.SpooledTemporaryFile(_IN_MEMORY_BYTES) as made:
        target = _Target(made)
        try:
            library.encrypt_io(source, target, list(recipients))
        except (library.EncryptError, OSError) as error:
            raise source.failure or target.failure or error from None
        made.seek(0)
        yield made


@contextmanager
def decrypted(pieces: Iterable[bytes], identities: Sequence[Identity], called: str) -> Iterator[IO[bytes]]:
    """Decrypt and authenticate a file into a temporary file, which is removed after the block.

    Args:
        pieces: the encrypted file.
        identities: the identities to try.
        called: the name of the file for messages.

    Raises:
        NoKeyFits: no identity can decrypt it.
        ArchiveDamaged: the file is truncated, changed, or not encrypted.
    """
    library = _library()
    source = _Pieces(pieces)
    source.require_header(called)
    with tempfile.SpooledTemporaryFile(_IN_MEMORY_BYTES) as made:
        target = _Target(made)
        try:
            library.decrypt_io(source, target, list(identities))
        except (library.DecryptError, OSError) as error:
            failure = source.failure or target.failure
            if failure is not None:
                raise failure from None
            if str(error) == _NO_KEY_FITS:
                raise NoKeyFits(
                    "No given key decrypts {name}, or its start is damaged: give the identity of one of its "
                    "recipients.",
                    name=called,
                ) from None
            raise _damaged(called) from None
        made.seek(0)
        yield made


def payload_size(beginning: bytes, size: int) -> int | None:
    """Return the content's size, from the start and the size of an encrypted file; ``None`` for any other file.

    This needs no key, and authenticates nothing.
    """
    header = _header_size(beginning)
    if header is None:
        return None
    chunks, rest = divmod(size - header - _NONCE, _CHUNK + _TAG)
    if chunks < 0 or 0 < rest < _TAG or (rest == _TAG and chunks) or (not rest and not chunks):
        return None
    return chunks * _CHUNK + max(rest - _TAG, 0)


HEADER_READ: Final = _MAX_HEADER_BYTES
"""The number of bytes of an encrypted file that :func:`payload_size` needs at most."""


class _Pieces:
    """An iterator of bytes as a file for the library. It keeps errors, which the library turns into text."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = iter(pieces)
        self._waiting = memoryview(b"")
        self.failure: BaseException | None = None

    def read(self, size: int) -> bytes:
        """Return at most ``size`` bytes; no bytes at the end."""
        try:
            while not self._waiting:
                self._waiting = memoryview(next(self._pieces))
        except StopIteration:
            return b""
        except BaseException as error:
            self.failure = error
            raise
        given = bytes(self._waiting[:size])
        self._waiting = self._waiting[size:]
        return given

    def require_header(self, called: str) -> None:
        """Refuse a file without an age header, before the library searches for the end of the header."""
        beginning = bytearray()
        while len(beginning) < _MAX_HEADER_BYTES and (piece := self.read(_MAX_HEADER_BYTES)):
            beginning += piece
        if _header_size(bytes(beginning[:_MAX_HEADER_BYTES])) is None:
            raise _damaged(called)
        self._waiting = memoryview(bytes(beginning) + bytes(self._waiting))


class _Target:
    """A file for the library to write to. It keeps the error as one of ours."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.failure: BlogExporterError | None = None

    def write(self, data: bytes) -> int:
        """Write all bytes."""
        try:
            return self._file.write(data)
        except OSError as error:
            self.failure = atomic.translate(error, tempfile.gettempdir())
            raise

    def flush(self) -> None:
        """Do nothing, because the same file object reads the bytes."""


def pieces_of(file: IO[bytes], size: int = -1) -> Iterator[bytes]:
    """Yield the next ``size`` bytes, or the rest, in pieces."""
    while piece := file.read(PIECE_BYTES if size < 0 else min(PIECE_BYTES, size)):
        size -= len(piece) if size > 0 else 0
        yield piece


def _header_size(beginning: bytes) -> int | None:
    """Return the header's size, including the line of its MAC; ``None`` if there is no header."""
    if not beginning.startswith(_MAGIC):
        return None
    end = beginning.find(b"\n--- ", 0, _MAX_HEADER_BYTES)
    line = beginning.find(b"\n", end + 1) if end >= 0 else -1
    return line + 1 if line >= 0 else None


def _damaged(called: str) -> ArchiveDamaged:
    return ArchiveDamaged(
        "{name} is damaged: it is truncated, changed, or not encrypted. Restore it from another copy.", name=called
    )


def _lines(path: Path) -> Iterator[str]:
    """Yield the lines without comments and empty lines."""
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_KEYS_BYTES)
    except OSError as error:
        raise UsageError("Cannot read {path}: {reason}.", path=path, reason=system_reason(error)) from error
    for line in data.decode("utf-8", "replace").splitlines():
        text = line.strip()
        if text and not text.startswith("#"):
            yield text


def _library() -> ModuleType:
    """Return the library, which is an optional dependency.

    Raises:
        UsageError: the library is not installed.
    """
    try:
        import pyrage  # noqa: PLC0415 - optional
    except ImportError as error:
        raise UsageError(
            message("Encrypted copies need the library pyrage: run pip install 'blog-exporter[age]'.")
        ) from error
    found: ModuleType = pyrage
    return found
