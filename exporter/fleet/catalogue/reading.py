"""Reading one of the 256 folders of a fleet into a catalogue: what changed is read, all else is kept.

An archive that cannot be read keeps its last good rows: what was known of a blog is worth more to whoever looks for it
than nothing, and its row says ``damaged`` and why.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol

from exporter.archive.archive import Archive, read_consistently
from exporter.archive.fleet_folder import FoundArchive, archives_in, mark_of, open_archive
from exporter.errors import BlogExporterError, Interrupted, NoMemory, NoSpace
from exporter.fleet.catalogue.columns import BLOGS, EDITION
from exporter.fleet.catalogue.rows import Row, blog_rows, damaged_row
from exporter.message import message, said
from exporter.service.interface import Records
from exporter.service.registry import service_of
from exporter.settings import Settings

_REASON: Final = 500


class RowSink(Protocol):
    """Where the rows of a shard go, those of one blog after the other, in the order of the blogs' IDs.

    Raises:
        NoSpace: from all of these, where a row cannot be kept.
    """

    def keep(self, row: Mapping[str, Any]) -> None:
        """Keep all rows that the catalogue has of a blog, whose own row is given."""

    def drop(self, row: Mapping[str, Any]) -> None:
        """Leave out all rows that the catalogue has of a blog."""

    def begin(self) -> None:
        """Begin the rows of a blog that is read."""

    def put(self, table: str, row: Row) -> None:
        """Take a row of a blog that is read, of any table but that of blogs."""

    def undo(self) -> None:
        """Forget what came since :meth:`begin`."""


@dataclass(slots=True)
class ShardOutcome:
    """What became of one of the 256 folders.

    Attributes:
        shard: its name.
        blogs: how many blogs of it the catalogue has now.
        entries: how many entries they have.
        read: how many archives were read.
        kept: how many had not changed.
        dropped: how many are gone.
        trouble: what could not be read, and why: of archives and of whatever else is in the folder.
        changed: whether the catalogue is to be another than before.
    """

    shard: str
    blogs: int = 0
    entries: int = 0
    read: int = 0
    kept: int = 0
    dropped: int = 0
    trouble: list[tuple[str, str]] = field(default_factory=list)
    changed: bool = False


def read_shard(
    root: Path, shard: str, known: Sequence[Mapping[str, Any]], sink: RowSink, settings: Settings
) -> tuple[ShardOutcome, list[Row]]:
    """Bring what a catalogue has of a folder up to date; return what became of it, and the rows of its blogs in order.

    Args:
        root: the fleet's folder.
        shard: the name of one of its 256 folders.
        known: the rows of its blogs that the catalogue has.
        sink: takes the rows of all other tables.
        settings: to read records with.
    """
    outcome = ShardOutcome(shard)
    before = {row["blog_id"]: row for row in known}
    found: dict[str, FoundArchive] = {}
    for each in archives_in(root, shard):
        if each.trouble is None:
            found[each.blog_id] = each
        else:
            outcome.trouble.append((f"{shard}/{each.path.name}" if each.blog_id != shard else shard, each.trouble))
    reader = _ShardReader(outcome, sink, settings)
    rows: list[Row] = []
    for blog_id in sorted({*before, *found}):
        old = before.get(blog_id)
        if blog_id in found:
            rows.append(reader.blog(found[blog_id], old))
        elif old is not None:
            sink.drop(old)
            outcome.dropped += 1
    outcome.changed = outcome.changed or outcome.dropped > 0
    outcome.blogs = len(rows)
    outcome.entries = sum(row["entries"] or 0 for row in rows)
    return outcome, rows


class _ShardReader:
    def __init__(self, outcome: ShardOutcome, sink: RowSink, settings: Settings) -> None:
        self._outcome = outcome
        self._sink = sink
        self._settings = settings
        self._services: dict[str | None, Records] = {}

    def blog(self, found: FoundArchive, old: Mapping[str, Any] | None) -> Row:
        """Bring what a catalogue has of one blog up to date, and return the blog's own row."""
        usable = old if old is not None and str(old["mark"]).startswith(f"{EDITION} ") else None
        self._sink.begin()
        try:
            mark = mark_of(found.path)
            if usable is not None and usable["mark"] == f"{EDITION} {mark}":
                self._outcome.kept += 1
                self._sink.keep(usable)
                return dict(usable)
            row = self._read(found, mark)
        except (NoSpace, NoMemory, Interrupted, MemoryError):
            raise
        except Exception as error:  # noqa: BLE001 - whatever an archive has in it, the others have their turn
            return self._damaged(found, old, usable, error)
        if old is not None:
            self._sink.drop(old)
        self._outcome.read += 1
        self._outcome.changed = True
        return row

    def _read(self, found: FoundArchive, mark: str) -> Row:
        row: Row = {}

        def put(table: str, made: Row) -> None:
            if table == BLOGS:
                row.update(made)
            else:
                self._sink.put(table, made)

        def read(archive: Archive) -> None:
            self._sink.undo()
            blog_rows(archive, self._service(archive.info.service), mark, put)

        open_archive(found)
        read_consistently(found.path, read)
        return row

    def _damaged(
        self, found: FoundArchive, old: Mapping[str, Any] | None, usable: Mapping[str, Any] | None, error: Exception
    ) -> Row:
        """Keep the last good rows, where there are any that can be used."""
        self._sink.undo()
        known = isinstance(error, (BlogExporterError, OSError))
        reason = str(said(error) if known else message("{kind}: {reason}", kind=type(error).__name__, reason=error))
        self._outcome.trouble.append((f"{self._outcome.shard}/{found.blog_id}", reason[:_REASON]))
        row = damaged_row(found.blog_id, reason[:_REASON], usable)
        if usable is not None:
            self._sink.keep(usable)
        elif old is not None:
            self._sink.drop(old)
        self._outcome.changed = self._outcome.changed or row != old
        return row

    def _service(self, name: str | None) -> Records:
        if name not in self._services:
            self._services[name] = service_of(self._settings, name)
        return self._services[name]
