"""The index file: SQLite with an FTS5 table of characters, the folded texts to check against, and the texts.

Every character of a text is a token, and so is every pair of neighbours that are both kana or ASCII, since these alone
say little. A word can only be in texts that have all its tokens, so no substring of any length is missed; reading the
candidates' folded texts leaves only true hits. ASCII characters are moved to a private area, since the ``ascii``
tokenizer takes everything else for a letter; what this confuses, the check sorts out.
"""

from __future__ import annotations

import contextlib
import json
import re
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Final, NamedTuple

from exporter.model.kinds import Kind
from exporter.search.folding import fold

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

INDEX_VERSION: Final = 1
"""Increased whenever the same records would give another index."""

_SCHEMA: Final = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE docs (
  id INTEGER PRIMARY KEY, kind TEXT, record_id BLOB, identity BLOB, entry_id BLOB, title TEXT, date TEXT, moment REAL);
CREATE UNIQUE INDEX docs_by_record ON docs (kind, record_id);
CREATE TABLE texts (id INTEGER PRIMARY KEY, doc INTEGER, field TEXT, rank INTEGER, folded TEXT, plain BLOB);
CREATE INDEX texts_by_doc ON texts (doc);
CREATE VIRTUAL TABLE tokens USING fts5 (text, content='', detail=none, columnsize=0, tokenize='ascii');
INSERT INTO tokens (tokens, rank) VALUES ('hashsize', 33554432);
"""
_MOVED: Final = {code: 0xE000 + code for code in range(128)}
_COMMON_PAIR: Final = re.compile("(?=([\ue000-\ue07f\u3040-\u30ff]{2}))")
_MOST_TOKENS: Final = 24
_WAIT_SECONDS: Final = 30

_PIECE: Final = 100_000
_FILTER: Final = "(? IS NULL OR kind = ?) AND (? IS NULL OR moment >= ?)"
_MATCHES: Final = (
    f"doc IN (SELECT rowid FROM tokens WHERE tokens MATCH ?) AND doc IN (SELECT id FROM docs WHERE {_FILTER})"  # noqa: S608  constant
)


class Rank(IntEnum):
    """How much a hit in a text counts, whatever the number of hits in texts of lower rank."""

    COMMENT = 1
    BODY = 2
    TITLE = 3


@dataclass(frozen=True, slots=True)
class SearchedText:
    """One searchable text: the field's name as a hit shows it, its rank, and what a reader saw."""

    field: str
    rank: Rank
    text: str


@dataclass(frozen=True, slots=True)
class SearchDocument:
    """A record as it is searched.

    Attributes:
        entry_id: the entry it is or belongs to; empty for a file.
        title: what it is known by; empty for a comment, which is known by its entry.
        date: when it was written, as far as the service says; a file's is when it was modified.
        texts: those that are not empty.
    """

    entry_id: str
    title: str
    date: datetime | None
    texts: tuple[SearchedText, ...]


StoredText = tuple[int, str, int, str]
"""A text of an indexed record: its number, field, rank and folded form. A plain tuple, since a search reads so many."""


class StoredRecord(NamedTuple):
    """An indexed record; ``moment`` is its date as seconds since 1970."""

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
            sqlite3.Error: it is not there, is no database, or has other tables, views or triggers than an index.
        """
        mode = "rw" if writable else "ro"
        uri = f"{path.absolute().as_uri()}?mode={mode}"
        connection = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=_WAIT_SECONDS)
        try:
            _check_schema(connection)
            # Nothing is to be found beside the file after a kill: see transaction.
            connection.execute("PRAGMA journal_mode=MEMORY").fetchone()
        except BaseException:
            connection.close()
            raise
        return cls(connection, path)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Make what the block changes appear as a whole, or leave an index that is made for nothing.

        The journal is in memory. So what the index is made for is taken out first, on its own: a process that is killed
        half way leaves an index that is not used, and no file beside it.
        """
        self._connection.execute("DELETE FROM meta WHERE name = 'key'")
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
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

    def add(self, kind: Kind, record_id: str, identity: bytes, document: SearchDocument) -> None:
        """Index a record."""
        date = document.date
        found = self._connection.execute(
            "INSERT INTO docs (kind, record_id, identity, entry_id, title, date, moment) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                str(kind),
                _blob(record_id),
                identity,
                _blob(document.entry_id),
                document.title.encode("utf-8", "replace").decode(),
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
        self._connection.execute("INSERT INTO tokens (rowid, text) VALUES (?, ?)", (number, _tokens_of(folded)))

    def remove(self, number: int) -> None:
        """Forget an indexed record."""
        folded = [row[0] for row in self._connection.execute("SELECT folded FROM texts WHERE doc = ?", (number,))]
        self._connection.execute(
            "INSERT INTO tokens (tokens, rowid, text) VALUES ('delete', ?, ?)", (number, _tokens_of(folded))
        )
        self._connection.execute("DELETE FROM texts WHERE doc = ?", (number,))
        self._connection.execute("DELETE FROM docs WHERE id = ?", (number,))

    def candidates(
        self, terms: Sequence[str], kind: Kind | None, since: datetime | None
    ) -> Iterator[tuple[int, list[StoredText]]]:
        """Yield the numbers of the records that may hold all terms, with their texts."""
        rows = self._connection.execute(
            f"SELECT doc, id, field, rank, folded FROM texts WHERE {_MATCHES} ORDER BY doc, id",  # noqa: S608  constant
            (" AND ".join(_condition(term) for term in terms), *_filter_values(kind, since)),
        )
        for number, group in groupby(rows, key=itemgetter(0)):
            yield number, [row[1:] for row in group]

    def plain_texts(self, kind: Kind | None, since: datetime | None) -> Iterator[tuple[int, tuple[int, str, int], str]]:
        """Yield every text as it is: the number of its record, then its own, its field and rank, then the text."""
        rows = self._connection.execute(
            "SELECT docs.id, texts.id, field, rank, plain FROM docs JOIN texts ON texts.doc = docs.id "  # noqa: S608  constant
            f"WHERE {_FILTER} ORDER BY docs.id, texts.id",
            _filter_values(kind, since),
        )
        for number, text, field, rank, plain in rows:
            yield number, (text, field, rank), _from_blob(zlib.decompress(plain))

    def records(self, numbers: Iterable[int]) -> dict[int, StoredRecord]:
        """Return indexed records by their numbers."""
        rows = self._connection.execute(
            "SELECT id, kind, record_id, entry_id, title, date, moment FROM docs "
            "WHERE id IN (SELECT value FROM json_each(?))",
            (json.dumps(list(numbers)),),
        )
        return {
            number: StoredRecord(Kind(kind), _from_blob(record_id), _from_blob(entry_id), title, date, moment)
            for number, kind, record_id, entry_id, title, date, moment in rows
        }

    def plain(self, text: int) -> str:
        """Return a text as it is."""
        (plain,) = self._connection.execute("SELECT plain FROM texts WHERE id = ?", (text,)).fetchone()
        return _from_blob(zlib.decompress(plain))

    def entry_title(self, entry_id: str) -> str:
        """Return the title of an entry; empty when it is not indexed."""
        wanted = "SELECT title FROM docs WHERE kind = ? AND record_id = ?"
        row = self._connection.execute(wanted, (str(Kind.ENTRIES), _blob(entry_id))).fetchone()
        return "" if row is None else str(row[0])


def _filter_values(kind: Kind | None, since: datetime | None) -> tuple[str | float | None, ...]:
    """Return the values of :data:`_FILTER`."""
    wanted = None if kind is None else str(kind)
    first = None if since is None else since.timestamp()
    return wanted, wanted, first, first


def _tokens_of(folded: Iterable[str]) -> str:
    """Return the tokens of some folded texts, each once."""
    found: set[str] = set()
    for key in folded:
        moved = key.translate(_MOVED)
        found.update(moved)
        for at in range(0, len(moved), _PIECE):  # since each pair of a text takes fifty bytes
            found.update(_COMMON_PAIR.findall(moved, at, at + _PIECE + 1))
    return " ".join(found)


def _condition(term: str) -> str:
    """Return what FTS5 is asked for: the term's tokens, the rarer pairs first."""
    tokens = sorted(_tokens_of([term]).split(" "), key=len, reverse=True)
    return " AND ".join(f'"{token}"' for token in tokens[:_MOST_TOKENS])


def _blob(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _from_blob(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


def _check_schema(connection: sqlite3.Connection) -> None:
    """Refuse a database whose views or triggers would run with the queries."""
    if _schema_of(connection) != _own_schema():
        raise sqlite3.DatabaseError("it is not an index of this program")


def _schema_of(connection: sqlite3.Connection) -> list[tuple[str, str, str | None]]:
    """Return the type, name and definition of everything in a database."""
    return sorted(connection.execute("SELECT type, name, sql FROM sqlite_master"), key=itemgetter(0, 1))


@cache
def _own_schema() -> list[tuple[str, str, str | None]]:
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(_SCHEMA)
        return _schema_of(connection)
