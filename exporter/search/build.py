"""From records to an index, all of them or only those that differ from what is indexed."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from exporter.archive import atomic
from exporter.archive.latest import manifest_sha256
from exporter.errors import BlogExporterError
from exporter.model.kinds import Kind
from exporter.search.documents import KINDS, Document, comment_document, entry_document, file_document, listed_document
from exporter.search.store import EDITION, Store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exporter.archive.archive import Archive
    from exporter.archive.layout import Layout
    from exporter.archive.safe_files import InnerPath
    from exporter.archive.state import State
    from exporter.service.interface import Records


def update(store: Store, state: State, service: Records) -> None:
    """Make an index agree with a state; only what changed is read."""
    for kind in KINDS:
        known = store.identities(kind)
        for record_id, identity in _identities(state, kind):
            number, before = known.pop(record_id, (None, b""))
            if before == identity:
                continue
            if number is not None:
                store.remove(number)
            store.add(kind, record_id, identity, _document(state, service, kind, record_id))
        for number, _ in known.values():
            store.remove(number)


def _identities(state: State, kind: Kind) -> Iterator[tuple[str, bytes]]:
    """Yield the ids to be indexed, each with what changes whenever its document would.

    An entry depends on its list item too, and an entry that could not be read has only that.
    """
    for record_id in state.ids(kind):
        identity = state.identity(kind, record_id) or b""
        if kind is Kind.ENTRIES:
            identity += state.identity(Kind.ENTRY_LIST, record_id) or b""
        yield record_id, identity
    if kind is Kind.ENTRIES:
        for record_id in state.ids(Kind.ENTRY_LIST):
            if record_id not in state.kinds[Kind.ENTRIES]:
                yield record_id, state.identity(Kind.ENTRY_LIST, record_id) or b""


def _document(state: State, service: Records, kind: Kind, record_id: str) -> Document:
    raw = state.load(kind, record_id)
    if kind is Kind.COMMENTS:
        return comment_document(raw or {}, service)
    if kind is Kind.FILES:
        return file_document(raw or {}, service)
    item = state.load(Kind.ENTRY_LIST, record_id)
    return listed_document(item or {}, service) if raw is None else entry_document(raw, item, service)


_FAILURES = (OSError, sqlite3.Error)
_JOURNALS = ("-journal", "-wal", "-shm")


def index_path(layout: Layout) -> InnerPath:
    """Return ``.work/search.sqlite``."""
    return layout.work / "search.sqlite"


def open_store(reader: Archive, service: Records, version: int, temporary: Path, *, anew: bool = False) -> Store:
    """Return an index of a version that agrees with its records.

    Args:
        reader: the archive.
        service: reads its records.
        version: which of its versions.
        temporary: an empty folder, used where the archive cannot hold the index.
        anew: do not believe the index that is there.

    Raises:
        ArchiveDamaged: the records cannot be read.
        BlogExporterError: the index can be written nowhere.
    """
    path = index_path(reader.layout)
    key = f"{_edition(service)} {version} {manifest_sha256(reader.layout, version)}"
    if version == reader.newest():
        with contextlib.suppress(*_FAILURES):
            path.parent.require_folder()
            store = (
                None
                if anew or not _is_ours(path)
                else _current(path, key) or _renewed(reader, service, version, path, key)
            )
            if store is not None:
                return store
            atomic.make_folder(path.parent)
            return _made(reader, service, version, path, key)
    try:
        return _made(reader, service, version, temporary / path.name, key)
    except _FAILURES as error:
        raise BlogExporterError(
            f"The search index cannot be written to {temporary}: {error}; free some space."
        ) from error


def _edition(service: Records) -> str:
    """Return what changes whenever the same records would give another index; no space is in it."""
    return f"{EDITION}:{service.name}:{service.timezone}".replace(" ", "_")


def _is_ours(path: InnerPath) -> bool:
    """Tell whether a regular file is there, and remove what SQLite would take for the rest of a change cut short.

    The program leaves no such files (see ``Store.transaction``). One that a stranger made could name any other file,
    which SQLite would remove in the belief that it is a journal too.
    """
    for ending in _JOURNALS:
        path.with_name(path.name + ending).remove()
    return path.kind() == ""


def _current(path: Path, key: str) -> Store | None:
    """Open the index that is there, if it was made for this very version."""
    try:
        store = Store.open(path, writable=False)
    except _FAILURES:
        return None
    with contextlib.suppress(*_FAILURES):
        if store.key() == key:
            return store
    store.close()
    return None


def _renewed(reader: Archive, service: Records, version: int, path: Path, key: str) -> Store | None:
    """Bring the index of another version up to date; ``None`` when that cannot be done."""
    try:
        store = Store.open(path, writable=True)
    except _FAILURES:
        return None
    try:
        if (store.key() or "").split(" ")[0] == _edition(service):
            state = reader.state(version)
            try:
                with store.transaction():
                    update(store, state, service)
                # On its own, once the rest is durable: within one transaction the disk may get the key first.
                store.set_key(key)
            finally:
                state.close()
            return store
    except _FAILURES:
        pass
    except BlogExporterError:
        store.close()
        raise
    store.close()
    return None


def _made(reader: Archive, service: Records, version: int, path: Path, key: str) -> Store:
    """Make an index beside its name and put it there whole, so that no half of one is ever found."""
    handle, name = tempfile.mkstemp(prefix=".search-", suffix=".tmp", dir=path.parent)
    os.close(handle)
    made = Path(name)
    try:
        store = Store.create(made)
        state = reader.state(version)
        try:
            with store.transaction():
                update(store, state, service)
                store.set_key(key)
        finally:
            state.close()
            store.close()
        atomic.sync_file(made)
        made.replace(path)
    except BaseException:
        made.unlink(missing_ok=True)
        raise
    return Store.open(path, writable=False)
