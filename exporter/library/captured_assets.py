"""Complete the pictures of an archive from its captures: a version for what only a capture has."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from exporter import lossless_json
from exporter.archive import writer
from exporter.archive.archive import Archive
from exporter.archive.assets import AssetStore
from exporter.archive.latest_segments import ChangedLine
from exporter.archive.lines import put_line
from exporter.archive.manifest import KindCounts, problems_in
from exporter.clock import Clock, timestamp
from exporter.crawl.assets.captured import ABSENT, CapturedFiles, expected_of
from exporter.crawl.commit import finish_commit, write_version
from exporter.crawl.outcome import Outcome, incomplete
from exporter.message import said
from exporter.model.asset import Asset, AssetState, capture_of
from exporter.model.kinds import Kind, sort_key
from exporter.service.registry import service_of

if TYPE_CHECKING:
    from exporter.archive.latest_segments import Segments
    from exporter.archive.state import State
    from exporter.settings import Settings

_STATED: Final = {AssetState.PENDING: "pending", AssetState.LOST: "lost"}


@dataclass(frozen=True, slots=True)
class CompletedAssets:
    """The pictures and files that a capture completed.

    Attributes:
        addresses: their addresses, sorted.
        version: the version with their records; ``None`` if there are none.
        segments: the new files of ``latest/``, for :func:`~exporter.library.views.refresh_latest`.
    """

    addresses: tuple[str, ...] = ()
    version: int | None = None
    segments: Segments | None = None


def complete_assets(archive: Archive, settings: Settings, clock: Clock) -> CompletedAssets:
    """Store the pending and lost files of an archive that its captures have, and write a version with their records.

    Each record names its capture in ``source``. While an interrupted backup waits to be resumed, nothing happens: the
    backup itself completes the files.

    Args:
        archive: the archive, whose lock the caller holds.
        settings: those of the blog.
        clock: the time of the version.

    Raises:
        ArchiveDamaged: the newest state cannot be read; nothing was changed.
        NoSpace: the disk is full; the archive is unchanged.
    """
    layout = archive.layout
    store = AssetStore(layout)
    captured = CapturedFiles.of(layout, store, settings.max_asset_size)
    if captured is None or archive.newest() is None or layout.checkpoint.kind() is not None:
        return CompletedAssets()
    finish_commit(archive)
    begun = timestamp(clock.now())
    with contextlib.closing(archive.state()) as state:
        found = dict(_found(archive, state, settings, captured))
        if not found:
            return CompletedAssets()
        store.sync()
        outcome = _outcome(archive, state, found, begun, timestamp(clock.now()))
        version, segments = _write(archive, state, found, outcome)
    outcome.version = version
    writer.append_run(layout, outcome.line())
    return CompletedAssets(tuple(sorted(found)), version, segments)


def _found(
    archive: Archive, state: State, settings: Settings, captured: CapturedFiles
) -> Iterator[tuple[str, tuple[Asset, Asset]]]:
    """Yield by address the old and the new record of each file that a capture has."""
    service = service_of(settings, archive.info.service)
    for url, raw in state.scan(Kind.ASSETS):
        before = Asset.from_raw(raw)
        if before.refs and before.state in ABSENT:
            after = captured.fetch(url, expected_of(before, partial(state.load, Kind.FILES), service))
            if after is not None:
                yield url, (before, replace(after, refs=before.refs, original_of=before.original_of))


def _outcome(
    archive: Archive, state: State, found: Mapping[str, tuple[Asset, Asset]], begun: str, ended: str
) -> Outcome:
    """Return the result of the newest backup, corrected for the completed files."""
    completeness, rows = archive.completeness()
    problems = [each for each in problems_in(rows) if each.kind != Kind.ASSETS or each.id not in found]
    document = deepcopy(completeness)
    for before, after in found.values():
        if before.original_of is None:
            _count_as_saved(document.get("assets"), before.state)
        for _ in before.ids("file"):
            _count_as_saved(document.get("files"), before.state, after.bytes or 0)
    counts = {str(kind): KindCounts(total=len(state.kinds[kind])) for kind in Kind}
    counts[str(Kind.ASSETS)] = KindCounts(total=len(state.kinds[Kind.ASSETS]), changed=len(found))
    partly = incomplete(problems)
    return Outcome(
        started_at=begun,
        finished_at=ended,
        outcome="saved" if partly is None else "partial",
        exit_code=0 if partly is None else partly.exit_code,
        error=None if partly is None else said(partly),
        counts=counts,
        completeness={**document, "complete": not problems},
        problems=problems,
        from_capture=max(capture_of(after) or 0 for _, after in found.values()),
    )


def _count_as_saved(section: Any, state: AssetState, size: int = 0) -> None:
    """Move a file from those that are left out to the saved ones of a part of ``completeness``."""
    left = section.get("left_out") if isinstance(section, dict) else None
    if not isinstance(left, dict):
        return
    # An upload that is lost counts as pending if the rule for its address is doubted.
    names = sorted(_STATED.values(), key=lambda name: name != _STATED[state])
    name = next((each for each in names if type(left.get(each)) is int and left[each] > 0), None)
    if name is not None and type(section.get("saved")) is int:
        left[name] -= 1
        section["saved"] += 1
        if size and type(section.get("bytes_saved")) is int:
            section["bytes_saved"] += size


def _write(
    archive: Archive, state: State, found: Mapping[str, tuple[Asset, Asset]], outcome: Outcome
) -> tuple[int, Segments | None]:
    newest = archive.manifest(state.version)
    lines = []
    for url in sorted(found, key=sort_key):
        frozen = lossless_json.freeze(found[url][1].data())
        lines.append(ChangedLine(url, put_line(url, frozen), frozen.identity))
    draft = writer.VersionDraft(
        parent=state.version,
        base_url=newest.base_url,
        started_at=outcome.started_at,
        finished_at=outcome.finished_at,
        counts={kind: outcome.counts[str(kind)] for kind in Kind},
        completeness=outcome.completeness or {},
        problems=outcome.problems,
        sources=newest.sources,
        from_capture=outcome.from_capture,
    )
    changes: dict[Kind, list[ChangedLine]] = {kind: lines if kind is Kind.ASSETS else [] for kind in Kind}
    made, segments = write_version(archive.layout, draft, changes, state)
    return made.version, segments
