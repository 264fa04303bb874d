"""Remove forgotten records from a copy in a store. The transfer that follows sends the changed files again.

An object is never changed in place: one that differs is removed, and sent again. A version or capture first loses its
manifest, the newest one first, then its files, and ``SHA256SUMS`` last. So after an interruption the copy has fewer
versions, and the next sync continues: the remaining objects show how far the removal came. The archive has everything.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial

from exporter.archive.archive import Archive
from exporter.archive.forgotten import read_notes, renamed_hashes
from exporter.archive.layout import CAPTURE, CAPTURE_RUNS, MANIFEST, SUMS, asset_digest
from exporter.archive.manifest import read_sums
from exporter.archive.prune import named_assets
from exporter.archive.safe_files import MAX_DOCUMENT_BYTES
from exporter.copies.contents import (
    FORGOTTEN,
    INFO,
    RUNS,
    SecondCopy,
    capture_part,
    part_name,
    place_in_capture,
    was_rewritten,
)
from exporter.copies.store import Store
from exporter.copies.transfer import in_parallel
from exporter.errors import ArchiveLocked


def remove_forgotten(archive: Archive, store: Store) -> list[str]:
    """Remove the objects of a copy that the archive's notes say have changed or gone; return their names.

    Raises:
        ArchiveLocked: the objects are locked; the message names the day when the locks end.
        ArchiveDamaged: the notes or a document of the copy are damaged.
    """
    renamed = renamed_hashes(read_notes(archive.layout))
    copy = SecondCopy(store)
    if not renamed or INFO not in copy.objects or copy.pruning:
        return []
    stale = _Stale(archive, copy, renamed)
    steps = [*stale.steps()]
    names = [name for step in steps for name in step]
    _require_unlocked(store, names)
    for step in steps:
        for _ in in_parallel(partial(store.remove, name) for name in step):
            pass
    return names


def _require_unlocked(store: Store, names: Iterable[str]) -> None:
    ends = [end for end in map(store.lock_end, names) if end is not None and end > datetime.now(UTC)]
    if ends:
        raise ArchiveLocked(
            "{place} still has records that were forgotten, and its objects are locked until {date}. Run sync again "
            "after that day.",
            place=store.place,
            date=f"{max(ends):%Y-%m-%d}",
        )


class _Stale:
    """The outdated objects of a copy: those from before a removal."""

    def __init__(self, archive: Archive, copy: SecondCopy, renamed: Mapping[str, str]) -> None:
        self._archive = archive
        self._layout = archive.layout
        self._copy = copy
        self._renamed = renamed

    def steps(self) -> Iterator[list[str]]:
        """Yield the names to remove, one list after the other."""
        versions, captures = [*self._versions()], [*self._captures()]
        documents = self._documents()
        if not (versions or captures or documents or self._is_behind()):
            return
        yield documents
        yield self._assets()
        for folder, first in (*((each, MANIFEST) for each in versions), *((each, CAPTURE) for each in captures)):
            there = [name for name in self._copy.objects if name.startswith(folder)]
            kept = self._same_files(folder)
            yield [name for name in there if name == f"{folder}{first}"]
            yield [name for name in there if name not in {f"{folder}{first}", f"{folder}{SUMS}", *kept}]
            yield [name for name in there if name == f"{folder}{SUMS}"]

    def _is_behind(self) -> bool:
        """Return whether the copy has fewer notes than the archive."""
        return self._copy.sound_or_nothing(FORGOTTEN) != self._layout.forgotten.read_bytes()

    def _versions(self) -> Iterator[str]:
        """Yield the folders of versions that differ, the newest first."""
        finished = self._copy.numbers()
        for number in sorted({*finished, *self._copy.unfinished()}, reverse=True):
            name = part_name(number, MANIFEST)
            before = self._copy.manifest(number)[0] if number in finished else self._begun(name)
            if before in self._renamed:
                yield part_name(number, "")

    def _captures(self) -> Iterator[str]:
        """Yield the folders of captures that differ, the newest first."""
        found = {place_in_capture(name)[0] for name in self._copy.objects}
        for number in sorted((each for each in found if each is not None), reverse=True):
            name = capture_part(number, CAPTURE)
            before = hashlib.sha256(self._copy.document_or_nothing(name)).hexdigest()
            before = before if name in self._copy.objects else self._begun(name)
            if before in self._renamed:
                yield capture_part(number, "")

    def _begun(self, name: str) -> str:
        """Return the hash that ``SHA256SUMS`` states for a manifest that is removed already."""
        folder, _, part = name.rpartition("/")
        rows = read_sums(self._copy.sound_or_nothing(f"{folder}/{SUMS}"))
        return rows.get(part, "")

    def _same_files(self, folder: str) -> set[str]:
        """Return the names of the files that are the same in the archive."""
        stated = read_sums(self._copy.sound_or_nothing(f"{folder}{SUMS}"))
        with suppress(OSError):
            here = read_sums(
                (self._layout.root.joinpath(*folder.split("/")[:-1]) / SUMS).read_bytes(MAX_DOCUMENT_BYTES)
            )
            return {f"{folder}{name}" for name, digest in stated.items() if here.get(name) == digest}
        return set()

    def _documents(self) -> list[str]:
        theirs = self._copy.sound_or_nothing(RUNS)
        ours = self._layout.runs.read_bytes()
        names = [RUNS, SUMS] if was_rewritten(self._renamed, ours, theirs) else []
        if CAPTURE_RUNS in self._copy.objects and self._is_behind():
            captured = self._layout.capture_runs
            known = captured.read_bytes() if captured.kind() == "" else b""
            names += [] if known.startswith(self._copy.sound_or_nothing(CAPTURE_RUNS)) else [CAPTURE_RUNS]
        return names

    def _assets(self) -> list[str]:
        """Return the files that no version names, unless the copy has versions that the archive lacks."""
        if not {*self._copy.numbers()} <= {*self._archive.versions()}:
            return []
        named = named_assets(self._layout)
        return [name for name in self._copy.assets() if (asset_digest(name) or "").encode() not in named]
