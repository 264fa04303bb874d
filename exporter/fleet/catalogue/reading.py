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
from exporter.errors import BlogExporterError, Interrupted, NoMemory, NoSpace
from exporter.fleet.archives import FoundArchive, archives_in, mark_of, open_archive
from exporter.fleet.catalogue.columns import BLOGS, EDITION
from exporter.fleet.catalogue.rows import Row, blog_rows, damaged_row
from exporter.message import message, said
from exporter.service.interface import Records
from exporter.service.registry import service_of
from exporter.settings import Settings

_REASON: Final = 500


class Sink(Protocol):
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
    root: Path, shard: str, known: Sequence[Mapping[str, Any]], sink: Sink, settings: Settings
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
    services: dict[str | None, Records] = {}
    rows: list[Row] = []
    for blog_id in sorted({*before, *found}):
        old = before.get(blog_id)
        if blog_id in found:
            rows.append(_blog(outcome, found[blog_id], old, sink, services, settings))
        elif old is not None:
            sink.drop(old)
            outcome.dropped += 1
    outcome.changed = outcome.changed or outcome.dropped > 0
    outcome.blogs = len(rows)
    outcome.entries = sum(row["entries"] or 0 for row in rows)
    return outcome, rows


def _blog(
    outcome: ShardOutcome,
    found: FoundArchive,
    old: Mapping[str, Any] | None,
    sink: Sink,
    services: dict[str | None, Records],
    settings: Settings,
) -> Row:
    """Bring what a catalogue has of one blog up to date, and return the blog's own row."""
    usable = old if old is not None and str(old["mark"]).startswith(f"{EDITION} ") else None
    row: Row = {}

    def put(table: str, made: Row) -> None:
        if table == BLOGS:
            row.update(made)
        else:
            sink.put(table, made)

    def read(archive: Archive) -> None:
        sink.undo()
        name = archive.info.service
        if name not in services:
            services[name] = service_of(settings, name)
        blog_rows(archive, services[name], mark, put)

    sink.begin()
    try:
        mark = mark_of(found.path)
        if usable is not None and usable["mark"] == f"{EDITION} {mark}":
            outcome.kept += 1
            sink.keep(usable)
            return dict(usable)
        open_archive(found)
        read_consistently(found.path, read)
    except (NoSpace, NoMemory, Interrupted, MemoryError):
        raise
    except Exception as error:  # noqa: BLE001 - whatever an archive has in it, the others have their turn
        sink.undo()
        known = isinstance(error, (BlogExporterError, OSError))
        reason = str(said(error) if known else message("{kind}: {reason}", kind=type(error).__name__, reason=error))
        outcome.trouble.append((f"{outcome.shard}/{found.blog_id}", reason[:_REASON]))
        row = damaged_row(found.blog_id, reason[:_REASON], usable)
        if usable is not None:
            sink.keep(usable)
        elif old is not None:
            sink.drop(old)
        outcome.changed = outcome.changed or row != old
    else:
        if old is not None:
            sink.drop(old)
        outcome.read += 1
        outcome.changed = True
    return row
