"""Send an archive to a store: only the missing files, each verified by its hash.

The order makes every interruption safe: ``archive.json``, the other documents, the pictures, the captures, then version
by version.
A version's ``SHA256SUMS`` comes first, which decides between two writers, then the segments, and the manifest last.
``runs.jsonl`` and the seal, which grow, are replaced at the end, unless another writer has replaced them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial

from exporter.archive.archive import Archive
from exporter.archive.assets import AssetStore
from exporter.archive.checks import ChecksumCache, FindingCode, file_sha256
from exporter.archive.layout import (
    CAPTURE_RUNS,
    MANIFEST,
    OWNER_RECORDS,
    SEGMENTS,
    SUMS,
    asset_digest,
    manifest_sha256,
)
from exporter.archive.manifest import version_sums
from exporter.archive.safe_files import MAX_CACHE_BYTES, MAX_DOCUMENT_BYTES, HeldFolder
from exporter.archive.verify import VersionCheck, check_seal
from exporter.copies.captures import CapturePush
from exporter.copies.contents import (
    FORGOTTEN,
    INFO,
    PARTS,
    PLAIN_DOCUMENTS,
    PRUNING,
    RUNS,
    VERSIONS,
    LocalHistory,
    Relation,
    SecondCopy,
    changed_meanwhile,
    extends,
    following,
    part_name,
    relate,
    require_related,
    united,
)
from exporter.copies.evidence import SealPush
from exporter.copies.store import Store, content_of, content_of_file, read_whole
from exporter.copies.transfer import OnProgress, SyncResult, TransferCount, in_parallel
from exporter.errors import ArchiveDamaged, ArchiveLocked, HistoriesDiffer, NoArchive, NoSuchObject


class Push:
    """A transfer from an archive to a store.

    Args:
        archive: the archive. It need not be locked; a version that appears meanwhile is not sent.
        store: the store.
        pruning: whether the copy may be pruned.

    Raises:
        HistoriesDiffer: the store has the copy of another archive or history.
        ArchiveLocked: another writer is changing the copy.
        ArchiveDamaged: ``archive.json`` is damaged.
        NoArchive: the store has other objects.
    """

    def __init__(self, archive: Archive, store: Store, *, pruning: bool = False) -> None:
        self.archive = archive
        self.store = store
        self.layout = archive.layout
        self.history = LocalHistory(archive)
        self.numbers = self.history.numbers()
        self._pruning = pruning
        self._seal = self._read(SUMS)
        self._runs = self._read(RUNS)
        self._runs = self._runs[: self._runs.rfind(b"\n") + 1]
        self._info = self._read(INFO)
        self._info_sha256 = hashlib.sha256(self._info).hexdigest()
        self.copy = SecondCopy(store)
        self._require_ours()
        self._captures = CapturePush(self.layout, self.copy)
        self._seals = SealPush(self.layout, self.copy)
        if self.copy.pruning is not None and not pruning:
            raise ArchiveLocked(
                "A prune of {place} is running or was interrupted: wait for its end, or complete it with sync --prune.",
                place=store.place,
            )

    def plan(self) -> SyncResult:
        """Find the missing files, and check all of them; send nothing."""
        related = relate(self.history, self.copy)
        require_related(related, self.archive.path, self.store.place, prune=True)
        plan = SyncResult(relation=related.relation)
        self._check_documents(plan)
        exists = self.copy.objects
        plan.documents = tuple(
            name for name in (INFO, *PLAIN_DOCUMENTS) if name not in exists and name not in plan.damaged
        )
        files = AssetStore(self.layout).files().values()
        plan.assets = {found.path: found.size for found in files if found.path not in exists}
        if related.relation is not Relation.BEHIND:
            self._plan_versions(plan)
        self._captures.plan(plan)
        self._seals.plan(plan)
        if related.relation is not Relation.PRUNED:
            plan.damaged_there += [*self._strays(related.common), *self._other_sizes()]
        self._plan_growing(plan)
        require_related(related, self.archive.path, self.store.place, prune=self._pruning)
        sizes = [self.layout.root.joinpath(name).lstat().st_size for name in plan.documents]
        sizes += [size or 0 for size in plan.assets.values()]
        sizes += [
            (self.layout.version(number) / part).lstat().st_size
            for number, missing in plan.versions.items()
            for part in missing
        ]
        sizes += [size for missing in plan.captures.values() for size in missing.values()]
        sizes += [*self._seals.sizes.values(), *map(len, plan.replaced.values())]
        plan.objects, plan.bytes = len(sizes), sum(sizes)
        return plan

    def run(
        self, plan: SyncResult, progress: OnProgress, prune: Callable[[TransferCount], None] | None = None
    ) -> TransferCount:
        """Send the planned files. Files that turn out damaged are added to ``plan.damaged``.

        Args:
            plan: the plan.
            progress: called after each object.
            prune: replaces the versions of the copy by those of a pruned archive.
        """
        tally = TransferCount(plan.bytes, progress)
        for name in plan.documents:
            self._create(name, self._read(name), tally)
        for name, stored in in_parallel(
            partial(self._send_asset, name, size or 0) for name, size in plan.assets.items()
        ):
            if stored is None:
                plan.add_damaged(name)
            tally.add(plan.assets[name] or 0, stored=bool(stored))
        self._captures.send(plan, tally)
        if not self._captures.is_whole:
            plan.replaced = {name: data for name, data in plan.replaced.items() if name == RUNS}
        if prune is not None:
            prune(tally)
        else:
            for number, missing in plan.versions.items():
                self.send_version(number, missing, tally)
            if plan.versions:
                self._require_no_prune()
        self._seals.send(tally)
        for name, data in plan.replaced.items():
            self._replace(name, data)
            tally.add(len(data), stored=True)
        return tally

    def send_version(self, number: int, missing: tuple[str, ...], tally: TransferCount, folder: str = VERSIONS) -> None:
        """Send a version's files, ``SHA256SUMS`` first and the manifest last."""
        digest, manifest = self.history.manifest(number)
        data = self._read(part_name(number, MANIFEST))
        if hashlib.sha256(data).hexdigest() != digest:
            raise ArchiveLocked("{archive} was pruned during the transfer: run sync again.", archive=self.archive.path)
        sums = version_sums(digest, self._info_sha256, manifest.files)
        name = part_name(number, SUMS, folder)
        claimed = SUMS in missing and self.store.create(name, content_of(sums))
        if SUMS in missing:
            tally.add(len(sums), stored=claimed)
        if MANIFEST in missing and not claimed and read_whole(self.store, name, MAX_DOCUMENT_BYTES) != sums:
            raise ArchiveLocked(
                "Another writer is sending another version {number} to {place}. If that transfer will never end, "
                "remove {folder} there, and run sync again.",
                number=number,
                place=self.store.place,
                folder=part_name(number, "", folder),
            )
        segments = [part for part in missing if part in SEGMENTS]
        for size, stored in in_parallel(partial(self._send_segment, number, part, folder) for part in segments):
            tally.add(size, stored=stored)
        if MANIFEST in missing:
            self._create(part_name(number, MANIFEST, folder), data, tally)

    def _send_segment(self, number: int, part: str, folder: str) -> tuple[int, bool]:
        info = self.history.manifest(number)[1].files[part]
        content = content_of_file(self.layout.version(number) / part, info.bytes, info.sha256)
        return info.bytes, self.store.create(part_name(number, part, folder), content)

    def _send_asset(self, name: str, size: int) -> tuple[str, bool | None]:
        """Send a picture; return ``None`` with its name if it is damaged."""
        content = content_of_file(self.layout.root / name, size, asset_digest(name) or "")
        try:
            return name, self.store.create(name, content)
        except ArchiveDamaged:
            return name, None

    def _require_ours(self) -> None:
        """Refuse a store with another archive or other objects."""
        if self.copy.empty:
            return
        if INFO not in self.copy.objects:
            raise NoArchive(
                "{place} is not empty and has no copy of an archive: name an empty or new place.",
                place=self.store.place,
            )
        data, info = self.copy.info()
        if data != self._info:
            raise HistoriesDiffer(
                "{place} has the copy of another archive, of {blog_id} since {created_at}: name another place.",
                place=self.store.place,
                blog_id=info.blog_id,
                created_at=info.created_at,
            )

    def _check_documents(self, plan: SyncResult) -> None:
        """Note the damaged documents.

        Raises:
            ArchiveDamaged: ``archive.json`` is damaged.
        """
        for finding in check_seal(self.archive):
            self._require_info(finding.code)
            if finding.damage:
                plan.damaged.append(finding.path)

    def _require_info(self, code: FindingCode) -> None:
        if code is FindingCode.INFO_DAMAGED:
            raise ArchiveDamaged("{info} is damaged; nothing was sent. Run verify --repair.", info=self.layout.info)

    def _plan_versions(self, plan: SyncResult) -> None:
        """Plan the missing files of versions that are not damaged.

        If only segments are damaged, the other files are sent: later versions may have healed the damage (FORMAT.md,
        Damage). After a damaged manifest, or for a prune, no later versions are sent.
        """
        pruned = plan.relation is Relation.PRUNED
        cache = ChecksumCache(self.layout, quick=False)
        parent: tuple[int, str | None] | None = None
        for number in self.numbers:
            missing = tuple(part for part in PARTS if pruned or self.copy.part(number, part) not in self.copy.objects)
            if missing:
                with HeldFolder(self.layout.version(number)) as folder:
                    findings = list(VersionCheck(folder, number, self._info_sha256, cache).files(parent))
                for finding in findings:
                    self._require_info(finding.code)
                paths = [finding.path for finding in findings if finding.code is not FindingCode.STRANGE_FILE]
                plan.add_damaged(*paths)
                spoilt = {path.rpartition("/")[2] for path in paths}
                if spoilt and (pruned or not spoilt <= {*SEGMENTS}):
                    if MANIFEST in missing or pruned:
                        return
                elif sound := tuple(part for part in missing if part not in spoilt):
                    plan.versions[number] = sound
            parent = number, manifest_sha256(self.layout, number)

    def _strays(self, common: int) -> Iterator[str]:
        """Yield the manifests in the copy that do not belong to this history."""
        if common:
            known = {*self.numbers, *following(self.copy, common)}
            for number in self.copy.numbers():
                if number > common and number not in known:
                    yield self.copy.part(number, MANIFEST)

    def _other_sizes(self) -> Iterator[str]:
        """Yield the segments and pictures in the copy with a wrong size."""
        for number in self.numbers:
            with suppress(ArchiveDamaged):
                for part, info in self.history.manifest(number)[1].files.items():
                    found = self.copy.objects.get(self.copy.part(number, part))
                    if found is not None and found.size not in {None, info.bytes}:
                        yield found.name
        for digest, here in AssetStore(self.layout).files().items():
            found = self.copy.objects.get(here.path)
            if found is not None and found.size not in {None, here.size}:
                # The archive's own file may be the truncated one.
                with suppress(OSError):
                    if file_sha256(self.layout.root / here.path) == digest:
                        yield here.path

    def _plan_growing(self, plan: SyncResult) -> None:
        """Plan the new ``runs.jsonl`` and seal, if the copy will have all versions that they mention."""
        if RUNS in plan.damaged or set(self.numbers) - {*self.copy.numbers(), *plan.versions}:
            return
        notes, noted = self._read(FORGOTTEN), self.copy.document_or_nothing(FORGOTTEN)
        if notes != noted and notes.startswith(noted):
            plan.replaced[FORGOTTEN] = notes
        for name in OWNER_RECORDS:
            self._plan_owner_record(plan, name)
        theirs = self.copy.document_or_nothing(RUNS)
        if not extends(self._runs, theirs, self.store.place, self.archive.path):
            return
        if theirs != self._runs or RUNS not in self.copy.objects:
            plan.replaced[RUNS] = self._runs
        self._plan_capture_runs(plan)
        if not self._captures.is_whole:
            return
        if self._seal and SUMS not in plan.damaged and self.copy.document_or_nothing(SUMS) != self._seal:
            plan.replaced[SUMS] = self._seal

    def _plan_owner_record(self, plan: SyncResult, name: str) -> None:
        ours = self._read(name)
        try:
            theirs = self.copy.document_or_nothing(name)
        except ArchiveDamaged:
            plan.damaged.append(name)
            return
        both = theirs if ours == theirs else united(name, ours, theirs)
        if both is None:
            plan.damaged_there.append(name)
        elif both != theirs:
            plan.replaced[name] = both

    def _plan_capture_runs(self, plan: SyncResult) -> None:
        if CAPTURE_RUNS in plan.damaged or not self._captures.is_whole:
            return
        ours = self._read(CAPTURE_RUNS)
        ours = ours[: ours.rfind(b"\n") + 1]
        theirs = self.copy.document_or_nothing(CAPTURE_RUNS)
        if ours != theirs and ours.startswith(theirs):
            plan.replaced[CAPTURE_RUNS] = ours
        elif not theirs.startswith(ours):
            plan.damaged_there.append(CAPTURE_RUNS)

    def _replace(self, name: str, data: bytes) -> None:
        known = self.copy.objects.get(name)
        replaced = self.store.replace(name, data, None if known is None else known.tag)
        if not replaced and read_whole(self.store, name, MAX_CACHE_BYTES) != data:
            raise changed_meanwhile(self.store.place)

    def _create(self, name: str, data: bytes, tally: TransferCount) -> None:
        """Send a document, unless another writer has stored other bytes.

        README.txt and FORMAT.md may come from another version of the program.
        """
        created = self.store.create(name, content_of(data))
        tally.add(len(data), stored=created)
        if not created and name not in PLAIN_DOCUMENTS and read_whole(self.store, name, MAX_DOCUMENT_BYTES) != data:
            raise HistoriesDiffer(
                "Another writer has stored another {name} in {place} first: name another place for this archive.",
                name=name,
                place=self.store.place,
            )

    def _require_no_prune(self) -> None:
        """Refuse to finish if a prune has begun, which may not know the new version."""
        try:
            self.store.read_start(PRUNING, 1)
        except NoSuchObject:
            return
        raise changed_meanwhile(self.store.place)

    def _read(self, name: str) -> bytes:
        """Return a document of the archive; empty if it does not exist."""
        try:
            return (self.layout.root / name).read_bytes(MAX_CACHE_BYTES)
        except FileNotFoundError:
            return b""
        except OSError as error:
            raise ArchiveDamaged("{path} cannot be read; run verify --repair.", path=self.layout.root / name) from error
