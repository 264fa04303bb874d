"""Read the untrusted versions and documents of a copy, and compare its history with an archive's.

A version exists when its manifest does. Its other files are stored before, first ``SHA256SUMS``, which has the hashes
of the others. So the writer that stores it first decides the version. Files of a version without a manifest belong to
an unfinished transfer.

Each manifest has the hash of the manifest before it. If two histories have the same manifest for a number, they are the
same up to this number. A prune changes hashes, and of a manifest only the parts that describe folded versions.
"""

from __future__ import annotations

import hashlib
import heapq
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum, auto
from itertools import accumulate, takewhile
from operator import itemgetter
from typing import Any, Final, Protocol

from exporter import lossless_json
from exporter.archive.archive import Archive
from exporter.archive.captures import CaptureInfo, is_capture_file
from exporter.archive.declared import FlagDeclaration, declarations_in
from exporter.archive.evidence import place_in_evidence
from exporter.archive.forgotten import FILE_NAME, newest_name, notes_in, renamed_hashes
from exporter.archive.layout import (
    CAPTURE,
    CAPTURE_RUNS,
    LARGEST_VERSION,
    MANIFEST,
    MAX_CAPTURE_BYTES,
    NAMES,
    OWNER_RECORDS,
    SEGMENTS,
    SUMS,
    asset_digest,
    version_name,
)
from exporter.archive.manifest import ArchiveInfo, Manifest, line_digest, read_sums, run_of
from exporter.archive.names import BlogName, names_in
from exporter.archive.safe_files import MAX_CACHE_BYTES, MAX_DOCUMENT_BYTES
from exporter.copies.store import Store, StoredObject, read_whole
from exporter.errors import ArchiveDamaged, ArchiveLocked, DamagedObject, HistoriesDiffer, NoArchive, NoSuchObject
from exporter.message import suggested

INFO: Final = "archive.json"
RUNS: Final = "runs.jsonl"
FORGOTTEN: Final = FILE_NAME
PLAIN_DOCUMENTS: Final = ("README.txt", "FORMAT.md")
VERSIONS: Final = "versions"
CAPTURES: Final = "captures"
NEW_VERSIONS: Final = "versions.new"
PRUNING: Final = "versions.new.json"
"""The note of an unfinished prune: see :mod:`exporter.copies.pruning`."""
PARTS: Final = (SUMS, *SEGMENTS, MANIFEST)
"""The files of a version in the order of sending."""
_DOCUMENTS: Final = frozenset({INFO, RUNS, SUMS, PRUNING, CAPTURE_RUNS, FORGOTTEN, *OWNER_RECORDS, *PLAIN_DOCUMENTS})
_CAPTURED: Final = re.compile(rf"{CAPTURES}/([0-9]{{6}}|[1-9][0-9]{{6,9}})/([^/]+)")
_NOT_SENT: Final = frozenset({"settings.toml", "index.html", "最初にお読みください.txt"})
_PART: Final = re.compile(
    rf"({VERSIONS}|{re.escape(NEW_VERSIONS)})/([0-9]{{6}}|[1-9][0-9]{{6,9}})/({'|'.join(map(re.escape, PARTS))})"
)


def part_name(number: int, part: str, folder: str = VERSIONS) -> str:
    """Return a version file's name, such as ``versions/000001/manifest.json``."""
    return f"{folder}/{version_name(number)}/{part}"


def capture_part(number: int, part: str) -> str:
    """Return the name of a capture's file, such as ``captures/000001/capture.json``."""
    return f"{CAPTURES}/{version_name(number)}/{part}"


def place_in_capture(name: str) -> tuple[int | None, str]:
    """Return an object's capture number and file; ``None`` for an object outside captures."""
    found = _CAPTURED.fullmatch(name) if name.startswith(CAPTURES) else None
    return (int(found[1]), found[2]) if found is not None and is_capture_file(found[2]) else (None, "")


def place_in_version(name: str) -> tuple[int | None, str]:
    """Return an object's version number and file; ``None`` for an object outside versions."""
    found = _PART.fullmatch(name) if name.startswith(VERSIONS) else None
    return (None, "") if found is None else (int(found[2]), found[3])


def _is_numbered(name: str) -> bool:
    """Return whether an object belongs to a capture or to a seal."""
    return bool(place_in_capture(name)[0] or place_in_evidence(name)[0])


class History(Protocol):
    """The versions of an archive or of a copy."""

    def numbers(self) -> list[int]:
        """Return the version numbers, oldest first."""
        ...

    def manifest(self, number: int) -> tuple[str, Manifest]:
        """Return a version's manifest and its SHA-256, the hash first."""
        ...

    def renamed(self) -> dict[str, str]:
        """Return what hashes became when records were forgotten."""
        ...


class LocalHistory:
    """The versions that an archive had at the first access; ``layout`` has its paths."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self.layout = archive.layout
        self._numbers = archive.versions()
        self._manifests: dict[int, tuple[str, Manifest]] = {}

    def numbers(self) -> list[int]:
        """Return the version numbers, oldest first."""
        return self._numbers

    def manifest(self, number: int) -> tuple[str, Manifest]:
        """Return a version's manifest and its SHA-256, the hash first.

        Raises:
            ArchiveDamaged: the manifest is missing or unreadable.
        """
        if number not in self._manifests:
            path = self._archive.layout.manifest(number)
            try:
                data = path.read_bytes(MAX_DOCUMENT_BYTES)
            except OSError as error:
                raise ArchiveDamaged(
                    "{path} is missing or cannot be read: run {command}.",
                    path=path,
                    command=suggested("verify", "--repair", str(self._archive.path)),
                ) from error
            self._manifests[number] = hashlib.sha256(data).hexdigest(), Manifest.decode(data, str(path))
        return self._manifests[number]

    def renamed(self) -> dict[str, str]:
        """Return what hashes became when records were forgotten; nothing if the notes are missing or damaged."""
        with suppress(OSError):
            return renamed_in(self.layout.forgotten.read_bytes(MAX_CACHE_BYTES))
        return {}


class SecondCopy:
    """A copy, as one listing shows it.

    Attributes:
        store: the store.
        objects: the objects with valid names, by name.
        strange: the names of all other objects.
        folder: the folder of its versions: ``versions``, or ``versions.new`` during a prune.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self.objects: dict[str, StoredObject] = {}
        self.strange: list[str] = []
        self._parts: dict[str, dict[int, set[str]]] = {VERSIONS: {}, NEW_VERSIONS: {}}
        for found in store.list():
            part = _PART.fullmatch(found.name) if found.name.startswith(VERSIONS) else None
            if part is not None:
                self._parts[part[1]].setdefault(int(part[2]), set()).add(part[3])
                self.objects[found.name] = found
            elif found.name in _DOCUMENTS or asset_digest(found.name) or _is_numbered(found.name):
                self.objects[found.name] = found
            elif found.name not in _NOT_SENT:
                self.strange.append(found.name)
        self.pruning = self.sound_or_nothing(PRUNING) if PRUNING in self.objects else None
        # A note without the new versions hides nothing.
        built = b'"built"' in (self.pruning or b"") and self._numbers(NEW_VERSIONS)
        self.folder = NEW_VERSIONS if built else VERSIONS
        self._manifests: dict[int, tuple[str, Manifest]] = {}

    @property
    def empty(self) -> bool:
        """Whether the store has no objects."""
        return not self.objects and not self.strange

    def document(self, name: str) -> bytes:
        """Return the content of a document.

        Raises:
            NoSuchObject: the document does not exist.
            ArchiveDamaged: the document is too large.
        """
        limit = MAX_CACHE_BYTES if name in {RUNS, CAPTURE_RUNS, FORGOTTEN} else MAX_DOCUMENT_BYTES
        return read_whole(self.store, name, MAX_CAPTURE_BYTES if place_in_capture(name)[1] == CAPTURE else limit)

    def document_or_nothing(self, name: str) -> bytes:
        """Return the content of a document; empty if it does not exist."""
        return self.document(name) if name in self.objects else b""

    def sound_or_nothing(self, name: str) -> bytes:
        """Return the content of a document; empty if it does not exist or is damaged."""
        try:
            return self.document_or_nothing(name)
        except ArchiveDamaged:
            return b""

    def renamed(self) -> dict[str, str]:
        """Return what hashes became when records were forgotten; nothing if the notes are missing or damaged."""
        return renamed_in(self.sound_or_nothing(FORGOTTEN))

    def info(self) -> tuple[bytes, ArchiveInfo]:
        """Return the content of ``archive.json``, as bytes and decoded.

        Raises:
            NoArchive: there is no copy.
            NewerFormat: the copy needs a newer program.
            ArchiveDamaged: the file is damaged.
        """
        if INFO not in self.objects:
            raise NoArchive(
                "{place} has no copy of an archive: it has no archive.json. Give the place that sync wrote to.",
                place=self.store.place,
            )
        data = self.document(INFO)
        stated = read_sums(self.sound_or_nothing(SUMS)).get(INFO)
        if stated is None and self.numbers():
            stated = read_sums(self.sound_or_nothing(self.part(self.numbers()[-1], SUMS))).get(f"../../{INFO}")
        if stated not in {None, "", hashlib.sha256(data).hexdigest()}:
            raise DamagedObject(self.store.place, INFO)
        return data, ArchiveInfo.decode(data, self.store.place)

    def numbers(self) -> list[int]:
        """Return the version numbers, oldest first."""
        return self._numbers(self.folder)

    def unfinished(self) -> list[int]:
        """Return the numbers of versions that have files but no manifest."""
        finished = set(self.numbers())
        return [number for number in self._numbers(self.folder, whole=False) if number not in finished]

    def missing(self) -> Iterator[str]:
        """Yield the names of missing files that the seal or the runs mention."""
        named = list(read_sums(self.sound_or_nothing(SUMS)))
        runs = map(run_of, self.sound_or_nothing(RUNS).split(b"\n"))
        newest = max((run.get("version") or 0 for run in runs if run is not None), default=0)
        if newest > max(self.numbers(), default=0):
            named.append(part_name(newest, MANIFEST))
        for name in dict.fromkeys(named):
            number, part = place_in_version(name)
            exists = name in self.objects or not (name in _DOCUMENTS or place_in_capture(name)[0])
            if not (exists if number is None else self.part(number, part) in self.objects):
                yield name

    def _numbers(self, folder: str, *, whole: bool = True) -> list[int]:
        return sorted(
            number
            for number, parts in self._parts[folder].items()
            if 0 < number <= LARGEST_VERSION and (MANIFEST in parts or not whole)
        )

    def part(self, number: int, part: str) -> str:
        """Return the name of a version's file."""
        return part_name(number, part, self.folder)

    def manifest(self, number: int) -> tuple[str, Manifest]:
        """Return a version's manifest and its SHA-256, the hash first.

        Raises:
            DamagedObject: the manifest is damaged.
            NoSuchObject: the manifest does not exist.
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

    def capture_numbers(self) -> list[int]:
        """Return the numbers of the captures, oldest first."""
        found = (place_in_capture(name) for name in self.objects)
        numbers = {number for number, part in found if number is not None and part == CAPTURE}
        return sorted(number for number in numbers if 0 < number <= LARGEST_VERSION)

    def capture(self, number: int) -> tuple[bytes, CaptureInfo]:
        """Return a capture's ``capture.json``, as bytes and decoded.

        Raises:
            DamagedObject: the file is damaged.
            NoSuchObject: the file does not exist.
        """
        name = capture_part(number, CAPTURE)
        data = self.document(name)
        try:
            return data, CaptureInfo.of(lossless_json.loads(data))
        except ValueError as error:
            raise DamagedObject(self.store.place, name) from error

    def assets(self) -> dict[str, StoredObject]:
        """Return the pictures and files by name."""
        return {name: found for name, found in self.objects.items() if name.startswith("assets/")}


class Relation(Enum):
    """The relation of a transfer's source to its target."""

    SAME = auto()
    AHEAD = auto()
    """The source has newer versions, or the target has none."""
    BEHIND = auto()
    """The target has newer versions."""
    PRUNED = auto()
    """The source is the result of pruning the target, perhaps with newer versions."""
    UNPRUNED = auto()
    """The target is the result of pruning the source."""
    PARTED = auto()
    """Both have versions that the other lacks."""


@dataclass(frozen=True, slots=True)
class Related:
    """How a source is related to a target, and the newest version that both have; 0 if they have none."""

    relation: Relation
    common: int


def relate(source: History, target: History) -> Related:
    """Compare two histories with as few manifests as possible: usually one of each.

    Raises:
        ArchiveDamaged: a necessary manifest is damaged.
    """
    ours, theirs = source.numbers(), target.numbers()
    if not theirs:
        return Related(Relation.AHEAD if ours else Relation.SAME, 0)
    if not ours:
        return Related(Relation.BEHIND, 0)
    common = sorted(set(ours) & set(theirs))
    if common and _same(source, target, common[-1]):
        newest = common[-1]
        ahead, behind = following(source, newest), following(target, newest)
        if ahead and behind:
            return Related(Relation.PARTED, newest)
        if ahead:
            return Related(Relation.AHEAD, newest)
        return Related(Relation.BEHIND if behind else Relation.SAME, newest)
    newest = _newest_same(source, target, common)
    if _is_pruned(source, target):
        return Related(Relation.PRUNED, newest)
    return Related(Relation.UNPRUNED if _is_pruned(target, source) else Relation.PARTED, newest)


def require_related(related: Related, source: object, target: object, *, prune: bool) -> None:
    """Refuse a transfer between histories that do not fit.

    Args:
        related: the relation.
        source: the name of the source for messages.
        target: the name of the target for messages.
        prune: whether the target may be pruned.

    Raises:
        HistoriesDiffer: the histories do not fit.
    """
    values: dict[str, Any] = {"source": source, "target": target, "version": related.common}
    if related.relation is Relation.PARTED:
        raise HistoriesDiffer(
            "{source} and {target} have different histories after version {version}: each has versions that the "
            "other lacks. Name another place.",
            **values,
        )
    if related.relation is Relation.UNPRUNED:
        raise HistoriesDiffer(
            "{target} was pruned, and {source} still has the folded versions: prune it by the same rules, or name "
            "another place.",
            **values,
        )
    if related.relation is Relation.PRUNED and not prune:
        raise HistoriesDiffer(
            "{source} was pruned, and {target} still has the folded versions: add --prune to remove them there, or "
            "name another place.",
            **values,
        )


def united(name: str, ours: bytes, theirs: bytes) -> bytes | None:
    """Return the lines of an owner's record in an archive and in its copy.

    Two machines may each have added lines, and the last line about something counts. So each file's lines keep their
    order, and only lines that the other file lacks are placed by their times.

    Returns:
        The whole content, or ``None`` if a line is damaged, or if two different lines have one time.
    """
    longer = ours if ours.startswith(theirs) else theirs if theirs.startswith(ours) else None
    if longer is not None:
        return None if _timed(name, longer) is None else longer
    here, there = _timed(name, ours), _timed(name, theirs)
    if here is None or there is None:
        return None
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(here, there, strict=False)))
    new, lacking = ({*one} - {*other} for one, other in ((here, there), (there, here)))
    if {at for at, _ in new} & {at for at, _ in lacking}:
        return None
    ours_alone = [(at, line) for (at, line), each in zip(_rising(here), here, strict=True) if each in new]
    found = [*there[:same], *heapq.merge(_rising(there)[same:], ours_alone, key=itemgetter(0))]
    return b"".join(line + b"\n" for _, line in found)


def _rising(lines: Sequence[tuple[str, bytes]]) -> list[tuple[str, bytes]]:
    """Return lines with times that never fall, so that a clock that went back changes no order."""
    return list(zip(accumulate((at for at, _ in lines), max), (line for _, line in lines), strict=True))


def _timed(name: str, data: bytes) -> list[tuple[str, bytes]] | None:
    """Return the lines with their times; ``None`` if one is damaged."""
    found: list[tuple[str, bytes]] = []
    lines: Iterator[tuple[int, BlogName | FlagDeclaration | str]]
    lines = names_in(data) if name == NAMES else declarations_in(data)
    for (_, record), line in zip(lines, data.split(b"\n"), strict=False):
        if isinstance(record, str):
            return None
        found.append((record.at, line))
    return found


def renamed_in(notes: bytes) -> dict[str, str]:
    """Return what hashes became when records were forgotten; nothing if the notes are damaged."""
    with suppress(ValueError):
        return renamed_hashes(notes_in(notes))
    return {}


def became(renamed: Mapping[str, str], before: str, after: str) -> bool:
    """Return whether this hash became that other one when records were forgotten."""
    return before != after and newest_name(renamed, before) == after


def was_rewritten(renamed: Mapping[str, str], runs: bytes, older: bytes) -> bool:
    """Return whether ``runs.jsonl`` are older runs whose lines changed when records were forgotten."""
    last = older.rstrip(b"\n").rpartition(b"\n")[2]
    if not renamed or not last or runs.startswith(older):
        return False
    wanted = newest_name(renamed, line_digest(last))
    return any(line_digest(line) == wanted for line in runs.split(b"\n"))


def extends(runs: bytes, older: bytes, place: str, root: object) -> bool:
    """Return whether a log of runs begins with an older one; ``False`` if the older one has more lines.

    Raises:
        HistoriesDiffer: the logs of the copy at ``place`` and of the archive in ``root`` differ.
    """
    if runs.startswith(older):
        return True
    if older.startswith(runs):
        return False
    raise HistoriesDiffer(
        "{place}/{runs} has other runs than {archive}: one of them was changed, or both were written since they "
        "parted. Run verify on both.",
        place=place,
        runs=RUNS,
        archive=root,
    )


def changed_meanwhile(place: str) -> ArchiveLocked:
    """Return the error about a copy that another writer has changed."""
    return ArchiveLocked("Another writer has changed {place}: run sync again.", place=place)


def following(history: History, number: int) -> list[int]:
    """Return the versions that follow a version, each with the hash of the manifest before it.

    Any other version with a higher number does not belong to this history.
    """
    found = []
    digest = history.manifest(number)[0]
    before = number
    for each in history.numbers():
        if each <= number:
            continue
        try:
            next_digest, manifest = history.manifest(each)
        except ArchiveDamaged:
            break
        parent = manifest.parent or {}
        if (manifest.version, parent.get("version"), parent.get("sha256")) != (each, before, digest):
            break
        found.append(each)
        before, digest = each, next_digest
    return found


def _same(source: History, target: History, number: int) -> bool:
    return source.manifest(number)[0] == target.manifest(number)[0]


def _newest_same(source: History, target: History, common: list[int]) -> int:
    """Return the newest version that both have, by binary search; 0 if they have none."""
    low, high = 0, len(common)
    while low < high:
        middle = (low + high) // 2
        if _same(source, target, common[middle]):
            low = middle + 1
        else:
            high = middle
    return common[low - 1] if low else 0


def _is_pruned(pruned: History, whole: History) -> bool:
    """Return whether a history is the result of pruning another one, perhaps with newer versions."""
    kept, before = pruned.numbers(), whole.numbers()
    if before[-1] > kept[-1] or not {number for number in kept if number <= before[-1]} <= {*before}:
        return False
    return all(_is_kept(pruned, whole, kept, number) for number in before)


def _is_kept(pruned: History, whole: History, kept: list[int], number: int) -> bool:
    """Return whether a version still exists, or is folded into one that exists."""
    holder = next(each for each in kept if each >= number)
    digest, manifest = pruned.manifest(holder)
    folds = manifest.pruned
    if holder != number:
        return folds is not None and folds["first"] <= number <= folds["last"]
    other = whole.manifest(number)[1]
    same = _unchanged(manifest) == _unchanged(other)
    if not same and folds != other.pruned and _made(manifest) == _made(other):
        return digest in pruned.renamed().values()
    return same and (folds != other.pruned or manifest.files == other.files)


def _made(manifest: Manifest) -> tuple[object, ...]:
    """Return the parts of a manifest that neither a prune nor the removal of forgotten records changes."""
    return (manifest.blog_id, manifest.base_url, manifest.started_at, manifest.finished_at, manifest.tool)


def _unchanged(manifest: Manifest) -> tuple[object, ...]:
    """Return the parts of a manifest that a prune does not change."""
    return (
        *_made(manifest),
        manifest.completeness,
        manifest.problems,
        manifest.healed,
        {kind: counts.total for kind, counts in manifest.counts.items()},
    )
