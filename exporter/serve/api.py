"""Answers from the records: of the newest version that is committed, or of one that was asked for.

Everything here blocks and is called from one thread only. An archive is opened anew for each answer, and an index anew
when the archive has another version, so a backup may run meanwhile. No index is kept in the archive.
"""

from __future__ import annotations

import contextlib
import tempfile
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from exporter import lossless_json
from exporter.archive.archive import Archive, read_consistently
from exporter.archive.lines import latest_line
from exporter.errors import NoSuchRecord, UsageError
from exporter.message import message
from exporter.model.kinds import BY_NAME, Kind
from exporter.search.index import Index
from exporter.search.indexing import VersionDocuments
from exporter.search.query import parse_query
from exporter.serve.past import PastHit, PastIndex
from exporter.service.registry import service_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from exporter.search.index import Hit
    from exporter.settings import Settings

_LONGEST_QUERY: Final = 1_000
_MOST: Final = 500


class Found(NamedTuple):
    """What a search found: in the version, there in similar spellings, and in the past; how many there are of each."""

    version: int
    hits: list[Hit]
    total: int
    similar: list[Hit]
    similar_total: int
    past: list[PastHit]
    past_total: int

    def document(self) -> dict[str, Any]:
        """Return it as the JSON API shows it."""
        return {
            "version": self.version,
            "found": self.total,
            "hits": [hit.document() for hit in self.hits],
            "similar_found": self.similar_total,
            "similar_hits": [hit.document() for hit in self.similar],
            "past": {"found": self.past_total, "hits": [hit.document for hit in self.past]},
        }


class Api:
    """Answers questions about one archive; close it.

    Args:
        path: the archive.
        settings: how its records are read.
        folder: an empty one for its indexes; it may go at any time, and what is under way then fails.
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

    def close(self) -> None:
        """Close the indexes and remove what was made for them."""
        self._opened.close()

    def overview(self) -> dict[str, Any]:
        """Return which blog it is, and how many records of each kind there are."""

        def work(archive: Archive) -> dict[str, Any]:
            version = archive.resolve(self._at)
            with contextlib.closing(archive.state(version)) as state:
                counts = {str(kind): len(state.ids(kind)) for kind in Kind}
            return {"blog_id": archive.info.blog_id, "version": version, "records": counts}

        return read_consistently(self._path, work)

    def versions(self) -> bytes:
        """Return what ``log --json`` prints."""
        rows = read_consistently(self._path, lambda archive: archive.log().documents).splitlines()
        return b'{"versions":[%b]}\n' % b",".join(rows)

    def entries(self, asked: Mapping[str, str]) -> dict[str, Any]:
        """Return some entries in the order of their ids: from ``offset`` on, ``limit`` of them."""
        offset, limit = _number(asked, "offset", 0, 10**9), _number(asked, "limit", 100, _MOST)

        def work(archive: Archive) -> dict[str, Any]:
            version = archive.resolve(self._at)
            service = service_of(self._settings, archive.info.service)
            rows = []
            with contextlib.closing(archive.state(version)) as state:
                ids = state.ids(Kind.ENTRIES)
                for entry_id in islice(ids, offset, offset + limit):
                    post = service.post(state.load(Kind.ENTRIES, entry_id) or {}, state.load(Kind.ENTRY_LIST, entry_id))
                    date = None if post.date is None else post.date.isoformat()
                    rows.append({"id": entry_id, "title": post.title, "date": date, "category": post.category})
            return {"version": version, "total": len(ids), "offset": offset, "entries": rows}

        return read_consistently(self._path, work)

    def record(self, kind: str, record_id: str, asked: Mapping[str, str]) -> bytes:
        """Return what ``show --json`` prints of a record, as of ``at``: a version or a date.

        Raises:
            UsageError: there is no such kind.
            NoSuchRecord: there is no such record or version.
        """
        if kind not in BY_NAME:
            raise UsageError(
                message("{kind!r} is no kind of record: ask for {kinds}.", kind=kind, kinds=", ".join(BY_NAME))
            )

        def work(archive: Archive) -> bytes:
            version = archive.version_at(asked.get("at"), self._settings.timezone) if "at" in asked else self._at
            known = archive.last_known(BY_NAME[kind], record_id, archive.resolve(version))
            if known is None or known.stored is None:
                raise NoSuchRecord(
                    message(
                        "There is no {kind} {record_id!r} in this version or before.",
                        kind=kind,
                        record_id=record_id[:40],
                    )
                )
            return latest_line(known.stored.record_id, known.stored.version, known.stored.line.frozen)

        return read_consistently(self._path, work)

    def search(self, asked: Mapping[str, str]) -> Found:
        """Search for ``q``: words and phrases in quotation marks, in all versions.

        Raises:
            UsageError: what is asked for cannot be understood.
        """
        text = asked.get("q", "")
        if len(text) > _LONGEST_QUERY:
            raise UsageError(message("A query has at most {longest_query} characters.", longest_query=_LONGEST_QUERY))
        limit = _number(asked, "limit", 20, _MOST)
        kind, since = asked.get("kind") or None, asked.get("since") or None
        query = parse_query([text], kind, since, limit=limit, timezone=self._settings.timezone)

        def work(archive: Archive) -> Found:
            index, past = self._indexes(archive)
            found = index.search(query)
            hits, total = past.search(query)
            version, similar = archive.resolve(self._at), (found.similar, found.similar_total)
            return Found(version, found.hits, found.total, *similar, hits, total)

        return read_consistently(self._path, work)

    def _indexes(self, archive: Archive) -> tuple[Index, PastIndex]:
        service, version = service_of(self._settings, archive.info.service), archive.resolve(self._at)
        now = VersionDocuments(archive, service, version)
        if self._index is None or self._past is None or self._indexed != now.content:
            self._opened.close()
            self._index = self._past = None
            folder = Path(self._opened.enter_context(tempfile.TemporaryDirectory(dir=self._folder)))
            self._opened.callback(now.close)
            self._index = self._opened.enter_context(Index(archive, service, at=version, folder=folder))
            self._past = self._opened.enter_context(contextlib.closing(PastIndex(archive, service, now, folder)))
            self._indexed = now.content
        return self._index, self._past


def json_of(value: dict[str, Any]) -> bytes:
    """Return a document as the API sends it."""
    return lossless_json.dumps(value) + b"\n"


def _number(asked: Mapping[str, str], name: str, default: int, most: int) -> int:
    text = asked.get(name, str(default))
    if not text.isdecimal() or len(text) > 9 or int(text) > most:
        raise UsageError(
            message("{name} is {text!r}: give a whole number up to {most}.", name=name, text=text[:20], most=most)
        )
    return int(text)
