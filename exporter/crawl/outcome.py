"""What a run did: its line in ``runs.jsonl``."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from datetime import UTC
from typing import TYPE_CHECKING, Any

from exporter.archive.manifest import KindCounts, Manifest, RecordProblem
from exporter.clock import at_home, differs
from exporter.errors import ArchiveDamaged, Incomplete
from exporter.message import listed, message, suggested
from exporter.model.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from pathlib import Path

    from exporter.archive.archive import Archive
    from exporter.crawl.assets.summary import AssetSummary


@dataclass(slots=True)
class Outcome:
    """What a run did.

    Attributes:
        version: the version it made, ``None`` when it made none.
        service_time: the time that the service stated, where this machine's clock was more than a day away from it.
        damaged: paths of damaged files that nothing could restore; for the summary; ``verify`` finds them too.
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
    service_time: str | None = None

    def line(self) -> dict[str, Any]:
        """Return the run's line in ``runs.jsonl``."""
        line = {**asdict(self), "assets": None if self.assets is None else self.assets.document()}
        del line["damaged"]
        if self.service_time is None:
            del line["service_time"]
        return line

    @classmethod
    def of(cls, manifest: Manifest) -> Outcome:
        """Return what the run did that made a version, as far as the version's manifest says."""
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


_SHOWN = 400


def incomplete(problems: list[RecordProblem]) -> Incomplete | None:
    """Return the error of a run that saved what it could, ``None`` when that was everything."""
    if not problems:
        return None
    first, more = problems[0], len(problems) - 1
    what = first.kind if first.id is None else f"{first.kind} {first.id}"
    reason = message("{what}: {reason}", what=what, reason=first.reason)
    shown = reason if len(reason) <= _SHOWN else reason[:_SHOWN]
    if not more:
        return Incomplete(message("Not everything could be saved: {first}; the next run tries again.", first=shown))
    return Incomplete(
        message(
            "Not everything could be saved: {first} (and {more} more); the next run tries again.",
            first=shown,
            more=more,
        )
    )


def still_damaged(root: Path, paths: Sequence[str]) -> ArchiveDamaged | None:
    """Return the error of a run that leaves damaged files behind, ``None`` when there are none."""
    if not paths:
        return None
    return ArchiveDamaged(
        message(
            "The backup is saved, and files in the archive stay damaged: {paths}. To see what can be done: {command}",
            paths=listed([*paths[:3], *(["…"] if len(paths) > 3 else [])]),
            command=suggested("verify", root),
        )
    )


def later_run(reader: Archive, now: datetime) -> str | None:
    """Return when the newest run began, if that is more than a day after ``now``."""
    begun = next((run.get("started_at") for run in reader.newest_runs()), None)
    moment = at_home(begun, UTC) if isinstance(begun, str) else None
    return begun if moment is not None and moment > now and differs(now, moment) else None


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
