"""Ids for the records of files whose format has none, such as Movable Type's.

A record proposes an id, made from its date and its name or title. Ids follow content, never the place in a file:

1. The only record with a proposal keeps it, in the archive and in the file.
2. Among several, a record that the archive has unchanged keeps its id. Then the only one that is left of both does.
3. A record with a new proposal may be an edited one. If it is the only one that shares a name, or text and date, with
   an archived record that the file lacks otherwise, it keeps that record's id.
4. All others are new. Several with one proposal get a hash of their content, and equal ones a number.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, Protocol, TypeVar

from exporter import lossless_json
from exporter.errors import ArchiveDamaged
from exporter.model.kinds import Kind
from exporter.model.records import Raw
from exporter.service.export_file import ExportFile

K = TypeVar("K", int, str)

SCHEMA: Final = """
CREATE TABLE archived (kind TEXT, id TEXT, proposal TEXT, taken INTEGER, PRIMARY KEY (kind, id)) WITHOUT ROWID;
CREATE INDEX families ON archived (kind, proposal);
CREATE TABLE alone (proposal TEXT PRIMARY KEY) WITHOUT ROWID;
"""
"""``archived`` has the archive's ids, and ``alone`` the proposals that only one record makes."""
_DIGEST_BYTES: Final = 16
_HASH_DIGITS: Final = 8


class ArchivedRecords(Protocol):
    """The newest records of the archive."""

    def ids(self, kind: Kind, /) -> Sequence[str]:
        """Return the ids of a kind."""

    def load(self, kind: Kind, record_id: str, /) -> Raw | None:
        """Return a record; ``None`` if it does not exist."""


class NoRecords:
    """The records of an archive that does not exist yet."""

    def ids(self, _kind: Kind) -> Sequence[str]:
        """Return nothing."""
        return ()

    def load(self, _kind: Kind, _record_id: str) -> Raw | None:
        """Return nothing."""
        return None


def without_ids(raw: Raw) -> bytes:
    """Return a flat record as JSON without its ids, with its members sorted as in the archive."""
    return lossless_json.dumps({name: raw[name] for name in sorted(raw) if name not in {"id", "post_id"}})


def digest_of(data: bytes) -> bytes:
    """Return a hash, in a record's case of :func:`without_ids`."""
    return hashlib.blake2b(data, digest_size=_DIGEST_BYTES).digest()


def of_entry(comment_id: str, entry_id: str) -> str:
    """Return a comment's proposal under an entry: its date, and a hash of both proposals."""
    joined = hashlib.sha256(f"{comment_id}\0{entry_id}".encode()).hexdigest()
    return f"{comment_id.partition('-')[0]}-{joined[:_HASH_DIGITS]}"


class ContentIds:
    """Gives ids to the records of a kind in the table ``records``: ``kind, n, id, data, post, proposal, digest``.

    ``post`` is the number ``n`` of a comment's entry. Entries get their ids before comments.
    """

    def __init__(self, database: sqlite3.Connection, service: ExportFile, archived: ArchivedRecords) -> None:
        self._database = database
        self._service = service
        self._archived = archived
        self._copies: dict[tuple[Kind, str], int] = {}

    def give(self, kind: Kind) -> None:
        """Give every record of the kind its id."""
        name = str(kind)
        ids = ((name, each, "-".join(each.split("-")[:2])) for each in self._archived.ids(kind))
        self._database.executemany("INSERT INTO archived VALUES (?, ?, ?, 0)", ids)
        self._database.execute("DELETE FROM alone")
        self._run(
            "INSERT INTO alone SELECT proposal FROM records WHERE kind = ? GROUP BY proposal HAVING COUNT(*) = 1", name
        )
        self._run(
            "UPDATE records SET id = proposal WHERE kind = ? AND proposal IN alone AND proposal IN (SELECT proposal"
            " FROM archived WHERE kind = ? GROUP BY proposal HAVING COUNT(*) = 1 AND MIN(id) = proposal)",
            name,
            name,
        )  # fmt: skip
        self._run(
            "UPDATE archived SET taken = 1 WHERE kind = ? AND id IN (SELECT id FROM records WHERE kind = ?)", name, name
        )
        contested = self._run(
            "SELECT DISTINCT proposal FROM records WHERE kind = ? AND id IS NULL AND proposal IN"
            " (SELECT proposal FROM archived WHERE kind = ? AND NOT taken)",
            name,
            name,
        ).fetchall()
        for (proposal,) in contested:
            self._keep_unchanged(kind, proposal)
        self._keep_edited(kind)
        self._run(
            "UPDATE records SET id = proposal WHERE kind = ? AND id IS NULL AND proposal IN alone"
            " AND proposal NOT IN (SELECT id FROM archived WHERE kind = ?)",
            name,
            name,
        )
        for number, digest, proposal in self._run(
            "SELECT n, digest, proposal FROM records WHERE kind = ? AND id IS NULL ORDER BY n", name
        ).fetchall():
            self._give_new(kind, number, f"{proposal}-{digest.hex()[:_HASH_DIGITS]}")

    def _run(self, statement: str, *values: Any) -> sqlite3.Cursor:
        return self._database.execute(statement, values)

    def _keep_unchanged(self, kind: Kind, proposal: str) -> None:
        """Keep the ids of records that the archive has unchanged, and of the only one that is left."""
        known: defaultdict[tuple[bytes, str], deque[str]] = defaultdict(deque)
        rows = self._run("SELECT id FROM archived WHERE kind = ? AND proposal = ?", str(kind), proposal)
        for record_id, raw in self._loaded(kind, rows.fetchall()):
            known[digest_of(without_ids(raw)), self._service.post_id(raw)].append(record_id)
        left = []
        for number, digest, post in self._run(
            "SELECT records.n, records.digest, entries.id FROM records LEFT JOIN records AS entries"
            " ON entries.kind = ? AND entries.n = records.post WHERE records.kind = ? AND records.proposal = ?"
            " ORDER BY records.n",
            str(Kind.ENTRIES),
            str(kind),
            proposal,
        ).fetchall():
            same = known[digest, post or ""]
            if same:
                self._give(kind, number, same.popleft())
            else:
                left.append(number)
        rest = [each for ids in known.values() for each in ids]
        if len(left) == len(rest) == 1:
            self._give(kind, left[0], rest[0])

    def _keep_edited(self, kind: Kind) -> None:
        """Keep the ids of records whose proposal is another one since an edit."""
        gone = self._run("SELECT id FROM archived WHERE kind = ? AND NOT taken", str(kind)).fetchall()
        if not gone:
            return
        new = self._run(
            "SELECT records.n, records.data, entries.id FROM records LEFT JOIN records AS entries"
            " ON entries.kind = ? AND entries.n = records.post WHERE records.kind = ? AND records.id IS NULL",
            str(Kind.ENTRIES),
            str(kind),
        )
        before = {each: self._likenesses(kind, raw) for each, raw in self._loaded(kind, gone)}
        after = {
            number: self._likenesses(kind, {**lossless_json.loads(data), "post_id": post or ""})
            for number, data, post in new
        }
        for turn in range(max(map(len, before.values()), default=0)):
            ids, numbers = _only(before, turn), _only(after, turn)
            for likeness in ids.keys() & numbers.keys():
                self._give(kind, numbers[likeness], ids[likeness])
                del before[ids[likeness]], after[numbers[likeness]]

    def _likenesses(self, kind: Kind, raw: Raw) -> tuple[bytes, ...]:
        """Return hashes of them, because they hold whole texts; an empty one stays empty."""
        found = self._service.likenesses(kind, raw)
        return tuple(digest_of(each.encode("utf-8", "surrogatepass")) if each else b"" for each in found)

    def _loaded(self, kind: Kind, rows: Iterable[tuple[str]]) -> Iterator[tuple[str, Raw]]:
        for (record_id,) in rows:
            try:
                raw = self._archived.load(kind, record_id)
            except ArchiveDamaged:
                raw = {}
            yield record_id, raw or {}

    def _give(self, kind: Kind, number: int, record_id: str) -> None:
        self._run("UPDATE records SET id = ? WHERE kind = ? AND n = ?", record_id, str(kind), number)
        self._run("UPDATE archived SET taken = 1 WHERE kind = ? AND id = ?", str(kind), record_id)

    def _give_new(self, kind: Kind, number: int, wanted: str) -> None:
        """Give an id that no record of file or archive has."""
        copy = self._copies.get((kind, wanted), 1)
        record_id = wanted if copy == 1 else f"{wanted}-{copy}"
        while self._run(
            "SELECT 1 FROM records WHERE kind = ? AND id = ? UNION SELECT 1 FROM archived WHERE kind = ? AND id = ?",
            *(str(kind), record_id) * 2,
        ).fetchone():
            copy += 1
            record_id = f"{wanted}-{copy}"
        if copy > 1:
            self._copies[kind, wanted] = copy
        self._run("UPDATE records SET id = ? WHERE kind = ? AND n = ?", record_id, str(kind), number)


def _only(likenesses: dict[K, tuple[bytes, ...]], turn: int) -> dict[bytes, K]:
    """Return the records by one of their likenesses, without those that share it with another record."""
    found: dict[bytes, K] = {}
    several = set()
    for record, each in likenesses.items():
        if turn < len(each) and each[turn]:
            if each[turn] in found:
                several.add(each[turn])
            found[each[turn]] = record
    return {likeness: record for likeness, record in found.items() if likeness not in several}
