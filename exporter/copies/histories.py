"""How the history of an archive and that of its copy belong together. Pure.

Each manifest names the hash of the one before it, so where two histories have the same manifest of one number, they are
the same up to it. A prune gives manifests new hashes and changes nothing else in them but what it folded.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, Protocol

from exporter.errors import ArchiveDamaged

if TYPE_CHECKING:
    from exporter.archive.manifest import Manifest


class History(Protocol):
    """The versions of an archive or of a copy."""

    def numbers(self) -> list[int]:
        """Return their numbers, oldest first."""
        ...

    def manifest(self, number: int) -> tuple[str, Manifest]:
        """Return the SHA-256 of a version's manifest, and what it says."""
        ...


class Relation(Enum):
    """What the source of a transfer is to its target."""

    SAME = auto()
    AHEAD = auto()
    """It has newer versions, or the target has none."""
    BEHIND = auto()
    """The target has newer versions."""
    PRUNED = auto()
    """It is what a prune made of the target, perhaps with newer versions."""
    UNPRUNED = auto()
    """The target is what a prune made of it."""
    PARTED = auto()
    """Each has versions that the other has not."""


@dataclass(frozen=True, slots=True)
class Related:
    """What the source is to the target, and the newest version that both have; 0 where there is none."""

    relation: Relation
    common: int


def relate(source: History, target: History) -> Related:
    """Compare two histories, reading no more manifests than it takes: one of each in the usual case.

    Raises:
        ArchiveDamaged: a manifest that is needed cannot be read.
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


def following(history: History, number: int) -> list[int]:
    """Return the numbers of the versions that follow one of a history: each names the manifest before it.

    What else has a higher number is no version of this history, whatever it says.
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
    """Return the newest version that both have: up to it all are the same, after it none is."""
    low, high = 0, len(common)
    while low < high:
        middle = (low + high) // 2
        if _same(source, target, common[middle]):
            low = middle + 1
        else:
            high = middle
    return common[low - 1] if low else 0


def _is_pruned(pruned: History, whole: History) -> bool:
    """Tell whether a history is what prunes made of another one, perhaps with versions that were added since."""
    kept, before = pruned.numbers(), whole.numbers()
    if before[-1] > kept[-1] or not {number for number in kept if number <= before[-1]} <= {*before}:
        return False
    return all(_is_kept(pruned, whole, kept, number) for number in before)


def _is_kept(pruned: History, whole: History, kept: list[int], number: int) -> bool:
    """Tell whether a version is still there, or is folded into one that is."""
    holder = next(each for each in kept if each >= number)
    manifest = pruned.manifest(holder)[1]
    folds = manifest.pruned
    if holder != number:
        return folds is not None and folds["first"] <= number <= folds["last"]
    other = whole.manifest(number)[1]
    same = _unchanged(manifest) == _unchanged(other)
    return same and (folds != other.pruned or manifest.files == other.files)


def _unchanged(manifest: Manifest) -> tuple[object, ...]:
    """Return what a prune leaves as it is."""
    return (
        manifest.blog_id,
        manifest.base_url,
        manifest.started_at,
        manifest.finished_at,
        manifest.tool,
        manifest.completeness,
        manifest.problems,
        manifest.healed,
        {kind: counts.total for kind, counts in manifest.counts.items()},
    )
