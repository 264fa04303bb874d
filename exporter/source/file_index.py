"""The index for the records in an export file, and the client that answers requests from it.

The index is an SQLite file in the archive's ``.work/``. So memory stays flat for a file of any size, and the backup
reads it the way it reads an API: page by page, then entry by entry.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import zipfile
import zlib
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar

from exporter import lossless_json
from exporter.errors import ApiError, ServiceError
from exporter.http.body import MemoryBudget
from exporter.http.engine import Engine
from exporter.http.transport import Statistics
from exporter.message import message, system_reason
from exporter.model.exchange import Held, Request, Response
from exporter.model.kinds import Kind
from exporter.service.export_file import ExportFile, FoundParts, FoundRecord, Misread, WantedParts, page_records
from exporter.source import content_ids
from exporter.source.content_ids import ArchivedRecords, ContentIds, NoRecords, digest_of, without_ids
from exporter.source.export_files import ExportFiles, ExportPart

T = TypeVar("T")

MAX_NOTES: Final = 1000
"""Parts that fit no rule and are named; the others are counted."""
_CHECKED_RECORDS: Final = 1_000
_LOST_PARTS: Final = 100
_MAX_PART_BYTES: Final = 1024**2
"""Of a record that others show parts of."""
_MAX_PARTS: Final = 1_000
"""Records that one entry shows parts of."""
_MAX_ALL_PARTS: Final = 1_000_000
_MAX_ADDED_BYTES: Final = 256 * 1024**2
"""Of all parts that are added to entries, each counted as often as an entry shows it."""
_SCHEMA: Final = """
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
CREATE TABLE records (kind TEXT, n INTEGER, id TEXT, data BLOB, post INTEGER, proposal TEXT, digest BLOB);
CREATE UNIQUE INDEX ids ON records (kind, id);
CREATE UNIQUE INDEX places ON records (kind, n);
CREATE INDEX proposals ON records (kind, proposal, digest, post);
CREATE TABLE comment_counts (post INTEGER PRIMARY KEY, comments INTEGER);
CREATE TABLE numbers (kind TEXT, id TEXT, number INTEGER, PRIMARY KEY (kind, id)) WITHOUT ROWID;
CREATE TABLE turns (kind TEXT, id TEXT, turn INTEGER, PRIMARY KEY (kind, id)) WITHOUT ROWID;
CREATE TABLE wanting (entry INTEGER);
CREATE TABLE children (parent TEXT, file INTEGER);
CREATE INDEX parents ON children (parent);
"""
"""A record's ``n`` is its number in its kind, and ``post`` that of a comment's entry. ``proposal`` is the id that its
format proposes. ``numbers`` has the last number behind a proposal, and ``turns`` counts equal records of a part.
``wanting`` has the entries that show parts of other records, and ``children`` the files of entries."""


@dataclass
class FileIndex:
    """The records of export files.

    Attributes:
        files: the export files.
        service: their format.
        path: the index, a file that is replaced.
        notes: the parts that fit no rule.
        uncounted: how many more there are.
        losses: sentences about content that could not be read.
        address: the address of the blog as a record states it; empty if none does.
        archived: the archive's records, whose ids the same records keep.
    """

    files: ExportFiles
    service: ExportFile
    path: Path
    notes: list[str] = field(default_factory=list)
    uncounted: int = 0
    losses: list[str] = field(default_factory=list)
    address: str = ""
    archived: ArchivedRecords = field(default_factory=NoRecords)
    _counts: dict[str, int] = field(default_factory=dict)
    _current: int | None = None
    _proposal: str = ""
    _again: bool = False
    _parts_left: int = _MAX_ALL_PARTS
    _bytes_left: int = _MAX_ADDED_BYTES
    _sharing: dict[str, bool] = field(default_factory=dict)

    def build(self, check: Callable[[], None] = lambda: None) -> None:
        """Read the files; ``check`` is called often and may raise to stop.

        If a part cannot be read to its end, its earlier records are kept, and ``losses`` names it.
        """
        self.path.unlink(missing_ok=True)
        self._open()
        for part in self.files.parts:
            self._database.execute("DELETE FROM turns")
            try:
                with part.open() as file:
                    for number, found in enumerate(self.service.read(file, part.name)):
                        if number % _CHECKED_RECORDS == 0:
                            check()
                        self._add(part, found)
            except (OSError, zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as error:
                reason = system_reason(error) if isinstance(error, OSError) and error.errno else str(error)
                self._lose(message("{file} could not be read to its end: {reason}", file=part.name, reason=reason))
        if not self.service.stated_ids:
            ids = ContentIds(self._database, self.service, self.archived)
            for kind in (Kind.ENTRIES, Kind.COMMENTS):
                ids.give(kind)
        self._database.execute(
            "INSERT INTO comment_counts SELECT post, COUNT(*) FROM records WHERE kind = ? GROUP BY post",
            (str(Kind.COMMENTS),),
        )
        self._complete_entries()
        self._database.commit()

    def _open(self) -> None:
        os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        self._database = sqlite3.connect(self.path, check_same_thread=False)
        self._database.executescript(_SCHEMA + content_ids.SCHEMA)

    def close(self) -> None:
        """Close and delete the index."""
        if hasattr(self, "_database"):
            self._database.close()
        with contextlib.suppress(OSError):
            self.path.unlink(missing_ok=True)

    def count(self, kind: Kind) -> int:
        """Return the number of records of a kind."""
        return self._counts.get(str(kind), 0)

    def page(self, kind: Kind, number: int) -> list[dict[str, Any]]:
        """Return one page; the first one has the number 1."""
        stored = Kind.ENTRIES if kind is Kind.ENTRY_LIST else kind
        size = page_records(kind)
        begin = (number - 1) * size
        found = self._records(stored, "n >= ? AND n < ? ORDER BY n", begin, begin + size)
        if kind is not Kind.ENTRY_LIST:
            return [lossless_json.loads(data) for _, data in found]
        counts = dict(
            self._database.execute("SELECT * FROM comment_counts WHERE post >= ? AND post < ?", (begin, begin + size))
        )
        return [self.service.list_item(lossless_json.loads(data), counts.get(n, 0)) for n, data in found]

    def record(self, kind: Kind, record_id: str) -> bytes | None:
        """Return a record as JSON, or ``None``."""
        return next((data for _, data in self._records(kind, "id = ?", record_id)), None)

    def first(self, kind: Kind) -> bytes | None:
        """Return the kind's first record as JSON, or ``None``."""
        return next((data for _, data in self._records(kind, "n = 0")), None)

    def _records(self, kind: Kind, condition: str, *values: object) -> Iterator[tuple[int, bytes]]:
        """Yield numbers and records, with their ids."""
        posts = "SELECT entries.id FROM records AS entries WHERE entries.kind = 'entries' AND entries.n = records.post"
        for number, record_id, data, post in self._database.execute(
            f"SELECT n, id, data, ({posts}) FROM records WHERE kind = ? AND {condition}",  # noqa: S608 - no value is in it
            (str(kind), *values),
        ):
            ids = {"id": record_id} if post is None else {"id": record_id, "post_id": post}
            yield number, bytes(data)[:-1] + b"," + lossless_json.dumps(ids)[1:]

    def _add(self, part: ExportPart, found: FoundRecord | Misread) -> None:
        if isinstance(found, Misread):
            text = message("{file}, line {line}: {reason}", file=part.name, line=found.line, reason=found.reason)
            if found.lost:
                self._lose(text)
            else:
                self._note(text)
            return
        if not self.address:
            self.address = self.service.blog_address(found.raw)
        if found.kind is Kind.ENTRIES:
            self._proposal = found.id
            self._database.execute("DELETE FROM turns WHERE kind = ?", (str(Kind.COMMENTS),))
            self._current, self._again = self._store(found)
            if not self._again and any(self.service.wanted(found.raw)):
                self._database.execute("INSERT INTO wanting VALUES (?)", (self._current,))
        else:
            number, again = self._store(found)
            if found.kind is Kind.FILES and not again and (parent := self.service.parent(found.raw)):
                self._database.execute("INSERT INTO children VALUES (?, ?)", (parent, number))

    def _store(self, found: FoundRecord) -> tuple[int, bool]:
        """Store a record, unless it repeats one; return the number of either, and whether it does."""
        kind, proposal = str(found.kind), found.id
        post = self._current if found.kind is Kind.COMMENTS else None
        if post is not None and not self.service.stated_ids:
            proposal = content_ids.of_entry(proposal, self._proposal)
        data = without_ids(found.raw)
        digest = digest_of(data)
        repeats = self._repeated(found.kind, proposal, digest, post)
        if repeats is not None:
            return repeats, True
        number = self._counts.get(kind, 0)
        record_id = self._free(kind, proposal) if self.service.stated_ids else None
        row = (kind, number, record_id, data, post, proposal, digest)
        self._database.execute("INSERT INTO records VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        self._counts[kind] = number + 1
        return number, False

    def _repeated(self, kind: Kind, proposal: str, digest: bytes, post: int | None) -> int | None:
        """Return the number that an equal record has in another part, or ``None``.

        Two equal records in one part are two, unless the format states ids and they are no comments.
        """
        turn = 0
        if kind is Kind.COMMENTS or not self.service.stated_ids:
            if len(self.files.parts) == 1 and not self._again:
                return None
            key = str(kind), f"{post}\0{proposal}\0{digest.hex()}"
            turn = self._database.execute(
                "INSERT INTO turns VALUES (?, ?, 0) ON CONFLICT DO UPDATE SET turn = turn + 1 RETURNING turn", key
            ).fetchone()[0]
        row = self._database.execute(
            "SELECT n FROM records WHERE kind = ? AND proposal = ? AND digest = ? AND post IS ?"
            " ORDER BY n LIMIT 1 OFFSET ?",
            (str(kind), proposal, digest, post, turn),
        ).fetchone()
        return None if row is None else int(row[0])

    def _free(self, kind: str, proposal: str) -> str:
        """Return the proposal, with a number if another record has it."""
        while True:
            row = self._database.execute(
                "INSERT INTO numbers VALUES (?, ?, 1) ON CONFLICT DO UPDATE SET number = number + 1 RETURNING number",
                (kind, proposal),
            ).fetchone()
            found = proposal if row[0] == 1 else f"{proposal}-{row[0]}"
            taken = self._database.execute("SELECT 1 FROM records WHERE kind = ? AND id = ?", (kind, found)).fetchone()
            if taken is None:
                return found

    def _complete_entries(self) -> None:
        """Add to each entry the parts of other records that it shows."""
        for (entry,) in self._database.execute("SELECT entry FROM wanting"):
            where = str(Kind.ENTRIES), entry
            record_id, data = self._database.execute(
                "SELECT id, data FROM records WHERE kind = ? AND n = ?", where
            ).fetchone()
            raw = lossless_json.loads(data)
            completed = self.service.completed(raw, self._found(raw, str(record_id)))
            written = lossless_json.dumps(completed)
            self._bytes_left -= len(written) - len(data)
            if self._bytes_left < 0 or self._parts_left < 0:
                self._lose(message("patterns and galleries are missing from entry {id} on: too many", id=record_id))
                return
            if completed != raw:
                self._database.execute("UPDATE records SET data = ? WHERE kind = ? AND n = ?", (written, *where))
            for reason in self.service.lacks(completed):
                self._note(message("entry {id}: {reason}", id=record_id, reason=reason))

    def _found(self, raw: Mapping[str, Any], record_id: str) -> FoundParts:
        """Return the records of which an entry shows parts, also through others."""
        files: dict[str, dict[str, Any]] = {}
        entries: dict[str, dict[str, Any]] = {}
        todo = [self.service.wanted(raw)]
        size = 0
        while todo:
            wanted = todo.pop()
            asked = [(Kind.FILES, each) for each in (*wanted.files, *self._children(wanted, record_id))]
            for kind, each in [*asked, *((Kind.ENTRIES, each) for each in wanted.entries)]:
                into = files if kind is Kind.FILES else entries
                if each in into or len(files) + len(entries) >= _MAX_PARTS:
                    continue
                part = self._part(kind, each)
                if part is not None and size < _MAX_PART_BYTES:
                    into[each], length = part
                    size += length
                    if kind is Kind.ENTRIES:
                        todo.append(self.service.wanted(into[each]))
        return FoundParts(files, entries)

    def _children(self, wanted: WantedParts, record_id: str) -> Iterator[str]:
        """Yield the ids of the files that belong to an entry, and to others whose files it may show."""
        for parent in wanted.parents:
            if parent not in ("", record_id) and not self._shares_files(parent):
                continue
            yield from (
                each
                for (each,) in self._database.execute(
                    "SELECT id FROM children JOIN records ON kind = 'files' AND n = file WHERE parent = ?"
                    " ORDER BY n LIMIT ?",
                    (parent or record_id, _MAX_PARTS),
                )
            )

    def _shares_files(self, record_id: str) -> bool:
        """Return whether an entry is known and others may show its files."""
        known = self._sharing.get(record_id)
        if known is None:
            part = self._part(Kind.ENTRIES, record_id)
            known = self._sharing[record_id] = part is not None and self.service.shares_files(part[0])
        return known

    def _part(self, kind: Kind, record_id: str) -> tuple[dict[str, Any], int] | None:
        """Return a record and its bytes, unless it is too large to be a part of others."""
        self._parts_left -= 1
        row = self._database.execute(
            "SELECT data, length(data) FROM records WHERE kind = ? AND id = ? AND length(data) <= ?",
            (str(kind), record_id, _MAX_PART_BYTES),
        ).fetchone()
        return None if row is None else (lossless_json.loads(row[0]), int(row[1]))

    def _note(self, text: str) -> None:
        if len(self.notes) < MAX_NOTES:
            self.notes.append(text)
        else:
            self.uncounted += 1

    def _lose(self, text: str) -> None:
        if len(self.losses) < _LOST_PARTS:
            self.losses.append(text)
        elif len(self.losses) == _LOST_PARTS:
            self.losses.append(message("and more parts of the file"))


@dataclass
class FileClient:
    """Answers the requests of an :class:`~exporter.service.export_file.ExportFile` from the index of its files.

    Attributes:
        files: the export files.
        service: their format.
        engine: downloads the blog's pictures.
        statistics: counts the bytes of the answers; nothing is sent.
    """

    files: ExportFiles
    service: ExportFile
    engine: Engine
    statistics: Statistics = field(default_factory=Statistics)
    index: FileIndex | None = None

    @property
    def source(self) -> FileClient:
        """This client, as the source of a run."""
        return self

    @property
    def budget(self) -> MemoryBudget:
        """The memory of all answers together."""
        return self.engine.budget

    @property
    def originals(self) -> Mapping[str, Path]:
        """The files to keep unchanged, by the addresses of their asset records."""
        return {f"export:{path.name}": path for path in self.files.originals}

    @property
    def losses(self) -> list[str]:
        """Sentences about content that could not be read."""
        return [] if self.index is None else self.index.losses

    @property
    def notes(self) -> list[str]:
        """Sentences about parts that fit no rule and are kept."""
        return [] if self.index is None else self.index.notes

    @property
    def evidence(self) -> dict[str, Any]:
        """The proof that a record is absent, for its tombstone."""
        return {"absent_in_file": self.files.path.name, **self.service.options}

    def prepare(
        self, folder: Path, check: Callable[[], None] = lambda: None, archived: ArchivedRecords | None = None
    ) -> None:
        """Read the files into an index in ``folder``; ``check`` may raise to stop.

        ``archived`` has the archive's newest records, whose ids the same records keep.

        Raises:
            ServiceError: the files hold no entry.
        """
        if self.index is not None:
            return
        folder.mkdir(parents=True, exist_ok=True)
        self.index = FileIndex(self.files, self.service, folder / "source.sqlite")
        self.index.archived = archived or NoRecords()
        self.index.build(check)
        if not self.index.count(Kind.ENTRIES):
            if self.index.losses:  # each names its file
                raise ServiceError("{reason}.", reason=self.index.losses[0])
            raise ServiceError("{file}: it holds no entry.", file=self.files.path.name)

    @property
    def recorder(self) -> None:
        """Nothing: a file has no exchanges."""

    @property
    def echoes(self) -> None:
        """Nothing: no credentials are sent."""

    def is_kept(self, _request: Request) -> bool:
        """Return ``True``: nothing is recorded."""
        return True

    def slow_down(self, pause: float) -> None:
        """Do nothing: a file asks for no pause."""

    def forget_probe(self) -> None:
        """Do nothing: a file is never probed."""

    def close(self) -> None:
        """Delete the index."""
        if self.index is not None:
            self.index.close()
            self.index = None

    async def fetch(
        self,
        request: Request,
        parse: Callable[[Response], T],
        *,
        probe: bool = False,
        once: bool = False,
        recover: Callable[[], Awaitable[T | None]] | None = None,
        holds: Callable[[T], Held] | None = None,
    ) -> T:
        """Answer a request; the keywords of :meth:`exporter.http.engine.Client.fetch` change nothing here."""
        del probe, once, recover, holds
        body = self._answer(Kind(request.path.removeprefix("/")), request)
        self.statistics.bytes += len(body)
        return parse(Response(200, {}, body))

    def _answer(self, kind: Kind, request: Request) -> bytes:
        index = self.index
        if index is None:
            raise RuntimeError("the index is not prepared")
        if kind is Kind.ENTRIES:
            found = index.record(kind, request.params["id"])
        elif kind is Kind.USER:
            found = index.first(kind)
        else:
            stored = Kind.ENTRIES if kind is Kind.ENTRY_LIST else kind
            listed = {"list": index.page(kind, int(request.params["page"])), "total": index.count(stored)}
            return lossless_json.dumps(listed)
        if found is None:
            raise ApiError(request.operation, dict(request.params), 404, message("the file does not have it"))
        return found
