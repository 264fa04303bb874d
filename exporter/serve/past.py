"""What entries and comments said in earlier versions and do not say any more, as a search finds it.

An index of its own in a temporary folder, of every state that a later version replaced or removed: of a blog with ten
versions that each changed a twentieth, half as many texts as there are.
"""

from __future__ import annotations

import contextlib
from collections import defaultdict
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from exporter.archive.segments import LinePosition, line_positions
from exporter.errors import ArchiveDamaged
from exporter.model.kinds import Kind
from exporter.search.documents import FIELDS, document_of
from exporter.search.folding import excerpt, fold, spans_of
from exporter.search.index_file import IndexedRecord, IndexFile, id_of, index_head, record_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from exporter.archive.archive import Archive
    from exporter.search.folding import Excerpt
    from exporter.search.indexing import VersionDocuments
    from exporter.search.query import Query
    from exporter.service.interface import Records

_KINDS = (Kind.ENTRIES, Kind.COMMENTS)
NAMES = {Kind.ENTRIES: "entry", Kind.COMMENTS: "comment"}


class PastHit(NamedTuple):
    """A state that holds what is looked for, where the record's state now does not.

    Attributes:
        document: as the JSON API shows it.
        parts: its excerpt in parts, each with whether it is a hit.
    """

    document: dict[str, Any]
    parts: list[tuple[str, bool]]


class PastIndex:
    """The index of what is past in a version; close it.

    Args:
        archive: the archive.
        service: reads its records.
        now: the documents of the version.
        folder: an empty one.
    """

    def __init__(self, archive: Archive, service: Records, now: VersionDocuments, folder: Path) -> None:
        self._archive = archive
        self._service = service
        self._now = now
        path = folder / "past.txt"
        with path.open("wb") as file:
            states = list(_past_places(archive, now.version))
            file.write(index_head(now.edition, now.content, len(states)))
            for kind, record_id, version, place in states:
                file.write(self._lines(kind, record_id, version, place))
        self._file = IndexFile.open(path)

    def close(self) -> None:
        """Close its file."""
        self._file.close()

    def search(self, query: Query) -> tuple[list[PastHit], int]:
        """Return the newest past state of each record that holds all terms, and how many there are in all."""
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
        raw = {} if known is None else known.data()
        document = document_of(kind, raw, None, self._service)
        return PastHit(
            {
                "kind": NAMES[kind],
                "id": record_id,
                "entry_id": document.entry_id,
                "version": version,
                "title": document.title,
                "date": None if document.date is None else document.date.isoformat(),
                "field": FIELDS[kind][at][0],
                "excerpt": part.text,
                "marks": [list(mark) for mark in part.marks],
                "gone": self._now.read(kind, record_id) is None,
            },
            marked_parts(part),
        )


def marked_parts(part: Excerpt) -> list[tuple[str, bool]]:
    """Return an excerpt in parts, each with whether it is a hit."""
    found, done = [("…" if part.start else "", False)], 0
    for start, end in part.marks:
        found += [(part.text[done:start], False), (part.text[start:end], True)]
        done = end
    found += [(part.text[done:], False), ("…" if part.cut else "", False)]
    return [(text, is_hit) for text, is_hit in found if text]


def _past_places(archive: Archive, newest: int) -> Iterator[tuple[Kind, str, int, LinePosition]]:
    """Yield kind, id, version and place of every state that a version up to ``newest`` replaced or removed."""
    versions = [version for version in archive.versions() if version <= newest]
    for kind in _KINDS:
        held: defaultdict[str, list[tuple[int, LinePosition]]] = defaultdict(list)
        for version in versions[1:]:
            for record_id, place in line_positions(archive.layout.segment(version, kind), damaged=lambda _: None):
                held[record_id].append((version, place))
        for version in versions[:1]:
            for record_id, place in line_positions(archive.layout.segment(version, kind), held.keys(), lambda _: None):
                held[record_id].insert(0, (version, place))
        for record_id, steps in held.items():
            last = len(steps) - (not steps[-1][1].removed)
            yield from ((kind, record_id, version, place) for version, place in steps[:last] if not place.removed)
