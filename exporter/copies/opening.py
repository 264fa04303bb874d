"""Open the store at a place: a folder or an S3 address, plain or encrypted."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from exporter.copies.encrypted import EncryptedStore, open_encrypted
from exporter.copies.folder import FolderStore
from exporter.copies.store import Store, is_address
from exporter.errors import UsageError

if TYPE_CHECKING:
    from exporter.copies.object_lock import Locked


@dataclass(frozen=True, slots=True)
class StoreOptions:
    """The options for opening a place.

    Attributes:
        encrypt_to: the age recipients; without any, new objects are not encrypted.
        identities: the files of age identities for reading an encrypted copy.
        archive: the archive or fleet that is the source or the target, which saves the copy's keys.
    """

    encrypt_to: tuple[str, ...] = ()
    identities: tuple[Path, ...] = ()
    archive: Path | None = None


def open_store(place: str, options: StoreOptions = StoreOptions(), inner: Store | None = None) -> Store:
    """Return the store at a folder, or at an address such as ``s3://bucket/prefix``.

    Args:
        place: the folder or address.
        options: how to open it.
        inner: the result of :func:`plain_store`, if the caller has it.

    Raises:
        UsageError: the address is invalid, a library is missing, or the options do not fit the copy.
        ArchiveDamaged: the encrypted copy is damaged.
    """
    return open_encrypted(inner or plain_store(place), options.encrypt_to, options.identities, options.archive)


def plain_store(place: str) -> Store:
    """Return the store at a place without decryption.

    Raises:
        UsageError: the address is invalid, or a library is missing.
    """
    if not is_address(place):
        return FolderStore(Path(place))
    try:
        from exporter.copies.s3 import S3Store  # noqa: PLC0415 - optional, and slow to import
    except ImportError as error:
        raise UsageError(
            "S3 needs a library that is not installed ({error}): pip install 'blog-exporter[s3]'", error=str(error)
        ) from error
    return S3Store(place)


def locks_of(place: str, store: Store) -> Locked | None:
    """Return the locks of a copy; ``None`` if the place has no object lock.

    Args:
        place: the folder or address.
        store: the result of :func:`open_store`.
    """
    if not is_address(place):
        return None
    from exporter.copies.object_lock import read_locks  # noqa: PLC0415 - optional, and slow to import
    from exporter.copies.s3 import S3Store  # noqa: PLC0415 - as above

    inner = store.inner if isinstance(store, EncryptedStore) else store
    return read_locks(inner) if isinstance(inner, S3Store) and inner.can_lock() else None
