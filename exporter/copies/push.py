"""Sending an archive to a store: what is missing there and nothing else, each file compared with its hash on the way.

The order makes every instant a good one to stop at: ``archive.json``, the other documents, the pictures, then version
after version: its ``SHA256SUMS``, which decides between two writers what this version is, its segments, and at last
its manifest, with which it is there. ``runs.jsonl`` and the seal, which grow, are replaced in the end, and only where
nobody else has replaced them meanwhile.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from exporter.archive.assets import AssetStore, StoredFile
from exporter.archive.checks import ChecksumCache, FindingCode, file_sha256
from exporter.archive.layout import MANIFEST, SEGMENTS, SUMS, manifest_sha256
from exporter.archive.manifest import version_sums
from exporter.archive.safe_files import LARGEST_CACHE, LARGEST_DOCUMENT, HeldFolder
from exporter.archive.verify import VersionCheck, check_seal
from exporter.copies.contents import INFO, PARTS, PLAIN_DOCUMENTS, PRUNING, RUNS, VERSIONS, SecondCopy, part_name
from exporter.copies.histories import Relation, following, relate
from exporter.copies.local import LocalHistory
from exporter.copies.store import content_of, content_of_file, read_whole
from exporter.copies.transfer import TransferCount, in_parallel
from exporter.errors import ArchiveDamaged, ArchiveLocked, HistoriesDiffer, NoArchive, NoSuchObject
from exporter.message import message

if TYPE_CHECKING:
    from exporter.archive.archive import Archive
    from exporter.copies.store import Store
    from exporter.copies.transfer import OnProgress


@dataclass(slots=True)
class PushPlan:
    """What is to be sent.

    Attributes:
        relation: what the archive is to the copy.
        versions: the numbers of the versions that are sent, or completed, each with the files of it that are missing.
        documents: the names of the documents of the root that are sent and never change.
        assets: the pictures and files that are sent, by their SHA-256.
        replaced: the documents that grow, with their new content.
        damaged: the paths of what is damaged in the archive and is not sent.
        damaged_there: the names of what is in the copy and is not what was sent: it has another size, or is no version
            of this history. Nothing is put in its place.
        objects: how many objects that are.
        bytes: how many bytes they have.
    """

    relation: Relation = Relation.SAME
    versions: dict[int, tuple[str, ...]] = field(default_factory=dict)
    documents: tuple[str, ...] = ()
    assets: dict[str, StoredFile] = field(default_factory=dict)
    replaced: dict[str, bytes] = field(default_factory=dict)
    damaged: list[str] = field(default_factory=list)
    damaged_there: list[str] = field(default_factory=list)
    objects: int = 0
    bytes: int = 0


class Push:
    """One archive on its way to one store.

    Args:
        archive: the archive; it is not locked, and may get a new version meanwhile, which is then not sent.
        store: the place.
        pruning: the caller prunes the copy, or completes a prune of it.

    Raises:
        HistoriesDiffer: what is there is no copy of it, or the copy of another history.
        ArchiveLocked: somebody else is changing the copy.
        ArchiveDamaged: ``archive.json`` is not what was written.
        NoArchive: other things are there.
    """

    def __init__(self, archive: Archive, store: Store, *, pruning: bool = False) -> None:
        self.archive = archive
        self.store = store
        self.layout = archive.layout
        self.history = LocalHistory(archive)
        self._seal = _read(archive, SUMS)
        self._runs = _read(archive, RUNS)
        self._runs = self._runs[: self._runs.rfind(b"\n") + 1]
        self.numbers = self.history.numbers()
        self._info_sha256 = hashlib.sha256(_read(archive, INFO)).hexdigest()
        self.copy = SecondCopy(store)
        self._require_ours()
        if self.copy.pruning is not None and not pruning:
            raise ArchiveLocked(
                message(
                    "A prune of {place} is under way, or was cut short; wait for its end, or complete it with "
                    "sync --prune.",
                    place=store.place,
                )
            )

    def plan(self) -> PushPlan:
        """Find out what is missing there, and check all of it; nothing is sent."""
        plan = PushPlan()
        related = relate(self.history, self.copy)
        plan.relation = related.relation
        if related.relation is Relation.PARTED:
            raise HistoriesDiffer(
                message(
                    "{archive} and {place} have different histories after version {version}: each has versions that "
                    "the other has not. Name another place for this archive.",
                    archive=self.archive.path,
                    place=self.store.place,
                    version=related.common,
                )
            )
        if related.relation is Relation.UNPRUNED:
            raise HistoriesDiffer(
                message(
                    "{place} was pruned, and {archive} still has the versions that were folded there: prune it by the "
                    "same rules, or name another place.",
                    archive=self.archive.path,
                    place=self.store.place,
                )
            )
        spoilt = self._check_documents(plan)
        there = self.copy.objects
        plan.documents = tuple(name for name in (INFO, *PLAIN_DOCUMENTS) if name not in there and name not in spoilt)
        plan.assets = {
            digest: found for digest, found in AssetStore(self.layout).files().items() if found.path not in there
        }
        if related.relation is not Relation.BEHIND:
            self._plan_versions(plan, related.relation)
        if related.relation is not Relation.PRUNED:
            plan.damaged_there = [*self._strays(related.common), *self._other_sizes()]
        self._plan_growing(plan, spoilt)
        self._measure(plan)
        return plan

    def run(
        self, plan: PushPlan, progress: OnProgress, prune: Callable[[TransferCount], None] | None = None
    ) -> TransferCount:
        """Send what is planned; what turns out damaged on the way is added to ``plan.damaged``.

        Args:
            plan: what is to be sent.
            progress: told how far it is.
            prune: puts the versions of a pruned archive in the place of those that are there.
        """
        tally = TransferCount(plan.bytes, progress)
        for name in plan.documents:
            self._create(name, _read(self.archive, name), tally)
        for path, size, stored in in_parallel(self._asset_jobs(plan)):
            if stored is None:
                plan.damaged.append(path)
            tally.add(size, stored=bool(stored))
        if prune is not None:
            prune(tally)
        else:
            for number, missing in plan.versions.items():
                self.send_version(number, missing, tally)
            if plan.versions:
                self._require_no_prune()
        for name, data in plan.replaced.items():
            self._replace(name, data)
            tally.add(len(data), stored=True)
        return tally

    def send_version(self, number: int, missing: tuple[str, ...], tally: TransferCount, folder: str = VERSIONS) -> None:
        """Send files of a version: the claim first, the manifest last."""
        sums, manifest = self._documents_of(number)
        name = part_name(number, SUMS, folder)
        claimed = SUMS in missing and self.store.create(name, content_of(sums))
        if SUMS in missing:
            tally.add(len(sums), stored=claimed)
        if MANIFEST in missing and not claimed and read_whole(self.store, name, LARGEST_DOCUMENT) != sums:
            raise self._other_writer(number, folder)
        segments = [part for part in missing if part in SEGMENTS]
        for size, stored in in_parallel(partial(self._send_segment, number, part, folder) for part in segments):
            tally.add(size, stored=stored)
        if MANIFEST in missing:
            self._create(part_name(number, MANIFEST, folder), manifest, tally)

    def _documents_of(self, number: int) -> tuple[bytes, bytes]:
        """Return ``SHA256SUMS`` and the manifest of a version, as they were when it was checked."""
        digest, manifest = self.history.manifest(number)
        data = _read(self.archive, part_name(number, MANIFEST))
        if hashlib.sha256(data).hexdigest() != digest:
            raise ArchiveLocked(
                message("{archive} was pruned while it was sent; run sync again.", archive=self.archive.path)
            )
        return version_sums(digest, self._info_sha256, manifest.files), data

    def _send_segment(self, number: int, part: str, folder: str) -> tuple[int, bool]:
        info = self.history.manifest(number)[1].files[part]
        content = content_of_file(self.layout.version(number) / part, info.bytes, info.sha256)
        return info.bytes, self.store.create(part_name(number, part, folder), content)

    def _asset_jobs(self, plan: PushPlan) -> Iterator[Callable[[], tuple[str, int, bool | None]]]:
        for digest, found in plan.assets.items():
            yield partial(self._send_asset, digest, found)

    def _send_asset(self, digest: str, found: StoredFile) -> tuple[str, int, bool | None]:
        """Send one; ``None`` for one that is not what its name says."""
        content = content_of_file(self.layout.root / found.path, found.size, digest)
        try:
            return found.path, found.size, self.store.create(found.path, content)
        except ArchiveDamaged:
            return found.path, found.size, None

    def _require_ours(self) -> None:
        """Refuse a place that holds another archive, or other things."""
        if self.copy.empty:
            return
        if INFO not in self.copy.objects:
            raise NoArchive(
                message(
                    "{place} is not empty and holds no copy of an archive: name an empty or new place.",
                    place=self.store.place,
                )
            )
        data, info = self.copy.info()
        if data != _read(self.archive, INFO):
            raise HistoriesDiffer(
                message(
                    "{place} holds the copy of another archive, of {blog_id} since {created_at}: name another place.",
                    place=self.store.place,
                    blog_id=info.blog_id,
                    created_at=info.created_at,
                )
            )

    def _check_documents(self, plan: PushPlan) -> set[str]:
        """Return the documents of the root that are damaged.

        Raises:
            ArchiveDamaged: ``archive.json`` is among them, without which nothing means anything.
        """
        spoilt = set()
        for finding in check_seal(self.archive):
            if finding.code is FindingCode.INFO_DAMAGED:
                raise self._info_damaged()
            if finding.damage:
                plan.damaged.append(finding.path)
                spoilt.add(finding.path)
        return spoilt

    def _plan_versions(self, plan: PushPlan, relation: Relation) -> None:
        cache = ChecksumCache(self.layout, quick=False)
        parent: tuple[int, str | None] | None = None
        for number in self.numbers:
            missing = tuple(
                part
                for part in PARTS
                if relation is Relation.PRUNED or self.copy.part(number, part) not in self.copy.objects
            )
            if missing:
                with HeldFolder(self.layout.version(number)) as folder:
                    findings = list(VersionCheck(folder, number, self._info_sha256, cache).files(parent))
                if any(finding.code is FindingCode.INFO_DAMAGED for finding in findings):
                    raise self._info_damaged()
                findings = [finding for finding in findings if finding.code is not FindingCode.STRANGE_FILE]
                plan.damaged += [
                    path for path in dict.fromkeys(each.path for each in findings) if path not in plan.damaged
                ]
                spoilt = {finding.path.rpartition("/")[2] for finding in findings}
                if spoilt and (relation is Relation.PRUNED or not spoilt <= {*SEGMENTS}):
                    if MANIFEST in missing or relation is Relation.PRUNED:
                        # Those after it name its manifest, and a prune puts all of them in the place of others.
                        return
                elif sound := tuple(part for part in missing if part not in spoilt):
                    # What is whole is safe there, and later versions may have healed what is not (FORMAT.md, Damage).
                    plan.versions[number] = sound
            parent = number, manifest_sha256(self.layout, number)

    def _strays(self, common: int) -> Iterator[str]:
        """Yield the manifests in the copy that belong to no version of this history."""
        if common:
            known = {*self.numbers, *following(self.copy, common)}
            for number in self.copy.numbers():
                if number > common and number not in known:
                    yield self.copy.part(number, MANIFEST)

    def _other_sizes(self) -> Iterator[str]:
        """Yield the segments and pictures in the copy that have another size than they should have."""
        for number in self.numbers:
            with suppress(ArchiveDamaged):
                for part, info in self.history.manifest(number)[1].files.items():
                    there = self.copy.objects.get(self.copy.part(number, part))
                    if there is not None and there.size not in {None, info.bytes}:
                        yield there.name
        for digest, found in AssetStore(self.layout).files().items():
            there = self.copy.objects.get(found.path)
            if there is not None and there.size not in {None, found.size}:
                # It may be the one here that was cut short.
                with suppress(OSError):
                    if file_sha256(self.layout.root / found.path) == digest:
                        yield found.path

    def _plan_growing(self, plan: PushPlan, spoilt: set[str]) -> None:
        """Plan what replaces ``runs.jsonl`` and the seal there: never where a version that they tell of is missing."""
        if RUNS in spoilt or set(self.numbers) - {*self.copy.numbers(), *plan.versions}:
            return
        theirs = self.copy.document_or_nothing(RUNS)
        if theirs != self._runs[: len(theirs)]:
            if theirs[: len(self._runs)] == self._runs:
                return
            raise HistoriesDiffer(
                message(
                    "{place}/{runs} tells of other runs than {archive}: one of them was changed, or both were written "
                    "since they parted. Run verify on both.",
                    place=self.store.place,
                    runs=RUNS,
                    archive=self.archive.path,
                )
            )
        if theirs != self._runs or RUNS not in self.copy.objects:
            plan.replaced[RUNS] = self._runs
        if self._seal and SUMS not in spoilt and self.copy.document_or_nothing(SUMS) != self._seal:
            plan.replaced[SUMS] = self._seal

    def _measure(self, plan: PushPlan) -> None:
        sizes = [self.layout.root.joinpath(name).lstat().st_size for name in plan.documents]
        sizes += [found.size for found in plan.assets.values()]
        sizes += [
            (self.layout.version(number) / part).lstat().st_size
            for number, missing in plan.versions.items()
            for part in missing
        ]
        sizes += [len(data) for data in plan.replaced.values()]
        plan.objects, plan.bytes = len(sizes), sum(sizes)

    def _replace(self, name: str, data: bytes) -> None:
        known = self.copy.objects.get(name)
        if self.store.replace(name, data, None if known is None else known.tag):
            return
        if read_whole(self.store, name, LARGEST_CACHE) != data:
            raise ArchiveLocked(
                message(
                    "Somebody else has replaced {name} in {place} meanwhile; run sync again.",
                    name=name,
                    place=self.store.place,
                )
            )

    def _create(self, name: str, data: bytes, tally: TransferCount) -> None:
        """Send a document; where somebody else was first with other bytes, go no further.

        README.txt and FORMAT.md may be those of another edition of the program.
        """
        created = self.store.create(name, content_of(data))
        tally.add(len(data), stored=created)
        if not created and name not in PLAIN_DOCUMENTS and read_whole(self.store, name, LARGEST_DOCUMENT) != data:
            raise HistoriesDiffer(
                message(
                    "Another writer has put its own {name} into {place} meanwhile, and what it sent counts; this "
                    "archive needs another place.",
                    name=name,
                    place=self.store.place,
                )
            )

    def _require_no_prune(self) -> None:
        """Refuse to call a version sent that a prune, begun meanwhile, may not know."""
        try:
            self.store.read_range(PRUNING, 0, 1)
        except NoSuchObject:
            return
        raise ArchiveLocked(
            message("Somebody began to prune {place} meanwhile; run sync again.", place=self.store.place)
        )

    def _other_writer(self, number: int, folder: str) -> ArchiveLocked:
        return ArchiveLocked(
            message(
                "Another writer is sending a version {number} of its own to {place}. Where it never will finish, "
                "remove {folder} there, and run sync again.",
                number=number,
                place=self.store.place,
                folder=part_name(number, "", folder),
            )
        )

    def _info_damaged(self) -> ArchiveDamaged:
        return ArchiveDamaged(
            message("{info} is not what was written; nothing was sent. Run verify --repair.", info=self.layout.info)
        )


def _read(archive: Archive, name: str) -> bytes:
    """Return a document of the root, nothing where it is not there."""
    try:
        return (archive.layout.root / name).read_bytes(LARGEST_CACHE)
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise ArchiveDamaged(
            message("{path} cannot be read; run verify --repair.", path=archive.layout.root / name)
        ) from error
