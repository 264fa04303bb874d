"""Making archives with thousands of versions in a minute, through the writer that backups use."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest.mock import patch

from benchmarks.history_blog import BLOG_ID, Changes, HistorySize, NightlyBlog
from exporter import lossless_json
from exporter.archive import writer
from exporter.archive.layout import Layout
from exporter.archive.lines import put_line
from exporter.archive.manifest import ArchiveInfo, KindCounts
from exporter.clock import timestamp
from exporter.crawl.outcome import Outcome
from exporter.model.kinds import Kind, sort_key

_FIRST_NIGHT = datetime(2016, 1, 1, 18, 30, tzinfo=UTC)
_RUN_TAKES = timedelta(minutes=2)
_COMPLETE = {"complete": True, "sweeps": 2, "sweeps_agreed": True}
BASE_URL = "https://api.example.jp"


class NightlyArchive:
    """An archive at ``root`` that gets a version and a run's line for each night that changed something."""

    def __init__(self, root: Path) -> None:
        self.layout = Layout(root)
        self._known: dict[Kind, dict[str, bytes]] = {kind: {} for kind in Kind}
        self._newest: int | None = None
        writer.create(self.layout, ArchiveInfo(BLOG_ID, timestamp(_FIRST_NIGHT)))

    def commit(self, night: int, changes: Changes) -> None:
        """Commit a night's version; a record that is as before is left out, as a run would."""
        lines: dict[Kind, list[bytes]] = {}
        counts: dict[Kind, KindCounts] = {}
        for kind in Kind:
            known, written = self._known[kind], lines.setdefault(kind, [])
            before = len(known)
            for record_id, record in sorted(changes.get(kind, {}).items(), key=lambda item: sort_key(item[0])):
                frozen = lossless_json.freeze(record)
                if known.get(record_id) != frozen.identity:
                    known[record_id] = frozen.identity
                    written.append(put_line(record_id, frozen))
            new = len(known) - before
            counts[kind] = KindCounts(len(known), new, len(written) - new)
        began = _FIRST_NIGHT + timedelta(days=night)
        draft = writer.VersionDraft(
            parent=self._newest,
            base_url=BASE_URL,
            started_at=timestamp(began),
            finished_at=timestamp(began + _RUN_TAKES),
            counts=counts,
            completeness=_COMPLETE,
            problems=[],
            lines=lines,
        )
        manifest = writer.commit(self.layout, draft)
        self._newest = manifest.version
        writer.append_run(self.layout, Outcome.of(manifest).line())


def nightly(root: Path, size: HistorySize, versions: int) -> Iterator[Layout]:
    """Make an archive whose newest version is always that of the last night, and yield its layout after each version.

    Args:
        root: where it goes.
        size: the history; nights that get no version of their own are in the first one.
        versions: how many versions it gets, at most as many as there are nights.
    """
    blog = NightlyBlog(size)
    for _ in blog.pass_nights(size.nights - versions + 1):
        pass
    # What fsync guards against is a loss of power; nothing here is worth keeping.
    with patch.object(os, "fsync"):
        archive = NightlyArchive(root)
        archive.commit(blog.night, blog.everything())
        yield archive.layout
        for changes in blog.pass_nights(size.nights):
            archive.commit(blog.night, changes)
            yield archive.layout


def build(root: Path, size: HistorySize, versions: int) -> Layout:
    """Make such an archive and return its layout."""
    *_, layout = nightly(root, size, versions)
    return layout
