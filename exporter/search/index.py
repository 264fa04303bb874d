"""Searching a version of an archive: hits with their rank, their excerpts and their marks."""

from __future__ import annotations

import math
import sqlite3
import tempfile
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from exporter.model.kinds import Kind, sort_key
from exporter.search.folding import Excerpt, Span, excerpt, spans_of
from exporter.search.indexing import open_store
from exporter.search.regex_worker import RegexMatch, find_in_process
from exporter.search.store import Store, StoredRecord, StoredText

if TYPE_CHECKING:
    from exporter.archive.archive import Archive
    from exporter.search.query import Query
    from exporter.service.interface import Records

REGEX_SECONDS: Final = 10.0
"""How long a regular expression may take over a whole blog."""

_RANK_WORTH: Final = 1_000_000
_KIND_ORDER: Final = {kind: number for number, kind in enumerate(Kind)}


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


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The best hits, and how many there are in all."""

    hits: list[Hit]
    total: int


@dataclass(frozen=True, slots=True)
class _Match:
    """A record that holds what was asked for, and its best text; an expression also says where in it."""

    number: int
    score: int
    text: int
    field: str
    spans: list[Span] | None = None


class Index:
    """The index of a version, open for searching; close it, or use it as a context.

    Args:
        archive: the archive.
        service: reads its records.
        at: the version; by default the newest. Its index is made or renewed first where needed.

    Raises:
        UsageError: the archive has no version ``at``.
        NoArchive: the archive has no version yet.
        ArchiveDamaged: the records cannot be read.
    """

    def __init__(self, archive: Archive, service: Records, *, at: int | None = None) -> None:
        self._archive = archive
        self._service = service
        self._version = archive.resolve(at)
        self._temporary = tempfile.TemporaryDirectory(prefix="blog-exporter-search-")
        try:
            self._store = self._open()
        except BaseException:
            self._temporary.cleanup()
            raise

    def _open(self, *, anew: bool = False) -> Store:
        return open_store(self._archive, self._service, self._version, Path(self._temporary.name), anew=anew)

    def search(self, query: Query, *, regex_seconds: float = REGEX_SECONDS) -> SearchResult:
        """Search; hits are ordered by rank, then by number of hits, then the newer first.

        Raises:
            UsageError: a regular expression took longer than ``regex_seconds``.
        """
        try:
            return self._found(query, regex_seconds)
        except sqlite3.DatabaseError:
            self._store.close()
            self._store = self._open(anew=True)
            return self._found(query, regex_seconds)

    def close(self) -> None:
        """Close the index; one in a temporary folder is removed."""
        self._store.close()
        self._temporary.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _found(self, query: Query, regex_seconds: float) -> SearchResult:
        if query.pattern is None:
            candidates = self._store.candidates(query.terms, query.kind, query.since)
            checked = (_checked(number, texts, query.terms) for number, texts in candidates)
            matches = [match for match in checked if match is not None]
        else:
            rows = find_in_process(self._store.path, query.pattern, query.kind, query.since, regex_seconds)
            matches = [_expressed(number, list(texts)) for number, texts in groupby(rows, key=lambda row: row.number)]
        records = self._store.records(match.number for match in matches)
        # The better before the worse, then the newer before the older; the rest is for having one order.
        matches.sort(key=lambda match: (-match.score, *_order(records[match.number])))
        best = matches[: query.limit]
        return SearchResult([self._hit(match, records[match.number], query.terms) for match in best], len(matches))

    def _hit(self, match: _Match, record: StoredRecord, terms: tuple[str, ...]) -> Hit:
        text = self._store.plain(match.text)
        return Hit(
            kind=record.kind,
            record_id=record.record_id,
            entry_id=record.entry_id,
            title=self._store.entry_title(record.entry_id) if record.kind is Kind.COMMENTS else record.title,
            date=None if record.date is None else datetime.fromisoformat(record.date),
            field=match.field,
            excerpt=excerpt(text, spans_of(text, terms) if match.spans is None else match.spans),
            score=match.score,
        )


def _order(record: StoredRecord) -> tuple[float, int, tuple[int, int, str]]:
    newest_first = math.inf if record.moment is None else -record.moment
    return newest_first, _KIND_ORDER[record.kind], sort_key(record.record_id)


def _checked(number: int, texts: list[StoredText], terms: tuple[str, ...]) -> _Match | None:
    """Return a match if the texts together hold every term; its text is the one of best rank with most hits."""
    hits = [0] * len(texts)
    score = 0
    for term in terms:
        best = 0
        for at, (_, _, rank, key) in enumerate(texts):
            count = key.count(term)
            if count:
                hits[at] += count
                best = max(best, rank)
        if not best:
            return None
        score += _RANK_WORTH * best
    score += min(sum(hits), _RANK_WORTH - 1)
    _, _, at = max((texts[at][2], count, -at) for at, count in enumerate(hits) if count)
    return _Match(number, score, texts[-at][0], texts[-at][1])


def _expressed(number: int, texts: list[RegexMatch]) -> _Match:
    best = max(texts, key=lambda text: (text.rank, text.matches))
    count = sum(text.matches for text in texts)
    return _Match(number, _RANK_WORTH * best.rank + min(count, _RANK_WORTH - 1), best.text, best.field, best.spans)
