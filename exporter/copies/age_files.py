"""Files in the format of age (age-encryption.org/v1): who can read them, and bytes into and out of them in pieces.

All of a file goes through a temporary one before anything of it is handed on, in memory as long as it is short, so that
nobody is given the beginning of what turns out to be cut short or changed.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any, Final

from exporter.archive import atomic
from exporter.copies.store import PIECE
from exporter.errors import ArchiveDamaged, NoKeyFits, UsageError
from exporter.message import message

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path
    from types import ModuleType

    from exporter.errors import BlogExporterError

    Recipient = Any
    Identity = Any

_IN_MEMORY: Final = 4 << 20
_LARGEST_KEYS: Final = 64 * 1024
_LARGEST_HEADER: Final = 64 * 1024
"""Some four hundred recipients."""
_MAGIC: Final = b"age-encryption.org/v1\n"
_ARMOR: Final = "-----BEGIN AGE ENCRYPTED FILE-----"
_CHUNK, _TAG, _NONCE = 65536, 16, 16
_NO_KEY_FITS: Final = "No matching keys found"


def recipient(text: str) -> Recipient:
    """Read one ``age1…``, whom files can be encrypted to.

    Raises:
        UsageError: it is none; the reason is in words.
    """
    library = _library()
    word = text.strip()
    try:
        return library.x25519.Recipient.from_str(word)
    except library.RecipientError as error:
        if word.upper().startswith("AGE-SECRET-KEY-"):
            # Never shown: it is the very key that must not be here.
            raise UsageError(
                message(
                    "An age identity, which is secret, was given as a recipient: give the age1… that age-keygen -y "
                    "prints for it, and make a new identity if others may have seen this one."
                )
            ) from None
        if word.startswith(("ssh-", "age1pq1", "age1tag", "age1yubikey")):
            raise UsageError(
                message(
                    "{word!r} is a recipient of a kind that is not supported: give one that age-keygen makes, age1… "
                    "with 62 characters.",
                    word=word[:20],
                )
            ) from error
        raise UsageError(
            message(
                "{word!r} is no age recipient: give one that age-keygen makes, age1… with 62 characters.",
                word=word[:80],
            )
        ) from error


def recipients_in(path: Path) -> tuple[str, ...]:
    """Read a file of recipients, one a line, as ``age -R`` does; ``#`` begins a comment line.

    Raises:
        UsageError: it cannot be read, or has no recipient, or a line that is none.
    """
    found = tuple(_lines(path))
    for line in found:
        recipient(line)
    if not found:
        raise UsageError(message("{path} has no age recipient in it: put an age1… on a line of its own.", path=path))
    return found


def identities_in(path: Path) -> list[Identity]:
    """Read a file of identities, as age-keygen writes it.

    Raises:
        UsageError: it cannot be read, others can read it, it is protected by a passphrase, or holds no identity.
    """
    library = _library()
    if os.name == "posix" and path.exists() and path.stat().st_mode & 0o077:
        raise UsageError(message("Others can read {path}, which opens your copies: run chmod 600 on it.", path=path))
    found = []
    for line in _lines(path):
        if line.startswith((_MAGIC.decode().strip(), _ARMOR)):
            raise UsageError(
                message(
                    "{path} is protected by a passphrase, which is not supported: make a file without one by age "
                    "--decrypt --output NEW {path}, and remove it after use.",
                    path=path,
                )
            )
        try:
            found.append(library.x25519.Identity.from_str(line))
        except library.IdentityError:
            raise UsageError(
                message(
                    "{path} has a line that is no age identity: give the file that age-keygen made, with a line "
                    "AGE-SECRET-KEY-1… (keys of SSH and of plugins are not supported).",
                    path=path,
                )
            ) from None
    if not found:
        raise UsageError(message("{path} has no age identity in it: give the file that age-keygen made.", path=path))
    return found


def new_identity() -> Identity:
    """Make an identity; ``str`` of it is its secret text, and ``to_public`` gives its recipient."""
    return _library().x25519.Identity.generate()


def identity(text: str) -> Identity:
    """Read the secret text of one identity.

    Raises:
        ValueError: it is none.
    """
    library = _library()
    try:
        return library.x25519.Identity.from_str(text)
    except library.IdentityError as error:
        raise ValueError(str(error)) from None


@contextmanager
def encrypted(pieces: Iterable[bytes], recipients: Sequence[Recipient]) -> Iterator[IO[bytes]]:
    """Give the encrypted form of bytes as a file at its beginning, which is gone after the block.

    Raises:
        BlogExporterError: what ``pieces`` raises.
    """
    library = _library()
    source = _Pieces(pieces)
    with tempfile.SpooledTemporaryFile(_IN_MEMORY) as made:
        target = _Target(made)
        try:
            library.encrypt_io(source, target, list(recipients))
        except (library.EncryptError, OSError) as error:
            raise source.failure or target.failure or error from None
        made.seek(0)
        yield made


@contextmanager
def decrypted(pieces: Iterable[bytes], identities: Sequence[Identity], called: str) -> Iterator[IO[bytes]]:
    """Give what is in an encrypted file, all of it authenticated, as a file at its beginning, gone after the block.

    Args:
        pieces: the encrypted file.
        identities: any that may fit.
        called: what to call it in messages.

    Raises:
        NoKeyFits: it is encrypted to none of them.
        ArchiveDamaged: it is cut short or changed, or no such file.
    """
    library = _library()
    source = _Pieces(pieces)
    source.require_header(called)
    with tempfile.SpooledTemporaryFile(_IN_MEMORY) as made:
        target = _Target(made)
        try:
            library.decrypt_io(source, target, list(identities))
        except (library.DecryptError, OSError) as error:
            failure = source.failure or target.failure
            if failure is not None:
                raise failure from None
            if str(error) == _NO_KEY_FITS:
                raise NoKeyFits(
                    message(
                        "{name} is encrypted to none of the keys at hand, or its beginning is damaged: give the "
                        "identity of a recipient that it was sent to.",
                        name=called,
                    )
                ) from None
            raise _damaged(called) from None
        made.seek(0)
        yield made


def payload_size(beginning: bytes, size: int) -> int | None:
    """Tell how many bytes are in an encrypted file, from its beginning and its size; ``None`` where it is none.

    No key is needed, so nothing is authenticated.
    """
    header = _header_size(beginning)
    if header is None:
        return None
    chunks, rest = divmod(size - header - _NONCE, _CHUNK + _TAG)
    if chunks < 0 or 0 < rest < _TAG or (rest == _TAG and chunks) or (not rest and not chunks):
        return None
    return chunks * _CHUNK + max(rest - _TAG, 0)


HEADER_READ: Final = _LARGEST_HEADER
"""How much of an encrypted file :func:`payload_size` needs at most."""


class _Pieces:
    """An iterator of bytes as what the library reads from; keeps what went wrong, which the library turns into text."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = iter(pieces)
        self._waiting = memoryview(b"")
        self.failure: BaseException | None = None

    def read(self, size: int) -> bytes:
        """Return some bytes, at most ``size``; none at the end."""
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
        """Refuse what does not begin as an encrypted file before the library looks for the end of its header."""
        beginning = bytearray()
        while len(beginning) < _LARGEST_HEADER and (piece := self.read(_LARGEST_HEADER)):
            beginning += piece
        if _header_size(bytes(beginning[:_LARGEST_HEADER])) is None:
            raise _damaged(called)
        self._waiting = memoryview(bytes(beginning) + bytes(self._waiting))


class _Target:
    """What the library writes to; keeps what went wrong, as one of our errors."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.failure: BlogExporterError | None = None

    def write(self, data: bytes) -> int:
        """Write all of it."""
        try:
            return self._file.write(data)
        except OSError as error:
            self.failure = atomic.translate(error, tempfile.gettempdir())
            raise

    def flush(self) -> None:
        """Do nothing: what is written is read by the same file."""


def pieces_of(file: IO[bytes], size: int = -1) -> Iterator[bytes]:
    """Yield what is left of a file, or so many bytes of it, in pieces."""
    while piece := file.read(PIECE if size < 0 else min(PIECE, size)):
        size -= len(piece) if size > 0 else 0
        yield piece


def _header_size(beginning: bytes) -> int | None:
    """Return the bytes of a header up to and with the line of its MAC; ``None`` where there is no such header."""
    if not beginning.startswith(_MAGIC):
        return None
    end = beginning.find(b"\n--- ", 0, _LARGEST_HEADER)
    line = beginning.find(b"\n", end + 1) if end >= 0 else -1
    return line + 1 if line >= 0 else None


def _damaged(called: str) -> ArchiveDamaged:
    return ArchiveDamaged(
        message(
            "{name} is damaged: it is cut short or changed, or no encrypted file; restore it from another copy.",
            name=called,
        )
    )


def _lines(path: Path) -> Iterator[str]:
    """Yield the lines of a small file that say something."""
    try:
        with path.open("rb") as file:
            data = file.read(_LARGEST_KEYS)
    except OSError as error:
        raise UsageError(message("Cannot read {path}: {reason}.", path=path, reason=error.strerror)) from error
    for line in data.decode("utf-8", "replace").splitlines():
        text = line.strip()
        if text and not text.startswith("#"):
            yield text


def _library() -> ModuleType:
    """Return the library, which only who encrypts needs.

    Raises:
        UsageError: it is not installed.
    """
    try:
        import pyrage  # noqa: PLC0415 - only for who encrypts
    except ImportError as error:
        raise UsageError(
            message("Encrypted copies need the library pyrage: run pip install 'blog-exporter[age]'.")
        ) from error
    found: ModuleType = pyrage
    return found
