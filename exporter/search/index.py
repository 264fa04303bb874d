"""Make, update and search the index of an archive's version.

A new version's index takes the lines of unchanged records from the index of an older version.
"""

from __future__ import annotations

import contextlib
import heapq
import os
import tempfile
from dataclasses import dataclass
from functools import cached_property, partial
from operator import methodcaller
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self, TypeAlias

from exporter.archive import atomic
from exporter.archive.layout import manifest_sha256
from exporter.errors import BlogExporterError, NoSpace, UsageError
from exporter.message import message
from exporter.model.kinds import Kind, sort_key
from exporter.search.entry_search import EntryHits, SearchedRecord, search_entries
from exporter.search.folding import Excerpt, Span, excerpt, similar, spans_of
from exporter.search.index_file import (
    FIELDS,
    RANK_SCORE,
    IndexedRecord,
    IndexFile,
    SearchDocument,
    WrongIndex,
    document_of,
    find_pattern,
    id_of,
    index_head,
    record_head,
    record_lines,
)
from exporter.search.query import KIND_NAMES, Query
from exporter.worker import Worker, WorkerFailed, WorkerGone

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from datetime import datetime

    from exporter.archive.archive import Archive
    from exporter.archive.layout import Layout
    from exporter.archive.safe_files import InnerPath
    from exporter.archive.state import State
    from exporter.service.interface import Records

INDEX_EDITION: Final = 6
"""Increased whenever the same records give another index."""
REGEX_SECONDS: Final = 10.0
"""How long a regular expression may take over a whole blog."""

_FORMER_NAME: Final = "search.sqlite"
_ORDER: Final = {kind: number for number, kind in enumerate(FIELDS)}
_Place = tuple[int, tuple[int, int, str]]
_END: Final[tuple[_Place, bytes]] = ((len(FIELDS), (0, 0, "")), b"")
_Counter: TypeAlias = "Callable[[bytes], int]"
"""Counts a term in a folded text."""


def index_path(layout: Layout) -> InnerPath:
    """Return ``.work/search.txt``."""
    return layout.work / "search.txt"


class VersionDocuments:
    """Reads the documents of a version from records that match their hashes; close it.

    Attributes:
        edition: changes whenever the same records give another index.
        content: changes whenever the records may have changed.
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
        """Return the identity and the document of a record; ``None`` if it does not exist.

        The identity changes whenever the document does. An entry's document also depends on its list item, and an
        unreadable entry has only a list item.

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
        """Return the lines of a record in the index; empty if it does not exist."""
        found = self.read(kind, record_id)
        return b"" if found is None else record_lines(kind, record_id, *found)

    def close(self) -> None:
        """Close the files of the archive."""
        self._opened.close()


@dataclass(frozen=True, slots=True)
class Hit:
    """A search result.

    Attributes:
        kind: the record's kind.
        record_id: its id.
        entry_id: the entry it is or belongs to; empty for a file.
        title: the entry's title, also for a comment; the file's title or name.
        date: when it was written; ``None`` if unknown.
        field: the text that the excerpt is from: ``title``, ``body``, ``continuation``, ``category``, ``tag``,
            ``author``, ``excerpt``, ``name``, ``text`` or ``explanation``.
        excerpt: a part of that text with the terms; untrusted.
        score: for each term, a million times the rank of its best text; plus one for each place of a term.
    """

    kind: Kind
    record_id: str
    entry_id: str
    title: str
    date: datetime | None
    field: str
    excerpt: Excerpt
    score: int

    def document(self) -> dict[str, Any]:
        """Return it as ``--json`` prints it."""
        return {
            "kind": KIND_NAMES[self.kind],
            "id": self.record_id,
            "entry_id": self.entry_id,
            "title": self.title,
            "date": None if self.date is None else self.date.isoformat(),
            "field": self.field,
            "excerpt": self.excerpt.text,
            "marks": [list(mark) for mark in self.excerpt.marks],
            "score": self.score,
        }


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The best hits.

    Attributes:
        hits: records that contain the terms.
        total: the number of such records.
        similar: records that contain them in similar spellings only, see :func:`~exporter.search.folding.similar`; as
            many as the query's limit leaves room for.
        similar_total: the number of such records.
    """

    hits: list[Hit]
    total: int
    similar: list[Hit]
    similar_total: int


class RecordMatch(NamedTuple):
    """A record that matches, and its best text.

    Attributes:
        score: see :class:`Hit`.
        moment: its date as seconds since 1970, or negative infinity.
        offset: of its lines in the index, which is ordered by kind and id.
        text: the number of the text in its kind's fields.
        spans: the matches of a regular expression in the text; ``None`` for terms.
    """

    score: int
    moment: float
    offset: int
    text: int
    spans: list[Span] | None = None


class Index:
    """A version's index, open for searching; close it, or use it in ``with``.

    The index only finds records. Hits show the records themselves.

    Args:
        archive: the archive.
        service: reads its records.
        at: the version; by default the newest. Its index is made or renewed first if needed.
        folder: where to write a new index. By default, the newest version's index is kept in the archive, and any other
            in a temporary folder until this is closed.

    Raises:
        UsageError: the archive has no version ``at``.
        NoArchive: the archive has no version yet.
        ArchiveDamaged: the records cannot be read.
    """

    def __init__(
        self, archive: Archive, service: Records, *, at: int | None = None, folder: Path | None = None
    ) -> None:
        self._folder = folder
        self._opened = contextlib.ExitStack()
        self._documents = VersionDocuments(archive, service, archive.resolve(at))
        self._opened.callback(self._documents.close)
        try:
            self._open()
        except BaseException:
            self._opened.close()
            raise

    def _open(self, *, anew: bool = False) -> None:
        self._file = self._current(anew=anew)
        self._opened.callback(self._file.close)

    def _current(self, *, anew: bool) -> IndexFile:
        """Return an up-to-date index; with ``anew``, make it again even if one exists.

        Raises:
            ArchiveDamaged: the records cannot be read.
            BlogExporterError: the index cannot be written anywhere.
        """
        documents = self._documents
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
            if kept and self._folder is None:
                with contextlib.suppress(OSError):
                    path.parent.require_folder()
                    atomic.make_folder(path.parent)
                    path.with_name(_FORMER_NAME).remove()
                    return _written(path, _content(documents, known))
            place = self._temporary()
            try:
                return _written(place / path.name, _content(documents, known))
            except OSError as error:
                raise atomic.translate(error, place) from error

    def _temporary(self) -> Path:
        if self._folder is not None:
            return self._folder
        return Path(self._opened.enter_context(tempfile.TemporaryDirectory(prefix="blog-exporter-search-")))

    def search(self, query: Query, *, regex_seconds: float = REGEX_SECONDS) -> SearchResult:
        """Return the hits, ordered by score and then by date, the newer first; or by date alone if the query says so.

        Raises:
            UsageError: a regular expression took longer than ``regex_seconds``.
        """
        try:
            return self._found(query, regex_seconds)
        except WrongIndex:
            self._open(anew=True)
            return self._found(query, regex_seconds)

    def entry_hits(self, terms: Sequence[str], gone: Iterable[SearchedRecord] = ()) -> EntryHits:
        """Return the entries that contain all words, in themselves or in their comments.

        Args:
            terms: the keys of the words.
            gone: the last states of entries that are gone; the search also covers them.
        """
        try:
            return search_entries(self._entries_and_comments(list(gone)), terms)
        except WrongIndex:
            self._open(anew=True)
            return search_entries(self._entries_and_comments(list(gone)), terms)

    def _entries_and_comments(self, gone: list[SearchedRecord]) -> Iterator[SearchedRecord]:
        for record in self._file.records(kind=Kind.ENTRIES):
            yield SearchedRecord(Kind.ENTRIES, record.record_id(), record)
        yield from gone
        for record in self._file.records(kind=Kind.COMMENTS):
            yield SearchedRecord(Kind.COMMENTS, record.record_id(), record)

    def close(self) -> None:
        """Close the index and remove its temporary folder."""
        self._opened.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _found(self, query: Query, regex_seconds: float) -> SearchResult:
        if query.pattern is None:
            needles = [term.encode() for term in query.terms]
            records = self._file.records(needles, kind=query.kind, since=query.since)
            counts = [methodcaller("count", needle) for needle in needles]
            matches = [match for record in records if (match := match_of(record, counts)) is not None]
            others = list(self._similar(query, {match.offset for match in matches}))
        else:
            matches = self._expressed(query, regex_seconds)
            others = []
        hits = self._best(matches, query, query.limit)
        room = None if query.limit is None else query.limit - len(hits)
        return SearchResult(hits, len(matches), self._best(others, query, room, loosely=True), len(others))

    def _expressed(self, query: Query, seconds: float) -> list[RecordMatch]:
        """Return the records that match the query's regular expression, which a child process searches."""
        try:
            with Worker() as worker:
                rows = worker.call(
                    find_pattern, self._file.path, query.pattern, query.kind, query.since, seconds=seconds
                )
        except TimeoutError:
            raise UsageError(
                "The regular expression took more than {seconds:g} seconds over this blog: "
                "make it simpler, without repeats inside repeats such as (a+)+.",
                seconds=seconds,
            ) from None
        except WorkerGone as error:
            raise NoSpace(
                "The search by a regular expression ended early: the system started no process for it, or killed it "
                "({reason}). Let it have more memory, or search for words.",
                reason=error,
            ) from error
        except WorkerFailed as error:
            raise BlogExporterError("The search by a regular expression failed: {reason}.", reason=error) from error
        if rows is None:
            raise WrongIndex(message("it cannot be read"))
        return [RecordMatch(*row) for row in rows]

    def _similar(self, query: Query, known: set[int]) -> Iterator[RecordMatch]:
        """Yield the records that contain the terms in similar spellings, except those at the offsets in ``known``."""
        patterns = {term: similar(term) for term in query.terms}
        if not any(patterns.values()):
            return
        needles = [term.encode() for term, pattern in patterns.items() if pattern is None]
        loose = [pattern for pattern in patterns.values() if pattern is not None]
        counts: list[_Counter] = [methodcaller("count", needle) for needle in needles]
        counts += [partial(_count, pattern) for pattern in loose]
        for record in self._file.records(needles, loose, query.kind, query.since):
            if record.offset not in known and (match := match_of(record, counts)) is not None:
                yield match

    def _best(self, matches: list[RecordMatch], query: Query, limit: int | None, *, loosely: bool = False) -> list[Hit]:
        # The offset makes the order unambiguous.
        matches.sort(key=lambda match: (-match.score, -match.moment, match.offset))
        if query.by_date:
            matches.sort(key=lambda match: -match.moment)
        return [self._hit(match, query.terms, loosely=loosely) for match in matches[:limit]]

    def _hit(self, match: RecordMatch, terms: Sequence[str], *, loosely: bool) -> Hit:
        """Return the hit, read from the record itself.

        Raises:
            WrongIndex: the index differs from the record.
        """
        indexed = self._file.at(match.offset)
        kind, record_id = id_of(indexed)
        found = self._documents.read(kind, record_id)
        if found is None or record_lines(kind, record_id, *found) != indexed:
            raise WrongIndex(message("it does not agree with the records"))
        text = found[1].texts[match.text]
        spans = spans_of(text, terms, loosely=loosely) if match.spans is None else match.spans
        return hit_of(self._documents, kind, record_id, found[1], match, spans)


def hit_of(
    documents: VersionDocuments,
    kind: Kind,
    record_id: str,
    document: SearchDocument,
    match: RecordMatch,
    spans: Sequence[Span],
) -> Hit:
    """Return the hit for a record, given the spans to mark in its best text."""
    title = document.title
    if kind is Kind.COMMENTS:
        entry = documents.read(Kind.ENTRIES, document.entry_id)
        title = "" if entry is None else entry[1].title
    return Hit(
        kind=kind,
        record_id=record_id,
        entry_id=document.entry_id,
        title=_shown(title),
        date=document.date,
        field=FIELDS[kind][match.text][0],
        excerpt=excerpt(document.texts[match.text], spans),
        score=match.score,
    )


def _shown(title: str) -> str:
    return title.encode("utf-8", "replace").decode()


def _count(pattern: re.Pattern[str], text: bytes) -> int:
    return len(pattern.findall(text.decode("utf-8", "replace")))


def match_of(record: IndexedRecord, counts: Sequence[_Counter]) -> RecordMatch | None:
    """Return a match if every term occurs in some text. Its text has the best rank, then the most hits."""
    fields = FIELDS[record.kind]
    hits = [0] * len(fields)
    score = 0
    for count_in in counts:
        best = 0
        for at, text in enumerate(record.folded):
            count = count_in(text)
            if count:
                hits[at] += count
                best = max(best, fields[at][1])
        if not best:
            return None
        score += RANK_SCORE * best
    score += min(sum(hits), RANK_SCORE - 1)
    at = max(range(len(hits)), key=lambda at: (hits[at] > 0 and fields[at][1], hits[at]))
    return RecordMatch(score, record.moment, record.offset, at)


def _written(path: Path, content: Iterable[bytes]) -> IndexFile:
    """Write an index under a temporary name, rename it, so that no reader sees a partial one, and open it."""
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
    """Yield the lines of an index. Those of unchanged records come from the ``known`` index."""
    state = documents.state
    ids: dict[Kind, Sequence[str]] = {kind: state.ids(kind) for kind in FIELDS}
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
    """Yield each record's sort position and two lines from an index, up to the first damaged line."""
    with contextlib.suppress(WrongIndex):
        for lines in index.lines():
            kind, record_id = id_of(lines)
            yield (_ORDER[kind], sort_key(record_id)), lines


def _identity(state: State, kind: Kind, record_id: str) -> bytes:
    """Return the identity that :meth:`VersionDocuments.read` returns, without reading the record."""
    kinds = (kind, Kind.ENTRY_LIST) if kind is Kind.ENTRIES else (kind,)
    return b"".join(state.identity(each, record_id) or b"" for each in kinds)
