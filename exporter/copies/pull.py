"""Bringing a copy back into a folder: a new archive, or an older state of the same one.

What arrives is compared with its hash before it gets its name. A version appears by one rename of a finished folder, as
by a backup, so what is in the folder is valid at every instant. The folder's lock is held by the caller's ``with``.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Self

from exporter.archive import atomic, writer
from exporter.archive.archive import Archive
from exporter.archive.checksums import ChecksumCache
from exporter.archive.documents import seal
from exporter.archive.layout import MANIFEST, SEGMENTS, SUMS, Layout, replace_versions, version_name
from exporter.archive.lock import ArchiveLock
from exporter.archive.manifest import PREVIOUS, line_digest, read_sums, run_of, version_sums
from exporter.archive.prune import KeptVersion, PrunePlan
from exporter.archive.safe_files import LARGEST_CACHE, LARGEST_DOCUMENT, HeldFolder
from exporter.archive.verify_version import VersionCheck
from exporter.clock import SystemClock
from exporter.copies.contents import PLAIN_DOCUMENTS, RUNS, SecondCopy, asset_digest
from exporter.copies.histories import Relation, relate
from exporter.copies.local import LocalHistory
from exporter.copies.store import read_whole
from exporter.copies.transfer import TransferCount, in_parallel
from exporter.errors import ArchiveDamaged, DamagedObject, HistoriesDiffer
from exporter.message import message

if TYPE_CHECKING:
    from pathlib import Path

    from exporter.archive.safe_files import InnerPath
    from exporter.copies.store import Store, StoredObject
    from exporter.copies.transfer import OnProgress


@dataclass(slots=True)
class PullPlan:
    """What is to be fetched.

    Attributes:
        relation: what the copy is to the archive.
        versions: the numbers of the versions that are fetched.
        documents: the names of the documents of the root that are fetched and never change.
        assets: the names of the pictures and files that are fetched.
        replaced: the documents that grow, with their new content.
        holes: version and name of the segments that are fetched of versions that are here already, without them.
        damaged: the names of what is damaged in the copy, or missing there, and is not fetched.
        objects: how many objects that are.
        bytes: how many bytes they have, as far as it is known.
    """

    relation: Relation = Relation.SAME
    versions: tuple[int, ...] = ()
    documents: tuple[str, ...] = ()
    assets: tuple[str, ...] = ()
    replaced: dict[str, bytes] = field(default_factory=dict)
    holes: tuple[tuple[int, str], ...] = ()
    damaged: list[str] = field(default_factory=list)
    objects: int = 0
    bytes: int = 0


def receive(store: Store, name: str, target: Path, sha256: str, size: int | None) -> int:
    """Fetch an object into a new file, durably but for its name; return its size.

    Raises:
        DamagedObject: it is not there, or not what its hash says; there is no file then.
    """
    right = False
    try:
        with atomic.translated(target), atomic.hashing(target) as file:
            for piece in _pieces(store, name):
                file.write(piece)
                if size is not None and file.size > size:
                    break
            right = file.close() == sha256 and size in {None, file.size}
            total = file.size
    finally:
        if not right:
            with suppress(OSError):
                target.unlink(missing_ok=True)
    if not right:
        raise DamagedObject(store.place, name)
    return total


def _pieces(store: Store, name: str) -> Iterator[bytes]:
    """Yield the content of an object; whatever cannot be read as one is damaged."""
    try:
        yield from store.read(name)
    except DamagedObject:
        raise
    except ArchiveDamaged as error:
        raise DamagedObject(store.place, name) from error


def fetch_version(
    copy: SecondCopy, number: int, folder: Path, info_sha256: str, segments: Collection[str] = SEGMENTS
) -> tuple[int, list[str]]:
    """Fetch a version into a folder that is there, each file compared with the manifest.

    ``SHA256SUMS`` follows from the others, and is made of them.

    Returns:
        How many bytes, and the names of the segments that are not what was stored, or not there, and were left out.

    Raises:
        DamagedObject: the manifest is that.
    """
    name = copy.part(number, MANIFEST)
    try:
        digest, manifest = copy.manifest(number)
        data = copy.document(name)
    except ArchiveDamaged as error:
        raise DamagedObject(copy.store.place, name) from error
    if manifest.files.keys() != set(SEGMENTS) or hashlib.sha256(data).hexdigest() != digest:
        raise DamagedObject(copy.store.place, name)
    total = 0
    damaged: list[str] = []
    for part in segments:
        info = manifest.files[part]
        try:
            total += receive(copy.store, copy.part(number, part), folder / part, info.sha256, info.bytes)
        except DamagedObject as error:
            damaged.append(error.name)
    for part, content in ((MANIFEST, data), (SUMS, version_sums(digest, info_sha256, manifest.files))):
        with atomic.translated(folder), atomic.hashing(folder / part) as file:
            file.write(content)
            file.close()
        total += len(content)
    return total, damaged


class Pull:
    """A copy on its way into a folder; use it in ``with``, which holds the folder's lock.

    Args:
        store: where the copy is.
        root: the folder: absent, empty, or an archive.
        write: whether anything will be written; else nothing is, no lock is taken, and the folder need not be there.

    Raises:
        NoArchive: there is no copy, or other things are in the folder.
        HistoriesDiffer: the folder has another archive.
        ArchiveLocked: somebody else is writing the folder.
        NewerFormat, ArchiveDamaged: the copy's ``archive.json`` cannot be read.
    """

    def __init__(self, store: Store, root: Path, *, write: bool = True, wait: float = 0.0) -> None:
        self.store = store
        self.copy = SecondCopy(store)
        self.layout = Layout(root)
        self._write = write
        self._wait = wait
        self._lock = ArchiveLock(self.layout.lock)
        self._info, info = self.copy.info()
        self.blog_id = info.blog_id
        self._info_sha256 = hashlib.sha256(self._info).hexdigest()
        if not Archive.exists(root):
            writer.require_place(root, self.blog_id)

    def __enter__(self) -> Self:
        if self._write:
            self._lock.acquire(SystemClock().now(), self._wait)
            try:
                self._prepare()
            except BaseException:
                self._lock.release()
                raise
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def _prepare(self) -> None:
        """Make the folder an archive, and remove what transfers left that were cut short."""
        layout = self.layout
        with atomic.translated(layout.root):
            for folder in (layout.versions, layout.assets):
                atomic.make_folder(folder)
            if layout.runs.kind() is None:
                atomic.write_file(layout.runs, b"")
            if layout.info.kind() is None:
                atomic.write_file(layout.info, self._info)
        writer.clean_leftovers(layout)
        for name in layout.work.names():
            if name.startswith("incoming-"):
                (layout.work / name).remove()

    def plan(self, *, prune: bool = False) -> PullPlan:
        """Find out what the folder lacks; nothing is fetched but what tells that."""
        plan = PullPlan()
        there = set()
        history = None
        if self.layout.info.kind() is not None:
            archive = Archive.open(self.layout.root)
            self._require_same_archive()
            history = LocalHistory(archive)
            there = {name for name in PLAIN_DOCUMENTS if (self.layout.root / name).kind() is not None}
        related = None if history is None else relate(self.copy, history)
        plan.relation = Relation.AHEAD if related is None else related.relation
        self._require_related(plan.relation, 0 if related is None else related.common, prune=prune)
        numbers = self.copy.numbers()
        if plan.relation is Relation.PRUNED:
            plan.versions = tuple(numbers)
        elif plan.relation is not Relation.BEHIND:
            known = set() if history is None else set(history.numbers())
            plan.versions = tuple(number for number in numbers if number not in known)
            holes = [(each, self.copy.part(*each)) for each in self._holes(numbers, known)]
            plan.holes = tuple(each for each, name in holes if name in self.copy.objects)
            plan.damaged += [name for _, name in holes if name not in self.copy.objects]
        plan.documents = tuple(name for name in PLAIN_DOCUMENTS if name in self.copy.objects and name not in there)
        plan.assets = tuple(self._missing_assets())
        if plan.relation is not Relation.BEHIND:
            self._plan_growing(plan)
        self._measure(plan)
        return plan

    def run(self, plan: PullPlan, progress: OnProgress) -> TransferCount:
        """Fetch what is planned; what turns out damaged is added to ``plan.damaged``."""
        tally = TransferCount(plan.bytes, progress)
        sealed = read_sums(plan.replaced.get(SUMS) or self.copy.document_or_nothing(SUMS))
        for name in plan.documents:
            self._fetch_document(plan, name, sealed, tally)
        folders: set[InnerPath] = set()
        for name, size in in_parallel(partial(self._fetch_asset, name) for name in plan.assets):
            if size is None:
                plan.damaged.append(name)
            else:
                folders.add((self.layout.root / name).parent)
            tally.add(size or 0, stored=size is not None)
        with atomic.translated(self.layout.assets):
            for folder in (*sorted(folders), self.layout.assets):
                atomic.sync_folder(folder)
        for name, size in in_parallel(partial(self._fill, *hole) for hole in plan.holes):
            if size is None:
                plan.damaged.append(name)
            tally.add(size or 0, stored=size is not None)
        if self._fetch_versions(plan, tally):
            for name, data in plan.replaced.items():
                with atomic.translated(self.layout.root):
                    atomic.write_file(self.layout.root / name, data)
                tally.add(len(data), stored=True)
        return tally

    def _require_same_archive(self) -> None:
        if self.layout.info.read_bytes(LARGEST_DOCUMENT) != self._info:
            raise HistoriesDiffer(
                message(
                    "{place} and {root} are copies of different archives: name another folder.",
                    place=self.store.place,
                    root=self.layout.root,
                )
            )

    def _require_related(self, relation: Relation, common: int, *, prune: bool) -> None:
        values = {"place": self.store.place, "root": self.layout.root, "version": common}
        if relation is Relation.PARTED:
            raise HistoriesDiffer(
                message(
                    "{place} and {root} have different histories after version {version}: each has versions that the "
                    "other has not. Name another folder.",
                    **values,
                )
            )
        if relation is Relation.UNPRUNED:
            raise HistoriesDiffer(
                message(
                    "{root} was pruned, and {place} still has the versions that were folded there: name a new folder.",
                    **values,
                )
            )
        if relation is Relation.PRUNED and not prune:
            raise HistoriesDiffer(
                message(
                    "{place} was pruned, and {root} still has the versions that were folded there: add --prune to "
                    "forget them in {root} too, or name another place.",
                    **values,
                )
            )

    def _missing_assets(self) -> Iterator[str]:
        """Yield the pictures that the folder lacks, or has in another size."""
        for name, found in self.copy.assets().items():
            path = self.layout.root / name
            with suppress(FileNotFoundError, NotADirectoryError):
                if found.size in {None, path.lstat().st_size}:
                    continue
            yield name

    def _plan_growing(self, plan: PullPlan) -> None:
        runs = self.copy.document_or_nothing(RUNS)
        ours = self._here(RUNS)
        if ours[: len(runs)] == runs and RUNS in self.copy.objects and ours != runs:
            return
        if runs[: len(ours)] != ours:
            raise HistoriesDiffer(
                message(
                    "{place}/{runs} tells of other runs than {archive}: one of them was changed, or both were written "
                    "since they parted. Run verify on both.",
                    place=self.store.place,
                    runs=RUNS,
                    archive=self.layout.root,
                )
            )
        stated = self.copy.document_or_nothing(SUMS)
        if not _runs_hold(runs, read_sums(stated).get(RUNS)):
            plan.damaged.append(RUNS)
            return
        if RUNS in self.copy.objects and (runs != ours or self.layout.runs.kind() is None):
            plan.replaced[RUNS] = runs
        if stated and stated != self._here(SUMS):
            plan.replaced[SUMS] = stated

    def _holes(self, numbers: list[int], known: Collection[int]) -> Iterator[tuple[int, str]]:
        """Yield version and name of the segments that the folder lacks, of versions that it has."""
        for number in numbers:
            for part in SEGMENTS if number in known else ():
                if (self.layout.version(number) / part).kind() is None:
                    yield number, part

    def _fill(self, number: int, part: str) -> tuple[str, int | None]:
        """Fetch a segment of a version that is here; return its name and size, ``None`` where it is damaged."""
        name = self.copy.part(number, part)
        incoming = self.layout.work / f"incoming-{secrets.token_hex(8)}"
        try:
            info = self.copy.manifest(number)[1].files[part]
            size = receive(self.store, name, incoming, info.sha256, info.bytes)
        except (ArchiveDamaged, KeyError):
            return name, None
        folder = self.layout.version(number)
        with atomic.translated(folder):
            incoming.replace(folder / part)
            atomic.sync_folder(folder)
        return name, size

    def _here(self, name: str) -> bytes:
        try:
            return (self.layout.root / name).read_bytes(LARGEST_CACHE)
        except (FileNotFoundError, NotADirectoryError):
            return b""

    def _measure(self, plan: PullPlan) -> None:
        names = [*plan.documents, *plan.assets]
        names += [self.copy.part(number, part) for number, part in plan.holes]
        names += [self.copy.part(number, part) for number in plan.versions for part in (MANIFEST, SUMS, *SEGMENTS)]
        found: list[StoredObject] = [self.copy.objects[name] for name in names if name in self.copy.objects]
        plan.objects = len(found) + len(plan.replaced)
        plan.bytes = sum(each.size or 0 for each in found) + sum(map(len, plan.replaced.values()))

    def _fetch_document(self, plan: PullPlan, name: str, sealed: dict[str, str], tally: TransferCount) -> None:
        """Fetch a document that never changes, if it is what the archive was sealed with."""
        data = read_whole(self.store, name, LARGEST_DOCUMENT)
        if sealed.get(name) not in {None, hashlib.sha256(data).hexdigest()}:
            plan.damaged.append(name)
            return
        with atomic.translated(self.layout.root):
            atomic.write_file(self.layout.root / name, data)
        tally.add(len(data), stored=True)

    def _fetch_asset(self, name: str) -> tuple[str, int | None]:
        target = self.layout.root / name
        incoming = self.layout.work / f"incoming-{secrets.token_hex(8)}"
        try:
            size = receive(self.store, name, incoming, asset_digest(name) or "", self.copy.objects[name].size)
        except ArchiveDamaged:
            return name, None
        with atomic.translated(target):
            atomic.make_folder(target.parent)
            incoming.replace(target)
        return name, size

    def _fetch_versions(self, plan: PullPlan, tally: TransferCount) -> bool:
        """Fetch the versions, oldest first; tell whether all are there, though some may lack damaged segments.

        Without its manifest a version is none, and those after it name that; what a prune left comes whole or not.
        """
        layout = self.layout
        pruned = plan.relation is Relation.PRUNED
        home = layout.building if pruned else layout.work
        parent = self._parent_of(plan)
        for number in plan.versions:
            folder = home / (version_name(number) if pruned else "new-version")
            damaged, usable = self._fetch_version(number, folder, parent, tally)
            plan.damaged += damaged
            if not usable or (pruned and damaged):
                return False
            parent = number, self.copy.manifest(number)[0]
            if not pruned:
                with atomic.translated(layout.versions):
                    atomic.move_folder(folder, layout.version(number))
        if pruned:
            with atomic.translated(layout.versions):
                seal(layout, versions=False)
                replace_versions(layout)
            # Nothing is folded any more; what no version needs now goes.
            Archive.open(layout.root).prune(PrunePlan(tuple(KeptVersion(number, ()) for number in plan.versions)))
        return True

    def _parent_of(self, plan: PullPlan) -> tuple[int, str | None] | None:
        """Return the version before the first that is fetched, with its manifest's hash."""
        before = [number for number in self.copy.numbers() if plan.versions and number < plan.versions[0]]
        return (before[-1], self.copy.manifest(before[-1])[0]) if before else None

    def _fetch_version(
        self, number: int, folder: InnerPath, parent: tuple[int, str | None] | None, tally: TransferCount
    ) -> tuple[list[str], bool]:
        """Fetch a version into a folder and check it there as ``verify`` does.

        Returns:
            The names of what is damaged, and whether the rest of it is a version: only segments are missing.
        """
        with atomic.translated(folder):
            atomic.remove_folder(folder)
            atomic.make_folder(folder)
        try:
            size, missing = fetch_version(self.copy, number, folder, self._info_sha256)
        except DamagedObject as error:
            return [error.name], False
        with HeldFolder(folder) as held:
            cache = ChecksumCache(self.layout, quick=False)
            found = VersionCheck(held, number, self._info_sha256, cache).files(parent)
            damaged = {self.copy.part(number, finding.path.rpartition("/")[2]) for finding in found}
        usable = damaged <= {*missing}
        if usable:
            tally.add(size, stored=True, objects=len(SEGMENTS) + 2 - len(missing))
        return sorted(damaged | {*missing}), usable


def _runs_hold(data: bytes, sealed: str | None) -> bool:
    """Tell whether the lines of runs name one another, and begin with what was sealed."""
    running = hashlib.sha256()
    begins = sealed in {None, running.hexdigest()}
    before: bytes | None = None
    linked = False
    for line in data.split(b"\n")[:-1]:
        run = run_of(line)
        linked = linked or (run is not None and PREVIOUS in run)
        if run is None or (linked and run.get(PREVIOUS) != (None if before is None else line_digest(before))):
            return False
        running.update(line + b"\n")
        begins = begins or running.hexdigest() == sealed
        before = line
    return begins
