"""Bring a copy into a folder, as a new archive or to update an older one.

Each file is verified by its hash before it gets its name. As in a backup, a version appears by one
rename, so the folder is valid at every instant. The caller's ``with`` block holds the folder's lock.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Self

from exporter.archive import atomic, writer
from exporter.archive.archive import Archive
from exporter.archive.assets import stored_files
from exporter.archive.checks import ChecksumCache
from exporter.archive.documents import seal
from exporter.archive.forgetting import removable
from exporter.archive.layout import (
    CAPTURE_RUNS,
    MANIFEST,
    OWNER_RECORDS,
    SEGMENTS,
    SUMS,
    Layout,
    asset_digest,
    replace_versions,
    version_name,
)
from exporter.archive.lock import ArchiveLock
from exporter.archive.manifest import PREVIOUS, line_digest, read_sums, run_of, version_sums
from exporter.archive.prune import KeptVersion, PrunePlan
from exporter.archive.safe_files import MAX_CACHE_BYTES, MAX_DOCUMENT_BYTES, HeldFolder, InnerPath
from exporter.archive.verify import VersionCheck
from exporter.clock import SystemClock
from exporter.copies.captures import CapturePull
from exporter.copies.contents import (
    FORGOTTEN,
    PARTS,
    PLAIN_DOCUMENTS,
    RUNS,
    LocalHistory,
    Related,
    Relation,
    SecondCopy,
    extends,
    following,
    part_name,
    relate,
    require_related,
    united,
    was_rewritten,
)
from exporter.copies.evidence import SealPull
from exporter.copies.incoming import receive_assets
from exporter.copies.store import Store, read_whole
from exporter.copies.transfer import (
    OnProgress,
    SyncResult,
    TransferCount,
    fetch_version,
    in_parallel,
    receive_into,
)
from exporter.errors import ArchiveDamaged, DamagedObject, HistoriesDiffer
from exporter.model.asset import is_sha256

_Parent = tuple[int, str | None] | None
"""The preceding version's number and the hash of its manifest."""


class Pull:
    """A transfer from a copy into a folder. The ``with`` block holds the folder's lock.

    Args:
        store: the store of the copy.
        root: the folder: absent, empty, or an archive.
        write: whether to write; otherwise the folder is neither locked nor created.

    Raises:
        NoArchive: there is no copy, or the folder has other files.
        HistoriesDiffer: the folder has another archive.
        ArchiveLocked: another program is writing the folder.
        NewerFormat, ArchiveDamaged: the copy's ``archive.json`` cannot be read.
    """

    def __init__(self, store: Store, root: Path, *, write: bool = True) -> None:
        self.store = store
        self.copy = SecondCopy(store)
        self.layout = Layout(root)
        self._write = write
        self._lock = ArchiveLock(self.layout.lock)
        self._captures = CapturePull(self.layout, self.copy)
        self._seals = SealPull(self.layout, self.copy)
        self._stored: set[str | None] = set()
        self._forgetting = False
        self._info, info = self.copy.info()
        self._info_sha256 = hashlib.sha256(self._info).hexdigest()
        self._begins = self.layout.info.kind() is None
        if not Archive.exists(root):
            writer.require_place(root, info.blog_id)

    def __enter__(self) -> Self:
        if self._write:
            self._lock.acquire(SystemClock().now(), 0.0)
            try:
                self._prepare()
            except BaseException:
                self._lock.release()
                raise
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def _prepare(self) -> None:
        """Make the folder an archive, and remove the leftovers of interrupted transfers."""
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

    def plan(self, *, prune: bool = False) -> SyncResult:
        """Find the missing files; fetch only what this needs."""
        history = None
        related = Related(Relation.AHEAD, 0)
        if self.layout.info.kind() is not None:
            history = LocalHistory(Archive.open(self.layout.root))
            self._require_same_archive()
            related = relate(self.copy, history)
            if self._forgets(history):
                # If the copy was pruned since, the folder is as well, and that needs the option.
                prune = prune or not any(self.copy.manifest(each)[1].pruned for each in self.copy.numbers())
                related = Related(Relation.PRUNED, related.common)
        require_related(related, self.store.place, self.layout.root, prune=prune)
        plan = SyncResult(relation=related.relation)
        if related.relation is Relation.PRUNED:
            plan.versions = dict.fromkeys(self.copy.numbers(), PARTS)
        elif related.relation is not Relation.BEHIND:
            self._plan_versions(plan, set() if history is None else set(history.numbers()))
        if history is not None and related.relation is not Relation.PRUNED:
            self._compare(plan, history, related.common)
        plan.documents = tuple(
            name
            for name in PLAIN_DOCUMENTS
            if name in self.copy.objects and (history is None or (self.layout.root / name).kind() is None)
        )
        plan.assets = dict(self._missing_assets())
        self._captures.plan(plan)
        with atomic.translated(self.layout.evidence):
            self._seals.plan()
        if related.relation is not Relation.BEHIND:
            self._plan_growing(plan)
        plan.add_damaged(*self.copy.missing())
        names = [*plan.documents, *plan.assets]
        names += [self.copy.part(number, part) for number, parts in plan.versions.items() for part in parts]
        names += self._seals.names()
        found = [self.copy.objects[name] for name in names if name in self.copy.objects]
        plan.objects = len(found) + len(plan.replaced)
        plan.bytes = sum(each.size or 0 for each in found) + sum(map(len, plan.replaced.values()))
        plan.objects += sum(map(len, plan.captures.values()))
        plan.bytes += sum(size for missing in plan.captures.values() for size in missing.values())
        if self._begins:
            plan.objects, plan.bytes = plan.objects + 1, plan.bytes + len(self._info)
        return plan

    def _forgets(self, history: LocalHistory) -> bool:
        """Return whether records were forgotten in the copy that the folder still has."""
        numbers = history.numbers()
        if numbers and numbers[-1] <= max(self.copy.numbers(), default=0):
            self._forgetting = history.manifest(numbers[-1])[0] in self.copy.renamed()
        return self._forgetting

    def _clear_derived(self) -> None:
        """Remove everything from the folder that was made from records that were forgotten."""
        with atomic.translated(self.layout.work):
            for name in removable(self.layout):
                atomic.remove_folder(self.layout.work / name)
            for path in (self.layout.latest, self.layout.index):
                atomic.remove_folder(path)

    def run(self, plan: SyncResult, progress: OnProgress) -> TransferCount:
        """Fetch the planned files. Files that turn out damaged are added to ``plan.damaged``."""
        tally = TransferCount(plan.bytes, progress)
        if self._begins:
            tally.add(len(self._info), stored=True)
        sealed = read_sums(plan.replaced.get(SUMS) or self.copy.sound_or_nothing(SUMS))
        for name in plan.documents:
            self._fetch_document(plan, name, sealed, tally)
        self._count(plan, receive_assets(self.copy, list(plan.assets), self.layout), tally)
        damaged = set(plan.damaged)
        folders = {name.rpartition("/")[0] for name in plan.assets if name not in damaged}
        with atomic.translated(self.layout.assets):
            named = [self.layout.root.joinpath(*folder.split("/")) for folder in folders]
            atomic.sync_all(self.layout.assets, (), [*named, self.layout.assets])
        self._captures.fetch(plan, tally)
        self._seals.fetch(plan, tally)
        incomplete = (
            {}
            if plan.relation is Relation.PRUNED
            else {
                number: parts
                for number, parts in plan.versions.items()
                if self.layout.version(number).kind() is not None
            }
        )
        fills = (partial(self._fill, number, part) for number, parts in incomplete.items() for part in parts)
        self._count(plan, in_parallel(fills), tally)
        if self._fetch_versions(plan, [number for number in plan.versions if number not in incomplete], tally):
            for name, data in plan.replaced.items():
                path = self.layout.root.joinpath(*name.split("/"))
                with atomic.translated(path):
                    atomic.make_folder(path.parent)
                    atomic.write_file(path, data)
                tally.add(len(data), stored=True)
        if self._forgetting:
            self._clear_derived()
        plan.damaged += self._absent_assets(plan)
        return tally

    @staticmethod
    def _count(plan: SyncResult, results: Iterator[tuple[str, int | None]], tally: TransferCount) -> None:
        for name, size in results:
            if size is None:
                plan.damaged.append(name)
            tally.add(size or 0, stored=size is not None)

    def _require_same_archive(self) -> None:
        if self.layout.info.read_bytes(MAX_DOCUMENT_BYTES) != self._info:
            raise HistoriesDiffer(
                "{place} and {root} are copies of different archives: name another folder.",
                place=self.store.place,
                root=self.layout.root,
            )

    def _plan_versions(self, plan: SyncResult, known: set[int]) -> None:
        """Plan the versions that the folder lacks, and the segments that its versions lack."""
        for number in self.copy.numbers():
            if number not in known:
                plan.versions[number] = PARTS
                continue
            absent = [part for part in SEGMENTS if (self.layout.version(number) / part).kind() is None]
            exists = [part for part in absent if self.copy.part(number, part) in self.copy.objects]
            if exists:
                plan.versions[number] = tuple(exists)
            plan.damaged += [self.copy.part(number, part) for part in absent if part not in exists]

    def _missing_assets(self) -> Iterator[tuple[str, int | None]]:
        """Yield the pictures that the folder lacks, or has with another size."""
        sizes: dict[str, int] = {}
        for digest, stored in stored_files(self.layout.assets):
            self._stored.add(digest)
            sizes[stored.path] = stored.size
        for name, found in self.copy.assets().items():
            size = sizes.get(name)
            if size is None or found.size not in {None, size}:
                yield name, found.size

    def _absent_assets(self, plan: SyncResult) -> Iterator[str]:
        """Yield the pictures that the copy's versions mention and the folder does not have now."""
        come = self._stored.union(map(asset_digest, (*plan.assets, *plan.damaged)))
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

    def _plan_growing(self, plan: SyncResult) -> None:
        """Plan the new ``runs.jsonl`` and seal."""
        self._plan_notes(plan)
        self._plan_capture_runs(plan)
        runs = self._growing(plan, RUNS)
        # Archives from before linked runs have no seal.
        linked = runs is None or any(PREVIOUS in (run_of(line) or {}) for line in runs.split(b"\n"))
        stated = self._growing(plan, SUMS) if linked or SUMS in self.copy.objects else None
        ours, sealed = self._here(RUNS), self._here(SUMS)
        rewritten = runs is not None and was_rewritten(self.copy.renamed(), runs, ours)
        if runs is not None and not rewritten and not extends(runs, ours, self.store.place, self.layout.root):
            return
        holds = runs is not None and _runs_hold(runs, read_sums(stated or b"").get(RUNS))
        if runs is not None and not holds:
            plan.damaged.append(RUNS)
        elif runs is not None and (runs != ours or self.layout.runs.kind() is None):
            plan.replaced[RUNS] = runs
        # Without a seal here, the copy's seal shows verify which runs are missing.
        if stated is not None and stated != sealed and (holds or not sealed):
            plan.replaced[SUMS] = stated

    def _plan_notes(self, plan: SyncResult) -> None:
        if FORGOTTEN in self.copy.objects:
            theirs, ours = self._growing(plan, FORGOTTEN), self._here(FORGOTTEN)
            if theirs is not None and theirs != ours and theirs.startswith(ours):
                plan.replaced[FORGOTTEN] = theirs
        for name in OWNER_RECORDS:
            if name in self.copy.objects:
                self._plan_owner_record(plan, name)

    def _plan_owner_record(self, plan: SyncResult, name: str) -> None:
        theirs, ours = self._growing(plan, name), self._here(name)
        if theirs is None or ours == theirs:
            return
        both = united(name, ours, theirs)
        if both is None:
            plan.damaged_there.append(name)
        elif both != ours:
            plan.replaced[name] = both

    def _plan_capture_runs(self, plan: SyncResult) -> None:
        if CAPTURE_RUNS not in self.copy.objects:
            return
        theirs, ours = self._growing(plan, CAPTURE_RUNS), self._here(CAPTURE_RUNS)
        # A line may have lost an address when records were forgotten.
        forgot = FORGOTTEN in plan.replaced
        if theirs is not None and theirs != ours and (forgot or theirs.startswith(ours)):
            plan.replaced[CAPTURE_RUNS] = theirs

    def _growing(self, plan: SyncResult, name: str) -> bytes | None:
        """Return a document of the copy; ``None`` if it is missing or damaged."""
        with suppress(ArchiveDamaged):
            return self.copy.document(name)
        plan.damaged.append(name)
        return None

    def _compare(self, plan: SyncResult, here: LocalHistory, common: int) -> None:
        """Note the versions that belong to neither history, and the files with a wrong size."""
        if common:
            followed = {*following(self.copy, common), *following(here, common)}
            for history, found in (self.copy, plan.damaged), (here, plan.damaged_there):
                numbers = (each for each in history.numbers() if each > common and each not in followed)
                found += [part_name(each, MANIFEST) for each in numbers if plan.versions.get(each) != PARTS]
        for number in here.numbers():
            with HeldFolder(self.layout.version(number)) as folder:
                for part in PARTS:
                    there = self.copy.objects.get(self.copy.part(number, part))
                    size: int | None = None
                    with suppress(OSError):
                        size = folder.lstat(part).st_size
                    if there is None or there.size in {None, size} or (size is None and part in SEGMENTS):
                        continue
                    if self._is_wrong(number, part, there.size):
                        plan.damaged.append(there.name)
                    else:
                        plan.damaged_there.append(part_name(number, part))

    def _is_wrong(self, number: int, part: str, size: int | None) -> bool:
        """Return whether the copy's file, and not the folder's, has the wrong size."""
        try:
            digest, manifest = self.copy.manifest(number)
        except ArchiveDamaged:
            return True
        if part == MANIFEST:
            return False
        if part == SUMS:
            return size != len(version_sums(digest, self._info_sha256, manifest.files))
        return part not in manifest.files or size != manifest.files[part].bytes

    def _fill(self, number: int, part: str) -> tuple[str, int | None]:
        """Fetch a segment of an existing version; return its name and size, or ``None`` if it is damaged."""
        name = self.copy.part(number, part)
        folder = self.layout.version(number)
        try:
            info = self.copy.manifest(number)[1].files[part]
        except (ArchiveDamaged, KeyError):
            return name, None
        received = receive_into(self.copy, name, self.layout, folder / part, info.sha256, info.bytes)
        with atomic.translated(folder):
            atomic.sync_folder(folder)
        return received

    def _here(self, name: str) -> bytes:
        try:
            return (self.layout.root / name).read_bytes(MAX_CACHE_BYTES)
        except (FileNotFoundError, NotADirectoryError):
            return b""

    def _fetch_document(self, plan: SyncResult, name: str, sealed: dict[str, str], tally: TransferCount) -> None:
        """Fetch an immutable document, if the seal confirms it."""
        try:
            data = read_whole(self.store, name, MAX_DOCUMENT_BYTES)
        except ArchiveDamaged:
            plan.damaged.append(name)
            return
        if sealed.get(name) not in {None, hashlib.sha256(data).hexdigest()}:
            plan.damaged.append(name)
            return
        with atomic.translated(self.layout.root):
            atomic.write_file(self.layout.root / name, data)
        tally.add(len(data), stored=True)

    def _fetch_versions(self, plan: SyncResult, numbers: list[int], tally: TransferCount) -> bool:
        """Fetch whole versions, oldest first, and return whether the growing documents may follow.

        A version that is unusable without its damaged files is left out, and later ones still come. After a prune, all
        versions come or none.
        """
        layout = self.layout
        pruned = plan.relation is Relation.PRUNED
        home = layout.building if pruned else layout.work
        earlier = [number for number in self.copy.numbers() if numbers and number < numbers[0]]
        before: _Parent = (earlier[-1], self.copy.manifest(earlier[-1])[0]) if earlier else None
        for number in numbers:
            folder = home / (version_name(number) if pruned else "new-version")
            parent = before if pruned else self._parent(plan, number, before)
            damaged, usable = self._fetch_version(number, folder, parent, tally)
            plan.add_damaged(*damaged)
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
            # This folds nothing, and removes pictures that no version needs.
            Archive.open(layout.root).prune(PrunePlan(tuple(KeptVersion(number, ()) for number in numbers)))
        return True

    def _parent(self, plan: SyncResult, number: int, before: _Parent) -> _Parent:
        """Return the version before one: the newest in the folder, or a lost one that the manifest names."""
        with suppress(ArchiveDamaged):
            named = self.copy.manifest(number)[1].parent
            if named is not None and (0 if before is None else before[0]) < named["version"] < number:
                plan.add_damaged(self.copy.part(named["version"], MANIFEST))
                return named["version"], named["sha256"]
        return before

    def _fetch_version(
        self, number: int, folder: InnerPath, parent: _Parent, tally: TransferCount
    ) -> tuple[list[str], bool]:
        """Fetch a version into a folder, and check it as ``verify`` does.

        Returns:
            The names of damaged files, and whether the version is usable: only segments are missing.
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
            tally.add(size, stored=True, objects=len(PARTS) - len(missing))
        return sorted(damaged | {*missing}), usable


def _runs_hold(data: bytes, sealed: str | None) -> bool:
    """Return whether each run has the hash of the line before it, and the sealed lines come first."""
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
