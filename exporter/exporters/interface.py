"""The interface between an archive and what is made of it: records in, files to write out.

A :class:`View` is rebuilt beside the archive whenever it changes; an :class:`Exporter` is run once, on request, for a
place to move to. Neither touches the disk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from exporter.model.kinds import Kind

if TYPE_CHECKING:
    import sqlite3

    from exporter.exporters.options import ExportOptions
    from exporter.exporters.posts import Posts
    from exporter.exporters.report import Report


@dataclass(frozen=True, slots=True)
class ViewFile:
    """One file of a view.

    Attributes:
        path: relative to the view's folder, with forward slashes.
        fingerprint: 32 bytes that change whenever the content would, so that an unchanged file need not be rendered.
        render: makes the content.
    """

    path: str
    fingerprint: bytes
    render: Callable[[], bytes]


class RecordSource(Protocol):
    """One state of an archive, as views read it; records come from disk on demand."""

    @property
    def blog_id(self) -> str:
        """The blog's id, its domain."""

    def ids(self, kind: Kind) -> Sequence[str]:
        """Return the ids of all records of a kind, by :func:`~exporter.model.kinds.sort_key`."""

    def identity(self, kind: Kind, record_id: str) -> bytes | None:
        """Return 32 bytes that change with the record; ``None`` when there is no such record."""

    def load(self, kind: Kind, record_id: str) -> dict[str, Any] | None:
        """Return a record's raw object; ``None`` when there is no such record."""

    def scan(self, kind: Kind) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the id and raw object of every record of a kind, in the order of :meth:`ids`."""


class View(Protocol):
    """Something people read, made from records only: the same records give the same files, byte for byte."""

    @property
    def name(self) -> str:
        """The view's folder."""

    def files(self, records: RecordSource) -> Iterable[ViewFile]:
        """Yield every file of the view; files of the folder that are not among them are no longer part of it."""


@dataclass(frozen=True, slots=True)
class Inline:
    """A file of the archive in base64, in the middle of a file of the export; ``source`` is relative to the archive."""

    source: str


@dataclass(frozen=True, slots=True)
class Content:
    """A file of an export, made while it is written.

    Attributes:
        path: relative to the export's folder, with forward slashes.
        chunks: the content; to be read to its end before the next file is asked for.
    """

    path: str
    chunks: Iterable[bytes | Inline]


@dataclass(frozen=True, slots=True)
class Copy:
    """A file of an export that the archive holds already.

    Attributes:
        path: relative to the export's folder.
        source: relative to the archive.
    """

    path: str
    source: str


@dataclass(frozen=True, slots=True)
class Packed:
    """A ZIP file.

    Attributes:
        path: relative to the export's folder.
        members: the files in it, in their order, their paths relative to its root.
    """

    path: str
    members: Iterable[Content | Copy]


@dataclass(frozen=True, slots=True)
class Database:
    """An SQLite file.

    Attributes:
        path: relative to the export's folder.
        build: fills a new database.
    """

    path: str
    build: Callable[[sqlite3.Connection], None]


ExportFile = Content | Copy | Packed | Database


class Exporter(Protocol):
    """A format: the same posts and options give the same files, byte for byte, in memory that does not grow with them.

    Every post is reported with :meth:`~exporter.exporters.report.Report.wrote` once it is in a file, and whatever had
    to be changed for the target with :meth:`~exporter.exporters.report.Report.changed`.
    """

    def __call__(self, posts: Posts, options: ExportOptions, report: Report) -> Iterator[ExportFile]:
        """Yield the files."""
