"""Which store a place that a person typed means: the one list of all kinds of places."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from exporter.copies.address import is_address
from exporter.copies.encrypted import EncryptedStore, open_encrypted
from exporter.copies.folder import FolderStore
from exporter.errors import UsageError
from exporter.message import message

if TYPE_CHECKING:
    from exporter.copies.object_lock import Locked
    from exporter.copies.s3 import S3Store
    from exporter.copies.store import Store


@dataclass(frozen=True, slots=True)
class StoreOptions:
    """How a place is opened.

    Attributes:
        encrypt_to: the age recipients that what is sent is to be readable for; with none it is sent as it is.
        identities: the files of age identities to read encrypted copies with.
        archive: the archive or fleet that is sent there or brought back from there, which keeps the copy's keys.
    """

    encrypt_to: tuple[str, ...] = ()
    identities: tuple[Path, ...] = ()
    archive: Path | None = None


def open_store(place: str, options: StoreOptions = StoreOptions(), inner: Store | None = None) -> Store:
    """Return the store at a place: a folder, or an address such as ``s3://bucket/prefix``.

    Args:
        place: as it was typed.
        options: how to open it.
        inner: what :func:`plain_store` returned for this place, where that was asked already.

    Raises:
        UsageError: the address cannot be right, a part of the program that it needs is not installed, or what was
            asked for does not fit what is there.
        ArchiveDamaged: an encrypted copy is there, and is not as it should be.
    """
    return open_encrypted(inner or plain_store(place), options.encrypt_to, options.identities, options.archive)


def plain_store(place: str) -> Store:
    """Return the store at a place as it is, whether what is in it is encrypted or not.

    Raises:
        UsageError: the address cannot be right, or a part of the program that it needs is not installed.
    """
    return _s3(place) if is_address(place) else FolderStore(Path(place))


def locks_of(place: str, store: Store) -> Locked | None:
    """Ask every object at a place until when it is locked; ``None`` where nothing can be.

    Args:
        place: as it was typed.
        store: what :func:`open_store` returned for it.
    """
    if not is_address(place):
        return None
    from exporter.copies.object_lock import look_at_locks  # noqa: PLC0415 - as below
    from exporter.copies.s3 import S3Store  # noqa: PLC0415 - as below

    inner = store.inner if isinstance(store, EncryptedStore) else store
    return look_at_locks(inner) if isinstance(inner, S3Store) and inner.can_lock() else None


def _s3(address: str) -> S3Store:
    try:
        from exporter.copies.s3 import S3Store  # noqa: PLC0415 - an extra, and slow to start with
    except ImportError as error:
        raise UsageError(
            message(
                "S3 needs a library that is not installed ({error}): pip install 'blog-exporter[s3]'", error=str(error)
            )
        ) from error
    return S3Store(address)
