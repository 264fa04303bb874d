"""Searching a version of an archive: hits with their rank, their excerpts and their marks."""

from __future__ import annotations

import math
import os
import sqlite3
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

import exporter
from exporter import lossless_json
from exporter.errors import BlogExporterError, UsageError
from exporter.model.kinds import Kind, sort_key
from exporter.search.folding import Span, excerpt, spans_of
from exporter.search.indexing import open_store
from exporter.search.regex_worker import DAMAGED
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
        excerpt: a part of that text, line ends as spaces; untrusted.
        start: where the excerpt begins in that text.
        cut: whether the text continues after the excerpt.
        marks: the hits in the excerpt, as ``(start, end)`` offsets into it.
        score: a million for each rank of each term's best text, and one for each place of a term.
    """

    kind: Kind
    record_id: str
    entry_id: str
    title: str
    date: datetime | None
    field: str
    excerpt: str
    start: int
    cut: bool
    marks: tuple[Span, ...]
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


def open_index(archive: Archive, service: Records, *, at: int | None = None) -> Index:
    """Open the index of a version (default: the newest), made or renewed first where needed.

    Raises:
        UsageError: the archive has no version ``at``.
        NoArchive: the archive has no version yet.
        ArchiveDamaged: the records cannot be read.
    """
    return Index(archive, service, archive.resolve(at))


class Index:
    """An index open for searching; close it, or use it as a context."""

    def __init__(self, archive: Archive, service: Records, version: int) -> None:
        self._archive = archive
        self._service = service
        self._version = version
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
            matches = self._matching(query, regex_seconds)
        records = self._store.records(match.number for match in matches)
        # The better before the worse, then the newer before the older; the rest is for having one order.
        matches.sort(key=lambda match: (-match.score, *_order(records[match.number])))
        best = matches[: query.limit]
        return SearchResult([self._hit(match, records[match.number], query.terms) for match in best], len(matches))

    def _matching(self, query: Query, seconds: float) -> list[_Match]:
        """Look for the regular expression in a process of its own, ended when it takes too long."""
        task = {
            "path": str(self._store.path),
            "pattern": query.pattern,
            "kind": query.kind,
            "since": None if query.since is None else query.since.isoformat(),
        }
        path = [str(Path(exporter.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
        try:
            answer = subprocess.run(
                [sys.executable, "-m", "exporter.search.regex_worker"],
                input=lossless_json.dumps(task),
                capture_output=True,
                check=False,
                timeout=seconds,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, path))},
            )
        except subprocess.TimeoutExpired:
            raise UsageError(
                f"The regular expression took more than {seconds:g} seconds over this blog: "
                "make it simpler, without repeats inside repeats such as (a+)+."
            ) from None
        if answer.returncode == DAMAGED:
            raise sqlite3.DatabaseError("the index cannot be read")
        if answer.returncode != 0:
            reason = (answer.stderr.decode("utf-8", "replace").strip().splitlines() or ["no message"])[-1]
            raise BlogExporterError(f"The search by a regular expression failed: {reason[:200]}.")
        best: dict[int, list[tuple[int, int, int, str, list[Span]]]] = {}
        for number, text, field, rank, count, spans in lossless_json.loads(answer.stdout):
            places = [(low, high) for low, high in spans]
            best.setdefault(number, []).append((rank, count, text, field, places))
        return [_expressed(number, texts) for number, texts in best.items()]

    def _hit(self, match: _Match, record: StoredRecord, terms: tuple[str, ...]) -> Hit:
        text = self._store.plain(match.text)
        part = excerpt(text, spans_of(text, terms) if match.spans is None else match.spans)
        return Hit(
            record.kind,
            record.record_id,
            record.entry_id,
            self._store.entry_title(record.entry_id) if record.kind is Kind.COMMENTS else record.title,
            None if record.date is None else datetime.fromisoformat(record.date),
            match.field,
            part.text,
            part.start,
            part.cut,
            part.marks,
            match.score,
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


def _expressed(number: int, texts: list[tuple[int, int, int, str, list[Span]]]) -> _Match:
    rank, _, text, field, spans = max(texts, key=lambda found: found[:2])
    count = sum(found[1] for found in texts)
    return _Match(number, _RANK_WORTH * rank + min(count, _RANK_WORTH - 1), text, field, spans)
