"""The index file: SQLite with an FTS5 table of character pairs, the folded texts to check against, and the texts.

Every pair of neighbouring characters of a text is a token, and so is its last character. A word of two or more
characters can only be in texts that have all its pairs; one character is the beginning of a pair. So no substring is
missed, and reading the candidates' folded texts leaves only true hits. ASCII characters are moved to a private area,
since the ``ascii`` tokenizer takes everything else for a letter; what this confuses, the check sorts out.
"""

from __future__ import annotations

import contextlib
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from exporter.model.kinds import Kind
from exporter.search.documents import Document, Rank
from exporter.search.folding import fold

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

EDITION: Final = 1
"""Goes up whenever the same records would give another index."""

_SCHEMA: Final = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE docs (
  id INTEGER PRIMARY KEY, kind TEXT, record_id BLOB, identity BLOB, entry_id BLOB, title TEXT, date TEXT, moment REAL);
CREATE UNIQUE INDEX docs_by_record ON docs (kind, record_id);
CREATE TABLE texts (id INTEGER PRIMARY KEY, doc INTEGER, field TEXT, rank INTEGER, folded TEXT, plain BLOB);
CREATE INDEX texts_by_doc ON texts (doc);
CREATE VIRTUAL TABLE pairs USING fts5 (text, content='', detail=none, columnsize=0, tokenize='ascii');
"""
_MOVED: Final = {code: 0xE000 + code for code in range(128)}
_MOST_PAIRS: Final = 24
_WAIT_SECONDS: Final = 30

_RECORD: Final = "docs.id, kind, record_id, entry_id, title, date, moment"


class StoredText(NamedTuple):
    """A text of an indexed record; ``key`` is its folded form."""

    number: int
    field: str
    rank: Rank
    key: str


class StoredRecord(NamedTuple):
    """An indexed record; ``moment`` is its date as seconds since 1970."""

    number: int
    kind: Kind
    record_id: str
    entry_id: str
    title: str
    date: str | None
    moment: float | None


class Store:
    """An open index file."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self.path = path

    @classmethod
    def create(cls, path: Path) -> Store:
        """Make an empty index in a file that is there already, empty, with the modes it shall have."""
        connection = sqlite3.connect(path, isolation_level=None, timeout=_WAIT_SECONDS)
        connection.executescript(f"PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; {_SCHEMA}")
        return cls(connection, path)

    @classmethod
    def open(cls, path: Path, *, writable: bool) -> Store:
        """Open an index that is there.

        Raises:
            sqlite3.Error: it is not there, or is no database.
        """
        mode = "rw" if writable else "ro"
        uri = f"{path.absolute().as_uri()}?mode={mode}"
        connection = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=_WAIT_SECONDS)
        return cls(connection, path)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Make what the block changes appear as a whole, or not at all."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    def key(self) -> str | None:
        """Return what the index was made for, or ``None``."""
        row = self._connection.execute("SELECT value FROM meta WHERE name = 'key'").fetchone()
        return None if row is None else str(row[0])

    def set_key(self, key: str) -> None:
        """Note what the index is made for."""
        self._connection.execute("INSERT OR REPLACE INTO meta VALUES ('key', ?)", (key,))

    def identities(self, kind: Kind) -> dict[str, tuple[int, bytes]]:
        """Return the number and identity of every indexed record of a kind."""
        rows = self._connection.execute("SELECT record_id, id, identity FROM docs WHERE kind = ?", (str(kind),))
        return {_from_blob(record_id): (number, identity) for record_id, number, identity in rows}

    def add(self, kind: Kind, record_id: str, identity: bytes, document: Document) -> None:
        """Index a record."""
        date = document.date
        found = self._connection.execute(
            "INSERT INTO docs (kind, record_id, identity, entry_id, title, date, moment) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                str(kind),
                _blob(record_id),
                identity,
                _blob(document.entry_id),
                _clean(document.title),
                None if date is None else date.isoformat(),
                None if date is None else date.timestamp(),
            ),
        )
        number = found.lastrowid
        folded = [fold(text.text) for text in document.texts]
        self._connection.executemany(
            "INSERT INTO texts (doc, field, rank, folded, plain) VALUES (?, ?, ?, ?, ?)",
            [
                (number, text.field, int(text.rank), key, zlib.compress(_blob(text.text), 1))
                for text, key in zip(document.texts, folded, strict=True)
            ],
        )
        self._connection.execute("INSERT INTO pairs (rowid, text) VALUES (?, ?)", (number, _pairs_of(folded)))

    def remove(self, number: int) -> None:
        """Forget an indexed record."""
        folded = [row[0] for row in self._connection.execute("SELECT folded FROM texts WHERE doc = ?", (number,))]
        self._connection.execute(
            "INSERT INTO pairs (pairs, rowid, text) VALUES ('delete', ?, ?)", (number, _pairs_of(folded))
        )
        self._connection.execute("DELETE FROM texts WHERE doc = ?", (number,))
        self._connection.execute("DELETE FROM docs WHERE id = ?", (number,))

    def candidates(
        self, terms: Sequence[str], kind: Kind | None, since: datetime | None
    ) -> Iterator[tuple[StoredRecord, list[StoredText]]]:
        """Yield the records that may hold all terms, with their texts."""
        where, values = _filters(kind, since)
        where.append("docs.id IN (SELECT rowid FROM pairs WHERE pairs MATCH ?)")
        values.append(" AND ".join(_condition(term) for term in terms))
        rows = self._connection.execute(
            f"SELECT {_RECORD}, texts.id, field, rank, folded FROM docs JOIN texts ON texts.doc = docs.id "  # noqa: S608
            f"WHERE {' AND '.join(where)} ORDER BY docs.id, texts.id",
            values,
        )
        for _, group in groupby(rows, key=itemgetter(0)):
            found = list(group)
            yield _record(found[0][:7]), [StoredText(row[7], row[8], Rank(row[9]), row[10]) for row in found]

    def plain_texts(self, kind: Kind | None, since: datetime | None) -> Iterator[tuple[int, StoredText, str]]:
        """Yield every text as it is, with the number of its record."""
        where, values = _filters(kind, since)
        rows = self._connection.execute(
            "SELECT docs.id, texts.id, field, rank, plain FROM docs JOIN texts ON texts.doc = docs.id "  # noqa: S608
            f"WHERE {' AND '.join(where)} ORDER BY docs.id, texts.id",
            values,
        )
        for number, text, field, rank, plain in rows:
            yield number, StoredText(text, field, Rank(rank), ""), _from_blob(zlib.decompress(plain))

    def plain(self, text: int) -> str:
        """Return a text as it is."""
        (plain,) = self._connection.execute("SELECT plain FROM texts WHERE id = ?", (text,)).fetchone()
        return _from_blob(zlib.decompress(plain))

    def record(self, number: int) -> StoredRecord:
        """Return an indexed record."""
        return _record(self._connection.execute(f"SELECT {_RECORD} FROM docs WHERE id = ?", (number,)).fetchone())  # noqa: S608

    def entry_title(self, entry_id: str) -> str:
        """Return the title of an entry; empty when it is not indexed."""
        wanted = "SELECT title FROM docs WHERE kind = ? AND record_id = ?"
        row = self._connection.execute(wanted, (str(Kind.ENTRIES), _blob(entry_id))).fetchone()
        return "" if row is None else str(row[0])


def _record(row: Sequence[Any]) -> StoredRecord:
    number, kind, record_id, entry_id, title, date, moment = row
    return StoredRecord(number, Kind(kind), _from_blob(record_id), _from_blob(entry_id), title, date, moment)


def _filters(kind: Kind | None, since: datetime | None) -> tuple[list[str], list[str | float]]:
    where = ["1"]
    values: list[str | float] = []
    if kind is not None:
        where.append("kind = ?")
        values.append(str(kind))
    if since is not None:
        where.append("moment >= ?")
        values.append(since.timestamp())
    return where, values


def _pairs_of(folded: Iterable[str]) -> str:
    """Return the tokens of some folded texts, each once, in an order that does not depend on the machine."""
    found: set[str] = set()
    for key in folded:
        moved = key.translate(_MOVED)
        found.update(map(str.__add__, moved, moved[1:]))
        found.add(moved[-1:])
    return " ".join(sorted(found))


def _condition(term: str) -> str:
    """Return what FTS5 is asked for: the term's pairs, or its one character as the beginning of a token."""
    moved = term.translate(_MOVED)
    if len(moved) == 1:
        return f'"{moved}"*'
    pairs = dict.fromkeys(map(str.__add__, moved, moved[1:]))
    return " AND ".join(f'"{pair}"' for pair in list(pairs)[:_MOST_PAIRS])


def _blob(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _from_blob(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


def _clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")
