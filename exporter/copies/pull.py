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
from exporter.archive.assets import AssetStore
from exporter.archive.checks import ChecksumCache
from exporter.archive.documents import seal
from exporter.archive.layout import MANIFEST, SEGMENTS, SUMS, Layout, asset_digest, replace_versions, version_name
from exporter.archive.lock import ArchiveLock
from exporter.archive.manifest import PREVIOUS, line_digest, read_sums, run_of, version_sums
from exporter.archive.prune import KeptVersion, PrunePlan
from exporter.archive.safe_files import LARGEST_CACHE, LARGEST_DOCUMENT, HeldFolder
from exporter.archive.verify import VersionCheck
from exporter.clock import SystemClock
from exporter.copies.contents import PARTS, PLAIN_DOCUMENTS, RUNS, SecondCopy, part_name
from exporter.copies.histories import Relation, following, relate
from exporter.copies.local import LocalHistory
from exporter.copies.receiving import fetch_version, receive
from exporter.copies.store import read_whole
from exporter.copies.transfer import TransferCount, in_parallel
from exporter.errors import ArchiveDamaged, DamagedObject, HistoriesDiffer
from exporter.message import message
from exporter.model.asset import is_sha256

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
        damaged_there: the paths of what is in the folder and is not what was fetched, as far as sizes and the chain of
            versions tell; nothing is put in its place.
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
    damaged_there: list[str] = field(default_factory=list)
    objects: int = 0
    bytes: int = 0


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
        common = 0 if related is None else related.common
        self._require_related(plan.relation, common, prune=prune)
        numbers = self.copy.numbers()
        if plan.relation is Relation.PRUNED:
            plan.versions = tuple(numbers)
        elif plan.relation is not Relation.BEHIND:
            known = set() if history is None else set(history.numbers())
            plan.versions = tuple(number for number in numbers if number not in known)
            holes = [(each, self.copy.part(*each)) for each in self._holes(numbers, known)]
            plan.holes = tuple(each for each, name in holes if name in self.copy.objects)
            plan.damaged += [name for _, name in holes if name not in self.copy.objects]
        if history is not None and plan.relation is not Relation.PRUNED:
            self._compare(plan, history, common)
        plan.documents = tuple(name for name in PLAIN_DOCUMENTS if name in self.copy.objects and name not in there)
        plan.assets = tuple(self._missing_assets())
        if plan.relation is not Relation.BEHIND:
            self._plan_growing(plan)
        plan.damaged += [name for name in self.copy.missing() if name not in plan.damaged]
        self._measure(plan)
        return plan

    def run(self, plan: PullPlan, progress: OnProgress) -> TransferCount:
        """Fetch what is planned; what turns out damaged is added to ``plan.damaged``."""
        tally = TransferCount(plan.bytes, progress)
        sealed = read_sums(plan.replaced.get(SUMS) or self.copy.sound_or_nothing(SUMS))
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
        plan.damaged += self._assets_not_come(plan)
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

    def _assets_not_come(self, plan: PullPlan) -> Iterator[str]:
        """Yield the pictures that versions of the copy name, and that are not here now."""
        come = AssetStore(self.layout).files().keys() | {asset_digest(name) for name in plan.damaged}
        cache = ChecksumCache(self.layout, quick=True)
        missing: dict[str, None] = {}
        for number in self.copy.numbers():
            if self.layout.version(number).kind() is not None:
                with HeldFolder(self.layout.version(number)) as folder:
                    for _, record in VersionCheck(folder, number, None, cache).assets():
                        digest = record.get("sha256")
                        if is_sha256(digest) and digest not in come:
                            missing[f"assets/{digest[:2]}/{digest}"] = None
        yield from missing

    def _plan_growing(self, plan: PullPlan) -> None:
        """Plan what replaces ``runs.jsonl`` and the seal here."""
        runs = self._growing(plan, RUNS)
        # Before runs named one another there was no seal.
        linked = runs is None or any(PREVIOUS in (run_of(line) or {}) for line in runs.split(b"\n"))
        stated = self._growing(plan, SUMS) if linked or SUMS in self.copy.objects else None
        ours, sealed = self._here(RUNS), self._here(SUMS)
        if runs is not None and runs[: len(ours)] != ours:
            if ours[: len(runs)] == runs:
                return
            raise HistoriesDiffer(
                message(
                    "{place}/{runs} tells of other runs than {archive}: one of them was changed, or both were written "
                    "since they parted. Run verify on both.",
                    place=self.store.place,
                    runs=RUNS,
                    archive=self.layout.root,
                )
            )
        holds = runs is not None and _runs_hold(runs, read_sums(stated or b"").get(RUNS))
        if runs is not None and not holds:
            plan.damaged.append(RUNS)
        elif runs is not None and (runs != ours or self.layout.runs.kind() is None):
            plan.replaced[RUNS] = runs
        # Where there is no seal yet, that of the copy shows to verify what is missing of the runs.
        if stated is not None and stated != sealed and (holds or not sealed):
            plan.replaced[SUMS] = stated

    def _growing(self, plan: PullPlan, name: str) -> bytes | None:
        """Return a document that a whole copy has; ``None`` where it is missing or cannot be read."""
        with suppress(ArchiveDamaged):
            return self.copy.document(name)
        plan.damaged.append(name)
        return None

    def _compare(self, plan: PullPlan, here: LocalHistory, common: int) -> None:
        """Note the versions that belong to neither history, and the files that have another size than they should."""
        if common:
            followed = {*following(self.copy, common), *following(here, common)}
            for history, found in (self.copy, plan.damaged), (here, plan.damaged_there):
                numbers = (each for each in history.numbers() if each > common and each not in followed)
                found += [part_name(each, MANIFEST) for each in numbers if each not in plan.versions]
        for number in here.numbers():
            with HeldFolder(self.layout.version(number)) as folder:
                for part in PARTS:
                    there = self.copy.objects.get(self.copy.part(number, part))
                    size: int | None = None
                    with suppress(OSError):
                        size = folder.lstat(part).st_size
                    if there is None or there.size in {None, size} or (size is None and part in SEGMENTS):
                        continue
                    if self._is_cut_short(number, part, there.size):
                        plan.damaged.append(there.name)
                    else:
                        plan.damaged_there.append(part_name(number, part))

    def _is_cut_short(self, number: int, part: str, size: int | None) -> bool:
        """Tell whether it is the file of the copy that has not the size it should have."""
        try:
            digest, manifest = self.copy.manifest(number)
        except ArchiveDamaged:
            return True
        if part == MANIFEST:
            return False
        if part == SUMS:
            return size != len(version_sums(digest, self._info_sha256, manifest.files))
        return part not in manifest.files or size != manifest.files[part].bytes

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
        try:
            data = read_whole(self.store, name, LARGEST_DOCUMENT)
        except ArchiveDamaged:
            plan.damaged.append(name)
            return
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
        """Fetch the versions, oldest first; tell whether the documents that grow are to follow.

        One that is no version without what is damaged is left out, and those after it come nevertheless; what a prune
        left comes whole or not.
        """
        layout = self.layout
        pruned = plan.relation is Relation.PRUNED
        home = layout.building if pruned else layout.work
        before = self._parent_of(plan)
        for number in plan.versions:
            folder = home / (version_name(number) if pruned else "new-version")
            parent = before if pruned else self._parent_named(plan, number, before)
            damaged, usable = self._fetch_version(number, folder, parent, tally)
            plan.damaged += [name for name in damaged if name not in plan.damaged]
            if pruned and damaged:
                return False
            if usable:
                before = number, self.copy.manifest(number)[0]
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

    def _parent_named(
        self, plan: PullPlan, number: int, before: tuple[int, str | None] | None
    ) -> tuple[int, str | None] | None:
        """Return the version before one: the newest that is here, or the one that it names, where that is lost."""
        with suppress(ArchiveDamaged):
            named = self.copy.manifest(number)[1].parent
            if named is not None and (0 if before is None else before[0]) < named["version"] < number:
                lost = self.copy.part(named["version"], MANIFEST)
                plan.damaged += [lost] if lost not in plan.damaged else []
                return named["version"], named["sha256"]
        return before

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
