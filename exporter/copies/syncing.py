"""``sync``: which of two places is read and which is written, one archive or all of a fleet, and what came of it.

Into a folder that is not encrypted a copy is brought as an archive, version by version (:mod:`exporter.copies.pull`);
into every other place objects are sent (:mod:`exporter.copies.push`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exporter.archive.archive import Archive
from exporter.archive.fleet_folder import FoundArchive, archives_in, shards_in
from exporter.archive.layout import Layout
from exporter.archive.lock import ArchiveLock
from exporter.archive.safe_files import LARGEST_DOCUMENT
from exporter.clock import SystemClock
from exporter.copies.address import is_address
from exporter.copies.contents import SecondCopy
from exporter.copies.copy_checks import CopyMemory, KnownCopy, check_part
from exporter.copies.encrypted import EncryptedStore
from exporter.copies.folder import FolderStore
from exporter.copies.histories import Relation
from exporter.copies.local import LocalHistory
from exporter.copies.opening import StoreOptions, open_store, plain_store
from exporter.copies.pruning import CopyPrune, push_to_prune
from exporter.copies.pull import Pull
from exporter.copies.push import Push
from exporter.copies.transfer import TransferCount
from exporter.copies.within import WithinStore, archives_of
from exporter.errors import ArchiveDamaged, BlogExporterError, HistoriesDiffer, Interrupted, NoArchive, UsageError
from exporter.message import message, said

if TYPE_CHECKING:
    from exporter.copies.object_lock import Locked, ObjectLock
    from exporter.copies.pull import PullPlan
    from exporter.copies.push import PushPlan
    from exporter.copies.store import Store
    from exporter.copies.transfer import OnProgress


@dataclass(slots=True)
class Synced:
    """What a sync did with one archive, or would do.

    Attributes:
        archive: where it is in its fleet, ``.`` for one that is in none.
        relation: what the source was to the target.
        versions: the numbers of the versions that were sent or completed.
        objects: how many objects were sent.
        bytes: how many bytes they have.
        damaged: the paths of what is damaged at the source, or missing there, and was not sent.
        damaged_there: the names of what is at the target and is not what was sent.
        rolled_back: the newest version that was there after the last sync, and the one found now, where that is an
            older one; 0 for none.
        error: why it failed, where it did.
    """

    archive: str
    relation: Relation = Relation.SAME
    versions: tuple[int, ...] = ()
    objects: int = 0
    bytes: int = 0
    damaged: list[str] = field(default_factory=list)
    damaged_there: list[str] = field(default_factory=list)
    rolled_back: tuple[int, int] | None = None
    error: BlogExporterError | None = None

    def document(self) -> dict[str, Any]:
        """Return it as a JSON object."""
        return {
            "archive": self.archive,
            "relation": self.relation.name.lower(),
            "versions": list(self.versions),
            "objects": self.objects,
            "bytes": self.bytes,
            "damaged": sorted(self.damaged),
            "damaged_at_target": sorted(self.damaged_there),
            "rolled_back": None
            if self.rolled_back is None
            else dict(zip(("from", "to"), self.rolled_back, strict=True)),
            "error": None if self.error is None else str(said(self.error)),
        }


@dataclass(slots=True)
class LockWish:
    """That a copy is to be locked.

    Attributes:
        keep: for how long from now on, at least.
        locked: what came of it, once all is sent.
    """

    keep: timedelta
    locked: Locked | None = None


@dataclass(frozen=True, slots=True)
class SyncOptions:
    """How to sync.

    Attributes:
        prune: forget at the target what a prune has folded at the source, and complete a prune that was cut short.
        dry_run: send nothing, only find out what would be sent.
        store: how places that are no plain folders are opened.
        encrypted: hears of an encrypted copy before anything is sent there.
        lock: how long everything at the target is to be locked, where it is.
        wait_lock: how long to wait for a backup or a prune of the archive that is read.
        new: begin anew in an empty place that had a copy.
        target: the place that is written, as it was named.
        copy_id: what tells an encrypted copy from others.
    """

    prune: bool = False
    dry_run: bool = False
    store: StoreOptions = field(default_factory=StoreOptions)
    encrypted: Callable[[EncryptedStore], None] | None = None
    lock: LockWish | None = None
    wait_lock: timedelta = timedelta()
    new: bool = False
    target: str = ""
    copy_id: str | None = None


Started = Callable[[str], "OnProgress"]
"""Called with the name of each archive before it is synced; returns whom to tell how far it is."""


def sync(source: str, target: str, options: SyncOptions, started: Started) -> Iterator[Synced]:
    """Bring a copy up to its archive, or an archive up to its copy, and yield what came of each.

    In a fleet the failure of one archive does not stop the others; it is the ``error`` of what is yielded.

    Args:
        source: a folder or an address.
        target: a folder or an address.
        options: how.
        started: hears of each archive.

    Raises:
        UsageError: nothing can be synced so.
        BlogExporterError: an archive that is in no fleet could not be synced.
    """
    if is_address(source) and is_address(target):
        raise UsageError(
            message(
                "One of {source} and {target} must be a folder: sync to a folder first.", source=source, target=target
            )
        )
    if not is_address(source) and not is_address(target):
        _require_apart(Path(source), Path(target))
    options = replace(options, target=target)
    if is_address(target) or (options.store.encrypt_to and not is_address(source)):
        inner = plain_store(target)
        lock = None if options.lock is None else _lock(inner, options.lock, options, Path(source))
        store = open_store(target, replace(options.store, archive=Path(source)), inner)
        if isinstance(store, EncryptedStore) and options.encrypted is not None:
            options.encrypted(store)
        if isinstance(store, EncryptedStore):
            options = replace(options, copy_id=store.id)
        yield from _push_all(Path(source), store, options, started)
        if lock is not None and options.lock is not None:
            options.lock.locked = lock.finish()
    elif options.lock is not None:
        raise UsageError(
            message("--object-lock locks what is sent to s3://…, and {target} is not there.", target=target)
        )
    else:
        # Refuses a folder with an encrypted copy, also one of which only this archive still says so.
        open_store(target, StoreOptions(archive=None if is_address(source) else Path(source)))
        reading = StoreOptions(identities=options.store.identities, archive=Path(target))
        store = open_store(source, reading)
        yield from _pull_all(store, Path(target), options, started, None if is_address(source) else Path(source))
        if isinstance(store, EncryptedStore) and not options.dry_run:
            store.keep_keys()


def _require_apart(source: Path, target: Path) -> None:
    """Refuse a copy in its own archive, and an archive in its own copy."""
    one, other = source.resolve(), target.resolve()
    if one == other:
        raise UsageError(message("{source} cannot be synced to itself: name another place.", source=source))
    if one.is_relative_to(other) or other.is_relative_to(one):
        raise UsageError(
            message(
                "One of {source} and {target} is inside the other: name another place.", source=source, target=target
            )
        )


def _lock(store: Store, wish: LockWish, options: SyncOptions, root: Path) -> ObjectLock | None:
    """Have what is sent locked; returns who finishes that, ``None`` where nothing is sent."""
    from exporter.copies.object_lock import ObjectLock  # noqa: PLC0415 - an extra, and slow to start with
    from exporter.copies.s3 import S3Store  # noqa: PLC0415 - as above

    if not isinstance(store, S3Store) or options.prune:
        raise UsageError(
            message("--object-lock goes with an s3://… to send to, and without --prune: nothing there is forgotten.")
        )
    return None if options.dry_run else ObjectLock(store, wish.keep, root, SystemClock().now())


def _push_all(root: Path, store: Store, options: SyncOptions, started: Started) -> Iterator[Synced]:
    shards = [] if Archive.exists(root) or not root.is_dir() else shards_in(root)
    if not shards:
        yield _push_from(root, ".", store, options, started)
    for found in (found for shard in shards for found in archives_in(root, shard)):
        name = found.path.relative_to(root).as_posix()
        yield _one(name, partial(_push_found, found, name, store, options, started))


def _pull_all(
    store: Store, root: Path, options: SyncOptions, started: Started, source: Path | None
) -> Iterator[Synced]:
    names = archives_of(store)
    if names == ["."]:
        with _unchanging(source, options):
            yield _pull_into(root, ".", store, options, started, source)
        return
    for name in names:
        held = None if source is None else source / name
        within = WithinStore(store, name)
        yield _one(name, partial(_pull_held, held, root / name, name, within, options, started))


def _pull_held(
    held: Path | None, root: Path, name: str, store: Store, options: SyncOptions, started: Started
) -> Synced:
    with _unchanging(held, options):
        return _pull_into(root, name, store, options, started, held)


def _push_from(root: Path, name: str, store: Store, options: SyncOptions, started: Started) -> Synced:
    with _unchanging(root, options):
        return _push(name, Archive.open(root), store, options, started(name))


@contextmanager
def _unchanging(root: Path | None, options: SyncOptions) -> Iterator[None]:
    """Keep backups and prunes out of an archive while it is read: what they remove could be missing in the copy.

    An archive of another user, or one that cannot be written, is read without a lock: a lock file made by this user
    would keep its owner out.

    Raises:
        ArchiveLocked: a backup, a prune or another sync has it.
    """
    if root is None or options.dry_run or not Archive.exists(root) or not _is_ours(root):
        yield
        return
    with ArchiveLock(Layout(root).lock) as lock:
        lock.acquire(SystemClock().now(), options.wait_lock.total_seconds())
        yield


def _is_ours(folder: Path) -> bool:
    return os.access(folder, os.W_OK) and (os.name == "nt" or folder.stat().st_uid == os.geteuid())


def _push_found(found: FoundArchive, name: str, store: Store, options: SyncOptions, started: Started) -> Synced:
    if found.trouble is not None:
        raise NoArchive(found.trouble)
    return _push_from(found.path, name, WithinStore(store, name), options, started)


def _pull_into(
    root: Path, name: str, store: Store, options: SyncOptions, started: Started, source: Path | None
) -> Synced:
    is_archive = source is not None and Archive.exists(source)
    check = _CopyCheck(Archive.open(source) if source is not None and is_archive else None, name, options)
    copy = SecondCopy(FolderStore(root))
    check.require_connected(copy)
    return check.end(_pull(name, store, root, options, started(name), partial(check.look, copy)))


def _one(name: str, work: Callable[[], Synced]) -> Synced:
    """Sync an archive of a fleet; its failure is its own."""
    try:
        return work()
    except Interrupted:
        raise
    except BlogExporterError as error:
        return Synced(name, error=error)


def _push(name: str, archive: Archive, store: Store, options: SyncOptions, progress: OnProgress) -> Synced:
    recovering = options.prune and not options.dry_run
    check = _CopyCheck(archive, name, options)
    push = push_to_prune(archive, store) if recovering else Push(archive, store, pruning=options.prune)
    check.require_connected(push.copy)
    plan = push.plan()
    check.look(push.copy, plan.relation)
    pruned = plan.relation is Relation.PRUNED
    if pruned and not options.prune:
        raise HistoriesDiffer(
            message(
                "{archive} was pruned, and {place} still has the versions that were folded: add --prune to forget them "
                "there too, or name another place.",
                archive=archive.path,
                place=store.place,
            )
        )
    if pruned and set(push.numbers) != plan.versions.keys():
        raise ArchiveDamaged(
            message(
                "{archive} is damaged, and {place} was not pruned: run verify --repair.",
                archive=archive.path,
                place=store.place,
            )
        )
    done = None if options.dry_run else push.run(plan, progress, CopyPrune(push).run if pruned else None)
    return check.end(_synced(name, plan, tuple(plan.versions), done))


class _CopyCheck:
    """What a sync finds out of a copy beside what is missing there: whether it is what it was after the last one.

    Args:
        archive: whose copy it is; ``None`` for a folder that a copy is brought back to, of which nothing is asked.
        name: where it is in its fleet.
        options: how to sync.
    """

    def __init__(self, archive: Archive | None, name: str, options: SyncOptions) -> None:
        place = options.target if name == "." else f"{options.target.rstrip('/')}/{name}"
        self._archive = archive
        self._place = place
        self._options = options
        self._memory = None if archive is None else CopyMemory(archive.path, place, options.copy_id)
        self._damaged: list[str] = []
        self._newest = 0
        self._rolled_back: tuple[int, int] | None = None

    def require_connected(self, copy: SecondCopy) -> None:
        """Refuse an empty place that had a copy.

        Raises:
            NoArchive: it is one.
        """
        known = KnownCopy() if self._memory is None else self._memory.known
        if known.head and copy.empty and not self._options.new:
            raise NoArchive(
                message(
                    "{place} is empty, and had a copy of version {version} after the last sync. Connect the disk that "
                    "it is on; to begin a new copy here, add --new.",
                    place=self._place,
                    version=known.head,
                )
            )

    def look(self, copy: SecondCopy, relation: Relation) -> None:
        """Look at the copy as it is before anything is sent; one that is about to be pruned is not read."""
        if self._memory is None or self._archive is None:
            return
        known = self._memory.known
        self._newest = max(copy.numbers(), default=0)
        if self._newest < known.head and not copy.empty:
            self._rolled_back = known.head, self._newest
        if not self._options.dry_run and relation is not Relation.PRUNED:
            info = self._archive.layout.info.read_bytes(LARGEST_DOCUMENT)
            self._damaged = check_part(copy, LocalHistory(self._archive), info, known)

    def end(self, synced: Synced) -> Synced:
        """Add what was found to what came of the sync, and remember how the copy is now."""
        if self._memory is not None and self._archive is not None:
            synced.rolled_back = self._rolled_back
            synced.damaged_there += [name for name in self._damaged if name not in synced.damaged_there]
            if not self._options.dry_run:
                sent = () if synced.damaged else synced.versions
                self._memory.known.head = max((self._newest, *sent))
                self._memory.keep()
        return synced


def _pull(
    name: str,
    store: Store,
    root: Path,
    options: SyncOptions,
    progress: OnProgress,
    look: Callable[[Relation], None],
) -> Synced:
    with Pull(store, root, write=not options.dry_run) as pull:
        plan = pull.plan(prune=options.prune)
        look(plan.relation)
        done = None if options.dry_run else pull.run(plan, progress)
    return _synced(name, plan, plan.versions, done)


def _synced(name: str, plan: PushPlan | PullPlan, versions: tuple[int, ...], done: TransferCount | None) -> Synced:
    objects, size = (plan.objects, plan.bytes) if done is None else (done.objects, done.bytes)
    return Synced(name, plan.relation, versions, objects, size, plan.damaged, plan.damaged_there)
