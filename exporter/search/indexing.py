"""From records to the index: what of a record is searched, and an index that agrees with a version."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from exporter.archive import atomic
from exporter.archive.layout import manifest_sha256
from exporter.errors import BlogExporterError
from exporter.html.text import plain_text
from exporter.model.kinds import Kind
from exporter.search.store import INDEX_VERSION, Rank, SearchDocument, SearchedText, Store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exporter.archive.archive import Archive
    from exporter.archive.layout import Layout
    from exporter.archive.safe_files import InnerPath
    from exporter.archive.state import State
    from exporter.model.records import Raw
    from exporter.service.interface import Records

_KINDS: Final = (Kind.ENTRIES, Kind.COMMENTS, Kind.FILES)
_FAILURES: Final = (OSError, sqlite3.Error)
_JOURNALS: Final = ("-journal", "-wal", "-shm")


def document_of(kind: Kind, raw: Raw | None, item: Raw | None, service: Records) -> SearchDocument:
    """Return a record's document.

    Args:
        kind: entries, comments or files.
        raw: the record; ``None`` for an entry of which only the list item could be read.
        item: an entry's list item, where there is one.
        service: reads them.
    """
    if kind is Kind.COMMENTS:
        comment = service.comment(raw or {})
        return _document(
            (comment.post_id, "", comment.date),
            ("title", Rank.COMMENT, comment.title),
            ("name", Rank.COMMENT, comment.name),
            ("text", Rank.COMMENT, plain_text(comment.text)),
        )
    if kind is Kind.FILES:
        file = service.upload(raw or {})
        return _document(
            ("", file.title or file.name, _from_seconds(file.modified)),
            ("title", Rank.TITLE, file.title or ""),
            ("name", Rank.TITLE, file.name),
            ("explanation", Rank.BODY, plain_text(file.description or "")),
        )
    post = service.post(raw, item)
    return _document(
        (post.id, post.title, post.date if raw is not None else post.period_date or post.listed_on),
        ("title", Rank.TITLE, post.title),
        ("body", Rank.BODY, plain_text(post.body)),
        ("continuation", Rank.BODY, post.more_title),
        ("continuation", Rank.BODY, plain_text(post.more)),
        ("category", Rank.BODY, post.category or ""),
    )


def _document(head: tuple[str, str, datetime | None], *texts: tuple[str, Rank, str]) -> SearchDocument:
    return SearchDocument(*head, tuple(SearchedText(*text) for text in texts if text[2]))


def _from_seconds(seconds: int | None) -> datetime | None:
    try:
        return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def index_path(layout: Layout) -> InnerPath:
    """Return ``.work/search.sqlite``."""
    return layout.work / "search.sqlite"


def open_store(archive: Archive, service: Records, version: int, temporary: Path, *, anew: bool = False) -> Store:
    """Return an index of a version that agrees with its records.

    Args:
        archive: the archive.
        service: reads its records.
        version: which of its versions.
        temporary: an empty folder, used where the archive cannot hold the index.
        anew: make it again, whatever index is there.

    Raises:
        ArchiveDamaged: the records cannot be read.
        BlogExporterError: the index can be written nowhere.
    """
    path = index_path(archive.layout)
    edition = f"{INDEX_VERSION}:{service.name}:{service.timezone}".replace(" ", "_")
    key = f"{edition} {version} {manifest_sha256(archive.layout, version)}"

    def fill(store: Store) -> None:
        with contextlib.closing(archive.state(version)) as state:
            with store.transaction():
                _update(store, state, service)
            # On its own, once the rest is durable: within one transaction the disk may get the key first.
            store.set_key(key)

    def create(path: Path) -> Store:
        """Make an index beside its name and put it there whole, so that no half of one is ever found."""
        handle, name = tempfile.mkstemp(prefix=".search-", suffix=".tmp", dir=path.parent)
        os.close(handle)
        made = Path(name)
        try:
            with contextlib.closing(Store.create(made)) as store:
                fill(store)
            atomic.sync_file(made)
            made.replace(path)
        except BaseException:
            made.unlink(missing_ok=True)
            raise
        return Store.open(path, writable=False)

    def reuse(*, renewed: bool) -> Store | None:
        """Open the index that is there, if it is of this version, or ``renewed`` if it is of another."""
        with contextlib.suppress(*_FAILURES), contextlib.ExitStack() as on_failure:
            store = on_failure.enter_context(contextlib.closing(Store.open(path, writable=renewed)))
            if renewed and (store.key() or "").startswith(f"{edition} "):
                fill(store)
            if store.key() == key:
                on_failure.pop_all()
                return store
        return None

    if version == archive.newest():
        with contextlib.suppress(*_FAILURES):
            path.parent.require_folder()
            known = not anew and _is_ours(path)
            store = (reuse(renewed=False) or reuse(renewed=True)) if known else None
            if store is not None:
                return store
            atomic.make_folder(path.parent)
            return create(path)
    try:
        return create(temporary / path.name)
    except _FAILURES as error:
        raise BlogExporterError(
            f"The search index cannot be written to {temporary}: {error}; free some space."
        ) from error


def _is_ours(path: InnerPath) -> bool:
    """Tell whether a regular file is there, and remove what SQLite would take for the rest of a change cut short.

    The program leaves no such files (see ``Store.transaction``). An untrusted one could name any other file, which
    SQLite would remove in the belief that it is a journal too.
    """
    for ending in _JOURNALS:
        path.with_name(path.name + ending).remove()
    return path.kind() == ""


def _update(store: Store, state: State, service: Records) -> None:
    """Make an index agree with a state; only what changed is read."""
    for kind in _KINDS:
        known = store.identities(kind)
        for record_id, identity in _identities(state, kind):
            number, before = known.pop(record_id, (None, b""))
            if before == identity:
                continue
            if number is not None:
                store.remove(number)
            item = state.load(Kind.ENTRY_LIST, record_id) if kind is Kind.ENTRIES else None
            store.add(kind, record_id, identity, document_of(kind, state.load(kind, record_id), item, service))
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
