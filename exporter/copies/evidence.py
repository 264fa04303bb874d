"""Seals in a transfer: small files that are never changed. A seal in a store exists once its statement does.

Nothing here judges a seal; ``verify --evidence`` does. A statement that cannot be read is not fetched.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from typing import TYPE_CHECKING

from exporter.archive.evidence import (
    FOLDER,
    MAX_PART_BYTES,
    PARTS,
    Seal,
    Statement,
    part_name,
    place_in_evidence,
    read_seal,
    seal_numbers,
    seal_place,
    write_seal,
)
from exporter.archive.layout import SUMS, version_name
from exporter.copies.contents import SecondCopy
from exporter.copies.store import content_of, read_whole
from exporter.errors import ArchiveDamaged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exporter.archive.layout import Layout
    from exporter.copies.transfer import SyncResult, TransferCount


class SealPush:
    """The seals of an archive that a store lacks; ``sizes`` has the size of each file to send, by name."""

    def __init__(self, layout: Layout, copy: SecondCopy) -> None:
        self._layout = layout
        self._copy = copy
        self.sizes: dict[str, int] = {}

    def plan(self, plan: SyncResult) -> None:
        """Find the missing files, and add unreadable seals and wrong sizes to a plan."""
        try:
            numbers = seal_numbers(self._layout)
        except OSError:
            plan.add_damaged(FOLDER)
            return
        for number in numbers:
            try:
                parts = read_seal(self._layout, number).parts
            except OSError:
                plan.add_damaged(part_name(number, SUMS))
                continue
            for part, data in parts.items():
                there = self._copy.objects.get(part_name(number, part))
                if there is None:
                    self.sizes[part_name(number, part)] = len(data)
                elif there.size not in {None, len(data)}:
                    plan.damaged_there.append(there.name)

    def send(self, tally: TransferCount) -> None:
        """Send the planned files, the statement of each seal last."""
        for name in self.sizes:
            data = (self._layout.root / name).read_bytes(MAX_PART_BYTES)
            tally.add(len(data), stored=self._copy.store.create(name, content_of(data)))


class SealPull:
    """The seals of a copy that a folder lacks."""

    def __init__(self, layout: Layout, copy: SecondCopy) -> None:
        self._layout = layout
        self._copy = copy
        self._numbers: list[int] = []

    def plan(self) -> None:
        """Find the seals that the folder lacks."""
        here = {*seal_numbers(self._layout)}
        self._numbers = [number for number in seals_in(self._copy) if number not in here]

    def names(self) -> list[str]:
        """Return the names of the planned files; the copy may lack some of them."""
        return [part_name(number, part) for number in self._numbers for part in PARTS]

    def fetch(self, plan: SyncResult, tally: TransferCount) -> None:
        """Fetch the planned seals, oldest first; a damaged one does not appear in the folder."""
        for number in self._numbers:
            seal = fetched_seal(self._copy, number)
            if seal is None:
                plan.add_damaged(part_name(number, SUMS))
                continue
            write_seal(self._layout, number, seal.parts)
            tally.add(sum(map(len, seal.parts.values())), stored=True, objects=len(seal.parts))


def seals_in(copy: SecondCopy) -> list[int]:
    """Return all seal numbers in a copy, oldest first."""
    found = map(place_in_evidence, copy.objects)
    return sorted(number for number, part in found if number and part == SUMS)


def fetched_seal(copy: SecondCopy, number: int) -> Seal | None:
    """Return a seal of a copy; ``None`` if a file is damaged or too large."""
    names = {part: part_name(number, part) for part in PARTS}
    with suppress(ArchiveDamaged, ValueError):
        parts = {
            part: read_whole(copy.store, name, MAX_PART_BYTES) for part, name in names.items() if name in copy.objects
        }
        Statement.decode(parts[SUMS])
        return Seal(number, parts, seal_place(number))
    return None


def expected_seal_digest(layout: Layout, name: str) -> str | None:
    """Return the SHA-256 that an archive has for a file of a seal; ``None`` for any other object."""
    number, part = place_in_evidence(name)
    if number is None:
        return None
    with suppress(OSError):
        data = (layout.evidence / version_name(number) / part).read_bytes(MAX_PART_BYTES)
        return hashlib.sha256(data).hexdigest()
    return None


def seal_documents(copy: SecondCopy) -> Iterator[tuple[str, bytes]]:
    """Yield the files of the seals in a copy by name; a damaged seal is left out."""
    for number in seals_in(copy):
        seal = fetched_seal(copy, number)
        for part, data in ({} if seal is None else seal.parts).items():
            yield part_name(number, part), data
