"""The index for the records in an export file, and the client that answers requests from it.

The index is an SQLite file in the archive's ``.work/``. So memory stays flat for a file of any size, and the backup
reads it the way it reads an API: page by page, then entry by entry.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
import zipfile
import zlib
from collections.abc import Awaitable, Callable, Mapping
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
from exporter.service.export_file import ExportFile, FoundRecord, Misread, page_records
from exporter.source.export_files import ExportFiles, ExportPart

T = TypeVar("T")

MAX_NOTES: Final = 1000
"""Parts that fit no rule and are named; the others are counted."""
_CHECKED_RECORDS: Final = 1_000
_LOST_PARTS: Final = 100
_DIGEST_BYTES: Final = 16
_SCHEMA: Final = """
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
CREATE TABLE records (kind TEXT, n INTEGER, id TEXT, data BLOB);
CREATE UNIQUE INDEX ids ON records (kind, id);
CREATE UNIQUE INDEX places ON records (kind, n);
CREATE TABLE comment_counts (id TEXT PRIMARY KEY, comments INTEGER) WITHOUT ROWID;
CREATE TABLE numbers (kind TEXT, id TEXT, number INTEGER, PRIMARY KEY (kind, id)) WITHOUT ROWID;
CREATE TABLE copies (kind TEXT, id TEXT, digest BLOB, record_id TEXT, PRIMARY KEY (kind, id, digest)) WITHOUT ROWID;
CREATE TABLE turns (id TEXT PRIMARY KEY, turn INTEGER) WITHOUT ROWID;
CREATE TABLE wanted (entry TEXT, file TEXT);
"""
"""``numbers`` has the last number behind an id that several records propose, and ``copies`` finds equal ones of them.
``turns`` counts the comments of the current entry by the id that they propose."""


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
    """

    files: ExportFiles
    service: ExportFile
    path: Path
    notes: list[str] = field(default_factory=list)
    uncounted: int = 0
    losses: list[str] = field(default_factory=list)
    address: str = ""
    _counts: dict[str, int] = field(default_factory=dict)
    _current: str = ""
    _again: bool = False
    _new_comments: int = 0

    def build(self, check: Callable[[], None] = lambda: None) -> None:
        """Read the files; ``check`` is called often and may raise to stop.

        If a part cannot be read to its end, its earlier records are kept, and ``losses`` names it.
        """
        self.path.unlink(missing_ok=True)
        self._open()
        for part in self.files.parts:
            try:
                with part.open() as file:
                    for number, found in enumerate(self.service.read(file, part.name)):
                        if number % _CHECKED_RECORDS == 0:
                            check()
                        self._add(part, found)
            except (OSError, zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as error:
                reason = system_reason(error) if isinstance(error, OSError) and error.errno else str(error)
                self._lose(message("{file} could not be read to its end: {reason}", file=part.name, reason=reason))
        self._count_comments()
        self._add_featured()
        self._database.commit()

    def _open(self) -> None:
        os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        self._database = sqlite3.connect(self.path, check_same_thread=False)
        self._database.executescript(_SCHEMA)

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
        rows = self._database.execute(
            "SELECT data, comments FROM records LEFT JOIN comment_counts USING (id)"
            " WHERE kind = ? AND n >= ? AND n < ? ORDER BY n",
            (str(stored), begin, begin + size),
        )
        found = ((lossless_json.loads(data), comments) for data, comments in rows)
        if kind is not Kind.ENTRY_LIST:
            return [raw for raw, _ in found]
        return [self.service.list_item(raw, comments or 0) for raw, comments in found]

    def record(self, kind: Kind, record_id: str) -> bytes | None:
        """Return a record as JSON, or ``None``."""
        row = self._database.execute(
            "SELECT data FROM records WHERE kind = ? AND id = ?", (str(kind), record_id)
        ).fetchone()
        return None if row is None else bytes(row[0])

    def first(self, kind: Kind) -> bytes | None:
        """Return the first record of a kind as JSON, or ``None``."""
        row = self._database.execute("SELECT data FROM records WHERE kind = ? AND n = 0", (str(kind),)).fetchone()
        return None if row is None else bytes(row[0])

    def _add(self, part: ExportPart, found: FoundRecord | Misread) -> None:
        if isinstance(found, Misread):
            text = message("{file}, line {line}: {reason}", file=part.name, line=found.line, reason=found.reason)
            if found.lost:
                self._lose(text)
            elif len(self.notes) < MAX_NOTES:
                self.notes.append(text)
            else:
                self.uncounted += 1
            return
        if not self.address:
            self.address = self.service.blog_address(found.raw)
        if found.kind is Kind.ENTRIES:
            self._count_comments()
            self._current, self._again = self._store(found, repeats=True)
            if not self._again and (wanted := self.service.wanted_file(found.raw)):
                self._database.execute("INSERT INTO wanted VALUES (?, ?)", (self._current, wanted))
        elif found.kind is Kind.COMMENTS:
            # A second copy of an entry repeats its comments; the same comment twice in one copy is two comments.
            turn = self._turn(found.id)
            proposed = found.id if turn == 1 else f"{found.id}-{turn}"
            raw = {**found.raw, "post_id": self._current}
            _, again = self._store(found._replace(id=proposed, raw=raw), repeats=self._again)
            self._new_comments += not again
        else:
            self._store(found, repeats=True)

    def _turn(self, comment_id: str) -> int:
        """Count a comment that proposes an id; return its number among those in the current entry."""
        row = self._database.execute(
            "INSERT INTO turns VALUES (?, 1) ON CONFLICT DO UPDATE SET turn = turn + 1 RETURNING turn", (comment_id,)
        ).fetchone()
        return int(row[0])

    def _count_comments(self) -> None:
        """Store the number of new comments for the current entry, and forget their ids."""
        if self._new_comments:
            self._database.execute(
                "INSERT INTO comment_counts VALUES (?, ?)"
                " ON CONFLICT DO UPDATE SET comments = comments + excluded.comments",
                (self._current, self._new_comments),
            )
            self._new_comments = 0
        self._database.execute("DELETE FROM turns")

    def _add_featured(self) -> None:
        """Add the addresses of their pictures to the entries that name one."""
        for entry, file in self._database.execute("SELECT entry, file FROM wanted"):
            shown, wanted = self.record(Kind.ENTRIES, entry), self.record(Kind.FILES, file)
            if shown is None or wanted is None:
                continue
            url = self.service.upload(lossless_json.loads(wanted)).url
            if url:
                data = lossless_json.dumps({**lossless_json.loads(shown), "featured": url})
                self._database.execute(
                    "UPDATE records SET data = ? WHERE kind = ? AND id = ?", (data, str(Kind.ENTRIES), entry)
                )

    def _store(self, found: FoundRecord, *, repeats: bool) -> tuple[str, bool]:
        """Store a record under a free id; return the id, and whether an equal record already has it."""
        if self._insert(found, found.id):
            return found.id, False
        digest = hashlib.blake2b(lossless_json.dumps(found.raw), digest_size=_DIGEST_BYTES).digest()
        if repeats:
            known = self._equal(found, digest)
            if known is not None:
                return known, True
        key = str(found.kind), found.id
        row = self._database.execute("SELECT number FROM numbers WHERE kind = ? AND id = ?", key).fetchone()
        number = 2 if row is None else row[0] + 1
        while not self._insert(found, f"{found.id}-{number}"):
            number += 1
        record_id = f"{found.id}-{number}"
        self._database.execute("INSERT OR REPLACE INTO numbers VALUES (?, ?, ?)", (*key, number))
        self._database.execute("INSERT OR IGNORE INTO copies VALUES (?, ?, ?, ?)", (*key, digest, record_id))
        return record_id, False

    def _insert(self, found: FoundRecord, record_id: str) -> bool:
        """Store a record under an id, unless another one has it."""
        kind = str(found.kind)
        place = self._counts.get(kind, 0)
        data = lossless_json.dumps({**found.raw, "id": record_id})
        row = (kind, place, record_id, data)
        done = self._database.execute("INSERT OR IGNORE INTO records (kind, n, id, data) VALUES (?, ?, ?, ?)", row)
        if done.rowcount:
            self._counts[kind] = place + 1
        return bool(done.rowcount)

    def _equal(self, found: FoundRecord, digest: bytes) -> str | None:
        """Return the id of an equal record among those that proposed the same id."""
        if self.record(found.kind, found.id) == lossless_json.dumps({**found.raw, "id": found.id}):
            return found.id
        row = self._database.execute(
            "SELECT record_id FROM copies WHERE kind = ? AND id = ? AND digest = ?", (str(found.kind), found.id, digest)
        ).fetchone()
        return None if row is None else str(row[0])

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

    def prepare(self, folder: Path, check: Callable[[], None] = lambda: None) -> None:
        """Read the files into an index in ``folder``; ``check`` may raise to stop.

        Raises:
            ServiceError: the files hold no entry.
        """
        if self.index is not None:
            return
        folder.mkdir(parents=True, exist_ok=True)
        self.index = FileIndex(self.files, self.service, folder / "source.sqlite")
        self.index.build(check)
        if not self.index.count(Kind.ENTRIES):
            reason = self.index.losses[0] if self.index.losses else message("it holds no entry")
            raise ServiceError("{file}: {reason}.", file=self.files.path.name, reason=reason)

    @property
    def recorder(self) -> None:
        """Nothing: a file has no exchanges."""

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
