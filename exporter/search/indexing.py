"""From records to the index file: one that agrees with a version, and of an older one all that did not change."""

from __future__ import annotations

import contextlib
import heapq
import os
import tempfile
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from exporter.archive import atomic
from exporter.archive.layout import manifest_sha256
from exporter.model.kinds import Kind, sort_key
from exporter.search.documents import FIELDS, SearchDocument, document_of
from exporter.search.index_file import IndexFile, WrongIndex, id_of, index_head, record_head, record_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from exporter.archive.archive import Archive
    from exporter.archive.layout import Layout
    from exporter.archive.safe_files import InnerPath
    from exporter.archive.state import State
    from exporter.service.interface import Records

INDEX_EDITION: Final = 3
"""Increased whenever the same records would give another index."""

_OUTDATED: Final = "search.sqlite"
_ORDER: Final = {kind: number for number, kind in enumerate(FIELDS)}
_Place = tuple[int, tuple[int, int, str]]
_END: Final[tuple[_Place, bytes]] = ((len(FIELDS), (0, 0, "")), b"")


def index_path(layout: Layout) -> InnerPath:
    """Return ``.work/search.txt``."""
    return layout.work / "search.txt"


class VersionDocuments:
    """The documents of a version, each of a record that was compared with its hash; close it.

    Attributes:
        edition: changes whenever the same records would give another index.
        content: changes whenever the records may be others.
    """

    def __init__(self, archive: Archive, service: Records, version: int) -> None:
        self.archive = archive
        self.service = service
        self.version = version
        self.edition = f"{INDEX_EDITION}:{service.name}:{service.timezone}"
        self.content = f"{version} {manifest_sha256(archive.layout, version)}"
        self._opened = contextlib.ExitStack()

    @cached_property
    def state(self) -> State:
        """All records of the version."""
        return self._opened.enter_context(contextlib.closing(self.archive.state(self.version)))

    def read(self, kind: Kind, record_id: str) -> tuple[bytes, SearchDocument] | None:
        """Read a record; return its identity and its document, ``None`` where it is not there.

        The identity changes whenever the document would. An entry depends on its list item too, and one that could not
        be read has only that.

        Raises:
            ArchiveDamaged: it cannot be read.
        """
        line = self.state.line(kind, record_id)
        item = self.state.line(Kind.ENTRY_LIST, record_id) if kind is Kind.ENTRIES else None
        if line is None and item is None:
            return None
        raw, listed = (None if each is None else each.record() for each in (line, item))
        identity = b"".join(each.identity for each in (line, item) if each is not None)
        return identity, document_of(kind, raw, listed, self.service)

    def lines(self, kind: Kind, record_id: str) -> bytes:
        """Return what the index has of a record; nothing where that is not there."""
        found = self.read(kind, record_id)
        return b"" if found is None else record_lines(kind, record_id, *found)

    def close(self) -> None:
        """Close the files of the archive."""
        self._opened.close()


def open_index(
    documents: VersionDocuments, temporary: Callable[[], Path], *, anew: bool = False, keep: bool = True
) -> IndexFile:
    """Return an index of a version that agrees with its records.

    Args:
        documents: those of the version.
        temporary: makes an empty folder, used where the archive cannot hold the index.
        anew: make it again, whatever index is there.
        keep: keep it in the archive, where it is of the newest version.

    Raises:
        ArchiveDamaged: the records cannot be read.
        BlogExporterError: the index can be written nowhere.
    """
    path = index_path(documents.archive.layout)
    kept = documents.version == documents.archive.newest()
    known = None
    with contextlib.ExitStack() as opened:
        if kept and not anew:
            with contextlib.suppress(OSError, WrongIndex):
                path.parent.require_folder()
                known = opened.enter_context(contextlib.closing(IndexFile.open(path)))
        if known is not None and (known.edition, known.content) == (documents.edition, documents.content):
            opened.pop_all()
            return known
        if kept and keep:
            with contextlib.suppress(OSError):
                path.parent.require_folder()
                atomic.make_folder(path.parent)
                path.with_name(_OUTDATED).remove()
                return _written(path, _content(documents, known))
        place = temporary()
        try:
            return _written(place / path.name, _content(documents, known))
        except OSError as error:
            raise atomic.translate(error, place) from error


def _written(path: Path, content: Iterable[bytes]) -> IndexFile:
    """Write an index beside its name and put it there whole, so that no half of one is ever found; open it."""
    handle, name = tempfile.mkstemp(prefix=".search-", suffix=".tmp", dir=path.parent)
    made = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.writelines(content)
            file.flush()
            os.fsync(file.fileno())
        made.replace(path)
    except BaseException:
        made.unlink(missing_ok=True)
        raise
    return IndexFile.open(path)


def _content(documents: VersionDocuments, known: IndexFile | None) -> Iterator[bytes]:
    """Yield an index; the lines of a record that is as it was come from the index that is known."""
    state = documents.state
    ids = {kind: state.ids(kind) for kind in FIELDS}
    unread = [record_id for record_id in state.ids(Kind.ENTRY_LIST) if record_id not in state.kinds[Kind.ENTRIES]]
    ids[Kind.ENTRIES] = list(heapq.merge(ids[Kind.ENTRIES], unread, key=sort_key))
    yield index_head(documents.edition, documents.content, sum(map(len, ids.values())))
    before = iter(()) if known is None or known.edition != documents.edition else _records_of(known)
    place, lines = next(before, _END)
    for kind, order in _ORDER.items():
        for record_id in ids[kind]:
            here = order, sort_key(record_id)
            while place < here:
                place, lines = next(before, _END)
            if place == here and lines.startswith(record_head(kind, record_id, _identity(state, kind, record_id))):
                yield lines
            else:
                yield documents.lines(kind, record_id)


def _records_of(index: IndexFile) -> Iterator[tuple[_Place, bytes]]:
    """Yield the place of each record in the order of an index, and its two lines, as far as the index is whole."""
    with contextlib.suppress(WrongIndex):
        for lines in index.lines():
            kind, record_id = id_of(lines)
            yield (_ORDER[kind], sort_key(record_id)), lines


def _identity(state: State, kind: Kind, record_id: str) -> bytes:
    """Return what :meth:`VersionDocuments.read` says of a record, without reading it."""
    kinds = (kind, Kind.ENTRY_LIST) if kind is Kind.ENTRIES else (kind,)
    return b"".join(state.identity(each, record_id) or b"" for each in kinds)
