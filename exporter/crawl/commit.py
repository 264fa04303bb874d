"""What a run is asked to do, and what it did."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, Self

from exporter.archive import writer
from exporter.archive.lines import remove_line
from exporter.archive.manifest import KindCounts, Manifest, RecordProblem
from exporter.archive.seal import seal
from exporter.crawl.checkpoint import Purpose, drop, read_meta
from exporter.crawl.ingest import ReadingSettings
from exporter.errors import Incomplete
from exporter.model.kinds import Kind, sort_key

if TYPE_CHECKING:
    from exporter.archive.archive import Archive
    from exporter.archive.healing import Damage, DamagedLine
    from exporter.archive.layout import Layout
    from exporter.crawl.assets.join import AssetSummary
    from exporter.crawl.assets.run import AssetSettings
    from exporter.crawl.ledger import Ledger
    from exporter.crawl.removals import Removals

_NOTES: Final = 3
"""Counts changes of what a checkpoint's notes say, so that one of an earlier program is set aside."""


@dataclass(frozen=True, slots=True)
class RunSettings:
    """What a run is asked to do, beside how it reads the service; without ``assets`` no picture is read."""

    blog_id: str
    base_url: str
    reading: ReadingSettings = field(default_factory=ReadingSettings)
    accept_removals: bool = False
    dry_run: bool = False
    resume_max_age: timedelta = timedelta(hours=24)
    assets: AssetSettings | None = None
    strict_assets: bool = False

    def purpose(self, parent: int | None, parent_sha256: str | None) -> Purpose:
        """Return what a checkpoint of such a run is good for, on top of a version and its manifest's SHA-256."""
        assume = asdict(self.reading.assume)
        assume["timezone"] = str(assume["timezone"])
        settings = {"notes": _NOTES, "refresh": str(self.reading.refresh), **assume}
        return Purpose(self.blog_id, self.base_url, settings, parent, parent_sha256)


@dataclass(slots=True)
class Outcome:
    """What a run did.

    Attributes:
        version: the version it made, ``None`` when it made none.
        damaged: paths of damaged files that nothing could restore; for whoever watches the run, ``verify`` finds them.
    """

    started_at: str
    finished_at: str = ""
    outcome: str = "failed"
    exit_code: int = 1
    error: str | None = None
    version: int | None = None
    resumed_from: str | None = None
    requests: int = 0
    retries: int = 0
    bytes: int = 0
    sweeps: int = 0
    healed: int = 0
    restored: list[str] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)
    counts: dict[str, KindCounts] = field(default_factory=dict)
    completeness: dict[str, Any] | None = None
    problems: list[RecordProblem] = field(default_factory=list)
    assets: AssetSummary | None = None

    def line(self) -> dict[str, Any]:
        """Return the run's line in ``runs.jsonl``."""
        line = {**asdict(self), "assets": None if self.assets is None else self.assets.document()}
        del line["damaged"]
        return line

    @classmethod
    def of(cls, manifest: Manifest) -> Outcome:
        """Return what the run did that made a version, as far as the version's manifest tells."""
        partial = incomplete(manifest.problems)
        return cls(
            started_at=manifest.started_at,
            finished_at=manifest.finished_at,
            outcome="saved" if partial is None else "partial",
            exit_code=0 if partial is None else partial.exit_code,
            error=None if partial is None else str(partial),
            version=manifest.version,
            sweeps=manifest.completeness.get("sweeps", 0),
            healed=len(manifest.healed or ()),
            counts=manifest.counts,
            completeness=manifest.completeness,
            problems=manifest.problems,
        )


def incomplete(problems: list[RecordProblem]) -> Incomplete | None:
    """Return the error of a run that saved what it could, ``None`` when that was everything."""
    if not problems:
        return None
    first = f"{problems[0].kind}{'' if problems[0].id is None else ' ' + problems[0].id}: {problems[0].reason}"
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return Incomplete(f"Not everything could be saved: {first[:400]}{more}; the next run tries again.")


def count(ledger: Ledger, gone: Mapping[str, dict[str, Any]]) -> KindCounts:
    """Count what a run found of a kind."""
    new = changed = 0
    for record_id in ledger.changed():
        if record_id not in ledger.base:
            new += 1
        elif record_id not in gone and not ledger.heals(record_id):
            changed += 1
    return KindCounts(total=len(ledger.base) + new - len(gone), new=new, changed=changed, gone=len(gone))


def lines(ledger: Ledger, gone: Mapping[str, dict[str, Any]]) -> Iterator[bytes]:
    """Yield a version's lines of a kind, tombstones of what is ``gone`` among them; the spooled ones as they are."""
    ids = sorted({*ledger.changed(), *gone}, key=sort_key) if gone else ledger.changed()
    for record_id in ids:
        if record_id in gone:
            yield remove_line(record_id, gone[record_id])
        else:
            yield ledger.line(record_id)


def has_changes(counts: Mapping[Kind, KindCounts]) -> bool:
    """Tell whether a version is needed."""
    return any(found.new or found.changed or found.gone for found in counts.values())


_DIED_WITH_IT = ("requests", "retries", "bytes")
"""What only the dead run knew; null in its line."""


def finish_commit(reader: Archive) -> None:
    """Write the line and the seal that a dead run could not write, and drop the checkpoint of the newest version.

    The caller holds the archive's lock.

    Raises:
        ArchiveDamaged: the newest version's manifest cannot be read.
    """
    newest = reader.newest()
    if newest is None:
        seal(reader.layout)
        return
    manifest = reader.manifest(newest)
    if all(run.get("version") != newest for run in reader.newest_runs()):
        line = Outcome.of(manifest).line()
        writer.append_run(reader.layout, {**line, **dict.fromkeys(_DIED_WITH_IT)})
    seal(reader.layout)
    _drop_committed(reader.layout, manifest)


def _drop_committed(layout: Layout, newest: Manifest) -> None:
    """Drop a checkpoint made on top of the newest version's parent.

    A run resumes the checkpoint that is there, or sets it aside, before anything else. So whoever made the newest
    version out of that parent made it out of this checkpoint.
    """
    meta = read_meta(layout.checkpoint)
    if meta is None:
        return
    parent = newest.parent or {}
    if (meta.get("parent"), meta.get("parent_sha256")) == (parent.get("version"), parent.get("sha256")):
        drop(layout.checkpoint)


def unread_before(reader: Archive) -> list[str]:
    """Return the entries that the newest run with a result could not read; the next run reads them first."""
    for run in reader.newest_runs():
        if run.get("completeness") is not None:
            return [
                problem["id"]
                for problem in run.get("problems", [])
                if problem.get("kind") == Kind.ENTRIES and isinstance(problem.get("id"), str)
            ]
    return []


@dataclass(frozen=True, slots=True)
class Healing:
    """The damage that a run met, and how far it heals it.

    Attributes:
        lines: the bad lines that nothing depends on once the run is committed.
        records: how many records are written again.
        problems: the records that stay damaged.
        revived: by kind, ids whose tombstone has to be written again.
    """

    lines: Sequence[DamagedLine]
    records: int
    problems: Sequence[RecordProblem]
    revived: Mapping[Kind, set[str]]

    @classmethod
    def of(cls, harm: Damage, ledgers: Mapping[Kind, Ledger], removals: Removals) -> Self:
        """Judge what a run has read; a record that is gone needs no healing."""
        left: dict[Kind, set[str]] = {}
        records = 0
        for kind, ids in harm.records.items():
            wanted = ids - removals.of(kind).keys()
            left[kind] = {record_id for record_id in wanted if ledgers[kind].lacks(record_id)}
            records += len(wanted) - len(left[kind])
        problems = [
            RecordProblem(
                str(kind),
                record_id,
                "what the archive holds of it is damaged, and it could not be read again: run verify --repair",
            )
            for kind, ids in left.items()
            for record_id in sorted(ids)
        ]
        # Which record an unreadable line was of cannot be told, so it counts as healed once all of its kind are.
        lines = [line for line in harm.lines if not left[line.kind]]
        return cls(lines, records + sum(map(len, harm.revived.values())), problems, harm.revived)

    def tombstones(self, kind: Kind) -> dict[str, dict[str, Any]]:
        """Return the evidence of the tombstones to write again, by id."""
        return {record_id: {"healed": True} for record_id in self.revived[kind]}
