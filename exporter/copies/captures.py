"""Captures in a transfer: which a side lacks, and their files.

A capture in a store exists when its ``capture.json`` does, which is sent last, as the manifest of a version. It has the
size and hash of every file, and ``SHA256SUMS`` follows from it. Captures are never changed. So two sides with the same
newest common ``capture.json`` have the same captures up to it.
"""

from __future__ import annotations

import hashlib
import secrets
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final

from exporter.archive import atomic
from exporter.archive.captures import Capture, captures
from exporter.archive.checks import Finding, FindingCode
from exporter.archive.layout import CAPTURE, CAPTURE_RUNS, MAX_CAPTURE_BYTES, SUMS, capture_sha256, version_name
from exporter.archive.safe_files import MAX_CACHE_BYTES, MAX_DOCUMENT_BYTES, InnerPath
from exporter.copies.contents import SecondCopy, became, capture_part, place_in_capture
from exporter.copies.store import Store, content_of_file, read_whole
from exporter.copies.transfer import SyncResult, TransferCount, in_parallel, receive
from exporter.errors import ArchiveDamaged, ArchiveLocked, DamagedObject, HistoriesDiffer
from exporter.message import message

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from exporter.archive.captures import CaptureInfo
    from exporter.archive.layout import Layout

_WORKERS: Final = 2
"""Files of captures that are transferred at a time: one may have a gigabyte."""
Parts = dict[str, tuple[int, str]]
"""Size and SHA-256 of files by name."""


def _parts_of(info: CaptureInfo, document: bytes) -> Parts:
    """Return all files of a capture in the order of sending."""
    digest = hashlib.sha256(document).hexdigest()
    sums = info.sums(digest)
    first = {SUMS: (len(sums), hashlib.sha256(sums).hexdigest())}
    return {**first, **info.parts(), CAPTURE: (len(document), digest)}


def parts_here(capture: Capture) -> Parts:
    """Return all files of an archive's capture in the order of sending.

    Raises:
        ArchiveDamaged: ``capture.json`` cannot be read.
    """
    info = capture.info()
    try:
        return _parts_of(info, (capture.folder / CAPTURE).read_bytes(MAX_CAPTURE_BYTES))
    except OSError as error:
        raise ArchiveDamaged("{path} cannot be read. Verify the archive.", path=capture.folder / CAPTURE) from error


def _stale(layout: Layout, copy: SecondCopy, numbers: Iterable[int]) -> Iterator[int]:
    """Yield the captures of an archive from which the copy's notes say that records were removed since."""
    renamed = copy.renamed()
    for number in numbers if renamed else ():
        with suppress(ArchiveDamaged):
            there = hashlib.sha256(copy.document(capture_part(number, CAPTURE))).hexdigest()
            if became(renamed, capture_sha256(layout, number) or "", there):
                yield number


def _require_same(layout: Layout, copy: SecondCopy, stale: Collection[int] = ()) -> None:
    """Refuse two sides that have different captures of the same number, but for those in ``stale``.

    Raises:
        HistoriesDiffer: the newest common captures differ.
    """
    common = {each.number for each in captures(layout)} & set(copy.capture_numbers()) - set(stale)
    for number in sorted(common, reverse=True)[:1]:
        with suppress(ArchiveDamaged):
            here = capture_sha256(layout, number)
            there = hashlib.sha256(copy.document(capture_part(number, CAPTURE))).hexdigest()
            if here is not None and here != there:
                raise HistoriesDiffer(
                    "{archive} and {place} have different captures of the number {number}: each has pages that the "
                    "other lacks. Name another place.",
                    archive=layout.root,
                    place=copy.store.place,
                    number=number,
                )


class CapturePush:
    """The captures of an archive that a store lacks.

    Args:
        layout: the archive.
        copy: the copy in the store.
    """

    def __init__(self, layout: Layout, copy: SecondCopy) -> None:
        self._layout = layout
        self._copy = copy
        self._store: Store = copy.store
        self._parts: dict[int, Parts] = {}
        self._sums: dict[int, str] = {}
        self._spoilt = False

    @property
    def is_whole(self) -> bool:
        """Whether the copy has, or will have, all captures."""
        return not self._spoilt

    def plan(self, plan: SyncResult) -> None:
        """Add the missing files to a plan, and the damage that is known without reading the files.

        Raises:
            HistoriesDiffer: the copy has other captures.
        """
        _require_same(self._layout, self._copy)
        for capture in captures(self._layout):
            try:
                parts = parts_here(capture)
            except ArchiveDamaged:
                self._spoil(plan, capture_part(capture.number, CAPTURE))
                continue
            missing: Parts = {}
            for part, (size, digest) in parts.items():
                name = capture_part(capture.number, part)
                there = self._copy.objects.get(name)
                if there is None:
                    missing[part] = size, digest
                elif there.size not in {None, size}:
                    plan.damaged_there.append(name)
                if _size(capture.folder / part) != size:
                    self._spoil(plan, name)
            if missing:
                self._parts[capture.number] = missing
                self._sums[capture.number] = parts[SUMS][1]
                plan.captures[capture.number] = {part: size for part, (size, _) in missing.items()}

    def send(self, plan: SyncResult, tally: TransferCount) -> None:
        """Send the planned captures, each with ``capture.json`` last; damaged files are added to ``plan.damaged``."""
        for number, parts in self._parts.items():
            damaged = False
            if SUMS in parts:
                damaged = not self._send_all(number, {SUMS: parts[SUMS]}, plan, tally)
            if CAPTURE in parts and not damaged:
                self._require_claimed(number)
            others = {part: found for part, found in parts.items() if part not in {SUMS, CAPTURE}}
            damaged |= not self._send_all(number, others, plan, tally)
            if CAPTURE in parts and not damaged:
                self._send_all(number, {CAPTURE: parts[CAPTURE]}, plan, tally)

    def _require_claimed(self, number: int) -> None:
        """Refuse to go on if another writer is sending another capture of this number."""
        name = capture_part(number, SUMS)
        found = read_whole(self._store, name, MAX_DOCUMENT_BYTES)
        if hashlib.sha256(found).hexdigest() != self._sums[number]:
            raise ArchiveLocked(
                "Another writer is sending another capture {number} to {place}. If that transfer will never end, "
                "remove {folder} there, and run sync again.",
                number=number,
                place=self._store.place,
                folder=capture_part(number, ""),
            )

    def _send_all(self, number: int, parts: Parts, plan: SyncResult, tally: TransferCount) -> bool:
        whole = True
        jobs = (partial(self._send, number, part, *found) for part, found in parts.items())
        for name, size, stored in in_parallel(jobs, _WORKERS):
            if stored is None:
                self._spoil(plan, name)
                whole = False
            tally.add(size, stored=bool(stored))
        return whole

    def _send(self, number: int, part: str, size: int, digest: str) -> tuple[str, int, bool | None]:
        """Send a file; return its name, its size, and whether it was stored: ``None`` if it is damaged."""
        name = capture_part(number, part)
        folder = self._layout.captures / version_name(number)
        try:
            return name, size, self._store.create(name, content_of_file(folder / part, size, digest))
        except ArchiveDamaged:
            return name, size, None

    def _spoil(self, plan: SyncResult, name: str) -> None:
        self._spoilt = True
        plan.add_damaged(name)


class CapturePull:
    """The captures of a copy that a folder lacks.

    Args:
        layout: the archive in the folder.
        copy: the copy.
    """

    def __init__(self, layout: Layout, copy: SecondCopy) -> None:
        self._layout = layout
        self._copy = copy
        self._parts: dict[int, Parts] = {}
        self._replaced: set[int] = set()

    def plan(self, plan: SyncResult) -> None:
        """Add the missing files to a plan.

        Raises:
            HistoriesDiffer: the folder has other captures.
        """
        here = {each.number: each for each in captures(self._layout)}
        self._replaced = {*_stale(self._layout, self._copy, here.keys() & set(self._copy.capture_numbers()))}
        _require_same(self._layout, self._copy, self._replaced)
        for number in self._copy.capture_numbers():
            try:
                document, info = self._copy.capture(number)
                parts = _parts_of(info, document)
            except ArchiveDamaged:
                plan.add_damaged(capture_part(number, CAPTURE))
                continue
            missing = {
                part: found
                for part, found in parts.items()
                if number not in here or number in self._replaced or (here[number].folder / part).kind() is None
            }
            absent = [name for part in missing if (name := capture_part(number, part)) not in self._copy.objects]
            plan.add_damaged(*(name for name in absent if place_in_capture(name)[1] != SUMS))
            if missing:
                self._parts[number] = missing
                plan.captures[number] = {part: size for part, (size, _) in missing.items()}

    def fetch(self, plan: SyncResult, tally: TransferCount) -> None:
        """Fetch the planned captures, oldest first. One with a damaged file does not appear in the folder."""
        for number, parts in self._parts.items():
            target = self._layout.captures / version_name(number)
            whole = target.kind() is None or number in self._replaced
            folder = self._layout.work / "new-capture" if whole else target
            if whole:
                with atomic.translated(folder):
                    atomic.remove_folder(folder)
                    atomic.make_folder(folder)
            damaged = list(self._fetch_into(folder, number, parts, tally))
            plan.add_damaged(*damaged)
            with atomic.translated(target):
                if damaged and whole:
                    atomic.remove_folder(folder)
                elif whole:
                    atomic.make_folder(target.parent)
                    atomic.swap_folder(folder, target, self._layout.work / "old-capture")
                else:
                    atomic.sync_folder(target)

    def _fetch_into(self, folder: InnerPath, number: int, parts: Parts, tally: TransferCount) -> Iterator[str]:
        """Fetch files, and yield the names of damaged ones."""
        jobs = (partial(self._fetch, folder, number, part, *found) for part, found in parts.items())
        for name, size, right in in_parallel(jobs, _WORKERS):
            tally.add(size, stored=right)
            if not right:
                yield name

    def _fetch(self, folder: InnerPath, number: int, part: str, size: int, digest: str) -> tuple[str, int, bool]:
        name = capture_part(number, part)
        target = folder / part
        incoming = self._layout.work / f"incoming-{secrets.token_hex(8)}"
        try:
            if part == SUMS:
                document, info = self._copy.capture(number)
                atomic.write_file(target, info.sums(hashlib.sha256(document).hexdigest()))
            else:
                receive(self._copy.store, name, incoming, digest, size)
                with atomic.translated(target):
                    incoming.replace(target)
        except DamagedObject:
            return name, size, False
        return name, size, True


def _size(path: InnerPath) -> int | None:
    try:
        return path.lstat().st_size
    except OSError:
        return None


def expected_digest(layout: Layout, name: str) -> str | None:
    """Return the SHA-256 that an archive has for an immutable object of a capture; ``None`` for any other object."""
    number, part = place_in_capture(name)
    if number is None:
        return None
    with suppress(ArchiveDamaged):
        found = next((each for each in captures(layout) if each.number == number), None)
        return None if found is None else parts_here(found).get(part, (0, None))[1]
    return None


def check_copied(copy: SecondCopy) -> Iterator[Finding]:
    """Compare every file of the captures in a copy with its hash in ``capture.json``.

    The documents are checked by :func:`exporter.archive.capture_checks.check_captures`.
    """
    for number in copy.capture_numbers():
        try:
            document, info = copy.capture(number)
            parts = _parts_of(info, document)
        except ArchiveDamaged:
            continue  # reported with the documents
        for name in copy.objects:
            found, part = place_in_capture(name)
            if found == number and part not in parts:
                yield Finding(FindingCode.STRANGE_FILE, name, message("no part of the format"))
        names = {capture_part(number, part): digest for part, (_, digest) in parts.items() if part != CAPTURE}
        for name, right in in_parallel((partial(_is_right, copy, *each) for each in names.items()), _WORKERS):
            if right is None:
                yield Finding(FindingCode.CAPTURE_DAMAGED, name, message("it does not exist"))
            elif not right:
                yield Finding(FindingCode.CAPTURE_DAMAGED, name, message("its content is not what capture.json says"))
    whole = set(copy.capture_numbers())
    for number in sorted({place_in_capture(name)[0] or 0 for name in copy.objects} - whole - {0}):
        detail = message("its capture.json does not exist yet: a transfer is running or was interrupted")
        yield Finding(FindingCode.UNFINISHED, f"captures/{version_name(number)}", detail)


def _is_right(copy: SecondCopy, name: str, digest: str) -> tuple[str, bool | None]:
    if name not in copy.objects:
        return name, None
    hashed = hashlib.sha256()
    try:
        for piece in copy.store.read(name):
            hashed.update(piece)
    except ArchiveDamaged:
        return name, False
    return name, hashed.hexdigest() == digest


def documents_of(copy: SecondCopy) -> Iterable[tuple[str, bytes]]:
    """Yield the documents of the captures in a copy by name; those that cannot be read are left out."""
    for number in copy.capture_numbers():
        with suppress(ArchiveDamaged):
            yield capture_part(number, CAPTURE), copy.document(capture_part(number, CAPTURE))
    if CAPTURE_RUNS in copy.objects:
        with suppress(ArchiveDamaged):
            yield CAPTURE_RUNS, read_whole(copy.store, CAPTURE_RUNS, MAX_CACHE_BYTES)
