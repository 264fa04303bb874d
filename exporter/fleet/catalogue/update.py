"""Bringing a catalogue up to date: every shard in some process, then the new catalogue in the place of the old."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from exporter.archive import atomic
from exporter.archive.fleet_folder import require_fleet, require_outside, shards_in
from exporter.archive.lock import ArchiveLock
from exporter.clock import Clock, timestamp
from exporter.export.parquet_table import libraries
from exporter.fleet.catalogue import parquet_folder, sqlite_file
from exporter.fleet.catalogue.duckdb_file import identity_of, library, require_place, write_database
from exporter.fleet.catalogue.reading import ShardOutcome
from exporter.fleet.workers import Hands
from exporter.settings import Settings

_NAMED: Final = 1_000

OnShard = Callable[["CatalogueResult", float], None]
"""Is told what was found so far, and which part of the folders is done, 0 … 1."""


@dataclass(slots=True)
class CatalogueResult:
    """What a catalogue is like now.

    Attributes:
        path: the folder or file.
        blogs: how many it has.
        entries: how many entries they have.
        read: archives that were read for it now.
        kept: those that had not changed since the last time.
        dropped: those that are gone.
        trouble: what could not be read and why, the first thousand.
        troubles: how many they are.
        changed: whether it is another than before.
    """

    path: Path
    blogs: int = 0
    entries: int = 0
    read: int = 0
    kept: int = 0
    dropped: int = 0
    trouble: list[tuple[str, str]] = field(default_factory=list)
    troubles: int = 0
    changed: bool = False

    def add(self, outcome: ShardOutcome) -> None:
        """Count what became of a shard."""
        self.blogs += outcome.blogs
        self.entries += outcome.entries
        self.read += outcome.read
        self.kept += outcome.kept
        self.dropped += outcome.dropped
        self.troubles += len(outcome.trouble)
        self.trouble += outcome.trouble[: _NAMED - len(self.trouble)]
        self.changed = self.changed or outcome.changed


@dataclass(frozen=True, slots=True)
class CatalogueOptions:
    """How a catalogue is made.

    Attributes:
        settings: to read records with.
        hands: who reads archives.
        clock: the time.
        on_shard: hears of the progress.
    """

    settings: Settings
    hands: Hands
    clock: Clock
    on_shard: OnShard = lambda _result, _done: None


def update_parquet(root: Path, target: Path, options: CatalogueOptions) -> CatalogueResult:
    """Bring a folder of Parquet files up to date; one that is not there is made.

    Raises:
        UsageError: the extra is not installed, or the folder is something else.
        NoArchive: there are no archives.
        ArchiveLocked: another process is at it.
        NoSpace: there is no room.
    """
    libraries()
    parquet_folder.require_target(target)
    with _work(root, target, options) as work:
        new = work / "new"
        parquet_folder.make_folders(new)
        shards = sorted({*shards_in(root), *parquet_folder.shards_of(target), *parquet_folder.shards_of(new)})
        settings = options.settings.without_secrets()
        tasks = (parquet_folder.ShardTask(root, shard, target, new, settings) for shard in shards)
        result = CatalogueResult(target)
        with closing(options.hands.each_done(parquet_folder.bring_up_to_date, tasks)) as outcomes:
            for done, outcome in enumerate(outcomes, 1):
                result.add(outcome)
                options.on_shard(result, done / len(shards))
        if result.changed or parquet_folder.identity_of(target) is None:
            made_at = timestamp(options.clock.now())
            parquet_folder.publish(new, target, work / "old", made_at, result.blogs)
        atomic.remove_folder(new)
    return result


def update_sqlite(root: Path, target: Path, options: CatalogueOptions) -> CatalogueResult:
    """Bring an SQLite database up to date; one that is not there is made.

    Raises:
        UsageError: something else is there.
        NoArchive: there are no archives.
        ArchiveLocked: another process is at it.
        NoSpace: there is no room.
    """
    sqlite_file.require_target(target)
    with _work(root, target, options) as work, sqlite_file.open_for_update(target, work) as database:
        shards = sorted({*shards_in(root), *database.shards()})
        settings = options.settings.without_secrets()
        tasks = (sqlite_file.DatabaseTask(root, shard, work, database.known(shard), settings) for shard in shards)
        result = CatalogueResult(target)
        with closing(options.hands.each_done(sqlite_file.read_changes, tasks)) as changes:
            for done, made in enumerate(changes, 1):
                database.take(made)
                result.add(made.outcome)
                options.on_shard(result, done / len(shards))
        database.finish(timestamp(options.clock.now()))
    return result


def update_duckdb(root: Path, target: Path, options: CatalogueOptions) -> CatalogueResult:
    """Bring the Parquet files beside a DuckDB database up to date, and make it anew of them.

    Raises:
        UsageError: an extra is not installed, or something else is there.
        NoArchive: there are no archives.
        ArchiveLocked: another process is at it.
        NoSpace: there is no room.
    """
    library()
    require_place(target)
    known = identity_of(target)
    folder = target.with_suffix("")
    result = update_parquet(root, folder, options)
    with _work(root, target, options) as work:
        made_of = parquet_folder.identity_of(folder)
        if made_of is not None and made_of != known:
            write_database(folder, target, work, made_of)
            result.changed = True
    result.path = target
    return result


@contextmanager
def _work(root: Path, target: Path, options: CatalogueOptions) -> Iterator[Path]:
    """Give the hidden folder beside a catalogue in which the next one is made, locked; it is left only by a kill."""
    require_fleet(root)
    require_outside(root, target)
    work = target.with_name(f".{target.name}.work")
    lock = ArchiveLock(work / "lock")
    lock.acquire(options.clock.now())
    try:
        yield work
    finally:
        lock.release()
