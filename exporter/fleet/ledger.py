"""The ledger of a fleet: one SQLite file with the listed blogs, all attempts to save them, and the times they are due.

After any crash, the next run reads the ledger and continues with the blogs that are still due. Attempts are only added;
the row of a blog holds the meaning of its newest attempt. During a run the file is in write-ahead mode, so that ``fleet
status`` can read it. Afterwards it is not, so that a read-only disk can hold it. If a power cut loses an attempt's row,
the next run backs up that archive once more.

A fleet's folder may come from a stranger. The ledger is refused if its tables differ from this program's, because a
trigger could change the settings of a blog. It is also refused if this program could not have written its values.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import astuple, dataclass, field, replace
from datetime import timedelta
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any, Final, Self

from exporter.archive.atomic import is_full_disk
from exporter.archive.layout import FLEET_LEDGER
from exporter.errors import (
    AddressRefused,
    ArchiveDamaged,
    ArchiveLocked,
    BlogExporterError,
    BlogGone,
    BlogRefused,
    Incomplete,
    NewerFormat,
    NoArchive,
    NoSpace,
    NotPublic,
    RedirectRefused,
    ServiceError,
    StaysIncomplete,
    UsageError,
)
from exporter.fleet.blog_list import ListedBlog, trouble_with_id
from exporter.message import message, restored, stored

FILE_NAME: Final = FLEET_LEDGER
CAPTURES: Final = "captures.sqlite"
"""The ledger of ``fleet capture``, which has the same tables."""
FORMAT: Final = 1
_BUSY_SECONDS: Final = 60.0
_NO_RIGHT: Final = frozenset({sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM})
_MAX_LISTINGS: Final = 1_000_000_000
_MAX_WAIT_SECONDS: Final = timedelta(days=2).total_seconds()
"""Longer than any wait after failures: a longer one was recorded with a wrong clock."""
INVALID_VALUE_ERRORS: Final = (sqlite3.Error, ArithmeticError, LookupError, TypeError, ValueError)
"""The errors of reading values that this program did not write."""

_SCHEMA: Final = (
    "CREATE TABLE fleet (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    """CREATE TABLE blogs (
      number INTEGER PRIMARY KEY,
      blog_id TEXT NOT NULL UNIQUE,
      listed INTEGER NOT NULL,
      priority INTEGER NOT NULL,
      position INTEGER NOT NULL,
      settings TEXT NOT NULL,
      state TEXT NOT NULL,
      turn INTEGER NOT NULL DEFAULT 0,
      due_at REAL,
      failures INTEGER NOT NULL DEFAULT 0,
      saved_at REAL,
      run INTEGER,
      attempt INTEGER
    )""",
    "CREATE INDEX due ON blogs (priority DESC, turn, position) WHERE due_at IS NOT NULL",
    """CREATE TABLE attempts (
      number INTEGER PRIMARY KEY,
      blog INTEGER NOT NULL,
      run INTEGER NOT NULL,
      started_at REAL NOT NULL,
      finished_at REAL NOT NULL,
      exit_code INTEGER NOT NULL,
      kind TEXT,
      reason TEXT,
      version INTEGER,
      requests INTEGER NOT NULL,
      retries INTEGER NOT NULL,
      bytes INTEGER NOT NULL,
      worker TEXT
    )""",
    "CREATE INDEX attempts_of_runs ON attempts (run)",
    "CREATE TRIGGER attempts_stay BEFORE DELETE ON attempts BEGIN SELECT RAISE(ABORT, 'attempts are only added'); END",
    "CREATE TRIGGER attempts_last BEFORE UPDATE ON attempts BEGIN SELECT RAISE(ABORT, 'attempts are only added'); END",
    """CREATE TABLE runs (
      number INTEGER PRIMARY KEY,
      started_at REAL NOT NULL,
      finished_at REAL,
      exit_code INTEGER,
      options TEXT NOT NULL,
      progress TEXT
    )""",
)


_PASSING: Final = (Incomplete.exit_code, ArchiveLocked.exit_code, ServiceError.exit_code, 1)
"""Exit codes after which another attempt of the same run may do better."""
_LASTING: Final = tuple(
    each.__name__ for each in (StaysIncomplete, BlogGone, BlogRefused, RedirectRefused, AddressRefused, NotPublic)
)
"""Errors with these exit codes after which it cannot."""


class BlogState(StrEnum):
    """The state of a blog after its newest attempt."""

    NEW = "new"
    """Not tried yet."""
    SAVED = "saved"
    """Everything asked for is in the archive."""
    PARTIAL = "partial"
    """Saved, but not all of it."""
    FAILED = "failed"
    """Nothing was saved by the newest attempt; an earlier one may have."""


OPEN: Final = (BlogState.PARTIAL, BlogState.FAILED)
"""The states of blogs that were tried and are not saved whole."""


@dataclass(frozen=True, slots=True)
class DueBlog:
    """A blog that is due.

    Attributes:
        number: its number in the ledger.
        blog_id: the blog.
        settings: those of its line.
        failures: consecutive attempts that did not save all of it.
        due_at: when it became due, in seconds since 1970.
        saved: whether an earlier attempt saved it, so that its archive must exist.
    """

    number: int
    blog_id: str
    settings: Mapping[str, str]
    failures: int
    due_at: float
    saved: bool = False

    @property
    def alike(self) -> str:
        """A key that is equal for blogs with the same settings of their lines."""
        return _written(self.settings)


@dataclass(frozen=True, slots=True)
class BlogAttempt:
    """How an attempt to save a blog ended; times are seconds since 1970.

    Attributes:
        blog: the blog's number in the ledger.
        exit_code: as ``backup`` has it: 0 saved, 3 partial.
        kind: the class of the error, also of one that left a backup incomplete; ``None`` without one.
        reason: the text of the error.
        version: the version that was made, ``None`` if nothing changed.
        requests: sent to the service, retries included.
        bytes: received from it.
        worker: the name of the worker process; empty for the main process.
    """

    blog: int
    started_at: float
    finished_at: float
    exit_code: int
    kind: str | None = None
    reason: str | None = None
    version: int | None = None
    requests: int = 0
    retries: int = 0
    bytes: int = 0
    worker: str = ""

    @property
    def state(self) -> BlogState:
        """The blog's state after it."""
        return {0: BlogState.SAVED, 3: BlogState.PARTIAL}.get(self.exit_code, BlogState.FAILED)

    @property
    def lasts(self) -> bool:
        """Whether its failure has a cause that waiting does not change, so that the run does not try again."""
        return bool(self.exit_code) and (self.exit_code not in _PASSING or self.kind in _LASTING)

    def row(self) -> tuple[Any, ...]:
        """Return its fields as the ledger stores them."""
        return astuple(replace(self, reason=_encoded_reason(self.reason)))

    @classmethod
    def of_row(cls, row: Sequence[Any]) -> BlogAttempt:
        """Return the attempt that :meth:`row` gave."""
        attempt = cls(*row)
        return replace(attempt, reason=decoded_reason(attempt.reason))


def _encoded_reason(reason: str | None) -> str | None:
    value = None if reason is None else stored(reason)
    return json.dumps(value) if isinstance(value, dict) else value and value.encode("utf-8", "replace").decode()


def decoded_reason(text: str | None) -> str | None:
    """Return a reason of the ledger: a message if it is stored as one, or else its text."""
    if text is None or not text.startswith("{"):
        return text
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return restored(value, text)


@dataclass(frozen=True, slots=True)
class Listing:
    """What reading a list changed.

    Attributes:
        blogs: the number of listed blogs.
        new: those that no list had before.
        repeated: lines that name a blog again.
        left_out: blogs of the list before that are not in this one.
    """

    blogs: int = 0
    new: int = 0
    repeated: int = 0
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class Counts:
    """The number of listed blogs in each state.

    Attributes:
        states: the number in each state.
        due: those due by a time.
        archived: those with an archive, complete or not, by the newest attempt or an earlier one.
        lasting: those whose newest attempt failed for a cause that waiting does not change.
    """

    states: Mapping[BlogState, int] = field(default_factory=dict)
    due: int = 0
    archived: int = 0
    lasting: int = 0

    @property
    def blogs(self) -> int:
        """The number of listed blogs."""
        return sum(self.states.values())


def _written(settings: Mapping[str, str]) -> str:
    return json.dumps(settings, sort_keys=True, ensure_ascii=False)


_SELECT_BLOG: Final = "SELECT number, blog_id, settings, failures, due_at, saved_at FROM blogs"
_ADD_ATTEMPT: Final = (
    "INSERT INTO attempts (run, blog, started_at, finished_at, exit_code, kind, reason, version, requests, retries,"
    " bytes, worker) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
"""With the fields of :class:`BlogAttempt` in their order."""


class FleetLedger:
    """The ledger of the fleet in a folder; one process writes it, under the fleet's lock; any number may read it."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path
        self._listing = 0
        self._run = 0

    @property
    def name(self) -> str:
        """The name of its file, which says what its attempts do."""
        return self._path.name

    @classmethod
    def create(cls, root: Path, name: str = FILE_NAME) -> Self:
        """Open the ledger of a fleet for writing; make it if it does not exist.

        Args:
            root: the fleet's folder.
            name: the file.

        Raises:
            ArchiveDamaged, NewerFormat, NoSpace: it cannot be used.
        """
        path = root / name
        ledger = cls(connect(path, writable=True), path)
        with ledger._transaction():
            if not ledger._connection.execute("SELECT 1 FROM sqlite_master").fetchone():
                for statement in _SCHEMA:
                    ledger._connection.execute(statement)
                ledger._connection.execute("INSERT INTO fleet VALUES ('format', ?)", (str(FORMAT),))
            ledger._listing = check_format(ledger._connection, path)
        with ledger._translated():
            ledger._connection.execute("PRAGMA journal_mode = WAL")
            ledger._connection.execute("PRAGMA synchronous = NORMAL")
        return ledger

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(sqlite3.Error):  # a reader keeps it in write-ahead mode
            self._connection.execute("PRAGMA busy_timeout = 0")
            self._connection.execute("PRAGMA journal_mode = DELETE")
        self._connection.close()

    def list_blogs(self, blogs: Iterable[ListedBlog], now: float) -> Listing:
        """Replace the list of blogs, in this order; blogs left out keep their history and are not run.

        A blog that failed stays due at its time; a blog with new settings is due at once. It is one transaction: a
        list with a wrong line changes nothing.
        """
        total = new = repeated = again = 0
        listing = self._listing + 1
        with self._transaction():
            (newest,) = self._connection.execute("SELECT max(listed) FROM blogs").fetchone()
            if (newest or 0) > self._listing:
                raise _not_one(self._path)
            (before,) = self._connection.execute(
                "SELECT count(*) FROM blogs WHERE listed = ?", (self._listing,)
            ).fetchone()
            self._connection.execute("INSERT OR REPLACE INTO fleet VALUES ('listing', ?)", (str(listing),))
            for position, blog in enumerate(blogs, 1):
                settings = _written(blog.settings)
                found = self._connection.execute(
                    "SELECT number, listed, settings FROM blogs WHERE blog_id = ?", (blog.blog_id,)
                ).fetchone()
                if found is None:
                    row = (blog.blog_id, listing, blog.priority, position, settings, BlogState.NEW, now)
                    self._connection.execute(
                        "INSERT INTO blogs (blog_id, listed, priority, position, settings, state, due_at)"
                        " VALUES (?, ?, ?, ?, ?, ?, ?)",
                        row,
                    )
                    new += 1
                elif found[1] == listing:
                    repeated += 1
                    continue
                else:
                    again += found[1] != self._listing
                    changed = found[2] != settings
                    self._connection.execute(
                        "UPDATE blogs SET listed = ?, priority = ?, position = ?, settings = ?,"
                        " due_at = CASE WHEN ? THEN ? ELSE due_at END WHERE number = ?",
                        (listing, blog.priority, position, settings, changed, now, found[0]),
                    )
                total += 1
        self._listing = listing
        return Listing(total, new, repeated, before + new + again - total)

    def begin_run(
        self, now: float, options: Mapping[str, Any], *, again_before: float | None = None, retry_now: bool = False
    ) -> int:
        """Begin a run and return its number.

        New blogs, and blogs that wait longer than any wait lasts, are due at once: a wrong clock set their times.

        Args:
            now: the time.
            options: the command's options, for readers of the ledger.
            again_before: blogs that were saved before this time are due again; ``None`` for no such time.
            retry_now: whether failed blogs are due at once.
        """
        with self._transaction():
            if again_before is not None:
                self._connection.execute(
                    "UPDATE blogs SET due_at = ? WHERE due_at IS NULL AND saved_at < ?", (now, again_before)
                )
            self._connection.execute(
                "UPDATE blogs SET due_at = ?1 WHERE due_at > ?2 OR (due_at > ?1 AND state = ?3)",
                (now, now + _MAX_WAIT_SECONDS, BlogState.NEW),
            )
            if retry_now:
                self._connection.execute("UPDATE blogs SET due_at = ?1 WHERE due_at > ?1", (now,))
            found = self._connection.execute(
                "INSERT INTO runs (started_at, options) VALUES (?, ?)", (now, json.dumps(options, sort_keys=True))
            )
            self._run = found.lastrowid or 0
        return self._run

    def note_progress(self, progress: Mapping[str, Any]) -> None:
        """Record the progress of the run, for ``fleet status``."""
        with self._transaction():
            self._connection.execute("UPDATE runs SET progress = ? WHERE number = ?", (json.dumps(progress), self._run))

    def end_run(self, now: float, exit_code: int) -> None:
        """Record the end of the run."""
        with self._transaction():
            self._connection.execute(
                "UPDATE runs SET finished_at = ?, exit_code = ? WHERE number = ?", (now, exit_code, self._run)
            )

    def due(self, now: float, most: int, *, without: Iterable[int] = (), aside: Iterable[str] = ()) -> list[DueBlog]:
        """Return listed blogs that are due and were not tried in this run.

        They are sorted by priority. At equal priority, new blogs come first, then those never saved, then the others in
        list order.

        Args:
            now: the time.
            most: how many at most.
            without: numbers of blogs that are under way.
            aside: :attr:`DueBlog.alike` of blogs that are left out.
        """
        under_way = set(without)
        left_out = list(aside)
        with self._translated():
            rows = self._connection.execute(
                f"{_SELECT_BLOG} INDEXED BY due WHERE due_at IS NOT NULL AND due_at <= ? AND listed = ?"  # noqa: S608
                " AND run IS NOT ? AND settings NOT IN (SELECT value FROM json_each(?))"
                " ORDER BY priority DESC, turn, position LIMIT ?",
                (now, self._listing, self._run, json.dumps(left_out), most + len(under_way)),
            ).fetchall()
            found = [self._due_blog(row) for row in rows if row[0] not in under_way]
        return found[:most]

    def due_alike(self, now: float, alike: str) -> int:
        """Count the blogs that :meth:`due` would return of blogs with these settings."""
        with self._translated():
            (found,) = self._connection.execute(
                "SELECT count(*) FROM blogs INDEXED BY due WHERE due_at IS NOT NULL AND due_at <= ? AND listed = ?"
                " AND run IS NOT ? AND settings = ?",
                (now, self._listing, self._run, alike),
            ).fetchone()
        return int(found)

    def listed(self) -> Iterator[DueBlog]:
        """Yield all listed blogs, due or not."""
        with self._translated():
            for row in self._connection.execute(f"{_SELECT_BLOG} WHERE listed = ?", (self._listing,)):
                yield self._due_blog(row)

    def _due_blog(self, row: Sequence[Any]) -> DueBlog:
        number, blog_id, settings, failures, due_at, saved_at = row
        if trouble_with_id(blog_id) is not None:
            raise _not_one(self._path)
        return DueBlog(number, blog_id, json.loads(settings), failures, due_at or 0.0, saved_at is not None)

    def record(self, attempts: Iterable[tuple[BlogAttempt, float | None]]) -> list[BlogState]:
        """Record the results of attempts, each with the time when its blog is due again.

        Returns:
            The states of the blogs before.
        """
        before = []
        with self._transaction():
            for attempt, due_at in attempts:
                (state,) = self._connection.execute(
                    "SELECT state FROM blogs WHERE number = ?", (attempt.blog,)
                ).fetchone()
                before.append(BlogState(state))
                found = self._connection.execute(_ADD_ATTEMPT, (self._run, *attempt.row()))
                is_kept = attempt.state is not BlogState.FAILED
                self._connection.execute(
                    "UPDATE blogs SET state = ?1, due_at = ?2, run = ?3, attempt = ?4,"
                    " failures = CASE WHEN ?5 THEN 0 ELSE failures + 1 END,"
                    " saved_at = CASE WHEN ?6 THEN ?7 ELSE saved_at END,"
                    " turn = CASE WHEN ?6 OR saved_at IS NOT NULL THEN 2 ELSE 1 END WHERE number = ?8",
                    (
                        attempt.state, due_at, self._run, found.lastrowid, attempt.state is BlogState.SAVED,
                        is_kept, attempt.finished_at, attempt.blog,
                    ),
                )  # fmt: skip
        return before

    def recover(self, attempts: Iterable[tuple[str, BlogAttempt]], now: float) -> None:
        """Record attempts that the newest run was killed before it could record, each with its blog's ID.

        Attempts that failed are left out: their blogs are due anyway.
        """
        with self._translated():
            (self._run,) = self._connection.execute("SELECT coalesce(max(number), 0) FROM runs").fetchone()
            found: list[tuple[BlogAttempt, float | None]] = []
            for blog_id, attempt in attempts:
                row = self._connection.execute(
                    "SELECT b.number, coalesce(a.started_at, 0) FROM blogs b LEFT JOIN attempts a"
                    " ON a.number = b.attempt WHERE b.blog_id = ?",
                    (blog_id,),
                ).fetchone()
                if row is not None and attempt.state is not BlogState.FAILED and row[1] < attempt.started_at:
                    due_at = None if attempt.state is BlogState.SAVED else now
                    found.append((replace(attempt, blog=row[0]), due_at))
        self.record(found)

    def counts(self, now: float) -> Counts:
        """Count the listed blogs, and those due by a time."""
        with self._translated():
            return count_blogs(self._connection, self._listing, now)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._translated():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except INVALID_VALUE_ERRORS as error:
            raise trouble(self._path, error) from error


def connect(path: Path, *, writable: bool) -> sqlite3.Connection:
    """Open the file of a ledger.

    Raises:
        NoArchive: it should be read, but does not exist.
        ArchiveDamaged: it cannot be opened.
    """
    if path.is_symlink():
        raise ArchiveDamaged("{path} is a link, but the ledger of a fleet must be a file: remove it.", path=path)
    if not writable and not path.is_file():
        raise NoArchive(
            "{folder} is not a fleet: begin one with blog-exporter fleet run LIST --into DIR.", folder=path.parent
        )
    mode = "rwc" if writable else "ro"
    try:
        return sqlite3.connect(
            f"{path.absolute().as_uri()}?mode={mode}", uri=True, timeout=_BUSY_SECONDS, isolation_level=None
        )
    except sqlite3.Error as error:
        raise trouble(path, error) from error


def check_format(connection: sqlite3.Connection, path: Path) -> int:
    """Check that a file is a ledger this program reads, and return the number of its newest listing.

    Raises:
        ArchiveDamaged, NewerFormat: it is not.
    """
    there, ours = _tables(connection), _our_tables()
    if "fleet" not in there or there["fleet"] != ours["fleet"]:
        raise _not_one(path)
    values = dict(connection.execute("SELECT name, value FROM fleet"))
    numbers = [str(values.get("format", "")), str(values.get("listing", "0"))]
    if not all(number.isascii() and number.isdecimal() and int(number) < _MAX_LISTINGS for number in numbers):
        raise _not_one(path)
    if int(numbers[0]) > FORMAT:
        raise NewerFormat("{path} was written by a newer version of this program: update it.", path=path)
    if there != ours:
        raise _not_one(path)
    return int(numbers[1])


def _tables(connection: sqlite3.Connection) -> dict[str, tuple[str, str | None]]:
    """Return the kind of each table, index and trigger, and the statement that made it."""
    found = connection.execute("SELECT name, type, sql FROM sqlite_master WHERE name NOT GLOB 'sqlite_*'")
    return {name: (kind, statement) for name, kind, statement in found}


@cache
def _our_tables() -> dict[str, tuple[str, str | None]]:
    with closing(sqlite3.connect(":memory:")) as connection:
        for statement in _SCHEMA:
            connection.execute(statement)
        return _tables(connection)


def _not_one(path: Path) -> ArchiveDamaged:
    return ArchiveDamaged("{path} is not the ledger of a fleet.", path=path)


def count_blogs(connection: sqlite3.Connection, listing: int, now: float) -> Counts:
    """Count the listed blogs by state, those due by a time, those with an archive, and those whose failure lasts."""
    states = dict.fromkeys(BlogState, 0)
    due = archived = 0
    for state, total, due_now, kept in connection.execute(
        "SELECT state, count(*), sum(due_at IS NOT NULL AND due_at <= ?), count(saved_at) FROM blogs WHERE listed = ?"
        " GROUP BY state",
        (now, listing),
    ):
        states[BlogState(state)] = total
        due += due_now
        archived += kept
    passing, lasting = json.dumps(_PASSING), json.dumps(_LASTING)
    (lasts,) = connection.execute(
        "SELECT count(*) FROM blogs b JOIN attempts a ON a.number = b.attempt WHERE b.listed = ? AND b.state IN (?, ?)"
        " AND (a.exit_code NOT IN (SELECT value FROM json_each(?)) OR a.kind IN (SELECT value FROM json_each(?)))",
        (listing, *OPEN, passing, lasting),
    ).fetchone()
    return Counts(states, due, archived, lasts)


def trouble(path: Path, error: Exception) -> BlogExporterError:
    """Translate an error of SQLite, or one of :data:`INVALID_VALUE_ERRORS`."""
    code = getattr(error, "sqlite_errorcode", 0)
    if is_full_disk(error):
        return NoSpace("There is no space left for {path}: make room, then run the fleet again.", path=path)
    if code == sqlite3.SQLITE_BUSY:
        return ArchiveLocked(
            "{path}, the ledger of the fleet, is held by another program: end that, then try again.", path=path
        )
    text = message("{path}, the ledger of the fleet, cannot be used: {reason}.", path=path, reason=error)
    return UsageError(text) if code in _NO_RIGHT else ArchiveDamaged(text)
