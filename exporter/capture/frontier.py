"""The addresses that a capture knows: pending ones, answered ones, and those of earlier captures.

It is an SQLite file in ``.work/capture/``, so memory stays flat for any number of addresses. One transaction for each
finished address holds its state, the addresses that it named, its index lines and the mark in the WARC segment. So a
killed capture resumes with exactly the addresses that were under way.

After the capture the file stays as a cache: it has the validators for conditional requests, and the digests to
compare answers with. If it is lost, the digests come back from the indexes of the archive.
"""

from __future__ import annotations

import json
import sqlite3
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

from exporter.archive import atomic
from exporter.capture.events import Effect
from exporter.capture.scope import AddressKind, LeftOut
from exporter.message import restored, stored
from exporter.warc.cdxj import IndexLine
from exporter.warc.records import EarlierRecord, warc_date
from exporter.warc.segments import SegmentMark

FILE_NAME: Final = "frontier.sqlite"
_FORMAT: Final = "1"
_TAKEN: Final = 64
"""Addresses that are read from the file at a time."""
_SCHEMA: Final = """
CREATE TABLE address (
  id INTEGER PRIMARY KEY,
  url TEXT NOT NULL UNIQUE,
  kind INTEGER NOT NULL DEFAULT 0,
  state INTEGER NOT NULL DEFAULT 0,
  origin INTEGER NOT NULL DEFAULT 0,
  own INTEGER NOT NULL DEFAULT 0,
  steps INTEGER NOT NULL DEFAULT 0,
  finder INTEGER,
  turn INTEGER,
  tries INTEGER NOT NULL DEFAULT 0,
  reason TEXT,
  answered INTEGER,
  effect TEXT,
  target INTEGER,
  title TEXT,
  listed INTEGER NOT NULL DEFAULT 0,
  status INTEGER,
  digest TEXT,
  location TEXT,
  recorded TEXT,
  etag TEXT,
  modified TEXT
);
CREATE INDEX due ON address (own, kind DESC, status IS NOT NULL, turn) WHERE state = 1;
CREATE INDEX states ON address (state, kind);
CREATE TABLE payload (digest TEXT PRIMARY KEY, url TEXT NOT NULL, date TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE line (data BLOB NOT NULL);
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""


class AddressState(IntEnum):
    """The state of an address in this capture."""

    UNSEEN = 0
    """Only an earlier capture asked it."""
    PENDING = 1
    DONE = 2
    GONE = 3
    """The server says that it does not exist."""
    FAILED = 4
    """There is no answer for now."""
    LEFT_OUT = 5


class FoundAs(IntEnum):
    """Why an address is known."""

    LINK = 0
    ENTRY = 1
    """It is the permalink of an entry in the archive."""
    SEED = 2
    """It is the home page, or the blog states it in robots.txt."""
    GUESS = 3
    """Blogs usually have it; nothing is missing if this one does not."""
    DOUBT = 4
    """It is the permalink of an entry that may be private. Only a page that is shown is recorded."""


class Address(NamedTuple):
    """An address to ask.

    Attributes:
        id: its row.
        url: the address.
        kind: a page or a requisite.
        own: whether it is on the blog's own host.
        steps: how many steps it is away from a page.
        found: why it is known.
        status: that of its newest record, or ``None``, like the next four.
        digest: of that record's payload.
        location: the target of that record's redirect.
        etag: the validator of that record.
        modified: the time of its last change, as the server states it.
    """

    id: int
    url: str
    kind: AddressKind
    own: bool
    steps: int
    found: FoundAs
    status: int | None
    digest: str | None
    location: str | None
    etag: str | None
    modified: str | None


@dataclass
class Finished:
    """The result for an address that was asked.

    Attributes:
        address: the address.
        state: its new state.
        answered: the status of the answer; ``None`` without one.
        reason: why it is gone, failed or left out; for any other answer, a note about it.
        effect: that of the answer on the archive.
        title: of a page.
        target: the row of the address that it redirects to.
        tries: how often it was asked.
        status: of the newest record; this and the next four replace the known ones unless ``digest`` is ``None``.
        digest: of its payload; empty if it is cut.
        location: its redirect.
        etag: its validator.
        modified: its time of change.
        recorded: when this capture wrote its newest record, if it did.
        is_listed: whether it is a page that this capture wrote, for ``pages.jsonl``.
        lines: the index lines of its records.
        payloads: the new payloads, by digest.
        mark: the end of its last record in the segments.
    """

    address: Address
    state: AddressState
    answered: int | None = None
    reason: str | None = None
    effect: Effect | None = None
    title: str = ""
    target: int | None = None
    tries: int = 1
    status: int | None = None
    digest: str | None = None
    location: str | None = None
    etag: str | None = None
    modified: str | None = None
    recorded: str | None = None
    is_listed: bool = False
    lines: list[IndexLine] = field(default_factory=list)
    payloads: dict[str, EarlierRecord] = field(default_factory=dict)
    mark: SegmentMark | None = None


class NamedAddress(NamedTuple):
    """An address with a reason, for reports."""

    url: str
    kind: AddressKind
    reason: str
    status: int | None


_KINDS: Final = (AddressKind.PAGE, AddressKind.REQUISITE)
_COLUMNS: Final = "id, url, kind, own, steps, origin, status, digest, location, etag, modified"


class Frontier:
    """The addresses of one capture; for one thread.

    Args:
        path: the file; its folder exists.

    Attributes:
        known: the number of addresses in this capture without those that are left out.

    Raises:
        sqlite3.Error: the file cannot be used.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._database = sqlite3.connect(path, isolation_level=None, cached_statements=256)
        try:
            self._open()
        except sqlite3.Error:
            self._database.close()
            raise
        self._under_way: set[int] = set()
        self._ready: dict[bool, deque[Address]] = {True: deque(), False: deque()}
        self._turn = self._number("SELECT coalesce(max(turn), 0) FROM address")
        self.known = self._number("SELECT count(*) FROM address WHERE state IN (1, 2, 3, 4)")
        self._is_inside = False

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Open the frontier in a folder; a file that cannot be used is replaced by an empty one."""
        path = folder / FILE_NAME
        with atomic.translated(path), atomic.full_disk_as_os_error(path):
            atomic.make_folder(folder)
            # SQLite would make it readable for others, and its other files have the same mode.
            atomic.open_private(path, "ab").close()
            try:
                return cls(path)
            except sqlite3.DatabaseError as error:
                if atomic.is_full_disk(error):
                    raise
            for each in folder.glob(f"{FILE_NAME}*"):
                each.unlink()
            atomic.open_private(path, "ab").close()
            return cls(path)

    def _open(self) -> None:
        execute = self._database.execute
        execute("PRAGMA trusted_schema = OFF")
        execute("PRAGMA journal_mode = WAL")
        execute("PRAGMA synchronous = NORMAL")
        if not execute("SELECT 1 FROM sqlite_master WHERE name = 'meta'").fetchone():
            self._database.executescript(f"BEGIN; {_SCHEMA} COMMIT;")
            self.set_meta(format=_FORMAT)
        if self.meta("format") != _FORMAT:
            raise sqlite3.DatabaseError("another format")
        if execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
            raise sqlite3.DatabaseError("damaged")

    def close(self) -> None:
        """Close the file, which keeps all results."""
        with suppress(sqlite3.Error):
            self._database.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Make all changes in the block together.

        Raises:
            NoSpace: the disk is full.
        """
        if self._is_inside:
            yield
            return
        with atomic.translated(self.path), atomic.full_disk_as_os_error(self.path):
            self._database.execute("BEGIN IMMEDIATE")
            self._is_inside = True
            try:
                yield
                self._database.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    self._database.execute("ROLLBACK")
                raise
            finally:
                self._is_inside = False

    # Facts about the whole capture.

    def meta(self, name: str) -> str | None:
        """Return a fact about the capture, or ``None``."""
        found = self._database.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return None if found is None else str(found[0])

    def set_meta(self, **values: str) -> None:
        """Store facts about the capture."""
        self._database.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", values.items())

    @property
    def mark(self) -> SegmentMark:
        """The end of the last record that belongs to a finished address."""
        text = self.meta("mark")
        return SegmentMark(*json.loads(text)) if text else SegmentMark()

    def begin(self, **facts: str) -> None:
        """Begin a new capture: everything known becomes unseen."""
        with self.transaction():
            self._database.execute("DELETE FROM address WHERE status IS NULL")
            self._database.execute(
                "UPDATE address SET state = 0, turn = NULL, tries = 0, reason = NULL, answered = NULL, effect = NULL,"
                " target = NULL, title = NULL, listed = 0, origin = 0, steps = 0, finder = NULL WHERE state != 0"
            )
            self._database.execute("DELETE FROM line")
            self._database.execute("DELETE FROM meta WHERE name NOT IN ('format', 'captured')")
            self.set_meta(**facts)
        self._turn = self.known = 0
        self._ready = {True: deque(), False: deque()}

    def ask_failed_again(self) -> None:
        """Make the failed addresses, and seeds with an error, pending again, because a capture is resumed."""
        with self.transaction():
            self._database.execute(
                "UPDATE address SET state = 1, turn = ? + id, effect = NULL"
                " WHERE state = 4 OR (state = 3 AND origin = 2)",
                (self._turn,),
            )
        self._turn = self._number("SELECT coalesce(max(turn), 0) FROM address")

    def forget(self) -> None:
        """Forget everything that earlier captures recorded."""
        with self.transaction():
            for table in ("address", "payload", "line"):
                self._database.execute(f"DELETE FROM {table}")  # noqa: S608 - the names are constants
            self._database.execute("DELETE FROM meta WHERE name != 'format'")

    def learn(self, lines: Iterable[IndexLine]) -> None:
        """Take the facts in an index of the archive; the newest index comes last."""
        with self.transaction():
            for line in lines:
                date = warc_date(line.moment)
                self._database.execute(
                    "INSERT INTO address (url, status, digest, recorded) VALUES (?, ?, ?, ?)"
                    " ON CONFLICT (url) DO UPDATE SET status = excluded.status, digest = excluded.digest,"
                    " recorded = excluded.recorded, location = NULL, etag = NULL, modified = NULL"
                    " WHERE recorded IS NULL OR excluded.recorded >= recorded",
                    (line.url, line.status, line.digest, date),
                )
                if line.mime != "warc/revisit":
                    self._keep_payload(line.digest, EarlierRecord(line.url, date))

    # The queue.

    def add(
        self,
        url: str,
        kind: AddressKind,
        *,
        own: bool,
        steps: int = 0,
        finder: int | None = None,
        found: FoundAs = FoundAs.LINK,
    ) -> bool:
        """Add an address to ask; return whether it is new in this capture."""
        self._turn += 1
        done = self._database.execute(
            "INSERT INTO address (url, kind, state, own, steps, finder, origin, turn) VALUES (?, ?, 1, ?, ?, ?, ?, ?)"
            " ON CONFLICT (url) DO UPDATE SET kind = excluded.kind, state = 1, own = excluded.own,"
            " steps = excluded.steps, finder = excluded.finder, origin = excluded.origin, turn = excluded.turn"
            " WHERE state = 0",
            (url, _KINDS.index(kind), own, steps, finder, int(found), self._turn),
        )
        is_new = done.rowcount > 0
        self.known += is_new
        return is_new

    def leave_out(
        self, url: str, reason: LeftOut, kind: AddressKind, *, finder: int | None = None, found: FoundAs = FoundAs.LINK
    ) -> None:
        """Note an address that is not asked, unless it is asked already."""
        self._database.execute(
            "INSERT INTO address (url, kind, state, finder, origin, reason) VALUES (?, ?, 5, ?, ?, ?)"
            " ON CONFLICT (url) DO UPDATE SET state = 5, kind = excluded.kind, origin = excluded.origin,"
            " reason = excluded.reason WHERE state = 0",
            (url, _KINDS.index(kind), finder, int(found), str(reason)),
        )

    def drop(self, url: str, reason: LeftOut) -> None:
        """Leave out an address that was just added."""
        self._database.execute(
            "UPDATE address SET state = 5, reason = ?, turn = NULL WHERE url = ? AND state = 1", (str(reason), url)
        )
        self.known -= 1

    def take(self, *, own: bool, pages: bool = True) -> Address | None:
        """Return the next address on the blog's own host, or on another, and hold it.

        Requisites come first. Of each kind, addresses without a record come first, so that a capture with a limit goes
        on where the one before it ended.

        Args:
            own: whether it is on the blog's own host.
            pages: whether it may be a page.
        """
        ready = self._ready[own]
        if not ready:
            ready.extend(self._due(own=own, pages=pages))
        while ready:
            found = ready.popleft()
            if pages or found.kind is AddressKind.REQUISITE:
                self._under_way.add(found.id)
                return found
        return None

    def _due(self, *, own: bool, pages: bool) -> Iterator[Address]:
        least = 0 if pages else 1
        rows = self._database.execute(
            f"SELECT {_COLUMNS} FROM address WHERE state = 1 AND own = ? AND kind >= ?"  # noqa: S608 - a constant
            " ORDER BY kind DESC, status IS NOT NULL, turn LIMIT ?",
            (own, least, _TAKEN + len(self._under_way)),
        ).fetchall()
        return (_address(row) for row in rows if row[0] not in self._under_way)

    def take_one(self, url: str) -> Address | None:
        """Return and hold a pending address; ``None`` if it was answered already."""
        row = self._database.execute(
            f"SELECT {_COLUMNS} FROM address WHERE state = 1 AND url = ?",  # noqa: S608 - a constant
            (url,),
        ).fetchone()
        if row is None:
            return None
        found = _address(row)
        self._under_way.add(found.id)
        return found

    def seeds(self) -> list[str]:
        """Return the first seeds that are still to ask."""
        rows = self._database.execute(
            "SELECT url FROM address WHERE state = 1 AND origin IN (2, 3) ORDER BY turn LIMIT ?", (_TAKEN,)
        )
        return [url for (url,) in rows]

    def answer_of(self, url: str) -> tuple[int | None, str | None]:
        """Return an address's status in this capture, and the target of its redirect."""
        found = self._database.execute("SELECT answered, location FROM address WHERE url = ?", (url,)).fetchone()
        return (None, None) if found is None else (found[0], found[1])

    def finish(self, result: Finished) -> None:
        """Store the result for an address, in the transaction that also adds the addresses in its answer."""
        done = result
        reason = done.reason if done.state is AddressState.LEFT_OUT else _stored(done.reason)
        self._database.execute(
            "UPDATE address SET state = ?, reason = ?, answered = ?, effect = ?, title = ?, target = ?,"
            " tries = tries + ?, listed = ?, turn = NULL WHERE id = ?",
            (
                int(done.state), reason, done.answered, done.effect, done.title or None, done.target,
                done.tries, done.is_listed, done.address.id,
            ),
        )  # fmt: skip
        if done.digest is not None:
            self._database.execute(
                "UPDATE address SET status = ?, digest = ?, location = ?, etag = ?, modified = ?,"
                " recorded = coalesce(?, recorded) WHERE id = ?",
                (
                    done.status, done.digest, done.location, done.etag, done.modified, done.recorded, done.address.id,
                ),
            )  # fmt: skip
        self._database.executemany("INSERT INTO line VALUES (?)", ((line.encode(),) for line in done.lines))
        for digest, original in done.payloads.items():
            self._keep_payload(digest, original)
        if done.mark is not None:
            self.set_meta(mark=json.dumps([done.mark.segment, done.mark.size]))
        self._under_way.discard(done.address.id)

    def _keep_payload(self, digest: str, original: EarlierRecord) -> None:
        self._database.execute("INSERT OR IGNORE INTO payload VALUES (?, ?, ?)", (digest, original.url, original.date))

    def original(self, digest: str) -> EarlierRecord | None:
        """Return the record with a payload, of this capture or an earlier one."""
        found = self._database.execute("SELECT url, date FROM payload WHERE digest = ?", (digest,)).fetchone()
        return None if found is None else EarlierRecord(*found)

    def id_of(self, url: str) -> int | None:
        """Return the row of an address."""
        found = self._database.execute("SELECT id FROM address WHERE url = ?", (url,)).fetchone()
        return None if found is None else int(found[0])

    def leads_back(self, start: int, target: int, most: int = 20) -> bool:
        """Return whether redirects lead from one address over another back to it."""
        seen = {start}
        for _ in range(most):
            if target in seen:
                return True
            seen.add(target)
            found = self._database.execute("SELECT target FROM address WHERE id = ?", (target,)).fetchone()
            if found is None or found[0] is None:
                return False
            target = found[0]
        return False

    # The result.

    def count(self, state: AddressState, kind: AddressKind | None = None) -> int:
        """Return the number of addresses in a state."""
        if kind is None:
            return self._number("SELECT count(*) FROM address WHERE state = ?", int(state))
        return self._number("SELECT count(*) FROM address WHERE state = ? AND kind = ?", int(state), _KINDS.index(kind))

    def count_named(self, state: AddressState) -> int:
        """Return the number of addresses that :meth:`named` yields."""
        return self._number("SELECT count(*) FROM address WHERE state = ? AND origin < 3", int(state))

    def reason_of(self, url: str) -> str:
        """Return the reason that is noted for an address, or an empty text."""
        found = self._database.execute("SELECT reason FROM address WHERE url = ?", (url,)).fetchone()
        return "" if found is None else _restored(found[0])

    def asked(self, kind: AddressKind) -> int:
        """Return the number of addresses of a kind that were asked."""
        return self._number("SELECT count(*) FROM address WHERE state IN (2, 3, 4) AND kind = ?", _KINDS.index(kind))

    def named(self, state: AddressState, most: int = -1) -> Iterator[NamedAddress]:
        """Yield the addresses in a state with their reasons, pages first, without guesses and doubtful ones."""
        rows = self._database.execute(
            "SELECT url, kind, reason, answered FROM address WHERE state = ? AND origin < 3 ORDER BY kind, id LIMIT ?",
            (int(state), most),
        )
        for url, kind, reason, status in rows:
            yield NamedAddress(url, _KINDS[kind], _restored(reason), status)

    def effects(self) -> dict[Effect, int]:
        """Return the number of answers by their effect on the archive."""
        rows = self._database.execute("SELECT effect, count(*) FROM address WHERE effect IS NOT NULL GROUP BY effect")
        return {Effect(effect): number for effect, number in rows}

    def notes(self, most: int = -1) -> Iterator[NamedAddress]:
        """Yield the answered addresses about which something is noted."""
        rows = self._database.execute(
            "SELECT url, kind, reason, answered FROM address WHERE state = 2 AND reason IS NOT NULL ORDER BY id"
            " LIMIT ?",
            (most,),
        )
        for url, kind, reason, status in rows:
            yield NamedAddress(url, _KINDS[kind], _restored(reason), status)

    def unanswered_doubts(self) -> int:
        """Return the number of entries that may be private and have no answer for now."""
        return self._number("SELECT count(*) FROM address WHERE state = 4 AND origin = 4")

    def refused(self) -> int:
        """Return the number of pages that the server does not show to the public."""
        return self._number(
            "SELECT count(*) FROM address WHERE kind = 0 AND state = 3 AND origin < 3 AND answered IN (401, 403)"
        )

    def cut_back(self, last: IndexLine | None) -> None:
        """Ask everything again whose records come after a record, because a power cut lost them.

        Args:
            last: the last whole record, or ``None``.
        """
        after = ("", -1) if last is None else (last.filename, last.offset)
        with self.transaction():
            for number, data in self._database.execute("SELECT rowid, data FROM line").fetchall():
                line = IndexLine.decode(bytes(data))
                if (line.filename, line.offset) > after:
                    self._turn += 1
                    self._database.execute("DELETE FROM line WHERE rowid = ?", (number,))
                    self._database.execute("DELETE FROM payload WHERE digest = ? AND url = ?", (line.digest, line.url))
                    self._database.execute(
                        "UPDATE address SET state = 1, turn = ?, listed = 0, effect = NULL, status = NULL,"
                        " digest = NULL, etag = NULL, modified = NULL, recorded = NULL WHERE url = ?",
                        (self._turn, line.url),
                    )

    def newest_lines(self) -> Iterator[IndexLine]:
        """Yield the index lines of this capture, the newest first."""
        rows = self._database.execute("SELECT data FROM line ORDER BY rowid DESC")
        return (IndexLine.decode(bytes(data)) for (data,) in rows)

    def pending(self, kind: AddressKind) -> list[str]:
        """Return the first addresses that are still to ask."""
        rows = self._database.execute(
            "SELECT url FROM address WHERE state = 1 AND kind = ? ORDER BY turn LIMIT 10", (_KINDS.index(kind),)
        )
        return [url for (url,) in rows]

    def left_out(self) -> dict[LeftOut, int]:
        """Return the number of left-out addresses by reason."""
        rows = self._database.execute("SELECT reason, count(*) FROM address WHERE state = 5 GROUP BY reason")
        return {LeftOut(reason): number for reason, number in rows}

    def left_out_entries(self, reason: LeftOut) -> list[str]:
        """Return the first permalinks of entries that are left out for a reason."""
        rows = self._database.execute(
            "SELECT url FROM address WHERE state = 5 AND origin = 1 AND reason = ? ORDER BY id LIMIT 10", (str(reason),)
        )
        return [url for (url,) in rows]

    def urls(self, kind: AddressKind) -> Iterator[str]:
        """Yield this capture's addresses of a kind in the order in which they were found."""
        rows = self._database.execute(
            "SELECT url FROM address WHERE state IN (1, 2, 3, 4) AND kind = ? ORDER BY id", (_KINDS.index(kind),)
        )
        return (url for (url,) in rows)

    def lines(self) -> Iterator[bytes]:
        """Yield the index lines of this capture, sorted."""
        return (bytes(data) for (data,) in self._database.execute("SELECT data FROM line ORDER BY data"))

    def line_count(self) -> int:
        """Return the number of records of this capture."""
        return self._number("SELECT count(*) FROM line")

    def pages(self) -> Iterator[tuple[str, str, str, int]]:
        """Yield the address, time, title and status of each page that this capture wrote, sorted by address."""
        rows = self._database.execute(
            "SELECT url, recorded, title, answered FROM address WHERE listed = 1 ORDER BY url"
        )
        return ((url, recorded, title or "", status) for url, recorded, title, status in rows)

    def _number(self, query: str, *values: Any) -> int:
        (found,) = self._database.execute(query, values).fetchone()
        return int(found)


def _address(row: tuple[Any, ...]) -> Address:
    number, url, kind, own, steps, found, *known = row
    return Address(number, url, _KINDS[kind], bool(own), steps, FoundAs(found), *known)


def _stored(reason: str | None) -> str | None:
    return None if reason is None else json.dumps(stored(reason), ensure_ascii=True)


def _restored(text: str | None) -> str:
    if text is None:
        return ""
    try:
        return restored(json.loads(text))
    except ValueError:
        return text
