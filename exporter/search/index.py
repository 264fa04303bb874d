"""Searching a version of an archive: hits with their rank, their excerpts and their marks."""

from __future__ import annotations

import contextlib
import tempfile
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from operator import methodcaller
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self, TypeAlias

from exporter.message import message
from exporter.model.kinds import Kind
from exporter.search.documents import FIELDS
from exporter.search.folding import Excerpt, Span, excerpt, similar, spans_of
from exporter.search.index_file import IndexedRecord, WrongIndex, id_of, record_lines
from exporter.search.indexing import VersionDocuments, open_index

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime

    from exporter.archive.archive import Archive
    from exporter.search.documents import SearchDocument
    from exporter.search.query import Query
    from exporter.search.regex_worker import RegexMatch
    from exporter.service.interface import Records

REGEX_SECONDS: Final = 10.0
"""How long a regular expression may take over a whole blog."""

_RANK_WORTH: Final = 1_000_000
_Counter: TypeAlias = "Callable[[bytes], int]"
"""Says how often a term is in a folded text."""
_NAMES: Final = {Kind.ENTRIES: "entry", Kind.COMMENTS: "comment", Kind.FILES: "file"}


@dataclass(frozen=True, slots=True)
class Hit:
    """A record that was found.

    Attributes:
        kind: the record's kind.
        record_id: its id.
        entry_id: the entry it is or belongs to; empty for a file.
        title: the entry's title, also for a comment; the file's title or name.
        date: when it was written, where that is known.
        field: which of its texts the excerpt is from: ``title``, ``body``, ``continuation``, ``category``, ``name``,
            ``text`` or ``explanation``.
        excerpt: a part of that text with the hits; untrusted.
        score: a million for each rank of each term's best text, and one for each place of a term.
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
        """Return it as JSON shows it."""
        return {
            "kind": _NAMES[self.kind],
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
        hits: records that hold what was asked for.
        total: how many there are in all.
        similar: records that hold it in similar spellings only, see :func:`~exporter.search.folding.similar`; as many
            as the query's limit leaves room for.
        similar_total: how many of these there are in all.
    """

    hits: list[Hit]
    total: int
    similar: list[Hit]
    similar_total: int


class RecordMatch(NamedTuple):
    """A record that holds what was asked for, and which of its texts is the best.

    Attributes:
        score: see :class:`Hit`.
        moment: its date as seconds since 1970, negative infinity where it has none.
        offset: where it is in the index, which has the records in the order of kinds and ids.
        text: the number of the text among its kind's fields.
        spans: where in the text, if an expression was looked for.
    """

    score: int
    moment: float
    offset: int
    text: int
    spans: list[Span] | None = None


class Index:
    """The index of a version, open for searching; close it, or use it as a context.

    What it shows comes from the records; the index says only in which ones to look.

    Args:
        archive: the archive.
        service: reads its records.
        at: the version; by default the newest. Its index is made or renewed first where needed.
        folder: where a new index is made, and stays; by default that of the newest version is made in the archive, for
            the next time, and others among the system's temporary files, until this is closed.

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
        self._file = open_index(self._documents, self._temporary, anew=anew, keep=self._folder is None)
        self._opened.callback(self._file.close)

    def _temporary(self) -> Path:
        if self._folder is not None:
            return self._folder
        return Path(self._opened.enter_context(tempfile.TemporaryDirectory(prefix="blog-exporter-search-")))

    def search(self, query: Query, *, regex_seconds: float = REGEX_SECONDS) -> SearchResult:
        """Search; hits are ordered by rank, then by number of hits, then the newer first, or as the query says by date.

        Raises:
            UsageError: a regular expression took longer than ``regex_seconds``.
        """
        try:
            return self._found(query, regex_seconds)
        except WrongIndex:
            self._open(anew=True)
            return self._found(query, regex_seconds)

    def close(self) -> None:
        """Close the index; one in a temporary folder is removed."""
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
            from exporter.search.regex_worker import find_in_process  # noqa: PLC0415 - words need no process

            rows = find_in_process(self._file.path, query.pattern, query.kind, query.since, regex_seconds)
            matches = [_expressed(list(texts)) for _, texts in groupby(rows, key=lambda row: row.offset)]
            others = []
        hits = self._best(matches, query, query.limit)
        room = None if query.limit is None else query.limit - len(hits)
        return SearchResult(hits, len(matches), self._best(others, query, room, loosely=True), len(others))

    def _similar(self, query: Query, known: set[int]) -> Iterator[RecordMatch]:
        """Yield the records that hold what is asked for in similar spellings, but those at the offsets of ``known``."""
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
        # The better before the worse, then the newer before the older; the rest is for having one order.
        matches.sort(key=lambda match: (-match.score, -match.moment, match.offset))
        if query.by_date:
            matches.sort(key=lambda match: -match.moment)
        return [self._hit(match, query.terms, loosely=loosely) for match in matches[:limit]]

    def _hit(self, match: RecordMatch, terms: Sequence[str], *, loosely: bool) -> Hit:
        """Return the hit from the record itself.

        Raises:
            WrongIndex: the index has something else than the record.
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
    """Return what is shown of a record that was found, given where in its best text."""
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
    """Return a match if each term is counted in some text; its text is the one of best rank with most hits."""
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
        score += _RANK_WORTH * best
    score += min(sum(hits), _RANK_WORTH - 1)
    at = max(range(len(hits)), key=lambda at: (hits[at] > 0 and fields[at][1], hits[at]))
    return RecordMatch(score, record.moment, record.offset, at)


def _expressed(texts: list[RegexMatch]) -> RecordMatch:
    best = max(texts, key=lambda text: (text.rank, text.matches))
    count = sum(text.matches for text in texts)
    score = _RANK_WORTH * best.rank + min(count, _RANK_WORTH - 1)
    return RecordMatch(score, best.moment, best.offset, best.text, best.spans)
