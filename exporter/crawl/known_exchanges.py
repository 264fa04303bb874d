"""An index of the newest recorded answer for each address of an API. It can be rebuilt from the captures.

With it a run finds out in one step whether an answer is new, however many captures there are.
"""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from exporter.archive import atomic
from exporter.archive.captures import API, Capture, captures
from exporter.archive.layout import SUMS
from exporter.archive.safe_files import MAX_DOCUMENT_BYTES
from exporter.errors import ArchiveDamaged
from exporter.warc.cdxj import REVISIT, CaptureIndex, IndexLine
from exporter.warc.records import EarlierRecord

if TYPE_CHECKING:
    from exporter.archive.layout import Layout

_SCHEMA: Final = (
    "CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID",
    "CREATE TABLE answers (url BLOB PRIMARY KEY, status INTEGER, digest TEXT, content INTEGER) WITHOUT ROWID",
    "CREATE TABLE payloads (digest TEXT PRIMARY KEY, url TEXT, date TEXT) WITHOUT ROWID",
)
_NEWEST: Final = "SELECT status, digest, content FROM answers WHERE url = ?"
_OTHERS: Final = "CREATE TEMP TABLE IF NOT EXISTS lines (line BLOB PRIMARY KEY) WITHOUT ROWID"
_EMPTY_DIGEST: Final = "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"
"""Of no bytes. A revisit of an empty payload would save nothing."""


class KnownAnswer(NamedTuple):
    """The newest answer of an address.

    Attributes:
        status: its status; 0 if a run left it out.
        digest: of its payload, as in an index.
        content: a hash of its records; 0 if unknown or if it has none.
    """

    status: int
    digest: str
    content: int = 0

    def is_same(self, status: int, digest: str, content: int = 0) -> bool:
        """Return whether another answer has the same payload, or the same records.

        Some services state the time of the answer next to its records. That alone is no change.
        """
        return self.status == status and (self.digest == digest or (content != 0 and self.content == content))


class KnownExchanges:
    """The answers in an archive's captures of its API; only :meth:`save` keeps changes.

    Args:
        layout: the archive, whose lock the caller holds.
        declared: the owner's declaration about flags, as text. With another declaration, an answer that was left out
            counts as unknown.

    Raises:
        NoSpace: the disk is full.
    """

    def __init__(self, layout: Layout, declared: str) -> None:
        self._path = Path(layout.exchanges)
        self._found = [each for each in captures(layout) if _is_api(each)]
        with self._translated():
            self._database = self._opened()
            self._catch_up()
            if self._fact("declared") != declared:
                self._database.execute("DELETE FROM answers WHERE status = 0")
                self._set("declared", declared)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def newest(self, url: str) -> KnownAnswer | None:
        """Return the newest answer of an address."""
        with self._translated():
            row = self._database.execute(_NEWEST, (_key(url),)).fetchone()
        return None if row is None else KnownAnswer(*row)

    def original(self, digest: str) -> EarlierRecord | None:
        """Return the record that holds a payload."""
        if digest == _EMPTY_DIGEST:
            return None
        with self._translated():
            row = self._database.execute("SELECT url, date FROM payloads WHERE digest = ?", (digest,)).fetchone()
        return None if row is None else EarlierRecord(*row)

    def add(self, line: IndexLine, date: str, content: int | None) -> None:
        """Add a record that is being written.

        Args:
            line: its line in the index.
            date: its date.
            content: a hash of its records, as in :class:`KnownAnswer`; ``None`` for an attempt that was repeated, which
                is not the newest answer of its address.
        """
        with self._translated():
            self._take(line, date, content)
            self._database.execute("INSERT OR IGNORE INTO lines VALUES (?)", (line.encode(),))

    def leave_out(self, url: str) -> None:
        """Note that an answer was left out, unless an earlier one of its address is in a capture."""
        with self._translated():
            self._database.execute("INSERT OR IGNORE INTO answers VALUES (?, 0, '', 0)", (_key(url),))

    def lines(self) -> Iterator[bytes]:
        """Yield the added records' encoded lines, sorted as in an index."""
        yield from (row[0] for row in self._database.execute("SELECT line FROM lines ORDER BY line"))

    def save(self, capture: Capture | None) -> None:
        """Keep the changes; ``capture`` is the new capture with the added records."""
        with self._translated():
            if capture is not None:
                self._set_newest(capture)
            self._database.commit()

    def close(self) -> None:
        """Close the file; changes that were not saved are lost."""
        self._database.close()

    def _opened(self) -> sqlite3.Connection:
        """Open the file. One that is damaged, or of another form, is made anew."""
        path = self._path
        with contextlib.suppress(sqlite3.DatabaseError, OSError):
            if path.is_file() and not path.is_symlink():
                database = self._connected()
                found = [row[0] for row in database.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")]
                if sorted(found) == sorted(_SCHEMA):
                    return database
                database.close()
        for name in (path, path.with_name(f"{path.name}-journal")):
            atomic.remove_folder(name)  # whatever a stranger put there
        atomic.make_folder(path.parent)
        atomic.open_private(path).close()
        database = self._connected()
        for statement in _SCHEMA:
            database.execute(statement)
        database.commit()
        return database

    def _connected(self) -> sqlite3.Connection:
        database = sqlite3.connect(self._path, check_same_thread=False)
        database.execute("PRAGMA trusted_schema = OFF")
        database.execute("PRAGMA temp_store = FILE")
        database.execute(_OTHERS)
        return database

    def _catch_up(self) -> None:
        """Read the indexes of the captures that the file does not know."""
        known = self._fact("newest").split(" ")[0] if self._is_current() else ""
        after = int(known) if known.isdecimal() else 0
        if not after:
            for table in ("answers", "payloads", "facts"):
                self._database.execute(f"DELETE FROM {table}")  # noqa: S608 - the names are constants
        new = [each for each in self._found if each.number > after]
        for each in new:
            # An answer in a damaged capture counts as unknown, so it is recorded again.
            with contextlib.suppress(ArchiveDamaged, OSError):
                for line in sorted(CaptureIndex(each.index), key=lambda line: (line.timestamp, line.offset)):
                    self._take(line, line.moment.strftime("%Y-%m-%dT%H:%M:%SZ"))
        if new:
            self._set_newest(new[-1])
            self._database.commit()

    def _is_current(self) -> bool:
        """Return whether the newest capture that the file knows is still there and the same."""
        number, _, stated = self._fact("newest").partition(" ")
        return any(str(each.number) == number and _sums_hash(each) == stated for each in self._found)

    def _take(self, line: IndexLine, date: str, content: int | None = 0) -> None:
        if content is not None:
            answer = (_key(line.url), line.status, line.digest, content)
            self._database.execute("INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?)", answer)
        if line.mime != REVISIT:
            self._database.execute("INSERT OR IGNORE INTO payloads VALUES (?, ?, ?)", (line.digest, line.url, date))

    def _set_newest(self, capture: Capture) -> None:
        self._set("newest", f"{capture.number} {_sums_hash(capture)}")

    def _fact(self, name: str) -> str:
        row = self._database.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        return "" if row is None else str(row[0])

    def _set(self, name: str, value: str) -> None:
        self._database.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            with atomic.translated(self._path), atomic.full_disk_as_os_error(self._path):
                yield
        except sqlite3.Error as error:
            raise ArchiveDamaged(
                "{path} cannot be used ({error}). Delete it: the next backup makes it again.",
                path=self._path,
                error=error,
            ) from error


def _is_api(capture: Capture) -> bool:
    try:
        return capture.info().kind == API
    except ArchiveDamaged:
        return False


def _sums_hash(capture: Capture) -> str:
    try:
        return hashlib.sha256((capture.folder / SUMS).read_bytes(MAX_DOCUMENT_BYTES)).hexdigest()
    except OSError:
        return ""


def _key(url: str) -> bytes:
    return hashlib.sha256(url.encode("utf-8", "surrogatepass")).digest()[:20]
