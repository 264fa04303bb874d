"""The JSON API: answers from the records in the newest version, or in another one.

Everything here blocks and is called from one thread only. Each answer opens the archive again, and a new version makes
a new index, so a backup may run meanwhile. The archive keeps no index.

Searches also find what entries and comments said in earlier versions and no longer say. For these a second index, in a
temporary folder, holds every state that a later version replaced or removed. For a blog with ten versions that each
changed a twentieth of it, that index has half as many texts as the blog.
"""

from __future__ import annotations

import contextlib
import tempfile
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from exporter import lossless_json
from exporter.archive.archive import Archive, read_consistently
from exporter.archive.lines import latest_line
from exporter.errors import ArchiveDamaged, NoSuchRecord, UsageError
from exporter.message import listed
from exporter.model.kinds import BY_NAME, Kind
from exporter.search.entry_search import EntryHits, SearchedRecord
from exporter.search.folding import excerpt, fold, spans_of
from exporter.search.index import Hit, Index, SearchResult, VersionDocuments
from exporter.search.index_file import FIELDS, IndexedRecord, IndexFile, document_of, id_of, index_head, record_lines
from exporter.search.query import parse_query
from exporter.service.registry import service_of
from exporter.site.history import changed_positions

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from exporter.archive.segments import LinePosition
    from exporter.model.records import Post, Raw
    from exporter.search.query import Query
    from exporter.service.interface import Records
    from exporter.settings import Settings

_QUERY_CHARACTERS: Final = 1_000
MAX_HITS: Final = 500


class PastHit(NamedTuple):
    """An earlier state that contains the terms, of a record whose current state does not.

    Attributes:
        hit: in that state.
        version: that holds it.
        gone: whether the record is gone.
    """

    hit: Hit
    version: int
    gone: bool

    def document(self) -> dict[str, Any]:
        """Return the object that the API sends."""
        found = {**self.hit.document(), "version": self.version, "gone": self.gone}
        del found["score"]
        return found


class Found(NamedTuple):
    """The search hits in the version, in similar spellings and in earlier versions, and the number of each."""

    version: int
    hits: list[Hit]
    total: int
    similar: list[Hit]
    similar_total: int
    past: list[PastHit]
    past_total: int

    def document(self) -> dict[str, Any]:
        """Return the object that the API sends."""
        return {
            "version": self.version,
            "found": self.total,
            "hits": [hit.document() for hit in self.hits],
            "similar_found": self.similar_total,
            "similar_hits": [hit.document() for hit in self.similar],
            "past": {"found": self.past_total, "hits": [hit.document() for hit in self.past]},
        }


class EntriesFound(NamedTuple):
    """The entries with all words, the files with them, and what earlier versions said, with the number of all of it."""

    terms: tuple[str, ...]
    entries: EntryHits
    files: SearchResult
    past: list[PastHit]
    past_total: int


class Api:
    """Answers requests about one archive; close it.

    Args:
        path: the archive.
        settings: how to read its records.
        folder: an empty folder for the indexes. If it is deleted, running requests fail.
        at: the version to show; by default always the newest.
    """

    def __init__(self, path: Path, settings: Settings, folder: Path, at: int | None = None) -> None:
        self._path = path
        self._settings = settings
        self._folder = folder
        self._at = at
        self._opened = contextlib.ExitStack()
        self._indexed = ""
        self._index: Index | None = None
        self._past: PastIndex | None = None
        self._now: VersionDocuments | None = None

    def close(self) -> None:
        """Close the indexes and delete their files."""
        self._opened.close()

    def overview(self) -> dict[str, Any]:
        """Return the blog id and the number of records of each kind."""

        def work(archive: Archive) -> dict[str, Any]:
            version = archive.resolve(self._at)
            with contextlib.closing(archive.state(version)) as state:
                counts = {str(kind): len(state.ids(kind)) for kind in Kind}
            return {"blog_id": archive.info.blog_id, "version": version, "records": counts}

        return read_consistently(self._path, work)

    def versions(self) -> dict[str, Any]:
        """Return what ``log --json`` prints."""
        rows = read_consistently(self._path, lambda archive: archive.log())
        return {"versions": [row.document() for row in rows]}

    def entries(self, asked: Mapping[str, str]) -> dict[str, Any]:
        """Return up to ``limit`` entries from ``offset`` on, ordered by id."""
        offset, limit = number_of(asked, "offset", 0, 10**9), number_of(asked, "limit", 100, MAX_HITS)

        def work(archive: Archive) -> dict[str, Any]:
            version = archive.resolve(self._at)
            service = service_of(self._settings, archive.info.service)
            rows = []
            with contextlib.closing(archive.state(version)) as state:
                ids = state.ids(Kind.ENTRIES)
                for entry_id in islice(ids, offset, offset + limit):
                    post = service.post(state.load(Kind.ENTRIES, entry_id) or {}, state.load(Kind.ENTRY_LIST, entry_id))
                    rows.append({"id": entry_id, **_entry_row(post)})
            return {"version": version, "total": len(ids), "offset": offset, "entries": rows}

        return read_consistently(self._path, work)

    def record(self, kind: str, record_id: str, asked: Mapping[str, str]) -> bytes:
        """Return what ``show --json`` prints of a record as of ``at``, a version or a date.

        Raises:
            UsageError: no such kind exists.
            NoSuchRecord: no such record or version exists.
        """
        if kind not in BY_NAME:
            raise UsageError("{kind!r} is not a kind of record: use {kinds}.", kind=kind, kinds=listed(BY_NAME))

        def work(archive: Archive) -> bytes:
            version = archive.version_at(asked.get("at"), self._settings.timezone) if "at" in asked else self._at
            known = archive.last_known(BY_NAME[kind], record_id, archive.resolve(version))
            if known is None or known.stored is None:
                raise NoSuchRecord(
                    "This version and earlier ones have no {kind} {record_id!r}.", kind=kind, record_id=record_id[:40]
                )
            return latest_line(known.stored.record_id, known.stored.version, known.stored.line.frozen)

        return read_consistently(self._path, work)

    def search(self, asked: Mapping[str, str]) -> Found:
        """Search all versions for the words and quoted phrases of ``q``.

        Raises:
            UsageError: a parameter is invalid.
        """
        query = self._query(asked, number_of(asked, "limit", 20, MAX_HITS))

        def work(archive: Archive) -> Found:
            index, past = self._indexes(archive)
            found = index.search(query)
            hits, total = past.search(query)
            version, similar = archive.resolve(self._at), (found.similar, found.similar_total)
            return Found(version, found.hits, found.total, *similar, hits, total)

        return read_consistently(self._path, work)

    def _query(self, asked: Mapping[str, str], limit: int) -> Query:
        text = asked.get("q", "")
        if len(text) > _QUERY_CHARACTERS:
            raise UsageError("A query has at most {longest_query} characters.", longest_query=_QUERY_CHARACTERS)
        kind, since = asked.get("kind") or None, asked.get("since") or None
        return parse_query([text], kind, since, limit=limit, timezone=self._settings.timezone)

    def entries_found(self, text: str, limit: int) -> EntriesFound:
        """Search entries with their comments, also those that are gone, and files and earlier versions.

        Raises:
            UsageError: the query is empty or too long.
        """
        query = self._query({"q": text}, limit)

        def work(archive: Archive) -> EntriesFound:
            index, past = self._indexes(archive)
            hits = index.entry_hits(query.terms, past.gone_entries())
            files = index.search(replace(query, kind=Kind.FILES))
            earlier, total = past.search(query, gone_entries=False)
            return EntriesFound(query.terms, hits, files, earlier, total)

        return read_consistently(self._path, work)

    def raw(self, kind: Kind, record_id: str, version: int | None = None) -> Raw:
        """Return a record as of a version, by default of the one that was searched last; empty if it is missing."""
        if version is None:
            return (self._now.state.load(kind, record_id) if self._now is not None else None) or {}
        found = Archive.open(self._path).record(kind, record_id, version)
        return {} if found is None else found.data()

    def _indexes(self, archive: Archive) -> tuple[Index, PastIndex]:
        service, version = service_of(self._settings, archive.info.service), archive.resolve(self._at)
        now = VersionDocuments(archive, service, version)
        if self._index is None or self._past is None or self._indexed != now.content:
            self._opened.close()
            self._index = self._past = self._now = None
            folder = Path(self._opened.enter_context(tempfile.TemporaryDirectory(dir=self._folder)))
            self._opened.callback(now.close)
            self._index = self._opened.enter_context(Index(archive, service, at=version, folder=folder))
            self._past = self._opened.enter_context(contextlib.closing(PastIndex(archive, service, now, folder)))
            self._indexed, self._now = now.content, now
        return self._index, self._past


class PastIndex:
    """The index of the states that a version or an earlier one replaced or removed; close it.

    Args:
        archive: the archive.
        service: reads its records.
        now: the documents of the version.
        folder: where to write the index.
    """

    def __init__(self, archive: Archive, service: Records, now: VersionDocuments, folder: Path) -> None:
        self._archive = archive
        self._service = service
        self._now = now
        path = folder / "past.txt"
        with path.open("wb") as file:
            states = list(_past_places(archive, now.version))
            ids = now.state.kinds[Kind.ENTRIES]
            self._gone = {each[1]: each[2] for each in states if each[0] is Kind.ENTRIES and each[1] not in ids}
            file.write(index_head(now.edition, now.content, len(states)))
            for kind, record_id, version, place in states:
                file.write(self._lines(kind, record_id, version, place))
        self._file = IndexFile.open(path)

    def close(self) -> None:
        """Close its file."""
        self._file.close()

    def gone_entries(self) -> Iterator[SearchedRecord]:
        """Yield the last state of each entry that is gone."""
        for record in self._file.records(kind=Kind.ENTRIES) if self._gone else ():
            version, _, entry_id = record.record_id().partition(" ")
            if self._gone.get(entry_id) == int(version):
                yield SearchedRecord(Kind.ENTRIES, entry_id, record, int(version))

    def search(self, query: Query, *, gone_entries: bool = True) -> tuple[list[PastHit], int]:
        """Return the newest past state of each record that contains all terms, and the number of all of them.

        Without ``gone_entries`` the last state of an entry that is gone does not count.
        """
        needles = [term.encode() for term in query.terms]
        newest: dict[tuple[Kind, str], tuple[int, IndexedRecord]] = {}
        for record in self._file.records(needles, kind=query.kind, since=query.since):
            kind, record_id, version = self._key(record)
            texts = b"\n".join(record.folded)
            known = newest.get((kind, record_id))
            if all(needle in texts for needle in needles) and (known is None or known[0] < version):
                newest[kind, record_id] = version, record
        found = [
            (version, kind, record_id, record)
            for (kind, record_id), (version, record) in newest.items()
            if not self._holds_now(kind, record_id, query.terms)
            and (gone_entries or kind is not Kind.ENTRIES or self._gone.get(record_id) != version)
        ]
        found.sort(key=lambda each: (-each[0], -each[3].moment, each[3].offset))
        hits = [self._hit(*each, query.terms) for each in found[: query.limit]]
        return hits, len(found)

    def _lines(self, kind: Kind, record_id: str, version: int, place: LinePosition) -> bytes:
        raw: dict[str, Any] = {}
        with contextlib.suppress(ArchiveDamaged):
            raw = place.read(partial(self._archive.find_intact, kind)).record()
        document = document_of(kind, raw, None, self._service)
        return record_lines(kind, f"{version} {record_id}", b"", document)

    def _key(self, record: IndexedRecord) -> tuple[Kind, str, int]:
        kind, key = id_of(self._file.at(record.offset))
        version, _, record_id = key.partition(" ")
        return kind, record_id, int(version)

    def _holds_now(self, kind: Kind, record_id: str, terms: Sequence[str]) -> bool:
        found = self._now.read(kind, record_id)
        texts = "\n".join(map(fold, found[1].texts)) if found is not None else ""
        return all(term in texts for term in terms)

    def _hit(self, version: int, kind: Kind, record_id: str, record: IndexedRecord, terms: Sequence[str]) -> PastHit:
        texts = record.texts()
        counts = [sum(text.count(term.encode()) > 0 for term in terms) for text in record.folded]
        at = max(range(len(texts)), key=counts.__getitem__)
        part = excerpt(texts[at], spans_of(texts[at], terms))
        known = self._archive.record(kind, record_id, version)
        found = document_of(kind, {} if known is None else known.data(), None, self._service)
        hit = Hit(kind, record_id, found.entry_id, found.title, found.date, FIELDS[kind][at][0], part, score=0)
        return PastHit(hit, version, gone=self._now.read(kind, record_id) is None)


def _entry_row(post: Post) -> dict[str, Any]:
    """Return the facts that the API sends about an entry in a list."""
    return {
        "title": post.title,
        "date": None if post.date is None else post.date.isoformat(),
        "category": post.category,
        "categories": [{"name": each.name, "parents": list(each.parents)} for each in post.every_category],
        "tags": list(post.tags),
        "author": post.author or None,
        "permalink": post.permalink or None,
        "kind": str(post.kind),
        "audience": None if post.audience is None else str(post.audience),
        "excerpt": post.excerpt or None,
        "featured": post.featured or None,
    }


def json_of(value: dict[str, Any]) -> bytes:
    """Return the bytes of a JSON answer."""
    return lossless_json.dumps(value) + b"\n"


def number_of(asked: Mapping[str, str], name: str, default: int, most: int) -> int:
    """Return a number in a query.

    Raises:
        UsageError: it is no whole number up to ``most``.
    """
    text = asked.get(name, str(default))
    if not text.isdecimal() or len(text) > 9 or int(text) > most:
        raise UsageError("{name} is {text!r}: give a whole number up to {most}.", name=name, text=text[:20], most=most)
    return int(text)


def _past_places(archive: Archive, newest: int) -> Iterator[tuple[Kind, str, int, LinePosition]]:
    """Yield kind, id, version and line position of every state that a version up to ``newest`` replaced or removed."""
    versions = [version for version in archive.versions() if version <= newest]
    for kind in (Kind.ENTRIES, Kind.COMMENTS):
        for record_id, steps in changed_positions(archive.layout, versions, kind, lambda *_: None).items():
            last = len(steps) - (not steps[-1][1].removed)
            yield from ((kind, record_id, version, place) for version, place in steps[:last] if not place.removed)
