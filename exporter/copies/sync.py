"""``sync``: choose the source and the target, and transfer one archive or all archives of a fleet.

A plain folder is written as an archive, version by version (:mod:`exporter.copies.pull`). Every other place receives
objects (:mod:`exporter.copies.push`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from exporter.archive.archive import Archive
from exporter.archive.fleet_folder import FoundArchive, archives_in, shards_in
from exporter.archive.forgetting import require_finished
from exporter.archive.layout import Layout
from exporter.archive.lock import ArchiveLock
from exporter.archive.safe_files import MAX_DOCUMENT_BYTES
from exporter.clock import SystemClock
from exporter.copies.checks import check_sample
from exporter.copies.contents import LocalHistory, Relation, SecondCopy
from exporter.copies.encrypted import EncryptedStore
from exporter.copies.folder import FolderStore
from exporter.copies.memory import CopyMemory, KnownCopy
from exporter.copies.opening import StoreOptions, open_store, plain_store
from exporter.copies.pull import Pull
from exporter.copies.store import Store, WithinStore, archives_of, is_address
from exporter.copies.transfer import SyncResult, TransferCount
from exporter.errors import ArchiveDamaged, BlogExporterError, Interrupted, NoArchive, UsageError
from exporter.message import message

if TYPE_CHECKING:
    from exporter.copies.object_lock import Locked, ObjectLock
    from exporter.copies.transfer import OnProgress


@dataclass(slots=True)
class LockRequest:
    """A request to lock a copy.

    Attributes:
        keep: the shortest time from now on.
        locked: the locks after the sync.
    """

    keep: timedelta
    locked: Locked | None = None


@dataclass(frozen=True, slots=True)
class SyncOptions:
    """The options of a sync.

    Attributes:
        prune: remove versions at the target that a prune has folded at the source, and complete an interrupted prune.
        dry_run: make a plan and send nothing.
        store: how to open places that are not plain folders.
        encrypted: called with an encrypted target before anything is sent.
        lock: lock everything at the target.
        wait_lock: how long to wait for a backup or a prune of the source.
        new: begin a new copy in an empty place that had a copy.
        target: the target as the user named it.
        copy_id: the id of an encrypted copy.
    """

    prune: bool = False
    dry_run: bool = False
    store: StoreOptions = field(default_factory=StoreOptions)
    encrypted: Callable[[EncryptedStore], None] | None = None
    lock: LockRequest | None = None
    wait_lock: timedelta = timedelta()
    new: bool = False
    target: str = ""
    copy_id: str | None = None


Started = Callable[[str], "OnProgress"]
"""Called with the name of each archive before its sync; returns the function that receives the progress."""


def sync(source: str, target: str, options: SyncOptions, started: Started) -> Iterator[SyncResult]:
    """Update a copy from its archive, or an archive from its copy, and yield the result for each archive.

    In a fleet, the error of one archive is in its result and does not stop the others.

    Args:
        source: a folder or an address.
        target: a folder or an address.
        options: the options.
        started: called for each archive.

    Raises:
        UsageError: the places do not fit.
        BlogExporterError: the sync of a single archive failed.
    """
    if is_address(source) and is_address(target):
        raise UsageError(
            "One of {source} and {target} must be a folder: sync to a folder first.", source=source, target=target
        )
    _require_folders(*(Path(place) for place in (source, target) if not is_address(place)))
    options = replace(options, target=target)
    if is_address(target) or (options.store.encrypt_to and not is_address(source)):
        inner = plain_store(target)
        lock = None if options.lock is None else _object_lock(inner, options.lock, options, Path(source))
        store = open_store(target, replace(options.store, archive=Path(source)), inner)
        if isinstance(store, EncryptedStore):
            options = replace(options, copy_id=store.id)
            if options.encrypted is not None:
                options.encrypted(store)
        yield from _push_all(Path(source), store, options, started)
        if lock is not None and options.lock is not None:
            options.lock.locked = lock.finish()
    elif options.lock is not None:
        raise UsageError("--object-lock locks a copy in S3, and {target} is not an s3://… address.", target=target)
    else:
        # This refuses a folder that has, or according to the archive had, an encrypted copy.
        open_store(target, StoreOptions(archive=None if is_address(source) else Path(source)))
        reading = StoreOptions(identities=options.store.identities, archive=Path(target))
        store = open_store(source, reading)
        yield from _pull_all(store, Path(target), options, started, None if is_address(source) else Path(source))
        if isinstance(store, EncryptedStore) and not options.dry_run:
            store.keep_keys()


def _require_folders(*places: Path) -> None:
    """Refuse a file, and of two folders a copy inside its archive and an archive inside its copy."""
    for place in places:
        if place.is_file():
            raise UsageError("{place} is a file: name a folder.", place=place)
    if len(places) == 2:
        _require_apart(*places)


def _require_apart(source: Path, target: Path) -> None:
    one, other = source.resolve(), target.resolve()
    if one == other:
        raise UsageError("{source} cannot be synced to itself: name another place.", source=source)
    if one.is_relative_to(other) or other.is_relative_to(one):
        raise UsageError(
            "One of {source} and {target} is inside the other: name another place.", source=source, target=target
        )


def _object_lock(store: Store, request: LockRequest, options: SyncOptions, root: Path) -> ObjectLock | None:
    """Return the lock for the objects to send; ``None`` in a dry run."""
    from exporter.copies.object_lock import ObjectLock  # noqa: PLC0415 - optional, and slow to import
    from exporter.copies.s3 import S3Store  # noqa: PLC0415 - as above

    if not isinstance(store, S3Store) or options.prune:
        raise UsageError(message("--object-lock needs an s3://… address as the target, and excludes --prune."))
    return None if options.dry_run else ObjectLock(store, request.keep, root, SystemClock().now())


def _push_all(root: Path, store: Store, options: SyncOptions, started: Started) -> Iterator[SyncResult]:
    shards = [] if Archive.exists(root) or not root.is_dir() else shards_in(root)
    if not shards:
        yield _push(root, ".", store, options, started)
    for found in (found for shard in shards for found in archives_in(root, shard)):
        name = found.path.relative_to(root).as_posix()
        yield _with_error(name, partial(_push_found, found, name, WithinStore(store, name), options, started))


def _pull_all(
    store: Store, root: Path, options: SyncOptions, started: Started, source: Path | None
) -> Iterator[SyncResult]:
    names = archives_of(store)
    if names == ["."]:
        yield _pull(source, root, ".", store, options, started)
        return
    for name in names:
        held = None if source is None else source / name
        yield _with_error(name, partial(_pull, held, root / name, name, WithinStore(store, name), options, started))


def _with_error(name: str, work: Callable[[], SyncResult]) -> SyncResult:
    """Return the result for one archive in a fleet, with the error if it failed."""
    try:
        return work()
    except Interrupted:
        raise
    except BlogExporterError as error:
        return SyncResult(name, error=error)


@contextmanager
def _locked(root: Path | None, options: SyncOptions) -> Iterator[None]:
    """Lock the source, because a backup or a prune could remove files during the transfer.

    An archive of another user, or on a read-only disk, is not locked: a lock file of this user would exclude its owner.

    Raises:
        ArchiveLocked: a backup, a prune or another sync has the lock.
    """
    if root is None or options.dry_run or not Archive.exists(root) or not _is_ours(root):
        yield
        return
    with ArchiveLock(Layout(root).lock) as lock:
        lock.acquire(SystemClock().now(), options.wait_lock.total_seconds())
        require_finished(Layout(root))
        yield


def _is_ours(folder: Path) -> bool:
    return os.access(folder, os.W_OK) and (os.name == "nt" or folder.stat().st_uid == os.geteuid())


def _push_found(found: FoundArchive, name: str, store: Store, options: SyncOptions, started: Started) -> SyncResult:
    if found.trouble is not None:
        raise NoArchive(found.trouble)
    return _push(found.path, name, store, options, started)


def _push(root: Path, name: str, store: Store, options: SyncOptions, started: Started) -> SyncResult:
    from exporter.copies.forgetting import remove_forgotten  # noqa: PLC0415 - few archives have forgotten anything
    from exporter.copies.pruning import CopyPrune, push_to_prune  # noqa: PLC0415 - a copy in a folder does not need it
    from exporter.copies.push import Push  # noqa: PLC0415 - as above

    with _locked(root, options):
        archive = Archive.open(root)
        if options.prune:
            store.require_reading_back()
        progress = started(name)
        check = _StateCheck(archive, name, options)
        if not options.dry_run and archive.layout.forgotten.kind() is not None:
            check.forgot(remove_forgotten(archive, store))
        recovering = options.prune and not options.dry_run
        push = push_to_prune(archive, store) if recovering else Push(archive, store, pruning=options.prune)
        check.require_connected(push.copy)
        plan = push.plan()
        check.before(push.copy, plan.relation)
        pruned = plan.relation is Relation.PRUNED
        if pruned and set(push.numbers) != plan.versions.keys():
            raise ArchiveDamaged(
                "{archive} is damaged, and {place} was not pruned: run verify --repair.",
                archive=archive.path,
                place=store.place,
            )
        done = None if options.dry_run else push.run(plan, progress, CopyPrune(push).run if pruned else None)
        return check.after(name, plan, done)


def _pull(
    source: Path | None, root: Path, name: str, store: Store, options: SyncOptions, started: Started
) -> SyncResult:
    with _locked(source, options):
        archive = Archive.open(source) if source is not None and Archive.exists(source) else None
        check = _StateCheck(archive, name, options)
        copy = SecondCopy(FolderStore(root))
        check.require_connected(copy)
        progress = started(name)
        with Pull(store, root, write=not options.dry_run) as pull:
            plan = pull.plan(prune=options.prune)
            check.before(copy, plan.relation)
            done = None if options.dry_run else pull.run(plan, progress)
        return check.after(name, plan, done)


class _StateCheck:
    """Compares a copy with its state after the last sync, and checks a sample of it.

    Args:
        archive: the archive that remembers the copy; ``None`` if the source is not an archive in a folder.
        name: the archive's folder in its fleet.
        options: the options of the sync.
    """

    def __init__(self, archive: Archive | None, name: str, options: SyncOptions) -> None:
        place = options.target if name == "." else f"{options.target.rstrip('/')}/{name}"
        self._archive = archive
        self._place = place
        self._options = options
        self._memory = None if archive is None else CopyMemory(archive.path, place, options.copy_id)
        self._known = KnownCopy() if self._memory is None else self._memory.known
        self._damaged: list[str] = []
        self._newest = 0
        self._rolled_back: tuple[int, int] | None = None

    def require_connected(self, copy: SecondCopy) -> None:
        """Refuse an empty place that had a copy.

        Raises:
            NoArchive: the place is empty.
        """
        if self._known.head and copy.empty and not self._options.new:
            raise NoArchive(
                "{place} is empty, but had a copy of version {version} after the last sync. Connect its disk; to "
                "begin a new copy here, add --new.",
                place=self._place,
                version=self._known.head,
            )

    def before(self, copy: SecondCopy, relation: Relation) -> None:
        """Check the copy before the transfer. A copy that will be pruned is not read."""
        if self._archive is None:
            return
        self._newest = max(copy.numbers(), default=0)
        if self._newest < self._known.head and not copy.empty:
            self._rolled_back = self._known.head, self._newest
        if not self._options.dry_run and relation is not Relation.PRUNED:
            info = self._archive.layout.info.read_bytes(MAX_DOCUMENT_BYTES)
            self._damaged = check_sample(copy, LocalHistory(self._archive), info, self._known)

    def forgot(self, names: Collection[str]) -> None:
        """Note that objects were removed from the copy, because their records were forgotten."""
        if names:
            self._known.head = 0
        for name in names:
            self._known.sealed.pop(name, None)

    def after(self, name: str, plan: SyncResult, done: TransferCount | None) -> SyncResult:
        """Complete the result, and remember the copy's state."""
        plan.archive = name
        if done is not None:
            plan.objects, plan.bytes = done.objects, done.bytes
        if self._memory is not None:
            plan.rolled_back = self._rolled_back
            plan.damaged_there += [each for each in self._damaged if each not in plan.damaged_there]
            if done is not None:
                sent = () if plan.damaged else plan.versions
                self._known.head = max((self._newest, *sent))
                self._memory.keep()
        return plan
