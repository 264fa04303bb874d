"""The words at the end of a backup: what is new, changed, gone and unread, whether it is complete, and where it is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exporter.cli.output import counted, size_text, time_text
from exporter.crawl.outcome import Outcome
from exporter.model.kinds import Kind
from exporter.printable import printable

if TYPE_CHECKING:
    from exporter.crawl.assets.join import AssetSummary

_NOUNS = {Kind.ENTRIES: "entry", Kind.COMMENTS: "comment", Kind.FILES: "file", Kind.ASSETS: "asset"}
_PROBLEMS_SHOWN = 20


def summary_lines(root: Path, outcome: Outcome, took: timedelta, *, dry_run: bool = False) -> Iterator[str]:
    """Yield the lines of the summary."""
    if dry_run:
        yield "A dry run: the lists were read, nothing was written. A backup would find:"
    elif outcome.version is not None:
        yield f"Saved as version {outcome.version}."
    else:
        yield "Nothing had changed; no new version was needed."
    shown = _NOUNS if not dry_run else {Kind.ENTRY_LIST: "entry", Kind.COMMENTS: "comment", Kind.FILES: "file"}
    for kind, noun in shown.items():
        counts = outcome.counts.get(str(kind))
        if counts is not None and (counts.total or counts.gone):
            parts = [
                f"{getattr(counts, part):,} {part}" for part in ("new", "changed", "gone") if getattr(counts, part)
            ]
            yield f"  {counted(counts.total, noun):>16}   {', '.join(parts) or 'as before'}"
    if outcome.assets is not None:
        yield from asset_lines(outcome.assets)
    if outcome.completeness is not None:
        yield from completeness_lines(outcome.completeness, [asdict(problem) for problem in outcome.problems])
    speed = f"{counted(outcome.requests, 'request')}, {size_text(outcome.bytes)}, {time_text(took.total_seconds())}"
    retried = f", {counted(outcome.retries, 'retry')}" if outcome.retries else ""
    yield f"{speed}{retried}."
    if not dry_run:
        yield f"Archive: {printable(str(root.absolute()))}"
        places = (root / "latest" / name for name in ("site/index.html", "markdown/index.md"))
        yield from (f"Read it: {printable(str(place))}" for place in places if place.is_file())


def asset_lines(assets: AssetSummary) -> Iterator[str]:
    """Yield how many pictures and files are there, and name each lost one in the run that first misses it."""
    if assets.held or assets.lost:
        lost = f", {len(assets.lost):,} lost" if assets.lost else ""
        yield f"Pictures and files: {assets.held:,} in the archive ({assets.read:,} read now){lost}."
    new = assets.newly_lost
    for one in new[:_PROBLEMS_SHOWN]:
        yield f"  - {printable(one.url, 200)}: {printable(one.reason, 200)}"
    if len(new) > _PROBLEMS_SHOWN:
        yield f"  … and {len(new) - _PROBLEMS_SHOWN:,} more; blog-exporter files DIR --missing lists them."


def completeness_lines(completeness: dict[str, Any], problems: list[dict[str, Any]]) -> Iterator[str]:
    """Yield whether all was read, and what was not."""
    if completeness.get("complete"):
        yield f"Complete: everything the service lists was read ({counted(completeness['sweeps'], 'sweep')})."
    else:
        yield f"INCOMPLETE: {counted(len(problems), 'thing')} could not be read:"
        for problem in problems[:_PROBLEMS_SHOWN]:
            name = problem["kind"] if problem["id"] is None else f"{problem['kind']} {problem['id']}"
            yield f"  - {printable(name, 60)}: {printable(problem['reason'], 300)}"
        if len(problems) > _PROBLEMS_SHOWN:
            yield f"  … and {len(problems) - _PROBLEMS_SHOWN:,} more; all of them are in runs.jsonl."
    if not completeness.get("sweeps_agreed", True):
        yield "The blog kept changing while it was read; what stood throughout is saved."
