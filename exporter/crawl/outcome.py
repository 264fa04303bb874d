"""What a run is asked to do, and what it did."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from exporter.archive.manifest import KindCounts, Manifest, RecordProblem
from exporter.crawl.checkpoint import Purpose
from exporter.crawl.harvest import ReadingSettings
from exporter.errors import Incomplete

if TYPE_CHECKING:
    from exporter.crawl.assets.join import AssetSummary
    from exporter.crawl.assets.run import AssetSettings


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
