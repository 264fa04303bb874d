"""Searching all blogs of a fleet at once."""

from __future__ import annotations

import contextlib
import heapq
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from operator import methodcaller
from pathlib import Path
from typing import Any, Final, NamedTuple

from exporter.archive import atomic
from exporter.archive.fleet_folder import SHARDS, archive_named, open_archive, require_fleet, shards_in
from exporter.clock import Clock, timestamp
from exporter.errors import BlogExporterError
from exporter.fleet.local_pool import LocalPool
from exporter.fleet.pool import WorkerPool, results_as_completed
from exporter.fleet.search_index import head_of, index_folder, index_path, index_shard, sections
from exporter.fleet.shards import ShardCounts, update_shards
from exporter.model.kinds import Kind
from exporter.search.folding import spans_of
from exporter.search.index import Hit, VersionDocuments, hit_of, match_of
from exporter.search.index_file import WrongIndex, id_of, record_lines, taken_apart
from exporter.search.query import Query
from exporter.service.registry import service_of
from exporter.settings import Settings

_ONE_PROCESS_BYTES: Final = 256 << 20
"""Bytes of an index that this process searches faster than others can start."""


class FleetHit(NamedTuple):
    """A record that was found, and its blog."""

    blog_id: str
    hit: Hit

    def document(self) -> dict[str, Any]:
        """Return it as JSON shows it."""
        return {"blog_id": self.blog_id, **self.hit.document()}


@dataclass(frozen=True, slots=True)
class FleetSearchResult:
    """The result of a search.

    Attributes:
        hits: the best hits, up to the limit of the query.
        total: the number of matching records in the index.
        blogs: the number of blogs that contain them.
        outdated: the number of hits that the archives no longer contain, or that cannot be read; they are not shown.
    """

    hits: list[FleetHit]
    total: int
    blogs: int
    outdated: int


class _ShardSearch(NamedTuple):
    path: Path
    head: bytes
    query: Query


class _Candidate(NamedTuple):
    """A matching record in the index; a higher ``order`` is better, or newer with ``by_date``."""

    order: tuple[float, float]
    blog_id: str
    kind: Kind
    record_id: str


class _ShardFound(NamedTuple):
    best: list[_Candidate]
    total: int
    blogs: int


def update_index(root: Path, settings: Settings, pool: WorkerPool, clock: Clock) -> ShardCounts:
    """Bring the index of a fleet up to date; only archives that changed are read.

    Raises:
        NoArchive: there are no archives.
        NoSpace, UsageError: it cannot be written.
    """
    require_fleet(root)
    folder = index_folder(root)
    counts = update_shards(root, settings, pool, index_shard)
    with atomic.translated(folder):
        atomic.make_folder(folder)
        for shard in set(SHARDS).difference(shards_in(root)):
            index_path(root, shard).unlink(missing_ok=True)
        atomic.write_file(folder / "made", timestamp(clock.now()).encode() + b"\n")
    return counts


def search(root: Path, query: Query, settings: Settings, workers: int = 1) -> FleetSearchResult:
    """Search; hits are ordered by rank, then the newer first, or as the query says by date.

    Args:
        root: the fleet's folder, with an index.
        query: words; it has a limit.
        settings: to read records with.
        workers: how many processes may search a large index.
    """
    head = head_of(settings)
    tasks = [_ShardSearch(index_path(root, shard), head, query) for shard in SHARDS]
    size = sum(_size(task.path) for task in tasks)
    best: list[_Candidate] = []
    total = blogs = 0
    for found in results_as_completed(LocalPool(workers if size > _ONE_PROCESS_BYTES else 1), _search_shard, tasks):
        best = heapq.nlargest(query.limit or 0, [*best, *found.best])
        total += found.total
        blogs += found.blogs
    hits = []
    for candidate in best:
        with contextlib.suppress(BlogExporterError, OSError):
            hit = _confirmed(root, candidate, query, settings)
            if hit is not None:
                hits.append(hit)
    return FleetSearchResult(hits, total, blogs, len(best) - len(hits))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _search_shard(task: _ShardSearch) -> _ShardFound:
    """Find the records of a shard that hold all terms."""
    hits: Counter[str] = Counter()

    def counted() -> Iterator[_Candidate]:
        with contextlib.suppress(OSError):
            for candidate in _candidates(task):
                hits[candidate.blog_id] += 1
                yield candidate

    best = heapq.nlargest(task.query.limit or 0, counted())
    return _ShardFound(best, hits.total(), len(hits))


def _candidates(task: _ShardSearch) -> Iterator[_Candidate]:
    needles = sorted((term.encode() for term in task.query.terms), key=len, reverse=True)
    counts = [methodcaller("count", needle) for needle in needles]
    first = None if task.query.since is None else task.query.since.timestamp()
    with task.path.open("rb") as file:
        for section in sections(file, task.head):
            file.seek(section.offset)
            for line in _lines_with(file.read(section.length), needles):
                try:
                    record = taken_apart(0, line)
                    if task.query.kind not in {None, record.kind} or (first is not None and record.moment < first):
                        continue
                    match = match_of(record, counts)
                    kind, record_id = id_of(line)
                except WrongIndex:
                    continue
                if match is not None:
                    order = (match.moment, match.score) if task.query.by_date else (match.score, match.moment)
                    yield _Candidate(order, section.blog_id, kind, record_id)


def _lines_with(section: bytes, needles: list[bytes]) -> Iterator[bytes]:
    """Yield the lines of a section that hold all needles."""
    at = 0
    while (found := section.find(needles[0], at)) >= 0:
        start = section.rfind(b"\n", 0, found) + 1
        at = section.find(b"\n", found) + 1 or len(section)
        line = section[start:at]
        if all(needle in line for needle in needles[1:]):
            yield line


def _confirmed(root: Path, candidate: _Candidate, query: Query, settings: Settings) -> FleetHit | None:
    """Return a hit from the archive itself; ``None`` if that no longer contains the words."""
    found = archive_named(root, candidate.blog_id)
    if found is None:
        return None
    archive = open_archive(found)
    service = service_of(settings, archive.info.service)
    with contextlib.closing(VersionDocuments(archive, service, archive.resolve())) as documents:
        read = documents.read(candidate.kind, candidate.record_id)
        if read is None:
            return None
        line = record_lines(candidate.kind, candidate.record_id, b"", read[1]).partition(b"\n")[0]
        match = match_of(taken_apart(0, line), [methodcaller("count", term.encode()) for term in query.terms])
        if match is None:
            return None
        spans = spans_of(read[1].texts[match.text], query.terms)
        return FleetHit(
            candidate.blog_id, hit_of(documents, candidate.kind, candidate.record_id, read[1], match, spans)
        )
