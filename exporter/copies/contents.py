"""What a copy holds: its names, its versions, what its documents say. All of it is untrusted.

A version is there when its manifest is. Its other files were stored before that, the first of them its ``SHA256SUMS``:
that names the hashes of all the others, so whoever stores it first decides what this version is. Files of a version
without a manifest belong to a transfer that is under way, or was cut short.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Final

from exporter.archive.layout import LARGEST_VERSION, MANIFEST, SEGMENTS, SUMS, asset_digest, version_name
from exporter.archive.manifest import ArchiveInfo, Manifest, read_sums, run_of
from exporter.archive.safe_files import LARGEST_CACHE, LARGEST_DOCUMENT
from exporter.copies.store import read_whole
from exporter.errors import ArchiveDamaged, DamagedObject, NoArchive, NoSuchObject
from exporter.message import message

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from exporter.copies.store import Store, StoredObject

INFO: Final = "archive.json"
RUNS: Final = "runs.jsonl"
PLAIN_DOCUMENTS: Final = ("README.txt", "FORMAT.md")
VERSIONS: Final = "versions"
NEW_VERSIONS: Final = "versions.new"
PRUNING: Final = "versions.new.json"
"""The note of a prune that is under way: see :mod:`exporter.copies.pruning`."""
_DOCUMENTS: Final = frozenset({INFO, RUNS, SUMS, PRUNING, *PLAIN_DOCUMENTS})
_NOT_SENT: Final = frozenset({"settings.toml", "index.html", "最初にお読みください.txt"})
_PART: Final = re.compile(
    r"(versions|versions\.new)/([0-9]{6}|[1-9][0-9]{6,9})/("
    + "|".join(map(re.escape, (MANIFEST, SUMS, *SEGMENTS)))
    + ")"
)


PARTS: Final = (SUMS, *SEGMENTS, MANIFEST)
"""The files of a version in the order in which they are sent."""


def part_name(number: int, part: str, folder: str = VERSIONS) -> str:
    """Return the name of a file of a version: ``versions/000001/manifest.json``."""
    return f"{folder}/{version_name(number)}/{part}"


def place_in_version(name: str) -> tuple[int | None, str]:
    """Return the number of the version that an object belongs to, and which file of it; ``None`` for other objects."""
    found = _PART.fullmatch(name)
    return (None, "") if found is None else (int(found[2]), found[3])


class SecondCopy:
    """A copy, as one listing of it found it.

    Attributes:
        store: where it is.
        objects: what it has, by name; only names that a copy has.
        strange: the names of everything else.
        folder: where its versions are: ``versions``, or ``versions.new`` while a prune puts those in its place.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self.objects: dict[str, StoredObject] = {}
        self.strange: list[str] = []
        for found in store.list():
            if found.name in _DOCUMENTS or _PART.fullmatch(found.name) or asset_digest(found.name):
                self.objects[found.name] = found
            elif found.name not in _NOT_SENT:
                self.strange.append(found.name)
        self.pruning = self.sound_or_nothing(PRUNING) if PRUNING in self.objects else None
        # A note alone, without the set that it tells of, hides nothing.
        built = b'"built"' in (self.pruning or b"") and self._numbers(NEW_VERSIONS)
        self.folder = NEW_VERSIONS if built else VERSIONS
        self._manifests: dict[int, tuple[str, Manifest]] = {}

    @property
    def empty(self) -> bool:
        """Whether nothing is there."""
        return not self.objects and not self.strange

    def document(self, name: str) -> bytes:
        """Return the content of a document.

        Raises:
            NoSuchObject: it is not there.
            ArchiveDamaged: it is larger than any of its kind.
        """
        return read_whole(self.store, name, LARGEST_CACHE if name == RUNS else LARGEST_DOCUMENT)

    def document_or_nothing(self, name: str) -> bytes:
        """Return the content of a document, nothing where it is not there."""
        return self.document(name) if name in self.objects else b""

    def sound_or_nothing(self, name: str) -> bytes:
        """Return the content of a document, nothing where it is not there or cannot be read."""
        try:
            return self.document_or_nothing(name)
        except ArchiveDamaged:
            return b""

    def info(self) -> tuple[bytes, ArchiveInfo]:
        """Return ``archive.json``, as bytes and read.

        Raises:
            NoArchive: there is no copy.
            NewerFormat: it needs a newer program.
            ArchiveDamaged: it cannot be read.
        """
        if INFO not in self.objects:
            raise NoArchive(
                message(
                    "{place} holds no copy of an archive: it has no archive.json. Give the place that sync wrote to.",
                    place=self.store.place,
                )
            )
        data = self.document(INFO)
        digest = hashlib.sha256(data).hexdigest()
        if digest != self._sealed_info(digest):
            raise DamagedObject(self.store.place, INFO)
        return data, ArchiveInfo.decode(data, self.store.place)

    def _sealed_info(self, otherwise: str) -> str:
        """Return the hash that the archive, or its newest version, was sealed with ``archive.json`` as."""
        stated = read_sums(self.sound_or_nothing(SUMS)).get(INFO)
        if stated is None and self.numbers():
            stated = read_sums(self.sound_or_nothing(self.part(self.numbers()[-1], SUMS))).get("../../archive.json")
        return stated or otherwise

    def numbers(self) -> list[int]:
        """Return the numbers of the versions that are there, oldest first."""
        return self._numbers(self.folder)

    def unfinished(self) -> list[int]:
        """Return the numbers of the versions of which there are files, but no manifest."""
        there = set(self.numbers())
        return [number for number in self._numbers(self.folder, whole=False) if number not in there]

    def missing(self) -> Iterator[str]:
        """Yield the names of what the seal and the runs tell of, and is not there."""
        named = list(read_sums(self.sound_or_nothing(SUMS)))
        runs = map(run_of, self.sound_or_nothing(RUNS).split(b"\n"))
        newest = max((run.get("version") or 0 for run in runs if run is not None), default=0)
        if newest > max(self.numbers(), default=0):
            named.append(part_name(newest, MANIFEST))
        for name in dict.fromkeys(named):
            part = _PART.fullmatch(name)
            if part is None:
                there = name in self.objects or name not in _DOCUMENTS
            else:
                there = self.part(int(part[2]), part[3]) in self.objects
            if not there:
                yield name

    def _numbers(self, folder: str, *, whole: bool = True) -> list[int]:
        found = (_PART.fullmatch(name) for name in self.objects)
        numbers = {
            int(each[2])
            for each in found
            if each is not None and each[1] == folder and (each[3] == MANIFEST or not whole)
        }
        return sorted(number for number in numbers if 0 < number <= LARGEST_VERSION)

    def part(self, number: int, part: str) -> str:
        """Return the name of a file of a version."""
        return part_name(number, part, self.folder)

    def manifest(self, number: int) -> tuple[str, Manifest]:
        """Return the SHA-256 of a version's manifest, and what it says.

        Raises:
            DamagedObject: it cannot be read.
            NoSuchObject: it is missing.
        """
        if number not in self._manifests:
            name = self.part(number, MANIFEST)
            try:
                data = self.document(name)
                self._manifests[number] = hashlib.sha256(data).hexdigest(), Manifest.decode(data, name)
            except NoSuchObject:
                raise
            except ArchiveDamaged as error:
                raise DamagedObject(self.store.place, name) from error
        return self._manifests[number]

    def assets(self) -> Mapping[str, StoredObject]:
        """Return the stored pictures and files by their names."""
        return {name: found for name, found in self.objects.items() if name.startswith("assets/")}
