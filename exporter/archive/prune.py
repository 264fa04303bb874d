"""Pruning: which versions are kept, and the fold of the others into those.

The rules are those of ``restic forget``. From the newest version to the oldest, the newest of each day (week, month,
year) is kept until the number is reached. The rules add up. The oldest version is kept while a rule has some left, so
that the history stays as long as possible.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from exporter.archive import atomic
from exporter.archive.assets import stored_files
from exporter.archive.documents import seal
from exporter.archive.layout import SEGMENTS, clear_replaced, segment_name
from exporter.archive.reader import ArchiveReader, apply_version
from exporter.archive.rewriting import VersionRewriting, replacing_versions
from exporter.archive.segments import LinePosition, checked_line, line_positions
from exporter.archive.state import State
from exporter.errors import UsageError
from exporter.frozen import frozen
from exporter.message import message
from exporter.model.kinds import Kind, sort_key

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from exporter.archive.layout import Layout

ALL = -1
"""A rule with this number keeps every day (week, …)."""

RULES: Final[dict[str, tuple[str, Callable[[datetime, int], tuple[int, ...]]]]] = {
    "last": (message("last"), lambda _, position: (position,)),
    "daily": (message("daily"), lambda time, _: (time.year, time.month, time.day)),
    "weekly": (message("weekly"), lambda time, _: tuple(time.isocalendar()[:2])),
    "monthly": (message("monthly"), lambda time, _: (time.year, time.month)),
    "yearly": (message("yearly"), lambda time, _: (time.year,)),
}
"""The name of each rule for people, and the period of a version by its time and its position from the newest."""


@frozen
class KeptVersion:
    """A version that stays.

    Attributes:
        version: its number, which it keeps.
        reasons: the rules that keep it, such as ``daily`` or ``oldest monthly``.
        folds: the versions right before it that are folded into it, oldest first.
    """

    version: int
    reasons: tuple[str, ...]
    folds: tuple[int, ...] = ()


@frozen
class PrunePlan:
    """The versions that stay, oldest first; all others are folded into them."""

    kept: tuple[KeptVersion, ...]

    @property
    def dropped(self) -> tuple[int, ...]:
        """The versions to remove, oldest first."""
        return tuple(version for kept in self.kept for version in kept.folds)

    @property
    def versions(self) -> tuple[int, ...]:
        """All versions of the plan, oldest first."""
        return tuple(version for kept in self.kept for version in (*kept.folds, kept.version))


def plan_prune(
    versions_with_times: Sequence[tuple[int, datetime]],
    *,
    keep_last: int = 0,
    keep_daily: int = 0,
    keep_weekly: int = 0,
    keep_monthly: int = 0,
    keep_yearly: int = 0,
) -> PrunePlan:
    """Decide which versions a prune keeps.

    Args:
        versions_with_times: every version with the time of its commit; days and weeks (ISO 8601) are those of the
            times' own offset.
        keep_last: keep the newest versions; 0 keeps none by this rule, -1 all.
        keep_daily: keep the newest version of each of the newest days that have one.
        keep_weekly: the same for weeks.
        keep_monthly: the same for months.
        keep_yearly: the same for years.

    Raises:
        UsageError: no rule is given, or a number is below -1.
    """
    left = dict(zip(RULES, (keep_last, keep_daily, keep_weekly, keep_monthly, keep_yearly), strict=True))
    for name, number in left.items():
        if number < ALL:
            raise UsageError(
                "--keep-{name} {number} is not a number of versions: give one from 1, or -1 for all.",
                name=name,
                number=number,
            )
    if not any(left.values()):
        raise UsageError(
            message(
                "A prune needs at least one of --keep-last, --keep-daily, --keep-weekly, --keep-monthly, --keep-yearly."
            )
        )
    reasons: dict[int, tuple[str, ...]] = {}
    counted: dict[str, tuple[int, ...]] = {}
    oldest = min((version for version, _ in versions_with_times), default=0)
    for position, (version, time) in enumerate(sorted(versions_with_times, reverse=True)):
        for name, (label, period_of) in RULES.items():
            period = period_of(time, position)
            fresh = counted.get(name) != period
            if left[name] != 0 and (fresh or version == oldest):
                counted[name] = period
                left[name] -= left[name] > 0
                reasons[version] = (
                    *reasons.get(version, ()),
                    label if fresh else message("oldest {rule}", rule=label),
                )
    versions = sorted(version for version, _ in versions_with_times)
    return PrunePlan(
        tuple(
            KeptVersion(high, reasons[high], tuple(version for version in versions if low < version < high))
            for low, high in pairwise([0, *sorted(reasons)])
        )
    )


_HASH = re.compile(rb"[0-9a-f]{64}")


@frozen
class PruneResult:
    """The number of removed versions, of removed files in ``assets/`` and of their bytes."""

    versions: int
    assets: int
    asset_bytes: int


def prune(layout: Layout, plan: PrunePlan) -> PruneResult:
    """Execute a plan; the caller holds the archive's lock and rebuilds ``latest/`` afterwards.

    ``latest/`` must be rebuilt from a fresh fold if a version was removed, because its records name their versions.
    After a kill the archive is either unchanged or pruned, and another call completes the work. A plan that removes no
    version still removes unreferenced assets.

    Raises:
        UsageError: the archive has other versions than the plan.
        ArchiveDamaged: a file does not match its hash; nothing was changed.
        NoSpace: the disk is full; nothing was changed.
    """
    with atomic.translated(layout.root):
        clear_replaced(layout)
        reader = ArchiveReader(layout.root)
        if tuple(reader.versions()) != plan.versions:
            raise UsageError(
                "The versions of {root} changed after the prune was planned. Run prune again.", root=layout.root
            )
        if plan.dropped:
            with replacing_versions(layout):
                _Folding(reader).build(plan)
        seal(layout)
        count, size = remove_unreferenced(layout)
    return PruneResult(len(plan.dropped), count, size)


class _Folding(VersionRewriting):
    """Builds the new set of versions under ``.work/``."""

    def __init__(self, reader: ArchiveReader) -> None:
        super().__init__(reader, message("Nothing was pruned."))
        self._state = State(reader.info.blog_id)

    def build(self, plan: PrunePlan) -> None:
        """Write every version that is kept."""
        for kept in plan.kept:
            folder = self.new_folder(kept.version)
            documents = [self.checked(version) for version in (*kept.folds, kept.version)]
            document = documents[-1]
            if kept.folds:
                document["files"], document["counts"] = self._fold(kept, folder, document)
                document["pruned"] = _pruned(kept, documents)
            else:
                for name in SEGMENTS:
                    self.link(kept.version, name)
            self.finish(document)
            for version in (*kept.folds, kept.version):
                apply_version(self._state, self.layout, version)

    def _fold(self, kept: KeptVersion, folder: Path, document: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Write the folded segments; return ``files`` and ``counts`` for the manifest."""
        files: dict[str, Any] = {}
        counts: dict[str, Any] = dict(document["counts"])
        for kind in Kind:
            last: dict[str, LinePosition] = {}
            for version in (*kept.folds, kept.version):
                last.update(line_positions(self.layout.segment(version, kind)))
            found = {"new": 0, "changed": 0, "gone": 0}
            lines = 0
            name = segment_name(kind)
            with atomic.hashing(folder / name) as file:
                for text, change in self._folded_lines(kind, last):
                    file.write(text)
                    lines += 1
                    if change is not None:
                        found[change] += 1
                files[name] = {"lines": lines, "bytes": file.size, "sha256": file.close()}
            counts[kind] = {**counts.get(kind, {"total": 0}), **found}
        return files, counts

    def _folded_lines(self, kind: Kind, last: dict[str, LinePosition]) -> Iterator[tuple[bytes, str | None]]:
        """Yield the lines that turn the state before into the state after, each with the name of its count."""
        state = self._state.kinds[kind]
        for record_id in sorted(last, key=sort_key):
            text = last[record_id].text()
            line = checked_line(last[record_id].path, text)
            row = state.row(record_id)
            if line.removed:
                yield text, None if row is None else "gone"
            elif row is None:
                yield text, "new"
            elif state.identity(row) != line.identity:
                yield text, "changed"


def _pruned(kept: KeptVersion, documents: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the ``pruned`` member: the versions that were folded into this one now and before."""
    earlier = [document["pruned"] for document in documents if document.get("pruned") is not None]
    return {
        "first": min([kept.folds[0], *(found["first"] for found in earlier)]),
        "last": kept.folds[-1],
        "count": len(kept.folds) + sum(found["count"] for found in earlier),
        "started_at": min([documents[0]["started_at"], *(found["started_at"] for found in earlier)]),
    }


def remove_unreferenced(layout: Layout, among: Collection[str] | None = None) -> tuple[int, int]:
    """Remove the files of ``assets/`` that no version and no unfinished run names.

    Args:
        layout: the archive; the caller holds its lock.
        among: the SHA-256 of the files that may go; ``None`` for all.

    Returns:
        Their number, and their bytes.
    """
    named = named_assets(layout)
    unnamed = [
        stored
        for digest, stored in stored_files(layout.assets)
        if digest.encode("ascii") not in named and (among is None or digest in among)
    ]
    for stored in unnamed:
        (layout.root / stored.path).unlink()
    return len(unnamed), sum(stored.size for stored in unnamed)


def named_assets(layout: Layout) -> set[bytes]:
    """Return everything in the records of assets that looks like a hash, of all versions and of unfinished runs."""
    checkpoints = []
    with contextlib.suppress(FileNotFoundError):
        checkpoints = [layout.work / name for name in layout.work.names() if name.startswith("checkpoint")]
    named: set[bytes] = set()
    for folder in (*layout.versions.iterdir(), *checkpoints):
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            named.update(_HASH.findall((folder / segment_name(Kind.ASSETS)).read_bytes()))
    return named
