"""Take a second source out of an archive again: a new version without its records, and no more readings of it.

Earlier versions stay unchanged, so nothing is lost.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from exporter.archive import writer
from exporter.archive.latest_segments import ChangedLine
from exporter.archive.lines import put_line, remove_line
from exporter.archive.manifest import KindCounts
from exporter.archive.settings_file import read_archive_settings, remember
from exporter.clock import timestamp
from exporter.crawl.commit import finish_commit, write_version
from exporter.crawl.outcome import Outcome
from exporter.errors import UsageError
from exporter.frozen import frozen
from exporter.library.views import locked, present_views, refresh_latest
from exporter.message import listed
from exporter.model.kinds import Kind
from exporter.service.joined import NEWEST, gone_of, joined_record, links_of
from exporter.service.registry import joined_records, way_of
from exporter.text import printable

if TYPE_CHECKING:
    from exporter.archive.archive import Archive
    from exporter.archive.state import State
    from exporter.clock import Clock
    from exporter.service.joined import JoinedRecords
    from exporter.settings import Settings

_OF_A_SOURCE: Final = frozenset({"service", "base_url", "profile", "user", "token_for", "token_file", "account"})
"""Remembered settings that say where the next backup reads."""


@frozen
class Unjoined:
    """The new version, and the numbers of records of all kinds that changed in it and that only the source had.

    ``shown_again`` is the number of entries that only this source had withdrawn, so that they counted as private.
    """

    version: int
    changed: int
    removed: int
    shown_again: int = 0


def unjoin(archive: Archive, settings: Settings, source: str, clock: Clock) -> Unjoined:
    """Write a version without the records of a source.

    Args:
        archive: the archive.
        settings: the time to wait for the lock, and the options of the views.
        source: the name of the source's service.
        clock: the time of the version.

    Raises:
        UsageError: the archive has no such second source.
        ArchiveLocked: another process is writing the archive.
        ArchiveDamaged: a record is damaged; nothing was changed.
    """
    main = way_of(settings, archive.info.service)
    with locked(archive, settings):
        finish_commit(archive)
        begun = timestamp(clock.now())
        newest = archive.manifest(archive.resolve())
        others = [name for name in newest.sources or () if name != main.name]
        if source not in others:
            raise UsageError(
                "{archive} has no second source {source!r}; it has {others}.",
                archive=archive.path,
                source=printable(source, 60),
                others=listed(others) if others else main.name,
            )
        left = _Left(joined_records(settings, main), source)
        with contextlib.closing(archive.state()) as state:
            counts = {kind: left.count(state, kind) for kind in Kind}
            draft = writer.VersionDraft(
                parent=newest.version,
                base_url=newest.base_url,
                started_at=begun,
                finished_at=timestamp(clock.now()),
                counts=counts,
                completeness=newest.completeness,
                problems=newest.problems,
                sources=[name for name in newest.sources or () if name != source] if len(others) > 1 else None,
                unjoined=source,
            )
            made, segments = write_version(
                archive.layout, draft, {kind: left.changes(state, kind) for kind in Kind}, state
            )
        writer.append_run(archive.layout, Outcome.of(made).line())
        if read_archive_settings(archive.path).values.get("service", archive.info.service) == source:
            remember(archive.path, {}, without=_OF_A_SOURCE)
        refresh_latest(archive, present_views(settings, archive.path), segments=segments)
    every = counts.values()
    changed, gone = sum(each.changed for each in every), sum(each.gone for each in every)
    return Unjoined(made.version, changed, gone, left.shown_again)


class _Left:
    """The records that are left without a source."""

    def __init__(self, reads: JoinedRecords, source: str) -> None:
        self._reads = reads
        self._source = source
        self.shown_again = 0

    def count(self, state: State, kind: Kind) -> KindCounts:
        if kind is Kind.ENTRIES:
            self.shown_again = sum({*gone_of(raw)} == {self._source} for _, raw in state.scan(kind))
        found = [change.identity is None for change in self.changes(state, kind)]
        gone = sum(found)
        return KindCounts(total=len(state.kinds[kind]) - gone, changed=len(found) - gone, gone=gone)

    def changes(self, state: State, kind: Kind) -> Iterator[ChangedLine]:
        """Yield the new lines in order."""
        if kind is Kind.ASSETS:
            return
        for record_id, raw in state.scan(kind):
            parts = self._reads.parts(raw)
            gone = gone_of(raw)
            if self._source not in parts and self._source not in gone:
                continue
            parts = {name: part for name, part in parts.items() if name != self._source}
            if not parts:
                yield ChangedLine(record_id, remove_line(record_id, {"unjoined": self._source}), None)
                continue
            newest = raw.get(NEWEST)
            frozen = joined_record(
                self._reads.main,
                kind,
                record_id,
                newest=next(iter(parts)) if newest == self._source else str(newest),
                parts=parts,
                gone={name: each for name, each in gone.items() if name != self._source},
                links=links_of(raw),
            )
            yield ChangedLine(record_id, put_line(record_id, frozen), frozen.identity)
